"""The mean silhouette of a division, from distances that several divisions share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows.grouping import FloatArray, IntArray

COLUMNS = 512  # of the distance matrix that are summed at a time


def mean_silhouette(
    distances: NDArray[np.floating[Any]], labels: IntArray, mass: FloatArray | None = None
) -> float:
    """Return the mean silhouette; the silhouette of a singleton is 0.

    Many partitions can share the distances.

    It is the mean of ``(b - a) / max(a, b)``, where ``a`` is the mean distance of a row to the
    other rows of its cluster and ``b`` is its mean distance to the rows of the nearest other
    cluster. Rows count by their mass.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.rows.silhouette import mean_silhouette
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> round(mean_silhouette(np.abs(x[:, None] - x), np.array([0, 0, 1, 1])), 3)
    0.9
    """
    _, codes = np.unique(labels, return_inverse=True)
    n_rows = len(codes)
    mass = np.ones(n_rows) if mass is None else mass
    sizes = np.bincount(codes, weights=mass)
    # sparse: its product takes the same time for many clusters as for few
    members = sparse.csr_array((mass, (codes, np.arange(n_rows))), shape=(len(sizes), n_rows))
    total = 0.0
    for start in range(0, n_rows, COLUMNS):
        sums = members @ distances[:, start : start + COLUMNS]
        of_rows = mass[start : start + COLUMNS]
        total += float(of_rows @ silhouettes(sums, sizes, codes[start : start + COLUMNS], of_rows))
    return float(total / mass.sum())


def silhouettes(
    sums: NDArray[np.floating[Any]],
    sizes: NDArray[Any],
    own: IntArray,
    mass: FloatArray | float = 1,
) -> NDArray[np.floating[Any]]:
    """Return the silhouette of each of some rows; that of a singleton is 0.

    ``sums`` has the sum of the distances of each row (column) to the rows of each cluster, and is
    overwritten; ``sizes`` has the mass of each cluster, ``own`` the cluster of each row, and
    ``mass`` its mass.
    """
    at = own, np.arange(len(own))
    others = sizes[own] - mass
    inside = sums[at] / np.where(others > 0, others, 1)
    sums /= sizes[:, None]
    sums[at] = np.inf
    outside = sums.min(axis=0)
    larger = np.maximum(inside, outside)
    is_defined = (others > 0) & (larger > 0)
    return np.where(is_defined, outside - inside, 0) / np.where(is_defined, larger, 1)
