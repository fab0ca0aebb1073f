"""Cells of points, and the points around a row: some of the nearest, if there are too many to compare with all.

Points are divided into cells by K-Means. A row is compared with the centres of the cells first, and then with the
points of the nearest cell and the nearest neighbours of these. So some of the nearest points can be missed, mostly by
rows that are far from all of them, and the distances that are found can be too large, but never too small.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.grouping import IntArray, row_blocks

CELL_SIZE = 128  # points of a cell on average; with half of it, errors were twice as large, and time was the same
MAX_ITER = 10  # of K-Means: cells need not be the best ones
CLOSE = 1e-5  # of the length of a row: products of rows do not tell shorter distances from zero
BLOCK_VALUES = 2**20


def divide(points: Any) -> KMeans:
    """Divide points into cells."""
    method = KMeans(len(points) // CELL_SIZE + 1, n_init=1, max_iter=MAX_ITER, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # points may be equal, so that cells are empty
        return method.fit(points)


def split(keys: IntArray) -> list[IntArray]:
    """Return the sorted numbers of the rows with each key, which is not negative, in the order of the keys."""
    if len(keys) == 0:
        return []
    short = keys.astype(np.uint16) if keys.max() < 2**16 else keys  # NumPy sorts 16 bits in linear time
    order = np.argsort(short, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


@dataclass(frozen=True, eq=False)
class Around:
    """Cells of points.

    Attributes
    ----------
    points : array
        All points.
    centres : array of float
        Centre of each cell.
    candidates : list of array of int
        For each cell, the sorted numbers of the points that rows in it are compared with.
    """

    points: Any
    centres: NDArray[np.floating[Any]]
    candidates: list[IntArray]

    @classmethod
    def of(cls, points: Any, nearest: IntArray) -> Around:
        """Divide points into cells; ``nearest`` has the numbers of the nearest others of each point."""
        cells = divide(points)
        candidates = [np.union1d(members, nearest[members]) for members in split(cells.labels_)]
        return cls(points, cells.cluster_centers_[np.unique(cells.labels_)], candidates)

    def find(self, X: Any, n_neighbors: int) -> tuple[NDArray[np.float64], IntArray]:
        """Return the distances of rows to the nearest points that are found, and the numbers of these."""
        dtype = np.result_type(X, self.points)  # scikit-learn is slow if types differ
        X = X.astype(dtype, copy=False)
        distances = np.empty((len(X), n_neighbors))
        nearest = np.empty((len(X), n_neighbors), dtype=np.int64)
        cells = pairwise_distances_argmin(X, self.centres.astype(dtype, copy=False))
        for rows in split(cells):
            some = self.candidates[cells[rows[0]]]
            search = NearestNeighbors(algorithm="brute").fit(self.points[some].astype(dtype, copy=False))
            distances[rows], found = search.kneighbors(X[rows], n_neighbors=n_neighbors)
            nearest[rows] = some[found]
        self._measure_again(X, distances, nearest)
        return distances, nearest

    def _measure_again(self, X: Any, distances: NDArray[np.float64], nearest: IntArray) -> None:
        """Replace distances of rows that are very close to a point, such as those of equal rows, by exact ones."""
        close = np.flatnonzero(distances[:, 0] <= CLOSE * row_norms(X))
        for block in row_blocks(len(close), BLOCK_VALUES // (nearest.shape[1] * X.shape[1]) + 1):
            rows = close[block]
            differences = X[rows][:, None].astype(np.float64) - self.points[nearest[rows]]
            distances[rows] = np.sqrt((differences**2).sum(axis=2))
