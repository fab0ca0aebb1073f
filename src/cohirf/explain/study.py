"""The subject of a report: a model, the data of its fit and the original data; all are checked."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from cohirf.algorithm.grouping import IntArray
from cohirf.data.dask_arrays import require_labels_here
from cohirf.estimator import CoHiRF
from cohirf.explain.diagnose import SampleDistances
from cohirf.explain.effects import Spread, measure_spread
from cohirf.explain.sample import add_rare, cells_per_row, draw, draw_described, relevant_part, weigh
from cohirf.explain.table import (
    DATE,
    SHARE,
    Table,
    as_data,
    check_rows,
    count_rows,
    name_features,
    read_prepared,
    read_rows,
    read_table,
    take_rows,
)
from cohirf.explain.words import shorten
from cohirf.preparation import Preparation, Prepared
from cohirf.summary.numbers import cluster_positions

Floats = NDArray[np.float64]
SCORED_ROWS = 2000  # rows whose pairwise distances are computed
NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


class OriginalNumbers:
    """The numbers of the original data, also those of constant columns; missing cells are filled."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.n_rows = prepared.source.n_rows
        names, _ = prepared.preparation.to_original_numbers(np.empty((0, prepared.source.n_features)))
        self.n_features = len(names)

    def take(self, rows: IntArray) -> Floats:
        """Return rows."""
        _, numbers = self._prepared.preparation.to_original_numbers(self._prepared.source.take(rows))
        return numbers


def find_units(prepared: Prepared) -> dict[str, str]:
    """Return the unit of each column of numbers that has one."""
    named = {SHARE, DATE, ""}
    features = prepared.preparation.features
    return {shorten(feature.column): feature.unit for feature in features if feature.unit not in named}


def tell_columns(prepared: Prepared) -> dict[str, Any]:
    """Return what was done with each column as a table: headings, and cells of each row."""
    notes = prepared.preparation.describe()
    rows = [[shorten(note.column), note.kind, str(note.n_features), shorten(note.note, 400)] for note in notes]
    return {"headings": ["Column", "Kind", "Features", "What was done"], "rows": rows}


@dataclass(frozen=True)
class Given:
    """The data that a report is about."""

    fitted: Any  # the rows that the model was fitted to
    original: Any  # the same rows in their original units
    names: Sequence[str] | None = None  # the names of the columns of ``original``, if it does not know them
    row_names: RowNames | None = None  # the names of the rows
    prepared: Prepared | None = None  # the prepared rows, if a preparation made them


@dataclass(frozen=True)
class RowNames:
    """The names of all rows, and the name of the column that has them."""

    column: str
    names: list[str]


class TransformedRows:
    """Rows of a table after a pipeline: only those that are asked for are transformed."""

    def __init__(self, pipeline: Any, X: Any) -> None:
        self._pipeline, self._X = pipeline, X
        self.n_rows = count_rows(X)

    def take(self, rows: IntArray) -> Any:
        """Return transformed rows."""
        return self._pipeline.transform(take_rows(self._X, np.asarray(rows)))


def find_given(X: Any, pipeline: Any, ids: Any) -> Given:
    """Return the rows of a fit before and after a pipeline."""
    if isinstance(pipeline, Preparation):
        X = pipeline.apply(X)
    elif isinstance(pipeline, Pipeline) and isinstance(pipeline.steps[-1][1], CoHiRF):
        pipeline = pipeline[:-1]
    if isinstance(X, Prepared):
        names = _names_of(ids) if ids is not None else _read_names(X)
        return Given(X.source, OriginalNumbers(X), X.feature_names, names, X)
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


@dataclass(frozen=True)
class Classes:
    """Known classes of the rows: names of the classes, and the class number of each row."""

    names: list[str]
    code: IntArray


@dataclass(frozen=True)
class Study:
    """The subject of a report."""

    model: CoHiRF  # the fitted model
    data: Any  # the rows that it was fitted to
    feature_names: list[str]  # the names of their features
    original: Any  # the same rows in their original units
    column_names: Sequence[str] | None  # the names of the columns of ``original``; None if it has names of its own
    classes: Classes | None  # known classes of the rows
    row_names: RowNames | None = None  # the names of the rows
    prepared: Prepared | None = None  # the prepared rows, if a preparation made them

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
        return self.n_columns if self.prepared is None else int(self.original.n_features)

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
    if count_rows(given.original) != n_rows:
        raise ValueError(f"The data has {count_rows(given.original):,} rows, but the fit had {n_rows:,}.")
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


@dataclass(frozen=True)
class ReportSample:
    """A sample of the rows of the data: random rows, and more rows of small clusters, with their exemplars."""

    rows: IntArray  # sorted row numbers
    features: Any  # features of these rows as they were fitted, as float64 and without missing values
    table: Table  # the columns of these rows in their original units
    weights: NDArray[np.float64]  # how many rows of the data each row stands for
    drawn: IntArray  # positions in the sample of the rows that were drawn at random
    points: IntArray  # positions in the sample of the rows that are plotted
    scored: IntArray  # positions in the sample of the rows that scores are computed on
    # pairwise distances of the scored rows, in the features that the model uses for distances
    distances: SampleDistances

    @cached_property
    def spread(self) -> Spread:
        """Mean, deviation and range of each feature of the table."""
        return measure_spread(self.table.values, self.weights)

    @property
    def point_rows(self) -> IntArray:
        """Row numbers of the plotted rows."""
        return self.rows[self.points]

    @property
    def scored_rows(self) -> IntArray:
        """Row numbers of the rows that scores are computed on."""
        return self.rows[self.scored]


def draw_sample(study: Study, max_points: int, wanted: IntArray = NO_ROWS) -> ReportSample:
    """Read all rows, or a sample if there are very many; it contains exemplars and the wanted rows."""
    model = study.model
    drawn = draw_described(model, cells_per_row(study.data, model.n_features_in_))
    rows = np.unique(np.concatenate([add_rare(model, drawn), model.exemplar_indices_, wanted]))
    features = read_rows(study.data, rows)
    among = np.searchsorted(rows, drawn)  # only random rows are plotted and scored
    scored = among[draw(len(drawn), SCORED_ROWS)]
    return ReportSample(
        rows=rows,
        features=features,
        table=study.read_table(rows),
        weights=weigh(model, cluster_positions(model)[rows]),
        drawn=among,
        points=among[draw(len(drawn), max_points)],
        scored=scored,
        distances=SampleDistances.of(relevant_part(model, features[scored])),
    )
