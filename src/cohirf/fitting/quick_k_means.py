"""The base method of a model without one: K-Means of a sample, to whose centres all rows are then assigned.

The consensus of several views, and the merges after the levels, need many small clusters, but not their exact borders.
A few hundred rows for each cluster place its centre well enough, so that a view costs one pass over the rows.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from cohirf.algorithm.grouping import IntArray

ROWS_PER_CLUSTER = 500
ITERATIONS = 10


class QuickKMeans(ClusterMixin, BaseEstimator):
    """K-Means of at most 500 rows for each cluster, with one start and at most ten iterations."""

    labels_: IntArray

    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``."""
        rng = check_random_state(self.random_state)
        method = KMeans(self.n_clusters, n_init=1, max_iter=ITERATIONS, random_state=rng)
        n_rows = ROWS_PER_CLUSTER * self.n_clusters
        if X.shape[0] <= n_rows:
            self.labels_ = method.fit(X, sample_weight=sample_weight).labels_
            return self
        rows = np.sort(rng.choice(X.shape[0], n_rows, replace=False))
        weights = None if sample_weight is None else sample_weight[rows]
        self.labels_ = method.fit(X[rows], sample_weight=weights).predict(X)
        return self
