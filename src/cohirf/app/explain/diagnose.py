"""Diagnosis of a fit: whether the base method alone finds the same clusters, or better ones, or
whether that is not known.

The base method runs alone on rows that the model stores, and its labels are compared.
``benchmarks/quality/diagnose.py`` measures how often the statements are right, on data sets with
known classes. Nothing there shows reliably that CoHiRF is better than the base method, so
there is no such statement.
"""

from __future__ import annotations

import math
import textwrap
import warnings
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.explain.policy import BETWEEN
from cohirf.app.explain.study import DiagnosisSample, SampleDistances, draw_diagnosed, keeps_enough
from cohirf.app.explain.words import shorten, uncapitalised
from cohirf.clusterers import TorchKMeans
from cohirf.inspection import (
    BaseMethod,
    FitFacts,
    Problem,
    base_method_of,
    cluster_positions,
    one_thread,
    remedies_for,
)
from cohirf.rows import IntArray
from cohirf.wording import count_of, percent

ALONE = "use the base method alone"
EITHER = "either"
UNKNOWN = "unknown"
K_MEANS = (KMeans, MiniBatchKMeans, BisectingKMeans, TorchKMeans)
LINE_WIDTH = 100


@dataclass(frozen=True)
class Rule:
    """When two partitions are the same, and when the base method is better.

    Its figures were chosen with ``benchmarks/quality/diagnose.py``, whose table is on the page "Can
    the clusters be trusted?".
    """

    same: float = 0.95  # adjusted Rand index
    # The base method agrees with itself by so much more than with the model (adjusted Rand index),
    # and the silhouette of the model is so much lower. One of the two is not enough: clusters can
    # differ and be as good.
    lost: float = 0.15
    worse_silhouette: float = 0.02
    more_noise: float = 0.1  # share of rows that are noise in the fit, but not for the method
    rival_starts: int = 10  # of K-Means that runs alone: with a single one, it is an easy rival
    runs: int = 3  # of the base method: on all rows of the sample, and without some of them
    left_out: float = 0.2  # share of the sample that every run except the first leaves out


RULE = Rule()


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


@dataclass(frozen=True)
class Comparison:
    """The model compared with the base method alone, on the same rows.

    Pairs are of the model, and of the method.
    """

    base: str  # name of the base method
    n_rows: int = 0  # on which labels are compared; 0 if the base method did not run
    reason: str = ""  # why the base method did not run; empty if it did
    n_clusters: tuple[int, int] = (0, 0)  # in these rows
    noise: tuple[float, float] = (0.0, 0.0)  # share of these rows
    silhouette: tuple[float | None, float | None] = (None, None)  # mean; None if undefined
    ari: tuple[float | None, float | None] = (None, None)  # adjusted Rand index with known classes
    # adjusted Rand indices, None if the method did not run: of the model and the method; the mean
    # of those of the model and runs of the method on four fifths of the rows; and of the method on
    # all rows and these runs
    same: float | None = None
    agreement: float | None = None
    reproducibility: float | None = None

    def has_lost(self, rule: Rule = RULE) -> bool:
        """Return whether the model has lost clusters that the base method finds whichever rows it
        sees.
        """
        ours, alone = self.silhouette
        # without a silhouette, the base method has a single cluster, or none: nothing was lost
        if self.agreement is None or self.reproducibility is None or alone is None:
            return False
        is_worse = ours is None or ours < alone - rule.worse_silhouette
        return is_worse and self.agreement < self.reproducibility - rule.lost

    def describe(self) -> str:
        """Return the figures in words."""
        starts = f" with {RULE.rival_starts} starts" if self.base == "KMeans" else ""
        n_found = count_of(self.n_clusters[1], "cluster")
        parts = [f"In {self.n_rows:,} rows, {self.base} alone{starts} finds {n_found}"]
        if self.n_clusters[0] != self.n_clusters[1]:
            parts.append(f" where the fit has {self.n_clusters[0]:,}")
        if max(self.noise) > 0:
            parts.append(f", and {self.noise[1]:.0%} noise where the fit has {self.noise[0]:.0%}")
        parts.append(
            f". The adjusted Rand index of the two is {self.same:.2f}. Without a fifth of the "
            f"rows, {self.base} agrees with itself by {self.reproducibility:.2f}, and with the "
            f"fit by {self.agreement:.2f}."
        )
        ours, alone = self.silhouette
        if ours is not None and alone is not None:
            parts.append(f" Its silhouette is {alone:.2f}, and that of the fit {ours:.2f}.")
        return "".join(parts)


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
    facts : FitFacts
        Facts about the fit.
    n_rows : int
        Number of sampled rows that the base method was compared on.

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
    facts: FitFacts
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


def diagnose_model(model: CoHiRF, classes: IntArray | None = None) -> Diagnosis:
    """Diagnose a fitted model from rows that it stores."""
    facts = FitFacts.of(model)
    rival = rival_of(model)
    sample = draw_diagnosed(model, keeps_density=finds_number(rival))
    reason = why_not_comparable(model, rival, sample)
    if reason:
        found = Comparison(shorten(type(rival.clusterer).__name__), reason=reason)
    else:
        labels = cluster_positions(model)[sample.rows]
        known = None if classes is None else classes[sample.rows]
        found = compare_with_base(rival, sample, labels, known)
    recommendation, line, finding = judge(facts, found, rival)
    findings = [finding, judge_neighbours(facts.cut)]
    if facts.problem is not None:
        useless = describe_problem(facts.problem, model)
        findings.insert(0, useless)
        if useless.tone == "poor":
            line = f"Do not trust these clusters: {uncapitalised(useless.reason)}"
    return Diagnosis(recommendation, line, findings, found, facts, len(sample.compared))


def describe_problem(problem: Problem, model: CoHiRF) -> Finding:
    """Return what makes clusters useless: its tone is poor if all are spoilt, otherwise fair."""
    answer = {
        "noise": "Nearly everything is noise.",
        "nothing fused": "Nothing fused.",
        "crumbs": "Some have only a few rows.",
    }[problem.kind]
    said = problem.describe(remedies_for(model))
    tone = "poor" if problem.spoils_all else "fair"
    return Finding("Are the clusters usable?", answer, said, tone)


def judge(facts: FitFacts, found: Comparison, rival: BaseMethod) -> tuple[str, str, Finding]:
    """Return which of the two to use, if the base method can run on all rows; why in one line; and
    why with all figures.
    """
    question = f"Would {found.base} alone do better?"
    trust = f"Trust these clusters as you would trust {found.base}: "
    unknown = f"Whether {found.base} alone would do better is not known: "
    if facts.same_as_base:
        why = _say_why_same(facts.same_as_base, found.base)
        finding = Finding(question, "It is the same.", f"{why[:1].upper()}{why[1:]}.", "good")
        return EITHER, f"{trust}{why}.", finding
    if found.same is None:
        finding = Finding(question, "Not known.", found.reason, "unknown")
        return UNKNOWN, f"{unknown}{found.reason}", finding
    measured = found.describe()
    rows = f"in {found.n_rows:,} rows"
    index = f"(adjusted Rand index {found.same:.2f})"
    if found.same >= RULE.same:
        finding = Finding(question, "It finds the same clusters.", measured, "good")
        return EITHER, f"{trust}it finds the same ones {rows} {index}.", finding
    if _has_lost_clusters(facts, found, rival):
        lost = f"the fit has lost clusters that {found.base} finds"
        finding = Finding(question, "Probably.", f"{measured} T{lost[1:]}.", "poor")
        remedy = _say_remedy(facts, rival)
        line = f"Do not trust these clusters: {lost} {rows} {index}. Use {remedy}."
        return ALONE, line, finding
    why = "nothing in the data tells which of the two is better"
    finding = Finding(question, "Not known.", f"{measured} The two differ, and {why}.", "unknown")
    return UNKNOWN, f"{unknown}{rows} it finds other clusters {index}, and {why}.", finding


def _say_why_same(same_as_base: str, base: str) -> str:
    """Return why the clusters of a fit are those of the base method on all rows."""
    if same_as_base == "exact":
        return (
            f"its local batches find the clusters of {base} on all rows; only a border row that is "
            "near to two clusters may be in the other one"
        )
    if same_as_base == "spanning":
        return (
            f"the clusters are those of {base} on all rows, as far as the spanning tree of each "
            "local batch has the edges that matter"
        )
    return f"the fit is one run of {base} on all rows, and has its clusters"


def _has_lost_clusters(facts: FitFacts, found: Comparison, rival: BaseMethod) -> bool:
    """Return whether the base method is probably better.

    If the defaults around K-Means differ from it, no figure tells which is better: the rule was
    right in 10 of 15 statements. Of three fits in local batches it said that they had lost clusters
    of DBSCAN, and was right in none.
    """
    if finds_number(rival) and found.noise[0] > found.noise[1] + RULE.more_noise:
        return True
    if facts.kind == "local" or (isinstance(rival.clusterer, K_MEANS) and not facts.as_published):
        return False
    return found.has_lost()


def _say_remedy(facts: FitFacts, rival: BaseMethod) -> str:
    """Return what to use instead of a fit that has lost clusters."""
    tips = ["the defaults of CoHiRF"] if facts.as_published else []
    if facts.n_batches > 1 and finds_number(rival) and facts.kind == "random":
        tips.append('batches="local", because random ones are thinner than the data')
    elif facts.n_batches > 1:
        tips.append("larger batches")
    name = shorten(type(rival.clusterer).__name__)
    return ", or ".join([*tips, f"{name} alone, if it can run on all rows"])


def judge_neighbours(cut: float) -> Finding:
    """Answer whether near neighbours are in the same cluster, given the share that are not."""
    question = "Are neighbouring rows in the same cluster?"
    if np.isnan(cut):
        few = "The model stores too few different rows of its clusters."
        return Finding(question, "Not measured.", few, "unknown")
    measured = (
        f"{percent(cut).capitalize()} of the near neighbours of a row are in another cluster."
    )
    if cut <= BETWEEN.touching:
        return Finding(question, "Yes.", measured, "good")
    if cut <= BETWEEN.overlapping:
        reason = f"{measured} Some borders between clusters run through dense regions."
        return Finding(question, "Mostly.", reason, "fair")
    reason = f"{measured} Borders between clusters run through dense regions."
    return Finding(question, "Hardly.", reason, "poor")


def rival_of(model: CoHiRF) -> BaseMethod:
    """Return the base method with the number of clusters of the model, and K-Means with at least
    ten starts.
    """
    estimator = base_method_of(model)
    method = BaseMethod.of(estimator)
    changes: dict[str, Any] = {}
    is_told_otherwise = model.n_clusters is not None or model.estimator is None
    if method.number_name is not None and is_told_otherwise and model.n_clusters != "levels":
        changes[method.number_name] = max(int(model.n_clusters_), 1)
    if type(method.clusterer) is KMeans:  # subclasses may not have the parameter
        step = (method.number_name or "").removesuffix("n_clusters")
        given = method.clusterer.n_init
        starts = max(given, RULE.rival_starts) if isinstance(given, int) else RULE.rival_starts
        changes[f"{step}n_init"] = starts
    if changes:
        return BaseMethod.of(clone(estimator).set_params(**changes))
    return method


def finds_number(method: BaseMethod) -> bool:
    """Return whether a method finds the number of clusters itself, by the density of the rows or by
    a threshold.
    """
    return method.number_name is None


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


def why_not_comparable(model: CoHiRF, rival: BaseMethod, sample: DiagnosisSample) -> str:
    """Return why the base method cannot be compared on the rows that a model stores, if so."""
    name = shorten(type(rival.clusterer).__name__)
    n_sampled = len(sample.rows)
    n_rows = len(model.labels_)
    if not keeps_enough(model):
        return (
            f"{name} needs more rows than the {n_sampled:,} of {n_rows:,} that the model keeps. A "
            "merge with exemplars_only=True keeps only exemplars: diagnose the models before they "
            "are merged."
        )
    if finds_number(rival) and not sample.has_density:
        return (
            f"{name} depends on the density of the rows, and a sample of {n_sampled:,} of "
            f"{n_rows:,} rows is thinner than the data."
        )
    return ""


def compare_with_base(
    rival: BaseMethod, sample: DiagnosisSample, labels: IntArray, classes: IntArray | None = None
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
    distances = SampleDistances.of(sample.features[among])
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


def _run(method: BaseMethod, features: Any) -> list[BaseRun]:
    """Run the method on all rows, and again without some: clusters of a model cannot depend on the
    choice of rows.
    """
    n_rows = features.shape[0]
    runs = []
    for seed in range(RULE.runs):
        rng = np.random.default_rng(seed)
        some = np.arange(n_rows)
        if seed:
            n_kept = math.ceil((1 - RULE.left_out) * n_rows)
            some = np.sort(rng.choice(n_rows, n_kept, replace=False))
        runs.append(BaseRun(some, method.label_rows(features[some] if seed else features, rng)))
    return runs


def separate_noise(labels: IntArray) -> IntArray:
    """Return labels in which each noise row is a cluster of its own."""
    separate: IntArray = labels.astype(np.int64)
    noise = np.flatnonzero(labels < 0)
    separate[noise] = max(int(labels.max(initial=0)), 0) + 1 + np.arange(len(noise))
    return separate


def agreement_with_classes(labels: IntArray, classes: IntArray | None) -> float | None:
    """Return the adjusted Rand index with the known classes, or None without classes.

    Noise counts as one cluster.
    """
    if classes is None:
        return None
    return float(adjusted_rand_score(classes, labels))


def _indent(text: str, indent: str = "  ") -> str:
    return textwrap.fill(text, LINE_WIDTH, initial_indent=indent, subsequent_indent=indent)
