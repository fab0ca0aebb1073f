"""The subject of an explanation, and the sampler: a model with the rows that it is explained by,
and which are read.

Descriptions, diagnoses, plots and pages all read the same rows: all of small data, the same random
rows of large data each time, and more rows of clusters that have few of them. Without data, they
are among those that the model stores.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import euclidean_distances
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from cohirf import CoHiRF
from cohirf.app.explain.effects import Followed, Trait, find_followed, find_repeated, find_same
from cohirf.app.explain.policy import SAMPLE
from cohirf.app.explain.table import (
    Table,
    Transformed,
    as_data,
    as_dense,
    cells_per_row,
    check_n_rows,
    check_rows,
    count_rows,
    is_prepared,
    name_features,
    names_of,
    read_cells,
    read_original,
    read_prepared,
    read_rows,
    read_table,
    set_far_aside,
)
from cohirf.app.explain.words import shorten
from cohirf.app.preparation import Boolean, Classes, LeftOut, Number, Vector
from cohirf.inspection import cluster_positions, positions_of, require_labels_here
from cohirf.rows import FloatArray, IntArray, count_with_noise, mean_silhouette, rows_by_label
from cohirf.sources import ScaledSource


@dataclass(frozen=True)
class RowNames:
    """The names of all rows, and the name of the column that has them."""

    column: str
    names: list[str]


class StoredData:
    """The rows that a model stores, as data; with a preparation, as what ``prepare`` returned."""

    def __init__(self, model: CoHiRF, preparation: Any = None) -> None:
        self.model, self.preparation, self.source, self.n_rows = (
            model,
            preparation,
            self,
            len(model.labels_),
        )

    def take(self, rows: IntArray) -> Any:
        """Return rows that are stored."""
        return self.model.landmarks_[np.searchsorted(self.model.landmark_indices_, rows)]


@dataclass(frozen=True)
class Study:
    """The subject of an explanation."""

    model: CoHiRF  # the fitted model
    data: Any  # the rows that it was fitted to, or the table that they were made from
    feature_names: list[str]  # the names of their features
    original: Any  # the same rows in their original units
    # the names of the columns of ``original``; None if it has names of its own
    column_names: Sequence[str] | None
    classes: Classes | None = None  # known classes of the rows
    row_names: RowNames | None = None  # the names of the rows
    prepared: Any = None  # the prepared rows, if a preparation made them

    def read_table(self, rows: IntArray) -> Table:
        """Return some rows in their original units."""
        if self.prepared is not None:
            return read_prepared(self.prepared, rows)
        return read_table(self.original, rows, self.column_names)

    def read_exemplars(self, clusters: IntArray) -> list[dict[str, Any]]:
        """Return the values of the exemplars of some clusters, as they are stored."""
        if self.prepared is not None:
            preparation = self.prepared.preparation
            names = [feature.name for feature in preparation.features]
            if isinstance(self.prepared.source, ScaledSource):
                exemplars = np.asarray(self.model.exemplar_indices_)[clusters]
                rows, place = np.unique(exemplars, return_inverse=True)
                return read_cells(read_original(self.prepared, rows), place, names)
            return read_cells(
                preparation.to_original_units(as_dense(self.model.exemplars_)), clusters, names
            )
        if isinstance(self.original, StoredData):
            return read_cells(self.model.exemplars_, clusters, self.column_names)
        return read_cells(self.original, self.model.exemplar_indices_[clusters], self.column_names)

    @cached_property
    def units(self) -> dict[str, str]:
        """The units of columns that have one."""
        return {} if self.prepared is None else find_units(self.prepared)

    @property
    def has_vectors(self) -> bool:
        """Whether the rows are vectors, whose numbers have no names."""
        if self.prepared is None:
            return False
        return any(isinstance(column, Vector) for column in self.prepared.preparation.kept)

    @cached_property
    def has_data_of_fit(self) -> bool:
        """Whether ``data`` is all rows as they were fitted."""
        if isinstance(self.data, StoredData):
            return False
        if self.prepared is not None:
            return True
        try:
            check_rows(self.model, self.data)
        except (TypeError, ValueError):  # a table that the data of the fit was made from
            return False
        return True

    @property
    def n_columns(self) -> int:
        """Number of columns of the original data."""
        if self.prepared is not None:
            return len(self.prepared.preparation.columns)
        shape = getattr(self.original, "shape", None)
        return int(self.original.n_features if shape is None else shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return len(self.model.labels_)

    def name_row(self, row: int) -> str:
        """Return the name of a row: its id, or its number."""
        if self.row_names is None:
            return f"row {row}"
        return shorten(self.row_names.names[row])


def make_study(
    model: CoHiRF, X: Any = None, names: Sequence[str] | None = None, preparation: Any = None
) -> Study:
    """Return the subject of a description: ``X`` as it is, or the rows that the model stores."""
    if X is None:
        stored = StoredData(model, preparation)
        seen = name_features(model, None, names)
        return Study(
            model, stored, seen, stored, seen, prepared=None if preparation is None else stored
        )
    rows = X.source if is_prepared(X) else X
    check_n_rows(model, rows, "the data of the fit, or the table that it was made from")
    return Study(
        model, rows, [], rows, names_of(model, X, names), prepared=X if is_prepared(X) else None
    )


def check_study(
    model: CoHiRF,
    X: Any,
    y: Any,
    feature_names: Sequence[str] | None,
    *,
    pipeline: Any = None,
    ids: Any = None,
) -> Study:
    """Return the subject of a page; raise if model, data and names do not fit together."""
    if not hasattr(type(model), "diagnose"):
        raise TypeError(
            f"{reprlib.repr(model)} of type {type(model).__name__} is not a CoHiRF: pass a fitted "
            "CoHiRF."
        )
    check_is_fitted(model)
    require_labels_here(model)
    fitted, original = find_data(X, pipeline)
    prepared = original if is_prepared(original) else None
    is_same = fitted is original
    data = as_data(fitted, model.metric)
    names = name_features(model, data, feature_names if is_same else None)
    check_rows(model, data)
    n_rows = len(model.labels_)
    n_given = count_rows(fitted if prepared else original)
    if n_given != n_rows:
        raise ValueError(f"The data has {n_given:,} rows, but the fit had {n_rows:,}.")
    row_names = find_row_names(original, ids)
    if row_names is not None and len(row_names.names) != n_rows:
        raise ValueError(
            f"ids has {len(row_names.names):,} names, but the data has {n_rows:,} rows: pass one "
            "for each row."
        )
    if feature_names is not None:
        column_names = list(feature_names)
    elif prepared:
        column_names = prepared.feature_names
    else:
        column_names = None
    classes = None if y is None else find_classes(y, n_rows)
    if is_same:
        return Study(model, data, names, data, names, classes, row_names, prepared)
    if prepared is not None:
        original = original_numbers(prepared)
    return Study(model, data, names, original, column_names, classes, row_names, prepared)


def find_classes(y: Any, n_rows: int) -> Classes:
    """Return known classes, of which rows without a class are one."""
    if isinstance(y, Classes):
        y = np.array([*y.names, "missing"])[y.codes]
    values = np.asarray(y)
    if values.shape != (n_rows,):
        said = f"y has shape {values.shape}, but the data has {n_rows:,} rows"
        raise ValueError(f"{said}: pass one class for each row.")
    if values.dtype.kind == "O":  # values of mixed types cannot be sorted
        values = np.array([str(value) for value in values.tolist()])
    distinct, codes = np.unique(values, return_inverse=True)
    return Classes([shorten(name) for name in distinct.tolist()], codes)


def find_data(X: Any, pipeline: Any) -> tuple[Any, Any]:
    """Return the rows of a fit, and the same before a pipeline.

    What was prepared is returned as it is.
    """
    if hasattr(pipeline, "to_original_units"):  # a Preparation
        X = pipeline.apply(X)
    elif isinstance(pipeline, Pipeline) and hasattr(pipeline.steps[-1][1], "hierarchy_"):
        pipeline = pipeline[:-1]
    if is_prepared(X):
        return X.source, X
    if pipeline is None:
        return X, X
    if not hasattr(pipeline, "transform"):
        raise TypeError(
            f"pipeline={pipeline!r} cannot transform rows: give the fitted transformer or "
            "Pipeline, or the Preparation, that made the data of the fit."
        )
    return Transformed(pipeline.transform, X), X


def find_row_names(original: Any, ids: Any) -> RowNames | None:
    """Return the names of rows that are given, or those that a preparation has found."""
    if ids is not None:
        return RowNames(
            shorten(getattr(ids, "name", None) or "id"),
            [str(name) for name in np.asarray(ids).tolist()],
        )
    parts = original.ids() if is_prepared(original) else None
    if parts is None:
        return None
    names = [name for part in parts for name in part.cast("string").to_pylist()]
    return RowNames(
        shorten(original.preparation.id_column), ["" if name is None else name for name in names]
    )


def original_numbers(prepared: Any) -> Transformed:
    """Return the numbers of the original data, also constant ones, such as black pixels.

    Missing cells are filled.
    """
    found = list[tuple[int, float]]()
    start = 0
    for column in prepared.preparation.columns:
        if isinstance(column, Number) or (isinstance(column, Boolean) and column.true == "1"):
            found.append((start, 0.0))
        elif isinstance(column, LeftOut) and column.value is not None:
            found.append((-1, column.value))
        start += len(column.features)
    place = np.array([one for one, _ in found], dtype=np.int64)
    constant = np.array([value for _, value in found])

    def restore(values: Any) -> FloatArray:
        return np.where(
            place < 0, constant, prepared.preparation.to_original_units(values)[:, place]
        )

    return Transformed(restore, prepared.source, len(found))


def find_units(prepared: Any) -> dict[str, str]:
    """Return the unit of each column of numbers that has one."""
    features = prepared.preparation.features
    return {
        shorten(feature.column): feature.unit
        for feature in features
        if feature.unit not in ("share", "date", "")
    }


def tell_columns(prepared: Any) -> dict[str, Any]:
    """Return what was done with each column as a table: headings, and cells of each row."""
    notes = prepared.preparation.describe()
    rows = [
        [shorten(note.column), note.kind, str(note.n_features), shorten(note.note, 400)]
        for note in notes
    ]
    return {"headings": ["Column", "Kind", "Features", "What was done"], "rows": rows}


# -- the sampler


def draw(n_rows: int, n_drawn: int) -> IntArray:
    """Return all row numbers, or some of them drawn at random; sorted."""
    if n_rows <= n_drawn:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(SAMPLE.seed).choice(n_rows, n_drawn, replace=False))


def add_rare(
    labels: IntArray, drawn: IntArray, n_largest: int = SAMPLE.described_clusters
) -> IntArray:
    """Return drawn rows, and more rows of those of the ``n_largest`` clusters that have too few of
    them; sorted.
    """
    if len(drawn) == len(labels):
        return drawn
    sizes = count_with_noise(labels, int(labels.max(initial=-1)) + 1)[1:]
    is_rare = count_with_noise(labels[drawn], len(sizes))[1:] < SAMPLE.rows_of_cluster
    is_rare[np.argsort(-sizes, kind="stable")[n_largest:]] = False
    candidates = np.flatnonzero(np.append(is_rare, False)[labels])  # noise selects the last entry
    starts, members = rows_by_label(labels[candidates], len(sizes))
    extra = (members[starts[rare] : starts[rare + 1]] for rare in np.flatnonzero(is_rare).tolist())
    spread = (
        some[np.linspace(0, len(some) - 1, min(len(some), SAMPLE.rows_of_cluster)).astype(np.int64)]
        for some in extra
    )
    return np.unique(np.concatenate([drawn, *(candidates[some] for some in spread)]))


def weigh(model: CoHiRF, labels: IntArray) -> NDArray[np.float64]:
    """Return how many rows of the data each row of a sample stands for, given positions of their
    clusters.
    """
    counts, sampled = (
        count_with_noise(of, model.n_clusters_) for of in (cluster_positions(model), labels)
    )
    weights: NDArray[np.float64] = (counts / np.maximum(sampled, 1))[labels + 1]
    return weights


@dataclass(frozen=True)
class SampleDistances:
    """A sample of rows with its pairwise distances, to score partitions."""

    features: Any
    distances: NDArray[np.float64]

    @classmethod
    def of(cls, features: Any) -> SampleDistances:
        """Compute the pairwise distances of the rows of an array or CSR matrix."""
        return cls(features, euclidean_distances(features))

    def silhouette(self, labels: IntArray) -> float | None:
        """Return the mean silhouette of the rows that are not noise, or None if it is undefined."""
        kept = np.flatnonzero(labels >= 0)
        if not 1 < len(np.unique(labels[kept])) < len(kept):
            return None
        is_all = len(kept) == len(labels)  # then they need no copy
        return mean_silhouette(
            self.distances if is_all else self.distances[np.ix_(kept, kept)], labels[kept]
        )


@dataclass(frozen=True)
class Sample:
    """Rows that clusters are described by: random ones, more rows of small clusters, and rows that
    were asked for.

    A page asks for every exemplar, so that each final cluster has a row; medoids need not be here.
    """

    study: Study
    rows: IntArray  # sorted row numbers
    drawn: IntArray  # positions in the sample of the rows that were drawn at random
    max_points: int = 0  # the largest number of rows that are plotted

    @cached_property
    def table(self) -> Table:
        """The columns of these rows in their original units, without far numbers of noise."""
        table = replace(self.study.read_table(self.rows), weights=self.weights)
        return set_far_aside(table, self.labels)

    @cached_property
    def labels(self) -> IntArray:
        """Final cluster of each row, as its position in ``cluster_numbers_``; -1 for noise."""
        return np.asarray(
            positions_of(self.study.model.labels_[self.rows], self.study.model.cluster_numbers_)
        )

    @cached_property
    def weights(self) -> FloatArray:
        """How many rows of the data each row stands for."""
        return weigh(self.study.model, self.labels)

    @cached_property
    def repeated(self) -> tuple[str, ...]:
        """Up to five columns whose combined levels are nearly the final clusters."""
        return find_repeated(self.table, self.labels)

    @cached_property
    def followed(self) -> Followed | None:
        """The column whose levels the final clusters nearly follow, if they repeat none."""
        if self.repeated or self.study.has_vectors:
            return None
        return find_followed(self.table, self.labels)

    @cached_property
    def same(self) -> tuple[str, ...]:
        """Columns that say the same as those that clusters repeat, or nearly follow."""
        named = (self.followed.column,) if self.followed is not None else self.repeated
        return find_same(self.table, named) if named else ()

    def begin_with_repeated(self, traits: list[Trait]) -> list[Trait]:
        """Return the traits of a final cluster, those of columns that clusters repeat first."""
        return sorted(traits, key=lambda trait: trait.feature.name not in self.repeated)

    @cached_property
    def features(self) -> Any:
        """Features of these rows as they were fitted, as float64 and without missing values.

        They are CSR if the data are, and have length 1 for cosine distances.
        """
        return read_rows(self.study.data, self.rows)

    @cached_property
    def points(self) -> IntArray:
        """Positions in the sample of the rows that are plotted."""
        return self.drawn[draw(len(self.drawn), self.max_points)]

    @cached_property
    def scored(self) -> IntArray:
        """Positions in the sample of the rows that scores are computed on."""
        return self.drawn[draw(len(self.drawn), SAMPLE.scored_rows)]

    @cached_property
    def distances(self) -> SampleDistances:
        """Pairwise distances of the scored rows, in the features that the model uses for
        distances.
        """
        return SampleDistances.of(self.features[self.scored])


def draw_sample(
    study: Study, max_points: int = 0, wanted: IntArray | tuple[int, ...] = ()
) -> Sample:
    """Choose all rows, or a sample if there are very many; it contains the wanted rows."""
    model = study.model
    is_stored = isinstance(study.original, StoredData)
    if is_stored:
        population = model.landmark_indices_
    else:
        population = np.arange(len(model.labels_))
    labels = cluster_positions(model)[population]
    data = study.data
    n_cells = cells_per_row(data)
    if n_cells is None:
        n_cells = model.n_features_in_
    drawn = draw(len(population), SAMPLE.described.count(n_cells))
    rows = np.unique(
        np.concatenate([population[add_rare(labels, drawn)], np.asarray(wanted, np.int64)])
    )
    return Sample(study, rows, np.searchsorted(rows, population[drawn]), max_points)


@dataclass(frozen=True)
class DiagnosisSample:
    """Rows that a model stores, on which the base method runs."""

    rows: IntArray  # row numbers
    features: Any  # the features that the model uses for distances
    compared: IntArray  # positions in the sample of the rows on which labels are compared
    is_part: bool  # whether the fit had more rows
    has_density: (
        bool  # whether the rows are as dense as those of the fit: all rows, or all rows of a region
    )


def draw_diagnosed(model: CoHiRF, *, keeps_density: bool = False) -> DiagnosisSample:
    """Return all rows of a small fit.

    Of a larger one, random rows or, with ``keeps_density``, a region.

    A region consists of the rows nearest to a random row; at its border rows lack neighbours, so
    labels are compared on its inner half. It needs all rows of the fit. All are rows that the model
    stores: a verdict does not need the data.
    """
    rng = np.random.default_rng(SAMPLE.seed)
    points = model.landmarks_
    numbers = model.landmark_indices_
    n_kept = len(numbers)
    n_rows = len(model.labels_)
    n_drawn = SAMPLE.diagnosed.count(model.n_features_in_)
    chosen: IntArray = np.arange(n_kept)
    inner = None
    is_part = True
    has_density = False
    if not keeps_enough(model):
        pass
    elif n_kept == n_rows <= n_drawn:
        is_part = False
        has_density = True
    elif n_kept == n_rows and keeps_density:
        distances = euclidean_distances(points[[int(rng.integers(n_rows))]], points)[0]
        nearest = np.argsort(distances, kind="stable")[:n_drawn]
        chosen = np.sort(nearest)
        has_density = True
        inner = np.searchsorted(chosen, np.sort(nearest[: n_drawn // 2]))
    elif n_kept == n_rows:
        chosen = draw(n_kept, n_drawn)
    else:
        # clusters have about the same shares
        odds = weigh(model, positions_of(model.labels_[numbers], model.cluster_numbers_))
        # at most half of them, so that the odds have an effect
        n_drawn = min(n_drawn, (n_kept + 1) // 2)
        chosen = np.sort(rng.choice(n_kept, n_drawn, replace=False, p=odds / odds.sum()))
    compared = np.arange(len(chosen)) if inner is None else inner
    return DiagnosisSample(numbers[chosen], points[chosen], compared, is_part, has_density)


def keeps_enough(model: CoHiRF) -> bool:
    """Return whether a model keeps enough rows for a sample.

    One that was reduced to exemplars does not.
    """
    n_kept = len(model.landmark_indices_)
    n_needed = SAMPLE.diagnosed.count(model.n_features_in_)
    # rows of weight 0 are not kept either, but most others are
    return 2 * n_kept > len(model.labels_) or n_kept >= min(
        n_needed, SAMPLE.kept_of_cluster * model.n_clusters_
    )
