"""The sampler: which rows clusters are described, diagnosed and reported by.

All rows of small data, the same random rows of large data each time, and more rows of clusters that have few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.grouping import IntArray, count_with_noise, rows_by_label
from cohirf.explain.table import Table, check_n_rows, is_prepared, name_features, read_prepared, read_table
from cohirf.summary.model import Model, state_of
from cohirf.summary.numbers import cluster_positions, positions_of

SEED = 0  # the same rows each time
FEWEST_ROWS = 30  # of each described cluster, if it has so many
ROWS_PER_CLUSTER = 10  # that a model keeps at least, unless it was reduced to exemplars


class Size(NamedTuple):
    """The size of a sample: at most this many rows of at most this many cells, but at least the fewest rows."""

    most: int
    fewest: int
    cells: int

    def count(self, n_columns: int) -> int:
        """Return how many rows to draw, given the number of cells of each."""
        return min(self.most, max(self.fewest, self.cells // max(n_columns, 1)))


DESCRIBED = Size(20_000, 500, 5_000_000)  # 40 MB
COMPARED = Size(2000, 300, 2_000_000)  # all pairs of these rows are compared
DIAGNOSED = Size(1000, 300, 500_000)  # the base method runs on these rows, which must not take long


@dataclass(frozen=True)
class Sample:
    """Rows that clusters are described by."""

    table: Table
    labels: IntArray  # cluster of each row, as its position in ``cluster_numbers_``; -1 for noise
    weights: NDArray[np.float64]  # how many rows of the data each row stands for


@dataclass(frozen=True)
class DiagnosisSample:
    """Rows of a fit."""

    rows: IntArray  # row numbers
    features: Any  # the features that the model uses for distances
    compared: IntArray  # positions in the sample of the rows on which labels are compared
    is_part: bool  # whether the fit had more rows
    has_density: bool  # whether the rows are as dense as those of the fit: all rows, or all rows of a region


def draw(n_rows: int, n_drawn: int) -> IntArray:
    """Return all row numbers, or some of them drawn at random; sorted."""
    if n_rows <= n_drawn:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(SEED).choice(n_rows, n_drawn, replace=False))


def draw_described(model: Model, n_columns: int) -> IntArray:
    """Return row numbers of the data of a fit; see ``draw``."""
    return draw(len(model.labels_), DESCRIBED.count(n_columns))


def add_rare(model: Model, drawn: IntArray, clusters: IntArray | None = None) -> IntArray:
    """Return drawn rows, and rows that the model stores of clusters that have too few of them; sorted."""
    if len(drawn) == len(model.labels_):
        return drawn
    clusters = np.arange(model.n_clusters_) if clusters is None else clusters
    numbers = model.cluster_numbers_
    present = count_with_noise(positions_of(model.labels_[drawn], numbers), model.n_clusters_)[1:]
    rare = clusters[present[clusters] < FEWEST_ROWS]
    starts, stored = rows_by_label(positions_of(state_of(model).landmarks.labels, numbers) + 1, model.n_clusters_ + 1)
    extra = [state_of(model).landmark_rows[stored[starts[k + 1] : starts[k + 2]][:FEWEST_ROWS]] for k in rare.tolist()]
    return np.unique(np.concatenate([drawn, *extra]))


def weigh(model: Model, labels: IntArray) -> NDArray[np.float64]:
    """Return how many rows of the data each row of a sample stands for, given positions of their clusters."""
    counts, sampled = (count_with_noise(of, model.n_clusters_) for of in (cluster_positions(model), labels))
    weights: NDArray[np.float64] = (counts / np.maximum(sampled, 1))[labels + 1]
    return weights


def sample_table(
    model: Model,
    X: Any = None,
    feature_names: Sequence[str] | None = None,
    clusters: IntArray | None = None,
    preparation: Any = None,
) -> Sample:
    """Read the rows of ``X`` that clusters are described by, or the rows that the model stores.

    The sample has at least 30 rows of each of ``clusters``, if they have so many; by default, of all clusters. A
    ``preparation`` turns the stored rows back into original units.
    """
    if X is None:
        table, labels = _read_stored(model, feature_names, preparation)
    else:
        check_n_rows(
            model, X.source if is_prepared(X) else X, "the data of the fit, or the table that it was made from"
        )
        is_matrix = hasattr(X, "shape") and not is_prepared(X)
        rows = add_rare(model, draw_described(model, X.shape[1] if is_matrix else model.n_features_in_), clusters)
        if is_prepared(X):
            table = read_prepared(X.preparation, X.source.take(rows), rows)
        else:
            table = read_table(X, rows, names_of(model, X, feature_names))
        labels = model.labels_[rows]
    positions = positions_of(labels, model.cluster_numbers_)
    return Sample(table, positions, weigh(model, positions))


def _read_stored(model: Model, feature_names: Sequence[str] | None, preparation: Any) -> tuple[Table, IntArray]:
    """Return rows that the model stores, and their labels."""
    names = name_features(model, None, feature_names)
    some = draw(len(state_of(model).landmark_rows), DESCRIBED.count(len(names)))
    rows, labels = state_of(model).landmark_rows[some], state_of(model).landmarks.labels[some]
    if preparation is not None:
        return read_prepared(preparation, state_of(model).landmarks.points[some], rows), labels
    return replace(read_table(state_of(model).landmarks.points, some, names), rows=rows), labels


def names_of(model: Model, X: Any, given: Sequence[str] | None) -> list[str] | None:
    """Return the names of the columns of data without names; None if the data has names."""
    if given is not None:
        return [str(name) for name in given]
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return None
    seen = getattr(X, "feature_names", None) or getattr(model, "feature_names_in_", None)
    return None if seen is None else [str(name) for name in seen]


def draw_diagnosed(model: Model, *, keeps_density: bool = False) -> DiagnosisSample:
    """Return all rows of a small fit; of a larger one, random rows or, with ``keeps_density``, a region.

    A region consists of the rows nearest to a random row. Rows at its border lack neighbours, so labels are compared on
    its inner half. It needs all rows of the fit, so a fit that stored only some of them gives random rows. All of these
    are rows that the model stores, so that a verdict is the same whether the data is there or not.
    """
    rng = np.random.default_rng(SEED)
    n_kept, n_rows = len(state_of(model).landmark_rows), len(model.labels_)
    n_drawn = DIAGNOSED.count(model.n_features_in_)
    if not keeps_enough(model):
        return _take(model, np.arange(n_kept), is_part=True, has_density=False)
    if n_rows <= n_drawn and n_kept == n_rows:
        return _take(model, np.arange(n_rows), is_part=False, has_density=True)
    if keeps_density and n_kept == n_rows:
        points = state_of(model).landmarks.points
        distances = euclidean_distances(points[[int(rng.integers(n_rows))]], points)[0]
        nearest = np.argsort(distances, kind="stable")[:n_drawn]
        chosen = np.sort(nearest)
        inner = np.searchsorted(chosen, np.sort(nearest[: n_drawn // 2]))
        return _take(model, chosen, inner, is_part=True, has_density=True)
    return _take(model, _draw_stored(model, n_drawn, rng), is_part=True, has_density=False)


def keeps_enough(model: Model) -> bool:
    """Return whether a model keeps enough rows for a sample; one that was reduced to exemplars does not."""
    n_kept, n_needed = len(state_of(model).landmark_rows), DIAGNOSED.count(model.n_features_in_)
    # rows of weight 0 are not kept either, but most others are
    return 2 * n_kept > len(model.labels_) or n_kept >= min(n_needed, ROWS_PER_CLUSTER * model.n_clusters_)


def cells_per_row(data: Any, n_features: int) -> int:
    """Return how many cells of a row are stored."""
    return int(data.nnz // data.shape[0]) if sparse.issparse(data) else n_features


def _take(
    model: Model, chosen: IntArray, compared: IntArray | None = None, *, is_part: bool, has_density: bool
) -> DiagnosisSample:
    compared = np.arange(len(chosen)) if compared is None else compared
    rows, points = state_of(model).landmark_rows[chosen], state_of(model).landmarks.points[chosen]
    return DiagnosisSample(rows, points, compared, is_part, has_density)


def _draw_stored(model: Model, n_drawn: int, rng: np.random.Generator) -> IntArray:
    """Draw rows that the model stores, so that clusters have about the same shares as among all rows."""
    labels = positions_of(state_of(model).landmarks.labels, model.cluster_numbers_)
    if len(labels) == len(model.labels_):
        return draw(len(labels), n_drawn)
    odds = weigh(model, labels)
    n_drawn = min(n_drawn, (len(labels) + 1) // 2)  # at most half of them, so that the odds have an effect
    return np.sort(rng.choice(len(labels), n_drawn, replace=False, p=odds / odds.sum()))
