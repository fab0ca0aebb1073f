"""The verdict: which figures lead to which words."""

from dataclasses import replace

import pytest

from cohirf import LevelRecord
from cohirf.diagnosis.base_alone import Comparison
from cohirf.diagnosis.preservation import LevelPreservation
from cohirf.diagnosis.verdict import (
    CutScore,
    Facts,
    advise,
    judge_agreement,
    judge_base_alone,
    judge_contraction,
    judge_preservation,
    judge_stability,
    verdict,
)


def compared(agreement, reproducibility):
    return Comparison("KMeans", 1000, "", 4, (0.6, 0.6), agreement=agreement, reproducibility=reproducibility)


def record(level, rows_in, rows_out, agreement=0.9):
    return LevelRecord(level, 1, rows_in, 0, rows_out, 5, agreement, 0.9, 0.0, 0.0, 0.0)


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
        comparison=compared(0.8, 0.8),
        feature_screen=False,
        preservation=[LevelPreservation(1, 50, 0.97, 0.3, 0.4), LevelPreservation(2, 4, 0.9, 0.9, 0.8)],
        rerun_precision=0.9,
        stable_share=0.9,
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
    assert 'consensus="majority"' in strict.reason
    relaxed = judge_agreement(replace(with_agreement(facts, 0.1), consensus="relaxed"))
    assert "consensus=" not in relaxed.reason
    assert "max_features" in relaxed.reason


def test_one_view_and_equal_views_have_nothing_to_agree_on(facts):
    assert judge_agreement(replace(with_agreement(facts, float("nan")), n_views=1)).answer == "There is only one."
    equal = judge_agreement(replace(facts, views_differ=False))
    assert (equal.answer, equal.tone) == ("They are all the same.", "unknown")
    assert "n_views=1" in equal.reason


def test_neighbours_that_stay_together_speak_for_the_contraction(facts):
    finding = judge_contraction(facts)
    assert (finding.tone, finding.answer) == ("good", "Yes, judged by nearest neighbours.")
    assert "97%" in finding.reason
    assert judge_contraction(replace(facts, neighbours_together=0.8)).answer == "Mostly."
    assert judge_contraction(replace(facts, neighbours_together=0.5)).tone == "poor"
    assert judge_contraction(replace(facts, neighbours_together=None)).answer == "Not measured."


def test_a_finer_cut_with_a_higher_silhouette_is_named(facts):
    finding = judge_contraction(replace(facts, cuts=[CutScore(1, 50, 0.7, None), CutScore(2, 4, 0.6, None)]))
    assert finding.answer == "Perhaps not at the last levels."
    assert "at level 1, with 50 clusters, the silhouette is 0.70, and 0.60 at the last level" in finding.reason


def test_cuts_without_a_silhouette_are_not_compared_with_the_last(facts):
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
    ("agreement", "reproducibility", "answer", "tone"),
    [
        (0.3, 0.9, "Probably.", "poor"),
        (0.9, 0.8, "No.", "good"),
        (0.8, 0.8, "It would do as well.", "fair"),
        (1.0, 1.0, "It would do as well.", "fair"),
    ],
)
def test_the_base_alone_is_better_if_the_model_lost_what_it_finds_again(
    facts, agreement, reproducibility, answer, tone
):
    finding = judge_base_alone(replace(facts, comparison=compared(agreement, reproducibility)))
    assert finding.question == "Would KMeans alone do better?"
    assert (finding.answer, finding.tone) == (answer, tone)
    assert f"its runs {agreement:.2f}." in finding.reason


@pytest.mark.parametrize(
    ("ari", "answer"), [((0.3, 0.7), "Probably."), ((0.7, 0.3), "No."), ((0.7, 0.71), "It would do as well.")]
)
def test_known_classes_decide_if_there_are_any(facts, ari, answer):
    comparison = replace(compared(0.1, 0.9), ari=ari)
    assert judge_base_alone(replace(facts, comparison=comparison)).answer == answer


def test_a_comparison_that_was_not_made_says_why(facts):
    finding = judge_base_alone(replace(facts, comparison=Comparison("DBSCAN", reason="Too many rows.")))
    assert (finding.answer, finding.reason, finding.tone) == ("Not measured.", "Too many rows.", "unknown")


def preservation(*shares):
    return [LevelPreservation(level, 10, share, 0.5, 0.5) for level, share in enumerate(shares, 1)]


@pytest.mark.parametrize(
    ("shares", "answer", "tone"),
    [((0.97, 0.85), "Yes.", "good"), ((0.97, 0.6), "In part.", "fair"), ((0.97, 0.3), "No.", "poor")],
)
def test_levels_are_compared_with_another_run_of_the_base_method(facts, shares, answer, tone):
    finding = judge_preservation(replace(facts, preservation=preservation(*shares)))
    assert (finding.answer, finding.tone) == (answer, tone)
    assert "after level 1 it was 97%" in finding.reason
    assert "Between two runs of KMeans it is 90%" in finding.reason


def test_the_level_that_lost_most_is_named(facts):
    finding = judge_preservation(replace(facts, preservation=preservation(0.9, 0.85, 0.4, 0.35)))
    assert "The largest loss is at level 3" in finding.reason


def test_a_base_method_that_did_not_run_says_nothing_about_levels(facts):
    finding = judge_preservation(
        replace(facts, preservation=[], comparison=Comparison("DBSCAN", reason="Too many rows."))
    )
    assert (finding.answer, finding.reason, finding.tone) == ("Not measured.", "Too many rows.", "unknown")


@pytest.mark.parametrize(("share", "tone"), [(0.9, "good"), (0.6, "fair"), (0.2, "poor")])
def test_few_stable_rows_are_a_poor_sign(facts, share, tone):
    finding = judge_stability(replace(facts, stable_share=share))
    assert finding.tone == tone
    assert f"{share:.0%} of the rows" in finding.reason


def test_equal_views_say_nothing_about_stability(facts):
    assert judge_stability(replace(facts, views_differ=False)).tone == "unknown"
    assert judge_stability(replace(facts, n_views=1)).tone == "unknown"


def test_a_good_fit_comes_without_advice(facts):
    assert advise(facts) == []


def test_advice_names_options_that_are_off_and_at_last_the_base_alone(facts):
    lost = replace(facts, comparison=compared(0.2, 0.6), preservation=preservation(0.9, 0.3))
    tips = "\n".join(advise(lost))
    for option in ("medoid_weights=True", 'consensus="majority"', "fewer views", "hierarchy_.cut(level=1)"):
        assert option in tips
    assert "feature_screen" not in tips
    assert advise(lost)[-1].startswith("KMeans alone")
    tried = replace(lost, medoid_weights=True, consensus="majority")
    assert len(advise(tried)) == 2


def test_advice_is_a_larger_batch_where_the_first_level_loses_most(facts):
    batched = [replace(facts.records[0], n_batches=7), *facts.records[1:]]
    lost = replace(facts, comparison=compared(0.2, 0.6), preservation=preservation(0.4, 0.3), records=batched)
    assert any("larger batch_size" in tip for tip in advise(lost))
    assert not any("larger batch_size" in tip for tip in advise(replace(lost, records=facts.records)))


def test_a_base_that_finds_little_twice_is_advised_to_screen_features(facts):
    unsure = replace(facts, comparison=compared(0.1, 0.3))
    assert any("feature_screen=True" in tip for tip in advise(unsure))
    assert not any("feature_screen=True" in tip for tip in advise(replace(unsure, feature_screen=True)))


def test_there_are_five_questions_and_more_where_something_is_wrong(facts):
    assert len(verdict(facts)) == 5
    unfinished = verdict(replace(facts, records=facts.records[:2]))
    assert unfinished[5].question == "Did the fit converge?"
    assert "max_iter" in unfinished[5].reason
    noisy = verdict(replace(facts, noise_share=0.8))
    assert "80% of the rows" in noisy[5].reason
