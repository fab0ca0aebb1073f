"""The base method of a model without one: K-Means of a sample, to whose centres all rows are then assigned.

The consensus of several views, and the merges after the levels, need many small clusters, but not their exact borders.
A hundred rows for each cluster place its centre well enough, and ten of them find where to begin. So a view costs one
pass over the rows, and its time grows with the number of clusters as one iteration of K-Means does.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from cohirf.algorithm.arrays import fetch_rows, is_here, take_rows
from cohirf.algorithm.choose_medoids import cluster_means
from cohirf.algorithm.distances import find_nearest
from cohirf.algorithm.grouping import compress

ROWS_PER_CLUSTER = 100
SEEDS_PER_CLUSTER = 10
ITERATIONS = 10
MANY_ROWS = 1_000_000


class QuickKMeans(ClusterMixin, BaseEstimator):
    """K-Means of at most 100 rows for each cluster, with one start and at most ten iterations."""

    labels_: Any
    _shown_as = "KMeans"  # in messages: users do not know this class

    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``, where they are."""
        rng = check_random_state(self.random_state)
        n_rows = X.shape[0]
        rows = _draw(rng, n_rows, ROWS_PER_CLUSTER * self.n_clusters)
        some, weights = (X, sample_weight) if rows is None else (_take(X, rows), _take(sample_weight, rows))
        seeds = self._seed(some, weights, rng)
        if not is_here(X):
            self.labels_ = find_nearest(X, _iterate(some, weights, seeds), exact=False)
            return self
        method = KMeans(self.n_clusters, init=seeds, n_init=1, max_iter=ITERATIONS, random_state=rng)
        with warnings.catch_warnings():  # fewer distinct rows than inner clusters matter to nobody
            warnings.simplefilter("ignore", ConvergenceWarning)
            method.fit(some, sample_weight=weights)
        self.labels_ = method.labels_ if rows is None else method.predict(X)
        return self

    def _seed(self, X: Any, sample_weight: Any, rng: Any) -> Any:
        """Return centres to begin with: rows that are far from each other, among a few."""
        rows = _draw(rng, X.shape[0], SEEDS_PER_CLUSTER * self.n_clusters)
        rows = np.arange(X.shape[0]) if rows is None else rows
        weights = None if sample_weight is None else fetch_rows(sample_weight, rows)
        # Each centre is drawn once, and not the best of several: inertia was 0.4 % higher, in half of the time.
        seeds, _ = kmeans_plusplus(
            fetch_rows(X, rows), self.n_clusters, sample_weight=weights, random_state=rng, n_local_trials=1
        )
        return seeds


def _iterate(X: Any, sample_weight: Any, centres: Any) -> Any:
    """Return the centres after the iterations of K-Means on a device; those of empty clusters are left out."""
    for _ in range(ITERATIONS):
        occupied, label = compress(find_nearest(X, centres, exact=False), centres.shape[0])
        centres = cluster_means(X, label, int(occupied.shape[0]), sample_weight)
    return centres


def _take(X: Any, rows: Any) -> Any:
    return None if X is None else take_rows(X, rows)


def _draw(rng: Any, n_rows: int, n_drawn: int) -> Any:
    """Draw sorted rows without replacement; None if there are no more rows. Many are not permuted to draw from them."""
    if n_rows <= n_drawn:
        return None
    if n_rows < MANY_ROWS:
        return np.sort(rng.choice(n_rows, n_drawn, replace=False))
    drawn = np.random.default_rng(rng.randint(2**31 - 1)).choice(n_rows, n_drawn, replace=False, shuffle=False)
    return np.sort(drawn)
