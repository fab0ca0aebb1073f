"""HDBSCAN in one batch: the clusters of scikit-learn, from the spanning tree of all rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.rows.threads import on_threads
from cohirf.spanning.computed import ComputedHDBSCAN, computed_hdbscan
from cohirf.spanning.policy import TREE

pytest.importorskip("numba")


@pytest.fixture(autouse=True)
def compute_few_rows(monkeypatch):
    monkeypatch.setitem(vars(TREE), "computed_rows", 100)


def draw_rows(seed, n_rows=1200):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(2, 8))
    centres = rng.uniform(-1, 1, size=(6, n_features))
    return centres[rng.integers(6, size=n_rows)] + 0.3 * rng.normal(size=(n_rows, n_features))


@pytest.mark.parametrize(
    "options",
    [
        {"min_cluster_size": 15},
        {"min_cluster_size": 40, "min_samples": 5},
        {"min_cluster_size": 10, "cluster_selection_method": "leaf"},
        {"min_cluster_size": 20, "metric": "cosine"},
        {"min_cluster_size": 20, "max_cluster_size": 300},
        {"min_cluster_size": 30, "allow_single_cluster": True},
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_clusters_and_noise_are_those_of_scikit_learn(options, seed, monkeypatch):
    X = draw_rows(seed)
    expected = HDBSCAN(copy=True, **options).fit_predict(X)
    monkeypatch.setattr(HDBSCAN, "fit", refuse)
    found = ComputedHDBSCAN(copy=True, **options).fit_predict(X)
    assert adjusted_rand_score(found, expected) == 1
    assert ((found < 0) == (expected < 0)).all()


def refuse(self, X, y=None):
    raise AssertionError("scikit-learn was called")


def test_threads_change_nothing(monkeypatch):
    X = draw_rows(0, 6000)
    monkeypatch.setitem(vars(TREE), "fewest_searched", 100)
    method = ComputedHDBSCAN(min_cluster_size=30, min_samples=5)
    expected = method.fit_predict(X)
    with on_threads(3):
        assert (method.fit_predict(X) == expected).all()


@pytest.mark.parametrize(
    ("X", "options"),
    [
        (np.where(np.arange(1200)[:, None] % 50 == 0, np.nan, draw_rows(1)), {}),
        (sparse.csr_matrix(draw_rows(1)), {}),
        (draw_rows(1)[:99], {}),
        (draw_rows(1), {"metric": "manhattan"}),
        (draw_rows(1), {"alpha": 1.3}),
        (np.where(np.arange(1200)[:, None] == 7, 0.0, draw_rows(1)), {"metric": "cosine"}),
    ],
    ids=["missing values", "sparse", "few", "other metric", "alpha", "a row of zeros"],
)
def test_other_rows_and_parameters_are_left_to_scikit_learn(X, options, monkeypatch):
    called = []
    monkeypatch.setattr(HDBSCAN, "fit", lambda self, X, y=None: called.append(X))
    ComputedHDBSCAN(copy=True, **options).fit(X)
    assert len(called) == 1


def test_only_the_class_of_scikit_learn_is_computed():
    class Own(HDBSCAN):
        pass

    own = Own()
    assert computed_hdbscan(own) is own
    assert type(computed_hdbscan(HDBSCAN())) is ComputedHDBSCAN
    assert (
        computed_hdbscan(HDBSCAN(min_cluster_size=7)).get_params()
        == HDBSCAN(min_cluster_size=7).get_params()
    )


def test_a_fit_of_one_batch_has_the_clusters_of_scikit_learn_and_keeps_the_users_method(
    monkeypatch,
):
    X = draw_rows(2)
    base = HDBSCAN(min_cluster_size=15, copy=True)
    expected = base.fit_predict(X)
    monkeypatch.setattr(HDBSCAN, "fit", refuse)
    model = CoHiRF(base, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, expected) == 1
    assert ((model.labels_ < 0) == (expected < 0)).all()
    assert type(model.estimator) is HDBSCAN
