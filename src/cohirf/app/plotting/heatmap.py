"""The heat map of what sets clusters apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from cohirf import CoHiRF
from cohirf.app.explain.describe import describe_sample
from cohirf.app.explain.effects import measure_effects
from cohirf.app.explain.study import draw_sample, make_study
from cohirf.app.explain.table import Feature, Table
from cohirf.app.explain.words import shorten
from cohirf.app.plotting.canvas import (
    check_plotted,
    cluster_colours,
    hide_spines,
    largest_clusters,
    make_axes,
    readable_on_white,
    text_width,
)
from cohirf.app.plotting.style import STYLE
from cohirf.inspection import remedies_for, require_labels_here
from cohirf.optional import import_optional
from cohirf.rows import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_heatmap(
    model: CoHiRF,
    X: Any = None,
    *,
    feature_names: Sequence[str] | None = None,
    max_features: int = 20,
    max_clusters: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Plot a heat map of clusters and features: what sets each cluster apart.

    A row is a cluster, with its number, its name and its share of the rows; a column is a feature,
    or a level of a category. A cell is orange if the mean of the cluster is above that of all other
    rows, and blue if it is below; the colour is strongest from two standard deviations on. Similar
    clusters are neighbours, and so are similar features.

    Parameters
    ----------
    model : fitted CoHiRF
        The model.
    X : array, table, CSR matrix, source or Prepared, shape (n_samples, any), optional
        The data of the fit, or the table that it was made from, as for
        :meth:`cohirf.CoHiRF.summary`.
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

    See Also
    --------
    cohirf.CoHiRF.summary : The same as a table, with the values of the strongest features.
    plot_map : The rows as points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.plotting import plot_heatmap
    >>> X = load_iris(as_frame=True).data
    >>> ax = plot_heatmap(CoHiRF(n_clusters=3, random_state=0).fit(X), X)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['sepal width (cm)', 'sepal length (cm)', 'petal width (cm)', 'petal length (cm)']
    """
    fitted = check_plotted(model)
    require_labels_here(fitted)
    if fitted.n_clusters_ == 0:
        remedy = remedies_for(fitted).to_less_noise()
        raise ValueError(
            f"The model has no clusters to plot: every row is noise. To find some, {remedy}."
        )
    sample = draw_sample(make_study(fitted, X, feature_names))
    described = describe_sample(sample)
    largest = largest_clusters(described.sizes, max_clusters)
    heatmap = arrange_heatmap(sample.table, sample.labels, largest, max_features)
    if not heatmap.features:
        raise ValueError("The clusters do not differ in any feature: there is nothing to plot.")
    numbers = fitted.cluster_numbers_[heatmap.clusters]
    texts = [
        f"{number}  {shorten(described.name(number), STYLE.label)}  "
        f"{described.sizes[cluster] / described.n_rows:.0%}"
        for cluster, number in zip(heatmap.clusters.tolist(), numbers.tolist(), strict=True)
    ]
    features = heatmap.features
    columns = [
        shorten(f"{one.name}: {one.level}" if one.level else one.name, STYLE.label)
        for one in features
    ]
    width = STYLE.cell_width * len(columns) + text_width(texts) + 1.6
    ax = make_axes(ax, width, STYLE.cell_height * len(texts) + text_width(columns) + 0.8)
    _draw_cells(ax, heatmap)
    ax.set_yticks(np.arange(len(texts)) + 0.5, texts, fontsize=STYLE.font + 1)
    ax.set_xticks(
        np.arange(len(columns)) + 0.5,
        columns,
        fontsize=STYLE.font + 1,
        rotation=90,
        color=STYLE.ink,
    )
    for label, ink in zip(
        ax.get_yticklabels(), readable_on_white(cluster_colours(heatmap.clusters)), strict=True
    ):
        label.set_color(ink)
    ax.tick_params(length=0)
    hide_spines(ax, *ax.spines)
    n_clusters = len(described.sizes)
    if n_clusters > len(texts):
        ax.set_title(
            f"the {len(texts)} largest of {n_clusters:,} clusters",
            loc="left",
            fontsize=STYLE.font,
            color=STYLE.faint,
        )
    return ax


def _draw_cells(ax: Any, heatmap: Heatmap) -> None:
    colours = import_optional("matplotlib.colors", "plotting", "A plot")
    shades = colours.LinearSegmentedColormap.from_list(
        "below and above", [STYLE.below, STYLE.equal, STYLE.above]
    )
    strongest = {"vmin": -STYLE.strongest, "vmax": STYLE.strongest}
    image = ax.pcolormesh(
        heatmap.effect, cmap=shades, edgecolors="white", linewidth=1.5, **strongest
    )
    ax.invert_yaxis()
    bar = ax.figure.colorbar(
        image, ax=ax, shrink=min(1.0, 5 / len(heatmap.clusters)), aspect=12, extend="both"
    )
    bar.set_label("below or above other rows,\nin standard deviations", fontsize=STYLE.font)
    bar.set_ticks([-STYLE.strongest, 0, STYLE.strongest])
    bar.ax.tick_params(labelsize=STYLE.font, length=0)
    bar.outline.set_visible(False)


@dataclass(frozen=True)
class Heatmap:
    """Clusters and features, sorted so that similar ones are neighbours."""

    clusters: IntArray  # the clusters, in the order of the rows of the heat map
    features: list[Feature]  # the features, in the order of its columns
    # difference between the mean in the cluster and the mean of all other rows, in standard
    # deviations of all rows
    effect: FloatArray


def arrange_heatmap(
    table: Table, labels: IntArray, clusters: IntArray, max_features: int = 20
) -> Heatmap:
    """Choose the features that set clusters apart most, and sort both."""
    if table.values.shape[1] == 0 or len(clusters) == 0 or len(table.rows) == 0:
        return Heatmap(clusters[:0], [], np.empty((0, 0)))
    effects = measure_effects(table, labels, clusters)
    strength = np.abs(effects.effect).max(axis=0)
    chosen = np.argsort(-strength, kind="stable")[:max_features]
    chosen = chosen[strength[chosen] > 0]
    effect = effects.effect[:, chosen]
    rows = _order(effect)
    columns = _order(effect.T)
    if (
        len(columns)
        and len(rows) > 1
        and effect[rows[0], columns[0]] < effect[rows[-1], columns[0]]
    ):
        rows = rows[::-1]
    features = [table.features[chosen[column]] for column in columns.tolist()]
    return Heatmap(clusters[rows], features, effect[np.ix_(rows, columns)])


def _order(vectors: FloatArray) -> IntArray:
    """Return the order of some vectors in which neighbours differ least."""
    if len(vectors) < 3 or vectors.shape[1] == 0:
        return np.arange(len(vectors))
    tree = linkage(vectors, method="average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)
