"""A source of rows of a ``.npy`` file.

Rows are read, not memory-mapped: mapped pages count as resident memory of the process, so a fit that reads the whole
file would seem to hold all of it in memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import row_blocks
from cohirf.sources.columns import Columns
from cohirf.sources.files import FileStamp, naming
from cohirf.sources.source import PIECE_BYTES, Source, rows_within

SEEK_BYTES = 2**16  # reading this much takes about as long as starting another read


class NpySource(Source):
    """A ``.npy`` file with a two-dimensional array of numbers; Fortran order needs one read per column."""

    def __init__(self, path: str | os.PathLike[str], columns: Columns = None) -> None:
        self._file = FileStamp.of(path)
        with naming(self._file.name, ".npy"):
            header = np.lib.format.open_memmap(self._file.path, mode="r")  # reads only the header
        super().__init__(self._file.name, header.shape, header.dtype, columns=columns)
        self._width = header.shape[1]
        self._stored = header.dtype
        self._offset = int(header.offset)
        self._by_column = not header.flags.c_contiguous

    @property
    def _nearby(self) -> int:
        return rows_within(SEEK_BYTES, self._stored.itemsize * (1 if self._by_column else self._width))

    def _refuse_changes(self) -> None:
        self._file.refuse_changes()

    def _content(self) -> Iterator[Any]:
        return self._file.content(64)

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        with naming(self._file.name, ".npy"), self._file.path.open("rb") as file:
            if self._by_column:
                self._fill_by_column(file, start, out)
            elif self._stored == self.dtype and self._columns is None:
                self._seek(file, start * self._width)
                if file.readinto(out.data) < out.nbytes:
                    raise EOFError(f"it ends before row {start + len(out):,}")
            else:
                self._fill_and_convert(file, start, out)

    def _fill_and_convert(self, file: BinaryIO, start: int, out: NDArray[Any]) -> None:
        self._seek(file, start * self._width)
        for block in row_blocks(len(out), rows_within(PIECE_BYTES, self._width * self._stored.itemsize)):
            rows = self._read(file, len(out[block]) * self._width).reshape(-1, self._width)
            out[block] = rows if self._columns is None else rows.take(self._columns, axis=1)

    def _fill_by_column(self, file: BinaryIO, start: int, out: NDArray[Any]) -> None:
        for place, column in enumerate(range(self._width) if self._columns is None else self._columns):
            self._seek(file, column * self.n_rows + start)
            out[:, place] = self._read(file, len(out))

    def _seek(self, file: BinaryIO, cell: int) -> None:
        file.seek(self._offset + cell * self._stored.itemsize)

    def _read(self, file: BinaryIO, n_cells: int) -> NDArray[Any]:
        values = np.fromfile(file, self._stored, n_cells)
        if len(values) < n_cells:
            raise EOFError("it ends before its last row")
        return values
