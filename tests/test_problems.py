"""Clusters that are useless: which sizes are a problem, what a fit warns of, and the remedies."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF
from cohirf.inspection import remedies_for
from cohirf.problems import CRUMB, POLICY, find_problem

BLOBS = make_blobs(200, 2, centers=3, random_state=0)[0]
CROWD = np.r_[np.random.default_rng(0).random((POLICY.large, 2)), np.full((2, 2), 50.0)]


def test_a_split_of_all_rows_but_one_spoils_all_clusters():
    problem = find_problem([436, 1], 0)
    assert problem.spoils_all
    assert "nothing is divided" in problem.describe(remedies_for(CoHiRF(n_clusters=2)))
    assert find_problem([436, 200, 1], 0) is None


def test_a_fit_that_fuses_nothing_warns():
    with pytest.warns(
        ConvergenceWarning, match=r"Nothing fused: each of the 200 rows .* raise eps of DBSCAN"
    ):
        CoHiRF(DBSCAN(eps=1e-9, min_samples=1)).fit(BLOBS)


def test_a_fit_that_finds_only_noise_warns():
    with pytest.warns(
        ConvergenceWarning,
        match=r"All of the rows are noise: raise eps .* lower min_samples of DBSCAN",
    ):
        model = CoHiRF(DBSCAN(eps=1e-9)).fit(BLOBS)
    assert model.n_clusters_ == 0


def test_small_clusters_that_became_noise_are_the_reason_for_it():
    model = CoHiRF(KMeans(3, n_init=1), min_cluster_size=150, random_state=0)
    with pytest.warns(
        ConvergenceWarning, match="All of the rows are noise: lower min_cluster_size=150"
    ):
        model.fit(BLOBS)


def test_a_few_rows_beside_a_thousand_warn_and_both_remedies_work():
    crumbs = (
        r"1 of 2 clusters has at most 3 rows, and the largest has 1,000\. With min_cluster_size=4 "
        "or more"
    )
    with pytest.warns(ConvergenceWarning, match=crumbs):
        CoHiRF(AgglomerativeClustering(2)).fit(CROWD)
    noisy = CoHiRF(AgglomerativeClustering(2), min_cluster_size=4).fit(CROWD)
    assert (noisy.n_clusters_, (noisy.labels_ < 0).sum()) == (1, 2)
    assert (noisy.hierarchy_.cut(n_clusters=1) == 0).all()


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
        ([POLICY.large - 1, CRUMB + 1, 1], 0),
        ([POLICY.large, CRUMB + 1], 0),
        ([1], 0),  # one row
        ([1] * 19, 0),  # few rows
        ([], 19),
    ],
)
def test_ordinary_sizes_are_not_a_problem(sizes, n_noise):
    assert find_problem(sizes, n_noise) is None


def test_noise_above_the_limit_is_a_problem_and_parameters_decide_what_to_change():
    problem = find_problem([50, 49], 901)
    assert (problem.kind, problem.spoils_all) == ("noise", True)
    assert problem.describe(remedies_for(CoHiRF(HDBSCAN(copy=True)))) == (
        "901 of 1,000 rows are noise: let HDBSCAN accept sparser clusters."
    )
    assert problem.describe(remedies_for(CoHiRF(DBSCAN(), batch_size=100))).endswith(
        "noise: raise eps of DBSCAN, or lower min_samples of DBSCAN, or raise batch_size."
    )


def test_views_are_named_where_a_strict_consensus_fuses_nothing():
    problem = find_problem(np.ones(50, dtype=int), 0)
    strict = problem.describe(remedies_for(CoHiRF(KMeans(5), consensus="strict")))
    assert strict.endswith("To change that, use fewer views (views).")
    other = problem.describe(remedies_for(CoHiRF(KMeans(5))))
    assert other.endswith("let KMeans find fewer and larger clusters.")


def test_crumbs_are_counted():
    problem = find_problem([POLICY.large, CRUMB, 1, 20], 0)
    assert (problem.n_crumbs, problem.n_clusters, problem.spoils_all) == (2, 4, False)
    assert problem.describe(remedies_for(CoHiRF())).startswith(
        "2 of 4 clusters have at most 3 rows, and the largest has 1,000."
    )


def test_rows_of_noise_that_are_clusters_on_purpose_are_not_crumbs():
    assert find_problem([POLICY.large, 1, 1], 0, keeps_noise=True) is None
    assert find_problem([POLICY.large, 1, 1], 0) is not None
    assert find_problem([POLICY.large, 2], 0, keeps_noise=True) is not None
