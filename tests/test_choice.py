"""The number of clusters by prediction strength, and the words for what was chosen."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import pairwise_distances, silhouette_score

from cohirf import CoHiRF, open_source
from cohirf.choice import COLUMNS, Choice, choose_number, mean_silhouette, predict_strength


def test_the_strength_is_that_of_the_worst_cluster():
    assert predict_strength(np.array([0, 0, 1, 1]), np.array([3, 3, 4, 4])) == 1.0
    assert predict_strength(np.array([0, 0, 1, 1]), np.array([3, 3, 3, 4])) == 0.0


def test_a_cluster_of_one_row_has_no_strength():
    assert predict_strength(np.array([0, 0, 1]), np.array([0, 0, 1])) == 0.0


def test_the_largest_of_nearly_equally_strong_numbers_is_chosen():
    silhouettes = np.array([0.1, 0.2, 0.3, 0.4])
    assert Choice.of_number(np.arange(2, 6), np.array([0.9, 0.8, 0.78, 0.3]), silhouettes).n_clusters == 4
    assert Choice.of_number(np.arange(0), np.empty(0), np.empty(0)).n_clusters == 1


def test_without_a_strong_number_that_of_the_highest_silhouette_is_chosen():
    silhouettes = np.array([0.1, 0.4, 0.3, 0.2])
    choice = Choice.of_number(np.arange(2, 6), np.array([0.7, 0.6, 0.7, 0.3]), silhouettes)
    assert choice.n_clusters == 3
    assert choice.describe() == (
        "3 clusters have the highest silhouette (0.40). No number has a high prediction strength (at most 0.70), so "
        "the clusters overlap."
    )


@pytest.mark.parametrize("n_clusters", [2, 6])
def test_clear_clusters_are_counted(n_clusters):
    centres = 10 * np.stack([np.cos(np.arange(n_clusters)), np.sin(np.arange(n_clusters))], axis=1)
    X, _ = make_blobs(150, centers=centres, random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert model.n_clusters_ == n_clusters
    assert model.choice_.is_clear


def test_rings_are_counted_too():
    X, _ = make_circles(250, factor=0.4, noise=0.03, random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert (model.n_clusters_, model.choice_.merge) == (2, "connected")


def test_one_outlier_is_no_cluster():
    X = np.r_[make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)[0], [[500.0, 500.0]]]
    assert CoHiRF(random_state=0).fit(X).n_clusters_ == 2


def test_a_cloud_is_said_to_be_one():
    choice = choose_number(np.random.default_rng(0).normal(size=(200, 5)), np.random.default_rng(0))
    assert not choice.is_clear
    assert "parts of one cloud rather than clusters" in choice.describe()


@pytest.mark.parametrize(("n_clusters", "dtype"), [(2, np.float64), (7, np.float32), (150, np.float64)])
def test_the_silhouette_is_that_of_scikit_learn(n_clusters, dtype):
    rng = np.random.default_rng(n_clusters)
    X = rng.normal(size=(3 * COLUMNS + 5, 4))
    labels = rng.integers(n_clusters, size=len(X)) - 1  # with gaps, clusters of one row, and -1
    assert mean_silhouette(pairwise_distances(X).astype(dtype), labels) == pytest.approx(silhouette_score(X, labels))


def test_rows_that_are_all_equal_have_a_silhouette_of_zero():
    labels = np.arange(10) % 2
    assert mean_silhouette(np.zeros((10, 10)), labels) == 0
    assert silhouette_score(np.zeros((10, 2)), labels) == 0


def test_rows_that_were_read_once_may_be_fewer_than_clusters(tmp_path):
    X, _ = make_blobs(4000, n_features=5, centers=6, random_state=3)
    np.save(tmp_path / "x.npy", X)
    model = CoHiRF(n_clusters=700, batch_size=700, views=2, random_state=0).fit(open_source(tmp_path / "x.npy"))
    assert model.n_clusters_ == 700


def test_few_distinct_rows_are_no_reason_to_warn():
    X = np.repeat(np.arange(5.0)[:, None], 80, axis=0)
    assert CoHiRF(n_clusters=3, random_state=0).fit(X).n_clusters_ == 3
