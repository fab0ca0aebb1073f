"""Diagnosis of a fit: the base method runs alone on a sample of rows, and its labels are
compared.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.app.explain.study import DiagnosisSample, SampleDistances, draw_diagnosed, keeps_enough
from cohirf.app.explain.verdict import (
    RIVAL_STARTS,
    WHOLE,
    Comparison,
    Facts,
    Finding,
    find_problem,
    judge,
    say_too_few,
    why_not_comparable,
)
from cohirf.app.explain.words import shorten
from cohirf.beyond.cells import MAX_AXES
from cohirf.clusterers.torch_k_means import TorchKMeans
from cohirf.engines.local import one_thread
from cohirf.rows.grouping import IntArray, count_with_noise
from cohirf.summary.model import Model, base_method_of
from cohirf.summary.numbers import cluster_positions
from cohirf.validation import count_view_features

N_RUNS = 3
LEFT_OUT_SHARE = 0.2  # share of the sample that every run except the first leaves out
K_MEANS = (KMeans, MiniBatchKMeans, BisectingKMeans, TorchKMeans)
LINE_WIDTH = 100


def agreement_with_classes(labels: IntArray, classes: IntArray | None) -> float | None:
    """Return the adjusted Rand index with the known classes, or None without classes.

    Noise counts as one cluster.
    """
    if classes is None:
        return None
    return float(adjusted_rand_score(classes, labels))


def calinski_harabasz(features: Any, labels: IntArray) -> float | None:
    """Return the Calinski-Harabasz score of the rows that are not noise, or None if undefined or if
    data is sparse.
    """
    kept = np.flatnonzero(labels >= 0)
    if sparse.issparse(features) or not 1 < len(np.unique(labels[kept])) < len(kept):
        return None
    return float(calinski_harabasz_score(features[kept], labels[kept]))


@dataclass(frozen=True)
class BaseRun:
    """One run of the base method: labels of the sampled rows at ``positions``; noise is -1."""

    positions: IntArray
    labels: IntArray

    def agreement(self, labels: IntArray, among: IntArray) -> float:
        """Return the adjusted Rand index with labels of the whole sample, over rows at the
        positions ``among``.
        """
        common, here, _ = np.intersect1d(
            self.positions, among, assume_unique=True, return_indices=True
        )
        return float(
            adjusted_rand_score(separate_noise(labels[common]), separate_noise(self.labels[here]))
        )


def rival_of(model: Model) -> BaseMethod:
    """Return the base method with the number of clusters of the model, and K-Means with at least
    ten starts.
    """
    estimator = base_method_of(model)
    method = BaseMethod.of(estimator)
    changes: dict[str, Any] = {}
    is_told_otherwise = model.n_clusters is not None or model.estimator is None
    if method.told is not None and is_told_otherwise and model.n_clusters != "levels":
        changes[method.told] = max(int(model.n_clusters_), 1)
    if type(method.clusterer) is KMeans:  # subclasses may not have the parameter
        step = (method.told or "").removesuffix("n_clusters")
        given = method.clusterer.n_init
        changes[f"{step}n_init"] = (
            max(given, RIVAL_STARTS) if isinstance(given, int) else RIVAL_STARTS
        )
    if changes:
        return BaseMethod.of(clone(estimator).set_params(**changes))
    return method


def finds_number(method: BaseMethod) -> bool:
    """Return whether a method finds the number of clusters itself, by the density of the rows or by
    a threshold.
    """
    return method.told is None


def compare_with_base(
    rival: BaseMethod,
    sample: DiagnosisSample,
    distances: SampleDistances,
    labels: IntArray,
    classes: Any = None,
) -> Comparison:
    """Run the base method on the sample, and compare its labels with those of the model."""
    name = shorten(type(rival.clusterer).__name__)
    try:
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")  # this run is only a comparison
            first, *others = _run(rival, sample.features)
    except Exception as error:  # third-party base methods can raise anything
        return Comparison(name, reason=f"{name} failed when it ran alone: {shorten(error, 300)}")
    among = sample.compared
    ours = labels[among]
    alone = first.labels[among]
    known = None if classes is None else classes[among]
    return Comparison(
        base=name,
        n_rows=len(among),
        n_clusters=(len(np.unique(ours[ours >= 0])), len(np.unique(alone[alone >= 0]))),
        noise=(float(np.mean(ours < 0)), float(np.mean(alone < 0))),
        silhouette=(distances.silhouette(ours), distances.silhouette(alone)),
        ari=(agreement_with_classes(ours, known), agreement_with_classes(alone, known)),
        same=first.agreement(labels, among),
        agreement=float(np.mean([run.agreement(labels, among) for run in others])),
        reproducibility=float(np.mean([run.agreement(first.labels, among) for run in others])),
    )


def separate_noise(labels: IntArray) -> IntArray:
    """Return labels in which each noise row is a cluster of its own."""
    separate: IntArray = labels.astype(np.int64)
    noise = np.flatnonzero(labels < 0)
    separate[noise] = max(int(labels.max(initial=0)), 0) + 1 + np.arange(len(noise))
    return separate


def _run(method: BaseMethod, features: Any) -> list[BaseRun]:
    """Run the method on all rows, and again without some: clusters of a model cannot depend on the
    choice of rows.
    """
    n_rows = features.shape[0]
    runs = []
    for seed in range(N_RUNS):
        rng = np.random.default_rng(seed)
        some = np.arange(n_rows)
        if seed:
            some = np.sort(
                rng.choice(n_rows, math.ceil((1 - LEFT_OUT_SHARE) * n_rows), replace=False)
            )
        runs.append(BaseRun(some, method.label_rows(features[some] if seed else features, rng)))
    return runs


@dataclass(frozen=True)
class Diagnosis:
    """Diagnosis of a fit, as returned by ``CoHiRF.diagnose``. ``print`` shows it in words.

    Attributes
    ----------
    recommendation : {"use the base method alone", "either", "unknown"}
        Which of the two to use, if the base method can run on all rows. "either" if both find the
        same clusters, "unknown" if they differ and nothing tells which is better, or if they could
        not be compared.
    line : str
        Whether to trust the clusters, in one line.
    findings : list of Finding
        Questions about the fit, each with a short answer and the reason for it.
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
    comparison: Comparison
    n_rows: int

    def __str__(self) -> str:
        """Return the diagnosis in words."""
        parts = [_indent(self.line, "")]
        parts += [
            f"{finding.question} {finding.answer}\n{_indent(finding.reason)}"
            for finding in self.findings
        ]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


def diagnose_model(model: Model, classes: IntArray | None = None) -> Diagnosis:
    """Diagnose a fitted model from rows that it stores."""
    rival = rival_of(model)
    first = model.diagnostics_[0]
    name = type(rival.clusterer).__name__
    sample = draw_diagnosed(model, keeps_density=finds_number(rival))
    distances = SampleDistances.of(sample.features[sample.compared])
    of_rows = cluster_positions(model)
    n_rows = len(model.labels_)
    n_sampled = len(sample.rows)
    labels = of_rows[sample.rows]
    n_noise, *sizes = count_with_noise(of_rows, model.n_clusters_).tolist()
    if not keeps_enough(model):
        found = Comparison(name, reason=say_too_few(rival, n_sampled, n_rows))
    elif finds_number(rival) and not sample.has_density:
        found = Comparison(
            name, reason=why_not_comparable(rival, n_sampled, n_rows, first.n_batches, first.kind)
        )
    else:
        known = None if classes is None else classes[sample.rows]
        found = compare_with_base(rival, sample, distances, labels, known)
    facts = Facts(
        comparison=found,
        finds_number=finds_number(rival),
        is_k_means=isinstance(rival.clusterer, K_MEANS),
        ran_once=is_one_run(model, n_noise),
        neighbours_together=distances.neighbours_together(labels[sample.compared])
        if keeps_enough(model)
        else None,
        problem=find_problem(model, np.array(sizes, dtype=np.int64), n_noise),
        as_published=model.n_clusters == "levels",
        n_batches=first.n_batches,
        kind=find_kind(model, n_noise),
        is_part=sample.is_part,
        is_given=model.n_clusters is not None,
    )
    return Diagnosis(*judge(facts), comparison=found, n_rows=len(sample.compared))


def is_one_run(model: Model, n_noise: int) -> bool:
    """Return whether the fit is one run of a deterministic base method on all rows, of which
    nothing was merged.
    """
    first, *later = model.diagnostics_
    is_whole = first.n_batches == 1 and first.rows_held_aside == 0 and not later
    views_differ = (
        count_view_features(model.max_features, model.n_features_in_) < model.n_features_in_
    )
    is_deterministic = BaseMethod.of(base_method_of(model)).is_deterministic
    return bool(
        is_whole
        and is_deterministic
        and not views_differ
        and first.rows_out == model.n_clusters_ + n_noise
    )


def find_kind(model: Model, n_noise: int) -> str:
    """Return the kind of the first level.

    "local" if it is not certain that the clusters are those of all rows.
    """
    first = model.diagnostics_[0]
    last = model.diagnostics_[-1]
    # not merged, nor left out
    is_kept = last.rows_out == model.n_clusters_ + n_noise and model.n_clusters != "levels"
    misses_edges = (
        first.kind == "spanning" and first.n_batches > 1 and model.n_features_in_ > MAX_AXES
    )
    if first.kind in WHOLE and (misses_edges or not is_kept):
        return "local"
    return str(first.kind)


def _indent(text: str, indent: str = "  ") -> str:
    return textwrap.fill(text, LINE_WIDTH, initial_indent=indent, subsequent_indent=indent)
