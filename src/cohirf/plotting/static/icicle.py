"""The icicle plot: clusters as rectangles, each above the clusters that fused into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.plotting import layout
from cohirf.plotting.colours import FAINT, NOISE, cluster_colours, mix, readable_on, to_rgb
from cohirf.plotting.layout import Rectangles
from cohirf.plotting.static.canvas import (
    FONT,
    add_polygons,
    count_of,
    hide_spines,
    inches,
    line_height,
    make_axes,
    number_clusters,
    settle,
    text_width,
    units_per_inch,
)
from cohirf.plotting.subject import find_subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PIXELS_PER_INCH = 100
MIN_PIXELS = 0.5  # thinner rectangles cannot be seen
HALF = 0.46  # half of the height of a rectangle, in levels


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
    ImportError
        If matplotlib is not installed.

    See Also
    --------
    plot_dendrogram : The same hierarchy as a tree.
    plot_sunburst : An interactive plot of it.

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
    _frame(ax, rectangles)
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


def _frame(ax: Axes, rectangles: Rectangles) -> None:
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
