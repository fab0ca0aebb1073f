"""The map: rows as points in the plane, coloured by cluster."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _get_feature_names, _num_samples

from cohirf import CoHiRF
from cohirf.app.explain.study import draw
from cohirf.app.explain.table import as_dense, is_prepared, to_known_matrix, to_numbers
from cohirf.app.plotting.canvas import (
    choose_apart,
    cluster_colours,
    find_subject,
    hide_spines,
    inches,
    largest_clusters,
    make_axes,
    readable_on,
    settle_axes,
)
from cohirf.app.plotting.style import STYLE
from cohirf.optional import import_optional
from cohirf.rows import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class MappedClusters:
    """The cluster of each row, and number, central row and size of the largest clusters."""

    labels: IntArray
    number: IntArray
    central: IntArray
    size: IntArray


def plot_map(
    model: CoHiRF,
    X: Any,
    *,
    method: str = "pca",
    level: int | None = None,
    names: Sequence[str] | None = None,
    max_points: int = 10_000,
    ax: Axes | None = None,
) -> Axes:
    """Plot a map of the rows: points coloured by cluster, with the central row of each cluster
    marked.

    Data with two features is plotted as it is. With more features, the first principal components
    are plotted, or the coordinates of UMAP. Noise is grey. A disc with a dark rim is the exemplar
    of a final cluster of a model, or the medoid of a cluster of a level or hierarchy; it shows the
    number of the cluster where there is room.

    Parameters
    ----------
    model : fitted CoHiRF or FusionHierarchy
        The model or hierarchy that gives each row its cluster.
    X : array, table, sparse matrix or Prepared, shape (n_samples, n_features)
        The data of the fit.
    method : {"pca", "umap"}, default="pca"
        How more features become coordinates. Principal components keep large distances. UMAP, which
        needs the package umap-learn, keeps neighbours together: it shows which clusters are apart,
        but not how far.
    level : int, default=None
        Colour rows by the clusters of this level. By default, by the final clusters.
    names : sequence of str, default=None
        Names of the clusters, for a legend of the largest ten: for instance
        ``model.summary(X)["name"]``.
    max_points : int, default=10000
        Largest number of rows that are plotted; of more, the same random ones each time. The discs
        of the 300 largest clusters are always plotted.
    ax : matplotlib.axes.Axes, default=None
        The axes to draw into. By default, a new figure is created.

    Returns
    -------
    ax : matplotlib.axes.Axes
        The axes; ``ax.figure`` is the figure.

    See Also
    --------
    plot_heatmap : What sets each cluster apart.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.plotting import plot_map
    >>> X = load_iris().data
    >>> model = CoHiRF(KMeans(3), random_state=0).fit(X)
    >>> ax = plot_map(model, X)
    >>> ax.get_xlabel()
    'principal component 1 (93% of variance)'
    """
    if is_prepared(X):
        X = X.array()
    elif hasattr(X, "shape"):
        X = X
    else:
        X = np.asarray(X)
    clusters = _find_clusters(model, X, level)
    if ax is None:
        ax = make_axes(None, 6, 5)
        if X.shape[1] > 2:  # principal components share a unit, features need not
            ax.set_aspect("equal", adjustable="datalim")
    rows = draw(len(clusters.labels), max_points)
    shown = np.concatenate([rows, clusters.central])
    projection = project_rows(_safe_indexing(X, shown), shown, _get_feature_names(X), method)
    _draw_points(ax, projection.points[: len(rows)], clusters.labels[rows])
    ax.set_xlabel(projection.names[0])
    ax.set_ylabel(projection.names[1])
    ax.tick_params(labelsize=STYLE.font)
    hide_spines(ax, "top", "right")
    _draw_discs(ax, projection.points[len(rows) :], clusters)
    if names is not None:
        _add_legend(ax, clusters, names)
    if len(rows) < len(clusters.labels):
        ax.set_title(
            f"{len(rows):,} of {len(clusters.labels):,} rows",
            loc="right",
            fontsize=STYLE.font,
            color=STYLE.faint,
        )
    return ax


def _find_clusters(given: Any, X: Any, level: int | None) -> MappedClusters:
    subject = find_subject(given)
    hierarchy = subject.hierarchy
    if hierarchy.rows is not None:
        raise ValueError(
            f"{hierarchy!r} is a condensed hierarchy: pass the hierarchy of all rows of X."
        )
    if _num_samples(X) != hierarchy.n_rows:
        raise ValueError(
            f"X has {_num_samples(X):,} rows, but the hierarchy has {hierarchy.n_rows:,}: pass the "
            "data of the fit."
        )
    labels = subject.labels if level is None else hierarchy.cut(level=level)
    if level is None and isinstance(given, CoHiRF):
        central = given.exemplar_indices_
        numbers = given.cluster_numbers_
    else:
        medoids = hierarchy.medoids(hierarchy.n_levels if level is None else level)
        central = medoids[labels[medoids] >= 0]  # in the order of their labels
        numbers = np.arange(len(central))
    sizes = np.bincount(labels[labels >= 0], minlength=len(central))
    largest = largest_clusters(sizes, STYLE.discs)
    named = np.append(numbers, -1)[labels]
    return MappedClusters(named, numbers[largest], central[largest], sizes[largest])


def _draw_points(ax: Any, points: FloatArray, labels: IntArray) -> None:
    wide, high = inches(ax)
    area = float(np.clip(800 * wide * high / max(len(points), 1), 3, 24))
    is_noise = labels < 0
    for chosen in (is_noise, ~is_noise):  # noise first, so that it lies below
        if chosen.any():
            colours = cluster_colours(labels[chosen])
            ax.scatter(*points[chosen].T, s=area, c=colours, linewidths=0, alpha=0.75, zorder=2)


def _draw_discs(ax: Any, points: FloatArray, clusters: MappedClusters) -> None:
    """Draw the discs; those with a number are larger."""
    numbered = np.zeros(len(points), dtype=bool)
    if len(points) <= STYLE.numbered:
        settle_axes(ax)
        on_screen = ax.transData.transform(points) * STYLE.points_per_inch / ax.figure.dpi
        numbered[choose_apart(on_screen, clusters.size, 1.3 * STYLE.disc)] = True
    colours = cluster_colours(clusters.number)
    small = float(np.clip(4000 / max(len(points), 1), 12, 36))
    areas = np.where(numbered, STYLE.disc**2, small)
    ax.scatter(
        *points.T, s=areas, c=colours, edgecolors=STYLE.ink, linewidths=0.8, alpha=1, zorder=3
    )
    inks = readable_on(colours)
    for i in np.flatnonzero(numbered).tolist():
        text = str(clusters.number[i])
        ax.text(
            *points[i],
            text,
            color=inks[i],
            fontsize=STYLE.font - 1,
            ha="center",
            va="center_baseline",
            zorder=4,
        )


def _add_legend(ax: Any, clusters: MappedClusters, names: Sequence[str]) -> None:
    """Add a legend below the axes with the names of the largest clusters."""
    lines = import_optional("matplotlib.lines", "plotting", "A plot")
    n_clusters = int(clusters.labels.max(initial=-1)) + 1
    if len(names) < n_clusters:
        raise ValueError(
            f"names has {len(names)} names for {n_clusters} clusters: pass one for each."
        )
    named = list(names)
    shown = np.sort(clusters.number[np.argsort(-clusters.size, kind="stable")[: STYLE.in_legend]])
    marks = [
        lines.Line2D(
            [], [], linestyle="", marker="o", color=colour, label=f"{cluster}  {named[cluster]}"
        )
        for cluster, colour in zip(shown.tolist(), cluster_colours(shown), strict=True)
    ]
    if len(shown) == n_clusters:
        title = None
    else:
        title = f"the {len(shown)} largest of {n_clusters:,} clusters"
    place = {
        "loc": "upper left",
        "bbox_to_anchor": (0, -0.14),
        "alignment": "left",
        "borderaxespad": 0,
    }
    font = {"fontsize": STYLE.font + 1, "title_fontsize": STYLE.font + 1, "handletextpad": 0.2}
    ax.legend(handles=marks, title=title, frameon=False, **place, **font)


@dataclass(frozen=True)
class Projection:
    """Rows as points."""

    points: FloatArray  # the coordinates of each row
    names: list[str]  # label of each axis


def project_rows(
    chosen: Any, rows: IntArray, feature_names: Sequence[str] | None, method: str = "pca"
) -> Projection:
    """Return the values ``chosen`` of the given rows as points in the plane.

    Missing values are replaced by the mean of their column. A single feature is plotted against the
    row number. Of more than two features, the coordinates are the principal components or, with
    ``method="umap"``, those of UMAP.
    """
    methods = ("pca", "umap")
    if method not in methods:
        raise ValueError(f"method={method!r} is not valid: pass one of {', '.join(methods)}.")
    n_features = chosen.shape[1]
    if n_features > 2:
        if method == "umap":
            return _by_umap(chosen)
        return _principal_components(chosen)
    if feature_names is None:
        names = [f"feature {i}" for i in range(n_features)]
    else:
        names = [*map(str, feature_names)]
    points = as_dense(to_numbers(chosen))
    if n_features == 1:
        return Projection(np.column_stack([points, rows]), [*names, "row"])
    return Projection(points, names)


def _principal_components(chosen: Any) -> Projection:
    if chosen.shape[0] == 1:  # has no components
        return Projection(np.zeros((1, 2)), ["principal component 1", "principal component 2"])
    stays_sparse = sparse.issparse(chosen) and min(chosen.shape) > 2
    data = chosen if stays_sparse else as_dense(to_numbers(chosen))
    model = PCA(2, svd_solver="arpack" if stays_sparse else "auto", random_state=0)
    with np.errstate(invalid="ignore"):  # identical rows have no variance: its shares are 0 / 0
        points = model.fit_transform(data)
    shares = np.nan_to_num(model.explained_variance_ratio_)
    names = [
        f"principal component {i} ({share:.0%} of variance)"
        for i, share in enumerate(shares, start=1)
    ]
    return Projection(points, names)


def _by_umap(chosen: Any) -> Projection:
    """Return a map in which neighbours stay neighbours.

    Distances between far points mean little.
    """
    data = to_known_matrix(chosen)
    n_neighbours = max(2, min(STYLE.umap_neighbours, data.shape[0] - 1))
    with warnings.catch_warnings():
        # UMAP warns of packages that it misses, and of its own use of others
        warnings.simplefilter("ignore")
        umap = import_optional("umap", "umap", 'A map with method="umap"')
        points = umap.UMAP(n_neighbors=n_neighbours, random_state=0, n_jobs=1).fit_transform(data)
    return Projection(np.asarray(points, dtype=np.float64), ["UMAP 1", "UMAP 2"])
