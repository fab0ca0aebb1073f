"""Compiled loops for DBSCAN on the rows of a CSR matrix of distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def count_near(indptr: Any, indices: Any, data: Any, eps: Any, counts: Any) -> None:
    """Count the neighbours of each node within ``eps``; a node is one of its own."""
    for node in range(len(counts)):
        count = 1
        for place in range(indptr[node], indptr[node + 1]):
            if data[place] <= eps and indices[place] != node:
                count += 1
        counts[node] = count


@njit(cache=True, nogil=True)
def grow_clusters(indptr: Any, indices: Any, data: Any, eps: Any, is_core: Any, labels: Any) -> Any:
    """Label nodes as scikit-learn's DBSCAN does: a cluster grows from its first core node along the
    edges of core nodes, and takes nodes that no earlier cluster has.

    Labels are -1 before. Returns the number of clusters.
    """
    stack = np.empty(len(labels), dtype=np.int32)
    n_clusters = 0
    for first in range(len(labels)):
        if labels[first] >= 0 or not is_core[first]:
            continue
        labels[first] = n_clusters
        stack[0] = first
        n_open = 1
        while n_open > 0:
            n_open -= 1
            node = stack[n_open]
            for place in range(indptr[node], indptr[node + 1]):
                other = indices[place]
                if data[place] <= eps and labels[other] < 0:
                    labels[other] = n_clusters
                    if is_core[other]:
                        stack[n_open] = other
                        n_open += 1
        n_clusters += 1
    return n_clusters
