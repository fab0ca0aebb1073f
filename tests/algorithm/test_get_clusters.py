"""Feature views: which columns they hold, and on which scale."""

import itertools
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans

from cohirf import CoHiRF
from cohirf.algorithm import get_clusters
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.engine import SerialEngine
from cohirf.algorithm.features import sample_features
from cohirf.algorithm.get_clusters import ViewLabels, Views
from cohirf.algorithm.randomness import Draw, generator_at

X = np.random.default_rng(0).normal(size=(50, 6))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("max_features", [1, 4, 0.5, 1.0])
def test_scaled_views_keep_the_meaning_of_a_radius(max_features, container):
    rng = np.random.default_rng(1)
    column = np.sort(rng.uniform(0, 30, 120))
    repeated = np.repeat(column[:, None], 9, axis=1)  # every view has the same distances, but for their size
    base = DBSCAN(eps=1.0, min_samples=2)
    alone = base.fit(repeated).labels_
    assert 1 < len(set(alone.tolist())) < 60
    model = CoHiRF.as_published(
        base, n_views=3, max_features=max_features, scale_views=True, max_iter=1, random_state=0
    )
    with pytest.warns(match="still merged clusters when max_iter=1"):
        labels = model.fit(container(repeated)).labels_
    together = labels[:, None] == labels
    expected = (alone[:, None] == alone) & (alone >= 0) | np.eye(120, dtype=bool)
    assert (together == expected).all()


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
    return get_clusters.get_clusters(rows, views=views, consensus=strict_consensus, **arguments)


def test_a_deterministic_method_runs_once_where_all_views_are_the_same():
    deterministic, stochastic = BaseMethod.of(DBSCAN()), BaseMethod.of(KMeans(2))
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


def test_scaled_views_are_multiplied_by_the_root_of_the_share_of_features():
    method = BaseMethod.of(KMeans(2))
    assert Views(method, 1, 4, (0,), scaled=True).scale(9) == 1.5
    assert Views(method, 1, 4, (0,)).scale(9) == 1.0


@pytest.mark.exact
def test_each_view_holds_other_features_and_is_labelled_by_itself(seen):
    found = clusters_of(X, Views(BaseMethod.of(Recorder()), 4, 3, (0,)))
    columns = [tuple(np.flatnonzero((X[0][:, None] == view[0]).any(axis=1))) for view in seen]
    assert len(set(columns)) > 1
    for view, held in zip(seen, columns, strict=True):
        assert (view == X[:, held]).all()
    assert found.consensus.n_clusters == 50
    assert found.stability.of_row.shape == (50,)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_companions_are_seen_by_the_method_and_have_no_label(container):
    rows, between = container(np.array([[0.0], [2.0], [9.0]])), container(np.array([[1.0]]))
    views = Views(BaseMethod.of(DBSCAN(eps=1.1, min_samples=1)), 3, 1, (0,))
    assert clusters_of(rows, views).consensus.labels.tolist() == [0, 1, 2]
    assert clusters_of(rows, views, companions=between).consensus.labels.tolist() == [0, 0, 1]


def test_companions_are_not_shown_to_a_method_that_is_to_find_as_many_clusters_as_there_are_rows():
    rows, others = np.array([[0.0], [0.1], [9.0]]), np.array([[20.0], [30.0]])
    three = Views(BaseMethod.of(AgglomerativeClustering(3)), 3, 1, (0,))
    assert clusters_of(rows, three, companions=others).consensus.n_clusters == 3


class Told:
    """An engine whose views took as long as it says."""

    is_serial = False

    def share(self, rows):
        return rows

    def run(self, function, tasks, n_tasks):
        return (ViewLabels(function(*task).labels, 1000.0) for task in tasks)


def test_seconds_of_all_views_are_added_up_and_those_of_the_consensus_are_the_rest(monkeypatch):
    monkeypatch.setattr(get_clusters, "perf_counter", itertools.count().__next__)  # each look at the clock is a second
    found = clusters_of(X, Views(BaseMethod.of(KMeans(2, n_init=1)), 3, 2, (0,)), engine=Told())
    assert found.base_seconds == 3000
    assert found.consensus_seconds == 5  # before the first view, after each of the three, and the consensus
