"""Clusters that are useless: the fit warns, and says what to change."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF
from cohirf.diagnosis.problems import CRUMB, LARGE, find_problem

BLOBS = make_blobs(200, 2, centers=3, random_state=0)[0]
CROWD = np.r_[np.random.default_rng(0).random((LARGE, 2)), np.full((2, 2), 50.0)]


def test_a_fit_that_fuses_nothing_warns():
    with pytest.warns(ConvergenceWarning, match=r"Nothing fused: each of the 200 rows .* raise eps of DBSCAN"):
        CoHiRF(DBSCAN(eps=1e-9, min_samples=1)).fit(BLOBS)


def test_a_fit_that_finds_only_noise_warns():
    with pytest.warns(ConvergenceWarning, match=r"All of the rows are noise: raise eps .* lower min_samples of DBSCAN"):
        model = CoHiRF(DBSCAN(eps=1e-9)).fit(BLOBS)
    assert model.n_clusters_ == 0


def test_small_clusters_that_became_noise_are_the_reason_for_it():
    model = CoHiRF(KMeans(3, n_init=1), min_cluster_size=150, random_state=0)
    with pytest.warns(ConvergenceWarning, match="All of the rows are noise: lower min_cluster_size=150"):
        model.fit(BLOBS)


def test_a_few_rows_beside_a_thousand_warn_and_both_remedies_work():
    crumbs = r"1 of 2 clusters has at most 3 rows, and the largest has 1,000\. With min_cluster_size=4 or more"
    with pytest.warns(ConvergenceWarning, match=crumbs):
        CoHiRF(AgglomerativeClustering(2)).fit(CROWD)
    noisy = CoHiRF(AgglomerativeClustering(2), min_cluster_size=4).fit(CROWD)
    assert (noisy.n_clusters_, (noisy.labels_ < 0).sum()) == (1, 2)
    joined = CoHiRF(AgglomerativeClustering(2), min_cluster_size=4, small_clusters="nearest").fit(CROWD)
    assert joined.labels_.max() == joined.labels_.min() == 0


def test_a_reason_that_was_given_is_not_followed_by_another():
    with pytest.warns(ConvergenceWarning) as warned:
        CoHiRF(KMeans(200, n_init=1), random_state=0).fit(BLOBS)
    assert len(warned) == 1
    assert "only identical rows fuse" in str(warned[0].message)


@pytest.mark.parametrize(
    ("sizes", "n_noise"),
    [
        ([50, 50], 0),
        ([100], 0),
        ([50, 50], 900),  # exactly the limit
        ([LARGE - 1, 1], 0),
        ([LARGE, CRUMB + 1], 0),
        ([1], 0),  # one row
        ([1] * 19, 0),  # few rows
        ([], 19),
    ],
)
def test_ordinary_sizes_are_not_a_problem(sizes, n_noise):
    assert find_problem(CoHiRF(), np.array(sizes, dtype=int), n_noise) is None


def test_noise_above_the_limit_is_a_problem_and_parameters_decide_what_to_change():
    sizes = np.array([50, 49])
    assert find_problem(CoHiRF(HDBSCAN(copy=True)), sizes, 901).message == (
        "90% of the rows are noise: let HDBSCAN accept sparser clusters."
    )
    batched = find_problem(CoHiRF(DBSCAN(), batch_size=100), sizes, 9999)
    assert batched.message.endswith("noise: raise eps of DBSCAN, or lower min_samples of DBSCAN, or raise batch_size.")
    assert batched.spoils_all


def test_views_are_named_where_a_strict_consensus_fuses_nothing():
    problem = find_problem(CoHiRF(KMeans(5), consensus="strict"), np.ones(50, dtype=int), 0)
    assert problem.message.endswith("To change that, use fewer views (n_views).")
    other = find_problem(CoHiRF(KMeans(5)), np.ones(50, dtype=int), 0)
    assert other.message.endswith("let KMeans find fewer and larger clusters.")


def test_crumbs_are_counted():
    problem = find_problem(CoHiRF(), np.array([LARGE, CRUMB, 1, 20]), 0)
    assert problem.message.startswith("2 of 4 clusters have at most 3 rows, and the largest has 1,000.")
    assert not problem.spoils_all


def test_rows_of_noise_that_are_clusters_on_purpose_are_not_crumbs():
    sizes = np.array([LARGE, 1, 1])
    assert find_problem(CoHiRF.as_published(DBSCAN()), sizes, 0) is None
    assert find_problem(CoHiRF.as_published(KMeans(3)), sizes, 0) is not None
    assert find_problem(CoHiRF.as_published(DBSCAN()), np.array([LARGE, 2]), 0) is not None
