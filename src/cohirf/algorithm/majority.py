"""Majority consensus: groups of rows fuse while most views agree on them (not part of the paper).

Two rows agree in a view if it gives them the same label; a row that is noise in a view agrees with no row there. Two
groups fuse while the share of views in which their rows agree, averaged over all pairs of rows, is at least
``majority``; the two groups that agree most fuse first. This is average linkage with the Hamming distance, cut at 1 -
``majority``. Rows with the same code always end in the same group, so the linkage runs on the distinct codes, weighted
by the mass of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import fetch_rows, is_here, look_up, namespace, put_beside, to_host
from cohirf.algorithm.consensus import NOISE, Codes, Consensus, label_rows
from cohirf.algorithm.device_blocks import in_blocks
from cohirf.algorithm.grouping import IntArray, row_blocks

FloatArray = NDArray[np.float64]

MAX_LINKED = 2048  # largest number of codes to link: their agreement matrix takes 32 MiB
BLOCK_CELLS = 2**18
DEVICE_CELLS = 2**26  # of a block of codes on a device
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
    xp, needed = namespace(codes.distinct), (majority - ROUNDING) * codes.n_views
    n_clean = xp.sum(xp.astype(codes.distinct != NOISE, xp.int64), axis=1)
    alone = xp.astype(n_clean, xp.float64) < needed
    heaviest_first = xp.argsort(xp.where(alone, np.inf, -codes.mass), stable=True)
    n_linked = min(MAX_LINKED, codes.n_codes - int(xp.sum(xp.astype(alone, xp.int64))))
    linked = to_host(heaviest_first[:n_linked])
    group_of_linked = linked[link_codes(fetch_rows(codes.distinct, linked), fetch_rows(codes.mass, linked), needed)]
    if n_linked == 0:
        group = heaviest_first
    else:
        rank = xp.argsort(heaviest_first)
        joined = rank if n_linked < MAX_LINKED else join_groups(codes, linked, group_of_linked, needed)
        group = xp.where(rank < n_linked, look_up(group_of_linked, xp.clip(rank, 0, n_linked - 1)), joined)
    return label_rows(codes, group, codes.n_codes, alone, tuple(range(codes.n_views)))


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


def join_groups(codes: Codes, linked: IntArray, group: IntArray, needed: float) -> Any:
    """Return, for each code, the group of ``linked`` codes with which it agrees most.

    A code whose agreement is below ``needed`` views gets itself as its group.
    """
    names, number = np.unique(group, return_inverse=True)
    views = [LabelShares.of(codes, view, linked, number) for view in range(codes.n_views)]
    if not is_here(codes.distinct) and sum(view.shares.size for view in views) > DEVICE_CELLS:
        return put_beside(join_groups(codes.here(), linked, group, needed), codes.of_row)
    xp = namespace(codes.distinct)
    joined = xp.arange(codes.n_codes, dtype=xp.int64, device=codes.distinct.device)

    def join(block: slice) -> None:
        agreement = sum(view.of_codes(block) for view in views)
        best = xp.argmax(agreement, axis=1)
        joins = xp.max(agreement, axis=1) >= needed
        joined[block] = xp.where(joins, look_up(names, best), joined[block])

    n_cells = BLOCK_CELLS if is_here(codes.distinct) else DEVICE_CELLS
    in_blocks(join, codes.n_codes, n_cells // len(names) + 1)
    return joined


@dataclass(frozen=True)
class LabelShares:
    """The labels of codes in a view, and the share of each group's mass that has each label."""

    symbols: Any  # of each code, where the codes are
    shares: FloatArray  # a row for each symbol, and a column for each group

    @classmethod
    def of(cls, codes: Codes, view: int, linked: IntArray, group: IntArray) -> LabelShares:
        """Return the shares among ``linked`` codes, which are in the given groups; noise has none."""
        mass, is_noise = fetch_rows(codes.mass, linked), fetch_rows(codes.is_noise(view), linked)
        symbols, n_symbols = codes.partition(view)
        n_groups = group.max() + 1
        shares = np.zeros((n_symbols, n_groups))
        np.add.at(shares, (fetch_rows(symbols, linked), group), np.where(is_noise, 0.0, mass))
        return cls(symbols, shares / np.bincount(group, weights=mass))

    def of_codes(self, block: slice) -> Any:
        """Return the share of each group that has the label of each code."""
        return look_up(self.shares, self.symbols[block])


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
