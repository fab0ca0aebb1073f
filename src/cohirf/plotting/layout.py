"""What a plot shows: the model or hierarchy that it is given, and coordinates of its tree; nothing is drawn here."""

from __future__ import annotations

import reprlib
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cohirf.algorithm.parents import find_roots, find_roots_of
from cohirf.beyond.merge_tree import MergeTree
from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy
from cohirf.hierarchy.outline import final_labels, has_merges, with_tree
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.summary.numbers import cluster_positions

GAP = 0.6  # additional distance between leaves of different final clusters; neighbouring leaves have distance 1
WEDGE = 0.72  # width of the wedge below a leaf, in the same unit
SEVERAL_CLUSTERS = -2  # the cluster of a node above the final clusters


@dataclass(frozen=True)
class Subject:
    """A hierarchy, and the final cluster of each of its leaves: -1 for noise."""

    hierarchy: FusionHierarchy
    labels: IntArray


def find_subject(given: Any) -> Subject:
    """Return the hierarchy of ``given``, a fitted model or a hierarchy, with its final clusters."""
    if isinstance(given, FusionHierarchy):
        return Subject(given, final_labels(given))
    model = check_plotted(given, "a fitted CoHiRF or a FusionHierarchy")
    return Subject(model.hierarchy_, cluster_positions(model))


def check_plotted(given: Any, wanted: str = "a fitted CoHiRF") -> CoHiRF:
    """Return ``given`` if it is a fitted model."""
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return given
    shown = f"{' '.join(reprlib.repr(given).split())} of type {type(given).__name__}"
    raise TypeError(f"{shown} cannot be plotted: pass {wanted}.")


@dataclass(frozen=True)
class Tree:
    """Clusters as nodes of a tree: leaves from left to right, then one node per merge, in order of height."""

    parent: IntArray  # the node that each node merges into; -1 if there is none
    height: FloatArray  # of each merge; that of leaves is the lowest
    # medoid of each leaf. If it is the union of several clusters of a level, the one that the fit absorbed last.
    medoid: IntArray
    size: IntArray  # number of rows of each node
    # the final cluster of each node; -1 for noise, and ``SEVERAL_CLUSTERS`` if it has rows of several
    cluster: IntArray
    n_leaves: int  # they are the first nodes
    top: float  # height at which nodes without a parent end
    level: int  # the level whose clusters are the leaves, or are merged into the leaves
    n_merged: int  # number of clusters of this level
    n_hidden: int  # number of final clusters that are left out, because there are too many
    n_noise: int  # number of noise rows that are not in the tree
    # a height between the merges within final clusters and those above; None if no height separates them
    cut_height: float | None
    has_levels: bool  # whether heights are levels, because the hierarchy has no tree

    @property
    def final(self) -> IntArray:
        """The nodes of final clusters: those whose parent has rows of other final clusters."""
        is_top = (self.parent < 0) | (self.cluster[self.parent] != self.cluster)
        return np.flatnonzero(is_top & (self.cluster != SEVERAL_CLUSTERS))


def merged_tree(subject: Subject, max_clusters: int) -> Tree:
    """Return the top of the tree of a hierarchy, with at most ``max_clusters`` leaves.

    If there are more final clusters, the leaves are the largest of them. Without a tree, heights are levels, and final
    clusters are not joined.
    """
    if max_clusters < 1:
        raise ValueError(f"max_clusters={max_clusters} is not valid: pass an int >= 1.")
    has_levels = not has_merges(subject.hierarchy)
    hierarchy, tree = with_tree(subject.hierarchy, max_clusters)
    first_level = subject.hierarchy.n_levels - hierarchy.n_levels
    leaves = hierarchy.find_leaves(tree.medoids)
    final = find_roots_of(leaves, hierarchy.parents, hierarchy.absorbed_at, hierarchy.n_levels)
    n_final = len(np.unique(final))
    n_groups = min(tree.n_leaves, max(max_clusters, n_final))
    group = tree.cut(n_groups)
    sizes = _leaf_sizes(hierarchy, tree, leaves)
    size = np.bincount(group, weights=sizes).astype(np.int64)
    largest = largest_clusters(size, max_clusters)
    place = np.full(n_groups, -1)
    place[largest] = np.arange(len(largest))
    parent, height = _join_leaves(tree, place[group], hierarchy.n_levels if has_levels else np.inf)
    cluster = subject.labels[subject.hierarchy.find_leaves(tree.medoids)].astype(np.int64)
    made = Tree(
        parent=parent,
        height=height + first_level,
        medoid=_last_absorbed(hierarchy, leaves, tree.medoids, sizes, group)[largest],
        size=size[largest],
        cluster=_shared_cluster(cluster, group)[largest],
        n_leaves=len(largest),
        top=first_level + 1.08 * (float(height.max()) or 1.0),
        level=first_level + min(tree.level, hierarchy.n_levels),
        n_merged=tree.n_leaves,
        n_hidden=n_groups - len(largest),
        n_noise=hierarchy.count_rows() - int(sizes.sum()),
        cut_height=None if has_levels else _cut_height(tree, final, n_final),
        has_levels=has_levels,
    )
    return _in_order(_with_merges(made))


def _join_leaves(tree: MergeTree, place: IntArray, highest: float) -> tuple[IntArray, FloatArray]:
    """Return parent and height of each node of the tree whose leaves are unions of leaves, without those at -1."""
    node = [*place.tolist(), *[-1] * len(tree.linkage)]  # of each cluster of the linkage
    n_leaves = max(node) + 1
    parent, height = [-1] * n_leaves, [0.0] * n_leaves
    for merge, (left, right, merge_height, _) in enumerate(tree.linkage.tolist()):
        parts = {node[int(left)], node[int(right)]} - {-1}
        if len(parts) == 2 and merge_height <= highest:
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
    cluster = np.concatenate([tree.cluster, np.full(n_more, SEVERAL_CLUSTERS)])
    is_known = np.arange(len(size)) < tree.n_leaves
    for node, parent in enumerate(tree.parent.tolist()):  # parts come before the whole
        if parent >= 0:
            size[parent] += size[node]
            is_one = not is_known[parent] or cluster[parent] == cluster[node]
            cluster[parent] = cluster[node] if is_one else SEVERAL_CLUSTERS
            is_known[parent] = True
    return replace(tree, size=size, cluster=cluster)


def _in_order(tree: Tree) -> Tree:
    """Return the tree with its leaves from left to right.

    Of the parts of a merge, the one with the lowest final cluster is on the left, noise on the right; within a final
    cluster, the larger part.
    """
    n_nodes, n_leaves = len(tree.parent), tree.n_leaves
    of_leaf = tree.cluster[:n_leaves]
    lowest = np.full(n_nodes, np.iinfo(np.int64).max)
    lowest[:n_leaves] = np.where(of_leaf < 0, n_nodes + of_leaf.max(), of_leaf)
    n_below = (np.arange(n_nodes) < n_leaves).astype(np.int64)
    parts: dict[int, list[int]] = defaultdict(list)
    for node, parent in enumerate(tree.parent.tolist()):
        parts[parent].append(node)
        if parent >= 0:
            lowest[parent] = min(lowest[parent], lowest[node])
            n_below[parent] += n_below[node]
    start = np.zeros(n_nodes, dtype=np.int64)
    for whole in (-1, *range(n_nodes - 1, n_leaves - 1, -1)):
        at = 0 if whole < 0 else start[whole]
        for part in sorted(parts[whole], key=lambda part: (lowest[part], -tree.size[part])):
            start[part], at = at, at + n_below[part]
    order = np.argsort(start[:n_leaves])
    number = np.concatenate([start[:n_leaves], np.arange(n_leaves, n_nodes)])
    moved = np.concatenate([order, np.arange(n_leaves, n_nodes)])
    parent = np.where(tree.parent < 0, -1, number[tree.parent])[moved]
    return replace(tree, parent=parent, medoid=tree.medoid[order], size=tree.size[moved], cluster=tree.cluster[moved])


def _leaf_sizes(hierarchy: FusionHierarchy, tree: MergeTree, leaves: IntArray) -> IntArray:
    """Return the number of rows of each leaf of the tree, given the leaves of the hierarchy that are their medoids."""
    roots = find_roots(hierarchy.parents, hierarchy.absorbed_at, min(tree.level, hierarchy.n_levels))
    return np.bincount(roots, weights=hierarchy.row_sizes, minlength=hierarchy.n_rows)[leaves].astype(np.int64)


def _last_absorbed(
    hierarchy: FusionHierarchy, leaves: IntArray, medoids: IntArray, sizes: IntArray, group: IntArray
) -> IntArray:
    """Return the medoid of each group that was active longest; of several, that of the largest leaf."""
    absorbed_at = hierarchy.absorbed_at[leaves].astype(np.int64)
    until = np.where(absorbed_at == 0, hierarchy.n_levels + 1, absorbed_at)
    order = np.lexsort((-sizes, -until, group))
    return medoids[order[np.searchsorted(group[order], np.arange(group.max() + 1))]]


def _shared_cluster(cluster: IntArray, group: IntArray) -> IntArray:
    """Return the final cluster of each group of leaves; ``SEVERAL_CLUSTERS`` if its leaves are of several."""
    n_groups = int(group.max()) + 1
    low, high = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, SEVERAL_CLUSTERS)
    np.minimum.at(low, group, cluster)
    np.maximum.at(high, group, cluster)
    return np.where(low == high, low, SEVERAL_CLUSTERS)


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


@dataclass(frozen=True)
class Dendrogram:
    """Lines of a dendrogram: a vertical stem for each node of its tree, and a horizontal bar for each merge."""

    x: FloatArray  # horizontal position of each node's stem
    # heights of the lower and upper end of each stem
    stem_start: FloatArray
    stem_end: FloatArray
    # one entry per merge: ends and height of the bar that joins the stems of the merged clusters
    bar_start: FloatArray
    bar_end: FloatArray
    bar_height: FloatArray


def dendrogram(tree: Tree) -> Dendrogram:
    """Return the lines of a dendrogram; leaves have distance 1, and ``GAP`` more between final clusters."""
    n_leaves, n_nodes = tree.n_leaves, len(tree.parent)
    final = tree.cluster[:n_leaves]
    leaf_x = np.arange(n_leaves) + GAP * np.cumsum(np.diff(final, prepend=final[:1]) != 0)
    x = np.concatenate([leaf_x, np.full(n_nodes - n_leaves, np.nan)])
    bar_start, bar_end = np.full(n_nodes, np.inf), np.full(n_nodes, -np.inf)
    for node, parent in enumerate(tree.parent.tolist()):
        if node >= n_leaves:
            x[node] = (bar_start[node] + bar_end[node]) / 2
        if parent >= 0:
            bar_start[parent], bar_end[parent] = min(bar_start[parent], x[node]), max(bar_end[parent], x[node])
    height = tree.height
    stem_end = np.where(tree.parent >= 0, height[tree.parent], tree.top)
    return Dendrogram(x, height, stem_end, bar_start[n_leaves:], bar_end[n_leaves:], height[n_leaves:])


@dataclass(frozen=True)
class Wedges:
    """Triangles below those leaves of a dendrogram that contain more than one row."""

    leaf: IntArray  # the leaf of each triangle
    corners: FloatArray  # the corners of each triangle
    bottom: float  # the lower limit of the axis: no triangle reaches below it


def leaf_wedges(tree: Tree, lines: Dendrogram) -> Wedges:
    """Return a triangle below each leaf of several rows; its depth is proportional to the logarithm of their number."""
    ground = float(tree.height.min())
    deepest = 0.3 * (tree.top - ground) if len(lines.bar_height) else 0.5
    size = tree.size[: tree.n_leaves]
    leaf = np.flatnonzero(size > 1)
    depth = deepest * np.log(size[leaf]) / np.log(max(int(size.max()), 2))
    corners = np.full((len(leaf), 3, 2), ground)
    corners[:, :, 0] = lines.x[leaf, None] + WEDGE * np.array([0, -0.5, 0.5])
    corners[:, 1:, 1] -= depth[:, None]
    return Wedges(leaf, corners, ground - deepest * (1.05 if len(leaf) else 0.1))


def choose_apart(places: FloatArray, priority: IntArray, gap: float) -> IntArray:
    """Choose points to label such that any two of them are at least ``gap`` apart along some axis."""
    points = places[:, None] if places.ndim == 1 else places
    is_free = np.ones(len(points), dtype=bool)
    chosen = []
    for point in np.argsort(-priority, kind="stable"):
        if is_free[point]:
            chosen.append(point)
            is_free &= np.abs(points - points[point]).max(axis=1) >= gap
    return np.sort(np.array(chosen, dtype=np.int64))


def largest_clusters(sizes: IntArray, max_clusters: int) -> IntArray:
    """Return the sorted numbers of the largest clusters."""
    return np.sort(np.argsort(-sizes, kind="stable")[:max_clusters])
