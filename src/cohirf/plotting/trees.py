"""The tree of a fit as a dendrogram, and its levels as an icicle plot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.explain.words import count_of
from cohirf.plotting import layout
from cohirf.plotting.canvas import (
    FONT,
    add_lines,
    add_polygons,
    hide_spines,
    inches,
    label_x,
    line_height,
    make_axes,
    number_clusters,
    settle,
    text_width,
    units_per_inch,
)
from cohirf.plotting.colours import FAINT, INK, NOISE, PAPER, cluster_colours, mix, readable_on, to_rgb
from cohirf.plotting.layout import MIXED, Rectangles, find_subject
from cohirf.plotting.merge_layout import has_merges, merged_tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_TICKS = 12
MEDOID_AND_SIZE = "medoid (number of rows)"
LeafLabels = Callable[[int, int], str] | Sequence[str] | None
PIXELS_PER_INCH = 100
MIN_PIXELS = 0.5  # thinner rectangles cannot be seen
HALF = 0.46  # half of the height of a rectangle, in levels


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
    level: the height of a fusion is its level, a fusion of several clusters is one bar above all of them, and noise is
    grey.

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
        tree = merged_tree(subject, max_clusters)
    else:
        tree = layout.fusion_tree(layout.readable_top(subject, max_clusters, largest_only=True))
    lines = layout.dendrogram(tree)
    wedges = layout.leaf_wedges(tree, lines)
    ax = make_axes(ax, float(np.clip(1 + 0.135 * lines.x.max(), 5, 9.5)), 4.8)
    ax.set_xlim(lines.x[0] - 1, lines.x[tree.n_leaves - 1] + 1)
    ax.set_ylim(wedges.bottom, tree.top)
    _frame_tree(ax, tree)
    settle(ax)
    _draw_tree(ax, tree, lines, wedges)
    sizes = tree.size[: tree.n_leaves]
    label_x(ax, lines.x[: tree.n_leaves], _leaf_texts(tree.medoid, sizes, leaf_labels), sizes)
    return ax


def _draw_tree(ax: Axes, tree: layout.Tree, lines: layout.Dendrogram, wedges: layout.Wedges) -> None:
    colours = cluster_colours(tree.cluster)
    colours[tree.cluster == MIXED] = to_rgb(FAINT)
    add_polygons(ax, wedges.corners, mix(colours[wedges.leaf], 0.35))
    add_lines(ax, np.stack([lines.x, lines.x], axis=1), np.stack([lines.stem_start, lines.stem_end], axis=1), colours)
    bar_x = np.stack([lines.bar_start, lines.bar_end], axis=1)
    add_lines(ax, bar_x, np.stack([lines.bar_height, lines.bar_height], axis=1), colours[tree.n_leaves :])
    final = tree.final
    heights = lines.stem_end[final]
    if tree.cut_height is not None:  # where the tree is cut into the final clusters
        heights = np.full(len(final), tree.cut_height)
        ax.axhline(tree.cut_height, color=INK, linewidth=0.8, linestyle=(0, (5, 4)), zorder=1)
    on_lines = tree.levels is None
    number_clusters(ax, lines.x[final], heights, tree.cluster[final], tree.size[final], on_lines=on_lines)


def _frame_tree(ax: Axes, tree: layout.Tree) -> None:
    ax.tick_params(axis="y", length=0, labelsize=FONT + 1)
    ax.grid(axis="y", color=PAPER)
    ax.set_axisbelow(True)
    ax.set_ylabel("height of the merge" if tree.levels is None else "level")
    ax.set_xlabel(_describe_leaves(tree), color=FAINT)
    if tree.levels is None:
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= tree.top])
    else:
        step = -(-len(tree.levels) // MAX_TICKS)
        ax.set_yticks(tree.levels[::-step])
    hide_spines(ax, "top", "right", "bottom", "left")


def _describe_leaves(tree: layout.Tree) -> str:
    n_final, sizes = len(tree.final), tree.size[: tree.n_leaves]
    hidden = f"{n_final:,} largest of {n_final + tree.n_hidden:,} " if tree.n_hidden else ""
    noise = f"\n{count_of(tree.n_noise, 'noise row')} not shown" if tree.n_noise else ""
    if sizes.max() == 1:
        return f"{hidden}rows{noise}"
    if hidden and tree.levels is None:
        return f"{hidden}clusters: {MEDOID_AND_SIZE}{noise}"
    if tree.n_leaves < tree.n_merged:
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


def plot_icicle(hierarchy_or_model: Any, *, max_clusters: int = 5000, ax: Axes | None = None) -> Axes:
    """Plot each level as a row of rectangles, each above the clusters that fused into it.

    The width of a rectangle is the number of rows in its cluster. Colours are those of the final clusters, whose
    numbers are written at the top; noise is grey; finer levels are paler. Wide rectangles show the row number of their
    medoid. Clusters that are too thin to be seen are drawn as a pale background.

    Parameters
    ----------
    hierarchy_or_model : FusionHierarchy or fitted CoHiRF
        The hierarchy to plot.
    max_clusters : int, default=5000
        The finest level drawn is the first with at most this many clusters, or the last level if all have more.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    Raises
    ------
    ValueError
        If ``max_clusters`` is below 1.

    See Also
    --------
    plot_dendrogram : The same hierarchy as a tree.
    cohirf.report.write_report : A page with an interactive tree.

    Examples
    --------
    >>> from cohirf import FusionHierarchy
    >>> from cohirf.plotting import plot_icicle
    >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 0, 4, 4], absorbed_at=[0, 1, 1, 2, 0, 1])
    >>> ax = plot_icicle(hierarchy)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['level 1: 3 clusters', 'level 2: 2 clusters']
    """
    top = layout.readable_top(find_subject(hierarchy_or_model), max_clusters, largest_only=False)
    rectangles = layout.icicle(top)
    first_level, n_rows = int(rectangles.level[0]), int(rectangles.end.max())
    n_levels = top.last_level - first_level + 1
    ax = make_axes(ax, 7.5, float(np.clip(1.5 + 0.42 * n_levels, 2.2, 8)))
    ax.set_xlim(0, n_rows)
    ax.set_ylim(first_level - 0.5, top.last_level + 0.5)
    _frame_icicle(ax, rectangles)
    settle(ax)
    pixel = units_per_inch(ax) / PIXELS_PER_INCH
    seen = rectangles.where(rectangles.size >= MIN_PIXELS * pixel)
    final = seen.where(seen.level == top.last_level)
    _draw_ground(ax, final, first_level, top.last_level)
    _draw_rectangles(ax, seen, pixel)
    number_clusters(
        ax, (final.start + final.end) / 2, np.full(len(final.end), top.last_level + 0.5), final.cluster, final.size
    )
    return ax


def _draw_rectangles(ax: Axes, seen: Rectangles, pixel: float) -> None:
    depth = seen.level.max() - seen.level
    colours = mix(cluster_colours(seen.cluster), 0.4 * depth / max(depth.max(), 1))
    edges = np.clip(seen.size / pixel / 10, 0, 0.8)  # edges must not hide thin rectangles
    add_polygons(ax, _corners(seen.start, seen.end, seen.level - HALF, seen.level + HALF), colours, edges)
    inks = readable_on(colours)
    unit = units_per_inch(ax)
    fits_height = line_height() < 2 * HALF * inches(ax)[1] / abs(np.diff(ax.get_ylim())[0])
    for i, (row, level, start, end) in enumerate(zip(seen.medoid, seen.level, seen.start, seen.end, strict=True)):
        text = f"row {row}"
        if fits_height and text_width([text]) * unit < 0.95 * (end - start):
            ax.text((start + end) / 2, level, text, color=inks[i], fontsize=FONT, ha="center", va="center")


def _draw_ground(ax: Axes, final: Rectangles, first_level: int, last_level: int) -> None:
    """Draw the background that represents thin clusters: grey, and pale colours below each final cluster."""
    levels = np.arange(first_level, last_level + 1)
    x_end = np.full(len(levels), ax.get_xlim()[1])
    grey = np.broadcast_to(mix(to_rgb(NOISE), 0.6), (len(levels), 3))
    add_polygons(ax, _corners(0 * x_end, x_end, levels - HALF, levels + HALF), grey)
    start, end = np.tile(final.start, len(levels)), np.tile(final.end, len(levels))
    level = np.repeat(levels, len(final.start))
    pale = np.tile(mix(cluster_colours(final.cluster), 0.75), (len(levels), 1))
    add_polygons(ax, _corners(start, end, level - HALF, level + HALF), pale)


def _corners(left: Any, right: Any, bottom: Any, top: Any) -> layout.Floats:
    return np.stack([left, bottom, left, top, right, top, right, bottom], axis=1).reshape(-1, 4, 2).astype(np.float64)


def _frame_icicle(ax: Axes, rectangles: Rectangles) -> None:
    every = np.unique(rectangles.level)
    step = int(np.ceil(len(every) * 1.3 * line_height() / inches(ax)[1]))
    levels = every[::-step][::-1]
    ax.set_yticks(levels, [_describe_level(rectangles.where(rectangles.level == level)) for level in levels.tolist()])
    ax.tick_params(length=0, labelsize=FONT + 1)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set_xlabel("rows, ordered so that each cluster is above the clusters that fused into it", color=FAINT)
    hide_spines(ax, "top", "right", "bottom", "left")


def _describe_level(of_level: Rectangles) -> str:
    is_noise = of_level.cluster < 0
    n_noise = int(of_level.size[is_noise].sum())
    noise = f", {count_of(n_noise, 'noise row')}" if n_noise else ""
    return f"level {of_level.level[0]}: {count_of(int(np.count_nonzero(~is_noise)), 'cluster')}{noise}"
