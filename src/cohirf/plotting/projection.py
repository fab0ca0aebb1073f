"""Two or three coordinates for each row: its features, their principal components, or a map by UMAP."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils import _safe_indexing, check_random_state

from cohirf.algorithm.grouping import IntArray
from cohirf.optional import import_optional
from cohirf.plotting.layout import Floats

METHODS = ("pca", "umap")
UMAP_NEIGHBOURS = 15  # the default of UMAP


@dataclass(frozen=True)
class Projection:
    """Rows as points.

    Attributes
    ----------
    points : array of float, shape (n_points, 2) or (n_points, 3)
        The coordinates of each row.
    names : list of str
        Label of each axis.
    """

    points: Floats
    names: list[str]


def draw_rows(n_rows: int, max_points: int, random_state: Any) -> IntArray:
    """Return all row numbers, or ``max_points`` of them drawn at random."""
    if n_rows <= max_points:
        return np.arange(n_rows)
    drawn: IntArray = check_random_state(random_state).choice(n_rows, max_points, replace=False)
    return drawn


def project(
    X: Any, rows: IntArray, n_axes: int, feature_names: Sequence[str] | None, method: str = "pca"
) -> Projection:
    """Return the given rows of the data as points with ``n_axes`` coordinates; see ``project_rows``."""
    return project_rows(_safe_indexing(X, rows), rows, n_axes, feature_names, method)


def project_rows(
    chosen: Any, rows: IntArray, n_axes: int, feature_names: Sequence[str] | None, method: str = "pca"
) -> Projection:
    """Return the values ``chosen`` of the given rows as points with ``n_axes`` coordinates.

    Missing values are replaced by the mean of their column. A single feature is plotted against the row number. If
    there are more features than axes, the coordinates are their principal components or, with ``method="umap"``, those
    of UMAP.
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not valid: pass one of {', '.join(METHODS)}.")
    n_features = chosen.shape[1]
    if n_features > n_axes:
        return _by_umap(chosen, n_axes) if method == "umap" else _principal_components(chosen, n_axes)
    if n_features < n_axes == 3:
        raise ValueError(f"X has {n_features} feature(s), too few for 3D axes: pass 2D axes.")
    names = [f"feature {i}" for i in range(n_features)] if feature_names is None else [*map(str, feature_names)]
    points = _fill_missing(_as_dense(chosen))
    if n_features < n_axes:
        return Projection(np.column_stack([points, rows]), [*names, "row"])
    return Projection(points, names)


def _principal_components(chosen: Any, n_axes: int) -> Projection:
    stays_sparse = sparse.issparse(chosen) and min(chosen.shape) > n_axes
    data = chosen if stays_sparse else _fill_missing(_as_dense(chosen))
    model = PCA(n_axes, svd_solver="arpack" if stays_sparse else "auto", random_state=0)
    with np.errstate(invalid="ignore"):  # identical rows have no variance: its shares are 0 / 0
        points = model.fit_transform(data)
    shares = np.nan_to_num(model.explained_variance_ratio_)
    names = [f"principal component {i} ({share:.0%} of variance)" for i, share in enumerate(shares, start=1)]
    return Projection(points, names)


def _by_umap(chosen: Any, n_axes: int) -> Projection:
    """Return a map in which neighbours stay neighbours; distances between far points mean little."""
    umap = import_optional("umap", "umap", 'A map with method="umap"')
    data = chosen if sparse.issparse(chosen) else _fill_missing(_as_dense(chosen))
    n_neighbours = max(2, min(UMAP_NEIGHBOURS, data.shape[0] - 1))
    model = umap.UMAP(n_components=n_axes, n_neighbors=n_neighbours, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP warns of its own use of other packages
        points = model.fit_transform(data)
    return Projection(np.asarray(points, dtype=np.float64), [f"UMAP {i}" for i in range(1, n_axes + 1)])


def _as_dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _fill_missing(data: Floats) -> Floats:
    missing = np.isnan(data)
    if not missing.any():
        return data
    counts = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0, data).sum(axis=0) / counts
    return np.where(missing, means, data)
