"""The base method without CoHiRF: run it on a sample of rows, and compare its labels with those of the model."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.preservation import separate_noise
from cohirf.diagnosis.scores import SampleDistances, agreement_with_classes
from cohirf.diagnosis.text import shorten
from cohirf.engines.local import one_thread

N_RUNS = 3
LEFT_OUT = 0.2  # share of the sample that every run except the first leaves out
NUMBERS = ("n_clusters", "n_components")  # parameters that fix the number of clusters


@dataclass(frozen=True)
class BaseRun:
    """One run of the base method: labels of the sampled rows at ``positions``; every noise row has its own label."""

    positions: IntArray
    labels: IntArray

    def agreement(self, labels: IntArray) -> float:
        """Return the adjusted Rand index with labels of the whole sample."""
        return float(adjusted_rand_score(separate_noise(labels[self.positions]), self.labels))


@dataclass(frozen=True)
class BaseResult:
    """Labels that the base method gives to a sample of rows, without CoHiRF.

    Attributes
    ----------
    base : str
        Name of the base method.
    labels : array of int or None
        Label of each row; None if the base method did not run.
    runs : tuple of BaseRun
        The run that gave ``labels``, and runs with other seeds. If the rows are a sample of the data, each of the other
        runs leaves out some of them: the model saw other rows, too, so it can only be expected to find clusters that
        do not depend on the choice of rows.
    reason : str
        Why the base method did not run; empty if it did.
    """

    base: str
    labels: IntArray | None = None
    runs: tuple[BaseRun, ...] = ()
    reason: str = ""

    @property
    def reproducibility(self) -> float | None:
        """Mean adjusted Rand index between the first run and the others; 1 if there are no others."""
        if self.labels is None:
            return None
        return float(np.mean([run.agreement(self.labels) for run in self.runs[1:]])) if len(self.runs) > 1 else 1.0

    def agreement(self, labels: IntArray) -> float | None:
        """Return the mean adjusted Rand index between ``labels`` and the runs."""
        return None if self.labels is None else float(np.mean([run.agreement(labels) for run in self.runs]))


@dataclass(frozen=True)
class Comparison:
    """The model compared with the base method alone, on the same rows.

    Attributes
    ----------
    base : str
        Name of the base method.
    n_rows : int
        Number of rows that the base method ran on; 0 if it did not run.
    reason : str
        Why the base method did not run; empty if it did.
    n_clusters : int
        Number of clusters that the base method found.
    silhouette : tuple of (float or None)
        Mean silhouette of the model, and of the base method alone; None if undefined.
    ari : tuple of (float or None)
        Adjusted Rand index with the known classes, of the model and of the base method alone; None without classes.
    agreement : float or None
        Mean adjusted Rand index between the model and runs of the base method alone.
    reproducibility : float or None
        Mean adjusted Rand index between runs of the base method alone.
    """

    base: str
    n_rows: int = 0
    reason: str = ""
    n_clusters: int = 0
    silhouette: tuple[float | None, float | None] = (None, None)
    ari: tuple[float | None, float | None] = (None, None)
    agreement: float | None = None
    reproducibility: float | None = None


def run_alone(estimator: Any, features: Any, n_rows: int) -> BaseResult:
    """Run the base method on a sample of rows.

    It is skipped if the result would be meaningless: density-based methods find different clusters in a sample than in
    the whole data.

    Parameters
    ----------
    estimator : object
        The base method.
    features : array or CSR matrix
        The sample.
    n_rows : int
        Number of rows of the whole data.

    Returns
    -------
    result : BaseResult
        The labels, or the reason why there are none.
    """
    name = shorten(type(estimator).__name__)
    n_sampled = features.shape[0]
    if n_sampled < n_rows and not _knows_number(estimator):
        reason = (
            f"{name} has no fixed number of clusters, so it would find different clusters in a sample of {n_sampled:,} "
            f"rows than in all {n_rows:,} rows. It was not run alone."
        )
        return BaseResult(name, reason=reason)
    try:
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")  # this run is only a comparison
            labels, runs = _run(BaseMethod.of(estimator), features, is_part=n_sampled < n_rows)
    except Exception as error:  # third-party base methods can raise anything
        return BaseResult(name, reason=f"{name} failed when it ran alone: {shorten(error, 300)}")
    return BaseResult(name, labels, runs)


def _run(method: BaseMethod, features: Any, *, is_part: bool) -> tuple[IntArray, tuple[BaseRun, ...]]:
    everything = np.arange(features.shape[0])
    labels = method.label_rows(features, np.random.default_rng(0))
    runs = [BaseRun(everything, separate_noise(labels))]
    for seed in range(1, 1 if method.is_deterministic and not is_part else N_RUNS):
        rng = np.random.default_rng(seed)
        n_left = math.ceil((1 - LEFT_OUT) * len(everything)) if is_part else len(everything)
        positions = np.sort(rng.choice(everything, n_left, replace=False))
        runs.append(BaseRun(positions, separate_noise(method.label_rows(features[positions], rng))))
    return labels, tuple(runs)


def compare_with_base(
    alone: BaseResult, distances: SampleDistances, labels: IntArray, classes: IntArray | None
) -> Comparison:
    """Compare the labels of the model with those of the base method alone.

    Parameters
    ----------
    alone : BaseResult
        The base method's labels of the sampled rows.
    distances : SampleDistances
        Distances between the sampled rows.
    labels : array of int
        The model's labels of these rows.
    classes : array of int or None
        Known classes of these rows.

    Returns
    -------
    comparison : Comparison
        Scores of both, and how well the model agrees with runs of the base method.
    """
    if alone.labels is None:
        return Comparison(alone.base, reason=alone.reason)
    return Comparison(
        base=alone.base,
        n_rows=len(labels),
        n_clusters=len(np.unique(alone.labels[alone.labels >= 0])),
        silhouette=(distances.silhouette(labels), distances.silhouette(alone.labels)),
        ari=(agreement_with_classes(labels, classes), agreement_with_classes(alone.labels, classes)),
        agreement=alone.agreement(labels),
        reproducibility=alone.reproducibility,
    )


def _knows_number(estimator: Any) -> bool:
    """Return whether the number of clusters is a parameter of the method (of the last step, for a pipeline)."""
    clusterer = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    parameters = clusterer.get_params() if hasattr(clusterer, "get_params") else {}
    return any(parameters.get(name) is not None for name in NUMBERS)
