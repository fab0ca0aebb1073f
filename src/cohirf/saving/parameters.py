"""Convert the parameters of a model to JSON, and JSON back to an unfitted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sklearn.utils import get_tags

from cohirf import base_registry, validation
from cohirf.durable.errors import one_line, shown
from cohirf.saving.errors import ModelFileError, reading

MAX_PARAMETERS_BYTES = 2**17  # bytes of JSON: enough for thousands of nested estimators
NOT_STORED = ("estimator", "medoid")  # the parameters that may be absent from a file and passed at load


def describe_model(model: Any) -> dict[str, Any]:
    """Return the parameters of the model. An estimator or medoid that cannot be stored is replaced by its repr."""
    # refuse invalid values when the model is saved, not when it is loaded
    model._check_resources()
    validation.count_view_features(model.max_features, model.n_features_in_)
    parameters = {}
    for name, value in base_registry.parameters_of(model).items():
        try:
            parameters[name] = base_registry.describe(value)
            # the other half is more than enough for all other parameters
            _check_size(parameters[name], MAX_PARAMETERS_BYTES // 2)
            base_registry.restore(parameters[name])
        except (ValueError, TypeError, RecursionError) as error:
            if name not in NOT_STORED:
                raise ValueError(f"{name}={value!r} cannot be saved: {one_line(error)}.") from error
            parameters[name] = {"absent": one_line(repr(value))}
    return {"name": "CoHiRF", "parameters": parameters, "output": base_registry.output_of(model)}


def restore_model(path: Path, description: dict[str, Any], n_features: int, passed: dict[str, Any]) -> Any:
    """Return the unfitted model; ``passed`` parameters override stored ones and supply absent ones."""
    parameters = dict(description["parameters"])
    for name in passed:
        parameters.pop(name, None)
    for name in NOT_STORED:
        if _is_absent(parameters.get(name)):
            raise ModelFileError(
                f"{shown(path)}: {name}={one_line(parameters[name]['absent'])} could not be stored with the model: "
                f"pass it with load(path, {name}=...)."
            )
    with reading(path):
        _check_size(parameters, MAX_PARAMETERS_BYTES)
        model = base_registry.restore_estimator({**description, "parameters": parameters})
        if model.estimator is not None:
            validation.check_base_method(model.estimator)
        model._check_resources()
        validation.count_view_features(model.max_features, n_features)
        get_tags(model)  # asks the base method for its tags; fails for a pipeline with invalid steps
    if "estimator" in passed:
        validation.check_base_method(passed["estimator"])
    model.set_params(**passed)
    model._validate_params()
    return model


def restore_described(model: Any, description: dict[str, Any]) -> None:
    """Raise what loading a model with this description would raise, if what is not stored is passed again."""
    absent = [name for name in NOT_STORED if _is_absent(description["parameters"].get(name))]
    passed = {name: getattr(model, name) for name in absent}
    restore_model(Path(), description, model.n_features_in_, passed)


def _check_size(content: Any, limit: int) -> None:
    if len(json.dumps(content)) > limit:
        raise ValueError(f"the parameters take more than {limit} bytes")


def _is_absent(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"absent"} and isinstance(value["absent"], str)
