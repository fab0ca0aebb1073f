"""Landmarks: rows of the data from which new rows take their label.

A medoid represents a non-spherical cluster poorly: the medoids of two concentric spheres are just two points. So a fit
keeps a bounded number of its rows, sampled so that every final cluster has some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import KDTree, NearestNeighbors

from cohirf.algorithm.faint_values import find_lift, lift_values
from cohirf.algorithm.grouping import IntArray, rows_by_label
from cohirf.algorithm.offsets import subtract_offsets

MAX_LANDMARKS = 10_000
MAX_TREE_FEATURES = 15
N_CLOSE = 4


def sample_landmarks(
    labels: IntArray,
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
        return candidates[sample_landmarks(labels[candidates], among_candidates, rng, max_landmarks=max_landmarks)]
    n_rows, n_groups = len(labels), len(medoids) + 1
    if n_rows <= max_landmarks:
        return np.arange(n_rows)
    starts, rows = rows_by_label(np.where(labels < 0, len(medoids), labels), n_groups)
    sizes = np.diff(starts)
    budget = max(0, max_landmarks - len(medoids))
    share = (budget * (0.5 / n_groups + 0.5 * sizes / n_rows)).astype(np.int64) * (sizes > 0)
    cluster = np.repeat(np.arange(n_groups), share)
    drawn = rows[starts[cluster] + (rng.random(len(cluster)) * sizes[cluster]).astype(np.int64)]
    return np.unique(np.concatenate([drawn, medoids]))


@dataclass(frozen=True)
class Landmarks:
    """Points, and a search for the point nearest to a row."""

    points: Any
    tree: KDTree | None
    lift: float | None  # factor for faint values (see faint_values.py); None if the points are not faint

    @classmethod
    def build(cls, points: Any) -> Landmarks:
        """Put the points into a k-d tree if they have few features; with many features, a tree does not help."""
        lift = find_lift(points)
        few_features = points.shape[1] <= MAX_TREE_FEATURES
        return cls(points, KDTree(_as_array(_lift(points, lift))) if few_features else None, lift)

    def nearest(self, X: Any) -> IntArray:
        """Return the number of the landmark nearest to each row, in Euclidean distance."""
        X = _lift(X, self.lift)
        if self.tree is not None:
            return np.asarray(self.tree.query(_as_array(X), return_distance=False)[:, 0])
        return _nearest_of_all(X, _lift(self.points, self.lift))


def _lift(X: Any, lift: float | None) -> Any:
    return X if lift is None else lift_values(X, lift)


def _as_array(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X


def _nearest_of_all(X: Any, points: Any) -> IntArray:
    """Return the number of the point nearest to each row, by comparison with all points.

    The search expands the squared distance, which loses digits. So offsets are subtracted first, and the few closest
    points are then compared again, exactly.
    """
    X, points = subtract_offsets(X, points)
    index = NearestNeighbors(n_neighbors=min(N_CLOSE, points.shape[0]), algorithm="brute").fit(points)
    close = index.kneighbors(X, return_distance=False)
    squares = np.stack([_squared_distances(X, points[column]) for column in close.T], axis=1)
    return np.asarray(close[np.arange(len(close)), squares.argmin(axis=1)])


def _squared_distances(left: Any, right: Any) -> Any:
    difference = (left - right).astype(np.float64, copy=False)  # in float32, the square of 1e-25 is 0
    if sparse.issparse(difference):
        return np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", difference, difference)
