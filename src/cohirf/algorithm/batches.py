"""Which active rows a level contracts together, and which it holds aside (paper, section 2.4).

This file numbers rows by their position among the active rows. Rows held aside stay active and unchanged. They preserve
the density of the data for the next level, in which the other batches are reduced to their medoids.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from cohirf.algorithm.grouping import IntArray, index_dtype


@dataclass(frozen=True)
class Batch:
    """Sorted positions: of rows contracted together, and of rows read with them but held aside."""

    contracted: IntArray
    held_aside: IntArray


class Batches(Protocol):
    """Disjoint batches, created one by one."""

    @property
    def n_batches(self) -> int:
        """Number of batches that are contracted."""

    @property
    def held_aside(self) -> IntArray:
        """Positions of the held-aside rows that are in no batch."""

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches."""


def count_batches(n_rows: int, batch_size: int | None) -> int:
    """Return the number of batches whose size is closest to ``batch_size``; 1 for None.

    Rounding up would split the last batching level, which has a little more than one batch of rows, into two halves
    that are too thin.
    """
    return 1 if batch_size is None else max(1, int(n_rows / batch_size + 0.5))


def split_into_batches(
    n_active: int, batch_size: int | None, rng: np.random.Generator, *, in_order: bool = False
) -> Batches:
    """Split positions into batches; if there are several, hold one batch's worth of rows aside.

    Batches are random, or with ``in_order`` blocks of consecutive rows. In both cases the held-aside rows are a random
    sample of all rows: if the data is sorted, a block of consecutive rows does not represent it.
    """
    n_batches = count_batches(n_active, batch_size)
    if n_batches == 1:
        return OneBatch(n_active)
    if in_order:
        return BlocksInOrder(n_active, n_batches, rng)
    shuffled = np.arange(n_active, dtype=index_dtype(n_active))
    rng.shuffle(shuffled)
    return RandomBatches(shuffled, _bounds(n_active, n_batches))


@dataclass(frozen=True)
class OneBatch:
    """All active rows."""

    n_active: int
    n_batches: int = 1

    @property
    def held_aside(self) -> IntArray:
        """No row is held aside."""
        return _no_rows(self.n_active)

    def __iter__(self) -> Iterator[Batch]:
        yield Batch(np.arange(self.n_active, dtype=index_dtype(self.n_active)), _no_rows(self.n_active))


@dataclass(frozen=True)
class RandomBatches:
    """A random permutation cut into parts; the first part is held aside."""

    shuffled: IntArray
    bounds: IntArray

    @property
    def n_batches(self) -> int:
        """Number of batches that are contracted."""
        return len(self.bounds) - 2

    @property
    def held_aside(self) -> IntArray:
        """Positions of rows that are held aside."""
        return np.sort(self.shuffled[: self.bounds[1]])

    def __iter__(self) -> Iterator[Batch]:
        for start, stop in pairwise(self.bounds[1:]):
            yield Batch(np.sort(self.shuffled[start:stop]), _no_rows(len(self.shuffled)))


@dataclass(frozen=True)
class Block:
    """Consecutive positions from ``start`` to ``stop``, and the offsets of the held-aside rows among them."""

    start: int
    stop: int
    held: IntArray

    def batch(self, n_active: int) -> Batch:
        """Return the block as a batch; ``n_active`` positions in all decide the integer type."""
        is_held = np.zeros(self.stop - self.start, dtype=bool)
        is_held[self.held] = True
        positions = np.arange(self.start, self.stop, dtype=index_dtype(n_active))
        return Batch(positions[~is_held], positions[is_held])


@dataclass(frozen=True)
class BlocksInOrder:
    """Blocks of consecutive rows. Each holds some random rows aside; together these are one batch's worth of rows."""

    n_active: int
    n_with_held_aside: int
    rng: np.random.Generator

    @property
    def n_batches(self) -> int:
        """Number of batches that are contracted."""
        return self.n_with_held_aside - 1

    @property
    def held_aside(self) -> IntArray:
        """No rows: held-aside rows are part of a block, and are read with its other rows."""
        return _no_rows(self.n_active)

    def __iter__(self) -> Iterator[Batch]:
        return (block.batch(self.n_active) for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks. A block stores its bounds and held-aside rows only, so it stays small."""
        held_bounds = _bounds(self.n_active // self.n_with_held_aside, self.n_batches)
        blocks = pairwise(block_bounds(self.n_active, self.n_with_held_aside).tolist())
        for (start, stop), (held_start, held_stop) in zip(blocks, pairwise(held_bounds), strict=True):
            held = self.rng.choice(stop - start, size=held_stop - held_start, replace=False, shuffle=False)
            yield Block(start, stop, held)


def block_bounds(n_active: int, n_with_held_aside: int) -> IntArray:
    """Return the first position of each block, and the end of the last block."""
    return _bounds(n_active, n_with_held_aside - 1)


def _bounds(n_rows: int, n_parts: int) -> IntArray:
    return np.linspace(0, n_rows, n_parts + 1).astype(np.int64)


def _no_rows(n_active: int) -> IntArray:
    return np.empty(0, dtype=index_dtype(n_active))
