"""The base method alone on a sample, beside the model."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from cohirf import CoHiRF
from cohirf.algorithm.base_method import BaseMethod
from cohirf.diagnosis.base_alone import STARTS, compare_with_base, finds_number, rival_of, separate_noise
from cohirf.diagnosis.sample import DiagnosisSample
from cohirf.diagnosis.scores import SampleDistances


class Failing(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        raise RuntimeError("out of luck")


class Complaining(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        warnings.warn("this method complains", UserWarning, stacklevel=2)
        return super().fit_predict(X)


def compare(method, X, labels, classes=None, compared=None):
    compared = np.arange(len(X)) if compared is None else compared
    sample = DiagnosisSample(np.arange(len(X)), X, compared, is_part=False, has_density=True)
    return compare_with_base(BaseMethod.of(method), sample, SampleDistances.of(X[compared]), labels, classes)


def test_both_are_scored_on_the_same_rows(blobs):
    X, y = blobs
    found = compare(KMeans(4), X, y // 2, y)
    assert (found.base, found.n_rows, found.n_clusters, found.reason) == ("KMeans", 300, (2, 4), "")
    assert found.ari == (adjusted_rand_score(y, y // 2), 1.0)
    assert found.silhouette == pytest.approx((silhouette_score(X, y // 2), silhouette_score(X, y)))
    assert found.same == pytest.approx(adjusted_rand_score(y, y // 2))


def test_labels_are_compared_on_some_rows_of_those_that_the_method_saw(blobs):
    X, y = blobs
    wrong = np.where(np.arange(300) < 100, 0, y)
    inner = np.arange(100, 300)
    found = compare(KMeans(4), X, wrong, y, compared=inner)
    assert (found.n_rows, found.same, found.ari) == (200, 1.0, (1.0, 1.0))
    assert found.agreement == found.reproducibility == 1


def test_a_base_method_that_fails_alone_does_not_stop_the_report(blobs):
    found = compare(Failing(4), *blobs)
    assert found.reason == "Failing failed when it ran alone: out of luck"


def test_warnings_of_the_base_method_alone_are_not_the_users(blobs):
    assert compare(Complaining(4), *blobs).n_clusters == (4, 4)


def test_the_comparison_is_the_same_each_time(blobs):
    first, second = (compare(KMeans(7, n_init=1), *blobs) for _ in range(2))
    assert first == second


def test_runs_leave_out_rows_so_that_a_fixed_method_can_differ_from_itself():
    X = np.random.default_rng(0).random((300, 2))
    method = AgglomerativeClustering(5)
    found = compare(method, X, method.fit_predict(X))
    assert found.same == 1
    assert found.reproducibility == found.agreement < 0.95


def test_rows_of_noise_are_not_together(blobs):
    X = blobs[0]
    one = compare(DBSCAN(eps=1e-9), X, np.zeros(300, int))
    assert (one.same, one.noise, one.n_clusters) == (0, (0.0, 1.0), (1, 0))
    assert compare(DBSCAN(eps=1e-9), X, np.full(300, -1)).same == 1


def test_each_row_of_noise_gets_a_label_of_its_own():
    assert separate_noise(np.array([-1, 0, 2, -1])).tolist() == [3, 0, 2, 4]


def test_k_means_has_ten_starts_and_the_number_of_clusters_of_the_model(blobs):
    X, _ = blobs
    told = rival_of(CoHiRF(KMeans(4, n_init=1), random_state=0).fit(X))
    assert (told.n_told, told.clusterer.n_init) == (4, STARTS)
    asked = rival_of(CoHiRF(make_pipeline(PCA(2), KMeans(7, n_init=20)), n_clusters=4, random_state=0).fit(X))
    assert (asked.n_told, asked.clusterer.n_init) == (4, 20)
    chosen = CoHiRF(random_state=0).fit(X)
    assert rival_of(chosen).n_told == chosen.n_clusters_
    assert rival_of(CoHiRF(GaussianMixture(6), n_clusters=4, random_state=0).fit(X)).n_told == 4


def test_a_model_as_published_is_compared_with_what_the_user_wrote(blobs):
    model = CoHiRF.as_published(KMeans(8, n_init=1), random_state=0).fit(blobs[0])
    assert rival_of(model).n_told == 8


@pytest.mark.parametrize(
    ("method", "finds"),
    [
        (DBSCAN(), True),
        (AgglomerativeClustering(None, distance_threshold=1), True),
        (make_pipeline(PCA(2), DBSCAN()), True),
        (make_pipeline(PCA(2), KMeans(4)), False),
        (GaussianMixture(4), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_method_that_is_not_told_the_number_of_clusters_finds_it(method, finds):
    assert finds_number(BaseMethod.of(method)) == finds
