"""Distances between faint values: values so small that the squares of their differences underflow to 0.

The square of 1e-200 is 0 in float64, and the square of 1e-25 is 0 in float32: all rows of such data would be at
distance 0 from each other. If such values are multiplied by a power of two, or converted from float32 to float64, they
keep all their digits, and their squares can be compared.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.offsets import subtract_offsets

# The factor for faint float64 values: it makes the smallest subnormal number large enough to be squared.
FLOAT64_LIFT = sqrt(np.finfo(np.float64).smallest_normal) / float(np.finfo(np.float64).smallest_subnormal)
LARGEST_LIFTED = 2.0**450  # its square, added up over all features, does not overflow


def find_lift(X: Any) -> float | None:
    """Return the factor for faint values, after conversion to float64, before distances are computed.

    Parameters
    ----------
    X : array or CSR matrix
        Finite values of type float64 or float32.

    Returns
    -------
    lift : float or None
        A power of two; 1 for float32, because the range of float64 is large enough; None if the values are not faint.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.algorithm.faint_values import find_lift
    >>> find_lift(np.array([[1.0], [1e-200]])) is None
    True
    >>> find_lift(np.array([[2e-200], [1e-200]])) > 1e160
    True
    >>> find_lift(np.array([[1e-25]], dtype=np.float32))
    1.0
    """
    values = X.data if sparse.issparse(X) else X
    if max(values.max(initial=0), -values.min(initial=0)) >= _faint_below(values.dtype):
        return None
    return 1.0 if values.dtype == np.float32 else FLOAT64_LIFT


def are_faint(X: Any, dtype: Any) -> NDArray[np.bool_]:
    """Return which rows have only values that are faint in type ``dtype``."""
    largest, smallest = X.max(axis=1), X.min(axis=1)
    if sparse.issparse(X):
        largest, smallest = largest.toarray().ravel(), smallest.toarray().ravel()
    is_faint: NDArray[np.bool_] = np.maximum(largest, -smallest) < _faint_below(dtype)
    return is_faint


def lift_values(X: Any, lift: float) -> Any:
    """Return ``X`` in float64 times ``lift``, with values far above faint ones clipped to a bound.

    Clipping does not matter: seen from such a large value, all faint values are at the same distance.
    """
    X = X.astype(np.float64)
    values = X.data if sparse.issparse(X) else X
    bound = LARGEST_LIFTED / lift
    np.clip(values, -bound, bound, out=values)
    values *= lift
    return X


def measure_distances(X: Any, points: Any) -> Any:
    """Return the Euclidean distance of each row to each point, also if the values are faint or have an offset."""
    distances = euclidean_distances(*subtract_offsets(X, points))
    distances = distances.astype(np.result_type(X.dtype, points.dtype), copy=False)
    lift = find_lift(points)
    if lift is None:
        return distances
    faint = np.flatnonzero(are_faint(X, points.dtype))
    if len(faint) > 0:
        distances[faint] = euclidean_distances(lift_values(X[faint], lift), lift_values(points, lift)) / lift
    return distances


def _faint_below(dtype: Any) -> float:
    """Return the value below which squared differences can underflow: a difference can be eps times the values."""
    limits = np.finfo(dtype)
    return sqrt(limits.smallest_normal) / float(limits.eps)
