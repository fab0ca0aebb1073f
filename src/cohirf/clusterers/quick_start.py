"""scikit-learn's K-Means, whose first centres are drawn in a third of the time: the same rows.

scikit-learn converts rows of float32 to float64, and computes their squares, for each centre that
it draws. With many clusters and few iterations, that takes most of the time of a fit. Here both are
done once.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from cohirf.clusterers.policy import START
from cohirf.rows.containers import container_of


class QuickStartKMeans(KMeans):
    """K-Means of scikit-learn with the same first centres, and so with the same labels."""

    _shown_as = "KMeans"  # in messages: users do not know this class

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``; many rows and sparse ones as scikit-learn does."""
        if not container_of(X).is_dense or X.size > START.values:
            super().fit(X, y, sample_weight)
            return self
        given = {"init": self.init, "n_init": self.n_init}
        starts = 1 if self.n_init == "auto" else self.n_init
        self.set_params(init=partial(_draw_centres, sample_weight), n_init=starts)
        try:
            super().fit(X, y, sample_weight)
        finally:
            self.set_params(**given)
        return self


def quick_start(method: KMeans) -> KMeans:
    """Return a method that finds the same labels in less time, if there is one."""
    if type(method) is not KMeans or not (
        isinstance(method.init, str) and method.init == "k-means++"
    ):
        return method
    return QuickStartKMeans(**method.get_params(deep=False))


def _draw_centres(
    sample_weight: Any, X: NDArray[Any], n_clusters: int, random_state: np.random.RandomState
) -> NDArray[Any]:
    """Return rows that are far from each other, as greedy k-means++ of scikit-learn draws them:
    of several rows for each centre, the one that lowers the sum of squared distances most.
    """
    n_rows = len(X)
    n_tried = 2 + int(np.log(n_clusters))
    weights = np.ones(n_rows, X.dtype) if sample_weight is None else np.asarray(sample_weight)
    weights = weights.astype(X.dtype, copy=False)
    measure = _Distances(X, n_tried)
    drawn = np.empty(n_clusters, dtype=np.intp)
    drawn[0] = random_state.choice(n_rows, p=weights / weights.sum())
    closest = measure.squares_to(drawn[:1])[0].copy()
    total = closest @ weights
    for number in range(1, n_clusters):
        chances = np.cumsum(weights * closest)
        tried = np.searchsorted(chances, random_state.uniform(size=n_tried) * total)
        np.minimum(tried, n_rows - 1, out=tried)  # sums are rounded
        squares = measure.squares_to(tried)
        np.minimum(closest, squares, out=squares)
        totals = squares @ weights[:, None]
        best = totals.argmin()
        total = totals[best]
        closest[:] = squares[best]
        drawn[number] = tried[best]
    centres: NDArray[Any] = X[drawn]
    return centres


class _Distances:
    """Squared distances of all rows to some of them, computed in float64 from expanded squares."""

    def __init__(self, X: NDArray[Any], n_tried: int) -> None:
        rows = X.astype(np.float64, copy=False)
        self.rows = rows
        self.squares = np.einsum("ij,ij->i", rows, rows)
        # a product with long rows takes half of the time
        self.columns = np.multiply(rows.T, -2, order="C")
        self.expanded = np.empty((n_tried, len(X)))
        self.found = np.empty((n_tried, len(X)), dtype=X.dtype)

    def squares_to(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Return a row of squared distances for each of some rows; the next call overwrites it."""
        expanded = self.expanded[: len(numbers)]
        np.matmul(self.rows[numbers], self.columns, out=expanded)
        expanded += self.squares[numbers][:, None]
        expanded += self.squares
        found = self.found[: len(numbers)]
        np.copyto(found, expanded, casting="same_kind")
        return np.maximum(found, 0, out=found)
