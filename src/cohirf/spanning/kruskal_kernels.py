"""Spanning forest of a graph whose edges are sorted, and its single-linkage tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cohirf.spanning.boruvka_kernels import root


@njit(cache=True, nogil=True)
def kruskal(one: Any, two: Any, lengths: Any, parents: Any) -> Any:
    """Move the edges of the spanning forest to the front, and return their number; edges are sorted by weight."""
    n_kept = 0
    for edge in range(len(one)):
        a, b = root(parents, one[edge]), root(parents, two[edge])
        if a != b:
            parents[max(a, b)] = min(a, b)
            one[n_kept], two[n_kept], lengths[n_kept] = one[edge], two[edge], lengths[edge]
            n_kept += 1
    return n_kept


@njit(cache=True, nogil=True)
def single_linkage(one: Any, two: Any) -> Any:
    """Return the two nodes that each edge of a sorted spanning tree merges, and the number of rows of both together.

    Nodes below ``n_rows`` are rows; node ``n_rows + m`` is the result of merge ``m``.
    """
    n_rows = len(one) + 1
    parents = np.arange(n_rows, dtype=np.int32)
    nodes = np.arange(n_rows, dtype=np.int32)  # the node of the component with this root
    left, right = np.empty(n_rows - 1, dtype=np.int32), np.empty(n_rows - 1, dtype=np.int32)
    sizes = np.empty(n_rows - 1, dtype=np.int32)
    for merge in range(n_rows - 1):
        a, b = root(parents, one[merge]), root(parents, two[merge])
        left[merge], right[merge] = nodes[a], nodes[b]
        sizes[merge] = size_of(nodes[a], n_rows, sizes) + size_of(nodes[b], n_rows, sizes)
        parents[max(a, b)] = min(a, b)
        nodes[min(a, b)] = n_rows + merge
    return left, right, sizes


@njit(cache=True, nogil=True)
def size_of(node: Any, n_rows: Any, sizes: Any) -> Any:
    """Return the number of rows of a node."""
    return 1 if node < n_rows else sizes[node - n_rows]
