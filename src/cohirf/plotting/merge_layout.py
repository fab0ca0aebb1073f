"""Coordinates of the pairwise merges of a hierarchy, up to a single cluster; nothing is drawn here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import MergeTree
from cohirf.algorithm.parents import find_roots, find_roots_of
from cohirf.hierarchy import FusionHierarchy
from cohirf.plotting.layout import MIXED, Floats, Subject, Tree, leaf_numbers


def has_merges(hierarchy: FusionHierarchy) -> bool:
    """Return whether a hierarchy has a tree of pairwise merges that can be drawn."""
    return hierarchy.tree is not None and hierarchy.tree.n_leaves > 0


def merged_tree(subject: Subject, max_clusters: int) -> Tree:
    """Return the top of the tree of a hierarchy, with at most ``max_clusters`` leaves.

    If there are more final clusters, the leaves are the largest of them.
    """
    if max_clusters < 1:
        raise ValueError(f"max_clusters={max_clusters} is not valid: pass an int >= 1.")
    hierarchy, tree = subject.hierarchy, subject.hierarchy.tree
    assert tree is not None  # the caller has asked has_merges
    leaves = leaf_numbers(hierarchy, tree.medoids)
    final = find_roots_of(leaves, hierarchy.parents, hierarchy.absorbed_at, hierarchy.n_levels)
    n_final = len(np.unique(final))
    n_groups = min(tree.n_leaves, max(max_clusters, n_final))
    group = tree.cut(n_groups)
    sizes = _leaf_sizes(hierarchy, tree, leaves)
    size = np.bincount(group, weights=sizes).astype(np.int64)
    largest = np.sort(np.argsort(-size, kind="stable")[:max_clusters])
    place = np.full(n_groups, -1)
    place[largest] = np.arange(len(largest))
    parent, height = _join(tree, place[group])
    medoid = _last_absorbed(hierarchy, leaves, tree.medoids, sizes, group)
    cluster = _shared_cluster(subject.labels[leaves].astype(np.int64), group)
    made = Tree(
        parent=parent,
        height=height,
        medoid=medoid[largest],
        size=size[largest],
        cluster=cluster[largest],
        n_leaves=len(largest),
        top=1.08 * (float(height.max()) or 1.0),
        cut_height=_cut_height(tree, final, n_final),
        level=_level_of(hierarchy, tree),
        n_merged=tree.n_leaves,
        n_hidden=n_groups - len(largest),
        n_noise=_count_rows(hierarchy) - int(sizes.sum()),
    )
    return _in_order(_with_merges(made))


def _join(tree: MergeTree, place: IntArray) -> tuple[IntArray, Floats]:
    """Return parent and height of each node of the tree whose leaves are unions of leaves, without those at -1."""
    node = [*place.tolist(), *[-1] * len(tree.linkage)]  # of each cluster of the linkage
    n_leaves = max(node) + 1
    parent, height = [-1] * n_leaves, [0.0] * n_leaves
    for merge, (left, right, merge_height, _) in enumerate(tree.linkage.tolist()):
        parts = {node[int(left)], node[int(right)]} - {-1}
        if len(parts) == 2:
            for part in parts:
                parent[part] = len(parent)
            node[tree.n_leaves + merge] = len(parent)
            parent.append(-1)
            height.append(merge_height)
        elif parts:
            node[tree.n_leaves + merge] = parts.pop()
    return np.array(parent), np.array(height)


def _with_merges(tree: Tree) -> Tree:
    """Return the tree with sizes and clusters of its merges, which follow from those of the leaves."""
    n_more = len(tree.parent) - tree.n_leaves
    size = np.concatenate([tree.size, np.zeros(n_more, dtype=np.int64)])
    cluster = np.concatenate([tree.cluster, np.full(n_more, MIXED)])
    is_known = np.arange(len(size)) < tree.n_leaves
    for node, parent in enumerate(tree.parent.tolist()):  # parts come before the whole
        if parent >= 0:
            size[parent] += size[node]
            cluster[parent] = cluster[node] if not is_known[parent] or cluster[parent] == cluster[node] else MIXED
            is_known[parent] = True
    return replace(tree, size=size, cluster=cluster)


def _in_order(tree: Tree) -> Tree:
    """Return the tree with its leaves from left to right.

    Of the two parts of a merge, the one with the lowest final cluster is on the left; within a final cluster, the
    larger part.
    """
    n_nodes, n_leaves = len(tree.parent), tree.n_leaves
    lowest = np.full(n_nodes, np.iinfo(np.int64).max)
    lowest[:n_leaves] = np.where(tree.cluster[:n_leaves] < 0, n_nodes, tree.cluster[:n_leaves])
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            lowest[parent] = min(lowest[parent], lowest[node])
    start = np.zeros(n_nodes, dtype=np.int64)
    n_below = _count_leaves(tree)
    parts: dict[int, list[int]] = {}
    for node, parent in enumerate(tree.parent.tolist()):
        parts.setdefault(parent, []).append(node)
    for node in range(n_nodes - 1, n_leaves - 1, -1):
        first, second = sorted(parts[node], key=lambda part: (lowest[part], -tree.size[part]))
        start[first], start[second] = start[node], start[node] + n_below[first]
    order = np.argsort(start[:n_leaves])
    number = np.concatenate([start[:n_leaves], np.arange(n_leaves, n_nodes)])
    moved = np.concatenate([order, np.arange(n_leaves, n_nodes)])
    parent = np.where(tree.parent < 0, -1, number[tree.parent])[moved]
    medoid, size, cluster = tree.medoid[order], tree.size[moved], tree.cluster[moved]
    return replace(tree, parent=parent, medoid=medoid, size=size, cluster=cluster)


def _count_leaves(tree: Tree) -> IntArray:
    count = (np.arange(len(tree.parent)) < tree.n_leaves).astype(np.int64)
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            count[parent] += count[node]
    return count


def _leaf_sizes(hierarchy: FusionHierarchy, tree: MergeTree, leaves: IntArray) -> IntArray:
    """Return the number of rows of each leaf of the tree, given the leaves of the hierarchy that are their medoids."""
    roots = find_roots(hierarchy.parents, hierarchy.absorbed_at, _level_of(hierarchy, tree))
    return np.bincount(roots, weights=hierarchy.row_sizes, minlength=hierarchy.n_rows)[leaves].astype(np.int64)


def _level_of(hierarchy: FusionHierarchy, tree: MergeTree) -> int:
    """Return the level whose clusters are the leaves of the tree; a hierarchy without fusions has only level 0."""
    return min(tree.level, hierarchy.n_levels)


def _last_absorbed(
    hierarchy: FusionHierarchy, leaves: IntArray, medoids: IntArray, sizes: IntArray, group: IntArray
) -> IntArray:
    """Return the medoid of each group that was active longest; of several, that of the largest leaf.

    If the group is a cluster of a level, this is its medoid at that level.
    """
    absorbed_at = hierarchy.absorbed_at[leaves].astype(np.int64)
    until = np.where(absorbed_at == 0, hierarchy.n_levels + 1, absorbed_at)
    order = np.lexsort((-sizes, -until, group))
    return medoids[order[np.searchsorted(group[order], np.arange(group.max() + 1))]]


def _shared_cluster(cluster: IntArray, group: IntArray) -> IntArray:
    """Return the final cluster of each group of leaves; ``MIXED`` if its leaves are of several."""
    n_groups = int(group.max()) + 1
    low, high = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, MIXED)
    np.minimum.at(low, group, cluster)
    np.maximum.at(high, group, cluster)
    return np.where(low == high, low, MIXED)


def _cut_height(tree: MergeTree, final: IntArray, n_final: int) -> float | None:
    """Return a height at which the tree has the final clusters; None if they are not a cut of the tree."""
    _, first, label = np.unique(final, return_index=True, return_inverse=True)
    by_first_leaf = np.argsort(np.argsort(first))[label]
    if not np.array_equal(by_first_leaf, tree.cut(n_final)):
        return None
    heights = np.concatenate([[0.0], tree.linkage[:, 2]])
    below = heights[tree.n_leaves - n_final]
    above = heights[tree.n_leaves - n_final + 1] if n_final > 1 else 1.1 * max(heights[-1], 0.5)
    return float((below + above) / 2)


def _count_rows(hierarchy: FusionHierarchy) -> int:
    return hierarchy.n_rows if hierarchy.row_sizes is None else int(hierarchy.row_sizes.sum())
