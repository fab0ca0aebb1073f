"""Models of other packages that take rows in parts, with ``partial_fit``, and ``predict`` or
``labels_``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import pairwise_distances_argmin


class Dbstream(BaseEstimator):
    """DBSTREAM of the package river, which learns row by row.

    All settings but the radius are those that the authors of the method chose in their own package,
    stream for R: a row counts half after 1,000 further rows, and micro-clusters that are weak are
    removed every 1,000 rows.

    Parameters
    ----------
    radius : float
        Radius of a micro-cluster.
    """

    def __init__(self, radius: float = 1.0) -> None:
        self.radius = radius

    def fit(self, X: np.ndarray) -> Dbstream:
        """Forget everything, and learn the rows in their order."""
        from river.cluster import DBSTREAM

        self.model_ = DBSTREAM(
            clustering_threshold=self.radius,
            fading_factor=0.001,
            cleanup_interval=1000,
            intersection_factor=0.1,
            minimum_weight=3.0,
        )
        return self.partial_fit(X)

    def partial_fit(self, X: np.ndarray) -> Dbstream:
        """Learn the rows in their order."""
        if not hasattr(self, "model_"):
            return self.fit(X)
        for row in X.tolist():
            self.model_.learn_one(dict(enumerate(row)))
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the cluster whose centre is nearest, as ``predict_one`` does for a single row."""
        centers = self.model_.centers
        if not centers:
            return np.zeros(len(X), dtype=np.int64)
        values = np.array([[center[j] for j in range(X.shape[1])] for center in centers.values()])
        return np.array(list(centers))[pairwise_distances_argmin(X, values)]


class ApproximatePredict(BaseEstimator):
    """The package hdbscan: a model of the first part, which gives later rows a label and does not
    change.

    Parameters
    ----------
    min_cluster_size : int
        Fewest rows of a cluster.
    min_samples : int
        Number of neighbours within the core distance of a row.
    """

    def __init__(self, min_cluster_size: int, min_samples: int) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples

    def fit(self, X: np.ndarray) -> ApproximatePredict:
        """Fit a model, which is the one for all later parts."""
        from hdbscan import HDBSCAN

        model = HDBSCAN(
            self.min_cluster_size, self.min_samples, prediction_data=True, core_dist_n_jobs=1
        )
        self.model_: Any = model.fit(X)
        self.labels_: np.ndarray = self.model_.labels_
        return self

    def partial_fit(self, X: np.ndarray) -> ApproximatePredict:
        """Append the labels of further rows."""
        if not hasattr(self, "model_"):
            return self.fit(X)
        from hdbscan import approximate_predict

        self.labels_ = np.concatenate([self.labels_, approximate_predict(self.model_, X)[0]])
        return self
