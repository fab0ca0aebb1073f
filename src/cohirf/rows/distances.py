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
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.sparsefuncs import mean_variance_axis

from cohirf.rows.arrays import in_blocks, is_here, is_torch, namespace, put_beside, to_host

# A column is shifted if the square of its mean, over its variance, is larger than this. Less than
# one cell in 100 of such a column is 0, so that a CSR matrix does not grow. Other columns lose two
# digits at most.
FAR_FROM_ZERO = 100.0
DISTANCE_CELLS = 2**27  # distances, or values of rows in float64, that are in memory at once


def find_nearest(
    X: Any, points: Any, *, exact: bool = True, groups: Any = None, group_of_row: Any = None
) -> Any:
    """Return the number of the point nearest to each row of ``X``, where ``X`` is.

    If points have ``groups``, a row on a device is compared with the points of its own group only.

    On a device, the squared distance to a point is that to the origin, which does not matter, plus
    a linear function. It is computed in float64 or, unless it is to be ``exact``, in float32;
    bfloat16 is multiplied as it is, and added up in float32.
    """
    if is_here(X):
        return pairwise_distances_argmin(X, points)
    xp = namespace(X)
    dtype = xp.float64 if exact else xp.float32
    points = np.asarray(to_host(points), dtype=np.float64)
    origin = points.mean(axis=0)  # distances between points near it lose no digits
    is_short = is_torch(X) and X.dtype == xp.bfloat16 and not exact
    weights = xp.astype(put_beside(-2 * (points - origin).T, X), X.dtype if is_short else dtype)
    rounded = to_host(xp.astype(weights, xp.float64))
    squares = (rounded**2).sum(axis=0) / 4
    constants = xp.astype(put_beside(squares - origin @ rounded if is_short else squares, X), dtype)
    # offsets are subtracted before digits are cut off
    if X.dtype == xp.float64:
        wide = xp.float64
    else:
        wide = dtype
    shift = xp.astype(put_beside(origin, X), wide)
    found = xp.empty(X.shape[0], dtype=xp.int32, device=X.device)
    if groups is None:
        of_points = None
    else:
        of_points = put_beside(np.asarray(groups, dtype=np.int32), X)

    def multiply(rows: Any) -> Any:
        if is_short:
            return _multiply_short(rows, weights)
        return xp.astype(xp.astype(rows, wide) - shift, dtype) @ weights

    def label(block: slice) -> None:
        distances = multiply(X[block, :]) + constants
        if of_points is not None:
            is_own = group_of_row[block][:, None] == of_points[None, :]
            distances = xp.where(
                is_own, distances, xp.asarray(xp.inf, dtype=dtype, device=X.device)
            )
        found[block] = xp.astype(xp.argmin(distances, axis=1), xp.int32)

    in_blocks(label, X.shape[0], DISTANCE_CELLS // max(X.shape[1], len(points)))
    return found


def _multiply_short(rows: Any, weights: Any) -> Any:
    """Return the product of two tensors of bfloat16 in float32.

    Tensor cores of GPUs are made for it.
    """
    if rows.is_cuda:
        return namespace(rows).mm(rows, weights, out_dtype=namespace(rows).float32)
    return rows.float() @ weights.float()


def measure_distances(X: Any, points: Any) -> Any:
    """Return the Euclidean distance of each row to each point, also if the values have an offset.

    The result is where ``X`` is, in the wider of the types of rows and points, at least float32.
    """
    if not is_here(X):
        return _measure_on_device(X, to_host(points))
    distances = euclidean_distances(*subtract_offsets(X, points))
    return distances.astype(np.result_type(X.dtype, points.dtype), copy=False)


def _measure_on_device(X: Any, points: NDArray[Any]) -> Any:
    """Return distances from differences in float64, which lose no digits."""
    xp = namespace(X)
    if X.dtype == xp.float64 or points.dtype == np.float64:
        dtype = xp.float64
    else:
        dtype = xp.float32
    measured = xp.empty((X.shape[0], len(points)), dtype=dtype, device=X.device)
    there = put_beside(np.asarray(points, dtype=np.float64), X)

    def measure(block: slice) -> None:
        rows = xp.astype(X[block, :], xp.float64)
        for number in range(len(points)):
            distances = xp.sqrt(xp.sum((rows - there[number, :]) ** 2, axis=1))
            measured[block, number] = xp.astype(distances, dtype)

    in_blocks(measure, X.shape[0], DISTANCE_CELLS // X.shape[1])
    return measured


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
        return _subtract(X, self.columns, self.means)


def find_offsets(points: Any) -> DifferenceOffsets:
    """Return the columns whose mean is large compared with their variance."""
    means, variances = _summarize(points)
    return DifferenceOffsets(np.flatnonzero(means**2 > FAR_FROM_ZERO * variances), means)


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
    if sparse.issparse(X) or sparse.issparse(points):
        X = sparse.csr_array(X)
        points = sparse.csr_array(points)
    offsets = find_offsets(points)
    return offsets.subtract(X), offsets.subtract(points)


def _summarize(points: Any) -> tuple[Any, Any]:
    """Return the mean and the variance of each column, in float64."""
    if sparse.issparse(points):
        means, variances = mean_variance_axis(points, axis=0)
        return means.astype(np.float64), variances.astype(np.float64)
    return points.mean(axis=0, dtype=np.float64), points.var(axis=0, dtype=np.float64)


def _subtract(X: Any, columns: Any, means: Any) -> Any:
    if not sparse.issparse(X):
        origin = np.zeros_like(means)
        origin[columns] = means[columns]
        return X - origin
    others = np.delete(np.arange(X.shape[1]), columns)
    return sparse.hstack([X[:, others], X[:, columns].toarray() - means[columns]], format="csr")
