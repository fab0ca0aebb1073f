"""Known classes of the clusters of a cut: the most frequent one of each, and how well the cut agrees with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.report.cuts import Cut
from cohirf.report.study import Classes


@dataclass(frozen=True)
class ClassCounts:
    """Numbers of rows by leaf of the tree and class, from which those of all cuts follow.

    Attributes
    ----------
    names : list of str
        Names of the classes.
    counts : CSR matrix, shape (n_leaves + 1, n_classes)
        Number of rows of each leaf in each class; the last line counts noise.
    """

    names: list[str]
    counts: Any

    @classmethod
    def of(cls, classes: Classes, cut: Cut) -> ClassCounts:
        """Count the rows of each leaf, which all cuts share."""
        n_leaves = len(cut.label_of_leaf)
        leaf = np.where(cut.leaf_of_row < 0, n_leaves, cut.leaf_of_row)
        ones = np.ones(len(leaf), dtype=np.int64)
        counts = sparse.csr_array((ones, (leaf, classes.code)), shape=(n_leaves + 1, len(classes.names)))
        return cls(classes.names, counts)

    def at(self, cut: Cut) -> Any:
        """Return a CSR matrix with the number of rows of each cluster, and of noise, in each class."""
        label = np.append(cut.label_of_leaf, -1)
        line = np.where(label < 0, cut.n_clusters, label)
        ones = np.ones(len(line), dtype=np.int64)
        merged = sparse.csr_array((ones, (line, np.arange(len(line)))), shape=(cut.n_clusters + 1, len(line)))
        return merged @ self.counts

    def find_main(self, cut: Cut, chosen: IntArray) -> list[dict[str, Any]]:
        """Return the most frequent class of each of some clusters, and its share."""
        counts = self.at(cut)[chosen]
        main = np.asarray(counts.argmax(axis=1)).ravel()
        largest = np.asarray(counts.max(axis=1).todense()).ravel()
        total = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
        return [
            {"name": self.names[number], "share": float(share)}
            for number, share in zip(main.tolist(), (largest / total).tolist(), strict=True)
        ]

    def agreement(self, cut: Cut) -> float:
        """Return the adjusted Rand index of a cut; noise counts as one cluster."""
        counts = self.at(cut)
        pairs = _count_pairs(counts.data)
        by_cluster, by_class = (_count_pairs(np.asarray(counts.sum(axis=axis)).ravel()) for axis in (1, 0))
        expected = by_cluster * by_class / max(_count_pairs(np.array([counts.sum()])), 1.0)
        highest = (by_cluster + by_class) / 2
        return 1.0 if highest == expected else float((pairs - expected) / (highest - expected))


def _count_pairs(counts: IntArray) -> float:
    sizes = counts.astype(np.float64)
    return float((sizes * (sizes - 1) / 2).sum())
