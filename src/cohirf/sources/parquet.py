"""Rows of a Parquet file, or of a folder of them in the order of their names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.optional import import_optional
from cohirf.sources.arrow_columns import choose_fields, common_type, copy_batch
from cohirf.sources.files import FileStamp, naming, shown
from cohirf.sources.source import PIECE_BYTES, rows_within
from cohirf.sources.streamed import StreamedSource

BUFFER_BYTES = 2**16  # of each column; without buffers, whole columns of a row group would be read at once


class ParquetSource(StreamedSource):
    """Numeric columns of Parquet files. Decoding begins at a row group and goes on in small batches of rows."""

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str] | None = None) -> None:
        path = Path(path)
        self._files = [FileStamp.of(file) for file in (parquet_files(path) if path.is_dir() else [path])]
        types: dict[str, str] | None = None
        self._groups: list[tuple[int, int]] = []  # file and row group in it
        sizes: list[int] = []
        for number, file in enumerate(self._files):
            with naming(file.name, "Parquet"), _open(file) as parquet:
                schema, metadata = parquet.schema_arrow, parquet.metadata
            n_groups = metadata.num_row_groups
            self._groups += [(number, group) for group in range(n_groups)]
            sizes += [metadata.row_group(group).num_rows for group in range(n_groups)]
            types = self._same_types(types, file, choose_fields(file.name, schema, columns))
        assert types is not None  # a folder without files is refused before
        super().__init__(
            shown(path.absolute()),
            (sum(sizes), len(types)),
            common_type(types),
            feature_names=list(types),
            starts=np.cumsum([0, *sizes[:-1]]),
        )

    def _refuse_changes(self) -> None:
        for file in self._files:
            file.refuse_changes()

    def _content(self) -> Iterator[Any]:
        for file in self._files:
            yield from file.content(max(2, 64 // len(self._files)))

    def _pieces(self, number: int) -> Iterator[Any]:
        first_file, first_group = self._groups[number]
        n_rows = rows_within(PIECE_BYTES, self.n_features * self.dtype.itemsize)
        for file in self._files[first_file:]:
            with naming(file.name, "Parquet"), _open(file) as parquet:
                groups = list(range(first_group, parquet.num_row_groups))
                yield from parquet.iter_batches(n_rows, groups, self.feature_names, use_threads=False)
            first_group = 0

    def _copy(self, piece: Any, start: int, out: NDArray[Any]) -> None:
        copy_batch(piece, self.feature_names or [], start, out)

    def _same_types(self, types: dict[str, str] | None, file: FileStamp, others: dict[str, str]) -> dict[str, str]:
        """Return the types of the columns, which are those of the first file in all others."""
        for name in others if types is None else {**types, **others}:
            mine, theirs = (types or others).get(name, "missing"), others.get(name, "missing")
            if mine != theirs:
                raise ValueError(
                    f"{file.name}: column {name!r} is {theirs}, but {mine} in {self._files[0].name}: "
                    f"write the files with the same columns, or choose others with columns=[...]."
                )
        return types or others


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names; hidden and underscored ones are left out."""
    found = [file for file in folder.iterdir() if file.suffix.lower() in (".parquet", ".pq") and file.is_file()]
    return sorted(file for file in found if not file.name.startswith((".", "_")))


def _open(file: FileStamp) -> Any:
    parquet = import_optional("pyarrow.parquet", "arrow")
    return parquet.ParquetFile(file.path, buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True)
