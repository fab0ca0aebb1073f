"""After the levels: grow the tree above them, and merge clusters to as many as are wanted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.base_method import find_few_distinct
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.parents import find_roots
from cohirf.algorithm.runs import Survivors
from cohirf.beyond.merge_tree import (
    MAX_LINKED,
    Groups,
    Link,
    MergeTree,
    grow_tree,
    link_directions,
    link_groups,
    move_groups,
)
from cohirf.choice import Choice, count_crumbs
from cohirf.data.first_level import FirstLevel
from cohirf.fitting.merging import SampleOfFit
from cohirf.fitting.policy import END, GROUP
from cohirf.fitting.settings import Settings
from cohirf.landmarks import Cells, NestedCells
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.rows.later import Later


@dataclass(frozen=True)
class LastLevel:
    """The groups that the levels have left."""

    leaves: Survivors  # leaves of the levels
    state: FitState  # the state after the last level
    roots: IntArray  # the leaf that stands for the group of each leaf
    is_noise: NDArray[np.bool_]  # which leaves are noise
    medoids: IntArray  # the leaf that is the medoid of each group, without noise. Sorted.
    groups: Groups  # means and masses of the groups, in the order of ``medoids``

    @classmethod
    def of(
        cls,
        leaves: Survivors,
        state: FitState,
        *,
        labels_noise: bool,
        is_noise: NDArray[np.bool_] | None = None,
    ) -> LastLevel:
        """Return the groups after the last level; which leaves are noise may be known."""
        roots = find_roots(state.fusions.parents, state.fusions.absorbed_at, state.level)
        if is_noise is None:
            is_noise = np.zeros(len(roots), dtype=bool)
            # single rows that fused with nothing, and were noise at the last level that saw them
            if labels_noise:
                n_leaves = np.bincount(roots, minlength=len(roots))
                is_noise = np.asarray(state.is_noise & (n_leaves[roots] == 1) & (leaves.sizes == 1))
        medoids: IntArray = np.flatnonzero((roots == np.arange(len(roots))) & ~is_noise)
        groups = Groups(leaves.means, leaves.total_mass)
        if len(medoids) < len(roots):
            # a slice copies nothing
            if is_noise.any():
                clustered: Any = np.flatnonzero(~is_noise)
            else:
                clustered = slice(None)
            groups = Groups(groups.means[clustered], groups.mass[clustered]).merged(
                np.searchsorted(medoids, roots[clustered]), len(medoids)
            )
        return cls(leaves, state, roots, is_noise, medoids, groups)

    def growing(self, *options: Any) -> Callable[[], tuple[MergeTree, IntArray]]:
        """Return a function that grows the tree above the levels as it would be now.

        See ``grow_tree``.

        It returns the tree, and the position of each leaf in it, or -1.
        """
        of_leaves = Groups(self.leaves.means, self.leaves.total_mass)
        state = self.state
        return partial(grow_tree, of_leaves, state.fusions, state.level, self.is_noise, *options)


def _first_of(grow: Callable[[], tuple[MergeTree, IntArray]]) -> MergeTree:
    return grow()[0]


@dataclass(frozen=True)
class Ending:
    """What follows the levels."""

    first_level: (
        FirstLevel  # the first level; if its rows were shared out among cells, these are its leaves
    )
    state: FitState  # the last state; if clusters were merged in the end, that is one more level
    # merges of clusters up to a single one, with numbers of leaves as medoids
    tree: Later[MergeTree]
    means: Any  # mean of each cluster of the last level, in the order of ``medoids``
    # the leaf that is the medoid of each cluster of the last level, without noise. Sorted.
    medoids: IntArray
    is_noise: NDArray[np.bool_]  # which leaves are noise
    n_found: int  # number of clusters that the levels left, before any were merged
    choice: Choice | None = None  # how number and merge of the clusters were chosen, if they were
    # The points that share out rows, each with its leaf; None if groups are not cells
    cells: Cells | NestedCells | None = None
    # Rows whose values are known, if those of others cannot be read again, after rows were shared
    # out
    known: SampleOfFit | None = None


def end_fit(
    settings: Settings,
    first_level: FirstLevel,
    last: LastLevel,
    max_linked: int,
    *,
    n_clusters: int | None = None,
    link: Link = link_groups,
    linkage: FloatArray | None = None,
    refines: bool = False,
) -> Ending:
    """Grow the tree of a fit, and merge groups to ``n_clusters``.

    Of more than ``max_linked``, light ones join first.

    The merges of all leaves may be known (``linkage``). Groups may move to the nearest mean
    afterwards (``refines``).
    """
    medoids = last.medoids
    groups = last.groups
    if n_clusters is not None:
        n_clusters = min(n_clusters, count_distinct(groups.means, n_clusters))
    cut: IntArray = np.arange(len(medoids))
    if linkage is None:
        tree = Later(partial(_first_of, last.growing(max_linked, None, link)))
    else:
        tree = Later.known(MergeTree(np.arange(len(last.roots)), linkage, last.state.level))
    if n_clusters is not None and n_clusters < len(medoids):
        grown = tree.value
        cut = grown.cut(n_clusters)[np.searchsorted(grown.medoids, medoids)]
    label = cut
    if refines and n_clusters is not None and len(medoids):
        label = move_groups(groups.means, groups.mass, label)
    if not np.array_equal(label, cut) or (
        n_clusters is not None and _link_last(settings, link) is not None
    ):
        return _end_with(settings, first_level, last, label, link)
    return _end_with(settings, first_level, last, label, link, tree)


def count_distinct(means: Any, most: int) -> int:
    """Return the number of distinct means, or ``most`` if there are more: groups of identical rows
    are one cluster.

    Examples
    --------
    >>> count_distinct(np.array([[0.1], [0.1 + 1e-16], [0.3]]), 3)
    2
    """
    if means.shape[0] == 0:
        return most
    scaled = container_of(means).round(means, END.mean_digits)
    distinct = find_few_distinct(scaled, most - 1)
    return most if distinct is None else int(distinct.max()) + 1


def _link_last(settings: Settings, link: Link) -> Link | None:
    """Return how clusters merge above the final ones, if otherwise than below: compact ones by
    their directions.
    """
    if settings.by_direction and link is link_groups:
        return link_directions
    return None


def end_update(
    settings: Settings, first_level: FirstLevel, last: LastLevel, former: IntArray
) -> Ending:
    """Grow the tree of an update, in which the ``former`` clusters of leaves go on, whatever the
    levels have found.

    Above them, clusters merge by Ward's criterion, whatever merge the fit has taken.
    """
    label: IntArray = np.unique(former[last.medoids], return_inverse=True)[1]
    return _end_with(settings, first_level, last, label, link_groups)


def end_in_clusters(
    settings: Settings, first_level: FirstLevel, last: LastLevel, label: IntArray
) -> Ending:
    """Grow the tree of a fit whose clusters are known: the label of each group."""
    return _end_with(settings, first_level, last, label, link_groups)


def _end_with(
    settings: Settings,
    first_level: FirstLevel,
    last: LastLevel,
    label: IntArray,
    link: Link,
    tree: Later[MergeTree] | None = None,
) -> Ending:
    """End with the given label of each group; a ``tree`` is given if the labels are a cut of it."""
    state = last.state
    medoids = last.medoids
    groups = last.groups
    roots = last.roots
    n_found = len(medoids)
    if tree is None:
        of_leaf = np.full(len(roots), -1)
        clustered = ~last.is_noise
        of_leaf[clustered] = label[np.searchsorted(medoids, roots[clustered])]
        max_linked = max(len(np.unique(label)), GROUP.linked_per_cluster)
        grow = last.growing(max_linked, of_leaf, link, _link_last(settings, link))
        tree = Later(partial(_first_of, grow))
    is_merged = len(np.unique(label)) < n_found
    # otherwise, when the hierarchy is first read
    if is_merged or len(roots) > MAX_LINKED:
        tree = Later.known(tree.value)
    if is_merged:
        state, medoids, groups = merge_clusters(state, medoids, groups, label)
    return Ending(first_level, state, tree, groups.means, medoids, last.is_noise, n_found)


def smallest_size(settings: Settings, leaves: Survivors) -> float:
    """Return the smallest size of a cluster: a number of rows or total weight.

    If the number of clusters is chosen, a few rows are no cluster.
    """
    total = float(leaves.total_mass.sum())
    n_rows = int(leaves.sizes.sum())
    smallest = settings.smallest_wanted(total)
    if settings.family.is_chosen:
        return max(smallest, count_crumbs(n_rows) * total / n_rows)
    return smallest


def merge_clusters(
    state: FitState, medoids: IntArray, clusters: Groups, label: IntArray
) -> tuple[FitState, IntArray, Groups]:
    """Merge the clusters with the same label, as one more level.

    Return the state, medoids and clusters after it.

    The medoid of a merged cluster is that of the part whose mean is nearest to the mean of the
    whole.
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
