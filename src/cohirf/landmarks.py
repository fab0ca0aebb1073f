"""Landmarks: rows of the data from which new rows take their label.

A final medoid is a poor stand-in for a cluster that is not round: on two concentric spheres the two medoids are two
single points. So a fit keeps a bounded number of its rows, drawn so that every final cluster has some.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from cohirf.algorithm.grouping import IntArray, rows_by_label

MAX_LANDMARKS = 10_000
MAX_TREE_FEATURES = 15
N_CLOSE = 4


def sample_landmarks(
    labels: IntArray, medoids: IntArray, rng: np.random.Generator, max_landmarks: int = MAX_LANDMARKS
) -> IntArray:
    """Return rows in rising order: all of them, or a sample in which every cluster has some.

    Half of the sample is shared out equally among clusters, half in proportion to their size. Every medoid is part
    of it, even where there are more clusters than ``max_landmarks``.
    """
    n_rows, n_clusters = len(labels), len(medoids)
    if n_rows <= max_landmarks:
        return np.arange(n_rows)
    starts, rows = rows_by_label(labels, n_clusters)
    sizes = np.diff(starts)
    budget = max(0, max_landmarks - n_clusters)
    share = (budget * (0.5 / n_clusters + 0.5 * sizes / n_rows)).astype(np.int64)
    cluster = np.repeat(np.arange(n_clusters), share)
    drawn = rows[starts[cluster] + (rng.random(len(cluster)) * sizes[cluster]).astype(np.int64)]
    return np.unique(np.concatenate([drawn, medoids]))


@dataclass(frozen=True)
class Landmarks:
    """Points that can be searched for the one nearest to a row."""

    points: Any
    origin: Any  # what points and queries are shifted by before they are compared; None for a tree or CSR
    index: NearestNeighbors

    @classmethod
    def build(cls, points: Any) -> Landmarks:
        """Index the points: a tree in low dimension, else comparison with all of them."""
        tree = not sparse.issparse(points) and points.shape[1] <= MAX_TREE_FEATURES
        origin = None if tree or sparse.issparse(points) else points.mean(axis=0)
        index = NearestNeighbors(algorithm="kd_tree" if tree else "brute")
        return cls(points, origin, index.fit(points if origin is None else points - origin))

    def nearest(self, X: Any) -> IntArray:
        """Return the number of the landmark nearest to each row, in Euclidean distance."""
        if self.index.algorithm == "kd_tree":
            return np.asarray(self.index.kneighbors(X, 1, return_distance=False)[:, 0])
        # Comparison with all expands the square and loses digits: compare a few close ones again, exactly.
        shifted = X if self.origin is None else X - self.origin
        close = self.index.kneighbors(shifted, min(N_CLOSE, self.points.shape[0]), return_distance=False)
        squares = np.stack([_squared_distances(X, self.points[column]) for column in close.T], axis=1)
        return np.asarray(close[np.arange(len(close)), squares.argmin(axis=1)])


def _squared_distances(left: Any, right: Any) -> Any:
    difference = left - right
    if sparse.issparse(difference):
        return np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", difference, difference)
