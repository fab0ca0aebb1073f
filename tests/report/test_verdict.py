"""The verdict: which figures lead to which words."""

from dataclasses import replace

import pytest

from cohirf import LevelRecord
from cohirf.report.scores import Comparison
from cohirf.report.verdict import CutScore, Facts, judge_agreement, judge_base_alone, judge_contraction, verdict


def record(level, rows_in, rows_out, agreement=0.9):
    return LevelRecord(level, 1, rows_in, 0, rows_out, 5, agreement, 0.0, 0.0, 0.0)


@pytest.fixture
def facts():
    return Facts(
        records=[record(1, 1000, 50), record(2, 50, 4), record(3, 4, 4)],
        n_views=5,
        views_differ=True,
        consensus="strict",
        medoid_weights=False,
        cuts=[CutScore(1, 50, 0.1, None), CutScore(2, 4, 0.6, None)],
        neighbours_together=0.97,
        n_clusters=4,
        noise_share=0.0,
        comparison=Comparison("KMeans", 1000, "", 4, (0.6, 0.6), (None, None)),
    )


def with_agreement(facts, agreement):
    return replace(facts, records=[record(1, 1000, 50, agreement), *facts.records[1:]])


@pytest.mark.parametrize(
    ("agreement", "answer", "tone"),
    [
        (1.0, "Yes, closely.", "good"),
        (0.8, "Yes, closely.", "good"),
        (0.6, "Mostly.", "good"),
        (0.3, "Only in part.", "fair"),
        (-0.01, "Hardly.", "poor"),
    ],
)
def test_agreement_is_that_of_the_first_level(facts, agreement, answer, tone):
    finding = judge_agreement(with_agreement(facts, agreement))
    assert (finding.answer, finding.tone) == (answer, tone)
    assert f"{agreement:.2f}" in finding.reason


def test_views_that_disagree_come_with_a_remedy(facts):
    strict = judge_agreement(with_agreement(facts, 0.1))
    assert 'consensus="relaxed"' in strict.reason
    relaxed = judge_agreement(replace(with_agreement(facts, 0.1), consensus="relaxed"))
    assert 'consensus="relaxed"' not in relaxed.reason
    assert "max_features" in relaxed.reason


def test_one_view_and_equal_views_have_nothing_to_agree_on(facts):
    assert judge_agreement(replace(with_agreement(facts, float("nan")), n_views=1)).answer == "There is only one."
    equal = judge_agreement(replace(facts, views_differ=False))
    assert (equal.answer, equal.tone) == ("They are all the same.", "unknown")
    assert "n_views=1" in equal.reason


def test_neighbours_that_stay_together_speak_for_the_contraction(facts):
    finding = judge_contraction(facts)
    assert (finding.tone, finding.answer) == ("good", "Yes, as far as neighbours tell.")
    assert "97%" in finding.reason
    assert judge_contraction(replace(facts, neighbours_together=0.8)).answer == "Mostly."
    assert judge_contraction(replace(facts, neighbours_together=0.5)).tone == "poor"
    assert judge_contraction(replace(facts, neighbours_together=None)).answer == "Not measured."


def test_a_finer_cut_with_a_higher_silhouette_is_named(facts):
    finding = judge_contraction(replace(facts, cuts=[CutScore(1, 50, 0.7, None), CutScore(2, 4, 0.6, None)]))
    assert finding.answer == "Perhaps not at the last levels."
    assert "at level 1, with 50 clusters, the silhouette is 0.70, and 0.60 at the last" in finding.reason


def test_cuts_without_a_silhouette_are_not_held_against_the_last(facts):
    undefined = [CutScore(1, 50, None, None), CutScore(2, 4, None, None)]
    assert judge_contraction(replace(facts, cuts=undefined)).tone == "good"


def test_known_classes_outweigh_distances(facts):
    better_before = [CutScore(1, 50, 0.1, 0.8), CutScore(2, 4, 0.6, 0.5)]
    finding = judge_contraction(replace(facts, cuts=better_before))
    assert (finding.answer, finding.tone) == ("Not at the last levels.", "poor")
    assert "At level 1, with 50 clusters, it is 0.80" in finding.reason
    assert judge_contraction(replace(facts, cuts=[CutScore(2, 4, 0.6, 0.9)])).answer == "Yes."
    assert judge_contraction(replace(facts, cuts=[CutScore(2, 4, 0.6, 0.3)])).tone == "fair"
    assert judge_contraction(replace(facts, cuts=[CutScore(2, 4, 0.6, 0.0)])).tone == "poor"


def test_a_fit_that_fused_everything_or_nothing_is_told_so(facts):
    assert judge_contraction(replace(facts, n_clusters=1)).answer == "Everything fused into one cluster."
    assert judge_contraction(replace(facts, n_clusters=0)).answer == "No cluster is left."
    idle = replace(facts, records=[record(1, 1000, 1000)], n_clusters=1000)
    assert judge_contraction(idle).answer == "Nothing fused."


@pytest.mark.parametrize(
    ("silhouette", "ari", "answer", "tone"),
    [
        ((0.5, 0.6), (None, None), "Yes, by this measure.", "poor"),
        ((0.6, 0.5), (None, None), "No.", "good"),
        ((0.6, 0.62), (None, None), "It would do as well.", "fair"),
        ((0.6, 0.5), (0.3, 0.7), "Yes, by this measure.", "poor"),
        ((None, 0.5), (None, None), "Not measured.", "unknown"),
    ],
)
def test_the_base_alone_is_better_by_classes_if_known_else_by_silhouette(facts, silhouette, ari, answer, tone):
    comparison = Comparison("KMeans", 1000, "", 4, silhouette, ari)
    finding = judge_base_alone(replace(facts, comparison=comparison))
    assert finding.question == "Would KMeans alone do better?"
    assert (finding.answer, finding.tone) == (answer, tone)


def test_a_loss_comes_with_the_option_that_helps_unless_it_is_on(facts):
    loss = replace(facts, comparison=Comparison("KMeans", 1000, "", 4, (0.2, 0.6)))
    assert "medoid_weights=True" in judge_base_alone(loss).reason
    assert "medoid_weights" not in judge_base_alone(replace(loss, medoid_weights=True)).reason


def test_a_comparison_that_was_not_made_says_why(facts):
    finding = judge_base_alone(replace(facts, comparison=Comparison("DBSCAN", reason="Too many rows.")))
    assert (finding.answer, finding.reason, finding.tone) == ("Not measured.", "Too many rows.", "unknown")


def test_there_are_three_questions_and_more_where_something_is_wrong(facts):
    assert len(verdict(facts)) == 3
    unfinished = verdict(replace(facts, records=facts.records[:2]))
    assert unfinished[3].question == "Did the levels come to an end?"
    assert "max_iter" in unfinished[3].reason
    noisy = verdict(replace(facts, noise_share=0.8))
    assert "80% of the rows" in noisy[3].reason
