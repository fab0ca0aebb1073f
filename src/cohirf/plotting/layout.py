"""Where things go in a picture, as plain numbers: nothing here draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import LevelRecord
from cohirf.hierarchy import FusionHierarchy
from cohirf.plotting.subject import Subject

Floats = NDArray[np.float64]

GAP = 0.6  # between leaves of different final clusters, in distances of leaves
WEDGE = 0.72  # width of the wedge below a leaf, likewise

IMAGE_STEP = 1.15  # from one image to the next, in widths of an image


@dataclass(frozen=True)
class Top:
    """The readable top of a hierarchy, with its leaves from left to right.

    Attributes
    ----------
    hierarchy : FusionHierarchy
        The top: one leaf per cluster of its finest level.
    first_level : int
        The level of the whole hierarchy that is the finest one here.
    order : array of int
        The leaf at each place.
    cluster : array of int
        The final cluster of each leaf, -1 for noise.
    n_clusters : int
        Number of final clusters of the whole hierarchy, which may be more than are here.
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
        """Number of final clusters that are here."""
        return int(self.hierarchy.cluster_counts()[-1])


@dataclass(frozen=True)
class FusionTree:
    """Clusters as nodes of a tree: leaves from left to right, then one node per fusion, in order of level.

    Attributes
    ----------
    parent : array of int
        The node that each one fused into; -1 for final clusters.
    level : array of int
        The level at which each one was made; for leaves, the finest level drawn.
    medoid, size, cluster : array of int
        The row that stands for each one, its number of rows, and its final cluster (-1 for noise).
    n_leaves : int
        The first so many nodes are leaves.
    """

    parent: IntArray
    level: IntArray
    medoid: IntArray
    size: IntArray
    cluster: IntArray
    n_leaves: int


@dataclass(frozen=True)
class Dendrogram:
    """Lines of a dendrogram, for each node of its tree: a stem upwards, and a bar over the parts of each fusion.

    Attributes
    ----------
    x : array of float
        Where each node's stem stands.
    stem_start, stem_end : array of float
        Heights from and to which it goes.
    bar_start, bar_end, bar_height : array of float
        One entry per fusion: the bar that joins the stems of all its parts.
    top : float
        Height at which final clusters end.
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
    """Triangles below the leaves of a dendrogram that stand for more than one row.

    Attributes
    ----------
    leaf : array of int
        The leaf of each one.
    corners : array of float, shape (n_wedges, 3, 2)
        The corners of each one.
    bottom : float
        The lowest height that any of them may have.
    """

    leaf: IntArray
    corners: Floats
    bottom: float


@dataclass(frozen=True)
class Rectangles:
    """Clusters of all levels, each as wide as its rows: those of a level lie side by side.

    Attributes
    ----------
    level, medoid, size, cluster : array of int
        What each rectangle stands for; ``cluster`` is the final one, -1 for noise.
    start, end : array of int
        From where to where it goes, in rows.
    """

    level: IntArray
    medoid: IntArray
    size: IntArray
    cluster: IntArray
    start: IntArray
    end: IntArray

    def where(self, chosen: NDArray[np.bool_]) -> Rectangles:
        """Return the chosen ones, where they are."""
        return Rectangles(**{name: values[chosen] for name, values in vars(self).items()})


@dataclass(frozen=True)
class LevelCurves:
    """What the levels of a fit did.

    Attributes
    ----------
    rows : array of int
        Active rows before the first level, and after each one.
    level : array of int
        Number of each level, from 1.
    agreement : array of float
        Agreement of the views at each level; NaN where there is none to measure.
    kept : array of float
        Share of the views that took part in the consensus.
    """

    rows: IntArray
    level: IntArray
    agreement: Floats
    kept: Floats


@dataclass(frozen=True)
class Grid:
    """Images in lines and columns: the lower left corner of each, and the size of the whole."""

    left: Floats
    bottom: Floats
    width: float
    height: float


def readable_top(subject: Subject, max_clusters: int, *, largest_only: bool) -> Top:
    """Return the top of a hierarchy that a person can take in.

    Parameters
    ----------
    subject : Subject
        The hierarchy and its final clusters.
    max_clusters : int
        Largest number of leaves.
    largest_only : bool
        Where even the last level has more clusters than that: whether to keep the largest of them only.

    Returns
    -------
    top : Top
        The top, with its leaves in order.
    """
    if max_clusters < 1:
        raise ValueError(f"max_clusters={max_clusters} is not valid: give an int >= 1.")
    whole = subject.hierarchy
    top = whole.condense(max_clusters)
    n_clusters = int(top.cluster_counts()[-1])
    if largest_only and n_clusters > max_clusters:
        top = keep_largest(top, max_clusters)
    cluster = subject.labels[_leaf_numbers(whole, _rows(top))]
    return Top(top, whole.n_levels - top.n_levels, leaf_order(top, cluster), cluster, n_clusters)


def keep_largest(hierarchy: FusionHierarchy, n_clusters: int) -> FusionHierarchy:
    """Return a hierarchy with the largest final clusters only."""
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
    """Return leaves from left to right, so that every cluster of every level is in one piece.

    Final clusters come in the order of their numbers, noise last; what a cluster was made of, from large to small.
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
    """Return the clusters of a top as the nodes of a tree."""
    hierarchy = top.hierarchy
    n_leaves, merges = hierarchy.n_rows, hierarchy.merges()
    n_nodes = n_leaves + len(merges)
    rows = _rows(hierarchy)
    place = np.empty(n_leaves, dtype=np.int64)
    place[top.order] = np.arange(n_leaves)
    medoid, absorbed = np.searchsorted(rows, merges.medoid), np.searchsorted(rows, merges.absorbed)
    fusion_of_absorbed = np.repeat(np.arange(len(merges)), np.diff(merges.starts))
    parent = np.full(n_nodes, -1, dtype=np.int64)
    node = place.copy()  # the node for which each leaf stands so far
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


def dendrogram(tree: FusionTree, last_level: int) -> Dendrogram:
    """Return the lines of a dendrogram: the height of a fusion is its level, and final clusters end above the last."""
    n_leaves, n_nodes = tree.n_leaves, len(tree.parent)
    x = np.full(n_nodes, np.nan)
    x[:n_leaves] = leaf_places(final_nodes(tree)[:n_leaves])
    bar_start, bar_end = np.full(n_nodes, np.inf), np.full(n_nodes, -np.inf)
    for level in np.unique(tree.level):
        fusions = np.flatnonzero((tree.level == level) & (np.arange(n_nodes) >= n_leaves))
        x[fusions] = (bar_start[fusions] + bar_end[fusions]) / 2
        made = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        np.minimum.at(bar_start, tree.parent[made], x[made])
        np.maximum.at(bar_end, tree.parent[made], x[made])
    level = tree.level.astype(np.float64)
    span = last_level - int(tree.level.min())
    top = last_level + (0.1 * max(span, 5) if span else 0.2)
    stem_end = np.where(tree.parent >= 0, level[tree.parent], top)
    return Dendrogram(x, level, stem_end, bar_start[n_leaves:], bar_end[n_leaves:], level[n_leaves:], top)


def leaf_wedges(tree: FusionTree, lines: Dendrogram) -> Wedges:
    """Return a triangle below each leaf of several rows, as deep as the logarithm of their number."""
    first_level = int(tree.level.min())
    deepest = 0.3 * (lines.top - first_level) if len(lines.bar_height) else 0.5
    size = tree.size[: tree.n_leaves]
    leaf = np.flatnonzero(size > 1)
    depth = deepest * np.log(size[leaf]) / np.log(max(int(size.max()), 2))
    corners = np.full((len(leaf), 3, 2), first_level, dtype=np.float64)
    corners[:, :, 0] = lines.x[leaf, None] + WEDGE * np.array([0, -0.5, 0.5])
    corners[:, 1:, 1] -= depth[:, None]
    return Wedges(leaf, corners, first_level - deepest * (1.05 if len(leaf) else 0.1))


def final_nodes(tree: FusionTree) -> IntArray:
    """Return the node of the final cluster of each node."""
    final: IntArray = np.where(tree.parent < 0, np.arange(len(tree.parent)), tree.parent)
    while (final != final[final]).any():
        final = final[final]
    return final


def preorder(tree: FusionTree) -> IntArray:
    """Return the nodes from left to right, each one before those it was made of."""
    first_leaf = np.full(len(tree.parent), tree.n_leaves)
    first_leaf[: tree.n_leaves] = np.arange(tree.n_leaves)
    for level in np.unique(tree.level):
        made = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        np.minimum.at(first_leaf, tree.parent[made], first_leaf[made])
    return np.lexsort([-tree.level, first_leaf])


def rings(tree: FusionTree) -> IntArray:
    """Return how many fusions lie between each node and its final cluster."""
    n_fusions = np.zeros(len(tree.parent), dtype=np.int64)
    for level in np.unique(tree.level)[::-1]:
        made = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        n_fusions[made] = n_fusions[tree.parent[made]] + 1
    return n_fusions


def leaf_places(final: IntArray) -> Floats:
    """Return where leaves stand, given the final cluster of each: one apart, and somewhat more between clusters."""
    is_new = np.zeros(len(final), dtype=np.int64)
    is_new[1:] = final[1:] != final[:-1]
    return np.arange(len(final)) + GAP * np.cumsum(is_new)


def icicle(top: Top) -> Rectangles:
    """Return the clusters of each level of a top, from the finest to the last, as rectangles side by side.

    A level at which every row is by itself says nothing, and is left out unless there is no other.
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
    """Return what to draw of the records of a fit."""
    return LevelCurves(
        rows=np.array([records[0].rows_in, *(record.rows_out for record in records)]),
        level=np.array([record.level for record in records]),
        agreement=np.array([record.agreement for record in records], dtype=np.float64),
        kept=np.array([record.views_kept for record in records], dtype=np.float64) / n_views,
    )


def limits_with_room(values: IntArray, share: float, *, log: bool) -> tuple[float, float]:
    """Return limits of an axis so that the values take the lower ``share`` of it."""
    low, high = (float(values.min()) / 2, float(values.max())) if log else (0.0, float(max(values.max(), 1)))
    return (low, low * (high / low) ** (1 / share)) if log else (low, high / share)


def needs_log_scale(values: IntArray) -> bool:
    """Tell whether small values would be lost beside the large ones on a plain scale."""
    return bool(values.min() > 0 and values.max() > 20 * values.min())


def choose_apart(places: Floats, priority: IntArray, gap: float) -> IntArray:
    """Return which points to label so that no two labels are nearer than ``gap`` in every direction.

    Parameters
    ----------
    places : array of float, shape (n,) or (n, n_dimensions)
        Where the points are.
    priority : array of int, shape (n,)
        Points with higher values go first.
    gap : float
        Smallest distance.

    Returns
    -------
    chosen : array of int
        Numbers of the chosen points, in rising order.

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
    """Return in how many columns to put images, so that the whole is about ``aspect`` times as wide as high.

    Parameters
    ----------
    n_images : int
        How many there are.
    shape : float
        How many times as wide as high the room of one is.
    aspect : float
        The same for the whole.

    Returns
    -------
    n_columns : int
        Number of columns, such that the last line is as full as it can be with as many lines.
    """
    n_columns = min(max(round(float(np.sqrt(aspect * n_images / shape))), 1), n_images)
    n_lines = -(-n_images // n_columns)
    return -(-n_images // n_lines)


def image_grid(n_images: int, n_columns: int, *, height: float, width: float, caption: float) -> Grid:
    """Place images of one size in lines and columns, the first at the upper left, with room for captions below.

    Parameters
    ----------
    n_images, n_columns : int
        How many there are, and how many stand side by side.
    height, width : float
        The size of one.
    caption : float
        The height of the room below each.

    Returns
    -------
    grid : Grid
        Where each image is.
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
    """Return the numbers of the largest clusters, in rising order."""
    return np.sort(np.argsort(-sizes, kind="stable")[:max_clusters])


def count_rows(hierarchy: FusionHierarchy) -> int:
    """Return the number of rows of the data."""
    return int(_row_sizes(hierarchy).sum())


def _rows(hierarchy: FusionHierarchy) -> IntArray:
    return np.arange(hierarchy.n_rows) if hierarchy.rows is None else hierarchy.rows


def _row_sizes(hierarchy: FusionHierarchy) -> IntArray:
    return np.ones(hierarchy.n_rows, dtype=np.int64) if hierarchy.row_sizes is None else hierarchy.row_sizes


def _leaf_numbers(hierarchy: FusionHierarchy, rows: IntArray) -> IntArray:
    """Return the leaves for which rows of the data stand."""
    return rows if hierarchy.rows is None else np.searchsorted(hierarchy.rows, rows)
