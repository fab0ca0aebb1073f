"""The verdict: questions about a fit, answered in words from its figures, and advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cohirf.algorithm.levels import LevelRecord
from cohirf.diagnosis.base_alone import Comparison
from cohirf.diagnosis.preservation import LevelPreservation

# Lowest mean adjusted Rand indices at which views agree closely, mostly, in part.
CLOSELY, MOSTLY, IN_PART = 0.8, 0.5, 0.2
# Smaller differences of the adjusted Rand index with known classes are ties.
TIE = 0.03
# The model is worse (better) than the base method if its agreement with runs of the base method is this much below
# (above) the agreement of the runs with each other. benchmarks/quality/diagnose.py measures how often that is right.
LOST, GAINED = 0.1, 0.05
# Shares of rows, or of pairs of rows, that count as most and as many.
MOST, MANY = 0.8, 0.5
# Lowest stability (mean Jaccard index with the views) of a stable fusion.
STABLE = 0.5
# A finer cut is mentioned if its score is this much higher.
BETTER_CUT = 0.05
# Shares of rows that have their nearest neighbour in their own cluster: nearly all, and too few.
NEIGHBOURS_KEPT, NEIGHBOURS_TORN = 0.9, 0.7


@dataclass(frozen=True)
class CutScore:
    """Scores of the partition of one level; None if undefined."""

    level: int
    n_clusters: int
    silhouette: float | None
    ari: float | None


@dataclass(frozen=True)
class Facts:
    """The figures that the verdict is based on.

    Attributes
    ----------
    records : sequence of LevelRecord
        The record of each level.
    n_views : int
        Number of views.
    views_differ : bool
        Whether views can differ: they cannot if all have all features and the base method is deterministic.
    consensus : str
        The consensus rule.
    medoid_weights : bool
        Whether medoids were weighted by the number of rows that they represent.
    cuts : sequence of CutScore
        Scores of the levels, first level first.
    neighbours_together : float or None
        Share of sampled rows whose nearest neighbour is in their final cluster.
    n_clusters : int
        Number of final clusters, not counting noise.
    noise_share : float
        Share of rows that are noise.
    comparison : Comparison
        The model compared with the base method alone.
    feature_screen : bool
        Whether features were screened.
    preservation : sequence of LevelPreservation
        How well each level preserves the base method's clusters; empty if the base method did not run.
    rerun_precision : float
        Share of the pairs of rows in the same cluster of another run of the base method that are also in the same
        cluster of the first run.
    stable_share : float
        Share of sampled rows whose stability is at least ``STABLE`` at every fusion.
    """

    records: Sequence[LevelRecord]
    n_views: int
    views_differ: bool
    consensus: str
    medoid_weights: bool
    cuts: Sequence[CutScore]
    neighbours_together: float | None
    n_clusters: int
    noise_share: float
    comparison: Comparison
    feature_screen: bool
    preservation: Sequence[LevelPreservation]
    rerun_precision: float
    stable_share: float


@dataclass(frozen=True)
class Finding:
    """A question about a fit, and its answer.

    Attributes
    ----------
    question : str
        The question.
    answer : str
        A short answer.
    reason : str
        The figures behind the answer, what they mean, and what to do about it.
    tone : {"good", "fair", "poor", "unknown"}
        Whether the answer is good news.
    """

    question: str
    answer: str
    reason: str
    tone: str


def verdict(facts: Facts) -> list[Finding]:
    """Answer the questions about a fit.

    Parameters
    ----------
    facts : Facts
        The figures.

    Returns
    -------
    findings : list of Finding
        Five questions: do the views agree, does contraction preserve the base method's clusters, does it fuse rows that
        belong together, how stable are the fusions, would the base method alone do better? Two more if there is a
        problem: did the fit end too early, is most of the data noise?
    """
    findings = [
        judge_agreement(facts),
        judge_preservation(facts),
        judge_contraction(facts),
        judge_stability(facts),
        judge_base_alone(facts),
    ]
    if facts.records[-1].rows_out < facts.records[-1].rows_in:
        findings.append(_unfinished(facts.records[-1]))
    if facts.noise_share > 0.5:
        findings.append(_mostly_noise(facts.noise_share))
    return findings


def judge_agreement(facts: Facts) -> Finding:
    """Answer whether the views agree, at the first level, which sees most rows."""
    question = "Do the views agree?"
    if facts.n_views == 1:
        reason = "With one view, the consensus equals the labels of the base method."
        return Finding(question, "There is only one.", reason, "unknown")
    if not facts.views_differ:
        reason = (
            "Every view has all features, and the base method is deterministic. n_views=1 would give the same result; "
            "with max_features below 1.0 the views would differ."
        )
        return Finding(question, "They are all the same.", reason, "unknown")
    agreement = facts.records[0].agreement
    measured = (
        f"At the first level, the mean adjusted Rand index of two views is {agreement:.2f} "
        f"(0: chance, 1: identical clusters)."
    )
    if agreement >= CLOSELY:
        reason = f"{measured} The fusions hardly depend on the view."
        return Finding(question, "Yes, closely.", reason, "good")
    if agreement >= MOSTLY:
        reason = f"{measured} Rows that the views group differently are not fused before a later level."
        return Finding(question, "Mostly.", reason, "good")
    tone = "fair" if agreement >= IN_PART else "poor"
    answer = "Only in part." if agreement >= IN_PART else "Hardly."
    return Finding(question, answer, f"{measured} {_remedy_for_disagreement(facts)}", tone)


def judge_contraction(facts: Facts) -> Finding:
    """Answer whether rows that fused belong together: by known classes, or else by distances and neighbours."""
    question = "Does contraction fuse rows that belong together?"
    if facts.records[-1].rows_out == facts.records[0].rows_in > 1:
        reason = "Every row is still a singleton. Use a base method that merges more rows, or fewer views."
        return Finding(question, "Nothing fused.", reason, "poor")
    if facts.n_clusters < 2:
        answer = "Everything fused into one cluster." if facts.n_clusters else "No cluster is left."
        reason = (
            "There is nothing to compare at the last level. Use a finer cut, or a base method that merges fewer rows."
            if facts.n_clusters
            else "All final clusters are smaller than min_cluster_size: lower it, or use a finer cut."
        )
        return Finding(question, answer, reason, "poor")
    return _judge_by_classes(question, facts.cuts) or _judge_by_distances(question, facts)


def judge_preservation(facts: Facts) -> Finding:
    """Answer whether rows that fused are in the same cluster of the base method, level by level."""
    question = f"Does contraction preserve the clusters of {facts.comparison.base}?"
    if not facts.preservation:
        reason = facts.comparison.reason or "Nothing fused."
        return Finding(question, "Not measured.", reason, "unknown")
    first, last = facts.preservation[0], facts.preservation[-1]
    measured = (
        f"{last.precision:.0%} of the pairs of rows that have fused after level {last.level} are in the same cluster "
        f"when {facts.comparison.base} runs on the rows directly"
    )
    if last is not first:
        measured += f"; after level 1 it was {first.precision:.0%}"
    measured += f". Between two runs of {facts.comparison.base} it is {facts.rerun_precision:.0%}."
    if last.precision >= facts.rerun_precision - LOST:
        return Finding(question, "Yes.", measured, "good")
    worst = _level_that_lost_most(facts)
    reason = f"{measured} The largest loss is at level {worst}."
    tone = "fair" if last.precision >= MANY * facts.rerun_precision else "poor"
    return Finding(question, "In part." if tone == "fair" else "No.", reason, tone)


def judge_stability(facts: Facts) -> Finding:
    """Answer how many rows have stable fusions on the whole path to their final cluster."""
    question = "How stable are the fusions?"
    if facts.n_views == 1 or not facts.views_differ:
        return Finding(question, "Not measured.", "All views are the same, so they cannot disagree.", "unknown")
    first = facts.records[0].stability
    reason = (
        f"{facts.stable_share:.0%} of the rows have a stability (mean Jaccard index between their group and their "
        f"cluster in each view) of at least {STABLE} at every fusion; the mean stability at the first level is "
        f"{first:.2f}. See stability_ for each row."
    )
    if facts.stable_share >= MOST:
        return Finding(question, "Most are stable.", reason, "good")
    if facts.stable_share >= MANY:
        return Finding(question, "Many are stable.", reason, "fair")
    return Finding(question, "Few are stable.", reason, "poor")


def judge_base_alone(facts: Facts) -> Finding:
    """Answer whether the base method alone finds a better partition of the same rows.

    Known classes decide, if there are any. Otherwise, a model that agrees with runs of the base method less than these
    agree with each other is worse.
    """
    comparison = facts.comparison
    question = f"Would {comparison.base} alone do better?"
    if comparison.reason:
        return Finding(question, "Not measured.", comparison.reason, "unknown")
    found = f"In {comparison.n_rows:,} rows it finds {_count(comparison.n_clusters)}"
    model, alone = comparison.ari
    if model is not None and alone is not None:
        measured = (
            f"{found}; its adjusted Rand index with the known classes is {alone:.2f}, and that of this model is "
            f"{model:.2f}."
        )
        return _say_which(question, measured, worse=alone > model + TIE, better=model > alone + TIE)
    measured = (
        f"{found}. The mean adjusted Rand index between its runs is {comparison.reproducibility:.2f}, and between "
        f"this model and its runs {comparison.agreement:.2f}."
    )
    return _say_which(question, measured, worse=is_lost(facts), better=is_gained(facts))


def is_lost(facts: Facts) -> bool:
    """Return whether the model agrees with runs of the base method clearly less than they do with each other."""
    found = facts.comparison
    if found.agreement is None or found.reproducibility is None:
        return False
    return found.agreement < found.reproducibility - LOST


def is_gained(facts: Facts) -> bool:
    """Return whether the model agrees with runs of the base method more than they do with each other."""
    found = facts.comparison
    if found.agreement is None or found.reproducibility is None:
        return False
    return found.agreement > found.reproducibility + GAINED


def advise(facts: Facts) -> list[str]:
    """Return options to try, the most promising first; an empty list if the fit gives no reason to change anything."""
    if not is_lost(facts) and judge_agreement(facts).tone in ("good", "unknown"):
        return []
    tips = []
    if not facts.medoid_weights:
        tips.append("medoid_weights=True, so that each medoid counts as much as the rows that it represents")
    if facts.views_differ and facts.n_views > 1 and facts.consensus != "majority":
        tips.append('consensus="majority" with n_views=10, so that a single view cannot keep rows apart')
    if facts.views_differ and facts.n_views > 3 and facts.consensus == "strict":
        tips.append("fewer views: strict consensus fuses only rows that all views put into the same cluster")
    if not facts.feature_screen and (facts.comparison.reproducibility or 1) < MANY:
        tips.append("feature_screen=True, if many features may be noise: runs of the base method disagree")
    if facts.preservation and is_lost(facts):
        tips += _tips_by_level(facts)
        tips.append(f"{facts.comparison.base} alone, if it can run on all rows")
    return tips


def _tips_by_level(facts: Facts) -> list[str]:
    worst = _level_that_lost_most(facts)
    if worst > 1:
        return [f"fewer levels: hierarchy_.cut(level={worst - 1}) is the partition before the largest loss"]
    if facts.records[0].n_batches > 1:
        return ["a larger batch_size: the largest loss is at the first level, which contracts one batch at a time"]
    return []


def _level_that_lost_most(facts: Facts) -> int:
    shares = [1.0, *(level.precision for level in facts.preservation)]
    losses = [before - after for before, after in pairwise(shares)]
    return 1 + losses.index(max(losses))


def _say_which(question: str, measured: str, *, worse: bool, better: bool) -> Finding:
    if worse:
        reason = f"{measured} Contraction did not preserve all of its clusters."
        return Finding(question, "Probably.", reason, "poor")
    if better:
        return Finding(question, "No.", measured, "good")
    reason = f"{measured} That is a tie; CoHiRF adds the hierarchy and the medoids."
    return Finding(question, "It would do as well.", reason, "fair")


def _judge_by_classes(question: str, cuts: Sequence[CutScore]) -> Finding | None:
    scored = [(cut.ari, cut) for cut in cuts if cut.ari is not None]
    if not scored:
        return None
    final = scored[-1][0]
    highest, best = max(scored, key=lambda entry: entry[0])
    measured = f"At the last level the adjusted Rand index with the known classes is {final:.2f}."
    if highest > final + BETTER_CUT:
        reason = (
            f"{measured} At level {best.level}, with {_count(best.n_clusters)}, it is {highest:.2f}: later fusions "
            f"mixed classes. Use that cut."
        )
        return Finding(question, "Not at the last levels.", reason, "poor")
    if final >= MOSTLY:
        return Finding(question, "Yes.", f"{measured} No finer cut is better.", "good")
    reason = f"{measured} No finer cut is much better: classes were mixed from the first level on."
    return Finding(question, "Only in part.", reason, "fair" if final >= IN_PART else "poor")


def _judge_by_distances(question: str, facts: Facts) -> Finding:
    together = facts.neighbours_together
    if together is None:
        return Finding(question, "Not measured.", "The sample has too few rows that are not noise.", "unknown")
    measured = f"{together:.0%} of the sampled rows have their nearest neighbour in their own cluster."
    if together < NEIGHBOURS_TORN:
        reason = f"{measured} The borders between clusters run through dense regions."
        return Finding(question, "Hardly.", reason, "poor")
    better = _better_cut(facts.cuts)
    if better is not None:
        final, best = better
        reason = (
            f"{measured} But at level {best.level}, with {_count(best.n_clusters)}, the silhouette is "
            f"{best.silhouette:.2f}, and {final.silhouette:.2f} at the last level: if your clusters are compact, the "
            f"last levels fused too much. The silhouette is not meaningful for elongated or nested clusters."
        )
        return Finding(question, "Perhaps not at the last levels.", reason, "fair")
    if together < NEIGHBOURS_KEPT:
        reason = f"{measured} Some borders between clusters run through dense regions."
        return Finding(question, "Mostly.", reason, "fair")
    return Finding(question, "Yes, judged by nearest neighbours.", measured, "good")


def _better_cut(cuts: Sequence[CutScore]) -> tuple[CutScore, CutScore] | None:
    """Return the last cut and the best one, if that has a clearly higher silhouette."""
    final = cuts[-1]
    scored = [(cut.silhouette, cut) for cut in cuts if cut.silhouette is not None]
    if final.silhouette is None or not scored:
        return None
    highest, best = max(scored, key=lambda entry: entry[0])
    return (final, best) if highest > final.silhouette + BETTER_CUT else None


def _remedy_for_disagreement(facts: Facts) -> str:
    if facts.consensus == "strict":
        return (
            "Strict consensus fuses only rows that all views put into the same cluster, so each level fuses few rows. "
            'Try consensus="majority", fewer views, or a larger max_features.'
        )
    return "Try a larger max_features, or a base method that depends less on its random initialisation."


def _unfinished(record: LevelRecord) -> Finding:
    reason = f"The last level, {record.level}, still reduced {record.rows_in:,} active rows to {record.rows_out:,}."
    return Finding("Did the fit converge?", "No.", f"{reason} Increase max_iter.", "poor")


def _mostly_noise(share: float) -> Finding:
    reason = (
        f"{share:.0%} of the rows are in clusters smaller than min_cluster_size. Lower it, or use a base method that "
        f"merges more rows."
    )
    return Finding("Is most of the data noise?", "Yes.", reason, "poor")


def _count(n_clusters: int) -> str:
    return f"{n_clusters:,} cluster{'' if n_clusters == 1 else 's'}"
