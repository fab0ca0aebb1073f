"""A source of rows of a CSV file, which is converted once, block by block, to an Arrow file."""

from __future__ import annotations

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from cohirf.error_contexts import replacing_errors
from cohirf.optional import import_optional
from cohirf.sources.arrow_batches import open_file
from cohirf.sources.arrow_ipc import ArrowSource
from cohirf.sources.columns import Columns, choose_names, refuse_type
from cohirf.sources.conversion import MADE_FROM, is_made, writing
from cohirf.sources.csv_format import UTF_8, find_delimiter, find_encoding, find_lines, find_ragged, first_record
from cohirf.sources.files import FileStamp, one_line
from cohirf.store.files import TemporaryFile

BLOCK_BYTES = 2**20  # Arrow reads about thirty blocks ahead
A_LINE_EACH = "give a line of column names and a line for each sample"
NAMES = {"cp1252": "Windows-1252", "latin-1": "Latin-1", "utf-16": "UTF-16"}
MOST_RAGGED = 5  # named in an error message
_NO_DELIMITERS = '\n\r"'
TYPES = {
    "null": "double",
    "int64": "double",
    "double": "double",
    "bool": "bool",
}  # type in the CSV file: type in the Arrow file


def open_csv(
    path: str | os.PathLike[str],
    columns: Columns = None,
    *,
    converted: str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> ArrowSource:
    """Convert a CSV file to an Arrow file, unless an up-to-date conversion exists, and open that."""
    file = FileStamp.of(path)
    csv = CsvFile.of(file, delimiter, header)
    types = csv.find_types(columns)
    made_from = {"name": file.path.name, "size": file.size, "modified_ns": file.modified_ns}
    made_from |= {"delimiter": csv.delimiter, "encoding": csv.encoding, "header": header, "types": types}
    target = TemporaryFile() if converted is None else Path(converted).absolute()
    if isinstance(target, Path) and target.suffix != ".arrow":
        raise ValueError(f"converted={os.fspath(target)!r} must name an Arrow file: give a name that ends in .arrow.")
    if isinstance(target, TemporaryFile) or not is_made(target, made_from):
        with writing(target) as sink:
            csv.convert(types, sink, made_from)
            file.refuse_changes()
    return ArrowSource(target, origin=file)


@dataclass(frozen=True)
class CsvFile:
    """A CSV file and how to read it.

    Attributes
    ----------
    file : FileStamp
        The file.
    delimiter, encoding : str
        The character between cells, and the encoding of the text.
    header : bool or None
        Whether the first line has column names; None: it has, and it must not look like data.
    """

    file: FileStamp
    delimiter: str
    header: bool | None
    encoding: str = UTF_8

    @classmethod
    def of(cls, file: FileStamp, delimiter: str | None, header: bool | None) -> Self:
        """Return a CSV file; its encoding, and its delimiter if it is not given, are found from its content."""
        if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in _NO_DELIMITERS):
            raise ValueError(f"delimiter={delimiter!r} is not valid: give one character, such as ; or a tab.")
        with _naming_archive(file):
            encoding = find_encoding(file)
            return cls(file, delimiter or find_delimiter(file, encoding), header, encoding)

    def describe(self) -> str:
        """Return the encoding and the delimiter as text; empty for UTF-8 with commas, or with tabs in a .tsv file."""
        usual = ("\t",) if ".tsv" in self.file.name.lower() else (",",)
        said = [] if self.encoding == UTF_8 else [f"read as {NAMES.get(self.encoding, self.encoding)}"]
        said += [] if self.delimiter in usual else [f"cells separated by {self.delimiter!r}"]
        return ", ".join(said)

    def find_names(self) -> list[str]:
        """Return the column names; those that are empty are replaced by the number of the column."""
        cells = self._first()[1]
        if not cells:
            raise ValueError(f"{self.file.name} is empty: {A_LINE_EACH}.")
        if self.header is False:
            return [f"f{number}" for number in range(len(cells))]
        if self.header is None and all(_is_number(cell) for cell in cells):
            raise ValueError(
                f"{self.file.name} has only numbers in its first line: give header=False if they are data, "
                f"header=True if they are names."
            )
        return [cell or f"column {number}" for number, cell in enumerate(cells, start=1)]

    def find_types(self, columns: Columns) -> dict[str, str]:
        """Return the chosen columns and their types after conversion, inferred from the beginning of the file."""
        names = self.find_names()
        chosen = choose_names(self.file.name, names, columns)
        with self.naming(), self.read() as reader:
            found = {name: str(reader.schema.field(name).type) for name in chosen}
        for name, type_found in found.items():
            if type_found not in TYPES:
                hint = f" Or is the delimiter not {self.delimiter!r}?" if len(names) == 1 else ""
                raise ValueError(f"{refuse_type(self.file.name, name, type_found)}{hint}")
        return {name: TYPES[type_found] for name, type_found in found.items()}

    def convert(self, types: dict[str, str], sink: IO[bytes], made_from: dict[str, Any]) -> None:
        """Write the columns to an Arrow file, block by block."""
        arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
        with self.naming(), self.read(types) as reader:
            schema = reader.schema.with_metadata({MADE_FROM: json.dumps(made_from)})
            with arrow.ipc.new_file(sink, schema) as writer:
                for batch in reader:
                    writer.write_batch(batch.replace_schema_metadata(schema.metadata))

    def read(self, types: dict[str, str] | None = None, *, missing: Sequence[str] | None = None) -> Any:
        """Return a reader of record batches: the given columns with the given types, or all with inferred types.

        ``missing`` are the texts of missing cells; by default those that Arrow knows.
        """
        arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
        csv = import_optional("pyarrow.csv", "arrow", "Reading a CSV file")
        file = open_file(self.file)
        n_names = 0 if self.header is False else self._first()[0] + 1  # Arrow counts empty lines when it skips lines
        return csv.open_csv(
            arrow.CompressedInputStream(file, "gzip") if self.file.path.suffix.lower() == ".gz" else file,
            csv.ReadOptions(
                block_size=BLOCK_BYTES,
                column_names=self.find_names(),
                skip_rows_after_names=n_names,
                encoding="utf8" if self.encoding == UTF_8 else self.encoding,
            ),
            csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                column_types=types, include_columns=list(types or ()), strings_can_be_null=True, null_values=missing
            ),
        )

    def _first(self) -> tuple[int, list[str]]:
        """Return the number of empty lines before the first record, and its cells."""
        with _naming_archive(self.file):
            return first_record(self.file, self.encoding, self.delimiter)

    def lines_of(self, rows: Iterable[int]) -> dict[int, int]:
        """Return the line of the file on which each row begins; the first line is 1, the first row is 0."""
        shift = int(self.header is not False)
        found = find_lines(self.file, self.encoding, self.delimiter, [row + shift for row in rows])
        return {record - shift: line for record, line in found.items()}

    @replacing_errors
    def naming(self) -> Iterator[None]:
        """Make reading errors name the file and, if possible, the column and the value."""
        try:
            yield
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:  # caused by the system, not by the content
                raise
            raise ValueError(self._explain(one_line(error))) from error

    def _explain(self, message: str) -> str:
        if message == "Empty CSV file":
            return f"{self.file.name} has 0 rows: {A_LINE_EACH}."
        if "straddling object" in message or re.search(r"Expected \d+ columns, got \d+", message):
            return self._explain_ragged()
        if found := re.search(r"In CSV column #(\d+): .*invalid value '(.*)'", message):
            name = self.find_names()[int(found[1])]
            return (
                f"{self.file.name}: column {name!r} holds {found[2]!r}, which is not a number: turn it into numbers "
                f"first, or leave it out, for instance with columns=lambda name: name != {name!r}."
            )
        return f"{self.file.name} cannot be read as CSV: {message}. Repair the file, or give its delimiter=."

    def _explain_ragged(self) -> str:
        n_columns = len(self.find_names())
        ragged = find_ragged(self.file, self.encoding, self.delimiter, n_columns, MOST_RAGGED)
        if ragged.endless is not None or not ragged.n_records:
            where = "" if ragged.endless is None else f" that begins on line {ragged.endless}"
            return f"{self.file.name} has a very long cell{where}: is a quotation mark not closed? Repair the file."
        listed = ", ".join(f"line {line} has {n_cells}" for line, n_cells in ragged.first)
        n_more = ragged.n_records - len(ragged.first)
        more = f" and {n_more:,} more do not have them" if n_more else ""
        return (
            f"{self.file.name} has {n_columns} columns, but {listed}{more}: repair the file, or give the delimiter "
            f"of the file with delimiter= if it is not {self.delimiter!r}."
        )


@replacing_errors
def _naming_archive(file: FileStamp) -> Iterator[None]:
    """Make errors of a damaged archive name the file."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{file.name} cannot be read as CSV: {one_line(error)}. Repair the file, or give its delimiter=."
        ) from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
