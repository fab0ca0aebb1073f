"""Euclidean distances of rows to points that keep their digits, and the nearest of a few points,
where the rows are.

Offsets: time stamps near 1.7e9 that differ by seconds are an example. Fast distances expand the
square,
|x|^2 - 2 x.y + |y|^2, so the large values cancel, and the digits of the differences are lost. If
the offset is subtracted first, the digits are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.arrays import alike, as_array
from cohirf.rows.containers.container import container_of
from cohirf.rows.policy import DIGIT


def find_nearest(
    X: Any, points: Any, *, exact: bool = True, groups: Any = None, group_of_row: Any = None
) -> Any:
    """Return the number of the point nearest to each row of ``X``, where ``X`` is.

    If points have ``groups``, a row on a device is compared with the points of its own group only.
    Unless the result is to be ``exact``, a device may compute in float32.
    """
    return container_of(X).find_nearest(
        X, points, exact=exact, groups=groups, group_of_row=group_of_row
    )


def measure_distances(X: Any, points: Any) -> Any:
    """Return the Euclidean distance of each row to each point, also if the values have an offset.

    The result is where ``X`` is, in the wider of the types of rows and points, at least float32.
    """
    return container_of(X).measure(X, points)


def relative_squares(X: Any, points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared distance of each row to each point, less the square of the row.

    That tells which point is nearest, and by how much.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.rows.distances import relative_squares
    >>> relative_squares(np.array([[1.0]]), np.array([[0.0], [3.0]])).tolist()
    [[0.0, 3.0]]
    """
    X, points = subtract_offsets(X, points)
    points = as_array(points)
    squares = np.asarray(X.astype(np.float64, copy=False) @ (-2 * points.T))
    squares += (points**2).sum(axis=1)
    return squares


# ---- offsets


@dataclass(frozen=True)
class DifferenceOffsets:
    """Columns of points that have an offset, and the mean of each column."""

    columns: NDArray[np.intp]
    means: NDArray[np.float64]

    def subtract(self, X: Any) -> Any:
        """Return an array or CSR matrix without the offsets, in float64 if there are any.

        In a CSR matrix, the shifted columns become the last ones.
        """
        if len(self.columns) == 0:
            return X
        return container_of(X).subtract(X, self.columns, self.means)


def find_offsets(points: Any) -> DifferenceOffsets:
    """Return the columns whose mean is large compared with their variance."""
    means, variances = container_of(points).column_moments(points)
    return DifferenceOffsets(np.flatnonzero(means**2 > DIGIT.far_from_zero * variances), means)


def subtract_offsets(X: Any, points: Any) -> tuple[Any, Any]:
    """Subtract the mean of the points from both, in each column in which it is large compared with
    their variance.

    Parameters
    ----------
    X, points : array or CSR matrix
        Finite values.

    Returns
    -------
    X, points : array or CSR matrix
        Values with the same differences, in float64 if a column is shifted. In CSR matrices, the
        shifted columns are the last ones. If one of the two is a CSR matrix, both are.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.rows.distances import subtract_offsets
    >>> X = np.array([[1e9, 1.0], [1e9 + 4, 2.0]])
    >>> subtract_offsets(X, X)[0].tolist()
    [[-2.0, 1.0], [2.0, 2.0]]
    """
    X, points = alike(X, points)
    offsets = find_offsets(points)
    return offsets.subtract(X), offsets.subtract(points)
