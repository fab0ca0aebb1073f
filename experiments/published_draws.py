"""CoHiRF with the random draws and medoids of the authors' published program, to compare fits with theirs.

``cohirf.CoHiRF.as_published`` draws features and seeds in its own way, and its medoids have the
largest sum of cosines; those of the authors' program have that of inner products. A
search is decided by its luckiest trial, so other draws give other figures: see
``experiments.authors``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from cohirf.clusterers import SCSRGF
from cohirf.clusterers.affinity import (
    FloatMatrix,
    build_nearest_affinity,
    fuse_affinities,
    symmetrise,
)
from cohirf.clusterers.sc_srgf import partition_graph

MOST_LEVELS = 100
# rows of which inner products of all pairs are computed, as the program does: 200 MB
MOST_PAIRED = 5000
Subspaces = Sequence[NDArray[np.intp]]
Batch = tuple[NDArray[np.int64], np.random.Generator | None]


class SubspacesAsPublished(SCSRGF):
    """SC-SRGF with the draws of the authors' program, and as many steps of fusion as subspaces."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of ``X``."""
        graph = self._fuse(X, np.random.RandomState(self.random_state))
        rng = np.random.RandomState(self.random_state)
        self.labels_ = partition_graph(graph, self.n_clusters, rng, unit=False)
        return self

    def _fuse(self, X: Any, rng: np.random.RandomState) -> FloatMatrix:
        n_features = max(1, int(self.sampling_ratio * X.shape[1]))
        subspaces = [rng.permutation(X.shape[1])[:n_features] for _ in range(self.n_affinities)]
        return normalised(self._fuse_subspaces(X, subspaces))

    def _fuse_subspaces(self, X: Any, subspaces: Subspaces) -> FloatMatrix:
        affinities = [build_nearest_affinity(X[:, part], self.n_neighbors) for part in subspaces]
        return fuse_affinities(affinities, self.n_affinities, rescale=False)


def normalised(graph: FloatMatrix) -> FloatMatrix:
    """Return a fused graph whose rows sum to about 1, symmetric; the given one is overwritten."""
    graph /= graph.sum(axis=1, keepdims=True)
    symmetrise(graph, 0.5)
    return graph


class DrawnAsPublished(ClusterMixin, BaseEstimator):
    """CoHiRF of a base method, with a generator for each view that is spawned from one.

    A view draws its features, then a seed of the features of a kernel, then one of the base method.

    Parameters
    ----------
    estimator : estimator
        The base method. Rows that it calls noise (-1) are clusters of their own.
    features : transformer or None, default=None
        The random features of a kernel, which are drawn for each view.
    views : int, default=5
        Number of views.
    max_features : int or float, default=1.0
        Number of features of a view, or share of all features.
    threshold : float or None, default=None
        Views are left out, one after the other, while the groups without one of them agree with
        those of all by an ARI below this. None leaves none out.
    batch_size : int or None, default=None
        Number of rows of a batch, one after the other. Batches have one level each, and one of them
        is left as it is, until what is left is a batch. By default all rows are one.
    random_state : int or None, default=None
        Seed.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        features: Any = None,
        views: int = 5,
        max_features: int | float = 1.0,
        threshold: float | None = None,
        batch_size: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.views = views
        self.max_features = max_features
        self.threshold = threshold
        self.batch_size = batch_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of ``X``."""
        rng = np.random.default_rng(self.random_state)
        medoids = labels = np.arange(len(X))
        for _ in range(MOST_LEVELS):
            batches = self._split(len(medoids), rng)
            group = np.empty_like(medoids)
            chosen: list[NDArray[np.int64]] = []
            for rows, draws in batches:
                part, of_part = self._contract(X, medoids[rows], draws)
                group[rows] = part + sum(map(len, chosen))
                chosen.append(of_part)
            labels = group[labels]
            before = len(medoids)
            medoids = np.concatenate(chosen)
            is_last_batch = self.batch_size is not None and len(batches) == 1
            if is_last_batch or len(medoids) == before:
                break
        self.labels_ = labels
        return self

    def _split(self, n_rows: int, rng: np.random.Generator) -> list[Batch]:
        """Return the rows of each batch and its generator, None if it is left as it is."""
        rows = np.arange(n_rows)
        if self.batch_size is None:
            return [(rows, rng)]
        n_batches = n_rows // self.batch_size
        if n_batches <= 1:
            return [(rows, rng.spawn(2)[0])]
        left = int(rng.integers(0, n_batches))
        draws: list[np.random.Generator | None] = [*rng.spawn(n_batches)]
        draws[left] = None
        return list(zip(np.array_split(rows, n_batches), draws, strict=True))

    def _contract(
        self, X: Any, rows: NDArray[np.int64], draws: np.random.Generator | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the group of each of these rows, and the medoid of each group."""
        if draws is None:
            return np.arange(len(rows)), rows
        views = [self._cluster_view(X[rows], view) for view in draws.spawn(self.views)]
        group = self._agree(np.array(views).T)
        numbers = range(group.max() + 1)
        return group, np.array([self._medoid_of(X, rows[group == number]) for number in numbers])

    def _cluster_view(self, X: Any, rng: np.random.Generator) -> NDArray[np.int64]:
        n_features = self.max_features
        if isinstance(n_features, float):
            n_features = max(1, int(n_features * X.shape[1]))
        view = X[:, rng.choice(X.shape[1], size=n_features, replace=False)]
        seed = int(rng.integers(10**6))
        if self.features is not None:
            view = clone(self.features).set_params(random_state=seed).fit_transform(view)
        seed = int(rng.integers(10**6))
        method = clone(self.estimator)
        options = method.get_params(deep=False)
        changed = {"random_state": seed} if "random_state" in options else {}
        for name in {"n_clusters", "n_neighbors"} & options.keys():
            changed[name] = min(options[name], len(view))
        labels = np.array(method.set_params(**changed).fit_predict(view), dtype=np.int64)
        is_noise = labels == -1
        labels[is_noise] = labels.max() + 1 + np.arange(is_noise.sum())
        return labels

    def _agree(self, views: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return groups of rows that are together in all views, or in those that agree."""
        group = np.unique(views, axis=0, return_inverse=True)[1].ravel()
        while self.threshold is not None and views.shape[1] > 1:
            without = [np.delete(views, number, axis=1) for number in range(views.shape[1])]
            groups = [np.unique(rest, axis=0, return_inverse=True)[1].ravel() for rest in without]
            scores = [adjusted_rand_score(group, rest) for rest in groups]
            worst = int(np.argmin(scores))
            if scores[worst] >= self.threshold:
                break
            views, group = without[worst], groups[worst]
        return group

    def _medoid_of(self, X: Any, rows: NDArray[np.int64]) -> np.int64:
        members = X[rows]
        if self.features is None and len(rows) > MOST_PAIRED:
            return rows[(members @ members.sum(axis=0)).argmax()]
        near = members @ members.T if self.features is None else rbf_kernel(members)
        return rows[near.sum(axis=0).argmax()]
