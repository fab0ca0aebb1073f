"""Scores, and the base method alone beside the model."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from cohirf.report.scores import Yardstick, agreement_with_classes, calinski_harabasz, compare_with_base


class Failing(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        raise RuntimeError("out of luck")


class Complaining(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        warnings.warn("this method complains", UserWarning, stacklevel=2)
        return super().fit_predict(X)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_silhouette_is_that_of_scikit_learn_without_noise(blobs, container):
    X, y = blobs
    noisy = np.where(np.arange(len(y)) % 10 == 0, -1, y)
    kept = noisy >= 0
    yardstick = Yardstick.of(container(X))
    assert yardstick.silhouette(y) == pytest.approx(silhouette_score(X, y))
    assert yardstick.silhouette(noisy) == pytest.approx(silhouette_score(X[kept], y[kept]))


@pytest.mark.parametrize("labels", [np.zeros(300, dtype=int), np.arange(300), np.full(300, -1)])
def test_silhouette_of_one_cluster_single_rows_or_noise_is_not_defined(blobs, labels):
    assert Yardstick.of(blobs[0]).silhouette(labels) is None


def test_neighbours_are_together_in_separated_clusters_and_by_chance_in_random_ones(blobs):
    X, y = blobs
    yardstick = Yardstick.of(X)
    assert yardstick.neighbours_together(y) == 1
    shuffled = np.random.default_rng(0).permutation(y)
    assert yardstick.neighbours_together(shuffled) == pytest.approx(0.25, abs=0.1)


def test_of_equally_near_neighbours_one_in_the_same_cluster_is_enough():
    yardstick = Yardstick.of(np.zeros((4, 2)))
    assert yardstick.neighbours_together(np.array([0, 0, 1, 1])) == 1


def test_a_row_has_no_neighbours_where_all_others_are_noise(blobs):
    labels = np.full(300, -1)
    labels[0] = 0
    assert Yardstick.of(blobs[0]).neighbours_together(labels) is None


def test_calinski_harabasz_is_that_of_scikit_learn(blobs):
    X, y = blobs
    assert calinski_harabasz(X, y) == calinski_harabasz_score(X, y)
    assert calinski_harabasz(X, np.zeros(300, dtype=int)) is None
    assert calinski_harabasz(sparse.csr_array(X), y) is None


def test_agreement_is_the_adjusted_rand_index(blobs):
    _, y = blobs
    assert agreement_with_classes(y // 2, y) == adjusted_rand_score(y, y // 2)
    assert agreement_with_classes(y, None) is None


def test_the_base_method_alone_is_scored_on_the_same_rows(blobs):
    X, y = blobs
    found = compare_with_base(KMeans(4), Yardstick.of(X), y // 2, y, 300)
    assert (found.base, found.n_rows, found.n_clusters, found.reason) == ("KMeans", 300, 4, "")
    assert found.ari == (adjusted_rand_score(y, y // 2), 1.0)
    assert found.silhouette == pytest.approx((silhouette_score(X, y // 2), silhouette_score(X, y)))


@pytest.mark.parametrize(
    "method",
    [KMeans(4), GaussianMixture(4), make_pipeline(PCA(2), KMeans(4)), AgglomerativeClustering(4)],
    ids=lambda method: type(method).__name__,
)
def test_a_method_that_knows_the_number_of_clusters_runs_on_a_part_of_the_data(blobs, method):
    X, y = blobs
    assert compare_with_base(method, Yardstick.of(X), y, None, 1_000_000).n_rows == 300


@pytest.mark.parametrize(
    "method",
    [DBSCAN(), AgglomerativeClustering(None, distance_threshold=1), make_pipeline(PCA(2), DBSCAN())],
    ids=lambda method: type(method).__name__,
)
def test_a_method_that_goes_by_density_runs_on_all_rows_or_not_at_all(blobs, method):
    X, y = blobs
    assert compare_with_base(method, Yardstick.of(X), y, None, 300).n_rows == 300
    left_out = compare_with_base(method, Yardstick.of(X), y, None, 1_000_000)
    assert left_out.n_rows == 0
    assert "On 300 of 1,000,000 rows it would find others" in left_out.reason


def test_a_base_method_that_fails_alone_does_not_stop_the_report(blobs):
    found = compare_with_base(Failing(4), Yardstick.of(blobs[0]), blobs[1], None, 300)
    assert found.reason == "Failing could not be run alone here: out of luck"


def test_warnings_of_the_base_method_alone_are_not_the_users(blobs):
    assert compare_with_base(Complaining(4), Yardstick.of(blobs[0]), blobs[1], None, 300).n_clusters == 4


def test_the_comparison_is_the_same_each_time(blobs):
    X, y = blobs
    first, second = (compare_with_base(KMeans(7, n_init=1), Yardstick.of(X), y, y, 300) for _ in range(2))
    assert first == second
