"""Outlier scores: the distance of a row to the nearest landmarks, relative to what is usual there and everywhere.

A distance over that of the landmarks around it finds rows beside a dense cluster, but outliers that are each other's
neighbours look usual. A distance over that of all landmarks finds these, but not rows beside a dense cluster. The score
is the geometric mean of the two ratios: on each data set, it lost little against the better one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.neighbours.around import Around
from cohirf.neighbours.landmarks import N_NEIGHBORS, choose_evenly
from cohirf.neighbours.nearest_label import NearestLabel

Floats = NDArray[np.float64]

MANY = 2000  # landmarks; rows are compared with more only around them
FEW_FEATURES = 3  # measured: with at most so many, a tree of all landmarks is faster
BLOCK_VALUES = 2**22  # of rows, and of their distances to neighbours


@dataclass(frozen=True, eq=False)
class OutlierScores:
    """Landmarks that rows are compared with: a sample of the clustered rows in which each row is equally likely."""

    space: NearestLabel  # prepares rows as its points are prepared
    chosen: IntArray  # sorted numbers of the landmarks

    @classmethod
    def of(cls, space: NearestLabel, clusters: IntArray, masses: Floats) -> OutlierScores:
        """Choose landmarks; ``clusters`` has the cluster of each as a position from 0, and -1 is noise."""
        return cls(space, choose_evenly(clusters, masses))

    @property
    def n_neighbors(self) -> int:
        """Number of nearest landmarks that count."""
        return max(1, min(N_NEIGHBORS, len(self.chosen) - 1))

    @cached_property
    def neighbours(self) -> NearestNeighbors:
        """Finds the nearest landmarks."""
        return NearestNeighbors().fit(self.space.points.values[self.chosen])

    @cached_property
    def among_others(self) -> tuple[Floats, IntArray]:
        """Mean distance of each landmark to its nearest others, and their numbers."""
        return self._find_others(self.space.points.values[self.chosen], np.arange(len(self.chosen)))

    @cached_property
    def around(self) -> Around | None:
        """Finds landmarks around rows in less time; None if there are few landmarks or features, or a sparse matrix."""
        points = self.space.points.values
        if len(self.chosen) <= MANY or points.shape[1] <= FEW_FEATURES or sparse.issparse(points):
            return None
        return Around.of(points[self.chosen], self.among_others[1])

    def learn(self) -> OutlierScores:
        """Learn from the landmarks now, so that tasks elsewhere need not do so each on its own."""
        _ = self.among_others, self.around
        return self

    def score(self, X: Any) -> Floats:
        """Return the score of each row."""
        find = self.neighbours.kneighbors if self.around is None else self.around.find
        scores = np.empty(X.shape[0])
        for block in row_blocks(X.shape[0], BLOCK_VALUES // (X.shape[1] + self.n_neighbors) + 1):
            distances, nearest = find(self.space.prepare(X[block]), self.n_neighbors)
            scores[block] = self._compare(distances.mean(axis=1), nearest)
        return scores

    @cached_property
    def of_landmarks(self) -> Floats:
        """Score of each landmark of the model, which is not compared with itself."""
        points = self.space.points.values
        own = np.full(points.shape[0], -1)
        own[self.chosen] = np.arange(len(self.chosen))
        return self._compare(*self._find_others(points, own))

    def _compare(self, distance: Floats, nearest: IntArray) -> Floats:
        """Return scores, given mean distances to the nearest landmarks, and these."""
        reach, limits = self.among_others[0], np.finfo(np.float64)
        usual = np.sqrt(reach[nearest].mean(axis=1)) * np.sqrt(np.median(reach))
        with np.errstate(over="ignore"):  # of landmarks that are all the same, any distance is far
            scores = np.where(distance == usual, 1.0, distance / np.maximum(usual, limits.tiny))
        return np.asarray(np.minimum(scores, limits.max))

    def _find_others(self, points: Any, own: IntArray) -> tuple[Floats, IntArray]:
        """Return the mean distance to the nearest landmarks, and these; ``own`` is one that does not count, or -1."""
        n_found = min(self.n_neighbors + 1, len(self.chosen))
        distances, nearest = self.neighbours.kneighbors(points, n_neighbors=n_found)
        is_own = nearest == own[:, None]
        is_own[~is_own.any(axis=1), -1] = True  # the last one is too many
        shape = (len(own), n_found - 1) if n_found > 1 else (len(own), 1)
        counts = ~is_own if n_found > 1 else np.ones_like(is_own)
        return distances[counts].reshape(shape).mean(axis=1), nearest[counts].reshape(shape)
