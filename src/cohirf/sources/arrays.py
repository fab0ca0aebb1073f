"""Sources of two-dimensional arrays: in memory, in ``.npy`` files, of Zarr and of Dask."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.optional import import_optional
from cohirf.rows.grouping import IntArray, row_blocks
from cohirf.sources.files import FileStamp, SourceChangedError, naming, reading, shown
from cohirf.sources.policy import READ
from cohirf.sources.remote import Url, stamp
from cohirf.sources.remote_zarr import METADATA, RemoteFolder
from cohirf.sources.source import ColumnChoice, Source, StreamedSource, rows_within

DASK_ARRAY = "The Dask array"


class ArraySource(Source):
    """A two-dimensional array or CSR matrix ``X``, which is never modified."""

    in_memory: ClassVar[bool] = True  # pickling it would pickle all values

    def __init__(self, X: Any, feature_names: Sequence[str] | None = None, name: str = "") -> None:
        name = name or ("The CSR matrix" if sparse.issparse(X) else "The array")
        super().__init__(name, X.shape, X.dtype, feature_names=feature_names)
        self.X = X

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        out[...] = self.X[start : start + len(out)]

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        out[...] = self.X[rows]

    def _gather(self, rows: IntArray) -> Any:
        if sparse.issparse(self.X):
            return self.X[rows].astype(self.dtype, copy=False)
        return super()._gather(rows)

    def _content(self) -> Iterator[Any]:
        if sparse.issparse(self.X):
            parts: tuple[Any, ...] = (self.X.data, self.X.indices, self.X.indptr)
        else:
            parts = (self.X,)
        for part in parts:
            yield part.dtype.str.encode()
            for block in row_blocks(len(part)):
                yield np.ascontiguousarray(part[block])


class NpySource(Source):
    """A ``.npy`` file with a two-dimensional array of numbers.

    Fortran order needs one read per column.

    Rows are read, not memory-mapped: mapped pages count as resident memory, so a fit that reads the
    whole file would seem to hold all of it in memory.
    """

    format_name = ".npy"

    def __init__(self, path: str | os.PathLike[str], columns: ColumnChoice = None) -> None:
        self._file = stamp(path)
        with reading(self._file, ".npy"), self._file.open() as file:
            shape, is_fortran, self._stored = _read_header(file)
            self._offset = file.tell()
            if self._offset + math.prod(shape) * self._stored.itemsize > self._file.size:
                raise EOFError("it ends before its last row")
        super().__init__(self._file.name, shape, self._stored, columns=columns)
        self._width = shape[1]
        self._by_column = is_fortran and min(shape) > 1

    @property
    def _nearby(self) -> int:
        return rows_within(
            READ.seek_bytes, self._stored.itemsize * (1 if self._by_column else self._width)
        )

    def _refuse_changes(self) -> None:
        self._file.refuse_changes()

    def _content(self) -> Iterator[Any]:
        return self._file.content(64)

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        if self._columns is None:
            chosen = np.arange(self._width)
        else:
            chosen = np.array(self._columns)
        with reading(self._file, ".npy"), self._file.open() as file:
            if self._by_column:
                for place, column in enumerate(chosen.tolist()):
                    out[:, place] = self._read(file, column * self.n_rows + start, len(out))
            elif self._stored == self.dtype and self._columns is None:
                file.seek(self._offset + start * self._width * self._stored.itemsize)
                if file.readinto(out.data) < out.nbytes:  # type: ignore[attr-defined]
                    raise EOFError(f"it ends before row {start + len(out):,}")
            else:
                for block in row_blocks(
                    len(out), rows_within(READ.piece_bytes, self._width * self._stored.itemsize)
                ):
                    n_cells = (block.stop - block.start) * self._width
                    rows = self._read(file, (start + block.start) * self._width, n_cells).reshape(
                        -1, self._width
                    )
                    out[block] = rows.take(chosen, axis=1)

    def _read(self, file: BinaryIO, cell: int, n_cells: int) -> NDArray[Any]:
        """Return consecutive cells, from number ``cell`` on."""
        file.seek(self._offset + cell * self._stored.itemsize)
        values = np.empty(n_cells, self._stored)
        if file.readinto(values.data.cast("B")) < values.nbytes:  # type: ignore[attr-defined]
            raise EOFError("it ends before its last row")
        return values


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether the order is Fortran's, and type.

    The file is then at its first cell.
    """
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, is_fortran, stored = np.lib.format.read_array_header_1_0(file)
    else:  # version 3 is for names of fields that are not Latin, which a table of numbers has not
        shape, is_fortran, stored = np.lib.format.read_array_header_2_0(file)
    if stored.hasobject:
        raise ValueError("it holds Python objects")
    return shape, is_fortran, stored


class ZarrSource(StreamedSource):
    """A two-dimensional Zarr array, which is decoded a few rows of chunks at a time."""

    format_name = "Zarr"

    def __init__(self, data: str | os.PathLike[str] | Any, columns: ColumnChoice = None) -> None:
        self._folder = RemoteFolder(data) if isinstance(data, Url) else None
        if self._folder is not None:
            data = self._folder.open()
        self._path = _path_of(data)
        self._array = data if self._path is None else None
        name = self._find_name()
        if self._path is None:
            self._file = None
        else:
            self._file = FileStamp.of(_metadata_file(self._path))
        array = self._open()
        if hasattr(array, "array_keys"):
            example = next((f", such as {key!r}" for key in sorted(array.array_keys())), "")
            raise ValueError(f"{name} is a group of arrays: open one of them{example}.")
        # other dimensions are refused below
        n_rows, n_columns = array.shape if array.ndim == 2 else (1, 1)
        chunk_rows = array.chunks[0] if array.ndim else 1
        self._piece_rows = chunk_rows * rows_within(
            READ.piece_bytes, chunk_rows * max(1, n_columns) * array.dtype.itemsize
        )
        starts = range(0, n_rows, self._piece_rows)
        super().__init__(name, array.shape, array.dtype, columns=columns, starts=starts)
        self._newest_ns, self._is_complete = self._stamp_chunks(array)

    def _find_name(self) -> str:
        if self._folder is not None:
            return str(self._folder.url)
        return "The Zarr array" if self._path is None else shown(self._path)

    def _refuse_changes(self) -> None:
        if self._file is not None:
            self._file.refuse_changes()

    def _content(self) -> Iterator[Any]:
        if self._folder is not None:
            yield from self._folder.content()
            return
        if self._file is not None:
            yield from self._file.content(64)
        if self._newest_ns is not None:
            yield str(self._newest_ns).encode()
        yield from super()._content()

    def _pieces(self, number: int) -> Iterator[Any]:
        array = self._open()
        for start in range(int(self._starts[number]), self.n_rows, self._piece_rows):
            stop = min(start + self._piece_rows, self.n_rows)
            try:
                with naming(self.name, "a Zarr array"):
                    piece = np.asarray(array[start:stop])
            finally:
                self._refuse_changed_chunks(array, start, stop)
            yield piece if self._columns is None else piece.take(self._columns, axis=1)

    def _stamp_chunks(self, array: Any) -> tuple[int | None, bool]:
        """Return the newest modification time of the chunk files of a folder, and whether there is
        one for each chunk.

        There may be very many of them, so their times are not stored one by one: a chunk that is
        newer than the newest one at opening has changed. A chunk that is replaced by an older file
        is not detected.
        """
        if self._path is None or self._path.is_file():
            return None, False
        times = [_modified_ns(file) for file in self._chunk_files(array, 0, self.n_rows)]
        there = [time for time in times if time is not None]
        # a chunk of the fill value need not be stored
        return max(there, default=0), len(there) == len(times)

    def _refuse_changed_chunks(self, array: Any, start: int, stop: int) -> None:
        """Raise SourceChangedError if a chunk file of the given rows has changed or was deleted."""
        if self._newest_ns is None:
            return
        for file in self._chunk_files(array, start, stop):
            modified_ns = _modified_ns(file)
            is_gone = modified_ns is None and self._is_complete
            if is_gone or (modified_ns or 0) > self._newest_ns:
                raise SourceChangedError(
                    f"{shown(file)} {'was deleted' if is_gone else 'has changed'} since the array "
                    "was opened: open it again, and leave it as it is until the "
                    "fit is done."
                )

    def _chunk_files(self, array: Any, start: int, stop: int) -> Iterator[Path]:
        height, width = array.shards or array.chunks
        rows = range(start // height, -(-stop // height))
        columns = range(-(-array.shape[1] // width))
        for chunk in product(rows, columns):
            yield Path(self._path or "", array.metadata.encode_chunk_key(chunk))

    def _open(self) -> Any:
        if self._path is None:
            return self._array
        zarr = import_optional("zarr", "zarr", "Reading a Zarr array")
        with naming(shown(self._path), "a Zarr array"):
            return zarr.open(
                self._path if self._path.is_dir() else zarr.storage.ZipStore(self._path), mode="r"
            )


def _path_of(data: Any) -> Path | None:
    """Return the path of an array in the file system; None for an array in another store."""
    if isinstance(data, str | os.PathLike):
        return Path(data).absolute()
    if type(data.store).__name__ == "LocalStore":  # a path pickles smaller than an array
        return Path(data.store.root, data.path).absolute()
    return None


def _metadata_file(path: Path) -> Path:
    """Return the file that changes when the whole array is replaced."""
    if path.is_file():
        return path
    return next(path / name for name in METADATA if (path / name).is_file())


def _modified_ns(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return None


class DaskSource(StreamedSource):
    """A two-dimensional Dask array. The chunk that was computed last is kept in memory."""

    def __init__(self, array: Any, columns: ColumnChoice = None) -> None:
        refuse_unknown_chunks(array)
        row_chunks = array.chunks[0] if array.ndim else ()
        super().__init__(
            DASK_ARRAY,
            array.shape,
            array.dtype,
            columns=columns,
            starts=np.cumsum((0, *row_chunks[:-1])),
        )
        self.array = array if self._columns is None else array[:, self._columns]

    def _pieces(self, number: int) -> Iterator[Any]:
        for block in range(number, self.array.numblocks[0]):
            # the fit decides what runs in parallel
            yield np.asarray(self.array.blocks[block].compute(scheduler="synchronous"))


def refuse_unknown_chunks(array: Any) -> None:
    """Raise ValueError for a Dask array whose number of rows is unknown until it is computed."""
    if any(math.isnan(length) for length in array.shape):
        shape = tuple(array.shape)
        raise ValueError(
            f"{DASK_ARRAY} has unknown chunk sizes, shape {shape}: call "
            "array.compute_chunk_sizes() first."
        )
