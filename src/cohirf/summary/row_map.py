"""Which leaf each row belongs to: a part for each update, so that an update adds to it and never rewrites it.

A part numbers its leaves from 0. Where these leaves are now, after others were removed or put together, is a table with
an entry for each leaf, not for each row. Results by row, such as labels, are looked up when they are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks
from cohirf.algorithm.storage import MemoryStorage, Storage
from cohirf.scratch import ScratchStorage

LOOKED_UP = 2**20  # rows that are looked up at a time


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that follow each other.

    Attributes
    ----------
    leaf_of : array of int
        For each row, the number of its leaf among those of the part; a NumPy array or a Dask array.
    stability : array of float32
        Stability of each row at the first level.
    position : array of int
        For each leaf of the part, its position among all leaves of the model now.
    """

    leaf_of: Any
    stability: Any
    position: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.leaf_of.shape[0])

    @property
    def is_here(self) -> bool:
        """Whether the vectors are in this process, and not on Dask."""
        return isinstance(self.leaf_of, np.ndarray)

    def look_up(self, table: NDArray[Any]) -> Any:
        """Return what a table with an entry for each leaf of the model says about each row."""
        return look_up(table[self.position], self.leaf_of)

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf of the model of each of the given rows, by their numbers in the part."""
        numbers: IntArray = np.asarray(self.leaf_of[rows])
        return self.position[numbers]

    def without(self, rows: IntArray) -> Part:
        """Return the part without the given rows (sorted), by their numbers in it."""
        keep = np.ones(self.n_rows, dtype=bool)
        keep[rows] = False
        return replace(self, leaf_of=self.leaf_of[keep], stability=self.stability[keep])


@dataclass(frozen=True, eq=False)
class FittedPart:
    """The rows of a fit, whose leaves follow from its results: a row that was absorbed at level 1 is not a leaf.

    Attributes
    ----------
    parents, absorbed_at : array of int
        The hierarchy of the fit; NumPy arrays or Dask arrays.
    stability : array of float32
        Stability of each row.
    leaf_rows : array of int
        Row number of each leaf of the fit, sorted.
    position : array of int
        For each of these leaves, its position among all leaves of the model now.
    """

    parents: Any
    absorbed_at: Any
    stability: Any
    leaf_rows: IntArray
    position: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.parents.shape[0])

    @property
    def is_here(self) -> bool:
        """Whether the vectors are in this process, and not on Dask."""
        return isinstance(self.parents, np.ndarray)

    @property
    def leaf_of(self) -> Any:
        """For each row, the number of its leaf among those of the part."""
        if not self.is_here:
            own = _numbers_like(self.parents)
            return own.map_blocks(
                _find_leaf,
                self.parents,
                self.absorbed_at,
                leaf_rows=self.leaf_rows,
                dtype=np.int64,
                meta=np.empty(0, int),
            )
        storage: Storage = ScratchStorage() if isinstance(self.parents, np.memmap) else MemoryStorage()
        found = storage.vector(self.n_rows, index_dtype(self.n_rows))
        for block in row_blocks(self.n_rows, LOOKED_UP):
            own = np.arange(block.start, block.stop)
            found[block] = _find_leaf(own, self.parents[block], self.absorbed_at[block], self.leaf_rows)
        return found

    def look_up(self, table: NDArray[Any]) -> Any:
        """Return what a table with an entry for each leaf of the model says about each row."""
        return look_up(table[self.position], self.leaf_of)

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf of the model of each of the given rows, by their numbers in the part."""
        parents, absorbed_at = np.asarray(self.parents[rows]), np.asarray(self.absorbed_at[rows])
        return self.position[_find_leaf(rows, parents, absorbed_at, self.leaf_rows)]

    def without(self, rows: IntArray) -> Part:
        """Return the part without the given rows (sorted), by their numbers in it."""
        return Part(self.leaf_of, self.stability, self.position).without(rows)


def _find_leaf(own: IntArray, parents: IntArray, absorbed_at: IntArray, leaf_rows: IntArray) -> IntArray:
    """Return the number of the leaf of rows with the numbers ``own``."""
    return np.searchsorted(leaf_rows, np.where(absorbed_at == 1, parents, own))


def _numbers_like(vector: Any) -> Any:
    """Return the row numbers of a Dask vector, with the same chunks."""
    from cohirf.optional import import_optional

    return import_optional("dask.array", "dask", "A fit on Dask").arange(vector.shape[0], chunks=vector.chunks)


@dataclass(frozen=True, eq=False)
class RowMap:
    """The leaf of each row, part by part."""

    parts: tuple[Part | FittedPart, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(part.n_rows for part in self.parts)

    @property
    def is_here(self) -> bool:
        """Whether all parts are in this process."""
        return all(part.is_here for part in self.parts)

    @property
    def starts(self) -> IntArray:
        """Number of the first row of each part."""
        return np.cumsum([0, *(part.n_rows for part in self.parts)])[:-1]

    def followed_by(self, parts: Sequence[Part | FittedPart]) -> RowMap:
        """Return the map with more rows."""
        return RowMap((*self.parts, *parts))

    def moved(self, position: IntArray) -> RowMap:
        """Return the map after the leaf at each position has moved to the position beside it in ``position``."""
        return RowMap(tuple(replace(part, position=position[part.position]) for part in self.parts))

    def count(self, n_leaves: int) -> IntArray:
        """Return the number of rows of each leaf of the model."""
        counts = np.zeros(n_leaves, dtype=np.int64)
        for part in self.parts:
            leaf_of = part.leaf_of
            for block in row_blocks(part.n_rows, LOOKED_UP):
                np.add.at(counts, part.position, np.bincount(leaf_of[block], minlength=len(part.position)))
        return counts

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf of each of the given rows (sorted)."""
        bounds = np.searchsorted(rows, [*self.starts, self.n_rows])
        found = [
            part.find_leaves(rows[first:last] - start)
            for part, start, first, last in zip(self.parts, self.starts, bounds, bounds[1:], strict=False)
            if first < last
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])


def look_up(table: NDArray[Any], numbers: Any) -> Any:
    """Return the entries of a table at the given numbers, which may be on disk or on Dask."""
    if not isinstance(numbers, np.ndarray):
        return numbers.map_blocks(table.__getitem__, dtype=table.dtype, meta=table[:0])
    storage: Storage = ScratchStorage() if isinstance(numbers, np.memmap) else MemoryStorage()
    found = storage.vector(len(numbers), table.dtype)
    for block in row_blocks(len(numbers), LOOKED_UP):
        found[block] = table[numbers[block]]
    storage.release()
    return found
