"""Vectors with an entry for each row, wherever they are: in memory or a file, on a device, on Dask.

``place_of(vector)`` answers what a model asks of such vectors. To keep them elsewhere, write a
subclass of ``Place`` here, and name it in ``PLACES``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cohirf.engines.dask import compute_unoptimised, dask, dask_array, gather_vectors, is_dask
from cohirf.rows import arrays
from cohirf.rows.grouping import IntArray, count_by_label, leave_out, put_back, row_blocks
from cohirf.rows.storage import Engine, SerialEngine, Storage
from cohirf.scratch import ScratchStorage, is_scratch
from cohirf.summary.policy import KEEP

# Given the numbers of some rows, and their entries in some vectors: new entries
OfRows = Callable[..., tuple[Any, ...]]


class Place:
    """Where vectors with an entry for each row are."""

    # what messages call a vector that has to be loaded first; None in this process
    elsewhere: ClassVar[str | None] = None
    # whether updates load vectors that are elsewhere
    loads_unasked: ClassVar[bool] = False

    def holds(self, vector: Any) -> bool:
        """Return whether a vector is in this place."""
        raise NotImplementedError

    def look_up(self, table: NDArray[Any], numbers: Any, engine: Engine | None) -> Any:
        """Return the entries of a table at the given numbers, where these are."""
        return arrays.look_up(table, numbers)

    def fetch(self, vector: Any, rows: IntArray) -> NDArray[Any]:
        """Return the entries of some rows as an array of NumPy."""
        return np.asarray(arrays.fetch_rows(vector, rows))

    def count(self, numbers: Any, n_numbers: int) -> IntArray:
        """Return how often each number occurs."""
        return count_by_label(numbers, n_numbers)

    def put(self, vector: Any, rows: IntArray, entries: Any) -> Any:
        """Return a vector with other entries at some rows (sorted, distinct)."""
        return put_back(leave_out(vector, rows), entries, rows)

    def join(self, vectors: Sequence[Any]) -> Any:
        """Concatenate vectors, of which one is in this place, and the others may be here."""
        return arrays.join_rows(list(vectors))

    def load(self, vectors: Sequence[Any]) -> list[NDArray[Any]]:
        """Return vectors in this process."""
        return [np.asarray(arrays.to_host(vector)) for vector in vectors]

    def map_rows(self, function: OfRows, vectors: Sequence[Any], kinds: Sequence[Any]) -> Any:
        """Apply a function to the numbers of all rows, and to vectors.

        It returns entries of as many vectors as there are ``kinds``, their types.
        """
        raise NotImplementedError


class InProcess(Place):
    """Vectors in this process: arrays of NumPy, which may be files."""

    def holds(self, vector: Any) -> bool:
        """Return whether a vector is an array of NumPy."""
        return isinstance(vector, np.ndarray)

    def look_up(self, table: NDArray[Any], numbers: Any, engine: Engine | None) -> Any:
        """Return the entries of a table at the given numbers, in a file if these are in one."""
        storage = storage_like(numbers)
        found = storage.vector(len(numbers), table.dtype)
        tasks = [
            (found, table, numbers, block) for block in row_blocks(len(numbers), KEEP.block_rows)
        ]
        for _ in (engine or SerialEngine()).run(look_up_block, tasks, len(tasks)):
            storage.release()
        return found

    def put(self, vector: Any, rows: IntArray, entries: Any) -> Any:
        """Change the vector in place, and return it."""
        vector[rows] = arrays.to_host(entries)
        return vector

    def join(self, vectors: Sequence[Any]) -> Any:
        """Concatenate vectors, in a file if one of them is in a file."""
        joined = _storage_for(vectors).vector(sum(map(len, vectors)), vectors[0].dtype)
        np.concatenate(vectors, out=joined)
        return joined

    def map_rows(self, function: OfRows, vectors: Sequence[Any], kinds: Sequence[Any]) -> Any:
        """Apply a function to blocks of rows; results are in files if a vector is in one."""
        storage = _storage_for(vectors)
        n_rows = len(vectors[0])
        found = [storage.vector(n_rows, kind) for kind in kinds]
        for block in row_blocks(n_rows, KEEP.block_rows):
            numbers = np.arange(block.start, block.stop)
            of_block = function(numbers, *(vector[block] for vector in vectors))
            for vector, values in zip(found, of_block, strict=True):
                vector[block] = values
            storage.release()
        return found


class OnDask(Place):
    """Vectors that are arrays of Dask."""

    elsewhere: ClassVar[str | None] = "a Dask array"

    def holds(self, vector: Any) -> bool:
        """Return whether a vector is on Dask."""
        return is_dask(vector)

    def look_up(self, table: NDArray[Any], numbers: Any, engine: Engine | None) -> Any:
        """Return the entries of a table at the given numbers, chunk by chunk."""
        # a task of its own, so that the table is sent to each worker only once
        sent = dask().delayed(table, pure=False, traverse=False)
        return numbers.map_blocks(
            _take_entries, table=sent, dtype=table.dtype, meta=table[:0], token="cohirf_look_up"
        )

    def fetch(self, vector: Any, rows: IntArray) -> NDArray[Any]:
        """Return the entries of some rows as an array of NumPy."""
        (entries,) = compute_unoptimised(vector[rows])
        return np.asarray(entries)

    def count(self, numbers: Any, n_numbers: int) -> IntArray:
        """Return how often each number occurs."""
        (counts,) = compute_unoptimised(dask_array().bincount(numbers, minlength=n_numbers))
        return np.asarray(counts)

    def put(self, vector: Any, rows: IntArray, entries: Any) -> Any:
        """Return a vector with other entries at some rows (sorted, distinct)."""
        own = dask_array().arange(vector.shape[0], chunks=vector.chunks)
        return vector.map_blocks(
            _put_into_chunk, own, rows=rows, entries=entries, dtype=vector.dtype
        )

    def join(self, vectors: Sequence[Any]) -> Any:
        """Concatenate vectors; those of this process are sent."""
        da = dask_array()
        return da.concatenate([da.asarray(vector) for vector in vectors])

    def load(self, vectors: Sequence[Any]) -> list[NDArray[Any]]:
        """Return vectors in files, in one computation."""
        return gather_vectors(vectors, ScratchStorage())

    def map_rows(self, function: OfRows, vectors: Sequence[Any], kinds: Sequence[Any]) -> Any:
        """Apply a function chunk by chunk."""
        da = dask_array()
        chunks = vectors[0].chunks
        own = da.arange(vectors[0].shape[0], chunks=chunks)
        alike = [vector.rechunk(chunks) for vector in vectors]
        # to each worker once
        sent = dask().delayed(function, pure=False, traverse=False)
        return [
            da.map_blocks(
                _of_chunk,
                own,
                *alike,
                function=sent,
                which=which,
                dtype=kind,
                meta=np.empty(0, kind),
            )
            for which, kind in enumerate(kinds)
        ]


class OnDevice(Place):
    """Vectors in another array library, on the device of the user's data."""

    elsewhere: ClassVar[str | None] = "on a device"
    loads_unasked: ClassVar[bool] = True

    def holds(self, vector: Any) -> bool:
        """Return True: this place is asked after the others."""
        return True

    def map_rows(self, function: OfRows, vectors: Sequence[Any], kinds: Sequence[Any]) -> Any:
        """Apply a function to all rows at once."""
        xp = arrays.namespace(vectors[0])
        n_rows = int(vectors[0].shape[0])
        own = xp.arange(n_rows, dtype=xp.int64, device=vectors[0].device)
        return list(function(own, *vectors))


PLACES: tuple[Place, ...] = (InProcess(), OnDask(), OnDevice())


def place_of(vector: Any) -> Place:
    """Return the place of a vector."""
    return next(place for place in PLACES if place.holds(vector))


def look_up(table: NDArray[Any], numbers: Any, engine: Engine | None = None) -> Any:
    """Return the entries of a table at the given numbers, where these are.

    An ``engine`` runs blocks of them as tasks, which must be able to write into vectors of this
    process.
    """
    return place_of(numbers).look_up(table, numbers, engine)


def join(vectors: Sequence[Any]) -> Any:
    """Concatenate vectors; if one is elsewhere, the result is, too."""
    if len(vectors) == 1:
        return vectors[0]
    places = [place_of(vector) for vector in vectors]
    return next((place for place in places if place.elsewhere), places[0]).join(vectors)


def load(vectors: Sequence[Any]) -> list[Any]:
    """Return vectors of any places in this process: those on Dask in files, in one computation."""
    found = list(vectors)
    for place in PLACES:
        own = [number for number, vector in enumerate(vectors) if place_of(vector) is place]
        for number, vector in zip(
            own, place.load([vectors[number] for number in own]), strict=True
        ):
            found[number] = vector
    return found


def look_up_block(
    found: NDArray[Any], table: NDArray[Any], numbers: IntArray, block: slice
) -> None:
    """Write the entries of a table at some numbers into a vector."""
    np.take(table, numbers[block], out=found[block], mode="clip")


def storage_like(vector: Any) -> Storage:
    """Return where vectors of the same length are kept: in files, if this one is.

    Both are released then.
    """
    if not isinstance(vector, np.memmap):
        return Storage()
    return ScratchStorage(mappings=[vector._mmap] if is_scratch(vector) else [])  # type: ignore[attr-defined]


def _storage_for(vectors: Sequence[Any]) -> Storage:
    on_disk = any(isinstance(vector, np.memmap) for vector in vectors)
    return ScratchStorage() if on_disk else Storage()


def _take_entries(numbers: IntArray, table: NDArray[Any]) -> NDArray[Any]:
    return table[numbers]


def _put_into_chunk(
    chunk: NDArray[Any], own: IntArray, rows: IntArray, entries: NDArray[Any]
) -> NDArray[Any]:
    changed = np.array(chunk)
    if len(own):
        some = slice(*np.searchsorted(rows, [own[0], own[-1] + 1]).tolist())
        changed[rows[some] - own[0]] = entries[some]
    return changed


def _of_chunk(own: IntArray, *vectors: Any, function: OfRows, which: int) -> NDArray[Any]:
    found: NDArray[Any] = function(own, *vectors)[which]
    return found
