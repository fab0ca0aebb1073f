"""Bound the number of groups that a batch leaves, if its views agree on too little (not part of the paper).

With many views of many clusters, nearly every row has a code of its own, and stays separate unless most views agree
with a group. Of a hundred million rows, tens of millions would be left for the merges that follow in this process. So
of more than ``MAX_GROUPS`` groups, only the largest stay as they are. The others, most of them single rows, are divided
into cells of rows that are near to each other, by a few iterations of K-Means.

This is for methods that are told how many clusters to find. The groups of others are clusters that they have found.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from cohirf.algorithm.choose_medoids import cluster_means
from cohirf.algorithm.consensus import Consensus
from cohirf.error_contexts import warning_once_a_fit
from cohirf.rows.arrays import join_rows, namespace, take_rows
from cohirf.rows.distances import find_nearest
from cohirf.rows.grouping import compress, first_rows_beside, sum_beside

MOST_LEFT = 2**19
N_KEPT = 2**11
N_CELLS = 2**10
N_ITERATIONS = 3


def join_rare_groups(X: Any, found: Consensus, mass: Any = None) -> Consensus:
    """Return a consensus with at most ``N_KEPT + N_CELLS`` groups, and noise, if it has more than ``MAX_GROUPS``.

    Rows that are together stay together. Of groups of equal mass, the first are kept.
    """
    n_groups = found.n_clusters - found.n_noise
    if n_groups <= MOST_LEFT:
        return found
    with warning_once_a_fit():
        warnings.warn(
            f"The views agree on little: of {n_groups:,} groups of rows, the {N_KEPT:,} largest stay, and the others "
            f"are joined with those near to them. Fewer views, or a batch_size, keep more of them.",
            UserWarning,
            stacklevel=2,
        )
    labels, xp = found.labels, namespace(found.labels)
    largest_first = xp.argsort(-sum_beside(labels, mass, found.n_clusters)[:n_groups], stable=True)
    rows = xp.take(first_rows_beside(labels, found.n_clusters), largest_first)
    cell, n_cells = _divide_rare(take_rows(X, rows[N_KEPT:]), take_rows(X, rows[:N_CELLS]))
    kept = xp.arange(N_KEPT, dtype=cell.dtype, device=labels.device)
    number = xp.take(join_rows([kept, cell + N_KEPT]), xp.argsort(largest_first))
    n_left = N_KEPT + n_cells
    joined = xp.take(number, xp.clip(labels, 0, n_groups - 1))
    labels = xp.where(labels < n_groups, joined, labels + (n_left - n_groups))
    return replace(found, labels=labels, n_clusters=n_left + found.n_noise)


def _divide_rare(points: Any, centres: Any) -> tuple[Any, int]:
    """Return the cell of each point, and how many cells there are: K-Means that begins with the given centres."""
    for _ in range(N_ITERATIONS):
        occupied, cell = compress(find_nearest(points, centres, exact=False), centres.shape[0])
        centres = cluster_means(points, cell, occupied.shape[0], None)
    return cell, centres.shape[0]
