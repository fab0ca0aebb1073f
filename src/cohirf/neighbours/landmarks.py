"""Points from which rows take their label: centres of cells, or landmarks, which are rows of the data.

If groups of rows are cells, each row of a fit belongs to the group of the nearest point, and so does a new row. Other
methods have groups of any shape, which a medoid represents poorly: the medoids of two concentric spheres are just two
points. So a fit keeps a bounded number of its rows, sampled so that every final cluster has some.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import fetch_rows, is_here, look_up, take_rows
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.distances import find_nearest, measure_distances
from cohirf.algorithm.grouping import BLOCK_ROWS, IntArray, count_with_noise, row_blocks, rows_by_label
from cohirf.algorithm.metric_spaces import SPACES
from cohirf.neighbours.around import split
from cohirf.neighbours.nearest_label import NearestLabel

MAX_LANDMARKS = 10_000
N_NEIGHBORS = 20  # landmarks that a row is compared with, to say whether it is an outlier


def sample_landmarks(
    labels: Any,
    medoids: IntArray,
    rng: np.random.Generator,
    *,
    candidates: IntArray | None = None,
    max_landmarks: int = MAX_LANDMARKS,
) -> IntArray:
    """Return sorted row numbers: all ``candidates``, or a sample of them that contains rows of every cluster.

    One half of the sample is divided equally among clusters, the other half in proportion to their size; rows labelled
    -1 count as one cluster. Every medoid is in the sample, even if there are more clusters than ``max_landmarks``.
    Without ``candidates``, all rows are candidates.
    """
    if candidates is not None:
        among_candidates = np.searchsorted(candidates, medoids)
        return candidates[
            sample_landmarks(take_rows(labels, candidates), among_candidates, rng, max_landmarks=max_landmarks)
        ]
    n_rows, n_groups = labels.shape[0], len(medoids) + 1
    if n_rows <= max_landmarks:
        return np.arange(n_rows)
    sizes = np.roll(count_with_noise(labels, len(medoids)), -1)  # noise is the last group
    budget = max(0, max_landmarks - len(medoids))
    share = (budget * (0.5 / n_groups + 0.5 * sizes / n_rows)).astype(np.int64) * (sizes > 0)
    cluster = np.repeat(np.arange(n_groups), share)
    ranks = (rng.random(len(cluster)) * sizes[cluster]).astype(np.int64)
    return np.unique(np.concatenate([find_ranked(labels, cluster, ranks, n_groups), medoids]))


def find_ranked(labels: Any, group: IntArray, ranks: IntArray, n_groups: int) -> IntArray:
    """Return the row with each rank among the rows of a group: a label or, for the last group, -1."""
    if not is_here(labels):  # sorted as a whole; noise comes first
        starts, rows = rows_by_label(labels + 1, n_groups)
        return np.asarray(fetch_rows(rows, starts[(group + 1) % n_groups] + ranks), dtype=np.int64)
    found, n_before = np.empty(len(ranks), dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
    for block in row_blocks(len(labels), max(BLOCK_ROWS, n_groups)):
        of_block = np.asarray(labels[block])
        starts, rows = rows_by_label(np.where(of_block < 0, n_groups - 1, of_block), n_groups)
        place = ranks - n_before[group]
        n_before += np.diff(starts)
        here = np.flatnonzero((place >= 0) & (ranks < n_before[group]))
        found[here] = block.start + rows[starts[group[here]] + place[here]]
    return found


def choose_evenly(clusters: IntArray, masses: NDArray[np.float64]) -> IntArray:
    """Return sorted numbers of landmarks, each of which stands for about the same number of rows.

    A cluster with few rows keeps as many as its rows are compared with. Noise is left out, unless all rows are noise.
    """
    if len(masses) == 0:
        return np.arange(len(clusters))
    clustered = np.flatnonzero(clusters >= 0)
    counts = np.bincount(clusters[clustered], minlength=len(masses))
    rows_of_each = masses / counts
    kept = np.ceil(counts * rows_of_each / rows_of_each.max()).astype(np.int64)
    kept = np.minimum(counts, np.maximum(kept, N_NEIGHBORS + 1))
    starts, order = rows_by_label(clusters[clustered], len(masses))
    parts = [
        order[start + (np.arange(n_kept) * n_all) // n_kept]
        for start, n_all, n_kept in zip(starts[:-1].tolist(), counts.tolist(), kept.tolist(), strict=True)
    ]
    return np.sort(clustered[np.concatenate(parts)])


@dataclass(frozen=True)
class Cells:
    """Points that divide space: a row belongs to the nearest one, and has its label.

    Ties go to the first point. Which point is nearest does not depend on the other rows, nor on rounding. So rows get
    the same label in a fit and afterwards, in blocks of any size.
    """

    points: Any
    labels: IntArray

    def renamed(self, names: IntArray) -> Self:
        """Return the same with another name for each label; -1 stays."""
        labels = np.where(self.labels < 0, self.labels, names[self.labels]).astype(self.labels.dtype)
        return replace(self, labels=labels)

    @cached_property
    def search(self) -> NearestLabel:
        """Finds the label of the point nearest to a row."""
        return NearestLabel.build(self.points, self.labels)

    def label(self, X: Any) -> Any:
        """Return the label of the point nearest to each row, in Euclidean distance, where the rows are."""
        return self.search.label(X) if is_here(X) else look_up(self.labels, find_nearest(X, self.points))


@dataclass(frozen=True)
class NestedCells:
    """Cells within cells: a row belongs to the nearest centre, and then to the nearest of the points of this one.

    Attributes
    ----------
    centres : Cells
        The centres; their numbers are their labels.
    points : array or CSR matrix
        The points; their numbers are the labels of rows.
    owner : array of int
        The centre of each point; every centre has points.
    """

    centres: Cells
    points: Any
    owner: IntArray

    @cached_property
    def parts(self) -> list[Cells]:
        """The points of each centre."""
        return [Cells(self.points[own], own) for own in split(self.owner)]

    def label(self, X: Any) -> Any:
        """Return the number of the point of each row, where the rows are."""
        nearest = self.centres.label(X)
        if not is_here(X):
            found = find_nearest(X, self.points, groups=self.owner, group_of_row=nearest)
            return look_up(np.arange(len(self.owner)), found)
        found = np.empty(X.shape[0], dtype=np.int64)
        for rows in split(nearest):
            found[rows] = self.parts[nearest[rows[0]]].label(X[rows])
        return found


@dataclass(frozen=True)
class Landmarks(Cells):
    """Rows of a fit and their labels; and cells, if rows have the label of their cell, and not of a landmark."""

    cells: Cells | None = None
    metric: str = "euclidean"  # by which the nearest landmark is found

    @property
    def in_space(self) -> Landmarks:
        """The same as points whose Euclidean distances are compared."""
        return self if SPACES[self.metric].embed is None else self._moved

    @cached_property
    def _moved(self) -> Landmarks:
        return Landmarks(self.move(self.points), self.labels)

    @property
    def move(self) -> Callable[[Any], Any]:
        """Returns the points of rows, as those of landmarks in ``in_space``."""
        return SPACES[self.metric].points

    def renamed(self, names: IntArray) -> Self:
        """Return the same with another name for each label; -1 stays."""
        return replace(super().renamed(names), cells=None if self.cells is None else self.cells.renamed(names))

    def label(self, X: Any) -> Any:
        """Return the label of each row's cell, or of the landmark nearest to it, where the rows are."""
        if self.in_space is not self:
            return self.in_space.label(self.move(X))
        return super().label(X) if self.cells is None else self.cells.label(X)


# ---- tasks that may be sent to the workers of a cluster


def label_new_rows(X: Any, landmarks: Landmarks, column_means: Any) -> Any:
    """Return the label of each row's cell, or of the landmark nearest to it; rows on a device have no missing cells."""
    return landmarks.label(fill_missing(X, column_means) if is_here(X) else X)


def measure_new_rows(X: Any, medoids: Any, column_means: Any) -> Any:
    """Return the Euclidean distance of each row to each medoid, where the rows are."""
    if medoids.shape[0] == 0 and is_here(X):
        return np.empty((X.shape[0], 0), dtype=X.dtype)
    return measure_distances(fill_missing(X, column_means) if is_here(X) else X, fill_missing(medoids, column_means))
