"""Choose the number of clusters from the tree of a fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import MergeTree
from cohirf.silhouette import mean_silhouette

SAMPLED_ROWS = 2000
MAX_CHOICE = 30  # largest number of clusters to choose


@dataclass(frozen=True, eq=False)
class Choice:
    """How the number of clusters was chosen.

    Attributes
    ----------
    n_clusters : int
        The chosen number: the one with the highest silhouette.
    candidates : array of int
        Numbers of clusters that were compared.
    silhouettes : array of float
        Mean silhouette of the cut of the tree at each candidate, on a sample of at most 2,000 rows.
    heights : array of float
        Height of the merge that each candidate does without: how dear the next merge would be.
    """

    n_clusters: int
    candidates: IntArray
    silhouettes: NDArray[np.float64]
    heights: NDArray[np.float64]

    @classmethod
    def of(cls, candidates: IntArray, silhouettes: NDArray[np.float64], heights: NDArray[np.float64]) -> Choice:
        """Choose the candidate with the highest silhouette; 1 if there is none."""
        best = int(candidates[silhouettes.argmax()]) if len(candidates) else 1
        return cls(best, candidates, silhouettes, heights)

    def describe(self) -> str:
        """Return the choice in a sentence."""
        if len(self.candidates) == 0:
            return "There is one cluster, and nothing to choose."
        best = np.argsort(-self.silhouettes, kind="stable")[1:3]
        text = f"{self.n_clusters} clusters have the highest silhouette ({self.silhouettes.max():.2f})"
        others = " and ".join(f"{self.candidates[i]} ({self.silhouettes[i]:.2f})" for i in best)
        return f"{text}, followed by {others}." if len(best) else f"{text}."


def choose_number(tree: MergeTree, points: Any, leaf_of_point: IntArray) -> Choice:
    """Return the cut of the tree with the highest mean silhouette on some rows.

    Parameters
    ----------
    tree : MergeTree
        The tree.
    points : array or CSR matrix
        Values of the rows.
    leaf_of_point : array of int
        Position of each row's leaf in ``tree.medoids``.
    """
    if points.shape[0] == 0:  # all of the sampled rows are noise
        return Choice.of(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))
    distances = euclidean_distances(points)
    candidates = np.arange(2, min(MAX_CHOICE, tree.n_leaves) + 1)
    found = np.full(len(candidates), -1.0)
    for position, n_clusters in enumerate(candidates):
        labels = tree.cut(int(n_clusters))[leaf_of_point]
        if 1 < len(np.unique(labels)) < len(labels):
            found[position] = mean_silhouette(distances, labels)
    heights = tree.linkage[::-1, 2][candidates - 2]
    return Choice.of(candidates, found, heights)
