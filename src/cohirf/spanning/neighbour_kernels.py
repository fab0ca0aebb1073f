"""The nearest rows of each row, on a tree of boxes.

Rows of a leaf search together: one walk through the tree serves all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from cohirf.neighbours.box_tree import gap2, point_gap2


def nearest(tree: Any, columns: Any, k: Any) -> Any:
    """Return the ``k`` nearest positions of each position, nearest first, and their squared distances.

    A position is its own neighbour. ``columns`` has a line for each feature of ``tree.points``.
    """
    positions = np.arange(len(tree.points), dtype=np.int32)
    neighbours = np.repeat(positions.reshape(-1, 1), k, axis=1)  # never empty, even if distances overflow
    distances2 = np.full((len(tree.points), k), np.inf)
    _search_leaves(tree, columns, neighbours, distances2, np.empty(longest_leaf(tree)))
    return neighbours, distances2


@njit(cache=True, nogil=True)
def _search_leaves(tree: Any, columns: Any, neighbours: Any, distances2: Any, room: Any) -> None:
    for node in range(len(tree.starts)):
        if tree.children[node] == 0:
            _search_leaf(tree, columns, node, neighbours, distances2, room)


@njit(cache=True, nogil=True)
def longest_leaf(tree: Any) -> Any:
    """Return the number of rows of the largest leaf: many equal rows are one leaf."""
    most = 0
    for node in range(len(tree.starts)):
        if tree.children[node] == 0:
            most = max(most, tree.ends[node] - tree.starts[node])
    return most


@njit(cache=True, nogil=True)
def _search_leaf(tree: Any, columns: Any, leaf: Any, neighbours: Any, distances2: Any, room: Any) -> None:
    """Find the nearest positions of each position in a leaf."""
    farthest = np.inf
    stack = [(0.0, 0)]
    while len(stack) > 0:
        gap, node = stack.pop()
        if gap >= farthest:
            continue
        if tree.children[node] == 0:
            farthest = _search_rows(tree, columns, leaf, node, neighbours, distances2, room)
        else:
            push_children(tree, leaf, node, stack)


@njit(cache=True, nogil=True)
def push_children(tree: Any, leaf: Any, node: Any, stack: Any) -> None:
    """Push the children of a node with their gaps from a leaf, such that the nearer one is popped first."""
    one, two = tree.children[node], tree.children[node] + 1
    one_gap, two_gap = gap2(tree.boxes, leaf, one), gap2(tree.boxes, leaf, two)
    if one_gap < two_gap:
        one, two, one_gap, two_gap = two, one, two_gap, one_gap
    stack.append((one_gap, one))
    stack.append((two_gap, two))


@njit(cache=True, nogil=True)
def _search_rows(tree: Any, columns: Any, leaf: Any, other: Any, neighbours: Any, distances2: Any, room: Any) -> Any:
    """Compare the rows of two leaves; return the largest distance from a row of the first one to its last neighbour."""
    k = distances2.shape[1]
    farthest = 0.0
    for i in range(tree.starts[leaf], tree.ends[leaf]):
        if point_gap2(tree.points[i], tree.boxes, other) < distances2[i, k - 1]:
            distances_to_leaf(tree, columns, tree.points[i], other, room)
            for place in range(tree.ends[other] - tree.starts[other]):
                if room[place] < distances2[i, k - 1]:
                    _insert(neighbours[i], distances2[i], tree.starts[other] + place, room[place])
        farthest = max(farthest, distances2[i, k - 1])
    return farthest


@njit(cache=True, nogil=True)
def distances_to_leaf(tree: Any, columns: Any, x: Any, leaf: Any, room: Any) -> None:
    """Write the squared distances of a point from the rows of a leaf.

    The inner loop runs over rows, and is compiled to vector instructions. The sum of each distance is in the order of
    the features, whatever the leaf: a pair of rows has the same distance in each batch.
    """
    start, end = tree.starts[leaf], tree.ends[leaf]
    room[: end - start] = 0.0
    for j in range(len(x)):
        column = columns[j, start:end]
        for place in range(end - start):
            room[place] += (x[j] - column[place]) * (x[j] - column[place])


@njit(cache=True, nogil=True)
def _insert(neighbours: Any, distances2: Any, neighbour: Any, distance2: Any) -> None:
    """Insert a neighbour into a sorted list, whose last one drops out."""
    place = len(distances2) - 1
    while place > 0 and distances2[place - 1] > distance2:
        neighbours[place], distances2[place] = neighbours[place - 1], distances2[place - 1]
        place -= 1
    neighbours[place], distances2[place] = neighbour, distance2
