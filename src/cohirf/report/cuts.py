"""The cuts that a reader can choose from: numbers of clusters, and the colour of each cluster, which stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import MergeTree
from cohirf.algorithm.parents import find_roots_of
from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy
from cohirf.summary.numbers import cluster_positions

# Every number of clusters up to MANY can be chosen; above it, numbers of equal ratio up to MOST, and those of levels.
MANY, MOST, RATIO = 60, 500, 1.2
MAX_LEVELS = 30


@dataclass(frozen=True)
class Cut:
    """A partition of the rows: the tree of merges cut at a number of clusters, or the labels of the model.

    Attributes
    ----------
    leaf_of_row : array of int, shape (n_rows,)
        Leaf of the tree that each row belongs to; -1 for noise.
    label_of_leaf : array of int, shape (n_leaves,)
        Cluster of each leaf; -1 for noise.
    medoid, size : array of int, shape (n_clusters,)
        A medoid and the number of rows of each cluster.
    n_merged : int
        Number of clusters of the tree that this is; more than ``n_clusters`` if small ones are noise.
    levels : tuple of int
        The levels of the hierarchy with these clusters.
    is_final : bool
        Whether these are the labels of the model.
    """

    leaf_of_row: IntArray
    label_of_leaf: IntArray
    medoid: IntArray
    size: IntArray
    n_merged: int
    levels: tuple[int, ...] = ()
    is_final: bool = False

    @property
    def n_clusters(self) -> int:
        """Number of clusters, not counting noise."""
        return len(self.medoid)

    @property
    def labels(self) -> IntArray:
        """Cluster of each row; -1 for noise."""
        return self.labels_of(np.arange(len(self.leaf_of_row)))

    def labels_of(self, rows: IntArray) -> IntArray:
        """Return the cluster of each of the given rows; -1 for noise."""
        return np.append(self.label_of_leaf, -1)[self.leaf_of_row[rows]]  # leaf -1 selects the last entry

    def largest(self, n_clusters: int) -> IntArray:
        """Return the numbers of the largest clusters, the largest first."""
        return np.argsort(-self.size, kind="stable")[:n_clusters]

    def parts_of(self, finer: Cut) -> IntArray:
        """Return, for each cluster of a finer cut, the cluster that it is a part of."""
        _, leaf = np.unique(finer.label_of_leaf, return_index=True)
        return self.label_of_leaf[leaf[-finer.n_clusters :]]  # without noise, which is first


def find_cuts(model: CoHiRF) -> list[Cut]:
    """Return the cuts to choose from, sorted by their number of clusters; one of them is final."""
    hierarchy, tree = model.hierarchy_, model.hierarchy_.tree
    if tree is None or tree.n_leaves == 0:
        return [_everything_is_noise(model)]
    leaves = Leaves.of(hierarchy, tree)
    levels = leaves.count_levels(hierarchy)
    numbers = sorted({*_numbers_to_choose(tree.n_leaves), *levels.values()})
    cuts = [leaves.cut(n, tuple(level for level in levels if levels[level] == n)) for n in numbers]
    final = leaves.final_cut(model)
    if final.n_clusters == final.n_merged:  # no cluster is too small: the labels of the model are a cut of the tree
        return [replace(cut, is_final=cut.n_clusters == final.n_clusters) for cut in cuts]
    return sorted([*cuts, final], key=lambda cut: (cut.n_clusters, cut.n_merged))


def _numbers_to_choose(n_leaves: int) -> list[int]:
    n_steps = int(np.log(MOST / MANY) / np.log(RATIO))
    many = [round(MANY * RATIO**step) for step in range(1, n_steps + 1)]
    return [number for number in (*range(1, MANY + 1), *many, min(n_leaves, MOST)) if number <= n_leaves]


def colour_clusters(cuts: Sequence[Cut]) -> list[IntArray]:
    """Return the colour number of each cluster of each cut.

    The colour number of a final cluster is its label. In other cuts, a cluster has the colour of its medoid. A medoid
    that is not that of a final cluster gets a new colour in the coarsest cut that has it, the largest cluster first.
    """
    colour_of: dict[int, int] = {}
    final = next(cut for cut in cuts if cut.is_final)
    for cut in [final, *cuts]:
        order = np.arange(cut.n_clusters) if cut.is_final else cut.largest(cut.n_clusters)
        for medoid in cut.medoid[order].tolist():
            colour_of.setdefault(medoid, len(colour_of))
    return [np.array([colour_of[medoid] for medoid in cut.medoid.tolist()], dtype=np.int64) for cut in cuts]


@dataclass(frozen=True)
class Leaves:
    """The leaves of a tree of merges, numbered by their first row.

    Attributes
    ----------
    tree : MergeTree
        The tree.
    of_row : array of int, shape (n_rows,)
        Leaf of each row; -1 for noise.
    number : array of int, shape (n_leaves,)
        Number of each leaf of the tree.
    medoid, size : array of int, shape (n_leaves,)
        Medoid and number of rows of each leaf, by number.
    rank : array of int, shape (n_leaves,)
        The medoid of a cluster is that of its leaf with the highest rank.
    top : MergeTree
        The tree above its last ``MOST`` clusters: cutting it is quick.
    of_leaf : array of int, shape (n_leaves,)
        The leaf of ``top`` that each leaf of the tree belongs to.
    """

    tree: MergeTree
    of_row: IntArray
    number: IntArray
    medoid: IntArray
    size: IntArray
    rank: IntArray
    top: MergeTree
    of_leaf: IntArray

    @classmethod
    def of(cls, hierarchy: FusionHierarchy, tree: MergeTree) -> Leaves:
        """Return the leaves of the tree of a hierarchy.

        A leaf has a higher rank if its medoid was absorbed later, or is the medoid of a larger final cluster.
        """
        of_row = hierarchy.cut(n_clusters=tree.n_leaves)
        number = of_row[tree.medoids]
        medoid = np.empty_like(tree.medoids)
        medoid[number] = tree.medoids
        size = np.bincount(of_row[of_row >= 0], minlength=tree.n_leaves)
        absorbed_at, last = hierarchy.absorbed_at[medoid], hierarchy.n_levels
        until = np.where(absorbed_at == 0, last + 1, absorbed_at)
        _, final = np.unique(find_roots_of(medoid, hierarchy.parents, hierarchy.absorbed_at, last), return_inverse=True)
        order = np.lexsort((size, np.bincount(final, weights=size)[final], until))
        rank = np.empty(tree.n_leaves, dtype=np.int64)
        rank[order] = np.arange(tree.n_leaves)
        of_leaf = tree.cut(min(tree.n_leaves, MOST))
        _, first = np.unique(of_leaf, return_index=True)
        return cls(tree, of_row, number, medoid, size, rank, tree.prune(first[of_leaf]), of_leaf)

    def count_levels(self, hierarchy: FusionHierarchy) -> dict[int, int]:
        """Return the number of clusters, without noise, of each level that is a cut of the tree."""
        last = hierarchy.n_levels
        first = max(min(self.tree.level, last), last + 1 - MAX_LEVELS)
        return {level: self._count_survivors(hierarchy, level) for level in range(first, last + 1)}

    def _count_survivors(self, hierarchy: FusionHierarchy, level: int) -> int:
        return len(np.unique(find_roots_of(self.medoid, hierarchy.parents, hierarchy.absorbed_at, level)))

    def cut(self, n_clusters: int, levels: tuple[int, ...]) -> Cut:
        """Return the cut at a number of clusters, which are numbered by their first row."""
        group = np.empty_like(self.number)
        is_coarse = n_clusters <= self.top.n_leaves
        group[self.number] = self.top.cut(n_clusters)[self.of_leaf] if is_coarse else self.tree.cut(n_clusters)
        _, first, label = np.unique(group, return_index=True, return_inverse=True)
        label = np.argsort(np.argsort(first))[label]
        by_rank = np.lexsort((-self.rank, label))
        medoid = self.medoid[by_rank[np.searchsorted(label[by_rank], np.arange(n_clusters))]]
        size = np.bincount(label, weights=self.size).astype(np.int64)
        return Cut(self.of_row, label, medoid, size, n_clusters, levels)

    def final_cut(self, model: CoHiRF) -> Cut:
        """Return the labels of the model as a cut."""
        label, n_clusters = cluster_positions(model)[self.medoid].astype(np.int64), model.n_clusters_
        size = np.bincount(label[label >= 0], weights=self.size[label >= 0], minlength=n_clusters).astype(np.int64)
        hierarchy = model.hierarchy_
        n_merged = self._count_survivors(hierarchy, hierarchy.n_levels)
        return Cut(self.of_row, label, model.medoid_indices_, size, n_merged, (), is_final=True)


def _everything_is_noise(model: CoHiRF) -> Cut:
    nothing = np.empty(0, dtype=np.int64)
    return Cut(np.full(len(model.labels_), -1), nothing, nothing, nothing, 0, (), is_final=True)
