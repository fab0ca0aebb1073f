"""Two or three coordinates for each row: its features, or their principal components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils import _safe_indexing, check_random_state

from cohirf.algorithm.grouping import IntArray
from cohirf.plotting.layout import Floats


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


def project(X: Any, rows: IntArray, n_axes: int, feature_names: Sequence[str] | None) -> Projection:
    """Return the given rows of the data as points with ``n_axes`` coordinates; see ``project_rows``."""
    return project_rows(_safe_indexing(X, rows), rows, n_axes, feature_names)


def project_rows(chosen: Any, rows: IntArray, n_axes: int, feature_names: Sequence[str] | None) -> Projection:
    """Return the values ``chosen`` of the given rows as points with ``n_axes`` coordinates.

    Missing values are replaced by the mean of their column. A single feature is plotted against the row number.
    """
    n_features = chosen.shape[1]
    if n_features > n_axes:
        return _principal_components(chosen, n_axes)
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


def _as_dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)


def _fill_missing(data: Floats) -> Floats:
    missing = np.isnan(data)
    if not missing.any():
        return data
    counts = np.maximum((~missing).sum(axis=0), 1)
    means = np.where(missing, 0, data).sum(axis=0) / counts
    return np.where(missing, means, data)
