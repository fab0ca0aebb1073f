"""Scores of labels: the three scores of the paper, or a function of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, pairwise_distances

from cohirf.choice import mean_silhouette
from cohirf.rows.grouping import IntArray

SILHOUETTE_ROWS = 10_000


@dataclass(frozen=True)
class Metric:
    """A score to maximise: higher is better."""

    score: Callable[[Any, IntArray, Any], float]  # of data, labels and true classes (or None)
    worst: float  # score of labels for which it is undefined, and of failed fits
    needs_classes: bool = False  # only then it is defined for a single cluster, or for singletons only
    remark: str = ""  # message for users about the score with these data

    def __call__(self, X: Any, labels: IntArray, y: Any) -> float:
        """Return the score, or ``worst`` if it is undefined for these labels."""
        if not (self.needs_classes or _has_clusters(labels)):
            return self.worst
        value = float(self.score(X, labels, y))
        return value if np.isfinite(value) else self.worst


def _has_clusters(labels: IntArray) -> bool:
    return 1 < len(np.unique(labels)) < len(labels)


class Silhouettes:
    """Mean silhouettes of partitions of the same data, or of the same random rows; distances are computed once."""

    def __init__(self, X: Any):
        n_rows = X.shape[0]
        self.rows = np.arange(n_rows)
        if n_rows > SILHOUETTE_ROWS:
            self.rows = np.sort(np.random.default_rng(0).choice(n_rows, SILHOUETTE_ROWS, replace=False))
        self.distances = pairwise_distances(X[self.rows]).astype(np.float32)

    def __call__(self, X: Any, labels: IntArray, y: Any) -> float:
        """Return the mean silhouette, or -1 if it is undefined for the sampled rows."""
        labels = np.asarray(labels)[self.rows]
        return mean_silhouette(self.distances, labels) if _has_clusters(labels) else -1.0


def _say_sampled(n_rows: int) -> str:
    some = f"silhouette: that of {SILHOUETTE_ROWS:,} random rows, the same ones in each trial"
    return some if n_rows > SILHOUETTE_ROWS else ""


# name of a metric -> function of the data that returns the metric
METRICS: dict[str, Callable[[Any], Metric]] = {
    "silhouette": lambda X: Metric(Silhouettes(X), worst=-1.0, remark=_say_sampled(X.shape[0])),
    "calinski_harabasz": lambda X: Metric(lambda X, labels, _: calinski_harabasz_score(X, labels), worst=0.0),
    "ari": lambda X: Metric(lambda X, labels, y: adjusted_rand_score(y, labels), worst=-1.0, needs_classes=True),
}


def find_metric(metric: str | Metric | Callable[..., float], X: Any, y: Any) -> Metric:
    """Return a metric by its name, or for a function of data and labels (and classes, if ``y`` is given)."""
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        function = metric
        score = (lambda X, labels, _: function(X, labels)) if y is None else function
        return Metric(score, worst=-np.inf)
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not valid: pass one of {', '.join(METRICS)}, or a function.")
    found = METRICS[metric](X)
    if found.needs_classes and y is None:
        raise ValueError(f"metric={metric!r} compares with true classes: pass them as y, or choose another metric.")
    return found
