"""Clusters that reach over several local batches: a level that fuses them.

Two batches of neighbours have rows in common: rows at home in one, and in the halo of the other.
Clusters of the two are parts of one cluster if they share enough of these rows, and then fuse: a
level of the hierarchy like any other. A core row of DBSCAN belongs to one cluster only, so one of
them is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.algorithm.levels import FitState
from cohirf.algorithm.runs import Survivors
from cohirf.beyond.batch_steps import Links
from cohirf.beyond.merge_tree import Groups
from cohirf.beyond.policy import CELL
from cohirf.rows.grouping import IntArray, index_dtype, sum_by_label


def find_parts(
    links: Iterable[Links], leaf_of: IntArray, leaves: Survivors, batch: IntArray | None
) -> IntArray:
    """Return a number for each leaf, which is the same for leaves that are parts of one cluster.

    Parameters
    ----------
    links : iterable of Links
        Rows that two batches have in common.
    leaf_of : array of int
        The number of the leaf of each row of the data where it is at home, by index.
    leaves : Survivors
        The clusters of all batches.
    batch : array of int or None
        The batch of each leaf; None if one row in common makes two clusters parts of one.
    """
    n_leaves = len(leaves.rows)
    here, there, n_shared = _count_shared_rows(links, leaf_of, leaves)
    if batch is not None:
        # rows of each of the two clusters among all that their two batches have in common
        of_here, of_there = (
            _sum_equal(leaf, batch[other], n_shared)
            for leaf, other in ((here, there), (there, here))
        )
        enough = (n_shared >= CELL.shared_rows) & (
            n_shared >= CELL.shared * np.minimum(of_here, of_there)
        )
        here = here[enough]
        there = there[enough]
    graph = sparse.coo_array(
        (np.ones(len(here), dtype=bool), (here, there)), shape=(n_leaves, n_leaves)
    )
    return np.asarray(connected_components(graph, directed=False)[1])


def _count_shared_rows(
    links: Iterable[Links], leaf_of: IntArray, leaves: Survivors
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of leaves that have rows in common, and how many: leaf at home, other leaf,
    count.
    """
    n_leaves = len(leaves.rows)
    keys = [np.empty(0, dtype=np.int64)]
    counts = [np.empty(0, dtype=np.int64)]
    for part in links:
        here = np.asarray(leaf_of[part.rows], dtype=np.int64)
        clustered = ~leaves.is_noise[here]
        there = np.searchsorted(leaves.rows, part.survivors[clustered])
        found, n_found = np.unique(here[clustered] * n_leaves + there, return_counts=True)
        keys.append(found)
        counts.append(n_found)
    pairs, number = np.unique(np.concatenate(keys), return_inverse=True)
    n_shared = np.bincount(number, weights=np.concatenate(counts)).astype(np.int64)
    return pairs // n_leaves, pairs % n_leaves, n_shared


def _sum_equal(left: IntArray, right: IntArray, counts: IntArray) -> IntArray:
    """Return, for each pair, the sum of the counts of all pairs that are equal to it."""
    keys = left.astype(np.int64) * (int(right.max(initial=0)) + 1) + right
    _, number = np.unique(keys, return_inverse=True)
    return np.bincount(number, weights=counts)[number].astype(np.int64)


def number_parts(labels: IntArray) -> IntArray:
    """Return a number for each leaf, which is the same for leaves with the same label.

    Noise is alone.
    """
    is_noise = labels < 0
    number = np.cumsum(np.bincount(labels[~is_noise]) > 0)  # from 1
    part = np.cumsum(is_noise, dtype=index_dtype(len(labels)))
    part += number[-1] - 1 if len(number) else -1
    part[~is_noise] = number[labels[~is_noise]] - 1
    return part


def fuse_leaves(state: FitState, part: IntArray) -> FitState:
    """Return the state after a level that fuses the leaves with the same number, from 0, in
    ``part``.

    The leaf whose mean is nearest to the mean of the whole survives. No level follows, so survivors
    have no means.
    """
    started = perf_counter()
    leaves = state.survivors
    n_views = state.survivors.view_stability.shape[1]
    n_parts = int(part.max()) + 1
    mass = leaves.total_mass
    kept = np.empty(n_parts, dtype=state.fusions.parents.dtype)
    kept[part] = np.arange(len(part))
    # the others, such as rows of noise, are alone
    several = np.flatnonzero(np.bincount(part)[part] > 1)
    parts, label = np.unique(part[several], return_inverse=True)
    kept[parts] = several[
        Groups(leaves.means[several], mass[several]).find_central(label, len(parts))
    ]
    state.fusions.record(np.arange(len(part)), kept[part], state.level + 1)
    by_leaf = np.argsort(kept)
    kept = kept[by_leaf]
    survivors = Survivors(
        rows=kept,
        values=None,
        mass=None if leaves.mass is None else sum_by_label(part, leaves.mass, n_parts)[by_leaf],
        sizes=np.bincount(part, weights=leaves.sizes).astype(np.int64)[by_leaf],
        first_rows=kept,
        weights=None
        if leaves.weights is None
        else sum_by_label(part, leaves.weights, n_parts)[by_leaf],
        means=None,
        is_noise=leaves.is_noise[kept],
        stability=leaves.stability[kept],
        batch_sizes=np.array([len(part)]),
        batch_costs=np.array([[n_views, np.nan, 1.0, 0.0, perf_counter() - started, 0.0]]),
        view_stability=np.ones((1, n_views)),
    )
    return state.after(survivors, "fused")
