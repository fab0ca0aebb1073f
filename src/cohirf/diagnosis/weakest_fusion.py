"""Stability of a row's final label: that of the least stable fusion on the way to its final cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray


def weakest_fusions(parents: IntArray, stability: NDArray[np.float32], rows: IntArray) -> NDArray[np.float32]:
    """Return, for each of ``rows``, the lowest stability on the path from the row to its final medoid.

    Parameters
    ----------
    parents : array of int, shape (n_samples,)
        The row that absorbed each row; medoids of final clusters are their own parents.
    stability : array of float, shape (n_samples,)
        ``stability_`` of the model: the mean over views of the Jaccard index between the row's group and its cluster
        in that view.
    rows : array of int
        The rows to follow.

    Returns
    -------
    weakest : array of float
        Lowest stability on each path; NaN entries are ignored.

    Examples
    --------
    Row 2 was absorbed by row 1, and row 1 by row 0:

    >>> import numpy as np
    >>> from cohirf.diagnosis.weakest_fusion import weakest_fusions
    >>> weakest_fusions(np.array([0, 0, 1]), np.array([1.0, 0.4, 0.9], np.float32), np.array([0, 1, 2]))
    array([1. , 0.4, 0.4], dtype=float32)
    """
    weakest: NDArray[Any] = stability[rows]
    at = np.asarray(rows)
    while not np.array_equal(above := parents[at], at):
        weakest, at = np.fmin(weakest, stability[above]), above
    return weakest
