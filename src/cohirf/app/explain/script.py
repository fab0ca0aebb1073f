"""How the model was fitted: parameters, versions, the command, and a script that repeats the
fit.
"""

from __future__ import annotations

import copy
import platform
from importlib import metadata
from itertools import takewhile
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._pprint import _changed_params

from cohirf import CoHiRF, __version__
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.study import Study
from cohirf.app.explain.words import clean, shorten
from cohirf.inspection import base_method_of
from cohirf.store import Origin


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that labels depend on."""
    ours = {"Python": platform.python_version(), "cohirf": __version__}
    return ours | {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}


def describe_run(
    study: Study, data_name: str | None, origin: Origin | None = None, pipeline: Any = None
) -> dict[str, Any]:
    """Return how the model was fitted, as text: data, parameters, seed, versions, command and
    script.
    """
    model = study.model
    base = base_method_of(model)
    return {
        "data_name": None if data_name is None else shorten(data_name, PAGE.value),
        "base": shorten(type(base).__name__),
        "parameters": _list_parameters(model, skip="estimator"),
        "base_parameters": _list_parameters(base),
        "seed": None if model.random_state is None else shorten(repr(model.random_state)),
        "versions": _versions(),
        "command": clean(origin.command) if origin is not None and origin.command else None,
        "script": clean(write_script(model, origin, pipeline)),
        "is_repeatable": isinstance(model.random_state, Integral),
    }


def _list_parameters(estimator: Any, skip: str | None = None) -> list[dict[str, Any]]:
    """Return name and value of each parameter, and whether it differs from the default."""
    if not hasattr(estimator, "get_params"):
        return []
    changed = _changed_params(estimator)
    return [
        {
            "name": shorten(name),
            "value": shorten(repr(value), PAGE.value),
            "changed": name in changed,
        }
        for name, value in sorted(estimator.get_params(deep=False).items())
        if name != skip
    ]


def write_script(model: CoHiRF, origin: Origin | None = None, pipeline: Any = None) -> str:
    """Return a script that fits a model with the same parameters, so that ``labels`` are its
    labels.
    """
    settled = copy.copy(model)
    settled.checkpoint = None
    settled.verbose = 0
    if isinstance(model.batch_size, str):
        settled.batch_size = model.batch_size_  # what the fit has measured
    parts = [
        settled,
        *_nested(settled),
        *([] if pipeline is None else [pipeline, *_nested(pipeline)]),
    ]
    imports = {f"from {_public_module(part)} import {type(part).__name__}" for part in parts}
    before = []
    rows = "X"
    if origin is not None:
        imports.add("from cohirf.app.preparation import prepare")
        before = [_prepare_call(origin)]
        rows = "prepared.rows()"
    elif pipeline is not None:
        before = [_assign("pipeline", pipeline)]
        rows = "pipeline.fit_transform(X)"
    if getattr(model, "changes_", None) is not None:
        said = "A fit of all rows at once can give other clusters and numbers."
        before.insert(0, f"# The model was updated after its fit. {said}")
    lines = [*before, _assign("model", settled), f"labels = model.fit({rows}).labels_"]
    return "\n".join([*sorted(imports), "", *lines])


def _nested(estimator: Any) -> list[Any]:
    """Return the estimators among the parameters of an estimator, at any depth."""
    if not hasattr(estimator, "get_params"):
        return []
    return [
        value for value in estimator.get_params(deep=True).values() if hasattr(value, "get_params")
    ]


def _assign(name: str, estimator: Any) -> str:
    """Return code that makes an estimator, whose further lines are below the first one in
    ``name = ...``.
    """
    shown: str = BaseEstimator.__repr__(estimator, N_CHAR_MAX=PAGE.code)
    return f"{name} = {shown}".replace("\n", "\n" + " " * len(f"{name} = "))


def _prepare_call(origin: Origin) -> str:
    arguments = [
        _to_code(origin.data),
        *(f"{name}={_to_code(value)}" for name, value in origin.options.items()),
    ]
    line = f"prepared = prepare({', '.join(arguments)})"
    several = ["prepared = prepare(", *(f"    {argument}," for argument in arguments), ")"]
    return line if len(line) <= PAGE.code_width else "\n".join(several)


def _to_code(value: Any) -> str:
    """Return a value as Python code; text in double quotes where that is possible."""
    code = repr(value)
    is_text = isinstance(value, str)
    if is_text and code.startswith("'") and '"' not in code:
        return f'"{code[1:-1]}"'
    return code


def _public_module(estimator: Any) -> str:
    """Return the module that users import an estimator from: the part of its path before the first
    private module.
    """
    path = "cohirf" if type(estimator) is CoHiRF else type(estimator).__module__
    return ".".join(
        takewhile(lambda part: part == "__main__" or not part.startswith("_"), path.split("."))
    )
