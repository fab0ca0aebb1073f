"""Distinguishing features of clusters: the standardised difference between a cluster's mean and that of other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from cohirf.algorithm.grouping import IntArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Sum, standard deviation and range of each feature over a sample of rows; the deviation of a constant is 0."""

    total: Floats
    deviation: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Effects:
    """How clusters differ from other rows: one row per cluster, one column per feature.

    Attributes
    ----------
    n_rows : array of int, shape (n_clusters,)
        Number of sampled rows in each cluster.
    mean, mean_elsewhere : array of float, shape (n_clusters, n_features)
        Mean over the rows of the cluster, and over all other rows.
    effect : array of float, shape (n_clusters, n_features)
        The difference of the two means, in standard deviations of all rows; 0 for constant features, and if the cluster
        has no rows or all rows.
    narrowness : array of float, shape (n_clusters, n_features)
        One minus the standard deviation in the cluster, in standard deviations of all rows, and at least 0. It is near
        to 1 if the values of the cluster are much closer together than those of all rows; 0 where ``effect`` is
        undefined.
    """

    n_rows: IntArray
    mean: Floats
    mean_elsewhere: Floats
    effect: Floats
    narrowness: Floats

    def strongest(self, cluster: int, n_features: int) -> IntArray:
        """Return the features with the largest absolute effects, the largest first."""
        strength = np.abs(self.effect[cluster])
        order = np.argsort(-strength, kind="stable")[:n_features]
        chosen: IntArray = order[strength[order] > 0]
        return chosen


def measure_spread(features: Any, weights: Floats | None = None) -> Spread:
    """Return sum, deviation and range of each column of an array or CSR matrix, whose rows may have weights."""
    weights = np.ones(features.shape[0]) if weights is None else weights
    if sparse.issparse(features):
        mean, variance = mean_variance_axis(features, axis=0, weights=weights)
        low, high = min_max_axis(features, axis=0)
    else:
        mean = weights @ features / weights.sum()
        variance = weights @ (features - mean) ** 2 / weights.sum()
        low, high = features.min(axis=0), features.max(axis=0)
    total = mean * weights.sum()
    # the computed variance of equal numbers may be above 0, because of rounding
    return Spread(total, np.where(high > low, np.sqrt(variance), 0), low, high)


def measure_effects(
    features: Any, spread: Spread, labels: IntArray, clusters: IntArray, weights: Floats | None = None
) -> Effects:
    """Compare each of ``clusters`` with all other rows.

    Parameters
    ----------
    features : array or CSR matrix, shape (n_rows, n_features)
        A sample of rows.
    spread : Spread
        What ``measure_spread`` returned for these rows.
    labels : array of int, shape (n_rows,)
        The cluster of each row.
    clusters : array of int
        The clusters to compare with other rows.
    weights : array of float, shape (n_rows,), optional
        How many rows of the data each row of the sample stands for, as given to ``measure_spread``.

    Returns
    -------
    effects : Effects
        Means and effects, one row for each of ``clusters``.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.diagnosis.effects import measure_effects, measure_spread
    >>> features = np.array([[0.0, 5.0], [0.0, 5.0], [4.0, 5.0], [4.0, 5.0]])
    >>> measure_effects(features, measure_spread(features), np.array([0, 0, 1, 1]), np.array([0])).effect
    array([[-2.,  0.]])
    """
    n_rows = features.shape[0]
    weights = np.ones(n_rows) if weights is None else weights
    members = _membership(labels, clusters)
    counts = np.asarray(members.sum(axis=1)).ravel().astype(np.int64)
    members = members * weights
    mass = np.asarray(members.sum(axis=1)).reshape(-1, 1)
    sums, others = _dense(members @ features), weights.sum() - mass
    has_rows, has_others = counts[:, None] > 0, counts[:, None] < n_rows
    mean = sums / np.where(has_rows, mass, 1)
    elsewhere = (spread.total - sums) / np.where(has_others, others, 1)
    comparable = has_rows & has_others & (spread.deviation > 0)
    deviation = _deviations(features, members, mass, mean, spread.total / weights.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        effect = np.where(comparable, (mean - elsewhere) / spread.deviation, 0)
        narrowness = np.where(comparable, np.maximum(1 - deviation / spread.deviation, 0), 0)
    return Effects(counts, mean, elsewhere, effect, narrowness)


def name_strongest(effects: Effects, place: int, n_features: int, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return name, effect and means of the features that distinguish the cluster in row ``place`` of ``effects``."""
    return [
        {
            "name": names[feature],
            "effect": float(effects.effect[place, feature]),
            "mean": float(effects.mean[place, feature]),
            "elsewhere": float(effects.mean_elsewhere[place, feature]),
        }
        for feature in effects.strongest(place, n_features).tolist()
    ]


def _deviations(features: Any, members: Any, mass: Floats, mean: Floats, centre: Floats) -> Floats:
    """Return the standard deviation of each feature in each cluster.

    The centre is subtracted, because squares of large values lose precision; sparse matrices would become dense.
    """
    if sparse.issparse(features):
        squares, shifted_mean = features.multiply(features), mean
    else:
        squares, shifted_mean = (features - centre) ** 2, mean - centre
    variance = _dense(members @ squares) / np.where(mass > 0, mass, 1) - shifted_mean**2
    return np.asarray(np.sqrt(np.maximum(variance, 0)))


def _dense(matrix: Any) -> Floats:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _membership(labels: IntArray, clusters: IntArray) -> Any:
    """Return a sparse matrix with one row per cluster and one column per row of the data: 1 for members."""
    order = np.argsort(clusters)
    place = np.minimum(np.searchsorted(clusters, labels, sorter=order), len(clusters) - 1)
    cluster = order[place] if len(clusters) else place
    columns = np.flatnonzero(clusters[cluster] == labels) if len(clusters) else np.empty(0, dtype=np.int64)
    ones = np.ones(len(columns))
    return sparse.csr_array((ones, (cluster[columns], columns)), shape=(len(clusters), len(labels)))
