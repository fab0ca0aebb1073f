"""Fusions: which medoid absorbed which others at which level, and how large the clusters were."""

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
    """One fusion of two clusters or more.

    Attributes
    ----------
    level : int
        The level at which it happened.
    medoid : int
        The row that goes on to stand for all of them.
    absorbed : array of int
        The medoids of the other clusters, in rising order.
    medoid_size : int
        Rows of the medoid's own cluster before.
    absorbed_sizes : array of int
        Rows of the other clusters.
    """

    level: int
    medoid: int
    absorbed: IntArray
    medoid_size: int
    absorbed_sizes: IntArray

    @property
    def size(self) -> int:
        """Rows of the fused cluster."""
        return self.medoid_size + int(self.absorbed_sizes.sum())


@dataclass(frozen=True, eq=False)
class Merges(Sequence[Merge]):
    """All fusions, in order of level and then of medoid: a sequence of ``Merge`` that is held as arrays.

    Attributes
    ----------
    level, medoid, medoid_size, size : array of int
        One entry per fusion: as in ``Merge``.
    absorbed, absorbed_sizes : array of int
        Absorbed medoids and the rows of their clusters, those of all fusions one after the other.
    starts : array of int
        Fusion i has the entries from ``starts[i]`` to ``starts[i + 1]`` of the two arrays above.
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
        i = range(len(self))[index]  # negative and out-of-range indices as in a list
        part = slice(self.starts[i], self.starts[i + 1])
        return Merge(
            level=int(self.level[i]),
            medoid=int(self.medoid[i]),
            absorbed=self.absorbed[part],
            medoid_size=int(self.medoid_size[i]),
            absorbed_sizes=self.absorbed_sizes[part],
        )


def absorbed_in_order(parents: IntArray, absorbed_at: IntArray) -> IntArray:
    """Return the absorbed rows in order of level, then of the medoid that absorbed them, then of their number."""
    _, by_parent = rows_by_label(parents, len(parents))
    by_level = by_parent[np.argsort(absorbed_at[by_parent], kind="stable")]  # linear: levels are small integers
    return by_level[np.count_nonzero(absorbed_at == 0) :]


def subtree_sizes(parents: IntArray, absorbed_at: IntArray, row_sizes: IntArray | None) -> NDArray[np.int64]:
    """Return how many rows each row stood for when it was absorbed, or stands for in the end."""
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
    """Return, for each entry, the sum of the values of its group up to and including it."""
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
    """Return for how many levels each fused cluster stayed as it was: until it grew, was absorbed, or the end."""
    ends = absorbed_at[merges.medoid].astype(np.int64)
    ends[ends == 0] = n_levels + 1
    order = np.argsort(merges.medoid, kind="stable")
    same = merges.medoid[order][1:] == merges.medoid[order][:-1]
    ends[order[:-1][same]] = merges.level[order[1:][same]]  # it grew before that
    return ends - merges.level
