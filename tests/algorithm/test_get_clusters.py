"""Feature views: which columns they hold."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans

from cohirf.algorithm import get_clusters
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.get_clusters import Views, sample_features
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.rows.storage import SerialEngine

X = np.random.default_rng(0).normal(size=(50, 6))


class Recorder(ClusterMixin, BaseEstimator):
    """Puts rows together that have the same first value, and keeps what it was given."""

    seen: ClassVar[list] = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        self.seen.append(X.copy())
        first = X[:, [0]].toarray() if sparse.issparse(X) else X[:, [0]]
        self.labels_ = np.unique(first, return_inverse=True)[1].ravel()
        return self


@pytest.fixture
def seen():
    Recorder.seen.clear()
    return Recorder.seen


def clusters_of(rows, views, **arguments):
    arguments = {"sample_weight": None, "place": (1, 0), "engine": SerialEngine()} | arguments
    return get_clusters.get_clusters(rows, views=views, agree=strict_consensus, **arguments)


def test_a_deterministic_method_runs_once_where_all_views_are_the_same():
    deterministic = BaseMethod.of(DBSCAN())
    stochastic = BaseMethod.of(KMeans(2))
    assert Views(deterministic, 5, 6, (0,)).n_runs(6) == 1
    assert Views(deterministic, 5, 3, (0,)).n_runs(6) == 5
    assert Views(stochastic, 5, 6, (0,)).n_runs(6) == 5


@pytest.mark.exact
def test_a_view_is_drawn_by_the_generator_of_its_place(seen):
    clusters_of(X, Views(BaseMethod.of(Recorder()), 2, 3, (7,)), place=(4, 5))
    assert len(seen) == 2
    for view, found in enumerate(seen):
        rng = generator_at((7,), Draw.VIEW, 4, 5, view)
        assert (found == X[:, sample_features(rng, 6, 3)]).all()


def test_one_run_counts_for_all_views():
    found = clusters_of(X, Views(BaseMethod.of(DBSCAN(eps=1.5, min_samples=2)), 5, 6, (0,)))
    assert found.consensus.views_kept == (0, 1, 2, 3, 4)
    assert found.agreement == 1
    assert len(found.stability.of_view) == 5


def test_views_that_all_have_known_labels_agree():
    found = get_clusters.agree_on(np.array([4, -1, 4, 2, -1]), None, 3)
    labels = found.consensus.labels
    assert labels[0] == labels[2]
    assert len(set(labels.tolist())) == 4
    assert found.consensus.n_noise == 2
    assert len(found.consensus.views_kept) == 3
    assert found.stability.of_view.tolist() == [1, 1, 1]
    assert (found.agreement, found.base_seconds, found.core) == (1.0, 0.0, None)
    assert 0 < found.consensus_seconds < 60
