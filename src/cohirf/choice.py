"""Choose the number of clusters by prediction strength, and say what was chosen and why.

Cluster two halves of the rows, and carry the clusters of one half over to the other by the nearest row. If there are
clusters, both agree. The prediction strength of a number of clusters (Tibshirani and Walther, JCGS 14, 2005) is the
share of pairs of rows of a cluster that stay together, in the worst cluster; a cluster of a single row has 0. Of all
numbers whose strength is nearly the highest, the largest is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.choose_merge import SampledRows, cut_linkage
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.ward import link_groups

FloatArray = NDArray[np.float64]
MAX_CHOICE = 30  # largest number of clusters to choose
N_SPLITS = 3
SAMPLED_ROWS = 1000  # both halves together
# How far below the highest strength the chosen one may be. On 55 data sets (benchmarks/quality/choice.py), 0.1 to 0.2
# were about equally good.
NEARLY = 0.15
CLEAR, WEAK = 0.8, 0.6  # strengths; a single cloud of points has less than the second


@dataclass(frozen=True, eq=False)
class Choice:
    """How the clusters of a fit were chosen.

    Attributes
    ----------
    n_clusters : int
        The number of clusters.
    merge : {"compact", "connected"}
        How groups of rows were merged to that number.
    compact_cut, connected_cut : float
        For both kinds of merges: mean over clusters of the share of the ten nearest neighbours of a row that are in
        another cluster, on a sample of rows. The lower one was taken. NaN if they were not compared.
    candidates : array of int
        Numbers of clusters that were compared; empty if the number was given.
    strengths : array of float
        Prediction strength of each candidate, at most 1.
    """

    n_clusters: int
    merge: str = "compact"
    compact_cut: float = np.nan
    connected_cut: float = np.nan
    candidates: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    strengths: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def is_given(self) -> bool:
        """Whether the number of clusters was given, and not chosen."""
        return len(self.candidates) == 0 and self.n_clusters > 1

    @property
    def is_clear(self) -> bool:
        """Whether there are clusters at all: the prediction strength of the chosen number is not that of one cloud."""
        return len(self.candidates) == 0 or bool(self.strengths.max() >= WEAK)

    def describe(self) -> str:
        """Return the choice in one or two sentences."""
        said = " ".join(part for part in (self.describe_number(), self.describe_merge()) if part)
        if said:
            return said
        return "There is one cluster." if self.n_clusters == 1 else f"{self.n_clusters:,} clusters were asked for."

    def describe_number(self) -> str:
        """Return why there are so many clusters; nothing if the number was given."""
        if len(self.candidates) == 0:
            return "" if self.is_given else "There is one cluster, and nothing to choose."
        strength = float(self.strengths[self.candidates == self.n_clusters][0])
        text = f"{self.n_clusters} clusters have a prediction strength of {strength:.2f}"
        best = int(self.candidates[self.strengths.argmax()])
        if best != self.n_clusters:
            text += f", nearly as high as {best} ({self.strengths.max():.2f})"
        if not self.is_clear:
            text += ": no number stands out, so these are parts of one cloud rather than clusters"
        elif strength < CLEAR:
            text += ": the clusters overlap"
        return f"{text}."

    def describe_merge(self) -> str:
        """Return why clusters are compact or connected; nothing if these were not compared."""
        if np.isnan(self.compact_cut):
            return ""
        other, cut, other_cut = "connected", self.compact_cut, self.connected_cut
        if self.merge == "connected":
            other, cut, other_cut = "compact", other_cut, cut
        return (
            f"The clusters are {self.merge}: {cut:.1%} of near neighbours are in another cluster, with {other} "
            f"clusters {other_cut:.1%}."
        )


def measure_strengths(points: Any, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return numbers of clusters, and the prediction strength of each: the mean over some splits into two halves.

    Parameters
    ----------
    points : array or CSR matrix
        Values of the rows.
    rng : numpy.random.Generator
        Splits the rows.
    """
    n_half = points.shape[0] // 2
    candidates = np.arange(2, min(MAX_CHOICE, n_half // 2, _count_distinct(points)) + 1)
    if len(candidates) == 0:  # halves of so few rows have no neighbours
        return candidates, np.empty(0)
    strengths = np.zeros((N_SPLITS, 2, len(candidates)))
    for split in range(N_SPLITS):
        order = rng.permutation(points.shape[0])
        halves = [Half.of(points[some]) for some in (np.sort(order[:n_half]), np.sort(order[n_half:]))]
        for number, (half, other) in enumerate((halves, halves[::-1])):
            nearest = pairwise_distances_argmin(half.points, other.points)
            for place, n_clusters in enumerate(candidates.tolist()):
                carried = other.divide(n_clusters)[nearest]
                strengths[split, number, place] = predict_strength(half.divide(n_clusters), carried)
    return candidates, strengths.mean(axis=(0, 1))


def _count_distinct(points: Any) -> int:
    """Return the number of distinct rows; those of a sparse matrix are not compared."""
    if sparse.issparse(points) or points.shape[0] == 0:
        return int(points.shape[0])
    return len(np.unique(points, axis=0))


def choose_number(candidates: IntArray, strengths: FloatArray) -> int:
    """Return the largest number of clusters whose prediction strength is nearly the highest; 1 if there is none."""
    if len(candidates) == 0:
        return 1
    return int(candidates[np.flatnonzero(strengths >= strengths.max() - NEARLY)[-1]])


@dataclass(frozen=True)
class Half:
    """One half of the rows, and its compact and connected merges."""

    points: Any
    sample: SampledRows
    compact: FloatArray
    divisions: dict[int, IntArray] = field(default_factory=dict)

    @classmethod
    def of(cls, points: Any) -> Half:
        """Merge rows."""
        return cls(points, SampledRows.of(points), link_groups(points, np.ones(points.shape[0])))

    def divide(self, n_clusters: int) -> IntArray:
        """Return the cluster of each row, by the merges that cut fewer neighbours."""
        if n_clusters not in self.divisions:
            compact = cut_linkage(self.compact, n_clusters)
            found = self.sample.compare(compact, n_clusters)
            connected = self.sample.linkages[found.gini_bound]
            self.divisions[n_clusters] = cut_linkage(connected, n_clusters) if found.is_connected else compact
        return self.divisions[n_clusters]


def predict_strength(labels: IntArray, carried: IntArray) -> float:
    """Return the share of pairs of rows of a cluster that the other labels put together, too, in the worst cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.choice import predict_strength
    >>> round(predict_strength(np.array([0, 0, 1, 1, 1]), np.array([5, 5, 7, 7, 5])), 2)
    0.33
    """
    n_labels, n_carried = int(labels.max()) + 1, int(carried.max()) + 1
    counts = np.bincount(labels * n_carried + carried, minlength=n_labels * n_carried).reshape(n_labels, n_carried)
    sizes = counts.sum(axis=1)
    together = (counts * (counts - 1)).sum(axis=1)
    return float(np.min(together / np.maximum(sizes * (sizes - 1), 1)))
