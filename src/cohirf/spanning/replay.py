"""The spanning tree that scikit-learn's HDBSCAN finds, where many trees are minimal.

The weight of an edge is often the core distance of one of its rows, and then all edges of this row to nearer rows have
the same weight. Which of them are in the tree, and which come first, decides whether a row between two clusters joins
one or the other, and with it whether a cluster reaches ``min_cluster_size``. scikit-learn runs Prim's algorithm from
row 0, takes the lowest row where weights are equal, and then sorts edges with ``numpy.argsort``, which is not stable.
So its labels depend on the order of rows. Here the same is done with the few edges that can be in such a tree.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np
from numba import njit

from cohirf.spanning.edges import Edges, FloatArray


def replay_tree(edges: Edges, core: FloatArray, lists: Edges) -> Edges:
    """Return the spanning tree of scikit-learn, with its edges in the order in which they are found.

    Parameters
    ----------
    edges : Edges
        Any minimum spanning tree, with the distances of its rows.
    core : array of float, shape (n_rows,)
        Core distance of each row.
    lists : Edges
        Edges from each row to those that are not farther away than its core distance.
    """
    is_tied = core[lists.two] <= core[lists.one]  # other edges are in the list of their other row, too
    one, two = np.append(edges.one, lists.one[is_tied]), np.append(edges.two, lists.two[is_tied])
    lengths = np.append(edges.lengths, lists.lengths[is_tied])
    weights = np.maximum(lengths, np.maximum(core[one], core[two]))
    ends = np.append(one, two)
    by_end = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[by_end], np.arange(len(core) + 1))
    found = _run_prim(starts, by_end % len(one), one, two, weights)
    return Edges(one[found], two[found], lengths[found])


def order_as_sklearn(weights: FloatArray, lengths: FloatArray) -> Any:
    """Return the order in which scikit-learn merges edges of these weights; lengths do not matter there."""
    return np.argsort(weights)


@njit(cache=True, nogil=True)
def _run_prim(starts: Any, edges: Any, one: Any, two: Any, weights: Any) -> Any:
    """Return the edges of a spanning tree in the order in which Prim's algorithm finds them, beginning with row 0.

    The edges of row ``i`` are ``edges[starts[i] : starts[i + 1]]``.
    """
    n_rows = len(starts) - 1
    lightest, edge_to = np.full(n_rows, np.inf), np.zeros(n_rows, dtype=np.int64)
    is_done = np.zeros(n_rows, dtype=np.bool_)
    found, n_found = np.empty(n_rows - 1, dtype=np.int64), 0
    heap: list[Any] = [(0.0, 0)]  # of equal weights, the lowest row comes first
    while len(heap) > 0:
        _, row = heappop(heap)
        if is_done[row]:
            continue
        is_done[row] = True
        if row > 0:
            found[n_found] = edge_to[row]
            n_found += 1
        for edge in edges[starts[row] : starts[row + 1]]:
            other = two[edge] if one[edge] == row else one[edge]
            if not is_done[other] and weights[edge] < lightest[other]:
                lightest[other], edge_to[other] = weights[edge], edge
                heappush(heap, (weights[edge], np.int64(other)))
    return found
