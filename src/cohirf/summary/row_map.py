"""Which group each row belongs to, wherever the rows are: in memory, in a file, on Dask or on a device.

A map has a part for each update, so that an update adds to it and never rewrites it. A part numbers its groups from 0.
Where these groups are now, after others were removed or put together, is a table with an entry for each group, not for
each row. Results by row, such as labels, are looked up through the map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.engines.dask import compute_unoptimised, dask, dask_array, gather_vectors, is_dask
from cohirf.rows import arrays
from cohirf.rows.grouping import IntArray, count_by_label, leave_out, put_back, row_blocks
from cohirf.rows.storage import Engine, MemoryStorage, SerialEngine, Storage
from cohirf.scratch import ScratchStorage, is_scratch

LOOKED_UP = 2**20  # rows that are looked up at a time


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that follow each other."""

    # for each row, the number of its group among those of the part; an array of NumPy, of Dask or on a device
    leaf_of: Any
    stability: Any  # stability of each row at the first level, in the same place
    position: IntArray  # for each group of the part, its position among all groups of the model now

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.leaf_of.shape[0])

    @property
    def is_here(self) -> bool:
        """Whether the vectors are in this process."""
        return isinstance(self.leaf_of, np.ndarray)

    def look_up(self, table: NDArray[Any], engine: Engine | None = None) -> Any:
        """Return what a table with an entry for each group of the model says about each row."""
        return look_up(table[self.position], self.leaf_of, engine)

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the group of the model of each of the given rows, by their numbers in the part."""
        leaves: IntArray = self.position[fetch(self.leaf_of, rows)]
        return leaves

    def with_leaves(self, rows: IntArray, leaves: Any) -> Part:
        """Return the part after the given rows (sorted) have joined other groups of it."""
        return replace(self, leaf_of=put(self.leaf_of, rows, leaves))

    def without(self, rows: IntArray) -> Part:
        """Return the part without the given rows (sorted), by their numbers in it."""
        return replace(self, leaf_of=leave_out(self.leaf_of, rows), stability=leave_out(self.stability, rows))

    def mapped(self, function: Callable[[Any], Any]) -> Part:
        """Return the part with other vectors, such as copies in another place."""
        return replace(self, leaf_of=function(self.leaf_of), stability=function(self.stability))


@dataclass(frozen=True, eq=False)
class RowMap:
    """The group of each row, part by part."""

    parts: tuple[Part, ...] = ()

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

    def followed_by(self, parts: Sequence[Part]) -> RowMap:
        """Return the map with more rows."""
        return RowMap((*self.parts, *parts))

    def moved(self, position: IntArray) -> RowMap:
        """Return the map after the group at position ``i`` has moved to ``position[i]``."""
        return RowMap(tuple(replace(part, position=position[part.position]) for part in self.parts))

    def gathered(self) -> RowMap:
        """Return the map in this process: what is on Dask goes to files, what is on a device into memory."""
        if self.is_here:
            return self
        elsewhere = [vector for part in self.parts for vector in (part.leaf_of, part.stability) if is_dask(vector)]
        loaded = iter(gather_vectors(elsewhere, ScratchStorage()))  # in one computation

        def gather(vector: Any) -> Any:
            return next(loaded) if is_dask(vector) else np.asarray(arrays.to_host(vector))

        return RowMap(tuple(part.mapped(gather) for part in self.parts))

    def count(self, n_leaves: int) -> IntArray:
        """Return the number of rows of each group of the model."""
        counts = np.zeros(n_leaves, dtype=np.int64)
        for part in self.parts:
            np.add.at(counts, part.position, count(part.leaf_of, len(part.position)))
        return counts

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the group of each of the given rows (sorted)."""
        bounds = np.searchsorted(rows, [*self.starts, self.n_rows])
        found = [
            part.find_leaves(rows[first:last] - start)
            for part, start, first, last in zip(self.parts, self.starts, bounds, bounds[1:], strict=False)
            if first < last
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])


def look_up(table: NDArray[Any], numbers: Any, engine: Engine | None = None) -> Any:
    """Return the entries of a table at the given numbers, where these are.

    An ``engine`` runs blocks of them as tasks, which must be able to write into vectors of this process.
    """
    if is_dask(numbers):
        # a task of its own, so that the table is sent to each worker only once
        sent = dask().delayed(table, pure=False, traverse=False)
        return numbers.map_blocks(_take_entries, table=sent, dtype=table.dtype, meta=table[:0], token="cohirf_look_up")
    if not isinstance(numbers, np.ndarray):
        return arrays.look_up(table, numbers)
    storage = storage_like(numbers)
    found = storage.vector(len(numbers), table.dtype)
    tasks = [(found, table, numbers, block) for block in row_blocks(len(numbers), LOOKED_UP)]
    for _ in (engine or SerialEngine()).run(look_up_block, tasks, len(tasks)):
        storage.release()
    return found


def look_up_block(found: NDArray[Any], table: NDArray[Any], numbers: IntArray, block: slice) -> None:
    """Write the entries of a table at some numbers into a vector."""
    np.take(table, numbers[block], out=found[block], mode="clip")


def storage_like(vector: Any) -> Storage:
    """Return where vectors of the same length are kept: in files, if this one is; both are released then."""
    if not isinstance(vector, np.memmap):
        return MemoryStorage()
    return ScratchStorage(mappings=[vector._mmap] if is_scratch(vector) else [])  # type: ignore[attr-defined]


def _take_entries(numbers: IntArray, table: NDArray[Any]) -> NDArray[Any]:
    return table[numbers]


def fetch(vector: Any, rows: IntArray) -> NDArray[Any]:
    """Return the entries of some rows as an array of NumPy."""
    if is_dask(vector):
        (entries,) = compute_unoptimised(vector[rows])
        return np.asarray(entries)
    return np.asarray(arrays.fetch_rows(vector, rows))


def count(numbers: Any, n_numbers: int) -> IntArray:
    """Return how often each number occurs."""
    if not is_dask(numbers):
        return count_by_label(numbers, n_numbers)
    (counts,) = compute_unoptimised(dask_array().bincount(numbers, minlength=n_numbers))
    return np.asarray(counts)


def put(vector: Any, rows: IntArray, entries: Any) -> Any:
    """Return a vector with other entries at some rows (sorted, distinct); one in this process is changed in place."""
    if isinstance(vector, np.ndarray):
        vector[rows] = arrays.to_host(entries)
        return vector
    if is_dask(vector):
        own = dask_array().arange(vector.shape[0], chunks=vector.chunks)
        return vector.map_blocks(_put_into_chunk, own, rows=rows, entries=entries, dtype=vector.dtype)
    return put_back(leave_out(vector, rows), entries, rows)


def _put_into_chunk(chunk: NDArray[Any], own: IntArray, rows: IntArray, entries: NDArray[Any]) -> NDArray[Any]:
    changed = np.array(chunk)
    if len(own):
        some = slice(*np.searchsorted(rows, [own[0], own[-1] + 1]).tolist())
        changed[rows[some] - own[0]] = entries[some]
    return changed
