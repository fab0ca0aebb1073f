"""Tables as they are stored: the type of each column, and record batches of chosen columns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cohirf.optional import import_optional
from cohirf.sources.arrow_batches import open_batches, open_file, read_batches
from cohirf.sources.arrow_columns import NUMBERS, column_names, index_columns
from cohirf.sources.arrow_ipc import KIND, ArrowSource
from cohirf.sources.csv import TYPES, CsvFile, open_csv
from cohirf.sources.files import FileStamp, Origin, naming, shown
from cohirf.sources.open_source import find_opener
from cohirf.sources.parquet import ParquetSource, parquet_files
from cohirf.sources.tables import TABLE, is_table

BATCH_ROWS = 2**16
TEXT_TYPES = ("string", "large_string", "string_view", "dictionary<")


@dataclass(frozen=True)
class Table:
    """A file, a folder of files or a data frame with named columns.

    Attributes
    ----------
    name : str
        Its name in error messages.
    types : dict of str
        Arrow's name of the type of each column.
    index : list of str
        The columns in which pandas stored the index of a table.
    origin : Origin
        What identifies the data.
    read : callable
        Yields record batches of the given columns.
    parts : tuple of Part
        The files of a folder.
    names_reader : callable or None
        Yields record batches of one column of a CSV file as text, because the name 007 must not become the number 7.
        None for formats that store the types of columns.
    """

    name: str
    types: dict[str, str]
    index: list[str]
    origin: Origin
    read: Callable[[Sequence[str]], Iterator[Any]]
    parts: tuple[Part, ...] = ()
    names_reader: Callable[[str], Iterator[Any]] | None = None

    def read_names(self, column: str) -> Iterator[Any]:
        """Yield record batches of a column that names rows or classes."""
        return self.read([column]) if self.names_reader is None else self.names_reader(column)

    def refuse_difference(self, column: str) -> None:
        """Raise ValueError if a column has different types in the files of a folder."""
        for part in self.parts:
            here, first = part.types.get(column, "missing"), self.types[column]
            if here != first:
                raise ValueError(
                    f"{part.name}: column {column!r} is {here}, but {first} in {self.parts[0].name}: write the files "
                    f"with the same columns."
                )


@dataclass(frozen=True)
class Part:
    """A file of a folder: its name, and the type of each column."""

    name: str
    types: dict[str, str]


def open_table(data: Any, *, delimiter: str | None = None, header: bool | None = None) -> Table | None:
    """Return a table, or None for data without column names; raise an error for anything else."""
    if not isinstance(data, Path):
        return _open_frame(data) if is_table(data) and has_names(data) else None
    openers: dict[Any, Callable[[Path], Table]] = {
        ParquetSource: _open_parquet,
        ArrowSource: _open_arrow,
        open_csv: partial(_open_csv, delimiter=delimiter, header=header),
    }
    opener = openers.get(find_opener(data))
    return None if opener is None else opener(data.absolute())


def is_number(stored: str) -> bool:
    """Return whether a type is numeric."""
    return stored in NUMBERS or stored in TYPES  # an empty CSV column has type null


def is_text(stored: str) -> bool:
    """Return whether a type is text, whose values can be categories."""
    return stored.startswith(TEXT_TYPES)


def has_names(frame: Any) -> bool:
    """Return whether the columns of a data frame are named by text, not by numbers."""
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return any(isinstance(name, str) for name in names)


def as_text(column: Any) -> Any:
    """Return a column of an Arrow batch as plain text."""
    return column.cast("string")


def _open_frame(frame: Any) -> Table:
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    if hasattr(frame, "iloc"):
        table = arrow.Table.from_pandas(frame, preserve_index=False)
    else:
        table = frame.to_arrow() if hasattr(frame, "to_arrow") else arrow.table(frame)

    def read(columns: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(columns)).combine_chunks().to_batches(max_chunksize=BATCH_ROWS)

    return _table(MemoryOrigin(TABLE, table), table.schema, read)


def _open_parquet(path: Path) -> Table:
    files = [FileStamp.of(file) for file in (parquet_files(path) if path.is_dir() else [path])]
    parquet = import_optional("pyarrow.parquet", "arrow", "Reading a Parquet file")

    def read(columns: Sequence[str]) -> Iterator[Any]:
        for file in files:
            with naming(file.name, "Parquet"), parquet.ParquetFile(open_file(file)) as opened:
                for batch in opened.iter_batches(columns=list(columns), use_threads=False):
                    yield batch.select(list(columns))

    schemas = []
    for file in files:
        with naming(file.name, "Parquet"):
            schemas.append(parquet.read_schema(open_file(file)))
    if path.is_file():
        return _table(files[0], schemas[0], read)
    parts = [Part(file.name, _types(file.name, schema)) for file, schema in zip(files, schemas, strict=True)]
    return replace(_table(FolderStamp(shown(path), tuple(files)), schemas[0], read), parts=tuple(parts))


def _open_arrow(path: Path) -> Table:
    stamp = FileStamp.of(path)
    with naming(stamp.name, KIND), open_file(stamp) as file:
        schema = open_batches(file).schema

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with naming(stamp.name, KIND), open_file(stamp) as file:
            for batch in read_batches(file, [schema.get_field_index(name) for name in columns]):
                yield batch.select(list(columns))

    return _table(stamp, schema, read)


def _open_csv(path: Path, delimiter: str | None, header: bool | None) -> Table:
    file = CsvFile.of(FileStamp.of(path), delimiter, header)
    schema = file.find_schema()
    table = _table(file.file, schema, lambda _: iter(()))
    types = {name: TYPES.get(stored, "string") for name, stored in table.types.items()}

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with file.naming(), file.read({name: types[name] for name in columns}) as reader:
            yield from reader

    def read_names(column: str) -> Iterator[Any]:
        with file.naming(), file.read({column: "string"}) as reader:
            yield from reader

    return replace(table, read=read, names_reader=read_names)


def _table(origin: Origin, schema: Any, read: Callable[[Sequence[str]], Iterator[Any]]) -> Table:
    return Table(origin.name, _types(origin.name, schema), index_columns(origin.name, schema), origin, read)


def _types(source: str, schema: Any) -> dict[str, str]:
    names = column_names(source, schema)
    return {name: str(stored) for name, stored in zip(names, schema.types, strict=True)}


@dataclass(frozen=True)
class FolderStamp:
    """The files of a folder as they were when it was opened."""

    name: str
    files: tuple[FileStamp, ...]

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield a digest of each file."""
        for file in self.files:
            yield hashlib.sha256(b"".join(file.content(max(2, n_chunks // len(self.files))))).digest()


@dataclass(frozen=True)
class MemoryOrigin:
    """An Arrow table in memory."""

    name: str
    table: Any

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield the whole content, because a table in memory has no modification time."""
        for batch in self.table.to_batches(max_chunksize=BATCH_ROWS):
            yield batch.serialize().to_pybytes()
