"""The silhouette of many partitions of the same rows: distances are measured once, and summed by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray

COLUMNS = 64  # of the distances that are summed at the same time


def mean_silhouette(distances: NDArray[np.floating[Any]], labels: IntArray) -> float:
    """Return the mean silhouette; rows that are alone in their cluster count as 0.

    Parameters
    ----------
    distances : array of shape (n_rows, n_rows)
        Distances between all rows.
    labels : array of shape (n_rows,)
        Clusters, of which there must be at least two.

    Returns
    -------
    silhouette : float
        The mean of ``(b - a) / max(a, b)``, where ``a`` is the mean distance to the other rows of the own cluster and
        ``b`` that to the nearest other cluster.
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
    """Return the silhouettes of some rows; rows that are alone in their cluster have 0.

    Parameters
    ----------
    sums : array of shape (n_clusters, n_some_rows)
        Sum of the distances of each row to the rows of each cluster. It is overwritten.
    sizes : array of shape (n_clusters,)
        Rows in each cluster.
    own : array of shape (n_some_rows,)
        The cluster of each row.

    Returns
    -------
    silhouettes : array of shape (n_some_rows,)
        One for each row.
    """
    at = own, np.arange(len(own))
    inside = sums[at] / np.maximum(sizes[own] - 1, 1)
    sums /= sizes[:, None]
    sums[at] = np.inf
    outside = sums.min(axis=0)
    larger = np.maximum(inside, outside)
    told = (sizes[own] > 1) & (larger > 0)
    return np.where(told, outside - inside, 0) / np.where(told, larger, 1)
