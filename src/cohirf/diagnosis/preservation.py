"""Does contraction keep what the base method finds? Its clusters of some rows, held against the levels.

The base method labels a sample of rows directly. At each level the model has labels for the same rows that came to
them by way of medoids. Pairs of rows tell the difference: of those that have fused, how many does the base method put
together, and of those it puts together, how many have fused?
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
class LevelKept:
    """What is left, after a level, of the clusters that the base method finds in the rows themselves.

    Attributes
    ----------
    level : int
        The level.
    n_clusters : int
        Number of clusters after it.
    rightly_fused : float
        Of the pairs of sampled rows that have fused, the share that the base method puts together; 1 if none have.
    fused : float
        Of the pairs that the base method puts together, the share that have fused; 1 if there are none.
    agreement : float
        Adjusted Rand index of the two partitions.
    """

    level: int
    n_clusters: int
    rightly_fused: float
    fused: float
    agreement: float


def follow_levels(hierarchy: FusionHierarchy, rows: IntArray, alone: IntArray) -> list[LevelKept]:
    """Hold each level against ``alone``, the labels the base method gives to ``rows`` themselves."""
    n_clusters = hierarchy.cluster_counts()
    kept = []
    at = rows
    for level in range(1, hierarchy.n_levels + 1):
        at = hierarchy.step_up(at, level)
        kept.append(compare_pairs(level, int(n_clusters[level]), at, alone))
    return kept


def compare_pairs(level: int, n_clusters: int, labels: IntArray, alone: IntArray) -> LevelKept:
    """Hold labels against those of the base method alone."""
    alone = separate_noise(alone)
    (_, wrongly), (missing, rightly) = pair_confusion_matrix(alone, labels).astype(float).tolist()
    return LevelKept(
        level=level,
        n_clusters=n_clusters,
        rightly_fused=_share(rightly, wrongly),
        fused=_share(rightly, missing),
        agreement=float(adjusted_rand_score(alone, labels)),
    )


def separate_noise(labels: IntArray) -> IntArray:
    """Return labels in which each row of noise is a cluster of its own, as it is within the levels."""
    separate: IntArray = labels.astype(np.int64)
    noise = np.flatnonzero(labels < 0)
    separate[noise] = max(int(labels.max(initial=0)), 0) + 1 + np.arange(len(noise))
    return separate


def _share(part: Any, rest: Any) -> float:
    return float(part / (part + rest)) if part + rest else 1.0
