"""The subject of a report: a fitted model, the data of its fit, and names of features and classes; all are checked."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.data.dask_arrays import require_labels_here
from cohirf.description.prepared import read_prepared
from cohirf.description.table import Table, count_table_rows, read_table
from cohirf.diagnosis.reading import as_data, check_rows, name_features
from cohirf.diagnosis.text import shorten
from cohirf.estimator import CoHiRF
from cohirf.preparation import Prepared
from cohirf.report.original import RowNames, find_given
from cohirf.report.prepared_table import find_units, tell_columns


@dataclass(frozen=True)
class Classes:
    """Known classes of the rows: names of the classes, and the class number of each row."""

    names: list[str]
    code: IntArray


@dataclass(frozen=True)
class Study:
    """The subject of a report.

    Attributes
    ----------
    model : CoHiRF
        The fitted model.
    data : array, table, sparse matrix or source
        The rows that it was fitted to.
    feature_names : list of str
        The names of their features.
    original : array, table, sparse matrix or source
        The same rows in their original units.
    column_names : sequence of str or None
        The names of the columns of ``original``; None if it has names of its own.
    classes : Classes or None
        Known classes of the rows.
    row_names : RowNames or None
        The names of the rows.
    prepared : Prepared or None
        The prepared rows, if a preparation made them.
    """

    model: CoHiRF
    data: Any
    feature_names: list[str]
    original: Any
    column_names: Sequence[str] | None
    classes: Classes | None
    row_names: RowNames | None = None
    prepared: Prepared | None = None

    def read_table(self, rows: IntArray) -> Table:
        """Return some rows in their original units."""
        if self.prepared is not None:
            return read_prepared(self.prepared.preparation, self.prepared.source.take(rows), rows)
        return read_table(self.original, rows, self.column_names)

    @property
    def preparation(self) -> dict[str, Any] | None:
        """What was done with each column before the fit, as a table; None if nothing is known."""
        return None if self.prepared is None else tell_columns(self.prepared)

    @property
    def units(self) -> dict[str, str]:
        """The units of columns that have one."""
        return {} if self.prepared is None else find_units(self.prepared)

    @property
    def n_columns(self) -> int:
        """Number of columns of the original data."""
        if self.prepared is not None:
            return len(self.prepared.preparation.columns)
        shape = getattr(self.original, "shape", None)
        return int(self.original.n_features if shape is None else shape[1])

    @property
    def n_pixels(self) -> int:
        """Number of values of a row of the original data, if all of them are numbers."""
        return self.n_columns if self.prepared is None else self.prepared.source.n_features

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return len(self.model.labels_)

    @property
    def n_noise(self) -> int:
        """Number of noise rows."""
        return int((self.model.labels_ < 0).sum())

    @property
    def base_method(self) -> Any:
        """The base method of the model."""
        return self.model._base_method()

    @property
    def class_codes(self) -> IntArray | None:
        """The class number of each row; None if classes are not known."""
        return None if self.classes is None else self.classes.code

    def name_row(self, row: int) -> str:
        """Return the name of a row: its id, or its number."""
        return f"row {row}" if self.row_names is None else shorten(self.row_names.names[row])


def check_study(
    model: Any, X: Any, y: Any, feature_names: Sequence[str] | None, *, pipeline: Any = None, ids: Any = None
) -> Study:
    """Return the subject of a report; raise if model, data and names do not fit together."""
    if not isinstance(model, CoHiRF):
        raise TypeError(f"{reprlib.repr(model)} of type {type(model).__name__} is not a CoHiRF: pass a fitted CoHiRF.")
    require_labels_here(model)
    given = find_given(X, pipeline, ids)
    is_same = given.fitted is given.original
    data = as_data(given.fitted)
    names = name_features(model, data, feature_names if is_same else None)
    check_rows(model, data)
    column_names = names if is_same else given.names
    if not is_same and feature_names is not None:
        column_names = list(feature_names)
    n_rows = len(model.labels_)
    if count_table_rows(given.original) != n_rows:
        raise ValueError(f"The data has {count_table_rows(given.original):,} rows, but the fit had {n_rows:,}.")
    if given.row_names is not None and len(given.row_names.names) != n_rows:
        raise ValueError(
            f"ids has {len(given.row_names.names):,} names, but the data has {n_rows:,} rows: pass one for each row."
        )
    classes = None if y is None else _name_classes(y, n_rows)
    original = data if is_same else given.original
    return Study(model, data, names, original, column_names, classes, given.row_names, given.prepared)


def _name_classes(y: Any, n_rows: int) -> Classes:
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise ValueError(f"y has shape {values.shape}, but the data has {n_rows:,} rows: pass one class for each row.")
    if values.dtype.kind == "O":  # values of mixed types cannot be sorted
        values = np.array([str(value) for value in values.tolist()])
    distinct, code = np.unique(values, return_inverse=True)
    return Classes([shorten(name) for name in distinct.tolist()], code)
