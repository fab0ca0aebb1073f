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

from cohirf.algorithm.arrays import fetch_rows, is_here, put_beside, to_host
from cohirf.algorithm.nearest_rows import find_nearest

ROWS_PER_CLUSTER = 500
ITERATIONS = 10
MANY_ROWS = 1_000_000


class QuickKMeans(ClusterMixin, BaseEstimator):
    """K-Means of at most 500 rows for each cluster, with one start and at most ten iterations."""

    labels_: Any
    _shown_as = "KMeans"  # in messages: users do not know this class

    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``; those that are on a device are assigned to centres there."""
        rng = check_random_state(self.random_state)
        method = KMeans(self.n_clusters, n_init=1, max_iter=ITERATIONS, random_state=rng)
        n_rows = ROWS_PER_CLUSTER * self.n_clusters
        if X.shape[0] <= n_rows:
            found = method.fit(to_host(X), sample_weight=to_host(sample_weight)).labels_
            self.labels_ = put_beside(found, X)
            return self
        rows = np.sort(_draw(rng, X.shape[0], n_rows))
        weights = None if sample_weight is None else fetch_rows(sample_weight, rows)
        method.fit(fetch_rows(X, rows), sample_weight=weights)
        self.labels_ = method.predict(X) if is_here(X) else find_nearest(X, method.cluster_centers_, exact=False)
        return self


def _draw(rng: Any, n_rows: int, n_drawn: int) -> Any:
    """Draw rows without replacement; of many, without a permutation of all of them."""
    if n_rows < MANY_ROWS:
        return rng.choice(n_rows, n_drawn, replace=False)
    return np.random.default_rng(rng.randint(2**31 - 1)).choice(n_rows, n_drawn, replace=False, shuffle=False)
