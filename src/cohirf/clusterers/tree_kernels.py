"""Compiled kernels of DBSCAN on a tree of boxes, for data with too many features for a grid.

Boxes that are farther apart than the radius have no neighbours in each other, and boxes whose
farthest corners are within the radius are treated as a whole. A box whose diagonal is within the
radius is a cell: all its rows are neighbours of each other. So few pairs of rows are compared, and
memory is linear in the number of rows for any radius.

:func:`cluster_boxes` is not compiled, because that takes longer than it saves: each of its calls is
one step for all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cohirf.spanning.box_tree import (
    SEVERAL,
    build_tree,
    flatten,
    gap2,
    point_gap2,
    reach2,
    root,
    squared_distance,
    unite,
)

NO_OTHERS = np.empty((0, 2), dtype=np.int64)


def cluster_boxes(X: Any, weights: Any, radius2: Any, min_weight: Any) -> Any:
    """Return the label of each row, -1 for noise, the core rows, and the other clusters of border
    rows.
    """
    tree = build_tree(X, np.arange(len(X)), weights)
    core_rows = _find_core_rows(tree, weights, radius2, min_weight)
    labels = np.full(len(X), -1, dtype=np.int64)
    if len(core_rows) == 0:
        return labels, core_rows, NO_OTHERS
    if len(core_rows) < len(X):
        tree = build_tree(X, core_rows, weights)
    labels[tree.rows] = connect_boxes(tree, radius2)
    number_by_core_rows(labels, core_rows)
    if len(core_rows) < len(X):
        others = _label_border(tree, X, radius2, labels)
    else:
        others = NO_OTHERS
    return labels, core_rows, others


@njit(cache=True, nogil=True)
def _find_core_rows(tree: Any, weights: Any, radius2: Any, min_weight: Any) -> Any:
    """Return the sorted core rows: rows whose neighbours, themselves included, weigh ``min_weight``
    or more.
    """
    is_core = np.zeros(len(tree.rows), dtype=np.bool_)
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        is_cell = reach2(tree.boxes, node, node) <= radius2
        if is_cell and tree.weights[node] >= min_weight:
            for i in range(tree.starts[node], tree.ends[node]):
                is_core[tree.rows[i]] = True
        elif tree.children[node] > 0:
            stack.append(tree.children[node])
            stack.append(tree.children[node] + 1)
        else:
            _find_core_of_leaf(tree, node, weights, radius2, min_weight, is_core)
    return np.flatnonzero(is_core)


@njit(cache=True, nogil=True)
def _find_core_of_leaf(
    tree: Any, leaf: Any, weights: Any, radius2: Any, min_weight: Any, is_core: Any
) -> None:
    """Mark the core rows of a leaf.

    Near nodes are collected for all rows of the leaf together, and only when they are needed: the
    nearest come first, and most rows need few.
    """
    ahead = [0]  # nodes that may have near nodes below them
    # near nodes, and whether all their rows are within the radius
    near = [(leaf, False) for _ in range(0)]
    for i in range(tree.starts[leaf], tree.ends[leaf]):
        weight = 0.0
        n_seen = 0
        while weight < min_weight and (n_seen < len(near) or len(ahead) > 0):
            if n_seen == len(near):
                _look_ahead(tree, leaf, radius2, ahead, near)
                continue
            node, is_whole = near[n_seen]
            n_seen += 1
            if is_whole:
                weight += tree.weights[node]
            elif point_gap2(tree.points[i], tree.boxes, node) <= radius2:
                weight += _weight_in_leaf(tree, weights, tree.points[i], node, radius2)
        is_core[tree.rows[i]] = weight >= min_weight


@njit(cache=True, nogil=True)
def _weight_in_leaf(tree: Any, weights: Any, x: Any, leaf: Any, radius2: Any) -> Any:
    """Return the weight of the rows of a leaf that are within the radius of a point."""
    total = 0.0
    for i in range(tree.starts[leaf], tree.ends[leaf]):
        if squared_distance(x, tree.points, i) <= radius2:
            total += weights[tree.rows[i]]
    return total


@njit(cache=True, nogil=True)
def _look_ahead(tree: Any, leaf: Any, radius2: Any, ahead: Any, near: Any) -> None:
    """Pop a node from ``ahead``: skip it if it is far, add it to ``near`` if it is near, or else
    push its children.
    """
    node = ahead.pop()
    if gap2(tree.boxes, leaf, node) > radius2:
        return
    is_whole = reach2(tree.boxes, leaf, node) <= radius2
    if is_whole or tree.children[node] == 0:
        near.append((node, is_whole))
        return
    one = tree.children[node]
    two = tree.children[node] + 1
    if gap2(tree.boxes, leaf, one) < gap2(tree.boxes, leaf, two):
        one, two = two, one
    ahead.append(one)
    ahead.append(two)


@njit(cache=True, nogil=True)
def connect_boxes(tree: Any, radius2: Any) -> Any:
    """Join positions in the tree whose rows are within the radius of each other.

    Return the root of each position.

    Nodes are joined from the leaves up, each with its sibling. ``members`` has, for each node whose
    rows are known to be joined, the position of one of them.
    """
    parents = np.arange(len(tree.rows))
    members = np.full(len(tree.starts), SEVERAL)
    for node in range(len(members)):
        if members[node] == SEVERAL and reach2(tree.boxes, node, node) <= radius2:
            members[node] = tree.starts[node]
            parents[tree.starts[node] : tree.ends[node]] = tree.starts[node]
        if members[node] != SEVERAL and tree.children[node] > 0:
            members[tree.children[node]] = members[tree.children[node] + 1] = members[node]
    for node in range(len(members) - 1, -1, -1):
        if members[node] == SEVERAL and tree.children[node] > 0:
            _connect_nodes(
                tree, tree.children[node], tree.children[node] + 1, radius2, parents, members
            )
        elif members[node] == SEVERAL:
            _connect_rows(tree, node, node, radius2, parents)
        _find_member(tree, node, parents, members)
    return flatten(parents)


@njit(cache=True, nogil=True)
def _find_member(tree: Any, top: Any, parents: Any, members: Any) -> None:
    """Update ``members`` for the nodes below ``top`` whose rows are all joined by now."""
    stack = [(top, False)]
    while len(stack) > 0:
        node, children_done = stack.pop()
        child = tree.children[node]
        if members[node] != SEVERAL:
            continue
        if child == 0:
            first = root(parents, tree.starts[node])
            members[node] = first
            for i in range(tree.starts[node] + 1, tree.ends[node]):
                if root(parents, i) != first:
                    members[node] = SEVERAL
        elif not children_done:
            stack.append((node, True))
            stack.append((child, False))
            stack.append((child + 1, False))
        elif _are_joined(parents, members, child, child + 1):
            members[node] = members[child]


@njit(cache=True, nogil=True)
def _are_joined(parents: Any, members: Any, a: Any, b: Any) -> Any:
    """Return whether all rows of two nodes are known to be joined."""
    if members[a] == SEVERAL or members[b] == SEVERAL:
        return False
    return members[a] == members[b] or root(parents, members[a]) == root(parents, members[b])


@njit(cache=True, nogil=True)
def _connect_nodes(tree: Any, a: Any, b: Any, radius2: Any, parents: Any, members: Any) -> None:
    """Join rows of one node with rows of another.

    The nearest boxes come first, because joined nodes are skipped.
    """
    stack = [(a, b)]
    while len(stack) > 0:
        a, b = stack.pop()
        if _are_joined(parents, members, a, b) or gap2(tree.boxes, a, b) > radius2:
            continue
        if reach2(tree.boxes, a, b) <= radius2:
            _join_all(tree, a, b, parents, members)
        elif tree.children[a] == 0 and tree.children[b] == 0:
            _connect_rows(tree, a, b, radius2, parents)
        else:
            if _second_is_to_halve(tree, a, b):
                a, b = b, a
            near = tree.children[a]
            far = tree.children[a] + 1
            if gap2(tree.boxes, far, b) < gap2(tree.boxes, near, b):
                near, far = far, near
            stack.append((far, b))
            stack.append((near, b))


@njit(cache=True, nogil=True)
def _second_is_to_halve(tree: Any, a: Any, b: Any) -> Any:
    """Return whether to halve the second of two nodes: the larger one, but never a leaf."""
    if tree.children[a] == 0 or tree.children[b] == 0:
        return tree.children[a] == 0
    return reach2(tree.boxes, a, a) < reach2(tree.boxes, b, b)


@njit(cache=True, nogil=True)
def _join_all(tree: Any, a: Any, b: Any, parents: Any, members: Any) -> None:
    """Join all rows of two nodes, each of which is within the radius of each row of the other."""
    for node in (a, b):
        if members[node] == SEVERAL:
            members[node] = tree.starts[node]
            for i in range(tree.starts[node] + 1, tree.ends[node]):
                unite(parents, i, tree.starts[node])
    unite(parents, members[a], members[b])


@njit(cache=True, nogil=True)
def _connect_rows(tree: Any, a: Any, b: Any, radius2: Any, parents: Any) -> None:
    """Join rows of two leaves, or of one, that are within the radius of each other."""
    for i in range(tree.starts[a], tree.ends[a]):
        x = tree.points[i]
        for k in range(i + 1 if a == b else tree.starts[b], tree.ends[b]):
            if squared_distance(x, tree.points, k) <= radius2:
                unite(parents, i, k)


@njit(cache=True, nogil=True)
def number_by_core_rows(labels: Any, core_rows: Any) -> Any:
    """Replace the roots of core rows by numbers, as scikit-learn does: in the order of their first
    core rows.

    Returns the number of each root, -1 for others.
    """
    numbers = np.full(len(labels), -1, dtype=np.int64)
    n_clusters = 0
    for row in core_rows:
        own = labels[row]
        if numbers[own] < 0:
            numbers[own] = n_clusters
            n_clusters += 1
        labels[row] = numbers[own]
    return numbers


@njit(cache=True, nogil=True)
def list_other(others: Any, row: Any, label: Any, other: Any) -> Any:
    """Return the lower of two labels of a border row, -1 for none yet.

    List the higher one with the row.
    """
    if label < 0:
        return other
    others.append((np.int64(row), max(label, other)))
    return min(label, other)


@njit(cache=True, nogil=True)
def as_pairs(others: Any) -> Any:
    """Return listed pairs as an array: row, label."""
    pairs = np.empty((len(others), 2), dtype=np.int64)
    for i in range(len(others)):
        pairs[i, 0], pairs[i, 1] = others[i]
    return pairs


@njit(cache=True, nogil=True)
def _label_border(tree: Any, X: Any, radius2: Any, labels: Any) -> Any:
    """Label the other rows: the lowest label of a core row within the radius.

    Return their other labels.
    """
    x = np.empty(X.shape[1])
    others = [(np.int64(0), np.int64(0)) for _ in range(0)]
    for row in range(len(X)):
        if labels[row] < 0:
            for j in range(len(x)):
                x[j] = X[row, j]
            labels[row] = _lowest_label(tree, x, radius2, labels, row, others)
    return as_pairs(others)


@njit(cache=True, nogil=True)
def _lowest_label(tree: Any, x: Any, radius2: Any, labels: Any, row: Any, others: Any) -> Any:
    label = np.int64(-1)
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        if point_gap2(x, tree.boxes, node) > radius2:
            continue
        if tree.children[node] > 0:
            stack.append(tree.children[node])
            stack.append(tree.children[node] + 1)
            continue
        for i in range(tree.starts[node], tree.ends[node]):
            other = labels[tree.rows[i]]
            if other != label and squared_distance(x, tree.points, i) <= radius2:
                label = list_other(others, row, label, other)
    return label
