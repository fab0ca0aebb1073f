"""The identity of a fit: everything that its result depends on, as text that is the same in every
process.

A checkpoint stores this text, and is refused for a fit that has another one.
"""

from __future__ import annotations

import hashlib
import re
import sys
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator

from cohirf._version import __version__
from cohirf.parameters import Parameters

# Parameters that may change when a fit is resumed: they affect neither batches nor their results.
FREE_PARAMETERS = {
    "checkpoint",
    "max_iter",
    "min_cluster_size",
    "n_jobs",
    "random_state",
    "merge",
    "size_limits",
    "verbose",
}


def describe_fit(given: Parameters, **facts: Any) -> dict[str, str]:
    """Describe everything that the result of a fit depends on: versions, ``facts`` and the given
    parameters, by name.
    """
    parameters = given.nested()
    for name in FREE_PARAMETERS:
        parameters.pop(name, None)
    # a fit that goes on keeps what it has measured
    if isinstance(parameters.get("batch_size"), str):
        parameters["batch_size"] = "auto"
    return _versions(parameters) | {
        name: describe(value) for name, value in (facts | parameters).items()
    }


def describe(value: Any) -> str:
    """Return a text that is equal for equal values in any process, and differs for different
    values.

    An estimator is described by the name of its class only: its parameters are described
    separately.

    Examples
    --------
    >>> from cohirf.fit_identity import describe
    >>> describe({"b", "a"})
    "set('a', 'b')"
    """
    try:
        return _describe(value)
    except (
        RecursionError,
        ValueError,
    ):  # it contains itself, or a variable that is not defined yet
        return _name(type(value))


def _describe(value: Any) -> str:
    if isinstance(value, np.generic):
        return _describe(value.item())
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {_digest(value)}"
    if sparse.issparse(value):
        coordinates = value.tocoo()
        return (
            f"sparse {value.dtype} {value.shape} {_digest(coordinates.data, *coordinates.coords)}"
        )
    if isinstance(value, BaseEstimator):
        return _name(type(value))
    if isinstance(value, dict | list | tuple | set | frozenset):
        return _describe_collection(value)
    if isinstance(value, FunctionType | MethodType | partial | CodeType):
        return _describe_function(value)
    shows_address: Any = object.__repr__
    if type(value).__repr__ is shows_address:
        return f"{_name(type(value))}({_describe(getattr(value, '__dict__', {}))})"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def _describe_collection(value: Any) -> str:
    """Describe the items one by one: repr would abbreviate long arrays, and print sets in arbitrary
    order.
    """
    if isinstance(value, dict):
        inside = [f"{_describe(key)}: {_describe(item)}" for key, item in value.items()]
    else:
        inside = [_describe_item(item) for item in value]
    if isinstance(value, set | frozenset):
        inside.sort()
    return f"{type(value).__name__}({', '.join(inside)})"


def _describe_item(value: Any) -> str:
    """Describe an item of a collection.

    An estimator with its parameters, which are not described separately.
    """
    described = _describe(value)
    if isinstance(value, BaseEstimator):
        return f"{described}({_describe(value.get_params())})"
    return described


def _describe_function(value: Any) -> str:
    """Describe a function by its name and code, because many functions are called <lambda>."""
    if isinstance(value, partial):
        return (
            f"partial({_describe(value.func)}, {_describe(value.args)}, "
            f"{_describe(value.keywords)})"
        )
    if isinstance(value, MethodType):
        return f"{_describe(value.__self__)}.{_describe(value.__func__)}"
    if isinstance(value, CodeType):
        parts = (value.co_code.hex(), value.co_names, value.co_varnames, value.co_consts)
        return hashlib.sha256(_describe(parts).encode()).hexdigest()[:16]
    enclosed = [cell.cell_contents for cell in value.__closure__ or ()]
    given = (value.__defaults__, value.__kwdefaults__, enclosed)
    return f"{_name(value)} {_describe(value.__code__)} {_describe(given)}"


def _versions(parameters: dict[str, Any]) -> dict[str, str]:
    """Return the versions of this package, of its dependencies, and of the packages that define the
    parameters.
    """
    versions = {
        "cohirf": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    packages = {type(value).__module__.partition(".")[0] for value in parameters.values()} - {
        "cohirf",
        "sklearn",
    }
    for package in sorted(packages):
        version = getattr(sys.modules.get(package), "__version__", None)
        if isinstance(version, str):
            versions[package] = version
    return versions


def _digest(*arrays: Any) -> str:
    hasher = hashlib.sha256()
    for array in arrays:
        if array.dtype.hasobject:
            hasher.update(_describe(array.tolist()).encode())
        else:
            hasher.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return hasher.hexdigest()[:32]


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"
