"""The dendrogram: each merge or fusion is a bar above the clusters that it joins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.plotting import layout
from cohirf.plotting.colours import FAINT, INK, PAPER, Colours, cluster_colours, mix, to_rgb
from cohirf.plotting.merge_layout import MIXED, MergedTree, has_merges, merged_tree
from cohirf.plotting.static.canvas import (
    FONT,
    add_lines,
    add_polygons,
    count_of,
    hide_spines,
    label_x,
    make_axes,
    number_clusters,
    settle,
)
from cohirf.plotting.subject import find_subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_TICKS = 12
MEDOID_AND_SIZE = "medoid (number of rows)"
LeafLabels = Callable[[int, int], str] | Sequence[str] | None


def plot_dendrogram(
    hierarchy_or_model: Any,
    *,
    max_clusters: int = 50,
    leaf_labels: LeafLabels = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the top of a hierarchy as a dendrogram.

    The hierarchy of a fit has a tree, in which clusters merge pairwise up to a single one: the height of a merge is
    that of Ward's criterion, and a dashed line shows where the tree is cut into the final clusters. Noise rows are not
    in the tree. A hierarchy without a tree is drawn up to its last level: the height of a fusion is its level, a fusion
    of several clusters is one bar above all of them, and noise is grey.

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

    Raises
    ------
    ValueError
        If ``max_clusters`` is below 1, or ``leaf_labels`` is a sequence with fewer names than the data has rows.
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    plot_icicle : Shows many more clusters, and their sizes to scale.
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
    subject = find_subject(hierarchy_or_model)
    if has_merges(subject.hierarchy):
        return _plot_merges(merged_tree(subject, max_clusters), leaf_labels, ax)
    return _plot_levels(layout.readable_top(subject, max_clusters, largest_only=True), leaf_labels, ax)


def _plot_merges(tree: MergedTree, leaf_labels: LeafLabels, ax: Axes | None) -> Axes:
    highest = float(tree.height.max()) or 1.0
    places = layout.leaf_places(tree.cluster[: tree.n_leaves])
    lines = layout.dendrogram(tree, places, 1.08 * highest)
    wedges = layout.leaf_wedges(tree, lines)
    ax = _make_axes(ax, lines, wedges, tree.n_leaves)
    _frame(ax, "height of the merge (Ward)", _describe_merged(tree))
    ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= lines.top])
    settle(ax)
    colours = cluster_colours(tree.cluster)
    colours[tree.cluster == MIXED] = to_rgb(FAINT)
    _draw(ax, tree.n_leaves, lines, wedges, colours)
    _mark_cut(ax, tree)
    final = tree.final
    heights = lines.stem_end[final] if tree.cut_height is None else np.full(len(final), tree.cut_height)
    number_clusters(ax, lines.x[final], heights, tree.cluster[final], tree.size[final], on_lines=True)
    _label_leaves(ax, tree.medoid, tree.size[: tree.n_leaves], lines, leaf_labels)
    return ax


def _plot_levels(top: layout.Top, leaf_labels: LeafLabels, ax: Axes | None) -> Axes:
    tree = layout.fusion_tree(top)
    places = layout.leaf_places(layout.final_nodes(tree)[: tree.n_leaves])
    lines = layout.dendrogram(tree, places, layout.top_of_levels(top.first_level, top.last_level))
    wedges = layout.leaf_wedges(tree, lines)
    ax = _make_axes(ax, lines, wedges, tree.n_leaves)
    _frame(ax, "level", _describe_leaves(top))
    step = -(-(top.last_level - top.first_level + 1) // MAX_TICKS)
    ax.set_yticks(np.arange(top.last_level, top.first_level - 1, -step))
    settle(ax)
    _draw(ax, tree.n_leaves, lines, wedges, cluster_colours(tree.cluster))
    final = np.flatnonzero(tree.parent < 0)
    number_clusters(ax, lines.x[final], np.full(len(final), lines.top), tree.cluster[final], tree.size[final])
    _label_leaves(ax, tree.medoid[: tree.n_leaves], tree.size[: tree.n_leaves], lines, leaf_labels)
    return ax


def _make_axes(ax: Axes | None, lines: layout.Dendrogram, wedges: layout.Wedges, n_leaves: int) -> Axes:
    ax = make_axes(ax, float(np.clip(1 + 0.135 * lines.x.max(), 5, 9.5)), 4.8)
    ax.set_xlim(lines.x[0] - 1, lines.x[n_leaves - 1] + 1)
    ax.set_ylim(wedges.bottom, lines.top)
    return ax


def _draw(ax: Axes, n_leaves: int, lines: layout.Dendrogram, wedges: layout.Wedges, colours: Colours) -> None:
    add_polygons(ax, wedges.corners, mix(colours[wedges.leaf], 0.35))
    add_lines(ax, np.stack([lines.x, lines.x], axis=1), np.stack([lines.stem_start, lines.stem_end], axis=1), colours)
    bar_x = np.stack([lines.bar_start, lines.bar_end], axis=1)
    add_lines(ax, bar_x, np.stack([lines.bar_height, lines.bar_height], axis=1), colours[n_leaves:])


def _mark_cut(ax: Axes, tree: MergedTree) -> None:
    """Draw a line at the height at which the tree is cut into the final clusters."""
    if tree.cut_height is None:
        return
    ax.axhline(tree.cut_height, color=INK, linewidth=0.8, linestyle=(0, (5, 4)), zorder=1)


def _frame(ax: Axes, heights: str, leaves: str) -> None:
    ax.tick_params(axis="y", length=0, labelsize=FONT + 1)
    ax.grid(axis="y", color=PAPER)
    ax.set_axisbelow(True)
    ax.set_ylabel(heights)
    ax.set_xlabel(leaves, color=FAINT)
    hide_spines(ax, "top", "right", "bottom", "left")


def _describe_merged(tree: MergedTree) -> str:
    n_leaves = tree.n_leaves
    noise = f"\n{count_of(tree.n_noise, 'noise row')} not shown" if tree.n_noise else ""
    if tree.n_hidden:
        return f"{n_leaves:,} largest of {n_leaves + tree.n_hidden:,} clusters: {MEDOID_AND_SIZE}{noise}"
    if n_leaves < tree.n_merged:
        return f"{tree.n_merged:,} clusters of level {tree.level}, merged to {n_leaves:,}: {MEDOID_AND_SIZE}{noise}"
    if tree.size[:n_leaves].max() == 1:
        return f"rows{noise}"
    return f"clusters of level {tree.level}: {MEDOID_AND_SIZE}{noise}"


def _describe_leaves(top: layout.Top) -> str:
    shown = f"{top.n_final:,} largest of {top.n_clusters:,} " if top.n_final < top.n_clusters else ""
    if top.hierarchy.row_sizes is not None and top.hierarchy.row_sizes.max() > 1:
        return f"{shown}clusters of level {top.first_level}: {MEDOID_AND_SIZE}"
    return f"{shown}rows"


def _label_leaves(
    ax: Axes, medoids: IntArray, sizes: IntArray, lines: layout.Dendrogram, leaf_labels: LeafLabels
) -> None:
    label_x(ax, lines.x[: len(medoids)], _leaf_texts(medoids, sizes, leaf_labels), sizes)


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
