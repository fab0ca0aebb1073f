"""The base method alone on a sample, beside the model."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from cohirf.diagnosis.base_alone import LEFT_OUT, N_RUNS, compare_with_base, run_alone
from cohirf.diagnosis.scores import SampleDistances


class Failing(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        raise RuntimeError("out of luck")


class Complaining(KMeans):
    def fit_predict(self, X, y=None, sample_weight=None):
        warnings.warn("this method complains", UserWarning, stacklevel=2)
        return super().fit_predict(X)


def compare(method, distances, labels, classes, n_rows):
    return compare_with_base(run_alone(method, distances.features, n_rows), distances, labels, classes)


def test_the_base_method_alone_is_scored_on_the_same_rows(blobs):
    X, y = blobs
    found = compare(KMeans(4), SampleDistances.of(X), y // 2, y, 300)
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
    assert compare(method, SampleDistances.of(X), y, None, 1_000_000).n_rows == 300


@pytest.mark.parametrize(
    "method",
    [DBSCAN(), AgglomerativeClustering(None, distance_threshold=1), make_pipeline(PCA(2), DBSCAN())],
    ids=lambda method: type(method).__name__,
)
def test_a_method_that_goes_by_density_runs_on_all_rows_or_not_at_all(blobs, method):
    X, y = blobs
    assert compare(method, SampleDistances.of(X), y, None, 300).n_rows == 300
    left_out = compare(method, SampleDistances.of(X), y, None, 1_000_000)
    assert left_out.n_rows == 0
    assert "in a sample of 300 rows than in all 1,000,000 rows" in left_out.reason


def test_a_base_method_that_fails_alone_does_not_stop_the_report(blobs):
    found = compare(Failing(4), SampleDistances.of(blobs[0]), blobs[1], None, 300)
    assert found.reason == "Failing failed when it ran alone: out of luck"


def test_warnings_of_the_base_method_alone_are_not_the_users(blobs):
    assert compare(Complaining(4), SampleDistances.of(blobs[0]), blobs[1], None, 300).n_clusters == 4


def test_the_comparison_is_the_same_each_time(blobs):
    X, y = blobs
    first, second = (compare(KMeans(7, n_init=1), SampleDistances.of(X), y, y, 300) for _ in range(2))
    assert first == second


def test_runs_of_a_method_that_draws_differ_and_those_of_another_are_one(blobs):
    random = run_alone(KMeans(9, n_init=1), blobs[0], 300)
    assert len(random.runs) == N_RUNS
    assert 0 < random.reproducibility < 1
    fixed = run_alone(AgglomerativeClustering(4), blobs[0], 300)
    assert len(fixed.runs) == 1
    assert fixed.reproducibility == 1


def test_runs_on_a_sample_leave_out_some_of_it_so_that_a_fixed_method_can_differ():
    X = np.random.default_rng(0).random((300, 2))
    alone = run_alone(AgglomerativeClustering(5), X, 3000)
    assert [len(run.positions) for run in alone.runs] == [300, 300 * (1 - LEFT_OUT), 300 * (1 - LEFT_OUT)]
    assert alone.reproducibility < 0.95


def test_a_model_that_is_the_base_method_agrees_as_its_runs_do(blobs):
    alone = run_alone(KMeans(9, n_init=1), blobs[0], 300)
    assert alone.agreement(alone.labels) == pytest.approx((1 + 2 * alone.reproducibility) / 3)


def test_rows_of_noise_are_not_together(blobs):
    X = blobs[0]
    alone = run_alone(DBSCAN(eps=1e-9), X, 300)
    assert alone.agreement(np.zeros(300, int)) == 0
    assert alone.agreement(np.full(300, -1)) == 1
