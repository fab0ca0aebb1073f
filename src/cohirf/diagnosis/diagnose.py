"""diagnose: what a fit is worth, from what it kept or from its data, as figures and in plain words."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.alone import Alone, Comparison, compare_with_base, run_alone
from cohirf.diagnosis.certainty import weakest_fusions
from cohirf.diagnosis.preservation import LevelKept, compare_pairs, follow_levels
from cohirf.diagnosis.reading import as_data, check_rows
from cohirf.diagnosis.scores import Yardstick
from cohirf.diagnosis.verdict import SURE, CutScore, Facts, Finding, advise, is_gained, is_lost, verdict
from cohirf.diagnosis.witnesses import draw_witnesses
from cohirf.hierarchy import FusionHierarchy

WIDTH = 100


@dataclass(frozen=True)
class Diagnosis:
    """What a fit is worth. ``print`` shows it in words.

    Attributes
    ----------
    recommendation : {"use CoHiRF", "use the base method alone", "either", "unknown"}
        Which of the two found more of what is there. Where the base method cannot run on all rows, that decides.
    findings : list of Finding
        Questions, with a short answer and the reason for each.
    advice : list of str
        What to try, the most promising first.
    levels : list of LevelKept
        What each level left of the clusters that the base method finds in the rows themselves.
    comparison : Comparison
        The base method alone beside the model.
    n_rows : int
        Number of rows that were looked at.
    share_sure : float
        Share of them on whose fusions the views agree by half or more, up to the last.
    """

    recommendation: str
    findings: list[Finding]
    advice: list[str]
    levels: list[LevelKept]
    comparison: Comparison
    n_rows: int
    share_sure: float

    def __str__(self) -> str:
        """Return the diagnosis in words."""
        parts = [f"CoHiRF around {self.comparison.base}: {self.recommendation}."]
        parts += [f"{finding.question} {finding.answer}\n{_indent(finding.reason)}" for finding in self.findings]
        parts += ["What to try:\n" + "\n".join(_indent(tip, "  - ") for tip in self.advice)] if self.advice else []
        return "\n".join(parts)


def diagnose_model(model: Any, X: Any = None) -> Diagnosis:
    """Judge a fitted model by some of its rows: of ``X``, the data of the fit, or of the rows that the fit kept."""
    data = None if X is None else as_data(X)
    if data is not None:
        check_rows(model, data)
    witnesses = draw_witnesses(model, data)
    yardstick = Yardstick.of(witnesses.features)
    alone = run_alone(base_method_of(model), witnesses.features, len(model.labels_))
    comparison = compare_with_base(alone, yardstick, model.labels_[witnesses.rows], None)
    cuts = score_cuts(model, witnesses.rows, yardstick)
    facts = gather_facts(model, witnesses.rows, yardstick, cuts, alone, comparison)
    return Diagnosis(
        recommendation=_recommend(facts),
        findings=verdict(facts),
        advice=advise(facts),
        levels=list(facts.kept),
        comparison=comparison,
        n_rows=len(witnesses.rows),
        share_sure=facts.share_sure,
    )


def gather_facts(
    model: Any, rows: IntArray, yardstick: Yardstick, cuts: list[CutScore], alone: Alone, comparison: Comparison
) -> Facts:
    """Return what a verdict is based on.

    Parameters
    ----------
    model : CoHiRF
        The fitted model.
    rows : array of int
        Numbers of the rows of the yardstick.
    yardstick : Yardstick
        Distances between them.
    cuts : list of CutScore
        Scores of the levels, the last one last.
    alone, comparison : Alone, Comparison
        The base method alone on these rows.
    """
    labels = model.labels_[rows]
    sure = weakest_fusions(model.parents_, model.stability_, rows) >= SURE
    return Facts(
        records=model.diagnostics_,
        n_views=model.n_views,
        views_differ=can_views_differ(model),
        consensus=model.consensus,
        medoid_weights=model.medoid_weights,
        cuts=cuts,
        neighbours_together=yardstick.neighbours_together(labels),
        n_clusters=model.n_clusters_,
        noise_share=_share_of_noise(model.labels_),
        comparison=comparison,
        feature_screen=model.feature_screen,
        kept=[] if alone.labels is None else follow_levels(model.hierarchy_, rows, alone.labels),
        kept_by_rerun=_kept_by_rerun(alone),
        share_sure=float(sure.mean()),
    )


def score_cuts(model: Any, rows: IntArray, yardstick: Yardstick) -> list[CutScore]:
    """Return the silhouette of each level that fused something; the last one is the model's own, with its noise."""
    hierarchy: FusionHierarchy = model.hierarchy_
    n_clusters = hierarchy.cluster_counts()
    scores, at = [], rows
    for level in range(1, hierarchy.n_levels):
        at = hierarchy.step_up(at, level)
        scores.append(CutScore(level, int(n_clusters[level]), yardstick.silhouette(at), None))
    final = yardstick.silhouette(model.labels_[rows])
    return [*scores, CutScore(hierarchy.n_levels, model.n_clusters_, final, None)]


def base_method_of(model: Any) -> Any:
    """Return the base method of a model."""
    return KMeans() if model.estimator is None else model.estimator


def can_views_differ(model: Any) -> bool:
    """Tell whether the base method draws something at random, or views have a part of the features."""
    return bool(
        model._count_view_features() < model._count_relevant()
        or not BaseMethod.of(base_method_of(model)).is_deterministic
    )


def _recommend(facts: Facts) -> str:
    if facts.comparison.reason:
        return "unknown"
    if is_lost(facts):
        return "use the base method alone"
    return "use CoHiRF" if is_gained(facts) else "either"


def _kept_by_rerun(alone: Alone) -> float:
    if len(alone.runs) < 2 or alone.labels is None:
        return 1.0
    shares = [compare_pairs(0, 0, run.labels, alone.labels[run.positions]).rightly_fused for run in alone.runs[1:]]
    return float(np.mean(shares))


def _share_of_noise(labels: IntArray) -> float:
    return float(np.mean(labels < 0))


def _indent(text: str, first: str = "  ") -> str:
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
