"""The identity of a fit: everything that its result depends on, as text that is the same in every process.

A checkpoint stores this text, and is refused for a fit that has another one.
"""

from __future__ import annotations

import sys
from importlib import metadata
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import scipy
import sklearn
from joblib.hashing import NumpyHasher
from sklearn.base import BaseEstimator

# Parameters that may change when a fit is resumed: they affect neither batches nor their results.
FREE_PARAMETERS = {
    "checkpoint",
    "max_iter",
    "min_cluster_size",
    "n_jobs",
    "random_state",
    "merge",
    "verbose",
}


def describe_fit(model: BaseEstimator, **facts: Any) -> dict[str, str]:
    """Describe everything that the result of a fit depends on: versions, ``facts`` and parameters, by name."""
    given = model.get_params()
    parameters = {name: value for name, value in given.items() if name not in FREE_PARAMETERS}
    if isinstance(parameters.get("batch_size"), str):  # a fit that goes on keeps what it has measured
        parameters["batch_size"] = "auto"
    return _versions(parameters) | {name: describe(value) for name, value in (facts | parameters).items()}


def describe(value: Any) -> str:
    """Return a text that is equal for equal values in any process, and differs for different values.

    An estimator is described by the name of its class only: its parameters are described separately.

    Examples
    --------
    >>> from cohirf.fit_identity import describe
    >>> describe(0.5), describe({"b", "a"}) == describe({"a", "b"})
    ('0.5', True)
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, BaseEstimator):
        return name
    try:
        return f"{name} {_Hasher('sha1', coerce_mmap=True).hash(value)[:32]}"
    except Exception:  # whatever an object raises that cannot be pickled, such as an open file
        return name


class _Hasher(NumpyHasher):
    """joblib's digest of a value; functions count by their code, because many are called <lambda>."""

    def reducer_override(self, value: Any) -> Any:
        """Return the parts of a function that are compared."""
        if isinstance(value, FunctionType):
            enclosed = [cell.cell_contents for cell in value.__closure__ or ()]
            given = (value.__defaults__, value.__kwdefaults__, enclosed)
            return tuple, ((value.__module__, value.__qualname__, value.__code__, given),)
        if isinstance(value, CodeType):
            return tuple, ((value.co_code, value.co_names, value.co_varnames, value.co_consts),)
        return NotImplemented


def _versions(parameters: dict[str, Any]) -> dict[str, str]:
    """Return the versions of this package, of its dependencies, and of the packages that define the parameters."""
    versions = {
        "cohirf": _own_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    packages = {type(value).__module__.partition(".")[0] for value in parameters.values()} - {"cohirf", "sklearn"}
    for package in sorted(packages):
        version = getattr(sys.modules.get(package), "__version__", None)
        if isinstance(version, str):
            versions[package] = version
    return versions


def _own_version() -> str:
    try:
        return metadata.version("cohirf")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"
