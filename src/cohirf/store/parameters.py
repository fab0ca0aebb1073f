"""Parameters of estimators as JSON, and JSON back to estimators that are not fitted.

An estimator that is not fitted is its class and its parameters. A file names classes of a few
packages, never a function, a path or code, and estimators are made by their constructors, which
only store parameters; then these are validated.
JSON has no tuples, NaN or estimators, so such a value is stored as an object with a single key that
names its type, for example ``{"tuple": [0, 1]}``. Dicts are stored in the same way, so that they
cannot be mistaken for other types.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from cohirf import validation
from cohirf.store.files import CONTENT_ERRORS, REMEDY, ModelFileError, one_line, refusing, shown

STORED_PACKAGES = {
    "cohirf.clusterers",
    "cohirf.estimator",
    "sklearn.cluster",
    "sklearn.compose",
    "sklearn.decomposition",
    "sklearn.feature_selection",
    "sklearn.impute",
    "sklearn.kernel_approximation",
    "sklearn.manifold",
    "sklearn.mixture",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.random_projection",
}
# A fit writes to these paths, and loads pickles from a cache directory, so they are neither stored
# nor restored.
PATHS = ("checkpoint", "memory")
# the parameters that may be absent from a file and passed at load
NOT_STORED = (
    "estimator",
    "views",
    "medoid",
)
CONSTANTS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
NUMBER_TYPES = {
    kind.__name__: kind
    for kind in (
        np.bool_,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.uint8,
        np.uint16,
        np.uint32,
        np.uint64,
    )
} | {kind.__name__: kind for kind in (np.float16, np.float32, np.float64)}


def describe_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model of CoHiRF with these parameters as JSON.

    An estimator or medoid that cannot be stored is replaced by its repr.
    """
    parameters = {}
    for name, value in given.items():
        if name in PATHS:
            continue
        try:
            parameters[name] = describe_value(value)
            restore(parameters[name])
        except CONTENT_ERRORS as error:
            if name not in NOT_STORED:
                raise ValueError(f"{name}={value!r} cannot be saved: {one_line(error)}.") from error
            parameters[name] = {"absent": one_line(repr(value))}
    return {"name": "cohirf.estimator.CoHiRF", "parameters": parameters}


def restore_model(
    path: os.PathLike[str], description: dict[str, Any], n_features: int, passed: dict[str, Any]
) -> Any:
    """Return the model, not fitted.

    ``passed`` parameters override stored ones and supply absent ones.
    """
    if "estimator" in passed:
        validation.check_base_method(passed["estimator"])
    with refusing(path, ModelFileError, REMEDY):
        parameters = {
            name: value for name, value in description["parameters"].items() if name not in passed
        }
        for name in NOT_STORED:
            if is_absent(parameters.get(name)):
                raise ModelFileError(
                    f"{shown(path)}: {name}={one_line(parameters[name]['absent'])} could not be "
                    f"stored with the model: pass it with load(path, {name}=...)."
                )
        model = _restore_estimator({**description, "parameters": parameters}, passed)
        if type(model).__name__ != "CoHiRF":
            raise ValueError(f"the model is {reprlib.repr(description['name'])}, not CoHiRF")
        if model.estimator is not None or not isinstance(model.views, int):
            model._parameters.check_views()
        validation.count_view_features(model.max_features, n_features)
        # asks the base method for its tags; fails for a pipeline with invalid steps
        get_tags(model)
    return model


def is_absent(value: Any) -> bool:
    """Return whether a parameter was not stored."""
    return isinstance(value, dict) and value.keys() == {"absent"}


def is_known(value: Any) -> bool:
    """Return whether ``value`` is an instance of a class that a file may name, and not of a
    subclass.
    """
    package, name = _name_class(type(value)).rsplit(".", 1)
    return package in STORED_PACKAGES and getattr(import_module(package), name, None) is type(value)


def describe_value(value: Any) -> Any:
    """Return the JSON representation of a parameter; raise ValueError if it has none."""
    if isinstance(value, np.generic):
        value = value.item()
    if (
        value is None
        or type(value) in (bool, int, str)
        or (type(value) is float and math.isfinite(value))
    ):
        return value
    if type(value) is float:
        return {"float": repr(value)}
    if type(value) is list:
        return [describe_value(part) for part in value]
    if type(value) is tuple:
        return {"tuple": [describe_value(part) for part in value]}
    if type(value) is dict and all(type(key) is str for key in value):
        return {"dict": {key: describe_value(part) for key, part in value.items()}}
    if isinstance(value, type) and value in NUMBER_TYPES.values():
        return {"type": value.__name__}
    if isinstance(value, np.random.RandomState):
        return None  # the state of a generator is not stored
    # choices of set_output and set_fit_request
    not_stored = {"_sklearn_output_config", "_metadata_request"}
    if not is_known(value) or not_stored & vars(value).keys():
        raise ValueError(f"a parameter of type {type(value).__name__} cannot be stored")
    parameters = {name: describe_value(part) for name, part in _parameters_of(value).items()}
    return {"estimator": {"name": _name_class(type(value)), "parameters": parameters}}


def restore(value: Any) -> Any:
    """Return the parameter whose JSON representation is ``value``.

    Raise an error of its content if there is none.
    """
    if isinstance(value, list):
        return [restore(part) for part in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()), (None, None))
    if len(value) == 1:
        if kind == "float" and content in CONSTANTS:
            return CONSTANTS[content]
        if kind == "tuple" and isinstance(content, list):
            return tuple(restore(part) for part in content)
        if kind == "dict" and isinstance(content, dict):
            return {key: restore(part) for key, part in content.items()}
        if kind == "type" and content in NUMBER_TYPES:
            return NUMBER_TYPES[content]
        if kind == "estimator" and isinstance(content, dict):
            return _restore_estimator(content)
    raise ValueError(f"{reprlib.repr(value)} is not a parameter value")


def _restore_estimator(description: dict[str, Any], passed: dict[str, Any] | None = None) -> Any:
    """Return a new estimator.

    Its class must be one of a known package, and its parameters valid.
    """
    name = description["name"]
    parameters = description["parameters"]
    kind = _find_class(name)
    unknown = sorted(parameters.keys() - set(kind._get_param_names()))
    if unknown:
        raise ValueError(
            f"{name} has no parameter {reprlib.repr(unknown[0])} in the installed version of its "
            "package: install the one that the model was saved with, or pass estimator= to load"
        )
    stored = {key: restore(value) for key, value in parameters.items() if key not in PATHS}
    estimator = kind(**stored, **(passed or {}))
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    return estimator


def _find_class(name: Any) -> Any:
    package, _, short = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    if package in STORED_PACKAGES:
        kind = getattr(import_module(package), short, None)
    else:
        kind = None
    if not isinstance(kind, type) or not issubclass(kind, BaseEstimator):
        raise TypeError(f"{reprlib.repr(name)} is not an estimator that a saved model may name")
    return kind


def _name_class(kind: type) -> str:
    """Return the name of a class in its public package: scikit-learn defines KMeans in
    sklearn.cluster._kmeans.
    """
    return ".".join([*kind.__module__.split(".")[:2], kind.__name__])


def _parameters_of(estimator: Any) -> dict[str, Any]:
    return {
        name: value for name, value in estimator.get_params(deep=False).items() if name not in PATHS
    }
