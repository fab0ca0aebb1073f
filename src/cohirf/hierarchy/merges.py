"""Fusions of clusters: at each level, which medoid absorbed which others, and the sizes of their clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import overload

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray, rows_by_label


@dataclass(frozen=True, eq=False)
class Merge:
    """One fusion of two or more clusters.

    Attributes
    ----------
    level : int
        The level of the fusion.
    medoid : int
        Medoid of the fused cluster: that of one of the clusters.
    absorbed : array of int
        Sorted medoids of the other clusters.
    medoid_size : int
        Number of rows in the cluster of ``medoid`` before the fusion.
    absorbed_sizes : array of int
        Number of rows in each of the other clusters.
    """

    level: int
    medoid: int
    absorbed: IntArray
    medoid_size: int
    absorbed_sizes: IntArray

    @property
    def size(self) -> int:
        """Number of rows in the fused cluster."""
        return self.medoid_size + int(self.absorbed_sizes.sum())


@dataclass(frozen=True, eq=False)
class Merges(Sequence[Merge]):
    """All fusions, ordered by level and then by medoid: a sequence of ``Merge``, stored as arrays.

    Attributes
    ----------
    level, medoid, medoid_size, size : array of int
        As in ``Merge``, one entry per fusion.
    absorbed, absorbed_sizes : array of int
        Absorbed medoids and the sizes of their clusters, concatenated over all fusions.
    starts : array of int
        Fusion i has the entries ``starts[i]:starts[i + 1]`` of the two arrays above.
    """

    level: IntArray
    medoid: IntArray
    medoid_size: IntArray
    size: IntArray
    absorbed: IntArray
    absorbed_sizes: IntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.level)

    @overload
    def __getitem__(self, index: int) -> Merge: ...
    @overload
    def __getitem__(self, index: slice) -> list[Merge]: ...
    def __getitem__(self, index: int | slice) -> Merge | list[Merge]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]  # treats negative and out-of-range indices as a list does
        part = slice(self.starts[i], self.starts[i + 1])
        return Merge(
            level=int(self.level[i]),
            medoid=int(self.medoid[i]),
            absorbed=self.absorbed[part],
            medoid_size=int(self.medoid_size[i]),
            absorbed_sizes=self.absorbed_sizes[part],
        )


def absorbed_in_order(parents: IntArray, absorbed_at: IntArray) -> IntArray:
    """Return the absorbed rows, sorted by level, then by the medoid that absorbed them, then by row number."""
    _, by_parent = rows_by_label(parents, len(parents))
    by_level: IntArray = by_parent[
        np.argsort(absorbed_at[by_parent], kind="stable")
    ]  # linear: levels are small integers
    return by_level[np.count_nonzero(absorbed_at == 0) :]


def subtree_sizes(parents: IntArray, absorbed_at: IntArray, row_sizes: IntArray | None) -> NDArray[np.int64]:
    """Return the size of each row's cluster when the row was absorbed, or at the end if it never was."""
    sizes = np.ones(len(parents), dtype=np.int64) if row_sizes is None else row_sizes.astype(np.int64)
    by_level = np.argsort(absorbed_at, kind="stable")
    bounds = np.cumsum(np.bincount(absorbed_at))
    for start, end in pairwise(bounds.tolist()):
        rows = by_level[start:end]
        np.add.at(sizes, parents[rows], sizes[rows])
    return sizes


def find_merges(parents: IntArray, absorbed_at: IntArray, row_sizes: IntArray | None) -> Merges:
    """Collect the fusions of a hierarchy."""
    absorbed = absorbed_in_order(parents, absorbed_at)
    absorbed_sizes = subtree_sizes(parents, absorbed_at, row_sizes)[absorbed]
    level, medoid = absorbed_at[absorbed], parents[absorbed]
    is_first = np.ones(len(absorbed), dtype=bool)
    is_first[1:] = (level[1:] != level[:-1]) | (medoid[1:] != medoid[:-1])
    starts = np.append(np.flatnonzero(is_first), len(absorbed))
    gained = np.add.reduceat(absorbed_sizes, starts[:-1]) if len(absorbed) else absorbed_sizes
    level, medoid = level[starts[:-1]], medoid[starts[:-1]]
    own = np.ones(len(medoid), dtype=np.int64) if row_sizes is None else row_sizes[medoid].astype(np.int64)
    before = own + running_sum(gained, medoid) - gained
    return Merges(level, medoid, before, before + gained, absorbed, absorbed_sizes, starts)


def running_sum(values: NDArray[np.int64], groups: IntArray) -> NDArray[np.int64]:
    """Return, for each entry, the sum of the values of its group up to and including this entry."""
    order = np.argsort(groups, kind="stable")
    sums = np.cumsum(values[order])
    sorted_groups = groups[order]
    is_first = np.ones(len(groups), dtype=bool)
    is_first[1:] = sorted_groups[1:] != sorted_groups[:-1]
    starts = np.flatnonzero(is_first)
    before = np.repeat(sums[starts] - values[order][starts], np.diff(np.append(starts, len(groups))))
    result = np.empty_like(sums)
    result[order] = sums - before
    return result


def lifetimes(merges: Merges, absorbed_at: IntArray, n_levels: int) -> IntArray:
    """Return for how many levels each fused cluster did not change: until it grew, was absorbed, or the fit ended."""
    ends = absorbed_at[merges.medoid].astype(np.int64)
    ends[ends == 0] = n_levels + 1
    order = np.argsort(merges.medoid, kind="stable")
    same = merges.medoid[order][1:] == merges.medoid[order][:-1]
    ends[order[:-1][same]] = merges.level[order[1:][same]]  # the next fusion with the same medoid
    return ends - merges.level
