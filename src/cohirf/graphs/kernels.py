"""Compiled loops over the rows of a CSR matrix: DBSCAN, HDBSCAN, and entries that are looked up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.spanning.box_tree import root, unite


class Lightest(NamedTuple):
    """Edges with their weights: the lightest ones of components, or those of a spanning tree."""

    weights: Any
    nodes: Any  # where each one begins
    places: Any  # among the entries of the matrix


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


@njit(cache=True, nogil=True)
def _place_of(indptr: Any, indices: Any, row: Any, column: Any) -> Any:
    """Return the place of an entry of a matrix whose columns are sorted; -1 if it is not stored."""
    low = indptr[row]
    high = indptr[row + 1]
    while low < high:
        middle = (low + high) // 2
        if indices[middle] < column:
            low = middle + 1
        else:
            high = middle
    if low < indptr[row + 1] and indices[low] == column:
        return low
    return -1


@njit(cache=True, nogil=True)
def find_places(indptr: Any, indices: Any, rows: Any, columns: Any, places: Any) -> None:
    """Find the place of each of some entries."""
    for entry in range(len(rows)):
        places[entry] = _place_of(indptr, indices, rows[entry], columns[entry])


@njit(cache=True, nogil=True)
def rank_distances(
    indptr: Any,
    indices: Any,
    data: Any,
    rank: Any,
    nodes: Any,
    bounds: Any,
    incoming: Any,
    core: Any,
) -> None:
    """Find the distance of the given rank among the entries of some rows and the incoming ones;
    infinite if there are fewer.

    Where an entry stands in both directions, the smaller distance counts. The incoming entries of
    ``nodes[i]`` are those from ``bounds[i]`` to ``bounds[i + 1]``.
    """
    for number in range(len(nodes)):
        node = nodes[number]
        start = indptr[node]
        length = indptr[node + 1] - start
        n_incoming = bounds[number + 1] - bounds[number]
        core[node] = np.inf
        if length + n_incoming < rank:
            continue
        values = np.empty(length + n_incoming)
        for step in range(length):
            back = _place_of(indptr, indices, indices[start + step], node)
            values[step] = data[start + step]
            if back >= 0:
                values[step] = min(values[step], data[back])
        values[length:] = incoming[bounds[number] : bounds[number + 1]]
        core[node] = np.partition(values, rank - 1)[rank - 1]


@njit(cache=True, nogil=True)
def take_incoming(
    indptr: Any, indices: Any, data: Any, core: Any, ends: Any, incoming: Any
) -> None:
    """Write the entries of other rows alone by which nodes may get a smaller core distance.

    ``ends`` says where the next one of each node goes. Without room, they are only counted.
    """
    for node in range(len(core)):
        for place in range(indptr[node], indptr[node + 1]):
            other = indices[place]
            if data[place] < core[other] and _place_of(indptr, indices, other, node) < 0:
                if len(incoming) > 0:
                    incoming[ends[other]] = data[place]
                ends[other] += 1


@njit(cache=True, nogil=True)
def find_lightest(
    indptr: Any, indices: Any, data: Any, core: Any, parents: Any, is_inner: Any, best: Any
) -> None:
    """Find the lightest edge that leaves each component, by mutual reachability.

    Parameters
    ----------
    parents : array of int
        The root of the component of each node.
    is_inner : array of bool
        Nodes all of whose edges are known to stay in their component. More are found.
    best : Lightest
        Infinite weights before. Of equal edges, the one that is stored first.
    """
    for node in range(len(core)):
        if is_inner[node]:
            continue
        own = parents[node]
        is_left = False
        for place in range(indptr[node], indptr[node + 1]):
            other = indices[place]
            part = parents[other]
            if part == own:
                continue
            weight = max(data[place], core[node], core[other])
            if weight == np.inf:
                continue
            is_left = True
            # places rise, so of equal weights the first one stays
            if weight < best.weights[own]:
                _put(best, own, weight, node, place)
            if weight < best.weights[part]:
                _put(best, part, weight, node, place)
        is_inner[node] = not is_left


@njit(cache=True, nogil=True)
def _put(best: Any, part: Any, weight: Any, node: Any, place: Any) -> None:
    best.weights[part] = weight
    best.nodes[part] = node
    best.places[part] = place


@njit(cache=True, nogil=True)
def unite_lightest(indices: Any, parents: Any, best: Any, tree: Any, n_edges: Any) -> Any:
    """Unite components by their lightest edges, add these to a tree, and return their number."""
    for part in range(len(parents)):
        if best.weights[part] == np.inf:
            continue
        one = best.nodes[part]
        two = indices[best.places[part]]
        if root(parents, one) != root(parents, two):
            unite(parents, one, two)
            tree.weights[n_edges] = best.weights[part]
            tree.nodes[n_edges] = one
            tree.places[n_edges] = best.places[part]
            n_edges += 1
    return n_edges
