"""What all static plots share: the model or hierarchy that is plotted, axes, labels that fit into
them, and colours.

Clusters have eight hues that colour-blind readers can distinguish, then lighter and darker shades
of them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cohirf import CoHiRF
from cohirf.app.plotting.style import STYLE
from cohirf.hierarchy import FusionHierarchy, final_labels
from cohirf.inspection import cluster_positions
from cohirf.optional import import_optional
from cohirf.rows import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    made: Axes = (
        pyplot.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax
    )
    return made


def settle_axes(ax: Axes) -> None:
    """Run the layout engine of the figure now, so that the axes have their final size, unless it
    has many axes.
    """
    figure: Any = ax.figure.figure  # the whole figure, if the axes are in a subfigure
    engine = figure.get_layout_engine()
    if engine is not None and len(figure.axes) <= STYLE.arranged:
        engine.execute(figure)


def inches(ax: Axes) -> tuple[float, float]:
    """Return the width and height of the axes in inches."""
    box = ax.get_window_extent()
    return box.width / ax.figure.dpi, box.height / ax.figure.dpi


def text_width(texts: Sequence[str]) -> float:
    """Return the approximate width in inches of the longest line of the texts."""
    longest = max((len(line) for text in texts for line in text.split("\n")), default=0)
    return longest * STYLE.letter * STYLE.font / STYLE.points_per_inch


def units_per_inch(ax: Axes) -> float:
    """Return the number of units of the x axis per inch."""
    start, end = ax.get_xlim()
    return abs(end - start) / inches(ax)[0]


def label_x(ax: Axes, places: FloatArray, texts: Sequence[str], priority: IntArray) -> None:
    """Label positions on the x axis: horizontally if all texts fit, else rotated, by priority if
    not all fit.
    """
    unit = units_per_inch(ax)
    slot = np.diff(np.sort(places)).min(initial=np.inf)
    upright = text_width(texts) * unit > 0.95 * slot
    line = STYLE.line * STYLE.font / STYLE.points_per_inch  # inches
    if upright:
        chosen = choose_apart(places, priority, 0.85 * line * unit)
    else:
        chosen = np.arange(len(places))
    ax.set_xticks(
        places[chosen],
        [texts[i] for i in chosen.tolist()],
        rotation=90 if upright else 0,
        fontsize=STYLE.font,
    )
    ax.tick_params(axis="x", length=0)


def write_numbers(
    ax: Axes,
    places: FloatArray,
    heights: FloatArray,
    clusters: IntArray,
    priority: IntArray,
    *,
    on_lines: bool = False,
) -> None:
    """Write numbers of clusters side by side above points, or on lines.

    Leave out noise, and numbers that overlap.
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
            fontsize=STYLE.font + 1,
            weight="bold",
            ha="center",
            **place,
        )


def add_lines(ax: Axes, x: FloatArray, y: FloatArray, colours: Colours) -> None:
    """Draw one line per row of ``x`` and ``y``, which hold its two ends.

    Thinner if the x axis is dense.
    """
    collections = import_optional("matplotlib.collections", "plotting", "A plot")
    width = float(np.clip(0.3 * STYLE.points_per_inch / units_per_inch(ax), 0.3, 1.6))
    ax.add_collection(
        collections.LineCollection(np.stack([x, y], axis=2), colors=colours, linewidths=width)
    )


def hide_spines(ax: Axes, *names: str) -> None:
    """Hide the named sides of the frame."""
    for name in names:
        ax.spines[name].set_visible(False)


def choose_apart(places: FloatArray, priority: IntArray, gap: float) -> IntArray:
    """Choose points to label such that any two of them are at least ``gap`` apart along some
    axis.
    """
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


Colours = NDArray[np.float64]


def cluster_colours(clusters: ArrayLike) -> Colours:
    """Return red, green and blue from 0 to 1 for each cluster number; grey for -1.

    The colour of a cluster depends only on its number, so that it is the same in all plots. Colours
    repeat after 40 clusters.

    Examples
    --------
    >>> from cohirf.app.plotting.canvas import cluster_colours
    >>> cluster_colours([0, -1]).round(2)
    array([[0.  , 0.45, 0.7 ],
           [0.7 , 0.7 , 0.7 ]])
    """
    numbers = np.asarray(clusters, dtype=np.int64)
    n_hues = len(STYLE.hues)
    hues = np.array([to_rgb(hue) for hue in STYLE.hues])[numbers % n_hues]
    shares = np.array(STYLE.rounds)[numbers // n_hues % len(STYLE.rounds)]
    colours = mix(hues, shares)
    colours[numbers < 0] = to_rgb(STYLE.noise)
    return colours


def mix(colours: Colours, shares: ArrayLike) -> Colours:
    """Mix each colour with white by a share from 0 to 1, or with black by one from 0 to -1."""
    shares = np.broadcast_to(np.asarray(shares, dtype=np.float64), colours.shape[:-1])[..., None]
    mixed: Colours = colours * (1 - np.abs(shares)) + np.maximum(shares, 0)
    return mixed


def readable_on(colours: Colours) -> list[str]:
    """Return black or white for text on each colour."""
    return ["black" if bright else "white" for bright in (brightness(colours) > 0.55).tolist()]


def readable_on_white(colours: Colours) -> Colours:
    """Return the colours, darker where text in them would be hard to read."""
    darkened: Colours = (
        colours * np.minimum(1, 0.45 / np.maximum(brightness(colours), 0.01))[:, None]
    )
    return darkened


def for_dark_page(colours: Colours) -> Colours:
    """Return the colours, all lighter by the same share: dark ones become visible, and all stay
    different.
    """
    return mix(colours, 1 / 3)


def brightness(colours: Colours) -> NDArray[np.float64]:
    """Return how bright each colour looks, from 0 to 1."""
    bright: NDArray[np.float64] = colours @ np.array([0.299, 0.587, 0.114])
    return bright


def to_rgb(code: str) -> Colours:
    """Return red, green and blue from 0 to 1 of a code such as ``#0072B2``."""
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def to_hex(colours: Colours) -> list[str]:
    """Return each colour as a code such as ``#0072b2``."""
    parts: Any = np.rint(colours * 255).astype(int).tolist()
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in parts]
