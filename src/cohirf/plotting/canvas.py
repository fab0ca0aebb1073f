"""What all static plots share: the model or hierarchy that is plotted, axes, and labels that fit into them."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy
from cohirf.hierarchy.outline import final_labels
from cohirf.optional import import_optional
from cohirf.plotting.colours import Colours, cluster_colours, readable_on_white
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.summary.numbers import cluster_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS_PER_INCH = 72
FONT = 8.0  # points
LETTER = 0.6  # width of a letter, in font sizes
MAX_ARRANGED = 4  # number of axes above which the layout engine is too slow to run early
LINE = 1.4  # height of a line, in font sizes


@dataclass(frozen=True)
class Subject:
    """A hierarchy, and the final cluster of each of its leaves: -1 for noise."""

    hierarchy: FusionHierarchy
    labels: IntArray


def find_subject(given: Any) -> Subject:
    """Return the hierarchy of ``given``, a fitted model or a hierarchy, with its final clusters."""
    if isinstance(given, FusionHierarchy):
        return Subject(given, final_labels(given))
    model = check_plotted(given, "a fitted CoHiRF or a FusionHierarchy")
    return Subject(model.hierarchy_, cluster_positions(model))


def check_plotted(given: Any, wanted: str = "a fitted CoHiRF") -> CoHiRF:
    """Return ``given`` if it is a fitted model."""
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return given
    shown = f"{' '.join(reprlib.repr(given).split())} of type {type(given).__name__}"
    raise TypeError(f"{shown} cannot be plotted: pass {wanted}.")


def make_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return ``ax`` or, if it is None, new axes in a figure of ``width`` by ``height`` inches."""
    pyplot = import_optional("matplotlib.pyplot", "plotting", "A plot")
    made: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax
    return made


def settle_axes(ax: Axes) -> None:
    """Run the layout engine of the figure now, so that the axes have their final size, unless it has many axes."""
    figure: Any = ax.figure.figure  # the whole figure, if the axes are in a subfigure
    engine = figure.get_layout_engine()
    if engine is not None and len(figure.axes) <= MAX_ARRANGED:
        engine.execute(figure)


def inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of the axes in inches."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def text_width(texts: Sequence[str]) -> float:
    """Return the approximate width in inches of the longest line of the texts."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return longest * LETTER * FONT / POINTS_PER_INCH


def units_per_inch(ax: Axes) -> float:
    """Return the number of units of the x axis per inch."""
    start, end = ax.get_xlim()
    return abs(end - start) / inches(ax)[0]


def label_x(ax: Axes, places: FloatArray, texts: Sequence[str], priority: IntArray) -> None:
    """Label positions on the x axis: horizontally if all texts fit, else rotated, by priority if not all fit."""
    unit = units_per_inch(ax)
    slot = np.diff(np.sort(places)).min(initial=np.inf)
    upright = text_width(texts) * unit > 0.95 * slot
    line = LINE * FONT / POINTS_PER_INCH  # inches
    chosen = choose_apart(places, priority, 0.85 * line * unit) if upright else np.arange(len(places))
    ax.set_xticks(places[chosen], [texts[i] for i in chosen.tolist()], rotation=90 if upright else 0, fontsize=FONT)
    ax.tick_params(axis="x", length=0)


def write_numbers(
    ax: Axes, places: FloatArray, heights: FloatArray, clusters: IntArray, priority: IntArray, *, on_lines: bool = False
) -> None:
    """Write numbers of clusters side by side above points, or on lines; leave out noise, and numbers that overlap."""
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


def choose_apart(places: FloatArray, priority: IntArray, gap: float) -> IntArray:
    """Choose points to label such that any two of them are at least ``gap`` apart along some axis."""
    points = places[:, None] if places.ndim == 1 else places
    is_free = np.ones(len(points), dtype=bool)
    chosen = []
    for point in np.argsort(-priority, kind="stable"):
        if is_free[point]:
            chosen.append(point)
            is_free &= np.abs(points - points[point]).max(axis=1) >= gap
    return np.sort(np.array(chosen, dtype=np.int64))


def largest_clusters(sizes: IntArray, max_clusters: int) -> IntArray:
    """Return the sorted numbers of the largest clusters."""
    return np.sort(np.argsort(-sizes, kind="stable")[:max_clusters])
