"""Where rows are read from and where what grows with them is kept: what the algorithm asks, and the plain answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.get_clusters import take_features
from cohirf.algorithm.grouping import IntArray


class Rows(Protocol):
    """Rows that can be read by number."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def take(self, rows: IntArray) -> Any:
        """Return the given rows (distinct, rising) as an array or CSR matrix."""


class Gatherer(Protocol):
    """Takes blocks of rows one after the other, and gives all of them back as one set of rows."""

    def add(self, values: Any) -> None:
        """Append a block of rows."""

    def rows(self) -> Rows:
        """Return the rows of all blocks."""


class Storage(Protocol):
    """Keeps what grows with the data."""

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return a vector with an entry for each row, to be written to."""

    def gather(self) -> Gatherer:
        """Return a place for rows that are carried from one level to the next."""

    def release(self) -> None:
        """Let go of memory in which parts of the vectors are held, if they are kept elsewhere."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array or CSR matrix."""

    X: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def take(self, rows: IntArray) -> Any:
        """Return the given rows, which are distinct and rising; all of them are the data itself, not a copy."""
        if len(rows) == self.n_rows:
            return self.X
        if sparse.issparse(self.X):
            return self.X[rows]
        return np.asarray(self.X).take(rows, axis=0, mode="clip")  # rows are in range; not to check is twice as fast


@dataclass(frozen=True)
class RowsWithFeatures:
    """Some of the features of rows: those that are read at a time have all of them for a moment."""

    rows: Rows
    features: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def take(self, rows: IntArray) -> Any:
        """Return the given rows, which are distinct and rising."""
        return take_features(self.rows.take(rows), self.features)


@dataclass(frozen=True)
class RowsReadOnce:
    """Some of the rows, which are read together when any of them are asked for."""

    values: Rows
    rows: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def in_memory(self) -> ArrayRows:
        """The rows, read."""
        return ArrayRows(self.values.take(self.rows))

    def take(self, rows: IntArray) -> Any:
        """Return the given ones of these rows."""
        return self.in_memory.take(rows)


@dataclass(frozen=True)
class MemoryGatherer:
    """Keeps blocks of rows in memory."""

    blocks: list[Any] = field(default_factory=list)

    def add(self, values: Any) -> None:
        """Append a block of rows."""
        self.blocks.append(values)

    def rows(self) -> ArrayRows:
        """Return the rows of all blocks."""
        stack = sparse.vstack if sparse.issparse(self.blocks[0]) else np.concatenate
        return ArrayRows(stack(self.blocks))


@dataclass(frozen=True)
class MemoryStorage:
    """Keeps everything in memory."""

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return a vector with an entry for each row, to be written to."""
        return np.empty(n_rows, dtype=dtype)

    def gather(self) -> MemoryGatherer:
        """Return a place for rows that are carried from one level to the next."""
        return MemoryGatherer()

    def release(self) -> None:
        """Do nothing: there is nowhere else."""
