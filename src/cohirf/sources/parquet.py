"""A source of rows of a Parquet file, or of a folder of Parquet files in the order of their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.optional import import_optional
from cohirf.sources.arrow_batches import open_file
from cohirf.sources.arrow_columns import choose_fields, common_type, copy_batch
from cohirf.sources.columns import Columns
from cohirf.sources.files import FileStamp, naming, shown
from cohirf.sources.source import PIECE_BYTES, rows_within
from cohirf.sources.streamed import StreamedSource

BUFFER_BYTES = 2**16  # of each column; without buffers, whole columns of a row group would be read at once
PIECE_ROWS = 2**16  # larger pieces are not decoded faster, and temporarily take several times their size


class ParquetSource(StreamedSource):
    """Numeric columns of Parquet files. Decoding starts at a row group and continues in small batches of rows."""

    def __init__(self, path: str | os.PathLike[str], columns: Columns = None) -> None:
        path = Path(path)
        self._files = [FileStamp.of(file) for file in (parquet_files(path) if path.is_dir() else [path])]
        layouts = [_read_layout(file, columns) for file in self._files]
        types = layouts[0][0]
        for file, (others, _) in zip(self._files, layouts, strict=True):
            _refuse_difference(self._files[0], types, file, others)
        sizes = [size for _, group_sizes in layouts for size in group_sizes]
        # where each row group is: the file, and the group in it
        self._groups = [(number, group) for number, layout in enumerate(layouts) for group in range(len(layout[1]))]
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
        n_rows = min(PIECE_ROWS, rows_within(PIECE_BYTES, self.n_features * self.dtype.itemsize))
        for file in self._files[first_file:]:
            with naming(file.name, "Parquet"), _open(file) as parquet:
                groups = list(range(first_group, parquet.num_row_groups))
                yield from parquet.iter_batches(n_rows, groups, self.feature_names, use_threads=False)
            first_group = 0

    def _copy(self, piece: Any, start: int, out: NDArray[Any]) -> None:
        copy_batch(piece, self.feature_names or [], start, out)


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder in the order of their names; names that begin with . or _ are left out."""
    found = [file for file in folder.iterdir() if file.suffix.lower() in (".parquet", ".pq") and file.is_file()]
    return sorted(file for file in found if not file.name.startswith((".", "_")))


def _open(file: FileStamp) -> Any:
    parquet = import_optional("pyarrow.parquet", "arrow", "Reading a Parquet file")
    return parquet.ParquetFile(
        open_file(file), buffer_size=BUFFER_BYTES, pre_buffer=False, page_checksum_verification=True
    )


def _read_layout(file: FileStamp, columns: Columns) -> tuple[dict[str, str], list[int]]:
    """Return the types of the chosen columns, and the number of rows of each row group."""
    with naming(file.name, "Parquet"), _open(file) as parquet:
        schema, metadata = parquet.schema_arrow, parquet.metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    return choose_fields(file.name, schema, columns), sizes


def _refuse_difference(first: FileStamp, types: dict[str, str], file: FileStamp, others: dict[str, str]) -> None:
    for name in {**types, **others}:
        type_here, type_there = others.get(name, "missing"), types.get(name, "missing")
        if type_here != type_there:
            raise ValueError(
                f"{file.name}: column {name!r} is {type_here}, but {type_there} in {first.name}: "
                f"write the files with the same columns, or choose others with columns=[...]."
            )
