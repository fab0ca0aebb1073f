"""Interfaces for reading rows and for storing arrays that grow with the data, with in-memory implementations."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.arrays import is_here, join_rows, take_rows
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

    def rows(self) -> Rows | None:
        """Return the rows of all blocks; None if there are none."""


class Storage(Protocol):
    """Stores arrays that grow with the data."""

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised vector with one entry for each row."""

    def matrix(self, n_rows: int, n_columns: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised matrix."""

    def gather(self) -> Gatherer:
        """Return an object that collects the rows that later levels read."""

    @property
    def is_shared(self) -> bool:
        """Whether other processes of this machine can write to the vectors."""

    def release(self) -> None:
        """Release memory that caches parts of the vectors, if they are stored on disk."""


def take_in_order(rows: Rows, numbers: IntArray) -> Any:
    """Return the given rows (distinct, in any order) in their order."""
    order = np.argsort(numbers)
    return take_rows(rows.take(numbers[order]), np.argsort(order))


def is_in_memory(rows: Rows) -> bool:
    """Return whether rows are in the memory of this process, so that pickling them would pickle all values."""
    return bool(getattr(rows, "in_memory", False))


def is_streamed(rows: Rows) -> bool:
    """Return whether rows are decoded in order, so that several threads that read them would hinder each other."""
    return bool(getattr(rows, "is_streamed", False))


def read_into(rows: Rows, numbers: slice | IntArray, out: NDArray[Any]) -> None:
    """Write the given rows into ``out``; consecutive rows and rows of arrays need no temporary copy."""
    if type(rows) is ArrayRows:  # a subclass may read rows in another way
        if isinstance(numbers, slice):
            out[...] = rows.X[numbers]
        else:
            np.take(rows.X, numbers, axis=0, out=out, mode="clip")
    elif isinstance(numbers, slice) and hasattr(rows, "fill"):
        rows.fill(numbers.start, out)
    else:
        out[...] = rows.take(np.arange(numbers.start, numbers.stop) if isinstance(numbers, slice) else numbers)


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, on any device, or of a CSR matrix."""

    X: Any

    in_memory: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_bytes(self) -> int:
        """Size of the values in memory."""
        return int(self.X.data.nbytes)

    def take(self, rows: IntArray) -> Any:
        """Return the given rows, in any order; if all rows are asked for in order, the data itself, not a copy."""
        if len(rows) == self.n_rows and bool((rows[1:] > rows[:-1]).all()):
            return self.X
        if sparse.issparse(self.X) or not is_here(self.X):
            return take_rows(self.X, rows)
        return np.asarray(self.X).take(rows, axis=0, mode="clip")  # rows are in range; no check is twice as fast


@dataclass(frozen=True)
class NumberedRows:
    """Rows that keep the numbers (sorted, distinct) that they have among other rows."""

    X: Any
    numbers: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def take(self, rows: IntArray) -> Any:
        """Return the rows with the given numbers."""
        return ArrayRows(self.X).take(np.searchsorted(self.numbers, rows))


@dataclass(frozen=True)
class RunRows:
    """The rows of one run, in its order, perhaps on a device. They are not read by number, but by offset."""

    X: Any


@dataclass(frozen=True)
class SomeRows:
    """A subset of rows, or all in another order, numbered by their position in it. They are read when needed."""

    values: Rows
    rows: IntArray

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in the memory of this process."""
        return is_in_memory(self.values)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def take(self, rows: IntArray) -> Any:
        """Return the rows at the given positions (sorted, distinct) in this subset."""
        return self.values.take(self.rows[rows])


@dataclass(frozen=True)
class StackedRows:
    """One set of rows followed by another; of these, ``n_rows`` rows from number ``start`` on."""

    first: Rows
    second: Rows
    n_rows: int
    start: int = 0

    @property
    def in_memory(self) -> bool:
        """Whether some of the rows are in the memory of this process."""
        return is_in_memory(self.first) or is_in_memory(self.second)

    @property
    def is_streamed(self) -> bool:
        """Whether some of the rows are decoded in order."""
        return is_streamed(self.first) or is_streamed(self.second)

    def take(self, rows: IntArray) -> Any:
        """Return the rows with the given numbers (sorted, distinct)."""
        rows, n_first = rows + self.start, self.first.n_rows
        cut = int(np.searchsorted(rows, n_first))
        if cut == len(rows):
            return self.first.take(rows)
        if cut == 0:
            return self.second.take(rows - n_first)
        blocks = [self.first.take(rows[:cut]), self.second.take(rows[cut:] - n_first)]
        return join_rows(blocks)


@dataclass(frozen=True)
class RowsReadOnce:
    """A subset of rows, which are read together on first use and then kept in memory."""

    values: Rows
    rows: IntArray

    in_memory: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def kept(self) -> ArrayRows:
        """The rows in memory."""
        return ArrayRows(self.values.take(self.rows))

    def take(self, rows: IntArray) -> Any:
        """Return the rows at the given positions in this subset."""
        return self.kept.take(rows)


@dataclass(frozen=True)
class MemoryGatherer:
    """Collects blocks of rows in memory."""

    blocks: list[Any] = field(default_factory=list)

    def add(self, values: Any) -> None:
        """Append a block of rows."""
        self.blocks.append(values)

    def rows(self) -> ArrayRows | None:
        """Return the rows of all blocks; None if there are none."""
        if not self.blocks:
            return None
        return ArrayRows(join_rows(self.blocks))


@dataclass(frozen=True)
class MemoryStorage:
    """Keeps everything in memory."""

    is_shared: ClassVar[bool] = False

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised vector with one entry for each row."""
        return np.empty(n_rows, dtype=dtype)

    def matrix(self, n_rows: int, n_columns: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised matrix."""
        return np.empty((n_rows, n_columns), dtype=dtype)

    def gather(self) -> MemoryGatherer:
        """Return an object that collects the rows that later levels read."""
        return MemoryGatherer()

    def release(self) -> None:
        """Do nothing: the vectors are stored in memory only."""
