"""Majority consensus: groups of rows fuse while most views agree on them (not part of the paper).

Two rows agree in a view if it gives them the same label; a row that is noise in a view agrees with
no row there. Two groups fuse while the share of views in which their rows agree, averaged over all
pairs of rows, is at least ``majority``; the two groups that agree most fuse first. This is average
linkage with the Hamming distance, cut at 1 - ``majority``. Rows with the same code always end in
the same group, so the linkage runs on the distinct codes, weighted by the mass of their rows.

With many views of many clusters, nearly every row has a code of its own, and stays separate unless
most views agree with a group. Of a hundred million rows, tens of millions would be left for the
merges that follow in this process. So of more than ``MAJORITY.most_left`` groups, only the largest
stay as they are. The others, most of them single rows, are divided into cells of rows that are near
to each other, by a few iterations of K-Means. This is for methods that take how many clusters
to find. The groups of others are clusters that they have found.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.algorithm.choose_medoids import cluster_means
from cohirf.algorithm.consensus import NOISE, Codes, Consensus, label_rows
from cohirf.beyond.merge_tree import merge_in_chains
from cohirf.beyond.policy import MAJORITY
from cohirf.error_contexts import warning_once_a_fit
from cohirf.rows.arrays import (
    fetch_rows,
    in_blocks,
    join_rows,
    look_up,
    namespace,
    put_beside,
    take_rows,
    to_host,
)
from cohirf.rows.containers import container_of
from cohirf.rows.distances import find_nearest
from cohirf.rows.grouping import (
    ROUNDING,
    FloatArray,
    IntArray,
    compress,
    first_rows_beside,
    row_blocks,
    rows_by_label,
    sum_beside,
)


def majority_consensus(codes: Codes, majority: float) -> Consensus:
    """Fuse groups of rows while at least a share ``majority`` of the views agrees on them.

    Rows that are noise in more than a share 1 - ``majority`` of the views cannot agree with others
    enough, and stay singletons.

    If there are more than ``MAX_LINKED`` codes, only the heaviest are linked. Each of the others
    then joins the group with which it agrees most, or stays separate if this agreement is below the
    majority.

    Examples
    --------
    The third row joins the first two, with which it agrees in two of three views:

    >>> import numpy as np
    >>> from cohirf.algorithm.consensus import fold_views
    >>> views = [np.array([0, 0, 0, 1]), np.array([4, 4, 4, 5]), np.array([2, 2, 3, 3])]
    >>> majority_consensus(fold_views(views, n_rows=4), majority=0.5).labels
    array([0, 0, 0, 1], dtype=int32)
    """
    xp = namespace(codes.distinct)
    needed = (majority - ROUNDING) * codes.n_views
    n_clean = xp.sum(xp.astype(codes.distinct != NOISE, xp.int64), axis=1)
    alone = xp.astype(n_clean, xp.float64) < needed
    heaviest_first = xp.argsort(xp.where(alone, np.inf, -codes.mass), stable=True)
    n_linked = min(MAJORITY.linked_codes, codes.n_codes - int(xp.sum(xp.astype(alone, xp.int64))))
    linked = to_host(heaviest_first[:n_linked])
    group_of_linked = linked[
        link_codes(fetch_rows(codes.distinct, linked), fetch_rows(codes.mass, linked), needed)
    ]
    if n_linked == 0:  # all codes are alone, so that their groups do not matter
        group = heaviest_first
    else:
        rank = xp.argsort(heaviest_first)
        # if fewer are linked than may be, these are all that are not alone
        if n_linked < MAJORITY.linked_codes:
            joined = rank
        else:
            joined = join_groups(codes, linked, group_of_linked, needed)
        group = xp.where(
            rank < n_linked, look_up(group_of_linked, xp.clip(rank, 0, n_linked - 1)), joined
        )
    return label_rows(codes, group, codes.n_codes, alone, tuple(range(codes.n_views)))


def link_codes(distinct: IntArray, mass: FloatArray, needed: float) -> IntArray:
    """Fuse codes by average linkage while groups agree in at least ``needed`` views on average.

    Returns, for each code, the first code of its group.
    """
    group = np.arange(len(mass))
    agreement = count_agreement(distinct)
    # groups of different parts never agree enough: no pair of their codes does
    n_parts, part = connected_components(sparse.csr_array(agreement >= needed), directed=False)
    starts, order = rows_by_label(part, n_parts)
    for codes in np.split(order, starts[1:-1]):
        of_part = agreement[np.ix_(codes, codes)]
        merges, _ = merge_by_agreement(of_part, mass[codes], needed)
        group[codes[merges[:, 1]]] = codes[merges[:, 0]]
    # the code that absorbed it comes before it, and has its final group already
    for code in range(len(group)):
        group[code] = group[group[code]]
    return group


def merge_by_agreement(
    agreement: FloatArray, mass: FloatArray, needed: float
) -> tuple[IntArray, FloatArray]:
    """Merge codes, given the agreement of each pair, by average linkage.

    Returns the merges, each as the kept and the absorbed code, and the agreement at which each
    happened.
    """
    merges, merged_at = merge_in_chains(-agreement, mass, _unite, -needed)
    return merges, -merged_at


def _unite(distances: FloatArray, mass: FloatArray, kept: int, absorbed: int) -> FloatArray:
    """Return the distances of the union of two groups: means, so none is nearer than both are."""
    total = mass[kept] + mass[absorbed]
    weight = mass[absorbed] / total if total > 0 else 0.5
    of_kept = distances[kept]
    of_union: FloatArray = of_kept + weight * (distances[absorbed] - of_kept)
    return of_union


def join_groups(codes: Codes, linked: IntArray, group: IntArray, needed: float) -> Any:
    """Return, for each code, the group of ``linked`` codes with which it agrees most.

    A code whose agreement is below ``needed`` views gets itself as its group.
    """
    names, number = np.unique(group, return_inverse=True)
    labels = GroupLabels.of(codes, linked, number)
    xp = namespace(codes.distinct)
    joined = xp.arange(codes.n_codes, dtype=xp.int64, device=codes.distinct.device)

    def join(block: slice) -> None:
        agreement = labels.agreement(block)
        most = xp.max(agreement, axis=1)
        is_best = agreement >= (most * (1 - ROUNDING))[:, None]
        first = xp.argmax(xp.astype(is_best, xp.int8), axis=1)
        joined[block] = xp.where(most >= needed, look_up(names, first), joined[block])

    n_cells = container_of(codes.distinct).cells_at_once(MAJORITY.agreement_cells)
    in_blocks(join, codes.n_codes, n_cells // len(names) + 1)
    return joined


@dataclass(frozen=True)
class GroupLabels:
    """Labels that linked codes have in each view, and the share of each group's mass that has
    them.
    """

    # for each view, the row of ``shares`` that belongs to the label of each code, where the codes
    # are
    rows: list[Any]
    # A row for each label of a view that a linked code has, after a row of zeros for all others; a
    # column for each group. An array if the codes are on a device, otherwise sparse: most groups
    # have few of the labels.
    shares: Any

    @classmethod
    def of(cls, codes: Codes, linked: IntArray, group: IntArray) -> GroupLabels:
        """Return the labels of ``linked`` codes, which are in the given groups.

        Noise is not a label.
        """
        mass = fetch_rows(codes.mass, linked)
        mass = mass / np.bincount(group, weights=mass)[group]
        n_groups = int(group.max()) + 1
        rows = []
        shares = [sparse.csr_array((1, n_groups))]
        n_rows = 1
        for view in range(codes.n_views):
            symbols, n_symbols = codes.partition(view)
            clean = np.flatnonzero(fetch_rows(codes.distinct[:, view], linked) != NOISE)
            distinct, number = np.unique(fetch_rows(symbols, linked[clean]), return_inverse=True)
            row_of_symbol = np.zeros(n_symbols, dtype=np.int32)
            row_of_symbol[distinct] = np.arange(n_rows, n_rows + len(distinct))
            rows.append(look_up(row_of_symbol, symbols))
            shares.append(
                sparse.csr_array(
                    (mass[clean], (number, group[clean])), shape=(len(distinct), n_groups)
                )
            )
            n_rows += len(distinct)
        stacked = sparse.vstack(shares, format="csr")
        return cls(rows, put_beside(stacked, codes.distinct))

    def agreement(self, block: slice) -> Any:
        """Return, for each code of a block and each group, the mean number of views in which they
        agree.
        """
        rows = [of_view[block] for of_view in self.rows]
        return container_of(self.shares).sum_taken(self.shares, rows)


def count_agreement(distinct: IntArray) -> FloatArray:
    """Return the number of views in which each pair of codes agrees."""
    n_codes, n_views = distinct.shape
    agreement = np.empty((n_codes, n_codes))
    never_noise = np.where(distinct == NOISE, NOISE - 1, distinct)
    for block in row_blocks(n_codes, MAJORITY.agreement_cells // (n_codes + 1) + 1):
        count = np.zeros((block.stop - block.start, n_codes), dtype=np.min_scalar_type(n_views))
        for view in range(n_views):
            count += distinct[block, view, None] == never_noise[:, view]
        agreement[block] = count
    return agreement


def join_rare_groups(X: Any, found: Consensus, mass: Any = None) -> Consensus:
    """Return a consensus with at most ``n_kept + n_cells`` groups of ``MAJORITY``, and noise, if it
    has more than ``most_left``.

    Rows that are together stay together. Of groups of equal mass, the first are kept.
    """
    n_groups = found.n_clusters - found.n_noise
    if n_groups <= MAJORITY.most_left:
        return found
    with warning_once_a_fit():
        warnings.warn(
            f"The views agree on little: of {n_groups:,} groups of rows, the {MAJORITY.n_kept:,} "
            "largest stay, and the others are joined with those near to them. Fewer views, or a "
            "batch_size, keep more of them.",
            UserWarning,
            stacklevel=2,
        )
    labels, xp = found.labels, namespace(found.labels)
    largest_first = xp.argsort(-sum_beside(labels, mass, found.n_clusters)[:n_groups], stable=True)
    rows = xp.take(first_rows_beside(labels, found.n_clusters), largest_first)
    cell, n_cells = _divide_rare(
        take_rows(X, rows[MAJORITY.n_kept :]), take_rows(X, rows[: MAJORITY.n_cells])
    )
    kept = xp.arange(MAJORITY.n_kept, dtype=cell.dtype, device=labels.device)
    number = xp.take(join_rows([kept, cell + MAJORITY.n_kept]), xp.argsort(largest_first))
    n_left = MAJORITY.n_kept + n_cells
    joined = xp.take(number, xp.clip(labels, 0, n_groups - 1))
    labels = xp.where(labels < n_groups, joined, labels + (n_left - n_groups))
    return replace(found, labels=labels, n_clusters=n_left + found.n_noise)


def _divide_rare(points: Any, centres: Any) -> tuple[Any, int]:
    """Return the cell of each point, and how many cells there are: K-Means that begins with the
    given centres.
    """
    for _ in range(MAJORITY.n_iterations):
        occupied, cell = compress(find_nearest(points, centres, exact=False), centres.shape[0])
        centres = cluster_means(points, cell, occupied.shape[0], None)
    return cell, centres.shape[0]
