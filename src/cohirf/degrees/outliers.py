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
from sklearn.neighbors import NearestNeighbors

from cohirf.algorithm.grouping import IntArray, row_blocks, rows_by_label
from cohirf.degrees.pieces import Floats
from cohirf.nearest_label import NearestLabel

N_NEIGHBORS = 20
BLOCK_ROWS = 2**14


@dataclass(frozen=True, eq=False)
class OutlierScores:
    """Landmarks that rows are compared with: a sample of the clustered rows in which each row is equally likely.

    Attributes
    ----------
    space : NearestLabel
        Prepares rows as its points are prepared.
    chosen : array of int
        Numbers of the landmarks, sorted.
    n_neighbors : int
        Number of nearest landmarks that count.
    """

    space: NearestLabel
    chosen: IntArray
    n_neighbors: int

    @classmethod
    def of(cls, space: NearestLabel, clusters: IntArray, masses: Floats) -> OutlierScores:
        """Choose landmarks; ``clusters`` has the cluster of each as a position from 0, and -1 is noise."""
        chosen = choose_evenly(clusters, masses)
        return cls(space, chosen, max(1, min(N_NEIGHBORS, len(chosen) - 1)))

    @cached_property
    def neighbours(self) -> NearestNeighbors:
        """Finds the nearest landmarks."""
        return NearestNeighbors().fit(self.space.points.values[self.chosen])

    @cached_property
    def reach(self) -> Floats:
        """Mean distance of each landmark to its nearest others."""
        return self._find(self.space.points.values[self.chosen], np.arange(len(self.chosen)))[0]

    def score(self, X: Any) -> Floats:
        """Return the score of each row."""
        scores = np.empty(X.shape[0])
        for block in row_blocks(X.shape[0], BLOCK_ROWS):
            scores[block] = self._compare(self.space.prepare(X[block]), None)
        return scores

    @cached_property
    def of_landmarks(self) -> Floats:
        """Score of each landmark of the model, which is not compared with itself."""
        points = self.space.points.values
        own = np.full(points.shape[0], -1)
        own[self.chosen] = np.arange(len(self.chosen))
        return self._compare(points, own)

    def _compare(self, points: Any, own: IntArray | None) -> Floats:
        distance, nearest = self._find(points, own)
        usual = np.sqrt(self.reach[nearest].mean(axis=1)) * np.sqrt(np.median(self.reach))
        tiny = np.finfo(np.float64).tiny
        return np.asarray(np.where(distance == usual, 1.0, distance / np.maximum(usual, tiny)))

    def _find(self, points: Any, own: IntArray | None) -> tuple[Floats, IntArray]:
        """Return the mean distance to the nearest landmarks, and these; ``own`` is one that does not count, or -1."""
        if own is None:
            distances, nearest = self.neighbours.kneighbors(points, n_neighbors=self.n_neighbors)
            return distances.mean(axis=1), nearest
        n_found = min(self.n_neighbors + 1, len(self.chosen))
        distances, nearest = self.neighbours.kneighbors(points, n_neighbors=n_found)
        is_own = nearest == own[:, None]
        is_own[~is_own.any(axis=1), -1] = True  # the last one is too many
        shape = (len(own), n_found - 1) if n_found > 1 else (len(own), 1)
        counts = ~is_own if n_found > 1 else np.ones_like(is_own)
        return distances[counts].reshape(shape).mean(axis=1), nearest[counts].reshape(shape)


def choose_evenly(clusters: IntArray, masses: Floats) -> IntArray:
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
