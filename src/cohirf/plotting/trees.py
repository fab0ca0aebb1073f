"""The tree of a fit as a dendrogram."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.optional import import_optional
from cohirf.plotting.canvas import FONT, add_lines, hide_spines, label_x, make_axes, settle_axes, write_numbers
from cohirf.plotting.colours import FAINT, INK, PAPER, cluster_colours, mix, to_rgb
from cohirf.plotting.layout import (
    SEVERAL_CLUSTERS,
    Dendrogram,
    Tree,
    Wedges,
    dendrogram,
    find_subject,
    leaf_wedges,
    merged_tree,
)
from cohirf.rows.grouping import IntArray
from cohirf.sources.source import count_of

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
    cohirf.report.write_report : A page with an interactive tree.
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
