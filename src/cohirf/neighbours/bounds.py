"""Bounds of squared distances that allow for rounding.

Expanded squares, |x|^2 - 2 x.y + |y|^2, are fast, because a product of matrices has them all, but they lose digits. So
they are lowered by the largest possible rounding error, which makes them lower bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.grouping import IntArray

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Expanded:
    """Rows or points, and the terms of their expanded squares.

    What overflows becomes infinity or NaN. These are never above another number, so they rule nothing out.
    """

    values: Any  # an array or a CSR matrix
    terms: Any  # -2 x, 1 and |x|^2 for a row x; y, |y|^2 and 1 for a point y; a CSR matrix has only the first ones
    squares: Floats  # |x|^2 or |y|^2, less half of the error
    error: Floats  # how far a squared distance can be above its lower bound: the part due to this row or point

    @classmethod
    def of_points(cls, points: Any) -> Expanded:
        """Expand points."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares, error = _square(points)
            return cls(points, _join(points, squares, np.ones_like(squares)), squares, error)

    @classmethod
    def of_rows(cls, X: Any, dtype: Any) -> Expanded:
        """Expand rows, in the type of the points."""
        with np.errstate(over="ignore", invalid="ignore"):
            converted = X.astype(dtype, copy=False)
            squares, error = _square(converted)
            return cls(X, _join(-2 * converted, np.ones_like(squares), squares), squares, error)

    def take(self, rows: IntArray | slice) -> Expanded:
        """Return some of the rows."""
        return Expanded(self.values[rows], self.terms[rows], self.squares[rows], self.error[rows])

    def bound_squares(self, points: Expanded) -> Floats:
        """Return lower bounds of the squared distances of all rows to all points, which can be negative.

        No squared distance is above its lower bound by more than the errors of its row and of its point.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            lower: Floats = np.asarray(as_array(self.terms @ points.terms.T))
            return lower + self.squares[:, None] + points.squares if sparse.issparse(self.terms) else lower


def find_lowest(lower: Floats, rows: Expanded, points: Expanded) -> tuple[IntArray, Floats]:
    """Return the point with the lowest bound for each row, and an upper bound of its squared distance."""
    nearest = lower.argmin(axis=1)
    upper: Floats = lower[np.arange(len(nearest)), nearest] + points.error[nearest] + rows.error
    return nearest, upper


def find_close(lower: Floats, nearest: IntArray, upper: Floats) -> IntArray:
    """Return the rows for which another point than the nearest one is not above the upper bound; NaN never is."""
    rows = np.arange(len(nearest))
    of_nearest = lower[rows, nearest]
    lower[rows, nearest] = np.inf
    second = lower.min(axis=1)  # NaN if there is one
    lower[rows, nearest] = of_nearest
    return np.flatnonzero(~(second > upper))


def find_undecided(lower: Floats, upper: Floats, labels: IntArray) -> IntArray:
    """Return the rows for which columns of several labels are not above the upper bound; infinity and NaN never are."""
    is_above = lower > upper[:, None]
    several = np.flatnonzero(np.count_nonzero(is_above, axis=1) < len(labels) - 1)
    may_be_nearest = ~is_above[several]
    has_other_label = labels != labels[may_be_nearest.argmax(axis=1)][:, None]
    return np.asarray(several[(may_be_nearest & has_other_label).any(axis=1)])


def as_array(X: Any) -> Any:
    """Return a matrix as an array."""
    return X.toarray() if sparse.issparse(X) else X


def _square(X: Any) -> tuple[Floats, Floats]:
    """Return |x|^2, less half of the error, and the error, which is the part due to x in all squared distances.

    Rounding changes a value by eps / 2 of its size, or by the smallest number. A scalar product of n features is
    rounded n times, and so are |x|^2 and |y|^2; means are rounded, and values can be converted to a shorter type. The
    factor 2 (n + 32) is more than all of this together, in each direction.
    """
    limits = np.finfo(X.dtype)
    squares: Floats = row_norms(X, squared=True)
    error: Floats = 4 * (X.shape[1] + 32) * (limits.eps * squares + limits.smallest_normal)
    return squares - error / 2, error


def _join(values: Any, *columns: Floats) -> Any:
    return values if sparse.issparse(values) else np.column_stack([values, *columns])
