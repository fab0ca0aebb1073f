"""Values so small that the squares of their differences vanish, and how distances between them are still measured.

The square of 1e-200 is 0 in float64, and that of 1e-25 is 0 in float32: all rows of such data would be at distance 0
of each other. Multiplied by a power of two, or converted from float32 to float64, they keep all their digits and have
squares that can be compared.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

LARGEST_LIFTED = 2.0**450  # its square, added up over all features, does not overflow


def find_lift(X: Any) -> float | None:
    """Return what faint values, converted to float64, are multiplied by before distances are measured.

    Parameters
    ----------
    X : array or CSR matrix
        Finite values of type float64 or float32.

    Returns
    -------
    lift : float or None
        A power of two; 1 for float32, to which float64 gives enough room; None if the values are not faint.

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
    limits = np.finfo(values.dtype)
    return 1.0 if values.dtype == np.float32 else sqrt(limits.smallest_normal) / float(limits.smallest_subnormal)


def lift_values(X: Any, lift: float) -> Any:
    """Return ``X`` in float64 times ``lift``; values far above faint ones end at a bound.

    Seen from there, faint values cannot be told apart: which of them is nearest does not depend on the bound.
    """
    X = X.astype(np.float64)
    values = X.data if sparse.issparse(X) else X
    bound = LARGEST_LIFTED / lift
    np.clip(values, -bound, bound, out=values)
    values *= lift
    return X


def measure_distances(X: Any, points: Any) -> Any:
    """Return the Euclidean distance of each row of ``X`` to each of ``points``, faint ones included."""
    distances = euclidean_distances(X, points)
    lift = find_lift(points)
    if lift is None:
        return distances
    largest = abs(X).max(axis=1)
    largest = largest.toarray().ravel() if sparse.issparse(largest) else largest
    faint = np.flatnonzero(largest < _faint_below(points.dtype))
    if len(faint) > 0:
        distances[faint] = euclidean_distances(lift_values(X[faint], lift), lift_values(points, lift)) / lift
    return distances


def _faint_below(dtype: Any) -> float:
    """Return the value below which squares of differences vanish; these can be smaller than values by eps."""
    limits = np.finfo(dtype)
    return sqrt(limits.smallest_normal) / float(limits.eps)
