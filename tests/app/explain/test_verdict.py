"""The verdict: which figures lead to which words, and clusters that are useless."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF
from cohirf.algorithm.base_method import BaseMethod
from cohirf.app.explain.verdict import (
    CRUMB,
    LARGE_CLUSTER,
    Comparison,
    Facts,
    Finding,
    find_problem,
    judge,
    judge_base_alone,
    judge_neighbours,
    why_not_comparable,
)


def recommend(facts):
    return judge(facts)[0]


def in_one_line(facts):
    return judge(facts)[1]


ALIKE = Comparison(
    "KMeans",
    1000,
    "",
    (4, 4),
    (0.0, 0.0),
    (0.6, 0.6),
    same=0.97,
    agreement=0.8,
    reproducibility=0.8,
)


DIFFERENT = replace(ALIKE, same=0.6, silhouette=(0.5, 0.6))


@pytest.fixture
def facts():
    return Facts(
        comparison=ALIKE,
        finds_number=False,
        is_k_means=False,
        ran_once=False,
        neighbours_together=0.97,
        problem=None,
        as_published=False,
        n_batches=1,
    )


def test_a_split_of_all_rows_but_one_is_never_trusted(facts):
    problem = find_problem(CoHiRF(n_clusters=2), np.array([436, 1]), 0)
    assert problem.tone == "poor"
    assert in_one_line(replace(facts, problem=problem)).startswith(
        "Do not trust these clusters: 1 of 2 clusters has"
    )
    assert "nothing is divided" in problem.reason
    assert find_problem(CoHiRF(n_clusters=3), np.array([436, 200, 1]), 0) is None


@pytest.mark.parametrize(
    ("n_clusters", "is_given", "is_told"),
    [((33, 15), False, True), ((33, 15), True, False), ((20, 15), False, False)],
)
def test_fragments_of_views_that_differ_are_told_with_a_remedy(
    facts, n_clusters, is_given, is_told
):
    differ = replace(ALIKE, n_clusters=n_clusters, same=0.7, agreement=0.6, reproducibility=0.6)
    found = replace(facts, comparison=differ, finds_number=True, is_given=is_given)
    assert (
        in_one_line(found).endswith("fragments, because its views differ: give n_clusters.")
        == is_told
    )
    lost = replace(found, comparison=replace(differ, agreement=0.4, silhouette=(0.1, 0.3)))
    assert ("Use a number of clusters" in in_one_line(lost)) == is_told


def test_the_same_clusters_are_a_tie(facts):
    assert recommend(facts) == "either"
    assert judge_base_alone(facts)[1].answer == "It finds the same clusters."
    assert in_one_line(facts).startswith(
        "Trust these clusters as you would trust KMeans: it finds the same ones"
    )


@pytest.mark.parametrize(
    ("agreement", "silhouette", "said"),
    [
        (0.6, (0.5, 0.6), "use the base method alone"),
        (0.6, (None, 0.6), "use the base method alone"),
        (0.6, (0.5, None), "unknown"),
        (0.7, (0.5, 0.6), "unknown"),
        (0.6, (0.59, 0.6), "unknown"),
        (0.6, (0.7, 0.6), "unknown"),
        (1.0, (0.7, 0.6), "unknown"),
    ],
)
def test_the_base_is_better_if_the_fit_agrees_less_with_its_runs_and_has_a_lower_silhouette(
    facts, agreement, silhouette, said
):
    found = replace(
        facts, comparison=replace(DIFFERENT, agreement=agreement, silhouette=silhouette)
    )
    assert recommend(found) == said


def test_around_k_means_only_the_published_algorithm_is_judged(facts):
    lost = replace(facts, comparison=replace(DIFFERENT, agreement=0.3), is_k_means=True)
    assert recommend(lost) == "unknown"
    assert judge_base_alone(lost)[1].answer == "Not known."
    assert recommend(replace(lost, as_published=True)) == "use the base method alone"
    assert recommend(replace(lost, comparison=ALIKE)) == "either"


@pytest.mark.parametrize(("noise", "said"), [(0.3, "use the base method alone"), (0.1, "unknown")])
def test_a_density_method_is_better_if_the_fit_has_more_noise(facts, noise, said):
    found = replace(DIFFERENT, base="DBSCAN", n_clusters=(72, 1), noise=(noise, 0.01), same=0.0)
    assert recommend(replace(facts, comparison=found)) == "unknown"
    judged = replace(facts, comparison=found, finds_number=True)
    assert recommend(judged) == said
    if said != "unknown":
        assert "and 1% noise where the fit has 30%." in judge_base_alone(judged)[1].reason


def test_a_fit_that_lost_clusters_is_not_trusted_and_the_line_says_what_to_use(facts):
    lost = replace(
        facts, comparison=replace(DIFFERENT, agreement=0.3), as_published=True, n_batches=8
    )
    assert judge_base_alone(lost)[1].answer == "Probably."
    assert in_one_line(lost) == (
        "Do not trust these clusters: the fit has lost clusters that KMeans finds in 1,000 rows "
        "(adjusted Rand index 0.60). Use the defaults of CoHiRF, or larger batches, or KMeans "
        "alone, if it can run on all rows."
    )


def test_clusters_that_differ_without_a_loss_are_not_judged(facts):
    found = replace(facts, comparison=DIFFERENT)
    _, finding, _ = judge_base_alone(found)
    assert (finding.answer, finding.tone) == ("Not known.", "unknown")
    assert "nothing in the data tells which of the two is better" in finding.reason
    assert "is not known: in 1,000 rows it finds other clusters" in in_one_line(found)


def test_one_run_of_the_base_method_is_the_base_method_whatever_a_sample_shows(facts):
    once = replace(facts, comparison=Comparison("DBSCAN", reason="not run"), ran_once=True)
    assert recommend(once) == "either"
    assert judge_base_alone(once)[1].tone == "good"
    assert "one run of DBSCAN on all rows" in in_one_line(once)


def test_without_a_comparison_the_reason_is_given(facts):
    found = replace(facts, comparison=Comparison("DBSCAN", reason="It was not run."))
    assert recommend(found) == "unknown"
    assert judge_base_alone(found)[1].reason == "It was not run."
    assert (
        in_one_line(found) == "Whether DBSCAN alone would do better is not known: It was not run."
    )


def test_noise_and_numbers_of_clusters_are_told_where_they_differ(facts):
    found = replace(facts, comparison=replace(DIFFERENT, n_clusters=(9, 1), noise=(0.44, 0.01)))
    reason = judge_base_alone(found)[1].reason
    assert "finds 1 cluster where the fit has 9, and 1% noise where the fit has 44%." in reason
    assert "noise" not in judge_base_alone(facts)[1].reason


def test_useless_clusters_come_first(facts):
    spoilt = replace(
        facts, problem=Finding("Usable?", "Nothing fused.", "Nothing fused: do this.", "poor")
    )
    assert judge(spoilt)[2][0].answer == "Nothing fused."
    assert in_one_line(spoilt) == "Do not trust these clusters: nothing fused: do this."
    crumbs = replace(
        facts, problem=Finding("Usable?", "Some have only a few rows.", "Do this.", "fair")
    )
    assert judge(crumbs)[2][0].tone == "fair"
    assert in_one_line(crumbs) == in_one_line(facts)


@pytest.mark.parametrize(
    ("together", "answer", "tone"),
    [
        (0.97, "Yes.", "good"),
        (0.8, "Mostly.", "fair"),
        (0.5, "Hardly.", "poor"),
        (None, "Not measured.", "unknown"),
    ],
)
def test_neighbours_should_be_together(facts, together, answer, tone):
    finding = judge_neighbours(replace(facts, neighbours_together=together))
    assert (finding.answer, finding.tone) == (answer, tone)


@pytest.mark.parametrize(
    ("kind", "said"), [("exact", "the clusters are those of DBSCAN"), ("spanning", "spanning tree")]
)
def test_local_batches_that_find_the_clusters_of_all_rows_are_the_base_method(facts, kind, said):
    found = replace(DIFFERENT, base="DBSCAN")
    local = replace(facts, comparison=found, kind=kind, n_batches=7, finds_number=True)
    assert recommend(local) == "either"
    assert recommend(replace(local, kind="local")) != "either"
    assert said in in_one_line(local)
    assert judge_base_alone(local)[1].answer == "It is the same."


def test_local_batches_are_not_said_to_lose_clusters_that_the_border_of_a_region_cuts(facts):
    found = replace(DIFFERENT, base="DBSCAN", agreement=0.3)
    local = replace(
        facts, comparison=found, kind="local", n_batches=7, finds_number=True, is_part=True
    )
    assert recommend(local) == "unknown"
    assert in_one_line(local).endswith("DBSCAN may have cut clusters at the border of these rows.")
    assert "at the border of these rows" in judge_base_alone(local)[1].reason
    assert recommend(replace(local, is_part=False)) == "use the base method alone"
    assert recommend(replace(local, finds_number=False)) == "use the base method alone"
    assert (
        recommend(replace(local, comparison=replace(found, noise=(0.3, 0.1))))
        == "use the base method alone"
    )


def test_other_local_batches_are_not_called_thin():
    reason = why_not_comparable(BaseMethod.of(DBSCAN()), 1000, 50_000, 10, "local")
    assert "Local batches are not" in reason
    assert "random batches" not in reason


BLOBS = make_blobs(200, 2, centers=3, random_state=0)[0]


CROWD = np.r_[np.random.default_rng(0).random((LARGE_CLUSTER, 2)), np.full((2, 2), 50.0)]


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
    crumbs = r"1 of 2 clusters has at most 3 rows, and the largest has 1,000\. With min_cluster_size=4 or more"
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
        ([LARGE_CLUSTER - 1, CRUMB + 1, 1], 0),
        ([LARGE_CLUSTER, CRUMB + 1], 0),
        ([1], 0),  # one row
        ([1] * 19, 0),  # few rows
        ([], 19),
    ],
)
def test_ordinary_sizes_are_not_a_problem(sizes, n_noise):
    assert find_problem(CoHiRF(), np.array(sizes, dtype=int), n_noise) is None


def test_noise_above_the_limit_is_a_problem_and_parameters_decide_what_to_change():
    sizes = np.array([50, 49])
    assert find_problem(CoHiRF(HDBSCAN(copy=True)), sizes, 901).reason == (
        "90% of the rows are noise: let HDBSCAN accept sparser clusters."
    )
    batched = find_problem(CoHiRF(DBSCAN(), batch_size=100), sizes, 9999)
    assert batched.reason.endswith(
        "noise: raise eps of DBSCAN, or lower min_samples of DBSCAN, or raise batch_size."
    )
    assert batched.tone == "poor"


def test_views_are_named_where_a_strict_consensus_fuses_nothing():
    problem = find_problem(CoHiRF(KMeans(5), consensus="strict"), np.ones(50, dtype=int), 0)
    assert problem.reason.endswith("To change that, use fewer views (views).")
    other = find_problem(CoHiRF(KMeans(5)), np.ones(50, dtype=int), 0)
    assert other.reason.endswith("let KMeans find fewer and larger clusters.")


def test_crumbs_are_counted():
    problem = find_problem(CoHiRF(), np.array([LARGE_CLUSTER, CRUMB, 1, 20]), 0)
    assert problem.reason.startswith(
        "2 of 4 clusters have at most 3 rows, and the largest has 1,000."
    )
    assert problem.tone == "fair"


def test_rows_of_noise_that_are_clusters_on_purpose_are_not_crumbs():
    sizes = np.array([LARGE_CLUSTER, 1, 1])
    assert find_problem(CoHiRF.as_published(DBSCAN()), sizes, 0) is None
    assert find_problem(CoHiRF.as_published(KMeans(3)), sizes, 0) is not None
    assert find_problem(CoHiRF.as_published(DBSCAN()), np.array([LARGE_CLUSTER, 2]), 0) is not None
