"""Quality scores of partitions; scores that need pairwise distances are computed on a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, euclidean_distances

from cohirf.algorithm.grouping import IntArray
from cohirf.silhouette import mean_silhouette


@dataclass(frozen=True)
class SampleDistances:
    """A sample of rows with its pairwise distances, to score partitions."""

    features: Any
    distances: NDArray[np.float64]

    @classmethod
    def of(cls, features: Any) -> SampleDistances:
        """Compute the pairwise distances of the rows of an array or CSR matrix."""
        return cls(features, euclidean_distances(features))

    def silhouette(self, labels: IntArray) -> float | None:
        """Return the mean silhouette of the rows that are not noise, or None if it is undefined."""
        kept = np.flatnonzero(labels >= 0)
        if not 1 < len(np.unique(labels[kept])) < len(kept):
            return None
        return mean_silhouette(self.distances[np.ix_(kept, kept)], labels[kept])

    def neighbours_together(self, labels: IntArray) -> float | None:
        """Return the share of rows whose nearest neighbour in the sample is in the same cluster, without noise rows.

        If a row has several nearest neighbours, as duplicated rows have, one in the same cluster is enough.
        """
        kept = np.flatnonzero(labels >= 0)
        if len(kept) < 2:
            return None
        distances = self.distances[np.ix_(kept, kept)].copy()
        np.fill_diagonal(distances, np.inf)
        is_nearest = distances <= distances.min(axis=1, keepdims=True)
        together = labels[kept][:, None] == labels[kept]
        return float((is_nearest & together).any(axis=1).mean())


def agreement_with_classes(labels: IntArray, classes: IntArray | None) -> float | None:
    """Return the adjusted Rand index with the known classes, or None without classes; noise counts as one cluster."""
    return None if classes is None else float(adjusted_rand_score(classes, labels))


def calinski_harabasz(features: Any, labels: IntArray) -> float | None:
    """Return the Calinski-Harabasz score of the rows that are not noise, or None if undefined or if data is sparse."""
    kept = np.flatnonzero(labels >= 0)
    if sparse.issparse(features) or not 1 < len(np.unique(labels[kept])) < len(kept):
        return None
    return float(calinski_harabasz_score(features[kept], labels[kept]))
