"""Diagnosis of a fitted model from the landmarks that it stores: a verdict, its reasons, and advice."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.cells import MAX_AXES
from cohirf.algorithm.grouping import IntArray, count_with_noise
from cohirf.diagnosis.base_alone import K_MEANS, Comparison, compare_with_base, finds_number, rival_of
from cohirf.diagnosis.problems import find_problem
from cohirf.diagnosis.sample import DiagnosisSample, draw_sample, keeps_enough
from cohirf.diagnosis.scores import SampleDistances
from cohirf.diagnosis.verdict import (
    WHOLE,
    Facts,
    Finding,
    advise,
    in_one_line,
    recommend,
    say_too_few,
    verdict,
    why_not_comparable,
)
from cohirf.summary.numbers import cluster_positions

WIDTH = 100


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a fit, as returned by ``CoHiRF.diagnose``. ``print`` shows it in words.

    Attributes
    ----------
    recommendation : {"use the base method alone", "either", "unknown"}
        Which of the two to use, if the base method can run on all rows. "either" if both find the same clusters,
        "unknown" if they differ and nothing tells which is better, or if they could not be compared.
    line : str
        Whether to trust the clusters, in one line.
    findings : list of Finding
        Questions about the fit, each with a short answer and the reason for it.
    advice : list of str
        Options to try, the most promising first; empty if the fit gives no reason to change anything.
    comparison : Comparison
        The model compared with the base method alone.
    n_rows : int
        Number of sampled rows that the diagnosis is based on.

    See Also
    --------
    cohirf.CoHiRF.diagnose : Makes a diagnosis.

    Examples
    --------
    >>> from sklearn.cluster import AgglomerativeClustering
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> X = load_iris().data
    >>> diagnosis = CoHiRF(AgglomerativeClustering(3)).fit(X).diagnose()
    >>> diagnosis.recommendation
    'either'
    >>> print(diagnosis.line)
    Trust these clusters as you would trust AgglomerativeClustering: the fit is one run of
    AgglomerativeClustering on all rows, and has its clusters.
    """

    recommendation: str
    line: str
    findings: list[Finding]
    advice: list[str]
    comparison: Comparison
    n_rows: int

    def __str__(self) -> str:
        """Return the diagnosis in words."""
        parts = [_indent(self.line, "")]
        parts += [f"{finding.question} {finding.answer}\n{_indent(finding.reason)}" for finding in self.findings]
        parts += ["What to try:\n" + "\n".join(_indent(tip, "  - ") for tip in self.advice)] if self.advice else []
        return "\n".join(parts)


def diagnose_model(model: Any, classes: IntArray | None = None) -> Diagnosis:
    """Diagnose a fitted model from rows that it stores.

    Parameters
    ----------
    model : CoHiRF
        The fitted model.
    classes : array of int, optional
        Known class of each row of the data. They add a score to the comparison, and do not change the verdict.

    Returns
    -------
    diagnosis : Diagnosis
        Findings, advice and figures.
    """
    rival = rival_of(model)
    sample = draw_sample(model, keeps_density=finds_number(rival))
    distances = SampleDistances.of(sample.features[sample.compared])
    of_rows = cluster_positions(model)
    labels = of_rows[sample.rows]
    n_noise, *sizes = count_with_noise(of_rows, model.n_clusters_).tolist()
    facts = Facts(
        comparison=_compare(model, rival, sample, distances, None if classes is None else classes[sample.rows]),
        finds_number=finds_number(rival),
        is_k_means=isinstance(rival.clusterer, K_MEANS),
        ran_once=is_one_run(model, n_noise),
        neighbours_together=(distances.neighbours_together(labels[sample.compared]) if keeps_enough(model) else None),
        problem=find_problem(model, np.array(sizes, dtype=np.int64), n_noise),
        as_published=model.n_clusters == "levels",
        n_batches=model.diagnostics_[0].n_batches,
        kind=find_kind(model, n_noise),
        is_part=sample.is_part,
    )
    return Diagnosis(
        recommendation=recommend(facts),
        line=in_one_line(facts),
        findings=verdict(facts),
        advice=advise(facts),
        comparison=facts.comparison,
        n_rows=len(sample.compared),
    )


def _compare(
    model: Any, rival: BaseMethod, sample: DiagnosisSample, distances: SampleDistances, classes: IntArray | None
) -> Comparison:
    if not keeps_enough(model):
        reason = say_too_few(rival, len(sample.rows), len(model.labels_))
        return Comparison(type(rival.clusterer).__name__, reason=reason)
    if finds_number(rival) and not sample.has_density:
        first = model.diagnostics_[0]
        reason = why_not_comparable(rival, len(sample.rows), len(model.labels_), first.n_batches, first.kind)
        return Comparison(type(rival.clusterer).__name__, reason=reason)
    return compare_with_base(rival, sample, distances, cluster_positions(model)[sample.rows], classes)


def is_one_run(model: Any, n_noise: int) -> bool:
    """Return whether the fit is one run of a deterministic base method on all rows, of which nothing was merged."""
    first, *later = model.diagnostics_
    is_whole = first.n_batches == 1 and first.rows_held_aside == 0 and not later
    views_differ = model._count_view_features() < model.n_features_in_
    is_deterministic = BaseMethod.of(model._base_method()).is_deterministic
    return bool(is_whole and is_deterministic and not views_differ and first.rows_out == model.n_clusters_ + n_noise)


def find_kind(model: Any, n_noise: int) -> str:
    """Return the kind of the first level; "local" if it is not certain that the clusters are those of all rows.

    Clusters may have been merged or left out afterwards. And with many features, spanning trees of several batches can
    miss edges.
    """
    first, last = model.diagnostics_[0], model.diagnostics_[-1]
    is_kept = last.rows_out == model.n_clusters_ + n_noise and model.n_clusters != "levels"
    misses_edges = first.kind == "spanning" and first.n_batches > 1 and model.n_features_in_ > MAX_AXES
    return "local" if first.kind in WHOLE and (misses_edges or not is_kept) else str(first.kind)


def _indent(text: str, first: str = "  ") -> str:
    return textwrap.fill(text, WIDTH, initial_indent=first, subsequent_indent=" " * len(first))
