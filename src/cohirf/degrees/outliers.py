"""Outlier scores: the distance of a row to the nearest landmarks, relative to what is usual there
and everywhere.

A distance over that of the landmarks around it finds rows near a dense cluster, but outliers that
are each other's neighbours look usual. A distance over that of all landmarks finds these, but not
rows near a dense cluster. The score is the geometric mean of the two ratios: on each data set, it
lost little against the better one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from cohirf.degrees.policy import OUTLIER
from cohirf.landmarks import LANDMARK, NearestLabel, choose_evenly, divide_points, split
from cohirf.rows.grouping import FloatArray, IntArray, row_blocks


@dataclass(frozen=True, eq=False)
class OutlierScores:
    """Landmarks that rows are compared with: a sample of the clustered rows in which each row is
    equally likely.
    """

    space: NearestLabel  # prepares rows as its points are prepared
    chosen: IntArray  # sorted numbers of the landmarks

    @classmethod
    def of(cls, space: NearestLabel, clusters: IntArray, masses: FloatArray) -> OutlierScores:
        """Choose landmarks; ``clusters`` has the cluster of each as a position from 0, and -1 is
        noise.
        """
        return cls(space, choose_evenly(clusters, masses))

    @property
    def n_neighbors(self) -> int:
        """Number of nearest landmarks that count."""
        return max(1, min(LANDMARK.neighbours, len(self.chosen) - 1))

    @cached_property
    def neighbours(self) -> NearestNeighbors:
        """Finds the nearest landmarks."""
        return NearestNeighbors().fit(self.space.points.values[self.chosen])

    @cached_property
    def among_others(self) -> tuple[FloatArray, IntArray]:
        """Mean distance of each landmark to its nearest others, and their numbers."""
        return self._find_others(self.space.points.values[self.chosen], np.arange(len(self.chosen)))

    @cached_property
    def around(self) -> Around | None:
        """Finds landmarks around rows in less time.

        None if there are few landmarks or features, or a sparse matrix.
        """
        points = self.space.points.values
        if (
            len(self.chosen) <= OUTLIER.landmarks
            or points.shape[1] <= OUTLIER.tree_features
            or not self.space.points.has_all_cells
        ):
            return None
        return Around.of(points[self.chosen], self.among_others[1])

    def learn(self) -> OutlierScores:
        """Learn from the landmarks now, so that tasks elsewhere need not do so each on its own."""
        _ = self.among_others, self.around
        return self

    def score(self, X: Any) -> FloatArray:
        """Return the score of each row."""
        if self.around is None:
            find = self.neighbours.kneighbors
        else:
            find = self.around.find
        scores = np.empty(X.shape[0])
        for block in row_blocks(
            X.shape[0], OUTLIER.block_values // (X.shape[1] + self.n_neighbors) + 1
        ):
            distances, nearest = find(self.space.prepare(X[block]), self.n_neighbors)
            scores[block] = self._compare(distances.mean(axis=1), nearest)
        return scores

    @cached_property
    def of_landmarks(self) -> FloatArray:
        """Score of each landmark of the model, which is not compared with itself."""
        points = self.space.points.values
        own = np.full(points.shape[0], -1)
        own[self.chosen] = np.arange(len(self.chosen))
        return self._compare(*self._find_others(points, own))

    def _compare(self, distance: FloatArray, nearest: IntArray) -> FloatArray:
        """Return scores, given mean distances to the nearest landmarks, and these."""
        reach = self.among_others[0]
        limits = np.finfo(np.float64)
        usual = np.sqrt(reach[nearest].mean(axis=1)) * np.sqrt(np.median(reach))
        with np.errstate(over="ignore"):  # of landmarks that are all the same, any distance is far
            scores = np.where(distance == usual, 1.0, distance / np.maximum(usual, limits.tiny))
        return np.asarray(np.minimum(scores, limits.max))

    def _find_others(self, points: Any, own: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the mean distance to the nearest landmarks, and these.

        ``own`` is one that does not count, or -1.
        """
        n_found = min(self.n_neighbors + 1, len(self.chosen))
        distances, nearest = self.neighbours.kneighbors(points, n_neighbors=n_found)
        is_own = nearest == own[:, None]
        is_own[~is_own.any(axis=1), -1] = True  # the last one is too many
        shape = (len(own), n_found - 1) if n_found > 1 else (len(own), 1)
        counts = ~is_own if n_found > 1 else np.ones_like(is_own)
        return distances[counts].reshape(shape).mean(axis=1), nearest[counts].reshape(shape)


@dataclass(frozen=True, eq=False)
class Around:
    """Points in cells of K-Means, and the points around a row: some of the nearest, if there are
    too many for all.

    A row is compared with the centres of the cells first, and then with the points of the nearest
    cell and the nearest neighbours of these. So some of the nearest points can be missed, mostly by
    rows that are far from all of them, and the distances that are found can be too large, but never
    too small.
    """

    points: Any  # all points
    centres: NDArray[np.floating[Any]]  # centre of each cell
    # for each cell, the sorted numbers of the points that rows in it are compared with
    candidates: list[IntArray]

    @classmethod
    def of(cls, points: Any, nearest: IntArray) -> Around:
        """Divide points into cells.

        ``nearest`` has the numbers of the nearest others of each point.
        """
        cells = divide_points(points)
        candidates = [np.union1d(members, nearest[members]) for members in split(cells.labels_)]
        return cls(points, cells.cluster_centers_[np.unique(cells.labels_)], candidates)

    def find(self, X: Any, n_neighbors: int) -> tuple[NDArray[np.float64], IntArray]:
        """Return the distances of rows to the nearest points that are found, and the numbers of
        these.
        """
        dtype = np.result_type(X, self.points)  # scikit-learn is slow if types differ
        X = X.astype(dtype, copy=False)
        distances = np.empty((len(X), n_neighbors))
        nearest = np.empty((len(X), n_neighbors), dtype=np.int64)
        cells = pairwise_distances_argmin(X, self.centres.astype(dtype, copy=False))
        for rows in split(cells):
            some = self.candidates[cells[rows[0]]]
            search = NearestNeighbors(algorithm="brute").fit(
                self.points[some].astype(dtype, copy=False)
            )
            distances[rows], found = search.kneighbors(X[rows], n_neighbors=n_neighbors)
            nearest[rows] = some[found]
        self._measure_again(X, distances, nearest)
        return distances, nearest

    def _measure_again(self, X: Any, distances: NDArray[np.float64], nearest: IntArray) -> None:
        """Replace distances of rows that are very close to a point, such as those of equal rows, by
        exact ones.
        """
        close = np.flatnonzero(distances[:, 0] <= OUTLIER.very_close * row_norms(X))
        for block in row_blocks(
            len(close), OUTLIER.block_values // (4 * nearest.shape[1] * X.shape[1]) + 1
        ):
            rows = close[block]
            differences = X[rows][:, None].astype(np.float64) - self.points[nearest[rows]]
            distances[rows] = np.sqrt((differences**2).sum(axis=2))
