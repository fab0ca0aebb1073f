"""A Python script that repeats a fit and gives the same labels."""

from __future__ import annotations

import copy
from typing import Any

from sklearn.base import BaseEstimator

from cohirf.estimator import CoHiRF
from cohirf.store import Origin

MAX_CODE = 100_000
WIDTH = 100


def write_script(model: CoHiRF, origin: Origin | None = None, pipeline: Any = None) -> str:
    """Return a script that fits a model with the same parameters, so that ``labels`` are its labels.

    Parameters
    ----------
    model : CoHiRF
        The fitted model.
    origin : Origin, optional
        The file of the data, and how it was prepared. Without it, the script needs data called ``X``.
    pipeline : transformer, optional
        What was applied to the data before the fit.

    Returns
    -------
    script : str
        The script.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.report.script import write_script
    >>> from cohirf.store import Origin
    >>> model = CoHiRF(KMeans(3), n_views=3, random_state=0).fit(load_iris().data)
    >>> print(write_script(model, Origin("iris.csv", {"scaling": "standard"})))
    from cohirf import CoHiRF
    from cohirf.preparation import prepare
    from sklearn.cluster import KMeans
    <BLANKLINE>
    prepared = prepare("iris.csv", scaling="standard")
    model = CoHiRF(estimator=KMeans(n_clusters=3), n_views=3, random_state=0)
    labels = model.fit(prepared.rows()).labels_
    """
    settled = _settle(model)
    parts = [settled, *_nested(settled), *([] if pipeline is None else [pipeline, *_nested(pipeline)])]
    imports = {f"from {_public_module(part)} import {type(part).__name__}" for part in parts}
    lines = [_assign("model", settled)]
    if origin is not None:
        imports.add("from cohirf.preparation import prepare")
        lines = [_prepare_call(origin), *lines, "labels = model.fit(prepared.rows()).labels_"]
    elif pipeline is not None:
        lines = [_assign("pipeline", pipeline), *lines, "labels = model.fit(pipeline.fit_transform(X)).labels_"]
    else:
        lines = [*lines, "labels = model.fit(X).labels_"]
    if getattr(model, "changes_", None) is not None:
        lines.insert(
            0, "# The model was updated after its fit. A fit of all rows at once can give other clusters and numbers."
        )
    return "\n".join([*sorted(imports), "", *lines])


def _settle(model: CoHiRF) -> CoHiRF:
    """Return the model with the batch size that its fit has measured, and without what does not change labels."""
    settled = copy.copy(model)
    settled.checkpoint = settled.memory_limit = None
    settled.verbose = 0
    if isinstance(model.batch_size, str):
        settled.batch_size = model.batch_size_
    return settled


def _nested(estimator: Any) -> list[Any]:
    """Return the estimators among the parameters of an estimator, at any depth."""
    if not hasattr(estimator, "get_params"):
        return []
    return [value for value in estimator.get_params(deep=True).values() if hasattr(value, "get_params")]


def _assign(name: str, estimator: Any) -> str:
    """Return code that makes an estimator, whose further lines are below the first one in ``name = ...``."""
    shown: str = BaseEstimator.__repr__(estimator, N_CHAR_MAX=MAX_CODE)
    return f"{name} = {shown}".replace("\n", "\n" + " " * len(f"{name} = "))


def _prepare_call(origin: Origin) -> str:
    arguments = [_quote(origin.data), *(f"{name}={_quote(value)}" for name, value in origin.options.items())]
    line = f"prepared = prepare({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return "\n".join(["prepared = prepare(", *(f"    {argument}," for argument in arguments), ")"])


def _quote(value: Any) -> str:
    """Return a value as Python code; text in double quotes where that is possible."""
    code = repr(value)
    if isinstance(value, str) and code.startswith("'") and '"' not in code:
        return f'"{code[1:-1]}"'
    return code


def _public_module(estimator: Any) -> str:
    """Return the module that users import an estimator from: the part of its path before the first private module."""
    if type(estimator) is CoHiRF:
        return "cohirf"
    parts = type(estimator).__module__.split(".")
    private = [place for place, part in enumerate(parts) if part.startswith("_") and part != "__main__"]
    return ".".join(parts[: private[0]] if private else parts)
