"""Tables as they are stored: the type of each column, and record batches of chosen columns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from cohirf.optional import import_optional
from cohirf.preparation.text import MISSING
from cohirf.sources.arrow_batches import open_batches, open_file, read_batches
from cohirf.sources.arrow_columns import NUMBERS, column_names, index_columns
from cohirf.sources.arrow_ipc import KIND, ArrowSource
from cohirf.sources.columns import choose_names
from cohirf.sources.csv import CsvFile, open_csv
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
    lines_of : callable or None
        Returns the line of the file on which each of the given rows begins. None if rows are not lines of text.
    format : str
        The encoding and the delimiter of a CSV file that is not written in UTF-8 with commas; otherwise empty.
    """

    name: str
    types: dict[str, str]
    index: list[str]
    origin: Origin
    read: Callable[[Sequence[str]], Iterator[Any]]
    parts: tuple[Part, ...] = ()
    lines_of: Callable[[Iterable[int]], dict[int, int]] | None = None
    format: str = ""

    def find_places(self, rows: Iterable[int]) -> dict[int, str]:
        """Return how messages call each of the given rows: by its line in a text file, by its number elsewhere."""
        rows = list(rows)
        if self.lines_of is None:
            return {row: f"row {row}" for row in rows}
        lines = self.lines_of(rows) if rows else {}
        return {row: f"line {lines[row]}" if row in lines else f"row {row}" for row in rows}

    def refuse_difference(self, column: str, remedy: str = "") -> None:
        """Raise ValueError if a column has different types in the files of a folder."""
        for part in self.parts:
            here, first = part.types.get(column, "missing"), self.types[column]
            if here != first:
                raise ValueError(
                    f"{part.name}: column {column!r} is {here}, but {first} in {self.parts[0].name}: write the files "
                    f"with the same columns{remedy}."
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
    kind = find_opener(data)
    if kind not in openers:
        return None
    if kind is not open_csv and (delimiter, header) != (None, None):
        raise TypeError(f"{'header' if delimiter is None else 'delimiter'}= is only for CSV files: leave it out.")
    return openers[kind](data.absolute())


def is_number(stored: str) -> bool:
    """Return whether a type is numeric."""
    return stored in NUMBERS or stored.startswith("decimal")


def is_time(stored: str) -> bool:
    """Return whether a type is a date, a time of day or both."""
    return stored.startswith(("timestamp", "date", "time"))


def is_clock(stored: str) -> bool:
    """Return whether a type is a time of day without a date."""
    return stored.startswith(("time32", "time64"))


def is_text(stored: str) -> bool:
    """Return whether a type is text, whose values can be categories."""
    return stored.startswith(TEXT_TYPES)


def has_names(frame: Any) -> bool:
    """Return whether the columns of a data frame are named by text, not by numbers."""
    names = frame.column_names if hasattr(frame, "column_names") else frame.columns
    return any(isinstance(name, str) for name in names)


def _open_frame(frame: Any) -> Table:
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    if hasattr(frame, "iloc"):
        table = arrow.Table.from_pandas(_unmix(frame), preserve_index=False)
    else:
        table = frame.to_arrow() if hasattr(frame, "to_arrow") else arrow.table(frame)

    def read(columns: Sequence[str]) -> Iterator[Any]:
        yield from table.select(list(columns)).combine_chunks().to_batches(max_chunksize=BATCH_ROWS)

    return _table(MemoryOrigin(TABLE, table), table.schema, read)


def _unmix(frame: Any) -> Any:
    """Return a pandas table whose columns of objects are text, unless Arrow finds one type for them."""
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    mixed = {}
    for name in frame.columns:
        if str(frame[name].dtype) == "object":
            try:
                arrow.array(frame[name], from_pandas=True)
            except (arrow.ArrowInvalid, arrow.ArrowTypeError):
                mixed[name] = frame[name].map(str, na_action="ignore")
    return frame.assign(**mixed) if mixed else frame


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
    """Open a CSV file as a table of text: what its cells are is decided when all of them are seen."""
    file = CsvFile.of(FileStamp.of(path), delimiter, header)
    names = choose_names(file.file.name, file.find_names(), None)

    def read(columns: Sequence[str]) -> Iterator[Any]:
        with file.naming(), file.read(dict.fromkeys(columns, "string"), missing=MISSING) as reader:
            yield from reader

    types = dict.fromkeys(names, "string")
    return Table(file.file.name, types, [], file.file, read, lines_of=file.lines_of, format=file.describe())


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
