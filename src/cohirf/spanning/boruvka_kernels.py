"""The minimum spanning tree of mutual reachability distances, by Boruvka's rounds on a tree of boxes.

In each round, each component finds its lightest edge to another component. Most edges are found in the lists of nearest
neighbours. A row needs a walk through the tree only if a row outside its list could be joined by a lighter edge than
the lightest one that its component has found so far. All distances are squared.

Many edges have the same weight: the core distance of a row that they share. The shorter one of two such edges counts as
the lighter one. So the tree is unique, unless distances are equal, too, and it does not depend on the batches.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.neighbours.box_tree import point_gap2
from cohirf.spanning.neighbour_kernels import distances_to_leaf, longest_leaf, push_children

MIXED = -1


class Lightest(NamedTuple):
    """The lightest edge that leaves each component, found so far; a component is named by its root."""

    weights: Any
    lengths: Any
    inside: Any  # position inside the component
    outside: Any


def spanning_edges(tree: Any, columns: Any, core: Any, neighbours: Any, distances2: Any, parents: Any) -> Any:
    """Return pairs of positions: the lightest edges that connect all components.

    ``core`` has the squared core distance of each position, and ``parents`` is the forest of components to begin with,
    as :func:`root` reads it.
    """
    n = len(core)
    pairs = np.empty((n - 1, 2), dtype=np.int32)
    n_pairs = 0
    lightest = Lightest(np.empty(n), np.empty(n), np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32))
    node_core = _lowest_in_nodes(tree, core)
    room = np.empty(longest_leaf(tree))
    reach = np.ascontiguousarray(distances2[:, -1])
    grows = True
    while grows:
        components = flatten(parents)
        lightest.weights[:] = np.inf
        _search_lists(core, neighbours, distances2, components, lightest)
        _search_tree(tree, columns, core, node_core, reach, components, lightest, room)
        n_before = n_pairs
        n_pairs = _join_components(components, lightest, parents, pairs, n_pairs)
        grows = n_pairs > n_before
    return pairs[:n_pairs]


@njit(cache=True, nogil=True)
def root(parents: Any, i: Any) -> Any:
    """Return the root of a component; paths are halved on the way."""
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@njit(cache=True, nogil=True)
def flatten(parents: Any) -> Any:
    """Return the root of each position."""
    roots = np.empty_like(parents)
    for i in range(len(parents)):
        roots[i] = root(parents, i)
    return roots


@njit(cache=True, nogil=True)
def _is_lighter(weight: Any, length: Any, lightest: Any, component: Any) -> Any:
    """Return whether an edge is lighter than the lightest one of a component so far."""
    if weight == lightest.weights[component]:
        return length < lightest.lengths[component]
    return weight < lightest.weights[component]


@njit(cache=True, nogil=True)
def _offer(lightest: Any, component: Any, i: Any, j: Any, weight: Any, length: Any) -> None:
    """Note an edge, if it is the lightest one of a component."""
    if _is_lighter(weight, length, lightest, component):
        lightest.weights[component], lightest.lengths[component] = weight, length
        lightest.inside[component], lightest.outside[component] = i, j


@njit(cache=True, nogil=True)
def _search_lists(core: Any, neighbours: Any, distances2: Any, components: Any, lightest: Any) -> None:
    """Find light edges in the lists of neighbours."""
    for i in range(len(core)):
        own = components[i]
        for place in range(neighbours.shape[1]):
            length = distances2[i, place]
            at_least = max(core[i], length)
            if not _is_lighter(at_least, length, lightest, own):
                break
            j = neighbours[i, place]
            if components[j] != own:
                _offer(lightest, own, i, j, max(at_least, core[j]), length)
                _offer(lightest, components[j], j, i, max(at_least, core[j]), length)


@njit(cache=True, nogil=True)
def _search_tree(
    tree: Any, columns: Any, core: Any, node_core: Any, reach: Any, components: Any, lightest: Any, room: Any
) -> None:
    """Find the lightest edges among those that are not in the lists, which end at the distances ``reach``."""
    node_components = _components_of_nodes(tree, components)
    for leaf in range(len(tree.starts)):
        if tree.children[leaf] > 0:
            continue
        heaviest = _heaviest_of_use(tree, leaf, core, reach, components, lightest)
        if heaviest < 0:
            continue
        stack = [(0.0, 0)]
        while len(stack) > 0:
            gap, node = stack.pop()
            if gap >= heaviest or node_core[node] > heaviest:
                continue
            if node_components[node] != MIXED and node_components[node] == node_components[leaf]:
                continue
            if tree.children[node] == 0:
                _search_rows(tree, columns, leaf, node, core, reach, components, lightest, room)
                heaviest = _heaviest_of_use(tree, leaf, core, reach, components, lightest)
            else:
                push_children(tree, leaf, node, stack)


@njit(cache=True, nogil=True)
def _heaviest_of_use(tree: Any, leaf: Any, core: Any, reach: Any, components: Any, lightest: Any) -> Any:
    """Return the weight that an edge must fall below to be of use to a row of a leaf; -1 if none can be."""
    heaviest = -1.0
    for i in range(tree.starts[leaf], tree.ends[leaf]):
        weight = lightest.weights[components[i]]
        if max(core[i], reach[i]) < weight:
            heaviest = max(heaviest, weight)
    return heaviest


@njit(cache=True, nogil=True)
def _search_rows(
    tree: Any,
    columns: Any,
    leaf: Any,
    other: Any,
    core: Any,
    reach: Any,
    components: Any,
    lightest: Any,
    room: Any,
) -> None:
    """Find light edges between rows of two leaves."""
    for i in range(tree.starts[leaf], tree.ends[leaf]):
        own = components[i]
        at_least = max(core[i], reach[i], point_gap2(tree.points[i], tree.boxes, other))
        if at_least >= lightest.weights[own]:
            continue
        distances_to_leaf(tree, columns, tree.points[i], other, room)
        for place in range(tree.ends[other] - tree.starts[other]):
            j = tree.starts[other] + place
            weight = max(core[i], core[j], room[place])
            if components[j] != own and _is_lighter(weight, room[place], lightest, own):
                _offer(lightest, own, i, j, weight, room[place])
                _offer(lightest, components[j], j, i, weight, room[place])


@njit(cache=True, nogil=True)
def _join_components(components: Any, lightest: Any, parents: Any, pairs: Any, n_pairs: Any) -> Any:
    """Add the lightest edge of each component, unless edges of this round have joined its ends; return the count.

    Among edges of equal weight any choice gives a minimum spanning tree, as long as no cycle is closed.
    """
    for component in range(len(components)):
        if components[component] == component and lightest.weights[component] < np.inf:
            i, j = lightest.inside[component], lightest.outside[component]
            a, b = root(parents, i), root(parents, j)
            if a != b:
                parents[max(a, b)] = min(a, b)
                pairs[n_pairs, 0], pairs[n_pairs, 1] = i, j
                n_pairs += 1
    return n_pairs


@njit(cache=True, nogil=True)
def _components_of_nodes(tree: Any, components: Any) -> Any:
    """Return the component of each node whose rows are all in one, and ``MIXED`` for other nodes."""
    found = np.full(len(tree.starts), MIXED, dtype=np.int32)
    for node in range(len(found) - 1, -1, -1):
        child = tree.children[node]
        if child > 0:
            if found[child] == found[child + 1]:
                found[node] = found[child]
        else:
            first = components[tree.starts[node]]
            if np.all(components[tree.starts[node] : tree.ends[node]] == first):
                found[node] = first
    return found


@njit(cache=True, nogil=True)
def _lowest_in_nodes(tree: Any, values: Any) -> Any:
    """Return the lowest value in each node."""
    lowest = np.empty(len(tree.starts))
    for node in range(len(lowest) - 1, -1, -1):
        child = tree.children[node]
        if child > 0:
            lowest[node] = min(lowest[child], lowest[child + 1])
        else:
            lowest[node] = values[tree.starts[node] : tree.ends[node]].min()
    return lowest
