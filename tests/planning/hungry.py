"""A base method whose memory is known, and the batch step around it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, cosine_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import Views


class Hungry(ClusterMixin, BaseEstimator):
    """Takes ``factor * n_rows ** power`` bytes, and puts all rows into one cluster."""

    def __init__(self, factor: float = 1000.0, power: float = 1.0, n_neighbors: int = 1) -> None:
        self.factor = factor
        self.power = power
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> Hungry:
        meal = np.ones(int(self.factor * len(X) ** self.power), dtype=np.uint8)
        self.labels_ = np.zeros(len(X), dtype=np.int64) * meal[0]
        return self


def contraction_of(
    base: Any, n_features: int, n_views: int = 1, *, weighted: bool = False
) -> Contraction:
    return Contraction(
        views=Views(BaseMethod.of(base), n_views, n_features, (0,)),
        consensus=strict_consensus,
        choose_medoids=partial(choose_central_medoids, centrality=cosine_centrality),
        batch_size=None,
        weighted=weighted,
    )
