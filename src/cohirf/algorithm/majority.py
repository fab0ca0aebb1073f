"""Majority consensus: groups of rows fuse while most views agree on them (not part of the paper).

Two rows agree in a view if it gives them the same label; a row that is noise in a view agrees with no row there. Two
groups fuse while the share of views in which their rows agree, averaged over all pairs of rows, is at least
``majority``; the two groups that agree most fuse first. This is average linkage with the Hamming distance, cut at 1 -
``majority``. Rows with the same code always end in the same group, so the linkage runs on the distinct codes, weighted
by the mass of their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.consensus import NOISE, Codes, Consensus, label_rows
from cohirf.algorithm.grouping import IntArray, row_blocks

FloatArray = NDArray[np.float64]

MAX_LINKED = 2048  # largest number of codes to link: their agreement matrix takes 32 MiB
BLOCK_CELLS = 2**18
ROUNDING = 1e-9


def majority_consensus(codes: Codes, majority: float) -> Consensus:
    """Fuse groups of rows while at least a share ``majority`` of the views agrees on them.

    Rows that are noise in more than a share 1 - ``majority`` of the views cannot agree with others enough, and stay
    singletons.

    If there are more than ``MAX_LINKED`` codes, only the heaviest are linked. Each of the others then joins the group
    with which it agrees most, or stays separate if this agreement is below the majority.

    Examples
    --------
    The third row joins the first two, with which it agrees in two of three views:

    >>> import numpy as np
    >>> from cohirf.algorithm.consensus import fold_views
    >>> views = [np.array([0, 0, 0, 1]), np.array([4, 4, 4, 5]), np.array([2, 2, 3, 3])]
    >>> majority_consensus(fold_views(views, n_rows=4), majority=0.5).labels
    array([0, 0, 0, 1], dtype=int32)
    """
    needed = (majority - ROUNDING) * codes.n_views
    alone = (codes.distinct != NOISE).sum(axis=1) < needed
    ranked = np.flatnonzero(~alone)
    ranked = ranked[np.argsort(-codes.mass[ranked], kind="stable")]
    linked, others = ranked[:MAX_LINKED], ranked[MAX_LINKED:]
    group = np.arange(len(codes.distinct))
    group[linked] = linked[link_codes(codes.distinct[linked], codes.mass[linked], needed)]
    if len(others):
        group[others] = join_groups(codes, linked, group[linked], others, needed)
    return label_rows(codes, group, len(group), alone, tuple(range(codes.n_views)))


def link_codes(distinct: IntArray, mass: FloatArray, needed: float) -> IntArray:
    """Fuse codes by average linkage while groups agree in at least ``needed`` views on average.

    Returns, for each code, the first code of its group.

    This is the nearest-neighbour chain algorithm: go from a group to the group that it agrees with most, and on from
    there, until two groups are each other's nearest neighbours; these fuse. The agreement with a fused group is a mean,
    so it never exceeds the larger of the two agreements before. Therefore the chain fuses the same groups as a search
    for the best of all pairs, and a group without a neighbour that agrees enough will never have one. Among equally
    near neighbours, the previous group of the chain is preferred, otherwise the first. The cost is O(n_codes ** 2).
    """
    agreement = _count_agreement(distinct)
    np.fill_diagonal(agreement, 0)
    mass = mass.copy()
    group = np.arange(len(mass))
    is_group = np.ones(len(mass))  # 0 for codes that were absorbed, or whose group is complete
    chain: list[int] = []
    for first in range(len(mass)):
        while is_group[first]:
            chain = chain or [first]
            last = chain[-1]
            near = agreement[last] * is_group
            nearest = int(near.argmax())
            if near[nearest] < needed:
                is_group[chain.pop()] = 0
            elif len(chain) > 1 and near[chain[-2]] >= near[nearest] * (1 - ROUNDING):
                kept, absorbed = sorted((chain.pop(), chain.pop()))
                weight = mass[absorbed] / (mass[kept] + mass[absorbed])
                agreement[kept] += weight * (agreement[absorbed] - agreement[kept])
                agreement[kept, kept] = 0
                agreement[:, kept] = agreement[kept]
                mass[kept] += mass[absorbed]
                is_group[absorbed] = 0
                group[absorbed] = kept
            else:
                chain.append(nearest)
    for code in range(len(group)):  # the code that absorbed it comes before it, and has its final group already
        group[code] = group[group[code]]
    return group


def join_groups(codes: Codes, linked: IntArray, group: IntArray, others: IntArray, needed: float) -> IntArray:
    """Return, for each of the ``others``, the group of ``linked`` codes with which it agrees most.

    A code whose agreement is below ``needed`` views gets itself as its group.
    """
    names, number = np.unique(group, return_inverse=True)
    has_label = _one_hot(codes.distinct)
    in_group = sparse.csr_array((codes.mass[linked], number, np.arange(len(linked) + 1)), (len(linked), len(names)))
    in_group.data /= in_group.sum(axis=0)[number]
    labels_of_group = (has_label[linked].T @ in_group).tocsr()  # share of each group's mass that has each label
    joined = others.copy()
    for block in row_blocks(len(others), BLOCK_CELLS // len(names) + 1):
        agreement = (has_label[others[block]] @ labels_of_group).toarray()
        best = agreement.argmax(axis=1)
        joins = agreement[np.arange(len(best)), best] >= needed
        joined[block][joins] = names[best[joins]]
    return joined


def _one_hot(distinct: IntArray) -> Any:
    """Return a CSR matrix with one row per code and one column per label of each view; noise has no column."""
    rows, columns = [], []
    n_columns = 0
    for labels in distinct.T:
        clean = np.flatnonzero(labels != NOISE)
        values, column = np.unique(labels[clean], return_inverse=True)
        rows.append(clean)
        columns.append(n_columns + column)
        n_columns += len(values)
    cells = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.ones(len(cells[0])), cells), shape=(len(distinct), n_columns))


def _count_agreement(distinct: IntArray) -> FloatArray:
    """Return the number of views in which each pair of codes agrees."""
    n_codes, n_views = distinct.shape
    agreement = np.empty((n_codes, n_codes))
    never_noise = np.where(distinct == NOISE, NOISE - 1, distinct)
    for block in row_blocks(n_codes, BLOCK_CELLS // (n_codes + 1) + 1):
        count = np.zeros((block.stop - block.start, n_codes), dtype=np.min_scalar_type(n_views))
        for view in range(n_views):
            count += distinct[block, view, None] == never_noise[:, view]
        agreement[block] = count
    return agreement
