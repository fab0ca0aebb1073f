"""A source of rows of a Zarr array, version 2 or 3: a folder, a zip file, or an array in another store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cohirf.optional import import_optional
from cohirf.sources.columns import Columns
from cohirf.sources.files import FileStamp, naming, shown
from cohirf.sources.source import PIECE_BYTES, rows_within
from cohirf.sources.streamed import StreamedSource
from cohirf.sources.zarr_chunks import ChunkStamp

METADATA = (".zarray", "zarr.json", ".zgroup")  # every Zarr folder contains one of them


class ZarrSource(StreamedSource):
    """A two-dimensional Zarr array, which is decoded a few rows of chunks at a time."""

    def __init__(self, data: str | os.PathLike[str] | Any, columns: Columns = None) -> None:
        self._path = _path_of(data)
        self._array = data if self._path is None else None
        name = "The Zarr array" if self._path is None else shown(self._path)
        self._file = None if self._path is None else FileStamp.of(_metadata_file(self._path))
        array = self._open()
        if hasattr(array, "array_keys"):
            example = min(array.array_keys(), default="X")
            raise ValueError(f"{name} is a group of arrays: open one of them, such as {example!r}.")
        n_rows, n_columns = array.shape if array.ndim == 2 else (1, 1)  # other dimensions are refused below
        chunk_rows = array.chunks[0] if array.ndim else 1
        self._piece_rows = chunk_rows * rows_within(PIECE_BYTES, chunk_rows * n_columns * array.dtype.itemsize)
        starts = range(0, n_rows, self._piece_rows)
        super().__init__(name, array.shape, array.dtype, columns=columns, starts=starts)
        self._chunks = None if self._path is None or self._path.is_file() else ChunkStamp.of(self._path, array)

    def _refuse_changes(self) -> None:
        if self._file is not None:
            self._file.refuse_changes()

    def _content(self) -> Iterator[Any]:
        if self._file is not None:
            yield from self._file.content(64)
        if self._chunks is not None:
            yield str(self._chunks.newest_ns).encode()
        yield from super()._content()

    def _pieces(self, number: int) -> Iterator[Any]:
        array = self._open()
        for start in range(int(self._starts[number]), self.n_rows, self._piece_rows):
            stop = min(start + self._piece_rows, self.n_rows)
            try:
                with naming(self.name, "a Zarr array"):
                    piece = np.asarray(array[start:stop])
            finally:
                if self._chunks is not None:
                    self._chunks.refuse_changes(array, start, stop)
            yield piece if self._columns is None else piece.take(self._columns, axis=1)

    def _open(self) -> Any:
        if self._path is None:
            return self._array
        zarr = import_optional("zarr", "zarr", "Reading a Zarr array")
        with naming(shown(self._path), "a Zarr array"):
            return zarr.open(self._path if self._path.is_dir() else zarr.storage.ZipStore(self._path), mode="r")


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
