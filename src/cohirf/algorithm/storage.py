"""Interfaces for reading rows and for storing arrays that grow with the data, with in-memory implementations."""

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
        """Return the given rows (sorted, distinct) as an array or CSR matrix."""


class Gatherer(Protocol):
    """Collects blocks of rows one after the other, and returns all of them as one set of rows."""

    def add(self, values: Any) -> None:
        """Append a block of rows."""

    def rows(self) -> Rows:
        """Return the rows of all blocks."""


class Storage(Protocol):
    """Stores arrays that grow with the data."""

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised vector with one entry for each row."""

    def gather(self) -> Gatherer:
        """Return an object that collects the rows that later levels read."""

    def release(self) -> None:
        """Release memory that caches parts of the vectors, if they are stored on disk."""


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array or CSR matrix."""

    X: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def take(self, rows: IntArray) -> Any:
        """Return the given rows (sorted, distinct); if all rows are asked for, the data itself, not a copy."""
        if len(rows) == self.n_rows:
            return self.X
        if sparse.issparse(self.X):
            return self.X[rows]
        return np.asarray(self.X).take(rows, axis=0, mode="clip")  # rows are in range; no check is twice as fast


@dataclass(frozen=True)
class RowsWithFeatures:
    """Rows with a subset of the features. Reading loads all features of the requested rows first."""

    rows: Rows
    features: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def take(self, rows: IntArray) -> Any:
        """Return the given rows (sorted, distinct) with the selected features."""
        return take_features(self.rows.take(rows), self.features)


@dataclass(frozen=True)
class RowsReadOnce:
    """A subset of rows, which are read together on first use and then kept in memory."""

    values: Rows
    rows: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def in_memory(self) -> ArrayRows:
        """The rows in memory."""
        return ArrayRows(self.values.take(self.rows))

    def take(self, rows: IntArray) -> Any:
        """Return the rows at the given positions in this subset."""
        return self.in_memory.take(rows)


@dataclass(frozen=True)
class MemoryGatherer:
    """Collects blocks of rows in memory."""

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
        """Return an uninitialised vector with one entry for each row."""
        return np.empty(n_rows, dtype=dtype)

    def gather(self) -> MemoryGatherer:
        """Return an object that collects the rows that later levels read."""
        return MemoryGatherer()

    def release(self) -> None:
        """Do nothing: the vectors are stored in memory only."""
