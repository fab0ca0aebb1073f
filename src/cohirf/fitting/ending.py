"""After the levels: grow the tree above them, and merge clusters to as many as are wanted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.first_level import FirstLevel
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.merge_tree import Groups, MergeTree, grow_tree
from cohirf.algorithm.parents import find_roots
from cohirf.algorithm.ward import move_groups
from cohirf.choice import Choice
from cohirf.fitting.former import Former, keep_former
from cohirf.fitting.goal import LINKED_PER_CLUSTER, Goal

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Ending:
    """What follows the levels.

    Attributes
    ----------
    state : FitState
        The last state; if clusters were merged in the end, that is one more level.
    tree : MergeTree
        Merges of clusters up to a single one. Its medoids are numbers of leaves.
    means : array or CSR matrix
        Mean of each cluster of the last level, in the order of ``medoids``.
    medoids : array of int
        The leaf that is the medoid of each cluster of the last level, without noise. Sorted.
    is_noise : array of bool
        Which leaves are noise.
    choice : Choice or None
        How the number of clusters was chosen, if it was.
    n_found : int
        Number of clusters that the levels left, before any were merged.
    """

    state: FitState
    tree: MergeTree
    means: Any
    medoids: IntArray
    is_noise: NDArray[np.bool_]
    choice: Choice | None
    n_found: int


def end_fit(
    model: Any,
    goal: Goal,
    first_level: FirstLevel,
    state: FitState,
    choose: Any,
    *,
    refines: bool,
    former: Former | None = None,
) -> Ending:
    """Grow the tree of a fit, and merge clusters to the number of the goal; ``choose`` chooses it from the tree.

    With ``refines``, groups then move to the cluster with the nearest mean. Clusters from before an update are given as
    the ``former`` ones of leaves, and may go on.
    """
    leaves = first_level.leaves
    roots = find_roots(state.fusions.parents, state.fusions.absorbed_at, state.level)
    is_noise = find_noise(state, roots, leaves.sizes) if model.noise == "label" else np.zeros(len(roots), dtype=bool)
    mass = leaves.sizes.astype(np.float64) if leaves.weights is None else leaves.weights
    grow = partial(grow_tree, Groups(leaves.means, mass), state.fusions, state.level, is_noise)
    medoids: IntArray = np.flatnonzero((roots == np.arange(len(roots))) & ~is_noise)
    clustered = np.flatnonzero(~is_noise)
    clusters = Groups(leaves.means[clustered], mass[clustered]).merged(
        np.searchsorted(medoids, roots[clustered]), len(medoids)
    )
    tree, position = grow(goal.max_linked(state))
    n_found = len(medoids)
    if n_found == 0:
        return Ending(state, tree, clusters.means, medoids, is_noise, None, n_found)
    choice = choose(tree, position) if goal.is_chosen else None
    n_clusters = goal.n_clusters if choice is None else choice.n_clusters
    cut: IntArray = np.arange(len(medoids))
    if n_clusters is not None and n_clusters < len(medoids):
        cut = tree.cut(n_clusters)[position[medoids]]
    label = cut
    if refines and n_clusters is not None:
        label = move_groups(clusters.means, clusters.mass, label)
    if former is not None and n_clusters is not None:
        kept = former.at(clustered)  # noise is in no group
        of_groups = kept.moved(lambda leaves: np.searchsorted(medoids, roots[leaves])).numbers_of(len(medoids))
        label = keep_former(clusters, of_groups, label)
    if model.small_clusters == "nearest":
        label = join_nearest(clusters, label, smallest_size(model, float(mass.sum())))
    if not np.array_equal(label, cut):  # then the clusters are not a cut of the tree, and another one is grown
        of_leaf = label[np.searchsorted(medoids, roots[tree.medoids])]
        tree, _ = grow(max(len(np.unique(label)), LINKED_PER_CLUSTER), of_leaf)
    if len(np.unique(label)) < len(medoids):
        state, medoids, clusters = merge_clusters(state, medoids, clusters, label)
    return Ending(state, tree, clusters.means, medoids, is_noise, choice, n_found)


def find_noise(state: FitState, roots: IntArray, sizes: IntArray) -> NDArray[np.bool_]:
    """Return which leaves are single rows that fused with nothing, and were noise at the last level that saw them."""
    n_leaves = np.bincount(roots, minlength=len(roots))
    return np.asarray(state.is_noise & (n_leaves[roots] == 1) & (sizes == 1))


def smallest_size(model: Any, total: float) -> float:
    """Return the smallest size of a cluster: a number of rows, or a share (float) of the total."""
    min_cluster_size = model.min_cluster_size
    if not isinstance(min_cluster_size, Integral):
        return float(min_cluster_size) * total
    if min_cluster_size == 1 and model.n_clusters != "levels":
        return 0.0  # weights may add up to less than 1
    return float(min_cluster_size)


def join_nearest(clusters: Groups, label: IntArray, min_size: float) -> IntArray:
    """Let the clusters of labels that are too small join the nearest label that is not; unless all are too small."""
    n_labels = int(label.max()) + 1
    merged = clusters.merged(label, n_labels)
    small = merged.mass < min_size
    if small.all() or not small.any():
        return label
    large = np.flatnonzero(~small)
    new_label = np.arange(n_labels)
    new_label[small] = large[pairwise_distances_argmin(merged.means[np.flatnonzero(small)], merged.means[large])]
    return np.unique(new_label[label], return_inverse=True)[1]


def merge_clusters(
    state: FitState, medoids: IntArray, clusters: Groups, label: IntArray
) -> tuple[FitState, IntArray, Groups]:
    """Merge the clusters with the same label, as one more level; return the state, medoids and clusters after it.

    The medoid of a merged cluster is that of the part whose mean is nearest to the mean of the whole.
    """
    n_labels = int(label.max()) + 1
    merged = clusters.merged(label, n_labels)
    kept = medoids[clusters.find_central(label, n_labels)]
    state.fusions.record(medoids, kept[label].astype(state.fusions.parents.dtype), state.level + 1)
    by_medoid = np.argsort(kept)
    return (
        replace(state, level=state.level + 1),
        kept[by_medoid],
        Groups(merged.means[by_medoid], merged.mass[by_medoid]),
    )
