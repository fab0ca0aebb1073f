"""The tree above the levels: the clusters of a fit merge pairwise, up to a single one (not part of the paper).

Its leaves are the clusters of the finest level that has few enough of them. Within the clusters of the next level they
merge first, and so on: every level is a cut of the tree. Above the last level, all that is left merges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.fusions import Fusions
from cohirf.algorithm.grouping import IntArray, best_by_label, rows_by_label
from cohirf.algorithm.parents import find_roots
from cohirf.algorithm.ward import MAX_LINKED, link_groups, order_by_height

FloatArray = NDArray[np.float64]
Link = Callable[[Any, FloatArray, int], FloatArray]  # from means, masses and the most groups to link to a linkage
TIE = 1e-9  # of distances to a mean, relative to the largest


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Pairwise merges of clusters.

    Attributes
    ----------
    medoids : array of int
        Medoid of each leaf of the tree. Sorted and distinct.
    linkage : array of float, shape (n_leaves - 1, 4)
        The merges, in the format of :func:`scipy.cluster.hierarchy.linkage`.
    level : int
        The level whose clusters are the leaves.
    """

    medoids: IntArray
    linkage: FloatArray
    level: int

    def __eq__(self, other: object) -> bool:
        """Return whether another tree has the same merges."""
        if not isinstance(other, MergeTree):
            return NotImplemented
        same = np.array_equal(self.medoids, other.medoids) and np.array_equal(self.linkage, other.linkage)
        return bool(same and self.level == other.level)

    __hash__ = None  # type: ignore[assignment]  # arrays can change

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.medoids)

    def cut(self, n_clusters: int) -> IntArray:
        """Return the cluster of each leaf after merging to ``n_clusters`` clusters, numbered by their first leaf."""
        cluster = last_clusters(self.linkage[: self.n_leaves - n_clusters], self.n_leaves)
        _, first, label = np.unique(cluster, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[label]

    def prune(self, medoid_of_leaf: IntArray) -> MergeTree:
        """Return the tree whose leaves are unions of leaves, with the medoid of each given; it has the level 0."""
        medoids, union = np.unique(medoid_of_leaf, return_inverse=True)
        number = np.concatenate([union, np.full(len(self.linkage), -1)])  # of each cluster in the new linkage
        merges: list[list[float]] = []
        for merge, (left, right, height, _) in enumerate(self.linkage.tolist()):
            of_left, of_right = number[int(left)], number[int(right)]
            number[self.n_leaves + merge] = of_left
            if of_left != of_right:
                number[self.n_leaves + merge] = len(medoids) + len(merges)
                merges.append([min(of_left, of_right), max(of_left, of_right), height, 0.0])
        linkage = np.array(merges).reshape(-1, 4)
        count_members(linkage, len(medoids))
        return MergeTree(medoids, linkage, 0)


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows: their means, as an array or CSR matrix, and their masses."""

    means: Any
    mass: FloatArray

    def merged(self, label: IntArray, n_labels: int) -> Groups:
        """Return the groups after those with the same label have merged."""
        if n_labels == len(self.mass):  # then they are only put into another order
            order = np.argsort(label)
            return Groups(self.means[order], self.mass[order])
        shares = sparse.csr_array((self.mass, (label, np.arange(len(label)))), shape=(n_labels, len(label)))
        mass = np.asarray(shares.sum(axis=1)).ravel()
        means = sparse.diags_array(1 / mass) @ (shares @ self.means)
        return Groups(means.tocsr() if sparse.issparse(means) else np.asarray(means), mass)

    def find_central(self, label: IntArray, n_labels: int) -> IntArray:
        """Return, for each label, the first group whose mean is nearest to the mean of all groups with this label.

        Two groups of the same mass are equally near to their mean, and rounding must not decide which one is taken.
        """
        difference = self.means - self.merged(label, n_labels).means[label]
        squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
        distance = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
        farthest = np.zeros(n_labels)
        np.maximum.at(farthest, label, distance)
        scores = -np.divide(distance, farthest[label], out=np.zeros_like(distance), where=distance > 0)
        return best_by_label(scores, label, n_labels, TIE)


def grow_tree(
    groups: Groups,
    fusions: Fusions,
    n_levels: int,
    is_noise: NDArray[np.bool_],
    max_linked: int = MAX_LINKED,
    last_stage: IntArray | None = None,
    link: Link = link_groups,
) -> tuple[MergeTree, IntArray]:
    """Return the tree of a fit, and the position of each group's leaf in it, or -1 for noise.

    Parameters
    ----------
    groups : Groups
        The clusters of the first level.
    fusions : Fusions
        How later levels have fused them.
    n_levels : int
        Number of the last level.
    is_noise : array of bool
        Which groups are noise, and not in the tree.
    max_linked : int
        Of more leaves, light ones join heavy ones before the others merge; see ``link_groups``.
    last_stage : array of int or None
        A cluster for each group, coarser than the last level, within which groups merge before all others do.
    link : callable
        Links groups, given their means and masses.
    """
    finest = _finest_level(fusions.absorbed_at, n_levels, int(is_noise.sum()))
    roots = find_roots(fusions.parents, fusions.absorbed_at, finest)
    medoids = np.flatnonzero((roots == np.arange(len(roots))) & ~is_noise)
    clustered = np.flatnonzero(~is_noise)
    label = np.searchsorted(medoids, roots[clustered])
    leaves = Groups(groups.means[clustered], groups.mass[clustered]).merged(label, len(medoids))
    stages: list[IntArray] = [
        np.searchsorted(medoids, find_roots(fusions.parents, fusions.absorbed_at, level)[medoids])
        for level in range(finest + 1, n_levels + 1)
    ]
    if last_stage is not None:
        stages.append(last_stage[medoids])
    position = np.full(len(roots), -1)
    position[clustered] = label
    return MergeTree(medoids, link_stages(leaves, stages, max_linked, link), finest), position


def link_stages(
    groups: Groups, stages: Sequence[IntArray], max_linked: int = MAX_LINKED, link: Link = link_groups
) -> FloatArray:
    """Return the linkage of groups that merge within given clusters first.

    Each of the ``stages`` has a cluster for each group, and is coarser than the one before. A stage merges all groups
    of a cluster; after the last one, all clusters merge. Heights never decrease.
    """
    n_groups = len(groups.mass)
    number = np.arange(n_groups)  # number of the current cluster of each group in the linkage
    parts: list[FloatArray] = []
    n_merges, lowest = 0, 0.0
    for stage in [*stages, np.zeros(n_groups, dtype=np.int64)]:
        nodes, first = np.unique(number, return_index=True)
        if len(nodes) == 1:
            break
        node_of_group = np.searchsorted(nodes, number)
        current = groups.merged(node_of_group, len(nodes))
        merges = []
        names, cluster = np.unique(stage[first], return_inverse=True)
        starts, members = rows_by_label(cluster, len(names))
        for start, end in pairwise(starts.tolist()):
            some = members[start:end]
            if len(some) > 1:
                linkage = link(current.means[some], current.mass[some], max_linked)
                merges.append((some, linkage))
        if not merges:
            continue
        joined, step_of = _interleave(merges, nodes, n_groups + n_merges)
        joined[:, 2] = np.maximum(joined[:, 2], lowest)
        lowest = joined[-1, 2]
        parts.append(joined)
        for (some, _), last in zip(merges, step_of, strict=True):
            number[np.isin(node_of_group, some)] = last
        n_merges += len(joined)
    linkage = np.concatenate(parts) if parts else np.empty((0, 4))
    count_members(linkage, n_groups)
    return linkage


def _interleave(
    merges: list[tuple[IntArray, FloatArray]], nodes: IntArray, first_number: int
) -> tuple[FloatArray, list[int]]:
    """Sort the merges of several linkages by height, and number their clusters from ``first_number``.

    Returns the merges, and the number of the last cluster of each linkage.
    """
    heights = np.concatenate([linkage[:, 2] for _, linkage in merges])
    offsets = np.cumsum([0, *(len(linkage) for _, linkage in merges)])
    rank = np.empty(len(heights), dtype=np.int64)
    rank[order_by_height(heights)] = np.arange(len(heights))
    joined = np.empty((len(heights), 4))
    last = []
    for (some, linkage), offset in zip(merges, offsets, strict=False):
        numbers = np.concatenate([nodes[some], first_number + rank[offset : offset + len(linkage)]])
        pairs = np.sort(numbers[linkage[:, :2].astype(np.int64)], axis=1)
        joined[rank[offset : offset + len(linkage)]] = np.column_stack([pairs, linkage[:, 2:]])
        last.append(int(numbers[-1]))
    np.maximum.accumulate(joined[:, 2], out=joined[:, 2])
    return joined, last


def last_clusters(linkage: FloatArray, n_groups: int) -> IntArray:
    """Return, for each group, the number of the cluster that it is in after the merges of a linkage."""
    cluster = np.arange(n_groups + len(linkage))
    for merge, (left, right) in enumerate(linkage[:, :2].astype(np.int64).tolist()):
        cluster[left] = cluster[right] = n_groups + merge
    for node in range(len(cluster) - 1, -1, -1):  # a cluster comes after its parts
        cluster[node] = cluster[cluster[node]]
    return cluster[:n_groups]


def count_members(linkage: FloatArray, n_groups: int) -> None:
    """Fill the last column of a linkage: the number of groups in each cluster."""
    counts = np.concatenate([np.ones(n_groups), np.empty(len(linkage))])
    for merge, (left, right) in enumerate(linkage[:, :2].astype(np.int64).tolist()):
        linkage[merge, 3] = counts[n_groups + merge] = counts[left] + counts[right]


def _finest_level(absorbed_at: IntArray, n_levels: int, n_noise: int) -> int:
    """Return the first level with at most ``MAX_LINKED`` clusters; the last level if there is none."""
    for level in range(1, n_levels):
        active = np.count_nonzero((absorbed_at == 0) | (absorbed_at > level))
        if active - n_noise <= MAX_LINKED:
            return level
    return max(1, min(n_levels, int(absorbed_at.max())))  # levels without fusions do not count
