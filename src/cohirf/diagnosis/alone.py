"""The base method alone, on a sample of rows: what it finds there, beside what the model finds."""

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
from cohirf.diagnosis.scores import Yardstick, agreement_with_classes
from cohirf.diagnosis.text import shorten
from cohirf.engines.local import one_thread

N_RUNS = 3
LEFT_OUT = 0.2  # of a sample, by all runs but the first
NUMBERS = ("n_clusters", "n_components")  # parameters that tell a method how many clusters to find


@dataclass(frozen=True)
class Run:
    """Labels that the base method gave to the rows of a sample at ``positions``; each row of noise has its own."""

    positions: IntArray
    labels: IntArray

    def agreement(self, labels: IntArray) -> float:
        """Return the adjusted Rand index with labels of the whole sample."""
        return float(adjusted_rand_score(separate_noise(labels[self.positions]), self.labels))


@dataclass(frozen=True)
class Alone:
    """What the base method finds in some rows by itself.

    Attributes
    ----------
    base : str
        The name of the base method.
    labels : array of int or None
        Label of each row; None if it did not run.
    runs : tuple of Run
        This run, and others with other seeds. If the rows are a sample, each of the others leaves out some of them: the
        model saw other rows as well, so only what survives that is to be expected of it.
    reason : str
        Why it did not run; empty if it did.
    """

    base: str
    labels: IntArray | None = None
    runs: tuple[Run, ...] = ()
    reason: str = ""

    @property
    def reproducibility(self) -> float | None:
        """Mean adjusted Rand index of the first run with the others; 1 if there are none."""
        if self.labels is None:
            return None
        return float(np.mean([run.agreement(self.labels) for run in self.runs[1:]])) if len(self.runs) > 1 else 1.0

    def agreement(self, labels: IntArray) -> float | None:
        """Return the mean adjusted Rand index of all runs with other labels of the rows."""
        return None if self.labels is None else float(np.mean([run.agreement(labels) for run in self.runs]))


@dataclass(frozen=True)
class Comparison:
    """The base method alone beside the model, on the same rows.

    Attributes
    ----------
    base : str
        The name of the base method.
    n_rows : int
        On how many rows it ran; 0 if it did not.
    reason : str
        Why it did not run; empty if it did.
    n_clusters : int
        How many clusters it found.
    silhouette, ari : tuple of (float or None)
        Scores of the model and of the base method alone.
    agreement : float or None
        Adjusted Rand index of the model with runs of the base method alone, on average.
    reproducibility : float or None
        That of runs of the base method alone with each other.
    """

    base: str
    n_rows: int = 0
    reason: str = ""
    n_clusters: int = 0
    silhouette: tuple[float | None, float | None] = (None, None)
    ari: tuple[float | None, float | None] = (None, None)
    agreement: float | None = None
    reproducibility: float | None = None


def run_alone(estimator: Any, features: Any, n_rows: int) -> Alone:
    """Run the base method on a sample of rows.

    It does not run where the answer would say nothing: on a part of the data, a method that goes by density finds
    other clusters than on all of it.

    Parameters
    ----------
    estimator : object
        The base method.
    features : array or CSR matrix
        The sample.
    n_rows : int
        Number of rows of the whole data.
    """
    name = shorten(type(estimator).__name__)
    n_sampled = features.shape[0]
    if n_sampled < n_rows and not _knows_number(estimator):
        reason = (
            f"{name} is not told how many clusters to find. On {n_sampled:,} of {n_rows:,} rows it would find others "
            f"than on all of them, so it was not run alone here."
        )
        return Alone(name, reason=reason)
    try:
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")  # of a method that serves only to compare
            labels, runs = _run(BaseMethod.of(estimator), features, is_part=n_sampled < n_rows)
    except Exception as error:  # a base method may be anybody's, and fail in any way
        return Alone(name, reason=f"{name} could not be run alone here: {shorten(error, 300)}")
    return Alone(name, labels, runs)


def _run(method: BaseMethod, features: Any, *, is_part: bool) -> tuple[IntArray, tuple[Run, ...]]:
    everything = np.arange(features.shape[0])
    labels = method.label_rows(features, np.random.default_rng(0))
    runs = [Run(everything, separate_noise(labels))]
    for seed in range(1, 1 if method.is_deterministic and not is_part else N_RUNS):
        rng = np.random.default_rng(seed)
        n_left = math.ceil((1 - LEFT_OUT) * len(everything)) if is_part else len(everything)
        positions = np.sort(rng.choice(everything, n_left, replace=False))
        runs.append(Run(positions, separate_noise(method.label_rows(features[positions], rng))))
    return labels, tuple(runs)


def compare_with_base(alone: Alone, yardstick: Yardstick, labels: IntArray, classes: IntArray | None) -> Comparison:
    """Score the base method alone beside the model.

    Parameters
    ----------
    alone : Alone
        What the base method finds in the rows of the yardstick.
    yardstick : Yardstick
        Distances between the rows.
    labels, classes : array of int
        The model's label and the class of each of these rows; ``classes`` may be None.
    """
    if alone.labels is None:
        return Comparison(alone.base, reason=alone.reason)
    return Comparison(
        base=alone.base,
        n_rows=len(labels),
        n_clusters=len(np.unique(alone.labels[alone.labels >= 0])),
        silhouette=(yardstick.silhouette(labels), yardstick.silhouette(alone.labels)),
        ari=(agreement_with_classes(labels, classes), agreement_with_classes(alone.labels, classes)),
        agreement=alone.agreement(labels),
        reproducibility=alone.reproducibility,
    )


def _knows_number(estimator: Any) -> bool:
    """Tell whether a method is told how many clusters to find; of a pipeline, whether its last step is."""
    clusterer = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    parameters = clusterer.get_params() if hasattr(clusterer, "get_params") else {}
    return any(parameters.get(name) is not None for name in NUMBERS)
