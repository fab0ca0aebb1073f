"""Tests of K-Means whose first centres are drawn in less time."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.datasets import make_blobs

from cohirf.clusterers import quick_start as quick_start_module
from cohirf.clusterers.policy import START
from cohirf.clusterers.quick_start import QuickStartKMeans, _draw_centres, quick_start


def rows_of(seed, dtype=np.float32, n_features=4):
    X = make_blobs(700, n_features, centers=9, cluster_std=3.0, random_state=seed)[0]
    return X.astype(dtype)


def weights_of(seed, is_weighted):
    return np.random.default_rng(seed).gamma(0.5, size=700) if is_weighted else None


SHAPES = {
    "as they are": lambda X: X,
    "whole numbers": np.round,
    "repeated": lambda X: np.repeat(X[:70], 10, axis=0),
    "far from zero": lambda X: X + np.float32(1e4),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_first_centres_are_the_rows_that_scikit_learn_draws(seed, is_weighted, shape):
    X = SHAPES[shape](rows_of(seed, n_features=2 + 3 * seed))
    weights = weights_of(seed, is_weighted)
    n_clusters = 5 + 6 * seed
    expected = kmeans_plusplus(X, n_clusters, sample_weight=weights, random_state=seed)[0]
    found = _draw_centres(weights, X, n_clusters, np.random.RandomState(seed))
    assert found.dtype == X.dtype
    assert (found == expected).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n_init", ["auto", 3])
@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_labels_and_centres_are_those_of_scikit_learn(algorithm, n_init, is_weighted, dtype):
    X = rows_of(0, dtype)
    weights = weights_of(0, is_weighted)
    method = KMeans(30, n_init=n_init, max_iter=10, algorithm=algorithm, random_state=1)
    expected = clone(method).fit(X, sample_weight=weights)
    found = quick_start(method).fit(X, sample_weight=weights)
    assert (found.labels_ == expected.labels_).all()
    assert (found.cluster_centers_ == expected.cluster_centers_).all()
    assert found.get_params() == method.get_params() | {"seed_rows": math.inf}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_first_centres_are_drawn_among_some_rows_with_their_weights(dtype, monkeypatch):
    seen = []
    draw = quick_start_module._draw_centres

    def note(weights, X, *given):
        seen.append((weights, X))
        return draw(weights, X, *given)

    monkeypatch.setattr(quick_start_module, "_draw_centres", note)
    X = rows_of(0, dtype)
    weights = weights_of(0, is_weighted=True)
    QuickStartKMeans(4, seed_rows=5, random_state=0).fit(X, sample_weight=weights)
    ((found, rows),) = seen
    assert len(rows) == len(found) == 20
    # scikit-learn has moved all rows by their mean
    places = [np.abs(X - X.mean(axis=0) - row).sum(axis=1).argmin() for row in rows]
    assert len(set(places)) == 20
    assert (weights[places] == found).all()


def test_first_centres_are_drawn_among_all_rows_if_few_have_a_weight():
    X = rows_of(0)
    weights = np.zeros(len(X))
    weights[:10] = 1.0
    for seed in range(5):
        method = QuickStartKMeans(4, seed_rows=1, random_state=seed)
        assert set(method.fit(X, sample_weight=weights).labels_[:10]) == set(range(4))


def test_sparse_rows_float64_and_many_rows_are_left_to_scikit_learn(monkeypatch):
    def draw(*given):
        pytest.fail("these centres are drawn by scikit-learn")

    monkeypatch.setattr("cohirf.clusterers.quick_start._draw_centres", draw)
    X = rows_of(0)
    expected = KMeans(5, n_init=1, random_state=0).fit(X).labels_
    QuickStartKMeans(5, n_init=1, random_state=0).fit(sparse.csr_matrix(X))
    QuickStartKMeans(5, n_init=1, random_state=0).fit(X.astype(np.float64))
    monkeypatch.setitem(vars(START), "values", X.size - 1)
    assert (QuickStartKMeans(5, n_init=1, random_state=0).fit(X).labels_ == expected).all()


class Other(KMeans):
    """A method of a user."""


@pytest.mark.parametrize(
    "method", [KMeans(3, init="random"), KMeans(3, init=np.eye(3)), Other(3)], ids=repr
)
def test_other_starts_and_other_classes_stay_as_they_are(method):
    assert quick_start(method) is method


def test_parameters_are_as_given_after_an_error():
    method = QuickStartKMeans(5, n_init="auto")
    with pytest.raises(ValueError, match="NaN"):
        method.fit(np.full((20, 2), np.nan))
    assert method.init == "k-means++"
    assert method.n_init == "auto"
