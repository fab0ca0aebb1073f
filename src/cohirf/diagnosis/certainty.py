"""How sure the final label of a row is: as sure as the weakest of the fusions that led to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray


def weakest_fusions(parents: IntArray, stability: NDArray[np.float32], rows: IntArray) -> NDArray[np.float32]:
    """Return the lowest stability on the way of each row up to the row that stands for its final cluster.

    Examples
    --------
    Row 2 was absorbed by row 1, and row 1 by row 0:

    >>> import numpy as np
    >>> from cohirf.diagnosis.certainty import weakest_fusions
    >>> weakest_fusions(np.array([0, 0, 1]), np.array([1.0, 0.4, 0.9], np.float32), np.array([0, 1, 2]))
    array([1. , 0.4, 0.4], dtype=float32)
    """
    weakest: NDArray[Any] = stability[rows]
    at = np.asarray(rows)
    while not np.array_equal(above := parents[at], at):
        weakest, at = np.fmin(weakest, stability[above]), above
    return weakest
