"""The base method of a model without one: K-Means of a sample, to whose centres all rows are then
assigned.

The consensus of several views, and the merges after the levels, need many small clusters, but not
their exact borders. A hundred rows for each cluster place its centre well enough, and ten of them
find where to begin. So a view costs one pass over the rows, and its time grows with the number of
clusters as one iteration of K-Means does.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from cohirf.error_contexts import ignoring_warnings
from cohirf.fitting.policy import QUICK
from cohirf.rows.arrays import namespace, put_beside, take_rows, to_host
from cohirf.rows.containers import container_of


class QuickKMeans(ClusterMixin, BaseEstimator):
    """K-Means of at most 100 rows for each cluster, with one start and few iterations."""

    labels_: Any
    _shown_as = "KMeans"  # in messages: users do not know this class

    def __init__(self, n_clusters: int = 8, *, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``, where they are."""
        rng = check_random_state(self.random_state)
        n_rows = X.shape[0]
        rows = _draw_some(rng, n_rows, QUICK.rows_per_cluster * self.n_clusters)
        some, weights = (
            (X, sample_weight)
            if rows is None
            else (_take_rows(X, rows), _take_rows(sample_weight, rows))
        )
        seeds = self._seed(some, weights, rng)
        n_passes = QUICK.iterations
        if seeds.shape[0] > QUICK.few_centres:
            n_passes = QUICK.iterations_of_many
        # fewer distinct rows than inner clusters matter to nobody
        with ignoring_warnings(ConvergenceWarning):
            self.labels_ = container_of(X).label_by_some(X, some, weights, seeds, n_passes)
        return self

    def _seed(self, X: Any, sample_weight: Any, rng: Any) -> Any:
        """Return centres to begin with: rows that are far from each other, among a few."""
        rows = _draw_some(rng, X.shape[0], QUICK.seed_rows_per_cluster * self.n_clusters)
        some, weights = (
            (X, sample_weight)
            if rows is None
            else (_take_rows(X, rows), _take_rows(sample_weight, rows))
        )
        return to_host(_take_rows(some, draw_far_rows(some, weights, self.n_clusters, rng)))


def draw_far_rows(X: Any, sample_weight: Any, n_drawn: int, rng: Any) -> Any:
    """Draw rows with a chance proportional to weight and squared distance to the nearest row drawn
    before: k-means++.

    Each row is drawn once, and is not the best of several: inertia was 0.4 % higher, in half of the
    time. After many rows, and on a device, which waits longer for a step than it computes, a step
    draws several: a sixteenth of those drawn before.
    """
    container = container_of(X)
    points = container.scale(X)
    squares = container.square_lengths(points)
    xp = namespace(squares)
    if sample_weight is None:
        weights = xp.ones_like(squares)
    else:
        weights = xp.astype(put_beside(sample_weight, X), squares.dtype)
    closest = xp.ones_like(squares)
    zeros = xp.zeros_like(squares)
    drawn = []
    n_found = 0
    uniforms = rng.random_sample(n_drawn)
    while n_found < n_drawn:
        n_new = container.drawn_at_once(n_found)
        chances = closest * weights
        rows = container_of(chances).draw_by_chance(chances, uniforms[n_found : n_found + n_new])
        products = container.multiply_by_rows(points, rows)
        nearest = xp.take(squares, rows)[None, :] - 2 * products
        distances = squares + (nearest[:, 0] if n_new == 1 else xp.min(nearest, axis=1))
        closest = xp.maximum(distances if n_found == 0 else xp.minimum(closest, distances), zeros)
        drawn.append(rows)
        n_found += n_new
    return xp.concat(drawn)[:n_drawn]


def _take_rows(X: Any, rows: Any) -> Any:
    return None if X is None else take_rows(X, rows)


def _draw_some(rng: Any, n_rows: int, n_drawn: int) -> Any:
    """Draw sorted rows without replacement; None if there are no more rows.

    Many are not permuted to draw from them.
    """
    if n_rows <= n_drawn:
        return None
    if n_rows < QUICK.permuted_rows:
        return np.sort(rng.choice(n_rows, n_drawn, replace=False))
    drawn = np.random.default_rng(rng.randint(2**31 - 1)).choice(
        n_rows, n_drawn, replace=False, shuffle=False
    )
    return np.sort(drawn)
