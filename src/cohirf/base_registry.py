"""The registry of estimators that a saved model may contain, and the conversion of their parameters to JSON and back.

The file stores a name from ``MODULES``, never a module, a path or code. JSON has no tuples, NaN or estimators, so such
a value is stored as an object with a single key that names its type, for example ``{"tuple": [0, 1]}``. Dicts are
stored in the same way, so that they cannot be mistaken for other types.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

MODULES: dict[str, str] = {
    name: module
    for module, names in {
        "cohirf.clusterers": (
            "GridDBSCAN",
            "KernelKMeans",
            "SCSRGF",
            "TorchKMeans",
        ),
        "cohirf.estimator": ("CoHiRF",),
        "sklearn.cluster": (
            "AffinityPropagation",
            "AgglomerativeClustering",
            "Birch",
            "BisectingKMeans",
            "DBSCAN",
            "HDBSCAN",
            "KMeans",
            "MeanShift",
            "MiniBatchKMeans",
            "OPTICS",
            "SpectralClustering",
        ),
        "sklearn.compose": ("ColumnTransformer",),
        "sklearn.decomposition": (
            "FactorAnalysis",
            "FastICA",
            "IncrementalPCA",
            "KernelPCA",
            "LatentDirichletAllocation",
            "MiniBatchNMF",
            "NMF",
            "PCA",
            "SparsePCA",
            "TruncatedSVD",
        ),
        "sklearn.feature_selection": ("VarianceThreshold",),
        "sklearn.impute": ("KNNImputer", "MissingIndicator", "SimpleImputer"),
        "sklearn.kernel_approximation": (
            "AdditiveChi2Sampler",
            "Nystroem",
            "PolynomialCountSketch",
            "RBFSampler",
            "SkewedChi2Sampler",
        ),
        "sklearn.manifold": ("Isomap", "LocallyLinearEmbedding"),
        "sklearn.mixture": ("BayesianGaussianMixture", "GaussianMixture"),
        "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
        "sklearn.preprocessing": (
            "Binarizer",
            "KBinsDiscretizer",
            "MaxAbsScaler",
            "MinMaxScaler",
            "Normalizer",
            "OneHotEncoder",
            "OrdinalEncoder",
            "PolynomialFeatures",
            "PowerTransformer",
            "QuantileTransformer",
            "RobustScaler",
            "SplineTransformer",
            "StandardScaler",
        ),
        "sklearn.random_projection": ("GaussianRandomProjection", "SparseRandomProjection"),
    }.items()
    for name in names
}

NUMPY_TYPES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(np.bool_, np.str_, np.float16, np.float32, np.float64),
        *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    )
}

# A fit writes to these paths, and loads pickles from a cache directory, so they are neither stored nor restored.
PATHS = ("checkpoint", "memory")
MAX_JOBS = 10_000  # a file with a larger number could make the next fit start as many threads or processes

OUTPUT = "_sklearn_output_config"  # attribute in which scikit-learn stores the choice of set_output; clones copy it
OUTPUTS = ("default", "pandas", "polars")


class NotStorableError(ValueError):
    """A value that cannot be represented in JSON."""


def registered_class(name: Any) -> Any:
    """Import and return the class that is registered under ``name``."""
    if not isinstance(name, str) or name not in MODULES:
        raise ValueError(f"{reprlib.repr(name)} is not an estimator that a saved model may name")
    return getattr(import_module(MODULES[name]), name)


def is_registered(value: Any) -> bool:
    """Return whether ``value`` is an instance of a registered class, and not of a subclass."""
    name = type(value).__name__
    return name in MODULES and type(value) is registered_class(name)


def describe(value: Any) -> Any:
    """Return the JSON representation of a parameter, or raise NotStorableError."""
    if type(value) in DESCRIBE:
        return DESCRIBE[type(value)](value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, type) and value in NUMPY_TYPES.values():
        return {"type": value.__name__}
    if type(value) in NUMPY_TYPES.values():
        return {"numpy": [type(value).__name__, describe(value.item())]}
    if is_registered(value):
        return {"estimator": describe_estimator(value)}
    raise NotStorableError(f"a parameter of type {type(value).__name__} cannot be stored")


def describe_estimator(estimator: Any) -> dict[str, Any]:
    """Return the name, parameters and output format of an estimator and, recursively, of nested estimators."""
    if "_metadata_request" in vars(estimator):
        raise NotStorableError("metadata requests cannot be stored")
    return {
        "name": type(estimator).__name__,
        "parameters": {name: describe(value) for name, value in parameters_of(estimator).items()},
        "output": output_of(estimator),
    }


def parameters_of(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator, without those that are paths."""
    return {name: value for name, value in estimator.get_params(deep=False).items() if name not in PATHS}


def output_of(estimator: Any) -> str | None:
    """Return the format that ``set_output`` chose, or None if it was never called."""
    output = vars(estimator).get(OUTPUT, {}).get("transform")
    return None if output is None else str(output)


def restore(value: Any) -> Any:
    """Return the parameter whose JSON representation is ``value``; raise ValueError or TypeError if there is none."""
    if isinstance(value, list):
        return [restore(part) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1 or not value.keys() <= RESTORE.keys():
        raise ValueError(f"{reprlib.repr(value)} is not a parameter value")
    ((kind, content),) = value.items()
    return RESTORE[kind](content)


def restore_estimator(description: Any) -> Any:
    """Return a new estimator from its description; its class must be registered, and its parameters valid."""
    if not isinstance(description, dict) or description.keys() != {"name", "parameters", "output"}:
        raise ValueError(f"{reprlib.repr(description)} is not the description of an estimator")
    name, parameters, output = (description[key] for key in ("name", "parameters", "output"))
    kind = registered_class(name)
    if not isinstance(parameters, dict):
        raise TypeError(f"the parameters of {name} must be an object, not {reprlib.repr(parameters)}")
    unknown = sorted(parameters.keys() - set(kind._get_param_names()))
    if unknown:
        raise ValueError(
            f"{name} has no parameter {reprlib.repr(unknown[0])} in the installed version of its package: "
            f"install the one that the manifest names, or pass estimator= to load"
        )
    estimator = kind(**{key: restore(value) for key, value in parameters.items() if key not in PATHS})
    if hasattr(estimator, "_parameter_constraints"):
        estimator._validate_params()
    if abs(getattr(estimator, "n_jobs", None) or 0) > MAX_JOBS:
        raise ValueError(f"the parameter n_jobs of {name} must be from {-MAX_JOBS} to {MAX_JOBS}")
    return set_output(estimator, output)


def set_output(estimator: Any, output: Any) -> Any:
    """Set the output format of an estimator, but not of nested ones."""
    if output is not None:
        if output not in OUTPUTS:
            raise ValueError(f"output {reprlib.repr(output)} is not one of {', '.join(OUTPUTS)}")
        vars(estimator)[OUTPUT] = {"transform": output}
    return estimator


def _keep(value: Any) -> Any:
    return value


def _describe_float(value: float) -> Any:
    return value if math.isfinite(value) else {"float": repr(value)}


def _describe_dict(value: dict[Any, Any]) -> Any:
    if not all(type(key) is str for key in value):
        raise NotStorableError("a dict whose keys are not strings cannot be stored")
    return {"dict": {key: describe(part) for key, part in value.items()}}


def _restore_float(content: Any) -> float:
    if content not in ("nan", "inf", "-inf"):
        raise ValueError(f"{reprlib.repr(content)} is not one of nan, inf and -inf")
    return float(content)


def _restore_tuple(content: Any) -> tuple[Any, ...]:
    if not isinstance(content, list):
        raise TypeError("a tuple must be stored as a list")
    return tuple(restore(part) for part in content)


def _restore_dict(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise TypeError("a dict must be stored as an object")
    return {key: restore(part) for key, part in content.items()}


def _restore_type(content: Any) -> Any:
    if not isinstance(content, str) or content not in NUMPY_TYPES:
        raise ValueError(f"{reprlib.repr(content)} is not a type of NumPy that a parameter may have")
    return NUMPY_TYPES[content]


def _restore_numpy(content: Any) -> Any:
    if not isinstance(content, list) or len(content) != 2:
        raise ValueError(f"{reprlib.repr(content)} is not the type and the value of a NumPy scalar")
    value = restore(content[1])
    if not isinstance(value, bool | int | float | str):  # a list would make an array
        raise TypeError(f"{reprlib.repr(value)} is not a NumPy scalar")
    return _restore_type(content[0])(value)


DESCRIBE: dict[type, Callable[[Any], Any]] = {
    type(None): _keep,
    bool: _keep,
    int: _keep,
    str: _keep,
    float: _describe_float,
    list: lambda value: [describe(part) for part in value],
    tuple: lambda value: {"tuple": [describe(part) for part in value]},
    dict: _describe_dict,
    np.random.RandomState: lambda _: None,  # the state of a generator is not stored
}

RESTORE: dict[str, Callable[[Any], Any]] = {
    "float": _restore_float,
    "tuple": _restore_tuple,
    "dict": _restore_dict,
    "type": _restore_type,
    "numpy": _restore_numpy,
    "estimator": restore_estimator,
}
