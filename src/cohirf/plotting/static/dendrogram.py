"""The dendrogram: each fusion is a bar above the clusters that it fuses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.plotting import layout
from cohirf.plotting.colours import FAINT, PAPER, cluster_colours, mix
from cohirf.plotting.static.canvas import (
    FONT,
    add_lines,
    add_polygons,
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
LeafLabels = Callable[[int, int], str] | Sequence[str] | None


def plot_dendrogram(
    hierarchy_or_model: Any,
    *,
    max_clusters: int = 50,
    leaf_labels: LeafLabels = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot the top of a hierarchy as a dendrogram.

    The height of a fusion is its level. A fusion of several clusters is one bar above all of them. Colours are those of
    the final clusters, whose numbers are written at the top; noise is grey. The wedges below the leaves show how many
    rows each leaf contains: their length is proportional to the logarithm of the number of rows.

    Parameters
    ----------
    hierarchy_or_model : FusionHierarchy or fitted CoHiRF
        The hierarchy to plot.
    max_clusters : int, default=50
        Largest number of leaves. The leaves are the clusters of the finest level with at most this many clusters. If
        even the last level has more, its largest clusters are drawn.
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
    top = layout.readable_top(find_subject(hierarchy_or_model), max_clusters, largest_only=True)
    tree = layout.fusion_tree(top)
    lines = layout.dendrogram(tree, top.last_level)
    wedges = layout.leaf_wedges(tree, lines)
    texts = _leaf_texts(tree, leaf_labels)
    ax = make_axes(ax, float(np.clip(1 + 0.135 * lines.x.max(), 5, 9.5)), 4.8)
    ax.set_xlim(lines.x[0] - 1, lines.x[tree.n_leaves - 1] + 1)
    ax.set_ylim(wedges.bottom, lines.top)
    _frame(ax, top)
    settle(ax)
    _draw(ax, tree, lines, wedges)
    label_x(ax, lines.x[: tree.n_leaves], texts, tree.size[: tree.n_leaves])
    return ax


def _draw(ax: Axes, tree: layout.FusionTree, lines: layout.Dendrogram, wedges: layout.Wedges) -> None:
    colours = cluster_colours(tree.cluster)
    add_polygons(ax, wedges.corners, mix(colours[wedges.leaf], 0.35))
    add_lines(ax, np.stack([lines.x, lines.x], axis=1), np.stack([lines.stem_start, lines.stem_end], axis=1), colours)
    bar_x = np.stack([lines.bar_start, lines.bar_end], axis=1)
    add_lines(ax, bar_x, np.stack([lines.bar_height, lines.bar_height], axis=1), colours[tree.n_leaves :])
    final = tree.parent < 0
    number_clusters(ax, lines.x[final], lines.top, tree.cluster[final], tree.size[final])


def _frame(ax: Axes, top: layout.Top) -> None:
    step = -(-(top.last_level - top.first_level + 1) // MAX_TICKS)
    ax.set_yticks(np.arange(top.last_level, top.first_level - 1, -step))
    ax.tick_params(axis="y", length=0, labelsize=FONT + 1)
    ax.grid(axis="y", color=PAPER)
    ax.set_axisbelow(True)
    ax.set_ylabel("level")
    ax.set_xlabel(_describe_leaves(top), color=FAINT)
    hide_spines(ax, "top", "right", "bottom", "left")


def _describe_leaves(top: layout.Top) -> str:
    shown = f"{top.n_final:,} largest of {top.n_clusters:,} " if top.n_final < top.n_clusters else ""
    if top.hierarchy.row_sizes is not None and top.hierarchy.row_sizes.max() > 1:
        return f"{shown}clusters of level {top.first_level}: medoid (number of rows)"
    return f"{shown}rows"


def _leaf_texts(tree: layout.FusionTree, leaf_labels: LeafLabels) -> list[str]:
    leaves = zip(tree.medoid[: tree.n_leaves].tolist(), tree.size[: tree.n_leaves].tolist(), strict=True)
    if callable(leaf_labels):
        return [str(leaf_labels(row, size)) for row, size in leaves]
    if leaf_labels is not None and len(leaf_labels) <= tree.medoid.max():
        raise ValueError(
            f"leaf_labels has {len(leaf_labels):,} names, but there is a row {tree.medoid.max():,}: "
            f"pass one name for each row of the data."
        )
    has_sizes = tree.size[: tree.n_leaves].max() > 1
    names = "row {}".format if leaf_labels is None else leaf_labels.__getitem__
    return [f"{names(row)} ({size:,})" if has_sizes else f"{names(row)}" for row, size in leaves]
