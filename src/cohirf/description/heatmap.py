"""The clusters and features of a heat map: which are shown, in which order, and how strongly each is coloured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage

from cohirf.algorithm.grouping import IntArray
from cohirf.description.table import Feature, Table
from cohirf.diagnosis.effects import measure_effects, measure_spread

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Heatmap:
    """Clusters and features, sorted so that similar ones are neighbours.

    Attributes
    ----------
    clusters : array of int, shape (n_shown,)
        The clusters, in the order of the rows of the heat map.
    features : list of Feature
        The features, in the order of its columns.
    effect : array of float, shape (n_shown, n_features)
        Difference between the mean in the cluster and the mean of all other rows, in standard deviations of all rows.
    mean : array of float, shape (n_shown, n_features)
        Mean in the cluster; a share of rows, if the feature is a level of a category.
    """

    clusters: IntArray
    features: list[Feature]
    effect: Floats
    mean: Floats


def arrange_heatmap(
    table: Table, labels: IntArray, clusters: IntArray, max_features: int = 20, weights: Floats | None = None
) -> Heatmap:
    """Choose the features that set clusters apart most, and sort both.

    Parameters
    ----------
    table : Table
        A sample of rows.
    labels : array of int
        Cluster of each row of the sample.
    clusters : array of int
        The clusters to show.
    max_features : int
        Largest number of features: those with the largest effect on any of the clusters.
    weights : array of float, optional
        How many rows of the data each row of the sample stands for.

    Returns
    -------
    heatmap : Heatmap
        Clusters and features in the order in which neighbours differ least; the clusters with the largest values of
        the first feature come first.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.description import arrange_heatmap, read_table
    >>> X = np.array([[0.0, 5.0], [0.1, 5.0], [9.0, 0.0], [9.1, 0.0]])
    >>> heatmap = arrange_heatmap(read_table(X, np.arange(4)), np.array([0, 0, 1, 1]), np.array([0, 1]))
    >>> heatmap.clusters
    array([0, 1])
    >>> heatmap.effect.round(1)
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    if table.values.shape[1] == 0 or len(clusters) == 0 or len(table.rows) == 0:
        return Heatmap(clusters[:0], [], np.empty((0, 0)), np.empty((0, 0)))
    effects = measure_effects(table.values, measure_spread(table.values, weights), labels, clusters, weights)
    strength = np.abs(effects.effect).max(axis=0)
    chosen = np.argsort(-strength, kind="stable")[:max_features]
    chosen = chosen[strength[chosen] > 0]
    effect, mean = effects.effect[:, chosen], effects.mean[:, chosen]
    rows, columns = _order(effect), _order(effect.T)
    if len(columns) and len(rows) > 1 and effect[rows[0], columns[0]] < effect[rows[-1], columns[0]]:
        rows = rows[::-1]
    features = [table.features[chosen[column]] for column in columns.tolist()]
    return Heatmap(clusters[rows], features, effect[np.ix_(rows, columns)], mean[np.ix_(rows, columns)])


def _order(vectors: Floats) -> IntArray:
    """Return the order of some vectors in which neighbours differ least."""
    if len(vectors) < 3 or vectors.shape[1] == 0:
        return np.arange(len(vectors))
    tree = linkage(vectors, method="average", optimal_ordering=True)
    return np.asarray(leaves_list(tree), dtype=np.int64)
