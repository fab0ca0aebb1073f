"""Axes, and labels that fit into them: what all static plots share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cohirf.optional import import_optional
from cohirf.plotting.colours import Colours, cluster_colours, readable_on_white
from cohirf.plotting.layout import choose_apart
from cohirf.rows.grouping import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS_PER_INCH = 72
FONT = 8.0  # points
LETTER = 0.6  # width of a letter, in font sizes
MAX_ARRANGED = 4  # number of axes above which the layout engine is too slow to run early
LINE = 1.4  # height of a line, in font sizes


def make_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return ``ax`` or, if it is None, new axes in a figure of ``width`` by ``height`` inches."""
    pyplot = import_optional("matplotlib.pyplot", "plotting", "A plot")
    if ax is not None:
        return ax
    _, made = pyplot.subplots(figsize=(width, height), layout="constrained")
    axes: Axes = made
    return axes


def settle_axes(ax: Axes) -> None:
    """Run the layout engine of the figure now, so that the axes have their final size.

    This is slow in figures with many axes; their sizes are then used as they are.
    """
    figure: Any = ax.figure.figure  # the whole figure, if the axes are in a subfigure
    engine = figure.get_layout_engine()
    if engine is not None and len(figure.axes) <= MAX_ARRANGED:
        engine.execute(figure)


def inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of the axes in inches."""
    box = ax.get_window_extent()
    dpi = ax.figure.dpi
    return box.width / dpi, box.height / dpi


def text_width(texts: Sequence[str]) -> float:
    """Return the approximate width in inches of the longest line of the texts."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return longest * LETTER * FONT / POINTS_PER_INCH


def line_height() -> float:
    """Return the height of a line of text in inches."""
    return LINE * FONT / POINTS_PER_INCH


def units_per_inch(ax: Axes) -> float:
    """Return the number of units of the x axis per inch."""
    start, end = ax.get_xlim()
    return abs(end - start) / inches(ax)[0]


def label_x(ax: Axes, places: FloatArray, texts: Sequence[str], priority: IntArray) -> None:
    """Label positions on the x axis: horizontally if all texts fit, else rotated, by priority if not all fit."""
    unit = units_per_inch(ax)
    slot = np.diff(np.sort(places)).min(initial=np.inf)
    upright = text_width(texts) * unit > 0.95 * slot
    chosen = choose_apart(places, priority, 0.85 * line_height() * unit) if upright else np.arange(len(places))
    ax.set_xticks(places[chosen], [texts[i] for i in chosen.tolist()], rotation=90 if upright else 0, fontsize=FONT)
    ax.tick_params(axis="x", length=0)


def write_numbers(
    ax: Axes, places: FloatArray, heights: FloatArray, clusters: IntArray, priority: IntArray, *, on_lines: bool = False
) -> None:
    """Write the numbers of clusters side by side; leave out noise, and numbers that would overlap others.

    A number stands above its point; with ``on_lines``, at the point itself, on white, so that a line stays readable.
    """
    known = np.flatnonzero(clusters >= 0)
    texts = [str(cluster) for cluster in clusters[known].tolist()]
    gap = 1.5 * text_width(texts) * units_per_inch(ax)
    colours = readable_on_white(cluster_colours(clusters[known]))
    place: dict[str, Any] = {"xytext": (0, 3), "va": "baseline"}
    if on_lines:
        box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"}
        place = {"xytext": (0, 0), "va": "center_baseline", "bbox": box}
    for i in choose_apart(places[known], priority[known], gap).tolist():
        ax.annotate(
            texts[i],
            (places[known[i]], heights[known[i]]),
            textcoords="offset points",
            color=colours[i],
            fontsize=FONT + 1,
            weight="bold",
            ha="center",
            **place,
        )


def add_lines(ax: Axes, x: FloatArray, y: FloatArray, colours: Colours) -> None:
    """Draw one line per row of ``x`` and ``y``, which hold its two ends; thinner if the x axis is dense."""
    collections = import_optional("matplotlib.collections", "plotting", "A plot")
    width = float(np.clip(0.3 * POINTS_PER_INCH / units_per_inch(ax), 0.3, 1.6))
    ax.add_collection(collections.LineCollection(np.stack([x, y], axis=2), colors=colours, linewidths=width))


def hide_spines(ax: Axes, *names: str) -> None:
    """Hide the named sides of the frame."""
    for name in names:
        ax.spines[name].set_visible(False)
