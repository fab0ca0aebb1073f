"""The subject of a report: a model, the data of its fit and the original data; all are checked."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
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
from cohirf.explain.sample import add_rare, cells_per_row, draw, draw_described, weigh
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
from cohirf.summary.model import Model, base_method_of
from cohirf.summary.numbers import cluster_positions

Floats = NDArray[np.float64]
SCORED_ROWS = 2000  # rows whose pairwise distances are computed
NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


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
class RowNames:
    """The names of all rows, and the name of the column that has them."""

    column: str
    names: list[str]


@dataclass(frozen=True)
class TransformedRows:
    """Rows of some data after a transformation: only those that are asked for are transformed."""

    transform: Callable[[Any], Any]
    data: Any
    n_features: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return count_rows(self.data)

    def take(self, rows: IntArray) -> Any:
        """Return transformed rows."""
        return self.transform(take_rows(self.data, np.asarray(rows)))


def original_numbers(prepared: Prepared) -> TransformedRows:
    """Return the numbers of the original data, also those of constant columns; missing cells are filled."""
    to_original = prepared.preparation.to_original_numbers
    names, _ = to_original(np.empty((0, prepared.source.n_features)))
    return TransformedRows(lambda values: to_original(values)[1], prepared.source, len(names))


def find_data(X: Any, pipeline: Any) -> tuple[Any, Any]:
    """Return the rows of a fit, and the same before a pipeline; what was prepared is returned as it is."""
    if isinstance(pipeline, Preparation):
        X = pipeline.apply(X)
    elif isinstance(pipeline, Pipeline) and isinstance(pipeline.steps[-1][1], CoHiRF):
        pipeline = pipeline[:-1]
    if isinstance(X, Prepared):
        return X.source, X
    if pipeline is None:
        return X, X
    if not hasattr(pipeline, "transform"):
        raise TypeError(
            f"pipeline={pipeline!r} cannot transform rows: give the fitted transformer or Pipeline, or the "
            f"Preparation, that made the data of the fit."
        )
    return TransformedRows(pipeline.transform, X), X


def find_row_names(original: Any, ids: Any) -> RowNames | None:
    """Return the names of rows that are given, or those that a preparation has found."""
    if ids is not None:
        return RowNames(shorten(getattr(ids, "name", None) or "id"), [str(name) for name in np.asarray(ids).tolist()])
    parts = original.ids() if isinstance(original, Prepared) else None
    if parts is None:
        return None
    names = [name for part in parts for name in part.cast("string").to_pylist()]
    return RowNames(shorten(original.preparation.id_column), ["" if name is None else name for name in names])


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
        return base_method_of(self.model)

    @property
    def class_codes(self) -> IntArray | None:
        """The class number of each row; None if classes are not known."""
        return None if self.classes is None else self.classes.code

    def name_row(self, row: int) -> str:
        """Return the name of a row: its id, or its number."""
        return f"row {row}" if self.row_names is None else shorten(self.row_names.names[row])


def check_study(
    model: Model, X: Any, y: Any, feature_names: Sequence[str] | None, *, pipeline: Any = None, ids: Any = None
) -> Study:
    """Return the subject of a report; raise if model, data and names do not fit together."""
    if not isinstance(model, CoHiRF):
        raise TypeError(f"{reprlib.repr(model)} of type {type(model).__name__} is not a CoHiRF: pass a fitted CoHiRF.")
    require_labels_here(model)
    fitted, original = find_data(X, pipeline)
    prepared = original if isinstance(original, Prepared) else None
    is_same = fitted is original
    data = as_data(fitted, model.metric)
    names = name_features(model, data, feature_names if is_same else None)
    check_rows(model, data)
    n_rows, n_given = len(model.labels_), count_rows(fitted if prepared else original)
    if n_given != n_rows:
        raise ValueError(f"The data has {n_given:,} rows, but the fit had {n_rows:,}.")
    row_names = find_row_names(original, ids)
    if row_names is not None and len(row_names.names) != n_rows:
        raise ValueError(
            f"ids has {len(row_names.names):,} names, but the data has {n_rows:,} rows: pass one for each row."
        )
    column_names = list(feature_names) if feature_names is not None else prepared.feature_names if prepared else None
    classes = None if y is None else _name_classes(y, n_rows)
    if prepared is not None:
        original = original_numbers(prepared)
    column_names = names if is_same else column_names
    return Study(model, data, names, data if is_same else original, column_names, classes, row_names, prepared)


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
        distances=SampleDistances.of(features[scored]),
    )
