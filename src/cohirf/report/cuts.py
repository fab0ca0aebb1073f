"""The cuts that a reader can choose from: their clusters, with colours that do not change from cut to cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy

MAX_CUTS = 30


@dataclass(frozen=True)
class Cut:
    """The partition of one level; at the last level, the labels of the model, with noise.

    Attributes
    ----------
    level : int
        The level.
    labels : array of int, shape (n_rows,)
        Cluster of each row; -1 for noise.
    medoid, size : array of int, shape (n_clusters,)
        Medoid and number of rows of each cluster.
    """

    level: int
    labels: IntArray
    medoid: IntArray
    size: IntArray

    @property
    def n_clusters(self) -> int:
        """Number of clusters, not counting noise."""
        return len(self.medoid)

    def largest(self, n_clusters: int) -> IntArray:
        """Return the numbers of the largest clusters, the largest first."""
        return np.argsort(-self.size, kind="stable")[:n_clusters]


def shown_levels(hierarchy: FusionHierarchy) -> range:
    """Return the levels to choose from: all levels that fused clusters, or the last ``MAX_CUTS`` of them."""
    last = hierarchy.n_levels
    return range(max(min(1, last), last + 1 - MAX_CUTS), last + 1)


def make_cut(model: CoHiRF, level: int) -> Cut:
    """Return the partition of one level."""
    hierarchy = model.hierarchy_
    is_last = level == hierarchy.n_levels
    labels = model.labels_ if is_last else hierarchy.cut(level=level)
    medoid = model.medoid_indices_ if is_last else hierarchy.medoids(level)
    return Cut(level, labels, medoid, np.bincount(labels[labels >= 0], minlength=len(medoid)))


def coloured_cuts(model: CoHiRF, levels: range) -> Iterator[tuple[Cut, IntArray]]:
    """Yield the cuts from the last level to the finest, each with the colour numbers of its clusters.

    The colour number of a final cluster is its label. At a finer level, a cluster whose medoid is also a medoid at the
    next level has the same colour there; other clusters get new colours, the largest cluster first.
    """
    colour_of_row = np.full(len(model.labels_), -1, dtype=np.int64)
    n_colours = 0
    for level in reversed(levels):
        cut = make_cut(model, level)
        by_size = cut.medoid if level == levels[-1] else cut.medoid[cut.largest(cut.n_clusters)]
        new = by_size[colour_of_row[by_size] < 0]
        colour_of_row[new] = n_colours + np.arange(len(new))
        n_colours += len(new)
        yield cut, colour_of_row[cut.medoid]
