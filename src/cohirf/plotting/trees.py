"""The tree of a fit as a dendrogram: its nodes and their coordinates, in plain numbers, and how it is drawn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.algorithm.parents import find_roots, find_roots_of
from cohirf.beyond.merge_tree import MergeTree
from cohirf.hierarchy.outline import has_merges, with_tree
from cohirf.optional import import_optional
from cohirf.plotting.canvas import (
    FAINT,
    FONT,
    INK,
    PAPER,
    Subject,
    add_lines,
    cluster_colours,
    find_subject,
    hide_spines,
    label_x,
    largest_clusters,
    make_axes,
    mix,
    settle_axes,
    to_rgb,
    write_numbers,
)
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.sources.source import count_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 0.6  # additional distance between leaves of different final clusters; neighbouring leaves have distance 1
WEDGE = 0.72  # width of the wedge below a leaf, in the same unit
SEVERAL_CLUSTERS = -2  # the cluster of a node above the final clusters
MAX_TICKS = 12
MEDOID_AND_SIZE = "medoid (number of rows)"
LeafLabels = Callable[[int, int], str] | Sequence[str] | None


def plot_dendrogram(
    hierarchy_or_model: Any, *, max_clusters: int = 50, leaf_labels: LeafLabels = None, ax: Axes | None = None
) -> Axes:
    """Plot the top of a hierarchy as a dendrogram.

    The hierarchy of a fit has a tree, in which clusters merge pairwise up to a single one: the height of a merge is
    that of Ward's criterion or, if clusters are connected, the length of the edge. A dashed line shows where the tree
    is cut into the final clusters. Noise rows are not in the tree. A hierarchy without a tree is drawn up to its last
    level: the height of a fusion is its level.

    Colours are those of the final clusters, whose numbers are written on their lines. The wedges below the leaves show
    how many rows each leaf contains: their length is proportional to the logarithm of the number of rows.

    Parameters
    ----------
    hierarchy_or_model : FusionHierarchy or fitted CoHiRF
        The hierarchy to plot.
    max_clusters : int, default=50
        Largest number of leaves. If the tree has more, it is cut into this many clusters, which become the leaves;
        without a tree, they are the clusters of the finest level with at most this many clusters. If there are more
        final clusters, the largest of them are drawn.
    leaf_labels : callable or sequence of str, default=None
        Texts below the leaves. By default, the row number of the medoid, and the number of rows in the leaf. A sequence
        must have one name for each row of the data; the name of the medoid then replaces its row number. A callable is
        called with the row number of the medoid and the number of rows, and returns the text.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    See Also
    --------
    cohirf.explain.write_report : A page with an interactive tree.
    cohirf.FusionHierarchy.to_linkage : The input of scipy's own dendrogram.

    Examples
    --------
    >>> from cohirf import FusionHierarchy
    >>> from cohirf.plotting import plot_dendrogram
    >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 0, 4, 4], absorbed_at=[0, 1, 1, 2, 0, 1])
    >>> ax = plot_dendrogram(hierarchy, max_clusters=3)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['row 0 (3)', 'row 3 (1)', 'row 4 (2)']
    """
    tree = merged_tree(find_subject(hierarchy_or_model), max_clusters)
    lines = dendrogram(tree)
    wedges = leaf_wedges(tree, lines)
    ax = make_axes(ax, float(np.clip(1 + 0.135 * lines.x.max(), 5, 9.5)), 4.8)
    ax.set_xlim(lines.x[0] - 1, lines.x[tree.n_leaves - 1] + 1)
    ax.set_ylim(wedges.bottom, tree.top)
    _frame_tree(ax, tree)
    settle_axes(ax)
    _draw_tree(ax, tree, lines, wedges)
    sizes = tree.size[: tree.n_leaves]
    label_x(ax, lines.x[: tree.n_leaves], _leaf_texts(tree.medoid, sizes, leaf_labels), sizes)
    return ax


def _draw_tree(ax: Axes, tree: Tree, lines: Dendrogram, wedges: Wedges) -> None:
    colours = cluster_colours(tree.cluster)
    colours[tree.cluster == SEVERAL_CLUSTERS] = to_rgb(FAINT)
    polygons = import_optional("matplotlib.collections", "plotting", "A plot").PolyCollection
    ax.add_collection(polygons(wedges.corners, facecolors=mix(colours[wedges.leaf], 0.35), linewidths=0.0))
    add_lines(ax, np.stack([lines.x, lines.x], axis=1), np.stack([lines.stem_start, lines.stem_end], axis=1), colours)
    bar_x = np.stack([lines.bar_start, lines.bar_end], axis=1)
    add_lines(ax, bar_x, np.stack([lines.bar_height, lines.bar_height], axis=1), colours[tree.n_leaves :])
    final = tree.final
    heights = lines.stem_end[final]
    if tree.cut_height is not None:  # where the tree is cut into the final clusters
        heights = np.full(len(final), tree.cut_height)
        ax.axhline(tree.cut_height, color=INK, linewidth=0.8, linestyle=(0, (5, 4)), zorder=1)
    write_numbers(ax, lines.x[final], heights, tree.cluster[final], tree.size[final], on_lines=not tree.has_levels)


def _frame_tree(ax: Axes, tree: Tree) -> None:
    ax.tick_params(axis="y", length=0, labelsize=FONT + 1)
    ax.grid(axis="y", color=PAPER)
    ax.set_axisbelow(True)
    ax.set_ylabel("level" if tree.has_levels else "height of the merge")
    ax.set_xlabel(_describe_leaves(tree), color=FAINT)
    if tree.has_levels:
        ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
        ax.yaxis.set_major_locator(ticker.MaxNLocator(MAX_TICKS, integer=True))
    ax.set_yticks([tick for tick in ax.get_yticks() if tree.height.min() <= tick <= tree.top])
    hide_spines(ax, "top", "right", "bottom", "left")


def _describe_leaves(tree: Tree) -> str:
    n_final, sizes = len(tree.final), tree.size[: tree.n_leaves]
    hidden = f"{n_final:,} largest of {n_final + tree.n_hidden:,} " if tree.n_hidden else ""
    noise = f"\n{count_of(tree.n_noise, 'noise row')} not shown" if tree.n_noise else ""
    if sizes.max() == 1:
        return f"{hidden}rows{noise}"
    if hidden and not tree.has_levels:
        return f"{hidden}clusters: {MEDOID_AND_SIZE}{noise}"
    if tree.n_leaves < tree.n_merged and not hidden:
        merged = f"{tree.n_merged:,} clusters of level {tree.level}, merged to {tree.n_leaves:,}"
        return f"{merged}: {MEDOID_AND_SIZE}{noise}"
    return f"{hidden}clusters of level {tree.level}: {MEDOID_AND_SIZE}{noise}"


def _leaf_texts(medoids: IntArray, sizes: IntArray, leaf_labels: LeafLabels) -> list[str]:
    leaves = zip(medoids.tolist(), sizes.tolist(), strict=True)
    if callable(leaf_labels):
        return [str(leaf_labels(row, size)) for row, size in leaves]
    if leaf_labels is not None and len(leaf_labels) <= medoids.max():
        raise ValueError(
            f"leaf_labels has {len(leaf_labels):,} names, but there is a row {medoids.max():,}: "
            f"pass one name for each row of the data."
        )
    has_sizes = sizes.max() > 1
    names = "row {}".format if leaf_labels is None else leaf_labels.__getitem__
    return [f"{names(row)} ({size:,})" if has_sizes else f"{names(row)}" for row, size in leaves]


# -- nodes and coordinates; nothing is drawn here -------------------------------------------------------------------


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
    """Return the top of the tree of a hierarchy: at most ``max_clusters`` leaves, the largest if there are more."""
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
    roots = find_roots(hierarchy.parents, hierarchy.absorbed_at, min(tree.level, hierarchy.n_levels))
    sizes = np.bincount(roots, weights=hierarchy.row_sizes, minlength=hierarchy.n_rows)[leaves].astype(np.int64)
    size = np.bincount(group, weights=sizes).astype(np.int64)
    largest = largest_clusters(size, max_clusters)
    place = np.full(n_groups, -1)
    place[largest] = np.arange(len(largest))
    parent, height = _join_leaves(tree, place[group], hierarchy.n_levels if has_levels else np.inf)
    cluster = subject.labels[subject.hierarchy.find_leaves(tree.medoids)].astype(np.int64)
    low, high = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, SEVERAL_CLUSTERS)
    np.minimum.at(low, group, cluster)
    np.maximum.at(high, group, cluster)
    absorbed_at = hierarchy.absorbed_at[leaves].astype(np.int64)
    until = np.where(absorbed_at == 0, hierarchy.n_levels + 1, absorbed_at)
    order = np.lexsort((-sizes, -until, group))  # the medoid of a group was active longest, or is in the largest leaf
    made = Tree(
        parent=parent,
        height=height + first_level,
        medoid=tree.medoids[order[np.searchsorted(group[order], np.arange(n_groups))]][largest],
        size=size[largest],
        cluster=np.where(low == high, low, SEVERAL_CLUSTERS)[largest],
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
