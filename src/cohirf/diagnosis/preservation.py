"""Does contraction preserve the clusters of the base method? Its labels of a sample, compared with each level.

The base method labels a sample of rows directly. At each level the model also has labels of these rows, which they get
from their medoids. Both partitions are compared as sets of pairs of rows that are in the same cluster. Precision is the
share of the model's pairs that the base method has, too; recall is the share of the base method's pairs that the model
has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.cluster import pair_confusion_matrix

from cohirf.algorithm.grouping import IntArray
from cohirf.hierarchy import FusionHierarchy


@dataclass(frozen=True)
class LevelPreservation:
    """How well one level preserves the clusters that the base method finds in the rows directly.

    Attributes
    ----------
    level : int
        The level, from 1.
    n_clusters : int
        Number of clusters after it.
    precision : float
        Share of the pairs of sampled rows in the same cluster of this level that are also in the same cluster of the
        base method; 1 if there are no such pairs.
    recall : float
        Share of the pairs of sampled rows in the same cluster of the base method that are also in the same cluster of
        this level; 1 if there are no such pairs.
    agreement : float
        Adjusted Rand index of the two partitions.
    """

    level: int
    n_clusters: int
    precision: float
    recall: float
    agreement: float


def follow_levels(hierarchy: FusionHierarchy, rows: IntArray, alone: IntArray) -> list[LevelPreservation]:
    """Compare each level with ``alone``, the labels that the base method gives to ``rows`` directly."""
    n_clusters = hierarchy.cluster_counts()
    levels = []
    at = rows
    for level in range(1, hierarchy.n_levels + 1):
        at = hierarchy.step_up(at, level)
        levels.append(compare_pairs(level, int(n_clusters[level]), at, alone))
    return levels


def compare_pairs(level: int, n_clusters: int, labels: IntArray, alone: IntArray) -> LevelPreservation:
    """Compare the labels of a level with those of the base method alone."""
    alone = separate_noise(alone)
    (_, only_model), (only_base, both) = pair_confusion_matrix(alone, labels).astype(float).tolist()
    return LevelPreservation(
        level=level,
        n_clusters=n_clusters,
        precision=_share(both, only_model),
        recall=_share(both, only_base),
        agreement=float(adjusted_rand_score(alone, labels)),
    )


def separate_noise(labels: IntArray) -> IntArray:
    """Return labels in which each noise row is a cluster of its own, as it is in the levels of a fit."""
    separate: IntArray = labels.astype(np.int64)
    noise = np.flatnonzero(labels < 0)
    separate[noise] = max(int(labels.max(initial=0)), 0) + 1 + np.arange(len(noise))
    return separate


def _share(part: Any, rest: Any) -> float:
    return float(part / (part + rest)) if part + rest else 1.0
