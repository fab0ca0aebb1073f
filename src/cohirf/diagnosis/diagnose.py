"""Diagnosis of a fitted model, from its data or from the landmarks that it stores: figures, answers and advice."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.base_alone import BaseResult, Comparison, compare_with_base, run_alone
from cohirf.diagnosis.preservation import LevelPreservation, compare_pairs, follow_levels
from cohirf.diagnosis.reading import as_data, check_rows
from cohirf.diagnosis.sample import draw_sample
from cohirf.diagnosis.scores import SampleDistances
from cohirf.diagnosis.verdict import STABLE, CutScore, Facts, Finding, advise, is_gained, is_lost, verdict
from cohirf.diagnosis.weakest_fusion import weakest_fusions
from cohirf.hierarchy import FusionHierarchy

WIDTH = 100


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a fit, as returned by ``CoHiRF.diagnose``. ``print`` shows it in words.

    Attributes
    ----------
    recommendation : {"use CoHiRF", "use the base method alone", "either", "unknown"}
        Which of the two to use, if the base method can run on all rows. "unknown" if the comparison could not be made.
    findings : list of Finding
        Questions about the fit, each with a short answer and the reason for it.
    advice : list of str
        Options to try, the most promising first; empty if the fit gives no reason to change anything.
    levels : list of LevelPreservation
        For each level, how well the clusters that the base method finds in the rows were preserved; empty if the base
        method did not run.
    comparison : Comparison
        The model compared with the base method alone.
    n_rows : int
        Number of sampled rows that the diagnosis is based on.
    stable_share : float
        Share of the sampled rows whose stability is at least 0.5 at every fusion. The stability of a fusion is the mean
        over views of the Jaccard index between the row's group and its cluster in that view.

    See Also
    --------
    cohirf.CoHiRF.diagnose : Makes a diagnosis.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> X = load_iris().data
    >>> diagnosis = CoHiRF(KMeans(3, n_init=1), random_state=0).fit(X).diagnose(X)
    >>> diagnosis.n_rows
    150
    >>> diagnosis.findings[0].question
    'Do the views agree?'
    """

    recommendation: str
    findings: list[Finding]
    advice: list[str]
    levels: list[LevelPreservation]
    comparison: Comparison
    n_rows: int
    stable_share: float

    def __str__(self) -> str:
        """Return the diagnosis in words."""
        parts = [f"CoHiRF with base method {self.comparison.base}: {self.recommendation}."]
        parts += [f"{finding.question} {finding.answer}\n{_indent(finding.reason)}" for finding in self.findings]
        parts += ["What to try:\n" + "\n".join(_indent(tip, "  - ") for tip in self.advice)] if self.advice else []
        return "\n".join(parts)


def diagnose_model(model: Any, X: Any = None) -> Diagnosis:
    """Diagnose a fitted model from a sample of rows: of ``X``, the data of the fit, or of the stored landmarks.

    Parameters
    ----------
    model : CoHiRF
        The fitted model.
    X : array, table, sparse matrix or source, optional
        The data of the fit. By default, rows are sampled from the landmarks that the model stores for ``predict``.

    Returns
    -------
    diagnosis : Diagnosis
        Findings, advice and figures.

    Raises
    ------
    ValueError
        If ``X`` is not the data of the fit.
    """
    data = None if X is None else as_data(X)
    if data is not None:
        check_rows(model, data)
    sample = draw_sample(model, data)
    distances = SampleDistances.of(sample.features)
    alone = run_alone(base_method_of(model), sample.features, len(model.labels_))
    comparison = compare_with_base(alone, distances, model.labels_[sample.rows], None)
    cuts = score_cuts(model, sample.rows, distances)
    facts = gather_facts(model, sample.rows, distances, cuts, alone, comparison)
    return Diagnosis(
        recommendation=_recommend(facts),
        findings=verdict(facts),
        advice=advise(facts),
        levels=list(facts.preservation),
        comparison=comparison,
        n_rows=len(sample.rows),
        stable_share=facts.stable_share,
    )


def gather_facts(
    model: Any,
    rows: IntArray,
    distances: SampleDistances,
    cuts: list[CutScore],
    alone: BaseResult,
    comparison: Comparison,
) -> Facts:
    """Collect the figures that the verdict is based on.

    Parameters
    ----------
    model : CoHiRF
        The fitted model.
    rows : array of int
        Row numbers of the sample.
    distances : SampleDistances
        Distances between the sampled rows.
    cuts : list of CutScore
        Scores of the levels, first level first.
    alone : BaseResult
        The base method's labels of the sampled rows.
    comparison : Comparison
        The model compared with these labels.

    Returns
    -------
    facts : Facts
        The figures.
    """
    labels = model.labels_[rows]
    is_stable = weakest_fusions(model.parents_, model.stability_, rows) >= STABLE
    return Facts(
        records=model.diagnostics_,
        n_views=model.n_views,
        views_differ=can_views_differ(model),
        consensus=model.consensus,
        medoid_weights=model.medoid_weights,
        cuts=cuts,
        neighbours_together=distances.neighbours_together(labels),
        n_clusters=model.n_clusters_,
        noise_share=_share_of_noise(model.labels_),
        comparison=comparison,
        feature_screen=model.feature_screen,
        preservation=[] if alone.labels is None else follow_levels(model.hierarchy_, rows, alone.labels),
        rerun_precision=_rerun_precision(alone),
        stable_share=float(is_stable.mean()),
    )


def score_cuts(model: Any, rows: IntArray, distances: SampleDistances) -> list[CutScore]:
    """Return the silhouette of each level that fused clusters; for the last one, of the model's labels with noise."""
    hierarchy: FusionHierarchy = model.hierarchy_
    n_clusters = hierarchy.cluster_counts()
    scores, at = [], rows
    for level in range(1, hierarchy.n_levels):
        at = hierarchy.step_up(at, level)
        scores.append(CutScore(level, int(n_clusters[level]), distances.silhouette(at), None))
    final = distances.silhouette(model.labels_[rows])
    return [*scores, CutScore(hierarchy.n_levels, model.n_clusters_, final, None)]


def base_method_of(model: Any) -> Any:
    """Return the base method of a model."""
    return KMeans() if model.estimator is None else model.estimator


def can_views_differ(model: Any) -> bool:
    """Return whether the base method is random, or views have only some of the features."""
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


def _rerun_precision(alone: BaseResult) -> float:
    if len(alone.runs) < 2 or alone.labels is None:
        return 1.0
    shares = [compare_pairs(0, 0, run.labels, alone.labels[run.positions]).precision for run in alone.runs[1:]]
    return float(np.mean(shares))


def _share_of_noise(labels: IntArray) -> float:
    return float(np.mean(labels < 0))


def _indent(text: str, first: str = "  ") -> str:
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
