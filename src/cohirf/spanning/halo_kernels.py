"""Which batches need a row: those with a row that may have it among its nearest rows.

The rows of a leaf know their core distances in the leaf. The real ones are not larger, so a leaf needs only rows of
other leaves that are within these distances. A leaf is described by small boxes of its rows; the reach of a box is the
largest core distance in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.box_tree import build_tree, point_gap2


class ReachTree(NamedTuple):
    """The boxes of all leaves in a tree, whose nodes have bounds around all points within reach of their boxes."""

    tree: Any  # of the centres of the boxes
    bounds: Any
    boxes: Any
    reaches2: Any
    owners: Any  # the leaf of each box


@njit(cache=True, nogil=True)
def build_reach_tree(boxes: Any, reaches: Any, owners: Any) -> Any:
    """Build the tree of boxes (lowest, then highest values), their reaches, and the leaves that they belong to."""
    d = boxes.shape[1] // 2
    centres = boxes[:, :d] / 2 + boxes[:, d:] / 2
    tree = build_tree(centres, np.arange(len(boxes)), np.ones(len(boxes)))
    bounds = np.empty((len(tree.starts), 2 * d))
    for node in range(len(bounds) - 1, -1, -1):
        child = tree.children[node]
        if child > 0:
            bounds[node, :d] = np.minimum(bounds[child, :d], bounds[child + 1, :d])
            bounds[node, d:] = np.maximum(bounds[child, d:], bounds[child + 1, d:])
        else:
            bounds[node, :d], bounds[node, d:] = np.inf, -np.inf
            for box in tree.rows[tree.starts[node] : tree.ends[node]]:
                bounds[node, :d] = np.minimum(bounds[node, :d], boxes[box, :d] - reaches[box])
                bounds[node, d:] = np.maximum(bounds[node, d:], boxes[box, d:] + reaches[box])
    return ReachTree(tree, bounds, boxes, reaches**2, owners)


@njit(cache=True, nogil=True)
def find_halos(X: Any, homes: Any, reach_tree: Any) -> Any:
    """Return pairs: a row of ``X``, and a leaf that needs it, other than its own leaf in ``homes``.

    The third array has the squared distance from the nearest box of the leaf, in units of the squared reach of the box.
    """
    pairs = [(0, 0, 0.0) for _ in range(0)]
    last_pairs = np.full(reach_tree.owners.max() + 1, -1)  # of each leaf
    x = np.empty(X.shape[1])
    for row in range(len(X)):
        x[:] = X[row]
        _find_leaves(x, row, homes[row], reach_tree, last_pairs, pairs)
    rows, leaves = np.empty(len(pairs), dtype=np.int64), np.empty(len(pairs), dtype=np.int64)
    shares2 = np.empty(len(pairs))
    for pair in range(len(pairs)):
        rows[pair], leaves[pair], shares2[pair] = pairs[pair]
    return rows, leaves, shares2


@njit(cache=True, nogil=True)
def _find_leaves(x: Any, row: Any, home: Any, reach_tree: Any, last_pairs: Any, pairs: Any) -> None:
    """Add the pairs of one row."""
    tree = reach_tree.tree
    stack = [0]
    while len(stack) > 0:
        node = stack.pop()
        if point_gap2(x, reach_tree.bounds, node) > 0:
            continue
        if tree.children[node] > 0:
            stack.append(tree.children[node])
            stack.append(tree.children[node] + 1)
            continue
        for box in tree.rows[tree.starts[node] : tree.ends[node]]:
            leaf, gap = reach_tree.owners[box], point_gap2(x, reach_tree.boxes, box)
            if leaf == home or gap > reach_tree.reaches2[box]:
                continue
            share2 = gap / reach_tree.reaches2[box] if gap > 0 else 0.0
            last = last_pairs[leaf]
            if last < 0 or pairs[last][0] != row:
                last_pairs[leaf] = len(pairs)
                pairs.append((row, leaf, share2))
            elif share2 < pairs[last][2]:
                pairs[last] = (row, leaf, share2)


@njit(cache=True, nogil=True)
def boxes_of_rows(tree: Any, core: Any) -> Any:
    """Return the boxes of the leaves of a tree of rows, and the largest core distance in each."""
    is_leaf = tree.children == 0
    boxes = tree.boxes[is_leaf]
    reaches = np.zeros(len(boxes))
    box = 0
    for node in range(len(is_leaf)):
        if is_leaf[node]:
            reaches[box] = core[tree.rows[tree.starts[node] : tree.ends[node]]].max()
            box += 1
    return boxes, reaches
