"""The data of a fit in its original units: what the rows were before a pipeline or a preparation changed them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from cohirf.algorithm.grouping import IntArray
from cohirf.description.table import count_table_rows, take_rows
from cohirf.diagnosis.text import shorten
from cohirf.estimator import CoHiRF
from cohirf.preparation import Preparation, Prepared
from cohirf.report.prepared_table import UnscaledRows


@dataclass(frozen=True)
class Given:
    """The data that a report is about.

    Attributes
    ----------
    fitted : array, table, sparse matrix or source
        The rows that the model was fitted to.
    original : array, table, sparse matrix or source
        The same rows in their original units.
    names : sequence of str or None
        The names of the columns of ``original``, if it does not know them.
    row_names : RowNames or None
        The names of the rows.
    prepared : Prepared or None
        The prepared rows, if a preparation made them.
    """

    fitted: Any
    original: Any
    names: Sequence[str] | None = None
    row_names: RowNames | None = None
    prepared: Prepared | None = None


@dataclass(frozen=True)
class RowNames:
    """The names of all rows, and the name of the column that has them."""

    column: str
    names: list[str]


class TransformedRows:
    """Rows of a table after a pipeline: only those that are asked for are transformed."""

    def __init__(self, pipeline: Any, X: Any) -> None:
        self._pipeline, self._X = pipeline, X
        self.n_rows = count_table_rows(X)

    def take(self, rows: IntArray) -> Any:
        """Return transformed rows."""
        return self._pipeline.transform(take_rows(self._X, np.asarray(rows)))


def find_given(X: Any, pipeline: Any, ids: Any) -> Given:
    """Return the rows of a fit before and after a pipeline.

    Parameters
    ----------
    X : array, table, sparse matrix, source, path or Prepared
        The original data; or, without a pipeline, the data of the fit.
    pipeline : Preparation, transformer or None
        What made the data of the fit from ``X``.
    ids : sequence or None
        The names of the rows.

    Returns
    -------
    given : Given
        The rows before and after the pipeline.
    """
    if isinstance(pipeline, Preparation):
        X = pipeline.apply(X)
    elif isinstance(pipeline, Pipeline) and isinstance(pipeline.steps[-1][1], CoHiRF):
        pipeline = pipeline[:-1]
    if isinstance(X, Prepared):
        names = _names_of(ids) if ids is not None else _read_names(X)
        return Given(X.source, UnscaledRows(X), X.feature_names, names, X)
    names = None if ids is None else _names_of(ids)
    if pipeline is None:
        return Given(X, X, None, names)
    if not hasattr(pipeline, "transform"):
        raise TypeError(
            f"pipeline={pipeline!r} cannot transform rows: give the fitted transformer or Pipeline, or the "
            f"Preparation, that made the data of the fit."
        )
    return Given(TransformedRows(pipeline, X), X, None, names)


def _read_names(prepared: Prepared) -> RowNames | None:
    parts = prepared.ids()
    if parts is None:
        return None
    names = [name for part in parts for name in part.cast("string").to_pylist()]
    return RowNames(shorten(prepared.preparation.id_column), ["" if name is None else name for name in names])


def _names_of(ids: Any) -> RowNames:
    names = [str(name) for name in np.asarray(ids).tolist()]
    return RowNames(shorten(getattr(ids, "name", None) or "id"), names)
