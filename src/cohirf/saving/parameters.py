"""The parameters of a saved model: how they become JSON, and the unfitted model that comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn.utils import get_tags

from cohirf import base_registry, validation
from cohirf.durable.errors import one_line, shown
from cohirf.saving.errors import ModelFileError, reading

MAX_PARAMETERS_BYTES = 2**17  # of JSON: some thousand estimators, which take a moment to make
NOT_STORED = ("estimator", "medoid")  # the parameters that may be absent from a file and passed at load


def describe_model(model: Any) -> dict[str, Any]:
    """Return the parameters of the model; those that cannot be stored, by their repr alone."""
    parameters = {}
    for name, value in base_registry.parameters_of(model).items():
        try:
            parameters[name] = base_registry.describe(value)
            # Half of the room is more than enough for all the others.
            _check_size(parameters[name], MAX_PARAMETERS_BYTES // 2)
            base_registry.restore(parameters[name])
        except (ValueError, TypeError, RecursionError) as error:
            if name not in NOT_STORED:
                raise ValueError(f"{name}={value!r} cannot be saved: {one_line(error)}.") from error
            parameters[name] = {"absent": one_line(repr(value))}
    return {"name": "CoHiRF", "parameters": parameters, "output": base_registry.output_of(model)}


def restore_model(path: Path, description: dict[str, Any], passed: dict[str, Any]) -> Any:
    """Return the unfitted model, with what was passed in the place of what is stored or absent."""
    parameters = dict(description["parameters"])
    for name in passed:
        parameters.pop(name, None)
    for name in NOT_STORED:
        if _is_absent(parameters.get(name)):
            raise ModelFileError(
                f"{shown(path)} names {name}={one_line(parameters[name]['absent'])}, which could not be stored: "
                f"pass it, load(path, {name}=...)."
            )
    with reading(path):
        _check_size(parameters, MAX_PARAMETERS_BYTES)
        model = base_registry.restore_estimator({**description, "parameters": parameters})
        if model.estimator is not None:
            validation.check_base_method(model.estimator)
        get_tags(model)  # asks the base method, and fails for a pipeline of something else than steps
    if "estimator" in passed:
        validation.check_base_method(passed["estimator"])
    model.set_params(**passed)
    model._validate_params()
    return model


def _check_size(content: Any, limit: int) -> None:
    if len(json.dumps(content)) > limit:
        raise ValueError(f"the parameters take more than {limit} bytes")


def _is_absent(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"absent"} and isinstance(value["absent"], str)
