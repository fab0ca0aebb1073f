"""The exemplars of the clusters, as images, lines or a heat map; and the heat map of what sets clusters apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import leaves_list, linkage

from cohirf.algorithm.grouping import IntArray
from cohirf.data.dask_arrays import require_labels_here
from cohirf.estimator import CoHiRF
from cohirf.explain.describe import describe_clusters
from cohirf.explain.effects import measure_effects, measure_spread
from cohirf.explain.sample import sample_table
from cohirf.explain.table import Feature, Table, name_features
from cohirf.explain.words import count_of, shorten
from cohirf.optional import import_optional
from cohirf.plotting import layout
from cohirf.plotting.canvas import FONT, hide_spines, inches, label_x, line_height, make_axes, settle, text_width
from cohirf.plotting.colours import FAINT, INK, NOISE, PAPER, cluster_colours, readable_on_white, to_hex
from cohirf.plotting.layout import Floats, check_image_shape, check_model, largest_clusters, refuse_no_clusters
from cohirf.summary.model import Model
from cohirf.summary.numbers import cluster_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

IMAGE_STEP = 1.15  # horizontal distance of images, in widths of an image
MAX_LINES = 6  # more exemplars are easier to distinguish in a heat map
MAX_CRISP = 400  # cells per axis; with more, several cells share a pixel, which shows their mean
LOW, MIDDLE, HIGH = "#0072B2", "#F7F7F7", "#D55E00"  # readable for colour-blind people
STRONGEST = 2.0  # standard deviations, from which colours do not get stronger
CELL_HEIGHT, CELL_WIDTH = 0.28, 0.36  # inches
MAX_NAME = 60  # characters


def count_columns(n_images: int, shape: float, aspect: float) -> int:
    """Return the number of columns for a grid of images whose width is about ``aspect`` times its height."""
    n_columns = min(max(round(float(np.sqrt(aspect * n_images / shape))), 1), n_images)
    n_lines = -(-n_images // n_columns)
    return -(-n_images // n_lines)


@dataclass(frozen=True)
class Exemplars:
    """The exemplars of the largest clusters: cluster number, size and features, and the number of all clusters."""

    cluster: IntArray
    size: IntArray
    features: Floats
    n_clusters: int


def plot_exemplars(
    model: Model,
    *,
    image_shape: tuple[int, ...] | None = None,
    feature_names: Sequence[str] | None = None,
    max_clusters: int = 50,
    ax: Axes | None = None,
) -> Axes:
    """Plot the exemplars of the final clusters: as images, as lines (up to six exemplars) or as a heat map.

    The exemplar of a cluster is its most central row.

    Parameters
    ----------
    model : fitted CoHiRF
        The model whose exemplars to plot.
    image_shape : tuple of int, default=None
        Draw each exemplar as an image of this shape: (height, width), or (height, width, 3) for colours. By default,
        exemplars are drawn as lines or as a heat map.
    feature_names : sequence of str, default=None
        Names of the features. By default, the names seen by ``fit``, or numbers.
    max_clusters : int, default=50
        Largest number of exemplars; if there are more clusters, those of the largest clusters are drawn.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    Raises
    ------
    TypeError
        If ``model`` is not a CoHiRF.
    ValueError
        If ``max_clusters`` is below 1, ``image_shape`` or ``feature_names`` do not fit the number of features, or all
        rows are noise.

    See Also
    --------
    plot_map : All rows, with the exemplars marked.
    cohirf.CoHiRF.explain : The features that distinguish a cluster.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.plotting import plot_exemplars
    >>> model = CoHiRF(KMeans(3), random_state=0).fit(load_iris(as_frame=True).data)
    >>> ax = plot_exemplars(model)
    >>> [label.get_text() for label in ax.get_xticklabels()][0]
    'sepal length (cm)'
    """
    exemplars = _largest_exemplars(check_model(model), max_clusters)
    if image_shape is not None:
        return _draw_images(ax, exemplars, image_shape)
    seen = getattr(model, "feature_names_in_", range(model.n_features_in_))
    names = [str(name) for name in seen] if feature_names is None else name_features(model, None, feature_names)
    draw = _draw_lines if len(exemplars.cluster) <= MAX_LINES else _draw_heat_map
    return draw(ax, exemplars, names)


def _largest_exemplars(model: CoHiRF, max_clusters: int) -> Exemplars:
    if max_clusters < 1:
        raise ValueError(f"max_clusters={max_clusters} is not valid: pass an int >= 1.")
    refuse_no_clusters(model)
    positions = cluster_positions(model)
    sizes = np.bincount(positions[positions >= 0])
    chosen = layout.largest_clusters(sizes, max_clusters)
    features = model.exemplars_[chosen]
    if sparse.issparse(features):
        features = features.toarray()
    return Exemplars(
        model.cluster_numbers_[chosen], sizes[chosen], np.asarray(features, dtype=np.float64), model.n_clusters_
    )


def _draw_lines(ax: Axes | None, exemplars: Exemplars, names: list[str]) -> Axes:
    n_features = len(names)
    ax = make_axes(ax, float(np.clip(3 + 0.4 * n_features, 6, 8)), 4)
    colours = cluster_colours(exemplars.cluster)
    marker = "o" if n_features <= 30 else ""
    for i, (cluster, size) in enumerate(zip(exemplars.cluster.tolist(), exemplars.size.tolist(), strict=True)):
        label = f"cluster {cluster} ({size:,})"
        ax.plot(exemplars.features[i], color=colours[i], marker=marker, markersize=5, linewidth=1.8, label=label)
    ax.set_xlim(-0.5, n_features - 0.5)
    settle(ax)
    _label_features(ax, names)
    ax.grid(axis="x", color=PAPER)
    ax.set_axisbelow(True)
    ax.set_ylabel("value at the exemplar")
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=FONT + 1, borderaxespad=0)
    ax.tick_params(axis="y", labelsize=FONT + 1)
    hide_spines(ax, "top", "right")
    _say_how_many(ax, exemplars)
    return ax


def _draw_heat_map(ax: Axes | None, exemplars: Exemplars, names: list[str]) -> Axes:
    n_clusters, n_features = exemplars.features.shape
    height = float(np.clip(1.2 + 0.17 * n_clusters, 3, 9.5))
    ax = make_axes(ax, float(np.clip(3 + 0.25 * n_features, 5, 8)), height)
    name, low, high = _colour_scale(exemplars.features)
    cells = ax.imshow(
        exemplars.features,
        aspect="auto",
        cmap=import_optional("matplotlib", "plotting", "A plot").colormaps[name].with_extremes(bad=NOISE),
        vmin=low,
        vmax=high,
        interpolation="nearest" if max(n_clusters, n_features) <= MAX_CRISP else "auto",
    )
    settle(ax)
    _label_features(ax, names)
    _label_clusters(ax, exemplars)
    bar = ax.figure.colorbar(cells, ax=ax, label="value at the exemplar", fraction=0.05, pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=FONT)
    hide_spines(ax, "top", "right", "bottom", "left")
    _say_how_many(ax, exemplars)
    return ax


def _colour_scale(features: Floats) -> tuple[str, float, float]:
    """Return a colour map and the values at its ends; it is centred at 0 if there are values of both signs."""
    low, high = float(np.nanmin(features)), float(np.nanmax(features))
    if low < 0 < high:
        limit = max(-low, high)
        return "RdBu_r", -limit, limit
    return "cividis", low, high


def _label_clusters(ax: Axes, exemplars: Exemplars) -> None:
    """Name the clusters on the y axis, each with a patch of its colour in the other plots."""
    n_clusters = len(exemplars.cluster)
    places = np.arange(n_clusters, dtype=np.float64)
    gap = 0.9 * line_height() * n_clusters / inches(ax)[1]
    chosen = layout.choose_apart(places, -np.arange(n_clusters), gap)
    ax.set_yticks(chosen, [f"cluster {exemplars.cluster[i]} ({exemplars.size[i]:,})" for i in chosen], fontsize=FONT)
    ax.tick_params(axis="y", length=0, pad=12)
    transforms = import_optional("matplotlib.transforms", "plotting", "A plot")
    left = ax.get_yaxis_transform() + transforms.ScaledTranslation(-0.08, 0, ax.figure.dpi_scale_trans)
    colours = to_hex(cluster_colours(exemplars.cluster))
    ax.vlines(0 * places, places - 0.42, places + 0.42, colours, linewidth=6, transform=left, clip_on=False)


def _label_features(ax: Axes, names: list[str]) -> None:
    # earlier features have priority, so that every k-th feature is named if not all names fit
    places = np.arange(len(names), dtype=np.float64)
    label_x(ax, places, names, -np.arange(len(names)))


def _draw_images(ax: Axes | None, exemplars: Exemplars, shape: tuple[int, ...]) -> Axes:
    images = _as_images(exemplars, shape)
    n_images, height, width = images.shape[:3]
    ax, n_columns = _image_axes(ax, n_images, height / width)
    room = inches(ax)[0] / n_columns
    captions = _captions(exemplars, room)
    caption = (captions[0].count("\n") + 1.6) * line_height() / room * IMAGE_STEP * width
    line, column = np.divmod(np.arange(n_images), n_columns)  # the first image is at the upper left
    step_x, step_y, n_lines = IMAGE_STEP * width, height + caption, int(line[-1]) + 1
    lefts, bottoms = (column * step_x).tolist(), ((n_lines - line) * step_y - height).tolist()
    full_width = n_columns * step_x - (step_x - width)
    low, high = float(np.nanmin(images)), float(np.nanmax(images))
    colours = cluster_colours(exemplars.cluster)
    for image, left, bottom, text, colour in zip(images, lefts, bottoms, captions, colours, strict=True):
        extent = (left, left + width, bottom, bottom + height)
        ax.imshow(image, cmap="gray_r", extent=extent, interpolation="nearest", vmin=low, vmax=high)
        ax.plot([left, left + width], [bottom - 0.1 * caption] * 2, color=colour, linewidth=2, solid_capstyle="butt")
        ax.text(left + width / 2, bottom - 0.22 * caption, text, fontsize=FONT, ha="center", va="top")
    ax.set_xlim(-0.01 * full_width, 1.01 * full_width)
    ax.set_ylim(0, n_lines * step_y)
    ax.set_axis_off()
    _say_how_many(ax, exemplars)
    return ax


def _image_axes(ax: Axes | None, n_images: int, shape: float) -> tuple[Axes, int]:
    """Return axes for images whose height is ``shape`` times their width, and the number of columns."""
    if ax is not None:
        settle(ax)
        wide, high = inches(ax)
        return ax, count_columns(n_images, 1 / (shape + 0.4), wide / high)
    n_columns = count_columns(n_images, 1 / (shape + 0.4), 5 if n_images <= 5 else 1.8)
    width = min(12, 1 + 0.9 * n_columns)
    n_lines = -(-n_images // n_columns)
    caption = 0.35 if width / n_columns > 0.85 else 0.2
    ax = make_axes(None, width, float(np.clip(n_lines * (width / n_columns * shape + caption), 1.5, 12)))
    settle(ax)
    return ax, n_columns


def _as_images(exemplars: Exemplars, shape: tuple[int, ...]) -> Floats:
    """Return the exemplars as images: grey values unchanged, colours scaled to the range from 0 to 1."""
    check_image_shape(shape, exemplars.features.shape[1])
    images = exemplars.features.reshape(-1, *shape)
    if len(shape) == 2:
        return images
    low, high = np.nanmin(images), np.nanmax(images)
    return (images - low) / max(high - low, np.finfo(np.float64).tiny)


def _captions(exemplars: Exemplars, room: float) -> list[str]:
    """Return the longest captions that fit below the images."""
    clusters, sizes = exemplars.cluster.tolist(), exemplars.size.tolist()
    both = [f"cluster {cluster}\n{count_of(size, 'row')}" for cluster, size in zip(clusters, sizes, strict=True)]
    short = [f"{cluster} ({size:,})" for cluster, size in zip(clusters, sizes, strict=True)]
    numbers = [f"{cluster}" for cluster in clusters]
    fitting = (texts for texts in (both, short, numbers) if text_width(texts) < 0.95 * room)
    return next(fitting, [""] * len(clusters))


def _say_how_many(ax: Axes, exemplars: Exemplars) -> None:
    shown = len(exemplars.cluster)
    if shown < exemplars.n_clusters:
        ax.set_title(f"{shown:,} largest of {exemplars.n_clusters:,} clusters", loc="right", fontsize=FONT, color=FAINT)


def plot_heatmap(
    model: Model,
    X: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    max_features: int = 20,
    max_clusters: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Plot a heat map of clusters and features: what sets each cluster apart.

    A row is a cluster, with its number, its name and its share of the rows; a column is a feature, or a level of a
    category. A cell is orange if the mean of the cluster is above that of all other rows, and blue if it is below; the
    colour is strongest from two standard deviations on. Similar clusters are neighbours, and so are similar features.

    Parameters
    ----------
    model : fitted CoHiRF
        The model.
    X : array, table, CSR matrix, source or Prepared, shape (n_samples, any), optional
        The data of the fit, or the table that it was made from, as for :meth:`cohirf.CoHiRF.summary`.
    feature_names : sequence of str, optional
        Names of the columns, if ``X`` has none.
    max_features : int, default=20
        Largest number of columns: those in which clusters differ most.
    max_clusters : int, default=40
        Largest number of rows: the largest clusters.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    Raises
    ------
    TypeError
        If ``model`` is not a CoHiRF.
    ValueError
        If ``X`` does not have as many rows as the data of the fit, or if the clusters do not differ in any feature.

    See Also
    --------
    cohirf.CoHiRF.summary : The same as a table, with the values of the strongest features.
    plot_map : The rows as points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.plotting import plot_heatmap
    >>> X = load_iris(as_frame=True).data
    >>> ax = plot_heatmap(CoHiRF(n_clusters=3, random_state=0).fit(X), X)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['sepal width (cm)', 'sepal length (cm)', 'petal width (cm)', 'petal length (cm)']
    """
    fitted = check_model(model)
    require_labels_here(fitted)
    refuse_no_clusters(fitted)
    described = describe_clusters(fitted, X, feature_names)
    largest = largest_clusters(described.sizes, max_clusters)
    sample = sample_table(fitted, X, feature_names, largest)
    heatmap = arrange_heatmap(sample.table, sample.labels, largest, max_features, sample.weights)
    if not heatmap.features:
        raise ValueError("The clusters do not differ in any feature: there is nothing to plot.")
    numbers = fitted.cluster_numbers_[heatmap.clusters]
    texts = [
        f"{number}  {shorten(described.name(number), MAX_NAME)}  {described.sizes[cluster] / described.n_rows:.0%}"
        for cluster, number in zip(heatmap.clusters.tolist(), numbers.tolist(), strict=True)
    ]
    columns = [_say_feature(feature) for feature in heatmap.features]
    ax = make_axes(
        ax,
        CELL_WIDTH * len(columns) + text_width(texts) + 1.6,
        CELL_HEIGHT * len(texts) + text_width(columns) + 0.8,
    )
    _draw_cells(ax, heatmap)
    _label_cells(ax, heatmap, texts, columns)
    n_clusters = len(described.sizes)
    if n_clusters > len(texts):
        ax.set_title(f"the {len(texts)} largest of {n_clusters:,} clusters", loc="left", fontsize=FONT, color=FAINT)
    return ax


def _draw_cells(ax: Any, heatmap: Heatmap) -> None:
    colours = import_optional("matplotlib.colors", "plotting", "A plot")
    shades = colours.LinearSegmentedColormap.from_list("below and above", [LOW, MIDDLE, HIGH])
    image = ax.pcolormesh(
        heatmap.effect, cmap=shades, vmin=-STRONGEST, vmax=STRONGEST, edgecolors="white", linewidth=1.5
    )
    ax.invert_yaxis()
    bar = ax.figure.colorbar(image, ax=ax, shrink=min(1.0, 5 / len(heatmap.clusters)), aspect=12, extend="both")
    bar.set_label("below or above other rows,\nin standard deviations", fontsize=FONT)
    bar.set_ticks([-STRONGEST, 0, STRONGEST])
    bar.ax.tick_params(labelsize=FONT, length=0)
    bar.outline.set_visible(False)


def _label_cells(ax: Any, heatmap: Heatmap, texts: list[str], columns: list[str]) -> None:
    ax.set_yticks(np.arange(len(texts)) + 0.5, texts, fontsize=FONT + 1)
    ax.set_xticks(np.arange(len(columns)) + 0.5, columns, fontsize=FONT + 1, rotation=90, color=INK)
    inks = readable_on_white(cluster_colours(heatmap.clusters))
    for label, ink in zip(ax.get_yticklabels(), inks, strict=True):
        label.set_color(ink)
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)


def _say_feature(feature: Feature) -> str:
    return shorten(f"{feature.name}: {feature.level}" if feature.level else feature.name, MAX_NAME)


@dataclass(frozen=True)
class Heatmap:
    """Clusters and features, sorted so that similar ones are neighbours."""

    clusters: IntArray  # the clusters, in the order of the rows of the heat map
    features: list[Feature]  # the features, in the order of its columns
    # difference between the mean in the cluster and the mean of all other rows, in standard deviations of all rows
    effect: Floats


def arrange_heatmap(
    table: Table, labels: IntArray, clusters: IntArray, max_features: int = 20, weights: Floats | None = None
) -> Heatmap:
    """Choose the features that set clusters apart most, and sort both."""
    if table.values.shape[1] == 0 or len(clusters) == 0 or len(table.rows) == 0:
        return Heatmap(clusters[:0], [], np.empty((0, 0)))
    effects = measure_effects(table.values, measure_spread(table.values, weights), labels, clusters, weights)
    strength = np.abs(effects.effect).max(axis=0)
    chosen = np.argsort(-strength, kind="stable")[:max_features]
    chosen = chosen[strength[chosen] > 0]
    effect = effects.effect[:, chosen]
    rows, columns = _order(effect), _order(effect.T)
    if len(columns) and len(rows) > 1 and effect[rows[0], columns[0]] < effect[rows[-1], columns[0]]:
        rows = rows[::-1]
    features = [table.features[chosen[column]] for column in columns.tolist()]
    return Heatmap(clusters[rows], features, effect[np.ix_(rows, columns)])


def _order(vectors: Floats) -> IntArray:
    """Return the order of some vectors in which neighbours differ least."""
    if len(vectors) < 3 or vectors.shape[1] == 0:
        return np.arange(len(vectors))
    tree = linkage(vectors, method="average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)
