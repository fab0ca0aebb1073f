"""Products of sparse rows with many points.

A sparse product of both adds up cells one at a time. An array of the points, with a row for each
feature, is added row by row, which takes a tenth of the time for a cell, but has all cells. Texts
have few features that many of the points have, and those are most of the cells of rows. So these
features are in an array, and the cells of the others stay sparse.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows.blocks import IntArray
from cohirf.rows.policy import BLOCK


@dataclass(frozen=True)
class Columns:
    """Points as the columns of a matrix, with which sparse rows are multiplied."""

    array: NDArray[np.floating[Any]]  # the frequent features, or all of them
    place: IntArray | None  # of each feature in the array, or -1; None if all are there
    rest: Any  # the cells of other features, a CSR matrix; None if there are none

    @classmethod
    def of(cls, points: Any, most_cells: int = BLOCK.column_cells) -> Columns:
        """Take the points from a CSR matrix; an array of all has at most so many cells."""
        n_points, n_features = points.shape
        if n_points * n_features <= most_cells:
            return cls(points.T.toarray(order="C"), None, None)
        counts = np.bincount(points.indices, minlength=n_features)
        frequent = np.flatnonzero(counts > BLOCK.frequent * n_points)
        place = np.full(n_features, -1, dtype=points.indices.dtype)
        place[frequent] = np.arange(len(frequent))
        number = place[points.indices]
        is_frequent = number >= 0
        columns = _take_cells(points, is_frequent, number, len(frequent)).T.toarray(order="C")
        if is_frequent.all():
            return cls(columns, place, None)
        rest = _take_cells(points, ~is_frequent, points.indices, n_features)
        return cls(columns, place, rest.T.tocsr())

    @property
    def dtype(self) -> Any:
        """The type of the cells."""
        return self.array.dtype

    def square_lengths(self) -> NDArray[np.floating[Any]]:
        """Return the squared length of each point."""
        squares = np.einsum("ij,ij->j", self.array, self.array)
        if self.rest is not None:
            squares += np.bincount(
                self.rest.indices, weights=self.rest.data**2, minlength=len(squares)
            )
        return np.asarray(squares)

    def products(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return the inner product of each CSR row with each point."""
        if self.place is None:
            return np.asarray(X @ self.array)
        number = self.place[X.indices]
        products = _take_cells(X, number >= 0, number, len(self.array)) @ self.array
        if self.rest is not None:
            products += (X @ self.rest).toarray()
        return np.asarray(products)


def _take_cells(
    X: Any, is_taken: NDArray[np.bool_], features: IntArray, n_features: int
) -> sparse.csr_array:
    """Return rows with some of their cells, whose features may have other numbers."""
    ends = np.zeros(len(is_taken) + 1, dtype=X.indptr.dtype)
    np.cumsum(is_taken, out=ends[1:])
    parts = (X.data[is_taken], features[is_taken], ends[X.indptr])
    return sparse.csr_array(parts, shape=(X.shape[0], n_features))
