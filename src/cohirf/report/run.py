"""How the model was fitted: parameters, versions, and code that repeats the fit."""

from __future__ import annotations

import platform
from importlib import metadata
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from cohirf.diagnosis.text import clean, shorten
from cohirf.estimator import CoHiRF
from cohirf.report.study import Study

PACKAGES = ("cohirf", "numpy", "scipy", "scikit-learn")
MAX_VALUE = 400  # characters
MAX_CODE = 10_000


def describe_run(study: Study, data_name: str | None, command: str | None) -> dict[str, Any]:
    """Return how the model was fitted, as text: data, parameters, seed, versions, command and code."""
    model = study.model
    base = study.base_method
    return {
        "data_name": None if data_name is None else shorten(data_name, MAX_VALUE),
        "base": shorten(type(base).__name__),
        "parameters": _parameters(model, skip="estimator"),
        "base_parameters": _parameters(base),
        "seed": None if model.random_state is None else shorten(repr(model.random_state)),
        "versions": {"Python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}},
        "command": None if command is None else clean(command),
        "code": clean(write_code(model)),
    }


def write_code(model: CoHiRF) -> str:
    """Return Python code that fits a model with the same parameters to data called ``X``.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from cohirf import CoHiRF
    >>> from cohirf.report.run import write_code
    >>> print(write_code(CoHiRF(KMeans(3), n_views=3, random_state=0)))
    from cohirf import CoHiRF
    from sklearn.cluster import KMeans
    <BLANKLINE>
    model = CoHiRF(estimator=KMeans(n_clusters=3), n_views=3, random_state=0).fit(X)
    """
    parts = [value for value in model.get_params(deep=True).values() if hasattr(value, "get_params")]
    imports = {f"from {_public_module(part)} import {type(part).__name__}" for part in [model, *parts]}
    call = BaseEstimator.__repr__(model, N_CHAR_MAX=MAX_CODE)
    return "\n".join([*sorted(imports), "", f"model = {call}.fit(X)"])


def _public_module(estimator: Any) -> str:
    """Return the module that users import an estimator from: the part of its path before the first private module."""
    if type(estimator) is CoHiRF:
        return "cohirf"
    parts = type(estimator).__module__.split(".")
    private = [place for place, part in enumerate(parts) if part.startswith("_") and part != "__main__"]
    return ".".join(parts[: private[0]] if private else parts)


def _parameters(estimator: Any, skip: str | None = None) -> list[dict[str, Any]]:
    """Return name and value of each parameter, and whether it differs from the default."""
    if not hasattr(estimator, "get_params"):
        return []
    defaults = {
        name: parameter.default
        for name, parameter in signature(type(estimator).__init__).parameters.items()
        if parameter.default is not Parameter.empty
    }
    values = estimator.get_params(deep=False)
    return [
        {
            "name": shorten(name),
            "value": shorten(repr(value), MAX_VALUE),
            "changed": name not in defaults or not _is_same(value, defaults[name]),
        }
        for name, value in sorted(values.items())
        if name != skip
    ]


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return False
    return bool(type(value) is type(default) and repr(value) == repr(default))
