"""How good labels are: the three measures of the paper, or a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score

from cohirf.algorithm.grouping import IntArray

SILHOUETTE_ROWS = 10_000


@dataclass(frozen=True)
class Metric:
    """A measure that is the higher the better.

    Attributes
    ----------
    score : callable
        Maps data, labels and true classes, or None, to a number.
    worst : float
        What labels get that have no score, and fits that fail.
    needs_classes : bool
        Whether it compares with true classes. Only then do labels of one cluster, or of a cluster per row, have a
        score.
    """

    score: Callable[[Any, IntArray, Any], float]
    worst: float
    needs_classes: bool = False

    def __call__(self, X: Any, labels: IntArray, y: Any) -> float:
        """Return the score, or the worst one if the labels have none."""
        if not (self.needs_classes or _has_clusters(labels)):
            return self.worst
        value = float(self.score(X, labels, y))
        return value if np.isfinite(value) else self.worst


def _has_clusters(labels: IntArray) -> bool:
    return 1 < len(np.unique(labels)) < len(labels)


def silhouette(X: Any, labels: IntArray, _: Any = None) -> float:
    """Return the mean silhouette, of 10,000 random rows where there are more: always the same rows of the same data."""
    if len(labels) <= SILHOUETTE_ROWS:
        return float(silhouette_score(X, labels))
    rows = np.random.default_rng(0).choice(len(labels), SILHOUETTE_ROWS, replace=False)
    rows.sort()
    return float(silhouette_score(X[rows], labels[rows])) if _has_clusters(labels[rows]) else -1.0


METRICS = {
    "silhouette": Metric(silhouette, worst=-1.0),
    "calinski_harabasz": Metric(lambda X, labels, _: calinski_harabasz_score(X, labels), worst=0.0),
    "ari": Metric(lambda X, labels, y: adjusted_rand_score(y, labels), worst=-1.0, needs_classes=True),
}


def find_metric(metric: str | Callable[..., float], y: Any) -> Metric:
    """Return a metric by name, or that of a function of data and labels, or of data, labels and classes if given."""
    if callable(metric):
        function = metric
        score = (lambda X, labels, _: function(X, labels)) if y is None else function
        return Metric(score, worst=-np.inf)
    if metric not in METRICS:
        raise ValueError(f"metric={metric!r} is not valid: give one of {', '.join(METRICS)}, or a function.")
    if METRICS[metric].needs_classes and y is None:
        raise ValueError(f"metric={metric!r} compares with true classes: give them as y, or choose another metric.")
    return METRICS[metric]
