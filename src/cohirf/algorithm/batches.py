"""Which active rows a level contracts together, and which it holds aside (paper, section 2.4).

Rows held aside stay active and unchanged. They preserve the density of the data for the next level,
in which the other batches are reduced to their medoids.

Consecutive batches form a *run*, the unit of work: whoever contracts a run, a thread, a process or
a worker of a cluster, gets all of its batches at once. How batches are divided into runs does not
change any result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from cohirf.algorithm.policy import STEP
from cohirf.rows.grouping import IntArray, index_dtype


@dataclass(frozen=True)
class AllBut:
    """The offsets from ``start`` to ``stop``, but not those that are ``left_out``, which are
    sorted.

    An array of these offsets would be as long as the batch, and in the way of batches that are on a
    device.
    """

    start: int
    stop: int
    left_out: IntArray

    @property
    def places(self) -> IntArray:
        """Where the offsets that are left out are among all of them."""
        return self.left_out - self.start

    def at(self, positions: IntArray) -> IntArray:
        """Return the offsets at the given positions."""
        # of offsets, before each that is left out
        n_before = self.places - np.arange(len(self.left_out))
        return positions + self.start + np.searchsorted(n_before, positions, side="right")


Offsets = slice | AllBut


@dataclass(frozen=True)
class Run:
    """Consecutive batches of a level.

    A row of a run has an *offset*, from 0 on, in the order of the batches.
    """

    # Offset of the first row of each batch, and the number of rows of the run. Batches are sorted
    # inside.
    bounds: IntArray
    held: IntArray  # sorted offsets of rows that are read with the run, but held aside
    first_batch: int = 0  # number of the first batch among the batches of the level
    start: int = 0  # index of the first row, if the rows of the run are consecutive
    indices: IntArray | None = None  # index of each row, if they are not

    @classmethod
    def of_rows(cls, indices: IntArray, number: int = 0) -> Run:
        """Return a single batch of the rows with the given sorted indices."""
        return cls(np.array([0, len(indices)]), np.arange(0), number, indices=indices)

    @property
    def length(self) -> int:
        """Number of rows."""
        return int(self.bounds[-1])

    @property
    def longest(self) -> int:
        """Number of rows of the longest batch."""
        return int(np.diff(self.bounds).max())

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return len(self.bounds) - 1

    @property
    def rows_in(self) -> int:
        """Number of rows that are contracted."""
        return self.length - len(self.held)

    @property
    def rows(self) -> slice | IntArray:
        """Where the rows are in arrays with one entry per index."""
        if self.indices is None:
            return slice(self.start, self.start + self.length)
        return self.indices

    def index(self, offsets: Offsets | IntArray) -> IntArray:
        """Return the indices of the rows at ``offsets``."""
        if isinstance(offsets, AllBut):
            return np.delete(self.index(slice(offsets.start, offsets.stop)), offsets.places)
        if self.indices is not None:
            return self.indices[offsets]
        if isinstance(offsets, slice):
            first = self.start + offsets.start
            stop = self.start + offsets.stop
            return np.arange(first, stop, dtype=index_dtype(stop))
        return offsets + self.start

    def among(self, active: IntArray | None) -> Self:
        """Return the run with other indices: those of the rows that are at its indices in
        ``active``.
        """
        if active is None:
            return self
        return replace(self, indices=active[self.rows])

    def indices_read(self) -> IntArray:
        """Return the sorted indices of all rows that are read to contract the run."""
        return np.unique(self.index(np.arange(self.length)))

    def batches(self) -> Iterator[tuple[Offsets, IntArray]]:
        """Yield the offsets of the rows that each batch contracts, and of those that it holds
        aside.

        If none is held aside, the rows are consecutive, and their offsets are a slice.
        """
        held_bounds = np.searchsorted(self.held, self.bounds)
        for (start, stop), (first, last) in zip(
            pairwise(self.bounds.tolist()), pairwise(held_bounds), strict=True
        ):
            held = self.held[first:last]
            yield slice(start, stop) if len(held) == 0 else AllBut(start, stop, held), held


@dataclass(frozen=True)
class Batches:
    """The batches of a level, by position among the active rows.

    A batch is seeded by its number. So rows that arrive in several calls are contracted as in a
    single one.
    """

    # where each batch begins, and where the last one ends: positions, or places in ``order``
    bounds: IntArray
    order: IntArray | None = (
        None  # positions, batch after batch; None if batches are consecutive rows
    )
    # sorted positions in no run
    held_aside: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    n_held: IntArray | None = None  # number of rows that each batch holds aside itself
    rng: np.random.Generator | None = None  # draws these rows, so that runs can be drawn only once
    first_number: int = 0  # number of the first batch

    @cached_property
    def n_batches(self) -> int:
        """Number of batches that are contracted."""
        return len(self.bounds) - 1

    @property
    def starts(self) -> IntArray:
        """Position of the first row of each batch, if batches are consecutive rows.

        Otherwise their numbers.
        """
        if self.order is None:
            return self.bounds[:-1]
        return np.arange(self.n_batches)

    def runs(self, cuts: IntArray) -> Iterator[Run]:
        """Yield the runs; ``cuts`` are the sorted numbers of the batches at which a run begins."""
        for first, stop in pairwise([*cuts.tolist(), self.n_batches]):
            of_run = self.bounds[first : stop + 1]
            bounds = of_run - of_run[0]
            number = self.first_number + first
            if self.order is None:
                yield Run(bounds, self._hold_aside(bounds, first), number, int(of_run[0]))
            else:
                yield Run(bounds, np.arange(0), number, indices=self._sort(of_run))

    def _hold_aside(self, bounds: IntArray, first: int) -> IntArray:
        """Draw the rows that the batches of a run hold aside."""
        if self.rng is None or self.n_held is None:
            return np.arange(0)
        sizes = self.n_held[first : first + len(bounds) - 1]
        # of many batches, most hold no row aside, and draw nothing
        held = [
            bounds[number]
            + np.sort(
                self.rng.choice(
                    bounds[number + 1] - bounds[number],
                    size=sizes[number],
                    replace=False,
                    shuffle=False,
                )
            )
            for number in np.flatnonzero(sizes)
        ]
        return np.concatenate(held) if held else np.arange(0)

    def _sort(self, of_run: IntArray) -> IntArray:
        """Return the positions of the batches of a run, each of which is sorted."""
        assert self.order is not None
        return np.concatenate([np.sort(self.order[start:end]) for start, end in pairwise(of_run)])


def count_batches(n_rows: int, batch_size: int | None) -> int:
    """Return the number of batches whose size is closest to ``batch_size``; 1 for None.

    Rounding up would split the last batching level, which has a little more than one batch of rows,
    into two halves that are too thin.
    """
    return 1 if batch_size is None else max(1, int(n_rows / batch_size + 0.5))


def split_into_batches(
    n_active: int, batch_size: int | None, rng: np.random.Generator, *, in_order: bool = False
) -> Batches:
    """Split positions into batches; if there are several, hold one batch's worth of rows aside.

    Batches are random, or with ``in_order`` blocks of consecutive rows. In both cases the
    held-aside rows are a random sample of all rows: if the data is sorted, a block of consecutive
    rows does not represent it.
    """
    n_batches = count_batches(n_active, batch_size)
    if n_batches == 1:
        return equal_blocks(1, n_active)
    if in_order:
        n_held = np.diff(_part_bounds(n_active // n_batches, n_batches - 1))
        return Batches(block_bounds(n_active, n_batches), n_held=n_held, rng=rng)
    shuffled = np.arange(n_active, dtype=index_dtype(n_active))
    rng.shuffle(shuffled)
    bounds = _part_bounds(n_active, n_batches)
    return Batches(bounds[1:], shuffled, np.sort(shuffled[: bounds[1]]))


def cut_into_runs(n_batches: int, n_rows: int) -> IntArray:
    """Return the batches at which runs begin: many runs, for all cores, but no more than can be
    handed out while others are contracted, and none much longer than needed.
    """
    short = min(n_batches // STEP.runs, STEP.run_rows * n_batches // n_rows)
    batches_a_run = max(1, short, -(-n_batches // STEP.most_runs))
    return np.arange(0, n_batches, batches_a_run)


def cut_at_chunks(starts: IntArray, chunk_starts: IntArray) -> IntArray:
    """Return the batches at which runs begin if each run has the batches that start in one chunk of
    the data.
    """
    chunk = np.searchsorted(chunk_starts, starts, side="right")
    return np.flatnonzero(np.diff(chunk, prepend=-1))


def equal_blocks(n_batches: int, size: int, first_number: int = 0) -> Batches:
    """Return blocks of ``size`` consecutive rows each, without rows held aside."""
    return Batches(np.arange(n_batches + 1) * size, first_number=first_number)


def block_bounds(n_active: int, n_with_held_aside: int) -> IntArray:
    """Return the first position of each block, and the end of the last block."""
    return _part_bounds(n_active, n_with_held_aside - 1)


def _part_bounds(n_rows: int, n_parts: int) -> IntArray:
    return np.linspace(0, n_rows, n_parts + 1).astype(np.int64)
