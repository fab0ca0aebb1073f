"""Offsets: values that are far from the origin, compared with the differences between them.

Time stamps near 1.7e9 that differ by seconds are an example. Fast Euclidean distances expand the square,
|x|^2 - 2 x.y + |y|^2, so the large values cancel, and the digits of the differences are lost. If the offset is
subtracted first, the digits are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

# A column is shifted if the square of its mean, over its variance, is larger than this. Less than one cell in FAR of
# such a column is 0, so that a CSR matrix does not grow. Other columns lose two digits at most.
FAR = 100.0


@dataclass(frozen=True)
class Offsets:
    """Columns of points that have an offset, and the mean of each column."""

    columns: NDArray[np.intp]
    means: NDArray[np.float64]

    def subtract(self, X: Any) -> Any:
        """Return an array or CSR matrix without the offsets, in float64 if there are any.

        In a CSR matrix, the shifted columns become the last ones.
        """
        return X if len(self.columns) == 0 else _subtract(X, self.columns, self.means)


def find_offsets(points: Any) -> Offsets:
    """Return the columns whose mean is large compared with their variance."""
    means, variances = _summarize(points)
    return Offsets(np.flatnonzero(means**2 > FAR * variances), means)


def subtract_offsets(X: Any, points: Any) -> tuple[Any, Any]:
    """Subtract the mean of the points from both, in each column in which it is large compared with their variance.

    Parameters
    ----------
    X, points : array or CSR matrix
        Finite values.

    Returns
    -------
    X, points : array or CSR matrix
        Values with the same differences, in float64 if a column is shifted. In CSR matrices, the shifted columns are
        the last ones. If one of the two is a CSR matrix, both are.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.algorithm.offsets import subtract_offsets
    >>> X = np.array([[1e9, 1.0], [1e9 + 4, 2.0]])
    >>> subtract_offsets(X, X)[0].tolist()
    [[-2.0, 1.0], [2.0, 2.0]]
    """
    if sparse.issparse(X) or sparse.issparse(points):
        X, points = sparse.csr_array(X), sparse.csr_array(points)
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
