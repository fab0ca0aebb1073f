"""scikit-learn's K-Means of rows of float32: the same first centres in a third of the time.

scikit-learn converts rows of float32 to float64, and computes their squares, for each centre that
it draws. With many clusters and few iterations, that takes most of the time of a fit. Here both are
done once. Where clusters are only groups that will merge, first centres are drawn among few rows.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import __version__ as sklearn_version
from sklearn.cluster import KMeans

from cohirf.clusterers.policy import START
from cohirf.rows.containers import container_of


class QuickStartKMeans(KMeans):
    """K-Means of scikit-learn that finds the same first centres of float32 rows in less time.

    Parameters
    ----------
    n_clusters, init, n_init, max_iter, tol, verbose, random_state, copy_x, algorithm
        As in scikit-learn's K-Means.
    seed_rows : float, default=inf
        First centres are drawn among so many rows for each cluster, and are others then.
    """

    _shown_as = "KMeans"  # in messages: users do not know this class

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        seed_rows: float = math.inf,
    ) -> None:
        super().__init__(
            n_clusters,
            init=init,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
            copy_x=copy_x,
            algorithm=algorithm,
        )
        self.seed_rows = seed_rows

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster the rows of ``X``; sparse ones as scikit-learn does, and those of which it draws
        the first centres in as little time.
        """
        if not self._draws_here(X):
            super().fit(X, y, sample_weight)
            return self
        given = {"init": self.init, "n_init": self.n_init}
        starts = 1 if self.n_init == "auto" else self.n_init
        draw = partial(_draw_among_some, sample_weight, self.seed_rows)
        self.set_params(init=draw, n_init=starts)
        try:
            super().fit(X, y, sample_weight)
        finally:
            self.set_params(**given)
        return self

    def _draws_here(self, X: Any) -> bool:
        if not container_of(X).is_dense:
            return False
        if self.seed_rows * self.n_clusters < X.shape[0]:
            return True
        is_float32 = str(X.dtype) == "float32"  # of NumPy: rows on devices have other types
        return is_float32 and X.size <= START.values


def quick_start(method: KMeans) -> KMeans:
    """Return a method that finds the same labels in less time, if there is one.

    scikit-learn before 1.9 adds up the chances of rows in float64, and so may draw other ones.
    """
    is_drawn = isinstance(method.init, str) and method.init == "k-means++"
    version = tuple(int(part) for part in sklearn_version.split(".")[:2])
    if type(method) is not KMeans or not is_drawn or version < (1, 9):
        return method
    return QuickStartKMeans(**method.get_params(deep=False))


def _draw_among_some(
    sample_weight: Any,
    seed_rows: float,
    X: NDArray[Any],
    n_clusters: int,
    random_state: np.random.RandomState,
) -> NDArray[Any]:
    """Return rows that are far from each other, among all or a random part of them."""
    if seed_rows * n_clusters >= len(X):
        return _draw_centres(sample_weight, X, n_clusters, random_state)
    some = random_state.choice(len(X), int(seed_rows * n_clusters), replace=False)
    some.sort()
    weights = None
    if sample_weight is not None:
        weights = np.asarray(sample_weight)[some]
        if not weights.astype(X.dtype).sum() > 0:  # none of these rows counts
            return _draw_centres(sample_weight, X, n_clusters, random_state)
    return _draw_centres(weights, X[some], n_clusters, random_state)


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
    """Squared distances of all rows to some of them, from expanded squares of float64.

    They are rounded as scikit-learn rounds them, up to a few cells of nearly equal rows: products
    of slices with other strides would round otherwise, and now and then another row would be drawn.
    Products of powers of two are exact.
    """

    def __init__(self, X: NDArray[np.float32], n_tried: int) -> None:
        self.rows = X.astype(np.float64)
        self.squares = np.einsum("ij,ij->i", self.rows, self.rows)
        is_large = n_tried * X.size >= START.product
        self.columns = np.ascontiguousarray(self.rows.T) if is_large else self.rows.T
        self.expanded = np.empty((n_tried, len(X)))
        self.found = np.empty((n_tried, len(X)), dtype=X.dtype)
        self.zeros = np.zeros(len(X), dtype=X.dtype)  # four times as fast as one zero

    def squares_to(self, numbers: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return a row of squared distances for each of some rows; the next call overwrites it."""
        expanded = self.expanded[: len(numbers)]
        # a single row is no product of matrices
        columns = self.rows.T if len(numbers) == 1 else self.columns
        np.matmul(-2 * self.rows[numbers], columns, out=expanded)
        expanded += self.squares[numbers][:, None]
        expanded += self.squares
        found = self.found[: len(numbers)]
        np.copyto(found, expanded, casting="same_kind")
        return np.maximum(found, self.zeros, out=found)
