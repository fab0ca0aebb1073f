"""A source of rows of an Arrow IPC file (.arrow, .feather, .ipc), in the file or the stream format."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.sources.arrow_batches import (
    are_plain,
    has_file_format,
    map_file,
    open_batches,
    open_file,
    read_batches,
)
from cohirf.sources.arrow_columns import choose_fields, common_type, copy_batch
from cohirf.sources.columns import Columns
from cohirf.sources.files import FileStamp, Origin, SourceChangedError, naming
from cohirf.sources.source import rows_within
from cohirf.sources.streamed import StreamedSource
from cohirf.store.files import TemporaryFile

KIND = "an Arrow file"
LOADED_BYTES = 2**26  # larger record batches are memory-mapped, if possible
MAPPED_BYTES = 2**24


class ArrowSource(StreamedSource):
    """Numeric columns of an Arrow IPC file.

    Record batches are loaded one by one. Very large uncompressed ones in the file format are read through a memory map,
    which is renewed regularly because mapped pages count as resident memory.

    Parameters
    ----------
    path : path
        The file.
    columns : list of str, optional
        The columns to read; all of them if None.
    origin : Origin, optional
        The data that this file was converted from: error messages name it, and the fingerprint identifies it.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Columns = None, *, origin: Origin | None = None) -> None:
        self._path = path  # a temporary file exists as long as it is referenced
        self._is_temporary = isinstance(path, TemporaryFile)
        self._file = FileStamp.of(path)
        self._origin: Origin = origin or self._file
        with naming(self._file.name, KIND), map_file(self._file) as file:
            schema = open_batches(file).schema
            is_file_format = has_file_format(file)
            is_plain = is_file_format and are_plain(file)
            # the rows of compressed batches are counted by decoding the first column
            sizes = [len(batch) for batch in read_batches(file, [] if is_plain else [0])]
        types = choose_fields(self._origin.name, schema, columns)
        self._fields = [schema.get_field_index(name) for name in types]
        super().__init__(
            self._origin.name,
            (sum(sizes), len(types)),
            common_type(types),
            feature_names=list(types),
            starts=np.cumsum([0, *sizes[:-1]]) if is_file_format else [0],
        )
        self._is_mapped = is_plain and max(sizes) * self.n_features * self.dtype.itemsize > LOADED_BYTES

    def _refuse_changes(self) -> None:
        try:
            self._file.refuse_changes()
        except SourceChangedError as error:
            if not self._is_temporary:
                raise
            raise SourceChangedError(
                f"{self.name} was converted to a temporary file that this process cannot read: give converted= a path "
                f"that all processes of the fit can read."
            ) from error

    def _content(self) -> Iterator[Any]:
        return self._origin.content(64)

    def _pieces(self, number: int) -> Iterator[Any]:
        with naming(self._file.name, KIND):
            if self._is_mapped:
                yield from self._mapped_pieces(int(self._starts[number]))
            else:
                with open_file(self._file) as file:
                    yield from read_batches(file, self._fields, number)

    def _mapped_pieces(self, start: int) -> Iterator[Any]:
        n_mapped = rows_within(MAPPED_BYTES, self.n_features * self.dtype.itemsize)
        for first in range(start, self.n_rows, n_mapped):
            end = first + n_mapped
            begin_number, end_number = np.searchsorted(self._starts, [first + 1, end]) - [1, 0]
            with map_file(self._file) as file:
                reader = open_batches(file)
                for number in range(begin_number, end_number):
                    skipped = max(0, first - int(self._starts[number]))
                    yield reader.get_batch(number).slice(skipped, end - int(self._starts[number]) - skipped)

    def _copy(self, piece: Any, start: int, out: NDArray[Any]) -> None:
        copy_batch(piece, self.feature_names or [], start, out)
