"""Which active rows a level contracts together, and which it holds aside (paper, section 2.4).

Rows are numbered here by their position among the active ones. Rows held aside stay active and untouched. They keep
the density of the data alive for the next level, where the other batches have shrunk to their medoids.
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
    """Positions in rising order: of rows contracted together, and of rows read with them but held aside."""

    contracted: IntArray
    held_aside: IntArray


class Batches(Protocol):
    """Disjoint batches, made one by one."""

    @property
    def n_batches(self) -> int:
        """How many batches are contracted."""

    @property
    def held_aside(self) -> IntArray:
        """Positions of rows that are held aside and in no batch."""

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches."""


def count_batches(n_rows: int, batch_size: int | None) -> int:
    """Return how many batches bring their size closest to ``batch_size``; None asks for a single one.

    Rounding up instead would cut the rest of the last batching level, a little more than one batch, into two thin
    halves.
    """
    return 1 if batch_size is None else max(1, int(n_rows / batch_size + 0.5))


def split_into_batches(
    n_active: int, batch_size: int | None, rng: np.random.Generator, *, in_order: bool = False
) -> Batches:
    """Split positions into batches; where there are several, hold as many rows aside as one batch has.

    Batches are random, or blocks of neighbours where rows are best read in order. The rows held aside are a random
    sample of all in both cases: a block of neighbours would not look like the data if these are sorted.
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
    """A permutation cut into pieces; the first one is held aside."""

    shuffled: IntArray
    bounds: IntArray

    @property
    def n_batches(self) -> int:
        """How many batches are contracted."""
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
    """Neighbours: positions from ``start`` to ``stop``, and which of them, counted from ``start``, are held aside."""

    start: int
    stop: int
    held: IntArray

    def batch(self, n_active: int) -> Batch:
        """Return the block as a batch of ``n_active`` positions."""
        is_held = np.zeros(self.stop - self.start, dtype=bool)
        is_held[self.held] = True
        positions = np.arange(self.start, self.stop, dtype=index_dtype(n_active))
        return Batch(positions[~is_held], positions[is_held])


@dataclass(frozen=True)
class BlocksInOrder:
    """Blocks of neighbours, of each of which some random rows are held aside: as many in all as one batch has."""

    n_active: int
    n_with_held_aside: int
    rng: np.random.Generator

    @property
    def n_batches(self) -> int:
        """How many batches are contracted."""
        return self.n_with_held_aside - 1

    @property
    def held_aside(self) -> IntArray:
        """Every row is in a block: those held aside are read with the others."""
        return _no_rows(self.n_active)

    def __iter__(self) -> Iterator[Batch]:
        return (block.batch(self.n_active) for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, which are small however many rows they have."""
        held_bounds = _bounds(self.n_active // self.n_with_held_aside, self.n_batches)
        blocks = pairwise(block_bounds(self.n_active, self.n_with_held_aside).tolist())
        for (start, stop), (held_start, held_stop) in zip(blocks, pairwise(held_bounds), strict=True):
            held = self.rng.choice(stop - start, size=held_stop - held_start, replace=False, shuffle=False)
            yield Block(start, stop, held)


def block_bounds(n_active: int, n_with_held_aside: int) -> IntArray:
    """Return where blocks of neighbours begin, and where the last one ends."""
    return _bounds(n_active, n_with_held_aside - 1)


def _bounds(n_rows: int, n_parts: int) -> IntArray:
    return np.linspace(0, n_rows, n_parts + 1).astype(np.int64)


def _no_rows(n_active: int) -> IntArray:
    return np.empty(0, dtype=index_dtype(n_active))
