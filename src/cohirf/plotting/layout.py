"""What a plot shows: the model or hierarchy that it is given, and coordinates of clusters; nothing is drawn here."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cohirf.algorithm.grouping import IntArray
from cohirf.estimator import CoHiRF
from cohirf.explain.verdict import ways_to_less_noise
from cohirf.hierarchy import FusionHierarchy
from cohirf.hierarchy.outline import final_labels
from cohirf.summary.numbers import cluster_positions

Floats = NDArray[np.float64]
GAP = 0.6  # additional distance between leaves of different final clusters; neighbouring leaves have distance 1
WEDGE = 0.72  # width of the wedge below a leaf, in the same unit
MIXED = -2  # the cluster of a node above the final clusters


@dataclass(frozen=True)
class Subject:
    """A hierarchy, and the final cluster of each of its leaves: -1 for noise."""

    hierarchy: FusionHierarchy
    labels: IntArray


def find_subject(given: Any) -> Subject:
    """Return the hierarchy of ``given``, a fitted model or a hierarchy, with its final clusters."""
    if isinstance(given, FusionHierarchy):
        return Subject(given, final_labels(given))
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return Subject(given.hierarchy_, cluster_positions(given))
    raise TypeError(f"{_describe(given)} cannot be plotted: pass a fitted CoHiRF or a FusionHierarchy.")


def check_model(given: Any) -> CoHiRF:
    """Return ``given`` if it is a fitted model."""
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return given
    raise TypeError(f"{_describe(given)} cannot be plotted: pass a fitted CoHiRF.")


def refuse_no_clusters(model: CoHiRF) -> None:
    """Raise if a model has no clusters, and say what to change."""
    if model.n_clusters_ == 0:
        raise ValueError(
            f"The model has no clusters to plot: every row is noise. To find some, {ways_to_less_noise(model)}."
        )


def check_image_shape(shape: tuple[int, ...], n_features: int) -> None:
    """Raise unless ``shape`` is that of a grey image or a three-colour image with ``n_features`` values."""
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3) or np.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} does not fit {n_features} features: pass (height, width) or (height, width, 3) "
            f"whose product is {n_features}."
        )


def _describe(given: Any) -> str:
    return f"{' '.join(reprlib.repr(given).split())} of type {type(given).__name__}"


@dataclass(frozen=True)
class Top:
    """The readable top of a hierarchy, with its leaves from left to right."""

    hierarchy: FusionHierarchy  # the top: one leaf per cluster of its finest level
    first_level: int  # the level of the whole hierarchy that is the finest level of the top
    order: IntArray  # the leaves from left to right
    cluster: IntArray  # the final cluster of each leaf, -1 for noise
    n_clusters: int  # number of final clusters of the whole hierarchy; the top may have fewer

    @property
    def last_level(self) -> int:
        """The last level at which clusters fused."""
        return self.first_level + self.hierarchy.n_levels

    @property
    def n_final(self) -> int:
        """Number of final clusters in the top."""
        return int(self.hierarchy.cluster_counts()[-1])


@dataclass(frozen=True)
class Tree:
    """Clusters as nodes of a tree: leaves from left to right, then one node per merge or fusion, in order of height."""

    parent: IntArray  # the node that each node merges into; -1 if there is none
    height: Floats  # height of each merge, or level of each fusion; that of leaves is the lowest
    # medoid of each leaf. If it is the union of several clusters of a level, the one that the fit absorbed last.
    medoid: IntArray
    size: IntArray  # number of rows of each node
    # the final cluster of each node; -1 for noise, and ``MIXED`` for nodes with rows of several final clusters
    cluster: IntArray
    n_leaves: int  # they are the first nodes
    top: float  # height at which nodes without a parent end
    level: int  # the level whose clusters are the leaves, or are merged into the leaves
    n_merged: int  # number of clusters of this level
    n_hidden: int  # number of final clusters that are left out, because there are too many
    n_noise: int = 0  # number of noise rows that are not in the tree
    # a height between the merges within final clusters and those above; None if no height separates them
    cut_height: float | None = None
    levels: range | None = None  # the levels that heights are; None if these are heights of merges

    @property
    def final(self) -> IntArray:
        """The nodes of final clusters: those whose parent has rows of other final clusters."""
        is_top = (self.parent < 0) | (self.cluster[self.parent] != self.cluster)
        return np.flatnonzero(is_top & (self.cluster != MIXED))


@dataclass(frozen=True)
class Dendrogram:
    """Lines of a dendrogram: a vertical stem for each node of its tree, and a horizontal bar for each fusion."""

    x: Floats  # horizontal position of each node's stem
    # heights of the lower and upper end of each stem
    stem_start: Floats
    stem_end: Floats
    # one entry per fusion: ends and height of the bar that joins the stems of the fused clusters
    bar_start: Floats
    bar_end: Floats
    bar_height: Floats


@dataclass(frozen=True)
class Wedges:
    """Triangles below those leaves of a dendrogram that contain more than one row."""

    leaf: IntArray  # the leaf of each triangle
    corners: Floats  # the corners of each triangle
    bottom: float  # the lower limit of the axis: no triangle reaches below it


@dataclass(frozen=True)
class Rectangles:
    """The clusters of all levels as rectangles as wide as their number of rows; those of a level are side by side."""

    # level, medoid, number of rows and final cluster of each rectangle; -1 for noise
    level: IntArray
    medoid: IntArray
    size: IntArray
    cluster: IntArray
    # left and right end of each rectangle, in rows
    start: IntArray
    end: IntArray

    def where(self, chosen: NDArray[np.bool_]) -> Rectangles:
        """Return the chosen rectangles, at the same positions."""
        return Rectangles(**{name: values[chosen] for name, values in vars(self).items()})


def readable_top(subject: Subject, max_clusters: int, *, largest_only: bool) -> Top:
    """Return the top of a hierarchy, small enough to read."""
    if max_clusters < 1:
        raise ValueError(f"max_clusters={max_clusters} is not valid: pass an int >= 1.")
    whole = subject.hierarchy
    top = whole.condense(max_clusters)
    n_clusters = int(top.cluster_counts()[-1])
    if largest_only and n_clusters > max_clusters:
        top = keep_largest(top, max_clusters)
    cluster = subject.labels[leaf_numbers(whole, _rows(top))]
    return Top(top, whole.n_levels - top.n_levels, leaf_order(top, cluster), cluster, n_clusters)


def keep_largest(hierarchy: FusionHierarchy, n_clusters: int) -> FusionHierarchy:
    """Return the part of a hierarchy below its largest final clusters."""
    final = hierarchy.cut(level=hierarchy.n_levels)
    largest = np.argsort(-hierarchy.sizes(hierarchy.n_levels), kind="stable")[:n_clusters]
    kept = np.flatnonzero(np.isin(final, largest))
    return FusionHierarchy(
        np.searchsorted(kept, hierarchy.parents[kept]),
        hierarchy.absorbed_at[kept],
        rows=_rows(hierarchy)[kept],
        row_sizes=_row_sizes(hierarchy)[kept],
    )


def leaf_order(hierarchy: FusionHierarchy, cluster: IntArray) -> IntArray:
    """Return leaves from left to right, so that every cluster of every level is contiguous.

    Final clusters are ordered by number, noise last; the clusters that fused into one are ordered by decreasing size.
    """
    keys: list[IntArray] = []
    for level in range(hierarchy.n_levels):
        by_size = np.argsort(-hierarchy.sizes(level), kind="stable")
        rank = np.empty_like(by_size)
        rank[by_size] = np.arange(len(by_size))
        keys.append(rank[hierarchy.cut(level=level)])
    final = hierarchy.cut(level=hierarchy.n_levels)
    keys += [final, np.where(cluster < 0, np.iinfo(cluster.dtype).max, cluster)]
    return np.lexsort(keys)  # the last key decides first


def fusion_tree(top: Top) -> Tree:
    """Return the clusters of the top of a hierarchy as the nodes of a tree."""
    hierarchy = top.hierarchy
    n_leaves, merges = hierarchy.n_rows, hierarchy.merges()
    n_nodes = n_leaves + len(merges)
    rows = _rows(hierarchy)
    place = np.empty(n_leaves, dtype=np.int64)
    place[top.order] = np.arange(n_leaves)
    medoid, absorbed = np.searchsorted(rows, merges.medoid), np.searchsorted(rows, merges.absorbed)
    fusion_of_absorbed = np.repeat(np.arange(len(merges)), np.diff(merges.starts))
    parent = np.full(n_nodes, -1, dtype=np.int64)
    node = place.copy()  # the latest node whose medoid is this leaf
    for level in range(1, hierarchy.n_levels + 1):
        fusions = np.flatnonzero(merges.level == level)
        leaving = np.flatnonzero(np.isin(fusion_of_absorbed, fusions))
        parent[node[absorbed[leaving]]] = n_leaves + fusion_of_absorbed[leaving]
        parent[node[medoid[fusions]]] = n_leaves + fusions
        node[medoid[fusions]] = n_leaves + fusions
    span = top.last_level - top.first_level
    return Tree(
        parent=parent,
        height=np.concatenate([np.zeros(n_leaves), merges.level]) + top.first_level,
        medoid=rows[top.order],
        size=np.concatenate([_row_sizes(hierarchy)[top.order], merges.size]),
        cluster=np.concatenate([top.cluster[top.order], top.cluster[medoid]]),
        n_leaves=n_leaves,
        top=top.last_level + (0.1 * max(span, 5) if span else 0.2),
        level=top.first_level,
        n_merged=n_leaves,
        n_hidden=top.n_clusters - top.n_final,
        levels=range(top.first_level, top.last_level + 1),
    )


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


def icicle(top: Top) -> Rectangles:
    """Return the clusters of each level as rectangles side by side, from the finest level to the last.

    The level of single rows is left out, unless there is no other level.
    """
    hierarchy = top.hierarchy
    sizes = _row_sizes(hierarchy)[top.order]
    first = 1 if hierarchy.n_levels and sizes.max() == 1 else 0
    parts = [_level_rectangles(top, level, np.cumsum(sizes)) for level in range(first, hierarchy.n_levels + 1)]
    names = Rectangles.__dataclass_fields__
    return Rectangles(**{name: np.concatenate([vars(part)[name] for part in parts]) for name in names})


def _level_rectangles(top: Top, level: int, leaf_ends: IntArray) -> Rectangles:
    labels = top.hierarchy.cut(level=level)[top.order]
    is_last = np.ones(len(labels), dtype=bool)
    is_last[:-1] = labels[1:] != labels[:-1]
    last = np.flatnonzero(is_last)
    end = leaf_ends[last]
    size = np.diff(end, prepend=0)
    return Rectangles(
        level=np.full(len(last), top.first_level + level),
        medoid=top.hierarchy.medoids(level)[labels[last]],
        size=size,
        cluster=top.cluster[top.order[last]],
        start=end - size,
        end=end,
    )


def choose_apart(places: Floats, priority: IntArray, gap: float) -> IntArray:
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


def _rows(hierarchy: FusionHierarchy) -> IntArray:
    return np.arange(hierarchy.n_rows) if hierarchy.rows is None else hierarchy.rows


def _row_sizes(hierarchy: FusionHierarchy) -> IntArray:
    return np.ones(hierarchy.n_rows, dtype=np.int64) if hierarchy.row_sizes is None else hierarchy.row_sizes


def leaf_numbers(hierarchy: FusionHierarchy, rows: IntArray) -> IntArray:
    """Return the leaves of a hierarchy for rows of the data."""
    return rows if hierarchy.rows is None else np.searchsorted(hierarchy.rows, rows)
