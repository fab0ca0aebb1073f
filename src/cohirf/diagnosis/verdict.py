"""The verdict: what the figures of a fit mean, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cohirf.algorithm.levels import LevelRecord
from cohirf.diagnosis.alone import Comparison
from cohirf.diagnosis.preservation import LevelKept

# Adjusted Rand indices from which views agree closely, mostly, in part.
CLOSELY, MOSTLY, IN_PART = 0.8, 0.5, 0.2
# Differences of indices with known classes below this are ties.
TIE = 0.03
# Below and above how often the base method finds its own clusters again, by which the model counts as worse or better.
# benchmarks/quality/diagnose.py says how often that is right.
LOST, GAINED = 0.1, 0.05
# Shares of pairs that fused rightly, and of rows that are sure.
MOST, MANY = 0.8, 0.5
# How far views must confirm a fusion for the row to be sure.
SURE = 0.5
# A finer cut has to be this much better before it is named.
BETTER_CUT = 0.05
# Shares of rows that have their nearest neighbour in their cluster.
NEIGHBOURS_KEPT, NEIGHBOURS_TORN = 0.9, 0.7


@dataclass(frozen=True)
class CutScore:
    """How good the partition of one level is."""

    level: int
    n_clusters: int
    silhouette: float | None
    ari: float | None


@dataclass(frozen=True)
class Facts:
    """What the verdict is based on.

    Attributes
    ----------
    records : sequence of LevelRecord
        What each level did.
    n_views : int
        Number of views.
    views_differ : bool
        Whether views can differ: they cannot if all have all features and the base method draws nothing at random.
    consensus : str
        The rule of consensus.
    medoid_weights : bool
        Whether medoids carried their mass.
    cuts : sequence of CutScore
        Scores of the levels, the last one last.
    neighbours_together : float or None
        Share of sampled rows whose nearest neighbour is in their final cluster.
    n_clusters : int
        Number of final clusters, not counting noise.
    noise_share : float
        Share of rows that are noise.
    comparison : Comparison
        The base method alone.
    feature_screen : bool
        Whether features were screened.
    kept : sequence of LevelKept
        What each level left of the clusters that the base method finds in the rows themselves; empty if it did not run.
    kept_by_rerun : float
        Of the pairs that another run of the base method puts together, the share that the first one does.
    share_sure : float
        Share of sampled rows on whose fusions, up to the last, views agree by ``SURE`` or more.
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
    kept: Sequence[LevelKept]
    kept_by_rerun: float
    share_sure: float


@dataclass(frozen=True)
class Finding:
    """A question, a short answer, why, and how good that is: "good", "fair", "poor" or "unknown"."""

    question: str
    answer: str
    reason: str
    tone: str


def verdict(facts: Facts) -> list[Finding]:
    """Say what the figures of a fit mean.

    Parameters
    ----------
    facts : Facts
        The figures.

    Returns
    -------
    findings : list of Finding
        One per question: do the views agree, does contraction keep what the base method finds and fuse what belongs
        together, how sure are the fusions, would the base method alone do better; and, where it did not, whether the
        fit came to an end, and whether much of the data is noise.
    """
    findings = [
        judge_agreement(facts),
        judge_preservation(facts),
        judge_contraction(facts),
        judge_certainty(facts),
        judge_base_alone(facts),
    ]
    if facts.records[-1].rows_out < facts.records[-1].rows_in:
        findings.append(_unfinished(facts.records[-1]))
    if facts.noise_share > 0.5:
        findings.append(_mostly_noise(facts.noise_share))
    return findings


def judge_agreement(facts: Facts) -> Finding:
    """Say whether the views agree, by the level that saw most rows: the first."""
    question = "Do the views agree?"
    if facts.n_views == 1:
        return Finding(question, "There is only one.", "So the consensus is what the base method finds.", "unknown")
    if not facts.views_differ:
        reason = (
            "Each has all features, and the base method draws nothing at random. With n_views=1 the result would be "
            "the same; with max_features below 1 the views would differ."
        )
        return Finding(question, "They are all the same.", reason, "unknown")
    agreement = facts.records[0].agreement
    measured = (
        f"At the first level two views have an adjusted Rand index of {agreement:.2f} on average "
        f"(0 is chance, 1 is the same clusters)."
    )
    if agreement >= CLOSELY:
        reason = f"{measured} What fuses there does not depend on which view is asked."
        return Finding(question, "Yes, closely.", reason, "good")
    if agreement >= MOSTLY:
        reason = f"{measured} Rows on which the views differ stay apart until a later level."
        return Finding(question, "Mostly.", reason, "good")
    tone = "fair" if agreement >= IN_PART else "poor"
    answer = "Only in part." if agreement >= IN_PART else "Hardly."
    return Finding(question, answer, f"{measured} {_remedy_for_disagreement(facts)}", tone)


def judge_contraction(facts: Facts) -> Finding:
    """Say whether clusters that fused belong together: by known classes, else by distances and neighbours."""
    question = "Does contraction fuse what belongs together?"
    if facts.records[-1].rows_out == facts.records[0].rows_in > 1:
        reason = "Every row is still by itself. Make the base method merge more, or lower the number of views."
        return Finding(question, "Nothing fused.", reason, "poor")
    if facts.n_clusters < 2:
        answer = "Everything fused into one cluster." if facts.n_clusters else "No cluster is left."
        reason = (
            "So there is nothing to hold against each other at the last level. Look at a finer cut, or make the base "
            "method merge less."
            if facts.n_clusters
            else "All final clusters are smaller than min_cluster_size: lower it, or look at a finer cut."
        )
        return Finding(question, answer, reason, "poor")
    return _judge_by_classes(question, facts.cuts) or _judge_by_distances(question, facts)


def judge_preservation(facts: Facts) -> Finding:
    """Say whether pairs of rows that fused are pairs that the base method puts together, level by level."""
    question = f"Does contraction keep what {facts.comparison.base} finds?"
    if not facts.kept:
        reason = facts.comparison.reason or "Nothing fused."
        return Finding(question, "Not measured.", reason, "unknown")
    first, last = facts.kept[0], facts.kept[-1]
    measured = (
        f"Of the pairs of rows that have fused after level {last.level}, {last.rightly_fused:.0%} are together in what "
        f"{facts.comparison.base} finds in the rows themselves"
    )
    if last is not first:
        measured += f"; after level 1 it was {first.rightly_fused:.0%}"
    measured += f". Of another run of {facts.comparison.base} it is {facts.kept_by_rerun:.0%}."
    if last.rightly_fused >= facts.kept_by_rerun - LOST:
        return Finding(question, "Yes.", measured, "good")
    worst = _level_that_lost_most(facts)
    reason = f"{measured} Level {worst} lost most of it."
    tone = "fair" if last.rightly_fused >= MANY * facts.kept_by_rerun else "poor"
    return Finding(question, "In part." if tone == "fair" else "No.", reason, tone)


def judge_certainty(facts: Facts) -> Finding:
    """Say on how many rows the views agree all the way."""
    question = "How sure are the fusions?"
    if facts.n_views == 1 or not facts.views_differ:
        return Finding(question, "The views cannot tell.", "There is only one way they look at a row.", "unknown")
    first = facts.records[0].stability
    reason = (
        f"On {facts.share_sure:.0%} of the rows the views agree by half or more at every fusion up to the last; at the "
        f"first level they confirm {first:.0%} of what fuses. stability_ says it row by row."
    )
    if facts.share_sure >= MOST:
        return Finding(question, "Most are sure.", reason, "good")
    if facts.share_sure >= MANY:
        return Finding(question, "Many are sure.", reason, "fair")
    return Finding(question, "Few are sure.", reason, "poor")


def judge_base_alone(facts: Facts) -> Finding:
    """Say whether the base method alone finds a better partition of the same rows.

    By known classes, if there are any. Else by what the base method finds again when it runs anew: a model that
    agrees with its runs less than they do with each other has lost some of it.
    """
    comparison = facts.comparison
    question = f"Would {comparison.base} alone do better?"
    if comparison.reason:
        return Finding(question, "Not measured.", comparison.reason, "unknown")
    found = f"On {comparison.n_rows:,} rows it finds {_count(comparison.n_clusters)}"
    model, alone = comparison.ari
    if model is not None and alone is not None:
        measured = f"{found}, with an index of {alone:.2f} with the known classes; this model has {model:.2f}."
        return _say_which(question, measured, worse=alone > model + TIE, better=model > alone + TIE)
    measured = (
        f"{found}. Runs of it agree with each other by {comparison.reproducibility:.2f} (adjusted Rand index), and "
        f"this model agrees with them by {comparison.agreement:.2f}."
    )
    return _say_which(question, measured, worse=is_lost(facts), better=is_gained(facts))


def is_lost(facts: Facts) -> bool:
    """Tell whether the model agrees with the base method clearly less than that does with itself."""
    found = facts.comparison
    if found.agreement is None or found.reproducibility is None:
        return False
    return found.agreement < found.reproducibility - LOST


def is_gained(facts: Facts) -> bool:
    """Tell whether the model agrees with runs of the base method more than they do with each other."""
    found = facts.comparison
    if found.agreement is None or found.reproducibility is None:
        return False
    return found.agreement > found.reproducibility + GAINED


def advise(facts: Facts) -> list[str]:
    """Return what to try, the most promising first; nothing where the fit gives no reason to try anything."""
    if not is_lost(facts) and judge_agreement(facts).tone in ("good", "unknown"):
        return []
    tips = []
    if not facts.medoid_weights:
        tips.append("medoid_weights=True, so that a medoid counts as many rows as it stands for")
    if facts.views_differ and facts.n_views > 1 and facts.consensus != "majority":
        tips.append('consensus="majority" with n_views=10, so that one view alone cannot keep rows apart')
    if facts.views_differ and facts.n_views > 3 and facts.consensus == "strict":
        tips.append("fewer views: strict consensus fuses only what all of them put together")
    if not facts.feature_screen and (facts.comparison.reproducibility or 1) < MANY:
        tips.append("feature_screen=True, in case many features are noise: the base method itself finds little twice")
    if facts.kept and is_lost(facts):
        tips += _tips_by_level(facts)
        tips.append(f"{facts.comparison.base} alone, if it can take all rows")
    return tips


def _tips_by_level(facts: Facts) -> list[str]:
    worst = _level_that_lost_most(facts)
    if worst > 1:
        return [f"fewer levels: hierarchy_.cut(level={worst - 1}) is the partition before the loss"]
    if facts.records[0].n_batches > 1:
        return ["a larger batch_size: the first level loses most, and it sees one batch at a time"]
    return []


def _level_that_lost_most(facts: Facts) -> int:
    shares = [1.0, *(kept.rightly_fused for kept in facts.kept)]
    losses = [before - after for before, after in pairwise(shares)]
    return 1 + losses.index(max(losses))


def _say_which(question: str, measured: str, *, worse: bool, better: bool) -> Finding:
    if worse:
        return Finding(question, "Probably.", f"{measured} Contraction lost some of what it finds.", "poor")
    if better:
        return Finding(question, "No.", measured, "good")
    reason = f"{measured} That is a tie: the hierarchy and the medoids are what you gain."
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
            f"{measured} At level {best.level}, with {_count(best.n_clusters)}, it is {highest:.2f}: what fused after "
            f"that was of different classes. Move the slider there."
        )
        return Finding(question, "Not at the last levels.", reason, "poor")
    if final >= MOSTLY:
        return Finding(question, "Yes.", f"{measured} No finer cut is better.", "good")
    reason = f"{measured} No finer cut is much better, so classes were mixed from the first level on."
    return Finding(question, "Only in part.", reason, "fair" if final >= IN_PART else "poor")


def _judge_by_distances(question: str, facts: Facts) -> Finding:
    together = facts.neighbours_together
    if together is None:
        return Finding(question, "Not measured.", "The sample has too few rows that are not noise.", "unknown")
    measured = f"{together:.0%} of the sampled rows have their nearest neighbour in their own cluster."
    if together < NEIGHBOURS_TORN:
        reason = f"{measured} The borders of the clusters run through dense regions."
        return Finding(question, "Hardly.", reason, "poor")
    better = _better_cut(facts.cuts)
    if better is not None:
        final, best = better
        reason = (
            f"{measured} But at level {best.level}, with {_count(best.n_clusters)}, the silhouette is "
            f"{best.silhouette:.2f}, and {final.silhouette:.2f} at the last: if your clusters are compact, the last "
            f"levels fused too much. For long or nested clusters this measure says little."
        )
        return Finding(question, "Perhaps not at the last levels.", reason, "fair")
    if together < NEIGHBOURS_KEPT:
        reason = f"{measured} Some borders between clusters run through dense regions."
        return Finding(question, "Mostly.", reason, "fair")
    return Finding(question, "Yes, as far as neighbours tell.", measured, "good")


def _better_cut(cuts: Sequence[CutScore]) -> tuple[CutScore, CutScore] | None:
    """Return the last cut and a finer one that has a clearly higher silhouette, if there is one."""
    final = cuts[-1]
    scored = [(cut.silhouette, cut) for cut in cuts if cut.silhouette is not None]
    if final.silhouette is None or not scored:
        return None
    highest, best = max(scored, key=lambda entry: entry[0])
    return (final, best) if highest > final.silhouette + BETTER_CUT else None


def _remedy_for_disagreement(facts: Facts) -> str:
    if facts.consensus == "strict":
        return (
            "Strict consensus fuses only what all views put together, so little fuses at a time. "
            'Try consensus="majority", fewer views, or a larger max_features.'
        )
    return "Try a larger max_features, or a base method that depends less on its start."


def _unfinished(record: LevelRecord) -> Finding:
    reason = f"Level {record.level}, the last one run, still took {record.rows_in:,} rows to {record.rows_out:,}."
    return Finding("Did the levels come to an end?", "No.", f"{reason} Raise max_iter.", "poor")


def _mostly_noise(share: float) -> Finding:
    reason = f"{share:.0%} of the rows are in clusters below min_cluster_size. Lower it, or make the base merge more."
    return Finding("Is much of the data noise?", "Yes.", reason, "poor")


def _count(n_clusters: int) -> str:
    return f"{n_clusters:,} cluster{'' if n_clusters == 1 else 's'}"
