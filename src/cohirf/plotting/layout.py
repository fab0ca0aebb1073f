"""Coordinates of everything in a plot, as arrays; nothing is drawn here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import LevelRecord
from cohirf.hierarchy import FusionHierarchy
from cohirf.plotting.subject import Subject

Floats = NDArray[np.float64]

GAP = 0.6  # additional distance between leaves of different final clusters; neighbouring leaves have distance 1
WEDGE = 0.72  # width of the wedge below a leaf, in the same unit

IMAGE_STEP = 1.15  # horizontal distance of images, in widths of an image


@dataclass(frozen=True)
class Top:
    """The readable top of a hierarchy, with its leaves from left to right.

    Attributes
    ----------
    hierarchy : FusionHierarchy
        The top: one leaf per cluster of its finest level.
    first_level : int
        The level of the whole hierarchy that is the finest level of the top.
    order : array of int
        The leaves from left to right.
    cluster : array of int
        The final cluster of each leaf, -1 for noise.
    n_clusters : int
        Number of final clusters of the whole hierarchy; the top may have fewer.
    """

    hierarchy: FusionHierarchy
    first_level: int
    order: IntArray
    cluster: IntArray
    n_clusters: int

    @property
    def last_level(self) -> int:
        """The last level at which clusters fused."""
        return self.first_level + self.hierarchy.n_levels

    @property
    def n_final(self) -> int:
        """Number of final clusters in the top."""
        return int(self.hierarchy.cluster_counts()[-1])


@dataclass(frozen=True)
class FusionTree:
    """Clusters as nodes of a tree: leaves from left to right, then one node per fusion, in order of level.

    Attributes
    ----------
    parent : array of int
        The node that each node fused into; -1 for final clusters.
    level : array of int
        The level at which each node was formed; for leaves, the finest level drawn.
    medoid, size, cluster : array of int
        Medoid of each node, its number of rows, and its final cluster (-1 for noise).
    n_leaves : int
        Number of leaves; they are the first nodes.
    """

    parent: IntArray
    level: IntArray
    medoid: IntArray
    size: IntArray
    cluster: IntArray
    n_leaves: int

    @property
    def height(self) -> Floats:
        """Height of each node in a dendrogram: its level."""
        return self.level.astype(np.float64)


class Tree(Protocol):
    """What a dendrogram needs of a tree; the leaves are its first nodes, and parts come before the whole."""

    @property
    def parent(self) -> IntArray:
        """Node above each node; -1 if there is none."""

    @property
    def height(self) -> Floats:
        """Height of each node."""

    @property
    def size(self) -> IntArray:
        """Number of rows of each node."""

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""


@dataclass(frozen=True)
class Dendrogram:
    """Lines of a dendrogram: a vertical stem for each node of its tree, and a horizontal bar for each fusion.

    Attributes
    ----------
    x : array of float
        Horizontal position of each node's stem.
    stem_start, stem_end : array of float
        Heights of the lower and upper end of each stem.
    bar_start, bar_end, bar_height : array of float
        One entry per fusion: ends and height of the bar that joins the stems of the fused clusters.
    top : float
        Height at which nodes without a parent end.
    """

    x: Floats
    stem_start: Floats
    stem_end: Floats
    bar_start: Floats
    bar_end: Floats
    bar_height: Floats
    top: float


@dataclass(frozen=True)
class Wedges:
    """Triangles below those leaves of a dendrogram that contain more than one row.

    Attributes
    ----------
    leaf : array of int
        The leaf of each triangle.
    corners : array of float, shape (n_wedges, 3, 2)
        The corners of each triangle.
    bottom : float
        The lower limit of the axis: no triangle reaches below it.
    """

    leaf: IntArray
    corners: Floats
    bottom: float


@dataclass(frozen=True)
class Rectangles:
    """The clusters of all levels as rectangles whose width is their number of rows; those of a level are side by side.

    Attributes
    ----------
    level, medoid, size, cluster : array of int
        Level, medoid, number of rows and final cluster of each rectangle; -1 for noise.
    start, end : array of int
        Left and right end of each rectangle, in rows.
    """

    level: IntArray
    medoid: IntArray
    size: IntArray
    cluster: IntArray
    start: IntArray
    end: IntArray

    def where(self, chosen: NDArray[np.bool_]) -> Rectangles:
        """Return the chosen rectangles, at the same positions."""
        return Rectangles(**{name: values[chosen] for name, values in vars(self).items()})


@dataclass(frozen=True)
class LevelCurves:
    """The curves of ``plot_levels``.

    Attributes
    ----------
    rows : array of int
        Number of active rows before the first level, and after each level.
    level : array of int
        Number of each level, from 1.
    agreement : array of float
        Mean adjusted Rand index between pairs of views at each level; NaN with a single view.
    kept : array of float
        Share of the views that took part in the consensus.
    """

    rows: IntArray
    level: IntArray
    agreement: Floats
    kept: Floats


@dataclass(frozen=True)
class Grid:
    """A grid of images: the lower left corner of each image, and the size of the grid."""

    left: Floats
    bottom: Floats
    width: float
    height: float


def readable_top(subject: Subject, max_clusters: int, *, largest_only: bool) -> Top:
    """Return the top of a hierarchy, small enough to read.

    Parameters
    ----------
    subject : Subject
        The hierarchy and its final clusters.
    max_clusters : int
        Largest number of leaves.
    largest_only : bool
        If even the last level has more clusters: whether to return only the largest of them, instead of all.

    Returns
    -------
    top : Top
        The top, with its leaves from left to right.
    """
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


def fusion_tree(top: Top) -> FusionTree:
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
    return FusionTree(
        parent=parent,
        level=np.concatenate([np.zeros(n_leaves, dtype=np.int64), merges.level]) + top.first_level,
        medoid=np.concatenate([rows[top.order], merges.medoid]),
        size=np.concatenate([_row_sizes(hierarchy)[top.order], merges.size]),
        cluster=np.concatenate([top.cluster[top.order], top.cluster[medoid]]),
        n_leaves=n_leaves,
    )


def dendrogram(tree: Tree, leaf_x: Floats, top: float) -> Dendrogram:
    """Return the lines of a dendrogram.

    Parameters
    ----------
    tree : FusionTree or MergedTree
        The nodes, with their heights.
    leaf_x : array of float
        Horizontal position of each leaf.
    top : float
        Height at which nodes without a parent end.
    """
    n_leaves, n_nodes = tree.n_leaves, len(tree.parent)
    x = np.concatenate([leaf_x, np.full(n_nodes - n_leaves, np.nan)])
    bar_start, bar_end = np.full(n_nodes, np.inf), np.full(n_nodes, -np.inf)
    for node, parent in enumerate(tree.parent.tolist()):
        if node >= n_leaves:
            x[node] = (bar_start[node] + bar_end[node]) / 2
        if parent >= 0:
            bar_start[parent], bar_end[parent] = min(bar_start[parent], x[node]), max(bar_end[parent], x[node])
    height = tree.height
    stem_end = np.where(tree.parent >= 0, height[tree.parent], top)
    return Dendrogram(x, height, stem_end, bar_start[n_leaves:], bar_end[n_leaves:], height[n_leaves:], top)


def top_of_levels(first_level: int, last_level: int) -> float:
    """Return the height at which final clusters end, if heights are levels: a little above the last level."""
    span = last_level - first_level
    return last_level + (0.1 * max(span, 5) if span else 0.2)


def leaf_wedges(tree: Tree, lines: Dendrogram) -> Wedges:
    """Return a triangle below each leaf of several rows; its depth is proportional to the logarithm of their number."""
    ground = float(tree.height.min())
    deepest = 0.3 * (lines.top - ground) if len(lines.bar_height) else 0.5
    size = tree.size[: tree.n_leaves]
    leaf = np.flatnonzero(size > 1)
    depth = deepest * np.log(size[leaf]) / np.log(max(int(size.max()), 2))
    corners = np.full((len(leaf), 3, 2), ground)
    corners[:, :, 0] = lines.x[leaf, None] + WEDGE * np.array([0, -0.5, 0.5])
    corners[:, 1:, 1] -= depth[:, None]
    return Wedges(leaf, corners, ground - deepest * (1.05 if len(leaf) else 0.1))


def final_nodes(tree: FusionTree) -> IntArray:
    """Return, for each node, the node of its final cluster."""
    final: IntArray = np.where(tree.parent < 0, np.arange(len(tree.parent)), tree.parent)
    while (final != final[final]).any():
        final = final[final]
    return final


def preorder(tree: FusionTree) -> IntArray:
    """Return the nodes in preorder: from left to right, each node before its children."""
    first_leaf = np.full(len(tree.parent), tree.n_leaves)
    first_leaf[: tree.n_leaves] = np.arange(tree.n_leaves)
    for level in np.unique(tree.level):
        made = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        np.minimum.at(first_leaf, tree.parent[made], first_leaf[made])
    return np.lexsort([-tree.level, first_leaf])


def rings(tree: FusionTree) -> IntArray:
    """Return the number of fusions between each node and its final cluster."""
    n_fusions = np.zeros(len(tree.parent), dtype=np.int64)
    for level in np.unique(tree.level)[::-1]:
        made = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        n_fusions[made] = n_fusions[tree.parent[made]] + 1
    return n_fusions


def leaf_places(final: IntArray) -> Floats:
    """Return positions of leaves, given their final clusters: distance 1, and ``GAP`` more between clusters."""
    is_new = np.zeros(len(final), dtype=np.int64)
    is_new[1:] = final[1:] != final[:-1]
    return np.arange(len(final)) + GAP * np.cumsum(is_new)


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


def level_curves(records: Sequence[LevelRecord], n_views: int) -> LevelCurves:
    """Return the curves to plot from the level records of a fit."""
    return LevelCurves(
        rows=np.array([records[0].rows_in, *(record.rows_out for record in records)]),
        level=np.array([record.level for record in records]),
        agreement=np.array([record.agreement for record in records], dtype=np.float64),
        kept=np.array([record.views_kept for record in records], dtype=np.float64) / n_views,
    )


def limits_with_room(values: IntArray, share: float, *, log: bool) -> tuple[float, float]:
    """Return limits of an axis such that the values occupy the lower ``share`` of it."""
    low, high = (float(values.min()) / 2, float(values.max())) if log else (0.0, float(max(values.max(), 1)))
    return (low, low * (high / low) ** (1 / share)) if log else (low, high / share)


def needs_log_scale(values: IntArray) -> bool:
    """Return whether small values could not be distinguished on a linear scale."""
    return bool(values.min() > 0 and values.max() > 20 * values.min())


def choose_apart(places: Floats, priority: IntArray, gap: float) -> IntArray:
    """Choose points to label such that any two of them are at least ``gap`` apart along some axis.

    Parameters
    ----------
    places : array of float, shape (n,) or (n, n_dimensions)
        Positions of the points.
    priority : array of int, shape (n,)
        Points with higher values are chosen first.
    gap : float
        Smallest distance between labels.

    Returns
    -------
    chosen : array of int
        Sorted numbers of the chosen points.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.plotting.layout import choose_apart
    >>> choose_apart(np.array([0.0, 1.0, 2.0, 3.0]), priority=np.array([5, 9, 1, 1]), gap=2)
    array([1, 3])
    """
    points = places[:, None] if places.ndim == 1 else places
    is_free = np.ones(len(points), dtype=bool)
    chosen = []
    for point in np.argsort(-priority, kind="stable"):
        if is_free[point]:
            chosen.append(point)
            is_free &= np.abs(points - points[point]).max(axis=1) >= gap
    return np.sort(np.array(chosen, dtype=np.int64))


def count_columns(n_images: int, shape: float, aspect: float) -> int:
    """Return the number of columns for a grid of images whose width is about ``aspect`` times its height.

    Parameters
    ----------
    n_images : int
        Number of images.
    shape : float
        Width of one image, with its caption, divided by its height.
    aspect : float
        Width of the grid divided by its height.

    Returns
    -------
    n_columns : int
        The smallest number of columns that needs no more lines than the best fitting one.
    """
    n_columns = min(max(round(float(np.sqrt(aspect * n_images / shape))), 1), n_images)
    n_lines = -(-n_images // n_columns)
    return -(-n_images // n_lines)


def image_grid(n_images: int, n_columns: int, *, height: float, width: float, caption: float) -> Grid:
    """Place images of equal size in a grid, the first at the upper left, with room for captions below.

    Parameters
    ----------
    n_images, n_columns : int
        Number of images, and of columns.
    height, width : float
        Size of one image.
    caption : float
        Height of the caption below each image.

    Returns
    -------
    grid : Grid
        Position of each image.
    """
    line, column = np.divmod(np.arange(n_images), n_columns)
    step_x, step_y = IMAGE_STEP * width, height + caption
    n_lines = int(line[-1]) + 1
    return Grid(
        left=column * step_x,
        bottom=(n_lines - line) * step_y - height,
        width=n_columns * step_x - (step_x - width),
        height=n_lines * step_y,
    )


def largest_clusters(sizes: IntArray, max_clusters: int) -> IntArray:
    """Return the sorted numbers of the largest clusters."""
    return np.sort(np.argsort(-sizes, kind="stable")[:max_clusters])


def count_rows(hierarchy: FusionHierarchy) -> int:
    """Return the number of rows of the data."""
    return int(_row_sizes(hierarchy).sum())


def count_noise(subject: Subject) -> int:
    """Return the number of rows of the data that are noise."""
    return int(_row_sizes(subject.hierarchy)[subject.labels < 0].sum())


def _rows(hierarchy: FusionHierarchy) -> IntArray:
    return np.arange(hierarchy.n_rows) if hierarchy.rows is None else hierarchy.rows


def _row_sizes(hierarchy: FusionHierarchy) -> IntArray:
    return np.ones(hierarchy.n_rows, dtype=np.int64) if hierarchy.row_sizes is None else hierarchy.row_sizes


def leaf_numbers(hierarchy: FusionHierarchy, rows: IntArray) -> IntArray:
    """Return the leaves of a hierarchy for rows of the data."""
    return rows if hierarchy.rows is None else np.searchsorted(hierarchy.rows, rows)
