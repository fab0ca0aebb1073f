"""The tree of a fit as a dendrogram: its nodes and their coordinates, in plain numbers, and how it
is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list

from cohirf.app.plotting.canvas import (
    Subject,
    add_lines,
    cluster_colours,
    find_subject,
    hide_spines,
    label_x,
    make_axes,
    settle_axes,
    to_rgb,
    write_numbers,
)
from cohirf.app.plotting.style import STYLE
from cohirf.hierarchy import find_roots, has_merges, with_tree
from cohirf.optional import import_optional
from cohirf.rows import FloatArray, IntArray
from cohirf.wording import count_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEVERAL_CLUSTERS = -2  # the cluster of a node above the final clusters
LeafLabels = Callable[[int, int], str] | Sequence[str] | None


def plot_dendrogram(
    hierarchy_or_model: Any,
    *,
    max_clusters: int = 50,
    leaf_labels: LeafLabels = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the top of a hierarchy as a dendrogram.

    The hierarchy of a fit has a tree, in which clusters merge pairwise up to a single one: the
    height of a merge is that of Ward's criterion, for all merges. A dashed line shows where the
    tree is cut into the final clusters. Noise rows are not in the tree. A hierarchy without a tree
    is drawn up to its last level: the height of a fusion is its level.

    Colours are those of the final clusters, whose numbers are written on their lines.

    Parameters
    ----------
    hierarchy_or_model : FusionHierarchy or fitted CoHiRF
        The hierarchy to plot.
    max_clusters : int, default=50
        Largest number of leaves. If the tree has more, it is cut into this many clusters, which
        become the leaves; without a tree, they are the clusters of the finest level with at most
        this many clusters, or all of the last.
    leaf_labels : callable or sequence of str, default=None
        Texts below the leaves. By default, the row number of the medoid, and the number of rows in
        the leaf. A sequence must have one name for each row of the data; the name of the medoid
        then replaces its row number. A callable is called with the row number of the medoid and the
        number of rows, and returns the text.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    See Also
    --------
    cohirf.app.explain.write_report : A page with an interactive tree.
    cohirf.FusionHierarchy.to_linkage : The input of scipy's own dendrogram.

    Examples
    --------
    >>> from cohirf import FusionHierarchy
    >>> from cohirf.app.plotting import plot_dendrogram
    >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 0, 4, 4], absorbed_at=[0, 1, 1, 2, 0, 1])
    >>> ax = plot_dendrogram(hierarchy, max_clusters=3)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['row 0 (3)', 'row 3 (1)', 'row 4 (2)']
    """
    tree = merged_tree(find_subject(hierarchy_or_model), max_clusters)
    x = tree.places
    medoids = tree.medoid
    sizes = tree.size[: tree.n_leaves]
    ax = make_axes(ax, float(np.clip(1 + 0.135 * x.max(), 5, 9.5)), 4.8)
    ax.set_xlim(-1, x[tree.n_leaves - 1] + 1)
    ax.set_ylim(tree.ground, tree.top)
    _frame_tree(ax, tree)
    settle_axes(ax)
    _draw_tree(ax, tree, x)
    label_x(ax, x[: tree.n_leaves], _leaf_texts(medoids, sizes, leaf_labels), sizes)
    return ax


def _draw_tree(ax: Axes, tree: Tree, x: FloatArray) -> None:
    colours = cluster_colours(tree.cluster)
    final = tree.final
    colours[tree.cluster == SEVERAL_CLUSTERS] = to_rgb(STYLE.faint)
    ends = np.where(tree.parent >= 0, tree.height[tree.parent], tree.top)
    bars = tree.linkage[:, 2]
    add_lines(ax, np.stack([x, x], axis=1), np.stack([tree.height, ends], axis=1), colours)
    add_lines(
        ax,
        x[tree.linkage[:, :2].astype(np.int64)],
        np.stack([bars, bars], axis=1),
        colours[tree.n_leaves :],
    )
    heights = ends[final]
    if tree.cut_height is not None:  # where the tree is cut into the final clusters
        heights = np.full(len(final), tree.cut_height)
        ax.axhline(tree.cut_height, color=STYLE.ink, linewidth=0.8, linestyle=(0, (5, 4)), zorder=1)
    write_numbers(
        ax, x[final], heights, tree.cluster[final], tree.size[final], on_lines=not tree.has_levels
    )


def _frame_tree(ax: Axes, tree: Tree) -> None:
    ax.tick_params(axis="y", length=0, labelsize=STYLE.font + 1)
    ax.grid(axis="y", color=STYLE.paper)
    ax.set_axisbelow(True)
    ax.set_ylabel("level" if tree.has_levels else "height of the merge")
    ax.set_xlabel(_describe_leaves(tree), color=STYLE.faint)
    if tree.has_levels:
        ticker = import_optional("matplotlib.ticker", "plotting", "A plot")
        ax.yaxis.set_major_locator(ticker.MaxNLocator(STYLE.ticks, integer=True))
    ax.set_yticks([tick for tick in ax.get_yticks() if tree.ground <= tick <= tree.top])
    hide_spines(ax, "top", "right", "bottom", "left")


def _describe_leaves(tree: Tree) -> str:
    if tree.n_noise:
        noise = f"\n{count_of(tree.n_noise, 'noise row')} not shown"
    else:
        noise = ""
    if tree.size[: tree.n_leaves].max() == 1:
        return f"rows{noise}"
    what = f"clusters of level {tree.level}"
    is_cut = tree.n_leaves < tree.n_merged
    if is_cut:
        what = f"{tree.n_merged:,} {what}, merged to {tree.n_leaves:,}"
    else:
        what = what
    return f"{what}: medoid (number of rows){noise}"


def _leaf_texts(medoids: IntArray, sizes: IntArray, leaf_labels: LeafLabels) -> list[str]:
    leaves = zip(medoids.tolist(), sizes.tolist(), strict=True)
    if callable(leaf_labels):
        return [str(leaf_labels(row, size)) for row, size in leaves]
    if leaf_labels is not None and len(leaf_labels) <= medoids.max():
        raise ValueError(
            f"leaf_labels has {len(leaf_labels):,} names, but there is a row {medoids.max():,}: "
            "pass one name for each row of the data."
        )
    has_sizes = sizes.max() > 1
    names = "row {}".format if leaf_labels is None else leaf_labels.__getitem__
    return [f"{names(row)} ({size:,})" if has_sizes else f"{names(row)}" for row, size in leaves]


# -- nodes and coordinates; nothing is drawn here


@dataclass(frozen=True)
class Tree:
    """Clusters as nodes of a tree: leaves from left to right, then one node per merge, in order of
    height.
    """

    # the merges, in the format of SciPy; those of a hierarchy without a tree end at its last level
    linkage: FloatArray
    # medoid of each leaf. If it is the union of several clusters of a level, the one that the fit
    # absorbed last.
    medoid: IntArray
    size: IntArray  # number of rows of each node
    # the final cluster of each node; -1 for noise, and ``SEVERAL_CLUSTERS`` if it has rows of
    # several
    cluster: IntArray
    ground: float  # height of the leaves
    level: int  # the level whose clusters are the leaves, or are merged into the leaves
    n_merged: int  # number of clusters of this level
    n_noise: int  # number of noise rows that are not in the tree
    # a height between the merges within final clusters and those above; None if no height separates
    # them
    cut_height: float | None
    has_levels: bool  # whether heights are levels, because the hierarchy has no tree

    @property
    def n_leaves(self) -> int:
        """Number of leaves, which are the first nodes."""
        return len(self.medoid)

    @cached_property
    def parent(self) -> IntArray:
        """The node that each node merges into; -1 if there is none."""
        parent = np.full(self.n_leaves + len(self.linkage), -1)
        parent[self.linkage[:, :2].astype(np.int64).ravel()] = np.repeat(
            np.arange(self.n_leaves, len(parent)), 2
        )
        return parent

    @property
    def height(self) -> FloatArray:
        """Height of each node."""
        return np.concatenate([np.full(self.n_leaves, self.ground), self.linkage[:, 2]])

    @property
    def top(self) -> float:
        """Height at which nodes without a parent end."""
        return self.ground + 1.08 * (float(self.height.max()) - self.ground or 1.0)

    @property
    def final(self) -> IntArray:
        """The nodes of final clusters: those whose parent has rows of other final clusters."""
        is_top = (self.parent < 0) | (self.cluster[self.parent] != self.cluster)
        return np.flatnonzero(is_top & (self.cluster != SEVERAL_CLUSTERS))

    @property
    def places(self) -> FloatArray:
        """Where each node is from left to right: leaves have distance 1, and a gap more between
        final clusters.
        """
        of_leaf = self.cluster[: self.n_leaves]
        x = (
            np.arange(self.n_leaves)
            + STYLE.gap * np.cumsum(np.diff(of_leaf, prepend=of_leaf[:1]) != 0)
        ).tolist()
        for left, right in self.linkage[:, :2].astype(np.int64).tolist():
            x.append((x[left] + x[right]) / 2)
        return np.array(x)


def merged_tree(subject: Subject, max_clusters: int) -> Tree:
    """Return the top of the tree of a hierarchy, with at most ``max_clusters`` leaves."""
    if max_clusters < 1:
        raise ValueError(f"max_clusters={max_clusters} is not valid: pass an int >= 1.")
    has_levels = not has_merges(subject.hierarchy)
    hierarchy, tree = with_tree(subject.hierarchy, max_clusters)
    ground = subject.hierarchy.n_levels - hierarchy.n_levels
    leaves = hierarchy.find_leaves(tree.medoids)
    n_leaves = tree.n_leaves
    if has_levels:
        group: IntArray = np.arange(n_leaves)
    else:
        group = tree.cut(min(n_leaves, max_clusters))
    roots = find_roots(
        hierarchy.parents, hierarchy.absorbed_at, min(tree.level, hierarchy.n_levels)
    )
    sizes = np.bincount(roots, weights=hierarchy.row_sizes, minlength=hierarchy.n_rows)[
        leaves
    ].astype(np.int64)
    absorbed_at = hierarchy.absorbed_at[leaves].astype(np.int64)
    until = np.where(absorbed_at == 0, hierarchy.n_levels + 1, absorbed_at)
    # the medoid of a group was active longest, or is in the largest leaf
    by_age = np.lexsort((-sizes, -until, group))
    medoid = tree.medoids[by_age[np.unique(group[by_age], return_index=True)[1]]]
    pruned = tree.prune(medoid[group])
    place = np.searchsorted(pruned.medoids, medoid)[group]
    cluster: IntArray = subject.labels[subject.hierarchy.find_leaves(tree.medoids)].astype(np.int64)
    low = np.full(pruned.n_leaves, np.iinfo(np.int64).max)
    high = np.full(pruned.n_leaves, SEVERAL_CLUSTERS)
    np.minimum.at(low, place, cluster)
    np.maximum.at(high, place, cluster)
    size: IntArray = np.bincount(place, weights=sizes).astype(np.int64)
    cluster = np.where(low == high, low, SEVERAL_CLUSTERS)
    highest = hierarchy.n_levels if has_levels else np.inf
    linkage, order, size, cluster = _in_order(pruned.linkage, size, cluster, highest)
    return Tree(
        linkage=np.add(linkage, [0, 0, ground, 0]),
        medoid=pruned.medoids[order],
        size=size,
        cluster=cluster,
        ground=float(ground),
        level=ground + min(tree.level, hierarchy.n_levels),
        n_merged=n_leaves,
        n_noise=hierarchy.count_rows() - int(sizes.sum()),
        cut_height=None if has_levels else _cut_height(tree.linkage[:, 2], linkage[:, 2], cluster),
        has_levels=has_levels,
    )


def _in_order(
    linkage: FloatArray, size: IntArray, cluster: IntArray, highest: float
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return merges of leaves that are numbered from left to right, the order of these, and all
    sizes and clusters.

    Of the parts of a merge, the one with the lowest final cluster is on the left, noise on the
    right; within a final cluster, the larger part. Merges above the highest, which are none, are
    left out.
    """
    n_leaves = len(size)
    linkage = linkage.copy()
    rank = np.where(cluster < 0, np.inf, cluster).tolist()
    sizes = size.tolist()
    clusters = cluster.tolist()
    for merge in linkage:
        left, right = sorted(
            merge[:2].astype(np.int64).tolist(), key=lambda part: (rank[part], -sizes[part])
        )
        merge[:2] = left, right
        rank.append(rank[left])
        sizes.append(sizes[left] + sizes[right])
        clusters.append(clusters[left] if clusters[left] == clusters[right] else SEVERAL_CLUSTERS)
    if len(linkage):
        order = leaves_list(linkage).astype(np.int64)
    else:
        order = np.arange(1)
    linkage = linkage[linkage[:, 2] <= highest]
    if np.isinf(highest):
        order = order
    else:
        order = order[np.argsort(np.array(rank)[order], kind="stable")]
    number = np.arange(n_leaves + len(linkage))
    number[order] = np.arange(n_leaves)
    linkage[:, :2] = number[linkage[:, :2].astype(np.int64)]
    moved = np.argsort(number)
    return linkage, order, np.array(sizes)[moved], np.array(clusters)[moved]


def _cut_height(heights: FloatArray, shown: FloatArray, cluster: IntArray) -> float | None:
    """Return a height that separates merges of several final clusters from all others, of which
    some are not shown.
    """
    n_leaves = len(cluster) - len(shown)
    is_several = cluster[n_leaves:] == SEVERAL_CLUSTERS
    above = shown[is_several].min(initial=np.inf)
    if (cluster[:n_leaves] == SEVERAL_CLUSTERS).any() or shown[~is_several].max(
        initial=0.0
    ) > above:
        return None
    below = heights[: np.searchsorted(heights, above)].max(initial=0.0)
    above = 1.1 * max(below, 0.5) if np.isinf(above) else above
    return float(below + above) / 2
