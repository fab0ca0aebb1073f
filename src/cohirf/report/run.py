"""How the model was fitted: parameters, seed, versions, the command, and a script that repeats the fit."""

from __future__ import annotations

import platform
from importlib import metadata
from inspect import Parameter, signature
from numbers import Integral
from typing import Any

import numpy as np

from cohirf.diagnosis.text import clean, shorten
from cohirf.report.script import write_script
from cohirf.report.study import Study
from cohirf.store import Origin

PACKAGES = ("cohirf", "numpy", "scipy", "scikit-learn")
MAX_VALUE = 400  # characters


def describe_run(
    study: Study, data_name: str | None, origin: Origin | None = None, pipeline: Any = None
) -> dict[str, Any]:
    """Return how the model was fitted, as text: data, parameters, seed, versions, command and script."""
    model = study.model
    base = study.base_method
    return {
        "data_name": None if data_name is None else shorten(data_name, MAX_VALUE),
        "base": shorten(type(base).__name__),
        "parameters": _parameters(model, skip="estimator"),
        "base_parameters": _parameters(base),
        "seed": None if model.random_state is None else shorten(repr(model.random_state)),
        "versions": {"Python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}},
        "command": clean(origin.command) if origin is not None and origin.command else None,
        "script": clean(write_script(model, origin, pipeline)),
        "is_repeatable": isinstance(model.random_state, Integral),
    }


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
