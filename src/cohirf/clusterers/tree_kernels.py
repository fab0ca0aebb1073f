"""Compiled kernels of DBSCAN on a tree of boxes, for data with more features than a grid pays for.

Rows are halved along the longest side of the box around them, again and again. Boxes that are farther apart than the
radius have nothing to do with each other, and boxes whose farthest corners are within it are taken as a whole. A box
with such a diagonal is a cell: its rows are neighbours of each other. So few rows are compared one by one, and memory
is linear in the rows, whatever the radius.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

LEAF_ROWS = 8
MIXED = -1


class Tree(NamedTuple):
    """Rows sorted by node; the root is node 0, and children come after their parents.

    Node ``v`` has the rows from ``starts[v]`` to ``ends[v]``, of the weight ``weights[v]``, in ``boxes[v]``: their
    lowest, then their highest values. Its children are ``children[v]`` and the next node; a leaf has 0 there.
    """

    points: Any
    rows: Any  # their numbers in the data
    starts: Any
    ends: Any
    children: Any
    boxes: Any
    weights: Any


@njit(cache=True, nogil=True)
def cluster(X: Any, weights: Any, radius2: Any, min_weight: Any) -> Any:
    """Return the label of each row, -1 for noise, and the core rows."""
    tree = build_tree(X, np.arange(len(X)), weights)
    core_rows = _find_core(tree, weights, radius2, min_weight)
    labels = np.full(len(X), -1, dtype=np.int64)
    if len(core_rows) == 0:
        return labels, core_rows
    if len(core_rows) < len(X):
        tree = build_tree(X, core_rows, weights)
    _number_clusters(tree, connect(tree, radius2), core_rows, labels)
    if len(core_rows) < len(X):
        _label_border(tree, X, radius2, labels)
    return labels, core_rows


@njit(cache=True, nogil=True)
def build_tree(X: Any, rows: Any, weights: Any) -> Any:
    """Return the tree of some rows of the data."""
    points, rows = X[rows].astype(np.float64), rows.copy()
    starts, ends, children = _halve(points, rows)
    boxes = np.empty((len(starts), 2 * X.shape[1]))
    totals = np.zeros(len(starts))
    for node in range(len(starts) - 1, -1, -1):
        child = children[node]
        if child == 0:
            _box(points, starts[node], ends[node], boxes, node)
            for i in range(starts[node], ends[node]):
                totals[node] += weights[rows[i]]
        else:
            for j in range(X.shape[1]):
                boxes[node, j] = min(boxes[child, j], boxes[child + 1, j])
                high = X.shape[1] + j
                boxes[node, high] = max(boxes[child, high], boxes[child + 1, high])
            totals[node] = totals[child] + totals[child + 1]
    return Tree(points, rows, starts, ends, children, boxes, totals)


@njit(cache=True, nogil=True)
def _halve(points: Any, rows: Any) -> Any:
    """Sort rows by node; return the start, the end and the first child of each node."""
    most = 2 * len(points)  # memory that is not written to is not taken
    starts, ends = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    children = np.zeros(most, dtype=np.int64)
    starts[0], ends[0] = 0, len(points)
    box = np.empty((1, 2 * points.shape[1]))
    n_nodes, node = 1, 0
    while node < n_nodes:
        start, end = starts[node], ends[node]
        if end - start > LEAF_ROWS:
            _box(points, start, end, box, 0)
            middle = _split(points, rows, start, end, box[0])
            if middle < end:
                children[node] = n_nodes
                starts[n_nodes], ends[n_nodes] = start, middle
                starts[n_nodes + 1], ends[n_nodes + 1] = middle, end
                n_nodes += 2
        node += 1
    return starts[:n_nodes].copy(), ends[:n_nodes].copy(), children[:n_nodes].copy()


@njit(cache=True, nogil=True)
def _box(points: Any, start: Any, end: Any, boxes: Any, box: Any) -> None:
    """Write the box around ``points[start:end]``: its lowest, then its highest values."""
    d = points.shape[1]
    for j in range(d):
        boxes[box, j] = boxes[box, d + j] = points[start, j]
    for i in range(start + 1, end):
        for j in range(d):
            boxes[box, j] = min(boxes[box, j], points[i, j])
            boxes[box, d + j] = max(boxes[box, d + j], points[i, j])


@njit(cache=True, nogil=True)
def _split(points: Any, rows: Any, start: Any, end: Any, box: Any) -> Any:
    """Order rows, those in the lower half of their box first; returns where these end, ``end`` if all are equal."""
    d = points.shape[1]
    side = 0
    for j in range(1, d):
        if box[d + j] - box[j] > box[d + side] - box[side]:
            side = j
    low, high = box[side], box[d + side]
    middle = low + (high - low) / 2
    if middle >= high:  # between neighbouring floats the mean may round up
        middle = low
    if low == high:
        return end
    i, k = start, end
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
def _squared_distance(x: Any, y: Any) -> Any:
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - y[j]) * (x[j] - y[j])
    return total


@njit(cache=True, nogil=True)
def _gap2(a: Any, b: Any) -> Any:
    """Return the smallest squared distance between points of two boxes."""
    d = len(a) // 2
    total = 0.0
    for j in range(d):
        gap = max(0.0, b[j] - a[d + j], a[j] - b[d + j])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def _reach2(a: Any, b: Any) -> Any:
    """Return the largest squared distance between points of two boxes."""
    d = len(a) // 2
    total = 0.0
    for j in range(d):
        reach = max(b[d + j] - a[j], a[d + j] - b[j])
        total += reach * reach
    return total


@njit(cache=True, nogil=True)
def _point_gap2(x: Any, box: Any) -> Any:
    """Return the squared distance of a point from a box."""
    d = len(x)
    total = 0.0
    for j in range(d):
        gap = max(0.0, box[j] - x[j], x[j] - box[d + j])
        total += gap * gap
    return total


@njit(cache=True, nogil=True)
def _point_reach2(x: Any, box: Any) -> Any:
    """Return the largest squared distance of a point from points of a box."""
    d = len(x)
    total = 0.0
    for j in range(d):
        reach = max(box[d + j] - x[j], x[j] - box[j])
        total += reach * reach
    return total


@njit(cache=True, nogil=True)
def _children_by_gap(tree: Any, node: Any, x: Any) -> Any:
    """Return the squared distance of a point from the farther child, that child, and the same of the nearer one."""
    one, two = tree.children[node], tree.children[node] + 1
    one_gap2, two_gap2 = _point_gap2(x, tree.boxes[one]), _point_gap2(x, tree.boxes[two])
    if one_gap2 <= two_gap2:
        return two_gap2, two, one_gap2, one
    return one_gap2, one, two_gap2, two


@njit(cache=True, nogil=True)
def _find_core(tree: Any, weights: Any, radius2: Any, min_weight: Any) -> Any:
    """Return the rows whose neighbours, themselves included, weigh ``min_weight`` or more, in rising order."""
    is_core = np.zeros(len(tree.rows), dtype=np.bool_)
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        is_cell = _reach2(tree.boxes[node], tree.boxes[node]) <= radius2
        if is_cell and tree.weights[node] >= min_weight:
            is_core[tree.rows[tree.starts[node] : tree.ends[node]]] = True
        elif tree.children[node] > 0:
            stack.append(tree.children[node])
            stack.append(tree.children[node] + 1)
        else:
            for i in range(tree.starts[node], tree.ends[node]):
                is_core[tree.rows[i]] = _weighs(tree, weights, tree.points[i], radius2, min_weight)
    return np.flatnonzero(is_core)


@njit(cache=True, nogil=True)
def _weighs(tree: Any, weights: Any, x: Any, radius2: Any, enough: Any) -> Any:
    """Tell whether the rows within the radius of a point weigh enough; the nearest boxes come first."""
    total = 0.0
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        if _point_reach2(x, tree.boxes[node]) <= radius2:
            total += tree.weights[node]
        elif tree.children[node] == 0:
            for i in range(tree.starts[node], tree.ends[node]):
                if _squared_distance(x, tree.points[i]) <= radius2:
                    total += weights[tree.rows[i]]
        else:
            far_gap2, far, near_gap2, near = _children_by_gap(tree, node, x)
            if far_gap2 <= radius2:
                stack.append(far)
            if near_gap2 <= radius2:
                stack.append(near)
        if total >= enough:
            return True
    return False


@njit(cache=True, nogil=True)
def _root(parents: Any, i: Any) -> Any:
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@njit(cache=True, nogil=True)
def _join(parents: Any, i: Any, k: Any) -> None:
    i, k = _root(parents, i), _root(parents, k)
    parents[max(i, k)] = min(i, k)


@njit(cache=True, nogil=True)
def connect(tree: Any, radius2: Any) -> Any:
    """Return a root for each place in the tree, after joining places of rows within the radius of each other.

    Nodes are joined from the leaves up, each with its sibling. ``members`` has a place of each node whose rows are
    known to be joined.
    """
    parents = np.arange(len(tree.rows))
    members = np.full(len(tree.starts), MIXED)
    for node in range(len(members)):
        if members[node] == MIXED and _reach2(tree.boxes[node], tree.boxes[node]) <= radius2:
            members[node] = tree.starts[node]
            parents[tree.starts[node] : tree.ends[node]] = tree.starts[node]
        if members[node] != MIXED and tree.children[node] > 0:
            members[tree.children[node]] = members[tree.children[node] + 1] = members[node]
    for node in range(len(members) - 1, -1, -1):
        if members[node] == MIXED and tree.children[node] > 0:
            _connect_nodes(tree, tree.children[node], tree.children[node] + 1, radius2, parents, members)
        elif members[node] == MIXED:
            _connect_rows(tree, node, node, radius2, parents)
        _find_member(tree, node, parents, members)
    for i in range(len(parents)):
        parents[i] = _root(parents, i)
    return parents


@njit(cache=True, nogil=True)
def _find_member(tree: Any, top: Any, parents: Any, members: Any) -> None:
    """Note of the nodes from ``top`` down whether all their rows are joined by now."""
    stack = [(top, False)]
    while len(stack) > 0:
        node, children_done = stack.pop()
        child = tree.children[node]
        if members[node] != MIXED:
            continue
        if child == 0:
            first = _root(parents, tree.starts[node])
            members[node] = first
            for i in range(tree.starts[node] + 1, tree.ends[node]):
                if _root(parents, i) != first:
                    members[node] = MIXED
        elif not children_done:
            stack.append((node, True))
            stack.append((child, False))
            stack.append((child + 1, False))
        elif _are_joined(parents, members, child, child + 1):
            members[node] = members[child]


@njit(cache=True, nogil=True)
def _are_joined(parents: Any, members: Any, a: Any, b: Any) -> Any:
    """Tell whether all rows of two nodes are known to be joined."""
    if members[a] == MIXED or members[b] == MIXED:
        return False
    return members[a] == members[b] or _root(parents, members[a]) == _root(parents, members[b])


@njit(cache=True, nogil=True)
def _connect_nodes(tree: Any, a: Any, b: Any, radius2: Any, parents: Any, members: Any) -> None:
    """Join rows of one node with rows of another; the nearest boxes come first, for what is joined is passed over."""
    stack = [(a, b)]
    while len(stack) > 0:
        a, b = stack.pop()
        if _are_joined(parents, members, a, b) or _gap2(tree.boxes[a], tree.boxes[b]) > radius2:
            continue
        if _reach2(tree.boxes[a], tree.boxes[b]) <= radius2:
            _join_all(tree, a, b, parents, members)
        elif tree.children[a] == 0 and tree.children[b] == 0:
            _connect_rows(tree, a, b, radius2, parents)
        else:
            if _is_smaller(tree, a, b):
                a, b = b, a
            near, far = tree.children[a], tree.children[a] + 1
            if _gap2(tree.boxes[far], tree.boxes[b]) < _gap2(tree.boxes[near], tree.boxes[b]):
                near, far = far, near
            stack.append((far, b))
            stack.append((near, b))


@njit(cache=True, nogil=True)
def _is_smaller(tree: Any, a: Any, b: Any) -> Any:
    """Tell whether the other of two nodes is the one to halve."""
    if tree.children[a] == 0 or tree.children[b] == 0:
        return tree.children[a] == 0
    return _reach2(tree.boxes[a], tree.boxes[a]) < _reach2(tree.boxes[b], tree.boxes[b])


@njit(cache=True, nogil=True)
def _join_all(tree: Any, a: Any, b: Any, parents: Any, members: Any) -> None:
    """Join all rows of two nodes, each of which is within the radius of each row of the other."""
    for node in (a, b):
        if members[node] == MIXED:
            members[node] = tree.starts[node]
            for i in range(tree.starts[node] + 1, tree.ends[node]):
                _join(parents, i, tree.starts[node])
    _join(parents, members[a], members[b])


@njit(cache=True, nogil=True)
def _connect_rows(tree: Any, a: Any, b: Any, radius2: Any, parents: Any) -> None:
    """Join rows of two leaves, or of one, that are within the radius of each other."""
    for i in range(tree.starts[a], tree.ends[a]):
        for k in range(max(i + 1, tree.starts[b]) if a == b else tree.starts[b], tree.ends[b]):
            if _squared_distance(tree.points[i], tree.points[k]) <= radius2:
                _join(parents, i, k)


@njit(cache=True, nogil=True)
def _number_clusters(tree: Any, roots: Any, core_rows: Any, labels: Any) -> None:
    """Give clusters the numbers that scikit-learn gives: in the order of their first core rows."""
    labels[tree.rows] = roots
    numbers = np.full(len(roots), -1, dtype=np.int64)
    n_clusters = 0
    for row in core_rows:
        root = labels[row]
        if numbers[root] < 0:
            numbers[root] = n_clusters
            n_clusters += 1
        labels[row] = numbers[root]


@njit(cache=True, nogil=True)
def _label_border(tree: Any, X: Any, radius2: Any, labels: Any) -> None:
    """Give other rows the label of the nearest core row within the radius, the lowest of several."""
    x = np.empty(X.shape[1])
    for row in range(len(X)):
        if labels[row] < 0:
            x[:] = X[row]
            labels[row] = _nearest_label(tree, x, radius2, labels)


@njit(cache=True, nogil=True)
def _nearest_label(tree: Any, x: Any, radius2: Any, labels: Any) -> Any:
    best, label = radius2, -1
    stack = [(_point_gap2(x, tree.boxes[0]), 0)]
    while len(stack) > 0:
        gap2, node = stack.pop()
        if gap2 > best:
            continue
        if tree.children[node] == 0:
            for i in range(tree.starts[node], tree.ends[node]):
                distance, other = _squared_distance(x, tree.points[i]), labels[tree.rows[i]]
                if distance < best or (distance == best and (label < 0 or other < label)):
                    best, label = distance, other
        else:
            far_gap2, far, near_gap2, near = _children_by_gap(tree, node, x)
            stack.append((far_gap2, far))
            stack.append((near_gap2, near))
    return label
