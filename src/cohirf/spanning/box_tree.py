"""Compiled loops that density methods share: a tree of boxes, distances of boxes, and components of
rows.

The tree halves rows recursively along the longest side of their bounding box.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.spanning.policy import TREE

# unlike the number 0, of the type of all boxes: numba would compile a kernel once more
FIRST = np.int64(0)
SEVERAL = -1  # the component of a node whose rows are in different ones


class BoxTree(NamedTuple):
    """Rows sorted by node; the root is node 0, and children come after their parents.

    Node ``v`` has the rows ``starts[v]:ends[v]``, with total weight ``weights[v]`` and bounding box
    ``boxes[v]``: the lowest, then the highest value of each feature. Its children are
    ``children[v]`` and the next node; for a leaf, ``children[v]`` is 0.
    """

    points: Any
    rows: Any  # their numbers in the data
    starts: Any
    ends: Any
    children: Any
    boxes: Any
    weights: Any


@njit(cache=True, nogil=True)
def build_tree(X: Any, rows: Any, weights: Any, leaf_rows: Any = TREE.leaf_rows) -> Any:
    """Build the tree of the given rows of the data.

    More than ``leaf_rows`` rows are halved, unless all are equal.
    """
    points = np.empty((len(rows), X.shape[1]))
    rows = rows.copy()
    for i in range(len(rows)):
        for j in range(X.shape[1]):  # a loop compiles faster than an assignment of arrays
            points[i, j] = X[rows[i], j]
    starts, ends, children = _halve(points, rows, leaf_rows)
    boxes = np.empty((len(starts), 2 * X.shape[1]))
    totals = np.zeros(len(starts))
    for node in range(len(starts) - 1, -1, -1):
        child = children[node]
        if child == 0:
            bounding_box(points, starts[node], ends[node], boxes, node)
            for i in range(starts[node], ends[node]):
                totals[node] += weights[rows[i]]
        else:
            for j in range(X.shape[1]):
                boxes[node, j] = min(boxes[child, j], boxes[child + 1, j])
                high = X.shape[1] + j
                boxes[node, high] = max(boxes[child, high], boxes[child + 1, high])
            totals[node] = totals[child] + totals[child + 1]
    return BoxTree(points, rows, starts, ends, children, boxes, totals)


@njit(cache=True, nogil=True)
def _halve(points: Any, rows: Any, leaf_rows: Any) -> Any:
    """Sort rows by node; return the start, the end and the first child of each node."""
    most = 2 * len(points)  # memory that is never written to is not allocated by the system
    starts = np.empty(most, dtype=np.int64)
    ends = np.empty(most, dtype=np.int64)
    children = np.zeros(most, dtype=np.int64)
    starts[0], ends[0] = 0, len(points)
    box = np.empty((1, 2 * points.shape[1]))
    n_nodes = 1
    node = 0
    while node < n_nodes:
        start = starts[node]
        end = ends[node]
        if end - start > leaf_rows:
            bounding_box(points, start, end, box, FIRST)
            middle = split_box(points, rows, start, end, box[0])
            if middle < end:
                children[node] = n_nodes
                starts[n_nodes], ends[n_nodes] = start, middle
                starts[n_nodes + 1], ends[n_nodes + 1] = middle, end
                n_nodes += 2
        node += 1
    return starts[:n_nodes].copy(), ends[:n_nodes].copy(), children[:n_nodes].copy()


@njit(cache=True, nogil=True)
def bounding_box(points: Any, start: Any, end: Any, boxes: Any, box: Any) -> None:
    """Write the box around ``points[start:end]``: its lowest, then its highest values."""
    d = points.shape[1]
    for j in range(d):
        boxes[box, j] = boxes[box, d + j] = points[start, j]
    for i in range(start + 1, end):
        for j in range(d):
            boxes[box, j] = min(boxes[box, j], points[i, j])
            boxes[box, d + j] = max(boxes[box, d + j], points[i, j])


@njit(cache=True, nogil=True)
def split_box(points: Any, rows: Any, start: Any, end: Any, box: Any) -> Any:
    """Move the rows in the lower half of their box to the front.

    Return their end, or ``end`` if all are equal.
    """
    d = points.shape[1]
    side = 0
    for j in range(1, d):
        if box[d + j] - box[j] > box[d + side] - box[side]:
            side = j
    low = box[side]
    high = box[d + side]
    if low == high:
        return end
    middle = low / 2 + high / 2  # does not overflow, even if high - low does
    if not low <= middle < high:  # between neighbouring floats the mean may round to either side
        middle = low
    i = start
    k = end
    while i < k:
        if points[i, side] <= middle:
            i += 1
        else:
            k -= 1
            for j in range(d):
                points[i, j], points[k, j] = points[k, j], points[i, j]
            rows[i], rows[k] = rows[k], rows[i]
    return i


@njit(cache=True, nogil=True)
def squared_distance(x: Any, points: Any, i: Any) -> Any:
    """Return the squared distance of two points."""
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - points[i, j]) * (x[j] - points[i, j])
    return total


@njit(cache=True, nogil=True)
def gap2(boxes: Any, a: Any, b: Any) -> Any:
    """Return the smallest squared distance between points of two boxes."""
    d = boxes.shape[1] // 2
    total = 0.0
    for j in range(d):
        gap = max(0.0, boxes[b, j] - boxes[a, d + j], boxes[a, j] - boxes[b, d + j])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def point_gap2(x: Any, boxes: Any, box: Any) -> Any:
    """Return the squared distance of a point from a box."""
    d = len(x)
    total = 0.0
    for j in range(d):
        gap = max(0.0, boxes[box, j] - x[j], x[j] - boxes[box, d + j])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def reach2(boxes: Any, a: Any, b: Any) -> Any:
    """Return the largest squared distance between points of two boxes, or of one."""
    d = boxes.shape[1] // 2
    total = 0.0
    for j in range(d):
        reach = max(boxes[b, d + j] - boxes[a, j], boxes[a, d + j] - boxes[b, j])
        total += reach * reach
    return total


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
def unite(parents: Any, one: Any, two: Any) -> None:
    """Unite two components."""
    a = root(parents, one)
    b = root(parents, two)
    parents[max(a, b)] = min(a, b)
