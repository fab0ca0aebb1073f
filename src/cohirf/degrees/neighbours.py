"""The landmarks nearest to rows, of which there are too many to compare all rows with all of them.

Landmarks are divided into cells by K-Means. A row is compared with the centres of the cells first, and then with the
landmarks of the nearest cell and the nearest neighbours of these. So some of the nearest landmarks can be missed,
mostly by rows that are far from all of them, and the distances that are found can be too large, but never too small.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.grouping import IntArray, row_blocks, rows_by_label
from cohirf.degrees.pieces import Floats

CELL_SIZE = 128  # landmarks of a cell on average; with half of it, errors were twice as large, and time was the same
MAX_ITER = 10  # of K-Means: cells need not be the best ones
CLOSE = 1e-5  # of the length of a row: products of rows do not tell shorter distances from zero
BLOCK_VALUES = 2**20


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Cells of landmarks.

    Attributes
    ----------
    points : array
        All landmarks.
    centres : array of float
        Centre of each cell.
    around : list of array of int
        For each cell, the sorted numbers of the landmarks that rows in it are compared with.
    """

    points: Any
    centres: Floats
    around: list[IntArray]

    @classmethod
    def of(cls, points: Any, nearest: IntArray) -> Neighbourhoods:
        """Divide landmarks into cells; ``nearest`` has the numbers of the nearest others of each landmark."""
        method = KMeans(len(points) // CELL_SIZE + 1, n_init=1, max_iter=MAX_ITER, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # landmarks may be equal, so that cells are empty
            method.fit(points)
        used, cell = np.unique(method.labels_, return_inverse=True)
        starts, order = rows_by_label(cell, len(used))
        members = [order[start:stop] for start, stop in pairwise(starts.tolist())]
        around = [np.unique(np.concatenate([inside, nearest[inside].ravel()])) for inside in members]
        return cls(points, method.cluster_centers_[used], around)

    def find(self, X: Any, n_neighbors: int) -> tuple[Floats, IntArray]:
        """Return the distances of rows to the nearest landmarks that are found, and the numbers of these."""
        dtype = np.result_type(X, self.points)  # scikit-learn is slow if types differ
        X = X.astype(dtype, copy=False)
        distances = np.empty((len(X), n_neighbors))
        nearest = np.empty((len(X), n_neighbors), dtype=np.int64)
        cells = pairwise_distances_argmin(X, self.centres.astype(dtype, copy=False))
        starts, order = rows_by_label(cells, len(self.centres))
        for cell in np.flatnonzero(np.diff(starts)).tolist():
            rows, around = order[starts[cell] : starts[cell + 1]], self.around[cell]
            search = NearestNeighbors(algorithm="brute").fit(self.points[around].astype(dtype, copy=False))
            distances[rows], found = search.kneighbors(X[rows], n_neighbors=n_neighbors)
            nearest[rows] = around[found]
        self._measure_again(X, distances, nearest)
        return distances, nearest

    def _measure_again(self, X: Any, distances: Floats, nearest: IntArray) -> None:
        """Replace distances of rows that are very close to a landmark, such as those of equal rows, by exact ones."""
        close = np.flatnonzero(distances[:, 0] <= CLOSE * row_norms(X))
        for block in row_blocks(len(close), BLOCK_VALUES // (nearest.shape[1] * X.shape[1]) + 1):
            rows = close[block]
            differences = X[rows][:, None].astype(np.float64) - self.points[nearest[rows]]
            distances[rows] = np.sqrt((differences**2).sum(axis=2))
