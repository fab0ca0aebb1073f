"""CSV files: tables of text, which are converted once, block by block, to an Arrow file to be a source of numbers."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from cohirf.error_contexts import replacing_errors
from cohirf.optional import import_optional
from cohirf.sources.csv_format import (
    UTF_8,
    find_delimiter,
    find_encoding,
    find_header,
    find_lines,
    find_ragged,
    is_plain_number,
)
from cohirf.sources.files import FileStamp, one_line, shown
from cohirf.sources.source import ColumnChoice, choose_names, number_repeated, refuse_type
from cohirf.sources.tables import ArrowTable, Table, TableSource, open_file
from cohirf.store.files import TemporaryFile, replacing

CSV_BLOCK_BYTES = 2**20  # Arrow reads about thirty blocks ahead
A_LINE_EACH = "give a line of column names and a line for each sample"
ENCODINGS = {"cp1252": "Windows-1252", "latin-1": "Latin-1", "utf-16": "UTF-16"}
MOST_RAGGED = 5  # named in an error message
MADE_FROM = b"cohirf: made from"
TYPES = {"null": "double", "int64": "double", "double": "double", "bool": "bool"}  # from those that Arrow infers
# what programs write into empty cells
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"),
    *("1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)


class CsvTable(Table):
    """A CSV file as a table of text. Encoding and delimiter are found from its content, unless the latter is given.

    Parameters
    ----------
    path : path
        The file.
    delimiter : str, optional
        The character between cells.
    header : bool, optional
        Whether the first line has column names. None: it has, and it must not look like data.
    """

    def __init__(self, path: str | os.PathLike[str], delimiter: str | None = None, header: bool | None = None) -> None:
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\n\r"'):
            raise ValueError(f"delimiter={delimiter!r} is not valid: give one character, such as ; or a tab.")
        self._file, self._header = FileStamp.of(path), header
        with _naming_archive(self._file):
            self.encoding = find_encoding(self._file)
            self.delimiter = delimiter or find_delimiter(self._file, self.encoding)
            self._first = find_header(self._file, self.encoding, self.delimiter, skip_titles=header is not False)
        self._names = _name_columns(self._file.name, self._first.cells, header)
        super().__init__(self._file.name, dict.fromkeys(choose_names(self._file.name, self._names, None), "string"))
        usual = "\t" if ".tsv" in self.name.lower() else ","
        said = [] if self.encoding == UTF_8 else [f"read as {ENCODINGS.get(self.encoding, self.encoding)}"]
        said += [] if self.delimiter == usual else [f"cells separated by {self.delimiter!r}"]
        n_titles = self._first.n_titles
        said += [f"{n_titles} title line{'' if n_titles == 1 else 's'} skipped"] if n_titles else []
        self.format = ", ".join(said)

    def read(self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None) -> Iterator[Any]:
        """Yield batches of text: what its cells are is decided when all of them are seen."""
        with self._naming(), self._open(dict.fromkeys(columns, "string"), missing=MISSING) as reader:
            yield from reader

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield chunks of the file."""
        return self._file.content(n_chunks)

    def refuse_changes(self) -> None:
        """Raise SourceChangedError if the file has changed."""
        self._file.refuse_changes()

    def find_places(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the line on which each of the given rows begins, as text."""
        rows = list(rows)
        lines = self.lines_of(rows) if rows else {}
        return {row: f"line {lines[row]}" if row in lines else f"row {row}" for row in rows}

    def lines_of(self, rows: Iterable[int]) -> dict[int, int]:
        """Return the line of the file on which each row begins; the first line is 1, the first row is 0."""
        shift = int(self._header is not False) + self._first.n_titles
        found = find_lines(self._file, self.encoding, self.delimiter, [row + shift for row in rows])
        return {record - shift: line for record, line in found.items()}

    def infer_types(self, columns: ColumnChoice) -> dict[str, str]:
        """Return the chosen columns and their types after conversion, inferred from the beginning of the file."""
        with self._naming(), self._open() as reader:
            found = {
                name: str(reader.schema.field(name).type) for name in choose_names(self.name, self._names, columns)
            }
        for name, type_found in found.items():
            if type_found not in TYPES:
                hint = f" Or is the delimiter not {self.delimiter!r}?" if len(self._names) == 1 else ""
                raise ValueError(f"{refuse_type(self.name, name, type_found)}{hint}")
        return {name: TYPES[type_found] for name, type_found in found.items()}

    def convert(self, types: dict[str, str], sink: IO[bytes], made_from: dict[str, Any]) -> None:
        """Write columns of numbers to an Arrow file, block by block."""
        arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
        with self._naming(), self._open(types) as reader:
            schema = reader.schema.with_metadata({MADE_FROM: json.dumps(made_from)})
            with arrow.ipc.new_file(sink, schema) as writer:
                for batch in reader:
                    writer.write_batch(batch.replace_schema_metadata(schema.metadata))

    def describe(self) -> dict[str, Any]:
        """Return what a conversion depends on, besides the types of the columns."""
        stamp = {"name": self._file.path.name, "size": self._file.size, "modified_ns": self._file.modified_ns}
        return {**stamp, "delimiter": self.delimiter, "encoding": self.encoding, "header": self._header}

    def _open(self, types: dict[str, str] | None = None, missing: Sequence[str] | None = None) -> Any:
        """Return a reader of record batches: the given columns with the given types, or all with inferred types.

        ``missing`` are the texts of missing cells; by default those that Arrow knows.
        """
        arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
        csv = import_optional("pyarrow.csv", "arrow", "Reading a CSV file")
        file = open_file(self._file)
        return csv.open_csv(
            arrow.CompressedInputStream(file, "gzip") if self._file.path.suffix.lower() == ".gz" else file,
            csv.ReadOptions(
                block_size=CSV_BLOCK_BYTES,
                column_names=self._names,
                # Arrow counts empty lines when it skips lines
                skip_rows_after_names=0 if self._header is False else self._first.n_lines + 1,
                encoding="utf8" if self.encoding == UTF_8 else self.encoding,
            ),
            csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types, include_columns=list(types or ()), strings_can_be_null=True, null_values=missing
            ),
        )

    @replacing_errors
    def _naming(self) -> Iterator[None]:
        """Make reading errors name the file and, if possible, the column and the value."""
        try:
            yield
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # caused by the system, not by the content
                raise
            raise ValueError(self._explain(one_line(error))) from error

    def _explain(self, message: str) -> str:
        if message == "Empty CSV file":
            return f"{self.name} has 0 rows: {A_LINE_EACH}."
        if "straddling object" in message or re.search(r"Expected \d+ columns, got \d+", message):
            return self._explain_ragged()
        if found := re.search(r"In CSV column #(\d+): .*invalid value '(.*)'", message):
            name = self._names[int(found[1])]
            return (
                f"{self.name}: column {name!r} holds {found[2]!r}, which is not a number: turn it into numbers "
                f"first, or leave it out, for instance with columns=lambda name: name != {name!r}."
            )
        return f"{self.name} cannot be read as CSV: {message}. Repair the file, or give its delimiter=."

    def _explain_ragged(self) -> str:
        n_columns = len(self._names)
        ragged = find_ragged(self._file, self.encoding, self.delimiter, n_columns, MOST_RAGGED, self._first.n_titles)
        if ragged.endless is not None or not ragged.n_records:
            where = "" if ragged.endless is None else f" that begins on line {ragged.endless}"
            return f"{self.name} has a very long cell{where}: is a quotation mark not closed? Repair the file."
        listed = ", ".join(f"line {line} has {n_cells}" for line, n_cells in ragged.first)
        n_more = ragged.n_records - len(ragged.first)
        more = f" and {n_more:,} more do not have them" if n_more else ""
        return (
            f"{self.name} has {n_columns} columns, but {listed}{more}: repair the file, or give the delimiter "
            f"of the file with delimiter= if it is not {self.delimiter!r}."
        )


def _name_columns(name: str, cells: Sequence[str], header: bool | None) -> list[str]:
    """Return the column names; empty ones get the number of the column, and those that repeat are numbered."""
    if not cells:
        raise ValueError(f"{name} is empty: {A_LINE_EACH}.")
    if header is False:
        return [f"f{number}" for number in range(len(cells))]
    if header is None and all(is_plain_number(cell) for cell in cells):
        raise ValueError(
            f"{name} has only numbers in its first line: give header=False if they are data, "
            f"header=True if they are names."
        )
    return number_repeated([cell or f"column {number}" for number, cell in enumerate(cells, start=1)])


def open_csv(
    table: CsvTable, columns: ColumnChoice = None, converted: str | os.PathLike[str] | None = None
) -> TableSource:
    """Convert a CSV file to an Arrow file, unless an up-to-date conversion exists, and open that as a source."""
    types = table.infer_types(columns)
    made_from = table.describe() | {"types": types}
    target = TemporaryFile() if converted is None else Path(converted).absolute()
    if isinstance(target, Path) and target.suffix != ".arrow":
        raise ValueError(f"converted={os.fspath(target)!r} must name an Arrow file: give a name that ends in .arrow.")
    if isinstance(target, TemporaryFile) or not _is_made(target, made_from):
        with _writing(target) as sink:
            table.convert(types, sink, made_from)
            table.refuse_changes()
    return TableSource(ArrowTable(target), origin=table)


def _is_made(target: Path, made_from: dict[str, Any]) -> bool:
    """Return whether ``target`` is an up-to-date conversion; raise FileExistsError if it was made from another file."""
    if not target.exists():
        return False
    found = _read_origin(target)
    if found.get("name") != made_from["name"]:
        raise FileExistsError(
            f"{shown(target)} exists and was not converted from {made_from['name']}: remove it, "
            f"or give another path as converted=."
        )
    return found == made_from


@replacing_errors
def _writing(target: Path | TemporaryFile) -> Iterator[IO[bytes]]:
    """Yield a file to write to; if ``target`` is a path, the file replaces it atomically on success."""
    try:
        if isinstance(target, TemporaryFile):
            yield target.file
            target.file.flush()
        else:
            with replacing(target) as file:
                yield file
    except OSError as error:
        if error.errno is None:
            raise
        problem = f"The CSV file was not converted ({os.strerror(error.errno)}): give another path as converted="
        raise OSError(error.errno, problem, os.fspath(target)) from error


def _read_origin(target: Path) -> dict[str, Any]:
    """Return the description of the CSV file that a file was converted from; empty if it has none."""
    arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
    try:
        with arrow.OSFile(os.fsencode(target)) as file:
            metadata = arrow.ipc.open_file(file).schema.metadata or {}
        origin: dict[str, Any] = json.loads(metadata.get(MADE_FROM, b"{}"))
    except (ValueError, OSError):
        return {}
    return origin


@replacing_errors
def _naming_archive(file: FileStamp) -> Iterator[None]:
    """Make errors of a damaged archive name the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{file.name} cannot be read as CSV: {one_line(error)}. Repair the file, or give its delimiter=."
        ) from error
