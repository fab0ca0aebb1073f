"""The mean silhouette of a partition, from precomputed distances, so that many partitions can share them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray

COLUMNS = 64  # of the distance matrix that are summed at a time


def mean_silhouette(distances: NDArray[np.floating[Any]], labels: IntArray) -> float:
    """Return the mean silhouette; the silhouette of a singleton is 0.

    Parameters
    ----------
    distances : array of float, shape (n_rows, n_rows)
        Distances between all rows.
    labels : array of int, shape (n_rows,)
        Cluster of each row; there must be at least two clusters.

    Returns
    -------
    silhouette : float
        The mean of ``(b - a) / max(a, b)``, where ``a`` is the mean distance of a row to the other rows of its cluster
        and ``b`` is its mean distance to the rows of the nearest other cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.silhouette import mean_silhouette
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> round(mean_silhouette(np.abs(x[:, None] - x), np.array([0, 0, 1, 1])), 3)
    0.9
    """
    _, codes = np.unique(labels, return_inverse=True)
    sizes = np.bincount(codes)
    n_rows = len(codes)
    members = sparse.csr_array((np.ones(n_rows), (codes, np.arange(n_rows))), shape=(len(sizes), n_rows))
    total = 0.0
    for start in range(0, n_rows, COLUMNS):
        sums = members @ distances[:, start : start + COLUMNS].astype(np.float64)
        total += silhouettes(sums, sizes, codes[start : start + COLUMNS]).sum()
    return float(total / n_rows)


def silhouettes(sums: NDArray[np.floating[Any]], sizes: IntArray, own: IntArray) -> NDArray[np.floating[Any]]:
    """Return the silhouette of each of some rows; that of a singleton is 0.

    Parameters
    ----------
    sums : array of float, shape (n_clusters, n_some_rows)
        Sum of the distances of each row to the rows of each cluster. It is overwritten.
    sizes : array of int, shape (n_clusters,)
        Number of rows in each cluster.
    own : array of int, shape (n_some_rows,)
        The cluster of each row.

    Returns
    -------
    silhouettes : array of float, shape (n_some_rows,)
        The silhouette of each row.
    """
    at = own, np.arange(len(own))
    inside = sums[at] / np.maximum(sizes[own] - 1, 1)
    sums /= sizes[:, None]
    sums[at] = np.inf
    outside = sums.min(axis=0)
    larger = np.maximum(inside, outside)
    is_defined = (sizes[own] > 1) & (larger > 0)
    return np.where(is_defined, outside - inside, 0) / np.where(is_defined, larger, 1)
