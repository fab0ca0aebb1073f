"""Outlier scores: what is far scores high, whatever the density around it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import roc_auc_score

from cohirf import CoHiRF, load, open_source
from cohirf.degrees.policy import OUTLIER
from cohirf.landmarks import LANDMARK, choose_evenly


def with_outliers(n_outliers=20):
    X, _ = make_blobs(1000, centers=4, n_features=4, random_state=0)
    rng = np.random.default_rng(0)
    planted = rng.uniform(X.min(axis=0) - 5, X.max(axis=0) + 5, size=(n_outliers, 4))
    return np.vstack([X, planted]), np.repeat([0, 1], [1000, n_outliers])


@pytest.fixture(scope="module")
def model():
    return CoHiRF(n_clusters=4, random_state=0).fit(with_outliers()[0])


def test_planted_outliers_score_high(model):
    assert roc_auc_score(with_outliers()[1], model.outlier_scores_) > 0.95


def test_usual_rows_score_about_one(model):
    assert np.median(model.score_outliers(with_outliers()[0][:1000])) == pytest.approx(1, abs=0.1)


def test_scores_grow_with_the_distance(model):
    scores = model.score_outliers(model.exemplars_[:1] + np.outer([0, 20, 40, 80], np.ones(4)))
    assert (np.diff(scores) > 0).all()


def test_scores_are_relative_to_the_density():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(500, 2)) * 0.1
    wide = rng.normal(size=(500, 2)) * 5 + 100
    model = CoHiRF(n_clusters=2, random_state=0).fit(np.vstack([dense, wide]))
    beside_dense, in_wide = model.score_outliers([[2, 0], [102, 100]])
    assert beside_dense > 2 * in_wide


def test_noise_scores_higher_than_clusters():
    X, is_outlier = with_outliers()
    model = CoHiRF(DBSCAN(eps=1.5), random_state=0).fit(X)
    assert (model.labels_[is_outlier == 1] == -1).mean() > 0.8
    scores = model.outlier_scores_
    assert np.median(scores[model.labels_ == -1]) > np.quantile(scores[model.labels_ >= 0], 0.99)


@pytest.mark.filterwarnings("ignore:.*noise")
def test_only_noise_has_scores():
    model = CoHiRF(DBSCAN(eps=1e-6), random_state=0).fit(
        np.random.default_rng(0).normal(size=(50, 2))
    )
    assert model.outlier_scores_.shape == (50,)


def test_rows_of_weight_0_have_no_score_of_their_own():
    X = with_outliers()[0]
    weights = np.ones(len(X))
    weights[::3] = 0
    model = CoHiRF(n_clusters=3, random_state=0).fit(X, sample_weight=weights)
    with pytest.raises(AttributeError, match="kept 680 of 1,020: call score_outliers"):
        _ = model.outlier_scores_
    assert model.score_outliers(X).shape == (len(X),)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_few_rows_have_scores(n_rows):
    X = np.arange(float(n_rows))[:, None]
    model = CoHiRF(n_clusters=1, random_state=0).fit(X)
    assert np.isfinite(model.outlier_scores_).all()
    assert np.isfinite(model.score_outliers(X)).all()


def test_identical_rows_are_usual():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    np.testing.assert_array_equal(CoHiRF(DBSCAN(), random_state=0).fit(X).outlier_scores_, 1.0)


def test_outlier_scores_need_all_rows():
    X = np.random.default_rng(0).normal(size=(10_100, 2))
    model = CoHiRF(n_clusters=2, views=1, merge="compact", random_state=0).fit(X)
    assert not hasattr(model, "outlier_scores_")
    with pytest.raises(AttributeError, match=r"kept [\d,]+ of 10,100: call score_outliers"):
        _ = model.outlier_scores_
    assert len(model.score_outliers(X[:10])) == 10


def test_containers_agree(model):
    X = with_outliers()[0][:100]
    expected = model.score_outliers(X)
    np.testing.assert_allclose(model.score_outliers(open_source(X)), expected)
    of_sparse = CoHiRF(n_clusters=4, random_state=0).fit(sparse.csr_array(with_outliers()[0]))
    np.testing.assert_allclose(of_sparse.score_outliers(sparse.csr_array(X)), expected, rtol=1e-6)


def test_loaded_models_have_the_same_scores(model, tmp_path):
    model.save(tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").outlier_scores_, model.outlier_scores_)


def test_each_landmark_stands_for_as_many_rows():
    clusters = np.repeat([0, 1, -1], [500, 500, 100])
    chosen = choose_evenly(clusters, np.array([100_000.0, 10_000.0]))
    assert np.bincount(clusters[chosen]).tolist() == [500, 50]


def test_small_clusters_keep_their_neighbours():
    chosen = choose_evenly(np.repeat([0, 1], [500, 500]), np.array([1e6, 500.0]))
    assert (chosen >= 500).sum() == LANDMARK.neighbours + 1


@pytest.fixture(scope="module")
def large():
    """A model with so many landmarks that rows are compared with those around them, its data, and
    other rows.
    """
    X, _ = make_blobs(6000, centers=8, n_features=10, cluster_std=2, random_state=0)
    return CoHiRF(n_clusters=8, batch_size=1000, random_state=0).fit(X[:4500]), X[:4500], X[4500:]


def compare_with_all(model, X, monkeypatch):
    """Return scores of rows that are compared with all landmarks."""
    monkeypatch.setitem(vars(OUTLIER), "landmarks", np.inf)
    degrees = model._state.degrees
    return replace(degrees, landmarks=degrees.landmarks).outliers.score(X)


def test_landmarks_around_a_row_give_nearly_the_scores_of_all(large, monkeypatch):
    model, _, X = large
    found = model.score_outliers(X)
    exact = compare_with_all(model, X, monkeypatch)
    assert (found != exact).any()
    assert np.abs(found / exact - 1).mean() < 0.01
    assert np.abs(found / exact - 1).max() < 0.2


def test_landmarks_around_outliers_are_found(large, monkeypatch):
    model, X, new = large
    planted = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), size=(60, 10))
    rows = np.vstack([new, planted])
    is_outlier = np.repeat([0, 1], [len(new), 60])
    exact = roc_auc_score(is_outlier, compare_with_all(model, rows, monkeypatch))
    assert exact > 0.95
    assert roc_auc_score(is_outlier, model.score_outliers(rows)) == pytest.approx(exact, abs=0.005)


def test_the_score_of_a_row_does_not_depend_on_the_others(large):
    model, _, X = large
    np.testing.assert_allclose(
        model.score_outliers(X)[700:710], model.score_outliers(X[700:710]), rtol=1e-9
    )


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_many_identical_rows_are_usual(shift):
    X = np.repeat([[0.1] * 5, [7.3] * 5], 2000, axis=0) + shift
    model = CoHiRF(DBSCAN(), random_state=0).fit(X)
    np.testing.assert_array_equal(model.score_outliers(X[::100]), 1.0)


def test_scores_beside_rows_that_are_all_the_same_are_finite():
    model = CoHiRF(DBSCAN(0.1), random_state=0).fit(np.repeat([[0.0], [1.0]], 30, axis=0))
    scores = model.score_outliers([[0.0], [0.5], [1e150]])
    assert scores[0] == 1
    assert np.isfinite(scores).all()
    assert (scores[1:] > 1e100).all()
