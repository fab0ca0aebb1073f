"""The base method without CoHiRF: run it on a sample of rows, and compare its labels with those of the model."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.grouping import IntArray
from cohirf.clusterers.torch_k_means import TorchKMeans
from cohirf.diagnosis.sample import DiagnosisSample
from cohirf.diagnosis.scores import SampleDistances, agreement_with_classes
from cohirf.diagnosis.text import shorten
from cohirf.engines.local import one_thread

N_RUNS = 3
LEFT_OUT = 0.2  # share of the sample that every run except the first leaves out
K_MEANS = (KMeans, MiniBatchKMeans, BisectingKMeans, TorchKMeans)
STARTS = 10  # of K-Means: with a single one, it is an easy rival


@dataclass(frozen=True)
class BaseRun:
    """One run of the base method: labels of the sampled rows at ``positions``; noise is -1."""

    positions: IntArray
    labels: IntArray

    def agreement(self, labels: IntArray, among: IntArray) -> float:
        """Return the adjusted Rand index with labels of the whole sample, over rows at the positions ``among``."""
        common, here, _ = np.intersect1d(self.positions, among, assume_unique=True, return_indices=True)
        return float(adjusted_rand_score(separate_noise(labels[common]), separate_noise(self.labels[here])))


@dataclass(frozen=True)
class Comparison:
    """The model compared with the base method alone, on the same rows.

    Attributes
    ----------
    base : str
        Name of the base method.
    n_rows : int
        Number of rows on which labels are compared; 0 if the base method did not run.
    reason : str
        Why the base method did not run; empty if it did.
    n_clusters : tuple of int
        Number of clusters in these rows, of the model and of the base method alone.
    noise : tuple of float
        Share of noise in these rows, of the model and of the base method alone.
    silhouette : tuple of (float or None)
        Mean silhouette of the model, and of the base method alone; None if undefined.
    ari : tuple of (float or None)
        Adjusted Rand index with the known classes, of the model and of the base method alone; None without classes.
    same : float or None
        Adjusted Rand index between the model and the base method alone; None if it did not run.
    agreement : float or None
        Mean adjusted Rand index between the model and runs of the base method on four fifths of the rows.
    reproducibility : float or None
        Mean adjusted Rand index between the run of the base method on all rows of the sample and these runs.
    """

    base: str
    n_rows: int = 0
    reason: str = ""
    n_clusters: tuple[int, int] = (0, 0)
    noise: tuple[float, float] = (0.0, 0.0)
    silhouette: tuple[float | None, float | None] = (None, None)
    ari: tuple[float | None, float | None] = (None, None)
    same: float | None = None
    agreement: float | None = None
    reproducibility: float | None = None


def rival_of(model: Any) -> BaseMethod:
    """Return the method that a model is compared with: its base method, told the number of clusters of the model.

    K-Means has at least ten starts. A model as published is compared with what the user wrote.
    """
    estimator = model._base_method()
    method = BaseMethod.of(estimator)
    changes: dict[str, Any] = {}
    is_told_otherwise = model.n_clusters is not None or model.estimator is None
    if method.told is not None and is_told_otherwise and model.n_clusters != "levels":
        changes[method.told] = max(int(model.n_clusters_), 1)
    if type(method.clusterer) is KMeans:  # subclasses may not have the parameter
        step = (method.told or "").removesuffix("n_clusters")
        given = method.clusterer.n_init
        changes[f"{step}n_init"] = max(given, STARTS) if isinstance(given, int) else STARTS
    return BaseMethod.of(clone(estimator).set_params(**changes)) if changes else method


def finds_number(method: BaseMethod) -> bool:
    """Return whether a method finds the number of clusters itself, by the density of the rows or by a threshold."""
    return method.told is None


def compare_with_base(
    rival: BaseMethod,
    sample: DiagnosisSample,
    distances: SampleDistances,
    labels: IntArray,
    classes: IntArray | None = None,
) -> Comparison:
    """Run the base method on the sample, and compare its labels with those of the model.

    Parameters
    ----------
    rival : BaseMethod
        The base method.
    sample : DiagnosisSample
        The rows.
    distances : SampleDistances
        Distances between the rows on which labels are compared.
    labels : array of int
        The model's labels of all rows of the sample.
    classes : array of int, optional
        Known classes of all rows of the sample.

    Returns
    -------
    comparison : Comparison
        Scores of both, and how well the model agrees with runs of the base method; or the reason why there are none.
    """
    name = shorten(type(rival.clusterer).__name__)
    try:
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")  # this run is only a comparison
            first, *others = _run(rival, sample.features)
    except Exception as error:  # third-party base methods can raise anything
        return Comparison(name, reason=f"{name} failed when it ran alone: {shorten(error, 300)}")
    among = sample.compared
    ours, alone = labels[among], first.labels[among]
    known = None if classes is None else classes[among]
    return Comparison(
        base=name,
        n_rows=len(among),
        n_clusters=(_count_clusters(ours), _count_clusters(alone)),
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
    """Run the method on all rows, and again without some of them.

    A model saw other rows than the sample, or its batches and views saw only some of them. So it can only be expected
    to find clusters that do not depend on the choice of rows.
    """
    everything: IntArray = np.arange(features.shape[0])
    runs = [BaseRun(everything, method.label_rows(features, np.random.default_rng(0)))]
    for seed in range(1, N_RUNS):
        rng = np.random.default_rng(seed)
        n_left = math.ceil((1 - LEFT_OUT) * len(everything))
        positions = np.sort(rng.choice(everything, n_left, replace=False))
        runs.append(BaseRun(positions, method.label_rows(features[positions], rng)))
    return runs


def _count_clusters(labels: IntArray) -> int:
    return len(np.unique(labels[labels >= 0]))
