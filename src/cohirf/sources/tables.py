"""Tables with named columns, in Parquet files, Arrow files and data frames, and a source of their
numeric columns.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cohirf.optional import import_optional
from cohirf.sources.arrays import ArraySource
from cohirf.sources.datasets import DataSet
from cohirf.sources.files import FileStamp, SourceChangedError, StoredFile, naming, reading
from cohirf.sources.policy import READ
from cohirf.sources.read_ahead import Pieces, RemoteReader, split_ranges
from cohirf.sources.remote import each, stamp
from cohirf.sources.source import (
    ColumnChoice,
    Source,
    StreamedSource,
    choose_names,
    choose_numbers,
    refuse_type,
    rows_within,
)
from cohirf.store.files import TemporaryFile

FRAME = "The table"
MAGIC = b"ARROW1"  # Arrow's file format begins with it, its stream format does not
ARROW_NUMBERS = {
    "bool": "bool",
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
} | {
    name: name
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
# Arrow's names
VECTOR_TYPES = re.compile(r"(?:fixed_size_|large_)?list<.*: (\w+)(?: not null)?>(?:\[(\d+)\])?")

Types = dict[str, str]  # Arrow's name of the type of each column


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, or of vectors, each of which is as many features as it has numbers."""

    name: str
    stored: np.dtype[Any]  # type of its numbers
    width: int | None = (
        None  # length of its vectors; 0 if their type does not say it, None for a column of numbers
    )

    @classmethod
    def of(cls, name: str, stored: str) -> NumberColumn | None:
        """Return a column of a type of Arrow; None if it has no numbers."""
        if stored in ARROW_NUMBERS:
            return cls(name, np.dtype(ARROW_NUMBERS[stored]))
        found = VECTOR_TYPES.fullmatch(stored)
        if found is None or found[1] not in ARROW_NUMBERS:
            return None
        return cls(name, np.dtype(ARROW_NUMBERS[found[1]]), int(found[2] or 0))

    @property
    def features(self) -> list[str]:
        """The names of its features."""
        return name_places(self.name, self.width)


def name_places(name: str, width: int | None) -> list[str]:
    """Return the names of the features of a column, given the length of its vectors."""
    if width is None:
        return [name]
    return [f"{name}[{place}]" for place in range(width)]


class Table(ABC):
    """A table with named columns, in a file, a folder of files or a data frame.

    ``format_name``, ``options`` and ``is_remote`` are those of :class:`Source`.

    Opening a table may read the whole file, as that of a spreadsheet does: it happens once for each
    command or call that uses the file.

    Parameters
    ----------
    name : str
        Its name in error messages, the attribute ``name`` from then on; for a file
        ``stamp(path).name``, which errors before this call use, too.
    types : dict of str
        The type of each column in the words of Arrow: ``str(field.type)``, such as "double",
        "int64" or "string". Only names of ``ARROW_NUMBERS``, and lists of such, are numbers:
        "float64", as NumPy says, is not one.
    index : list of str
        The columns in which pandas stored the index of the table, which are no features.
    files : list of StoredFile
        The files that must not change while the table is in use; none for one in memory.
    """

    format_name: ClassVar[str] = ""
    options: ClassVar[tuple[str, ...]] = ()
    is_remote: ClassVar[bool] = True
    has_sets: ClassVar[bool] = False  # whether several files can be joined

    def __init__(
        self, name: str, types: Types, index: Sequence[str] = (), files: Sequence[StoredFile] = ()
    ) -> None:
        self.name = name
        self.types = types
        self.index = list(index)  # the columns in which pandas stored the index of a table
        self._files = list(files)
        self.parts: dict[str, Types] = {}  # the types of the columns in each file of a folder
        self.pinned = ""  # the place and version of what was opened, where data has versions
        self.format = ""  # how a CSV file is written, if that is unusual

    @classmethod
    def join(cls, data: DataSet, **options: Any) -> Table:
        """Return the files of a data set as one table, if the format has data sets."""
        raise ValueError(f"{data.name}: a {cls.format_name} is read alone: give its path.")

    @property
    def places(self) -> list[os.PathLike[str]]:
        """Where its files are, in order."""
        return [file.place for file in self._files]

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known before all of them are read."""
        return None

    @abstractmethod
    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield record batches of the given columns, in this order and with exactly the types that
        ``types`` says. A batch may be empty.

        ``start`` is for a StoredTable: the first batch begins at row ``starts[start]``. Other
        tables are read from their first row.

        ``row_bytes`` is the size of a row, 8 bytes for each column if None, for tables that choose
        how many rows they decode at a time; others ignore it.
        """

    @abstractmethod
    def to_source(self, columns: ColumnChoice = None) -> Source:
        """Return columns of numbers as a source."""

    def count_by_file(self) -> dict[os.PathLike[str], int] | None:
        """Return the number of rows of each file, in order; None for a table without files."""
        return None

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield bytes that identify the data: chunks of all files."""
        for file in self._files:
            yield from file.content(max(2, n_chunks // len(self._files)))

    def refuse_changes(self) -> None:
        """Raise SourceChangedError if a file has changed since the table was opened.

        Tables in memory have none.
        """
        for file in self._files:
            file.refuse_changes()

    def find_places(self, rows: Iterable[int]) -> dict[int, str]:
        """Return how messages call each of the given rows."""
        return {row: f"row {row}" for row in rows}

    def _name_parts(self, parts: Iterable[tuple[str, Types]]) -> None:
        """Note the types of the columns in each file; equal ones are stored once."""
        self.parts = {name: self.types if types == self.types else types for name, types in parts}

    def refuse_difference(self, column: str, remedy: str = "") -> None:
        """Raise ValueError if a column has different types in the files of a folder."""
        for file, types in self.parts.items():
            here = types.get(column, "missing")
            first = self.types.get(column, "missing")
            if here != first:
                raise ValueError(
                    f"{file}: column {column!r} is {here}, but {first} in "
                    f"{next(iter(self.parts))}: write the files with the same columns{remedy}."
                )

    def refuse_differences(self, names: Sequence[str], columns: ColumnChoice) -> None:
        """Raise ValueError if one of the columns that are read differs between files.

        Where no ``columns`` were chosen, the files must have the same ones.
        """
        others = (name for types in self.parts.values() for name in types)
        for name in dict.fromkeys([*names, *(others if columns is None else ())]):
            self.refuse_difference(name, ", or choose others with columns=[...]")

    def choose_numbers(self, columns: ColumnChoice) -> list[NumberColumn]:
        """Return the chosen columns, all of which must have numbers.

        By default all but pandas' index columns.
        """
        file = next(iter(self.parts), self.name)
        names = choose_names(file, list(self.types), columns)
        if columns is None:
            names = [name for name in names if name not in self.index]
        self.refuse_differences(names, columns)
        found = []
        for name in names:
            column = NumberColumn.of(name, self.types[name])
            if column is None:
                raise refuse_type(file, name, self.types[name])
            found.append(column if column.width != 0 else self._measure_vectors(column))
        if not found:
            raise ValueError(f"{file} has no columns: give at least one.")
        return found

    def _measure_vectors(self, column: NumberColumn) -> NumberColumn:
        """Return a column of lists as vectors of the length of the first one."""
        batch = next(self.read([column.name], row_bytes=READ.piece_bytes // READ.vectors), None)
        if batch is not None and len(batch):
            first = batch.column(0)[0].as_py()
        else:
            first = None
        if batch is not None and len(batch) and not first:
            raise refuse_vector(
                self.name, column.name, 0, "is missing" if first is None else "is empty"
            )
        return replace(column, width=len(first or ()))


class StoredTable(Table):
    """A table in files whose source decodes them in place, piece by piece and in order, beginning
    at any piece.

    A fit reads rows several times. A format that can be decoded from its beginning only, or slowly,
    or whose types are known after its last row, derives from Table instead, and its ``to_source``
    converts it once: to a temporary Arrow file, as CsvTable does, or to an array in memory, as
    SheetTable does.
    """

    @property
    @abstractmethod
    def sizes(self) -> list[int]:
        """The number of rows of each piece, in order: ``read(columns, start)`` begins at piece
        number ``start``, and their sum is ``n_rows``.

        Small pieces let scattered rows be read without many others; a table that is always decoded
        from its beginning has one.
        """

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.sizes)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first row of each piece."""
        return np.cumsum([0, *self.sizes[:-1]])

    def count_by_file(self) -> dict[os.PathLike[str], int] | None:
        """Return the number of rows of its only file."""
        return {self._files[0].place: self.n_rows} if len(self._files) == 1 else None

    def to_source(self, columns: ColumnChoice = None) -> Source:
        """Return columns of numbers as a source, which decodes the file where rows are read."""
        return TableSource(self, columns)


class ParquetTable(StoredTable):
    """A Parquet file, or a data set of them.

    Decoding can begin at a row group.
    """

    format_name = "Parquet"
    has_sets = True

    def __init__(self, data: str | os.PathLike[str] | StoredFile | DataSet) -> None:
        files = data.files if isinstance(data, DataSet) else [stamp(data)]
        described = each(self._describe, files)
        # file, number in it, and number of rows of each row group: an array, because a large data
        # set has hundreds of thousands, which are sent to each worker
        self._groups = np.array(
            [
                (number, group, n_rows)
                for number, (_, _, sizes) in enumerate(described)
                for group, n_rows in enumerate(sizes)
            ],
            dtype=np.int64,
        ).reshape(-1, 3)
        name = data.name if isinstance(data, DataSet) else files[0].name
        super().__init__(name, *described[0][:2], files)
        if isinstance(data, DataSet):
            self.pinned = data.pinned
            self._name_parts(
                (file.name, types) for file, (types, _, _) in zip(files, described, strict=True)
            )

    @classmethod
    def join(cls, data: DataSet, **options: Any) -> Table:
        """Return the files of a data set as one table."""
        return cls(data, **options)

    @staticmethod
    def _describe(file: StoredFile) -> tuple[Types, list[str], list[int]]:
        """Return the types of a file, its index columns, and the rows of each row group."""
        with reading(file, "Parquet"), _open_parquet(file) as parquet:
            schema = parquet.schema_arrow
            metadata = parquet.metadata
        groups = range(metadata.num_row_groups)
        sizes = [metadata.row_group(group).num_rows for group in groups]
        return *_read_schema(file.name, schema), sizes

    def count_by_file(self) -> dict[os.PathLike[str], int] | None:
        """Return the number of rows of each file."""
        counts = {file.place: 0 for file in self._files}
        for number, _, n_rows in self._groups:
            counts[self._files[number].place] += n_rows
        return counts

    @property
    def sizes(self) -> list[int]:
        """The number of rows of each row group."""
        return list(self._groups[:, 2].tolist())

    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield small batches, so that a long row group is never decoded as a whole."""
        n_rows = min(READ.piece_rows, rows_within(READ.piece_bytes, row_bytes or 8 * len(columns)))
        first_file, first_group, _ = (
            self._groups[start].tolist() if len(self._groups) else (0, 0, 0)
        )
        for file in self._files[first_file:]:
            with (
                reading(file, "Parquet"),
                _open_parquet(file, columns, first_group) as parquet,
            ):
                groups = list(range(first_group, parquet.num_row_groups))
                for batch in parquet.iter_batches(n_rows, groups, list(columns), use_threads=False):
                    yield batch.select(list(columns))
            first_group = 0


class JoinedTable(StoredTable):
    """Tables of one format, one after another."""

    def __init__(self, name: str, tables: Sequence[StoredTable]) -> None:
        super().__init__(
            name, tables[0].types, tables[0].index, [file for one in tables for file in one._files]
        )
        self._tables = list(tables)
        self._name_parts((table.name, table.types) for table in tables)

    def count_by_file(self) -> dict[os.PathLike[str], int] | None:
        """Return the number of rows of each file."""
        return {file.place: table.n_rows for table in self._tables for file in table._files}

    @cached_property
    def sizes(self) -> list[int]:
        """The number of rows of the pieces of all tables."""
        return [size for sizes in each(lambda table: table.sizes, self._tables) for size in sizes]

    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield the batches of all tables."""
        for table in self._tables:
            if start < len(table.sizes) or not start:
                yield from table.read(columns, start, row_bytes)
            start = max(0, start - len(table.sizes))


class ArrowTable(StoredTable):
    """An Arrow IPC file, in the file or the stream format, whose record batches are loaded one by
    one.

    Very large uncompressed ones are read through a memory map, which is renewed regularly because
    mapped pages count as resident memory.
    """

    format_name = "Arrow"
    has_sets = True

    @classmethod
    def join(cls, data: DataSet, **options: Any) -> Table:
        """Return the files of a data set as one table."""
        return JoinedTable(data.name, each(cls, data.files))

    def __init__(self, path: str | os.PathLike[str] | StoredFile, *, name: str = "") -> None:
        self.path = path  # a temporary file exists as long as it is referenced
        self._file = stamp(path)
        with reading(self._file, "an Arrow file"), open_file(self._file) as file:
            # a stream has no list of its batches
            self._can_seek = bool(file.read_at(len(MAGIC), 0) == MAGIC)
            schema = self._open_batches(file).schema
        name = name or self._file.name
        super().__init__(name, *_read_schema(name, schema), [self._file])

    @cached_property
    def sizes(self) -> list[int]:
        """The number of rows of each batch.

        Of a stream, which is always decoded from its beginning, of all of it.
        """
        with reading(self._file, "an Arrow file"), self._map() as file:
            # the rows of compressed or remote batches are counted by decoding the first column
            sizes = [
                len(batch) for batch in self._read_batches(file, [] if self._is_plain else [0])
            ]
        return sizes if self._can_seek else [sum(sizes)]

    @cached_property
    def _is_plain(self) -> bool:
        """Whether values are not compressed, so that batches of a memory map are views of it."""
        if not self._can_seek or not isinstance(self._file, FileStamp):
            return False
        with self._map() as file:
            whole = file.read_buffer()
            batch = next(self._read_batches(file, []), None)
            if batch is None:
                buffers = []
            else:
                buffers = [buffer for one in batch.columns for buffer in one.buffers() if buffer]
            return all(
                whole.address <= buffer.address < whole.address + whole.size for buffer in buffers
            )

    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield the record batches of the file, or parts of very large ones."""
        row_bytes = row_bytes or 8 * len(columns)
        with reading(self._file, "an Arrow file"):
            if self._is_plain and max(self.sizes, default=0) * row_bytes > READ.loaded_bytes:
                batches = self._read_mapped(
                    int(self.starts[start]), rows_within(READ.mapped_bytes, row_bytes)
                )
            else:
                place = {name: number for number, name in enumerate(self.types)}
                batches = self._read_loaded([place[name] for name in columns], start)
            for batch in batches:
                yield batch.select(list(columns))

    def _read_loaded(self, fields: Sequence[int], start: int) -> Iterator[Any]:
        with open_file(self._file) as file:
            yield from self._read_batches(file, fields, start)

    def _read_mapped(self, start: int, n_mapped: int) -> Iterator[Any]:
        starts = self.starts
        for first in range(start, sum(self.sizes), n_mapped):
            end = first + n_mapped
            begin_number, end_number = np.searchsorted(starts, [first + 1, end]) - [1, 0]
            with self._map() as file:
                reader = self._open_batches(file)
                for number in range(begin_number, end_number):
                    skipped = max(0, first - int(starts[number]))
                    yield reader.get_batch(number).slice(
                        skipped, end - int(starts[number]) - skipped
                    )

    def _read_batches(self, file: Any, fields: Sequence[int], start: int = 0) -> Iterator[Any]:
        """Yield the batches from number ``start`` on, with the given columns, or with all if none
        are given.
        """
        reader = self._open_batches(file, fields)
        if not self._can_seek:
            yield from reader
            return
        for number in range(start, reader.num_record_batches):
            yield reader.get_batch(number)

    def _open_batches(self, file: Any, fields: Sequence[int] = ()) -> Any:
        ipc = import_optional("pyarrow.ipc", "arrow", "Reading an Arrow file")
        options = ipc.IpcReadOptions(included_fields=list(fields), use_threads=False)
        file.seek(0)
        return (ipc.open_file if self._can_seek else ipc.open_stream)(file, options=options)

    def _map(self) -> Any:
        """Memory-map the file; reads of uncompressed values copy nothing."""
        if not isinstance(self._file, FileStamp):
            return open_file(self._file)
        return import_optional("pyarrow", "arrow", "Reading an Arrow file").memory_map(
            os.fsencode(self._file.path)
        )


class StreamTable(ArrowTable):
    """A stream of record batches, such as the result of a query, written to a temporary Arrow file
    as it comes.
    """

    def __init__(self, stream: Any) -> None:
        target = TemporaryFile()
        with naming("The stream", "a stream", lambda message: _explain_stream(stream, message)):
            _write_stream(stream, target.file)
        super().__init__(target, name="The stream")

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield chunks of the rows, and not when they were written."""
        return islice(super().content(n_chunks), 1, None)


def is_stream(data: Any) -> bool:
    """Return whether an object is a stream of record batches, or a query that makes one."""
    if hasattr(data, "sink_ipc"):
        return True
    is_query = type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb")
    has_rows = hasattr(data, "__len__") or hasattr(data, "num_rows")  # it is in memory
    return hasattr(data, "__arrow_c_stream__") and (is_query or not has_rows)


def _write_stream(stream: Any, file: IO[bytes]) -> None:
    """Write what a query or a stream yields as an Arrow file, as it comes."""
    if hasattr(stream, "sink_ipc"):  # a lazy frame of polars, which need not fit into memory
        levels = import_optional("polars", "arrow", "A lazy frame").CompatLevel
        stream.sink_ipc(file, compression="uncompressed", compat_level=levels.oldest())
    else:
        arrow = import_optional("pyarrow", "arrow", "A stream of record batches")
        with (
            arrow.RecordBatchReader.from_stream(stream) as reader,
            arrow.ipc.new_file(file, reader.schema) as writer,
        ):
            for batch in reader:
                writer.write_batch(batch)
    file.flush()


def _explain_stream(stream: Any, message: str) -> str:
    """Return what failed, and what to do, given the message of a library of queries."""
    if hasattr(stream, "sink_ipc"):
        remedy = "repair the query, whose collect() says more"
    elif hasattr(stream, "fetchall"):
        remedy = "repair the query, whose fetchall() says more"
    else:
        remedy = "a stream is read once: make it anew, or give its batches as a table"
    package = type(stream).__module__.partition(".")[0].strip("_")
    what = f"{type(stream).__name__} of {package}"
    return f"data, a {what}, cannot be read: {message.removesuffix('.')}: {remedy}."


class FrameTable(Table):
    """A data frame of pandas, polars or Arrow, as an Arrow table."""

    def __init__(self, frame: Any) -> None:
        arrow = import_optional("pyarrow", "arrow", "Preparing a table")
        self._frame = frame
        if hasattr(frame, "iloc"):
            self._table = arrow.Table.from_pandas(_unmix(frame), preserve_index=False)
        else:
            if hasattr(frame, "to_arrow"):
                self._table = frame.to_arrow()
            else:
                self._table = arrow.table(frame)
        super().__init__(FRAME, *_read_schema(FRAME, self._table.schema))

    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield slices of the frame."""
        yield from (
            self._table.select(list(columns))
            .combine_chunks()
            .to_batches(max_chunksize=READ.piece_rows)
        )

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield the whole content, because a table in memory has no modification time."""
        for batch in self._table.to_batches(max_chunksize=READ.piece_rows):
            yield batch.serialize().to_pybytes()

    def to_source(self, columns: ColumnChoice = None) -> Source:
        """Return columns of numbers as a source, which holds them as an array."""
        return ArraySource(*read_frame(self._frame, columns))


class TableSource(StreamedSource):
    """Numeric columns of a table in files.

    ``origin`` is the data that it was made from, which messages name.
    """

    def __init__(
        self, table: StoredTable, columns: ColumnChoice = None, *, origin: Table | None = None
    ) -> None:
        self._chosen = table.choose_numbers(columns)
        self._table = table
        self._origin = origin or table
        names = [name for column in self._chosen for name in column.features]
        super().__init__(
            self._origin.name,
            (table.n_rows, len(names)),
            np.result_type(*(column.stored for column in self._chosen)),
            feature_names=None
            if len(self._chosen) == 1 and names != [self._chosen[0].name]
            else names,
            starts=table.starts,
        )

    @property
    def origin(self) -> Table:
        """The table that it was made from."""
        return self._origin

    def _refuse_changes(self) -> None:
        try:
            self._table.refuse_changes()
        except SourceChangedError as error:
            if not isinstance(getattr(self._table, "path", None), TemporaryFile):
                raise
            raise SourceChangedError(
                f"{self.name} was converted to a temporary file that this process cannot read: "
                "write the data to a Parquet file that all processes of the fit can read."
            ) from error

    def _content(self) -> Iterator[Any]:
        return self._origin.content(64)

    def _pieces(self, number: int) -> Iterator[Any]:
        names = [column.name for column in self._chosen]
        return self._table.read(names, number, self.n_features * self.dtype.itemsize)

    def _copy(self, piece: Any, start: int, out: NDArray[Any], first: int) -> None:
        """Write rows column by column; nulls become NaN."""
        place = 0
        for column, stored in zip(self._chosen, piece.columns, strict=True):
            values = stored.slice(start, len(out))
            if column.width is None:
                out[:, place] = _as_numbers(values)
            else:
                self._refuse_ragged(values, column, first)
                out[:, place : place + column.width] = _as_numbers(values.flatten()).reshape(
                    -1, column.width
                )
            place += 1 if column.width is None else column.width

    def refuse_faults(self, X: Any, rows: Any) -> None:
        """Raise ValueError for faults; one in a column of vectors is named by its row."""
        try:
            super().refuse_faults(X, rows)
        except ValueError:
            vectors = self._chosen[0]
            is_good = np.isfinite(X).all(axis=1)
            if len(self._chosen) > 1 or vectors.width is None or is_good.all():
                raise
            row = int(rows[int(np.argmin(is_good))])
            fault = "has a number that is missing or infinite"
            raise refuse_vector(self.name, vectors.name, row, fault) from None

    def _refuse_ragged(self, values: Any, column: NumberColumn, first: int) -> None:
        """Raise ValueError if one of the vectors is missing or has another length than the
        others.
        """
        compute = import_optional("pyarrow.compute", "arrow", "Reading vectors")
        lengths = compute.list_value_length(values).fill_null(-1).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != column.width)
        if len(wrong):
            length = int(lengths[wrong[0]])
            if length < 0:
                fault = "is missing"
            else:
                fault = f"has {length:,} numbers, and that of row 0 has {column.width:,}"
            raise refuse_vector(self.name, column.name, first + int(wrong[0]), fault)


def _as_numbers(values: Any) -> Any:
    """Return an Arrow array of numbers as one of NumPy; nulls become NaN."""
    return (values.cast("double") if values.null_count else values).to_numpy(zero_copy_only=False)


def refuse_vector(source: str, column: Any, row: int, fault: str) -> ValueError:
    """Return the error for a vector that does not fit the others."""
    return ValueError(
        f"{source}: the vector in row {row:,} of column {column!r} {fault}: give vectors of one "
        "length, of numbers only, or leave the row out."
    )


def open_file(file: StoredFile) -> Any:
    """Open a file for Arrow; reads load the bytes that they need."""
    arrow = import_optional("pyarrow", "arrow", f"Reading {file.name}")
    if not isinstance(file, FileStamp):
        return arrow.PythonFile(file.open(), "r")
    return arrow.OSFile(os.fsencode(file.path))  # bytes, because file names need not be valid UTF-8


def write_tables(file: IO[bytes], ending: str, tables: Iterable[Any]) -> None:
    """Write tables of Arrow, one after another, to a file that ends in .csv or .parquet."""
    rest = iter(tables)
    first = next(rest)
    module, kind = ("csv", "CSVWriter") if ending == ".csv" else ("parquet", "ParquetWriter")
    open_writer = getattr(import_optional(f"pyarrow.{module}", "arrow", "Writing a table"), kind)
    with open_writer(file, first.schema) as writer:
        for table in chain([first], rest):
            writer.write_table(table)


@contextmanager
def _open_parquet(
    file: StoredFile, columns: Sequence[str] = (), first_group: int = 0
) -> Iterator[Any]:
    """Open a file whose columns will be read from a row group on, or whose schema will be."""
    parquet = import_optional("pyarrow.parquet", "arrow", "Reading a Parquet file")
    arrow = import_optional("pyarrow", "arrow", "Reading a Parquet file")
    reader = None if isinstance(file, FileStamp) else file.open()
    if isinstance(reader, RemoteReader):
        reader.expect([])  # the metadata says where the rest is
    opened = open_file(file) if reader is None else arrow.PythonFile(reader, "r")
    with (
        opened,
        parquet.ParquetFile(
            opened,
            buffer_size=READ.buffer_bytes if reader is None else _buffer_bytes(len(columns)),
            pre_buffer=False,
            page_checksum_verification=True,
        ) as decoder,
    ):
        if isinstance(reader, RemoteReader):
            reader.expect(column_ranges(decoder.metadata, columns, first_group))
        yield decoder


def _buffer_bytes(n_columns: int) -> int:
    """Return how much of each column is taken from a remote file at a time: calls of Python take
    longer than those of a disk.
    """
    policy = READ.remote
    share = policy.ahead_bytes // (4 * max(1, n_columns))
    return max(READ.buffer_bytes, min(policy.piece_bytes // 4, share))


def column_ranges(metadata: Any, columns: Sequence[str], first: int) -> Pieces:
    """Return where columns of a Parquet file are, from a row group on, in the order in which they
    are decoded.
    """
    found: Pieces = []
    for number in range(first if columns else metadata.num_row_groups, metadata.num_row_groups):
        group = metadata.row_group(number)
        chunks = []
        for place in range(group.num_columns):
            chunk = group.column(place)
            path = chunk.path_in_schema
            if any(path == name or path.startswith(f"{name}.") for name in columns):
                starts = [chunk.data_page_offset, chunk.dictionary_page_offset]
                start = min(one for one in starts if one)
                chunks.append((start, start + chunk.total_compressed_size))
        found += split_ranges(chunks)
    return found


def _read_schema(name: str, schema: Any) -> tuple[Types, list[str]]:
    """Return the columns of an Arrow schema with their types, and those in which pandas stored an
    index.
    """
    with naming(name, "a table"):  # names and metadata may be damaged
        names = list(schema.names)
        metadata = schema.pandas_metadata or {}
    choose_names(name, names, None)  # refuses a name that appears twice
    index = [column for column in metadata.get("index_columns", []) if isinstance(column, str)]
    return {column: str(stored) for column, stored in zip(names, schema.types, strict=True)}, index


def is_frame(data: Any) -> bool:
    """Return whether an object is a pandas, polars or Arrow table."""
    return hasattr(data, "column_names") or (hasattr(data, "columns") and hasattr(data, "dtypes"))


def frame_names(frame: Any) -> list[Any]:
    """Return the names of the columns of a data frame, which need not be text."""
    return list(frame.column_names if hasattr(frame, "column_names") else frame.columns)


def read_frame(frame: Any, columns: ColumnChoice) -> tuple[NDArray[Any], list[str] | None]:
    """Return chosen columns of a data frame as an array, and their names if these are text.

    Arrow is not needed.
    """
    names = frame_names(frame)
    if not names:
        raise ValueError(f"{FRAME} has no columns: give at least one.")
    if not all(isinstance(name, str) for name in names):
        if any(isinstance(name, str) for name in names):
            raise TypeError(
                f"{FRAME} has column names of several types, {names[:8]}: convert all column names "
                "to strings."
            )
        numbers = choose_numbers(FRAME, len(names), columns) or range(len(names))
        return np.column_stack([_column_values(frame, number, names) for number in numbers]), None
    chosen = choose_names(FRAME, names, columns)
    place = {name: number for number, name in enumerate(names)}
    parts = [_column_values(frame, place[name], names) for name in chosen]
    widths = [None if part.ndim == 1 else part.shape[1] for part in parts]
    features = [name_places(name, width) for name, width in zip(chosen, widths, strict=True)]
    if len(chosen) == 1 and widths != [None]:
        named = None
    else:
        named = [feature for one in features for feature in one]
    return np.column_stack(parts), named


def _column_values(frame: Any, number: int, names: list[Any]) -> NDArray[Any]:
    """Return a column of numbers, in which missing cells are NaN, or of vectors, which is an
    array.
    """
    if hasattr(frame, "iloc"):
        column = frame.iloc[:, number]
    else:
        column = frame[names[number]]
    is_extension = hasattr(column, "iloc") and not isinstance(column.dtype, np.dtype)
    if is_extension and column.dtype.kind in "biuf":  # pandas' nullable numeric types
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values = np.asarray(column.to_numpy())
    if (
        values.dtype.kind == "O"
        and len(values)
        and isinstance(values[0], np.ndarray | list | tuple)
    ):
        values = _stack_vectors(values, names[number])
    if values.dtype.kind not in "biuf":
        raise refuse_type(
            FRAME, names[number], column.type if hasattr(column, "type") else column.dtype
        )
    return values


def _stack_vectors(vectors: NDArray[Any], name: Any) -> NDArray[Any]:
    """Return a column of objects as an array with a row for each vector."""
    shape = np.shape(vectors[0])
    for row, vector in enumerate(vectors):
        if vector is None or np.shape(vector) != shape:
            if np.ndim(vector) != 1:
                fault = "is missing"
            else:
                fault = f"has {len(vector)} numbers, and that of row 0 {shape[0]}"
            raise refuse_vector(FRAME, name, row, fault)
    return np.stack(list(vectors))


def _unmix(frame: Any) -> Any:
    """Return a pandas table with intervals as text, and objects, too, unless Arrow finds one type
    for them.
    """
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    # refuses a name that appears twice
    choose_names(FRAME, [str(name) for name in frame.columns], None)
    mixed = {}
    for name in frame.columns:
        kind = str(frame[name].dtype)
        if kind.startswith("interval") or (
            kind == "category" and str(frame[name].cat.categories.dtype).startswith("interval")
        ):
            mixed[name] = frame[name].astype(object).map(str, na_action="ignore")
        elif kind.startswith("complex"):
            raise ValueError(
                f"{FRAME}: column {name!r} has complex numbers: give their parts as two columns "
                "instead."
            )
        elif kind == "object":
            try:
                arrow.array(frame[name], from_pandas=True)
            except (arrow.ArrowInvalid, arrow.ArrowTypeError):
                mixed[name] = frame[name].map(str, na_action="ignore")
    return frame.assign(**mixed) if mixed else frame
