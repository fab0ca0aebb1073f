"""CSV files: how one is written, as a table of text, and converted to an Arrow file to be a source
of numbers.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice, pairwise
from typing import IO, Any, NamedTuple

from cohirf.optional import import_optional
from cohirf.sources.datasets import DataSet
from cohirf.sources.files import StoredFile, reading
from cohirf.sources.policy import CSV
from cohirf.sources.remote import each, stamp
from cohirf.sources.source import ColumnChoice, Source, choose_names, refuse_type
from cohirf.sources.tables import ArrowTable, Table, TableSource, open_file
from cohirf.store.files import TemporaryFile
from cohirf.wording import count_of, number_repeated, setting

A_LINE_EACH = "give a line of column names and a line for each sample"
# from those that Arrow infers
TYPES = {
    "null": "double",
    "int64": "double",
    "double": "double",
    "bool": "bool",
}
# what programs write into empty cells
MISSING = (
    *(
        "",
        "NA",
        "N/A",
        "n/a",
        "#N/A",
        "#NA",
        "#N/A N/A",
        "<NA>",
        "NaN",
        "nan",
        "-NaN",
        "-nan",
        "NULL",
        "null",
        "None",
    ),
    *("1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)
DELIMITERS = (",", ";", "\t", "|")


class CsvTable(Table):
    """A CSV file as a table of text.

    Encoding and delimiter are found from its content, unless the latter is given.

    ``header`` says whether the first line has column names; None: it has, unless it looks like
    data.
    """

    format_name = "CSV"
    options = ("delimiter", "header")
    has_sets = True

    def __init__(
        self,
        path: str | os.PathLike[str] | StoredFile,
        delimiter: str | None = None,
        header: bool | None = None,
    ) -> None:
        if delimiter is not None and (
            len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\n\r"'
        ):
            raise ValueError(
                f"{setting('delimiter', delimiter)} is not valid: give one character, such as "
                "; or a tab."
            )
        self._file = stamp(path)
        self.n_converted: int | None = None  # rows, once they were converted
        with self._naming():
            self.encoding = self._find_encoding()
            with self._open_text() as opened:
                self.delimiter = delimiter or self._find_delimiter(opened.read(CSV.beginning))
            with self._open_text() as opened:
                top = _first_records(opened, self.delimiter)
        records = [record for _, record in top]
        self._n_titles = 0 if header is False else count_titles(records)
        line, cells = top[self._n_titles] if top else (1, [])
        self._n_lines_above = line - 1  # above the names
        self._has_header = has_names(records[self._n_titles :]) if header is None else header
        self._names = name_columns(self._file.name, cells, has_header=self._has_header)
        super().__init__(
            self._file.name,
            dict.fromkeys(choose_names(self._file.name, self._names, None), "string"),
            (),
            [self._file],
        )
        usual = "\t" if ".tsv" in self._file.name.lower() else ","
        if self.encoding == "utf-8":
            said = []
        else:
            names = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}
            said = [f"read as {names.get(self.encoding, self.encoding.upper())}"]
        said += [] if self.delimiter == usual else [f"cells separated by {self.delimiter!r}"]
        said += [f"{count_of(self._n_titles, 'title line')} skipped"] if self._n_titles else []
        said += [say_no_names()] if header is None and not self._has_header else []
        self.format = ", ".join(said)

    @classmethod
    def join(cls, data: DataSet, **options: Any) -> Table:
        """Return the files of a data set as one table."""
        return JoinedCsv(data.name, each(lambda file: cls(file, **options), data.files))

    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield batches of text: what its cells are is decided when all of them are seen."""
        yield from self.read_batches(dict.fromkeys(columns, "string"), missing=MISSING)

    def find_places(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the line on which each of the given rows begins, as text.

        The first line is 1, the first row is 0.

        Rows are not lines where a quoted cell has a line break.
        """
        places = {row: f"row {row}" for row in rows}
        first = int(self._has_header) + self._n_titles
        if places:
            with self._open_text() as opened, suppress(csv.Error):
                records = islice(_numbered(opened, self.delimiter), first, first + max(places) + 1)
                places |= {
                    row: f"line {line}" for row, (line, _) in enumerate(records) if row in places
                }
        return places

    def to_source(self, columns: ColumnChoice = None) -> Source:
        """Convert columns of numbers to a temporary Arrow file, block by block, and open that as a
        source.
        """
        return TableSource(self.convert(self.infer_types(columns)), origin=self)

    def convert(self, types: dict[str, str], missing: Sequence[str] | None = None) -> ArrowTable:
        """Convert columns to the given types of Arrow, block by block, in a temporary file.

        ``missing`` are the texts of missing cells; by default those that Arrow knows.
        """
        return convert([self], types, missing)

    def infer_types(self, columns: ColumnChoice) -> dict[str, str]:
        """Return the chosen columns and their types after conversion, inferred from the beginning
        of the file.
        """
        chosen = choose_names(self._file.name, self._names, columns)
        with self._naming(), self._open_batches() as reader:
            found = {name: str(reader.schema.field(name).type) for name in chosen}
        for name, type_found in found.items():
            if type_found not in TYPES:
                if len(self._names) == 1:
                    hint = f" Or is the delimiter not {self.delimiter!r}?"
                else:
                    hint = ""
                raise refuse_type(self._file.name, name, type_found, hint)
        return {name: TYPES[type_found] for name, type_found in found.items()}

    def _open_batches(
        self, types: dict[str, str] | None = None, missing: Sequence[str] | None = None
    ) -> Any:
        """Return a reader of record batches: the given columns with the given types, or all with
        inferred types.

        ``missing`` are the texts of missing cells; by default those that Arrow knows.
        """
        arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
        arrow_csv = import_optional("pyarrow.csv", "arrow", "Reading a CSV file")
        file = open_file(self._file)
        return arrow_csv.open_csv(
            arrow.CompressedInputStream(file, "gzip") if ".gz" in self._file.suffixes else file,
            arrow_csv.ReadOptions(
                block_size=CSV.block_bytes,
                column_names=self._names,
                # Arrow counts empty lines when it skips lines
                skip_rows_after_names=self._n_lines_above + 1 if self._has_header else 0,
                encoding="utf8" if self.encoding == "utf-8" else self.encoding,
            ),
            arrow_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(types or ()),
                strings_can_be_null=True,
                null_values=missing,
            ),
        )

    def count_by_file(self) -> dict[os.PathLike[str], int]:
        """Return the number of rows, which is counted if they were not converted yet."""
        if self.n_converted is None:
            first = dict.fromkeys(list(self.types)[:1], "string")
            self.n_converted = sum(len(batch) for batch in self.read_batches(first))
        return {self._file.place: self.n_converted}

    def read_batches(
        self, types: dict[str, str], missing: Sequence[str] | None = None
    ) -> Iterator[Any]:
        """Yield record batches of the given columns with the given types."""
        with self._naming(), self._open_batches(types, missing) as reader:
            yield from reader

    def _naming(self) -> AbstractContextManager[None]:
        """Make reading errors name the file and, if possible, the line, or column and value."""
        return reading(self._file, "CSV", self._explain)

    def _explain(self, message: str) -> str:
        if message == "Empty CSV file":
            return f"{self._file.name} has 0 rows: {A_LINE_EACH}."
        if "straddling object" in message or re.search(r"Expected \d+ columns, got \d+", message):
            return self._explain_ragged()
        if found := re.search(r"In CSV column #(\d+): .*invalid value '(.*)'", message):
            name = self._names[int(found[1])]
            return (
                f"{self._file.name}: column {name!r} holds {found[2]!r}, which is not a number: "
                "turn it into numbers first, or leave it out, for instance with "
                f"columns=lambda name: name != {name!r}."
            )
        return (
            f"{self._file.name} cannot be read as CSV: {message}. Repair the file, or give its "
            f"{setting('delimiter')}."
        )

    def _explain_ragged(self) -> str:
        """Name the first lines that do not have as many cells as there are columns."""
        n_columns = len(self._names)
        n_ragged = 0
        listed = list[str]()
        line = 0
        is_endless = False
        with self._open_text() as opened:
            try:
                for line, record in islice(_numbered(opened, self.delimiter), self._n_titles, None):
                    if len(record) != n_columns:
                        n_ragged += 1
                        listed += (
                            [f"line {line} has {len(record)}"] if n_ragged <= CSV.ragged else []
                        )
            except csv.Error:  # a cell that is longer than csv allows
                is_endless = True
        if is_endless or not n_ragged:
            where = f" that begins on line {line + 1}" if is_endless else ""
            return (
                f"{self._file.name} has a very long cell{where}: is a quotation mark not closed? "
                "Repair the file."
            )
        if n_ragged > len(listed):
            more = f" and {n_ragged - len(listed):,} more do not have them"
        else:
            more = ""
        return (
            f"{self._file.name} has {n_columns} columns, but {', '.join(listed)}{more}: repair "
            f"the file, or give the delimiter of the file with {setting('delimiter')} if it is "
            f"not {self.delimiter!r}."
        )

    def _find_encoding(self) -> str:
        """Return the encoding: UTF-16 by its bytes, UTF-8 if all of the file is, otherwise Windows
        or Latin-1.

        All bytes are read, so that a letter in the last line does not break a conversion that began
        as UTF-8.
        """
        decoder = codecs.getincrementaldecoder("utf-8")()
        encoding = "utf-8"
        n_lines = 0
        with self._open_bytes() as opened:
            block = opened.read(CSV.read_bytes)
            if block.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
                return "utf-32"
            if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return "utf-16"
            if unmarked := _find_utf_16(block[: CSV.beginning]):
                return unmarked
            while block:
                if b"\0" in block:
                    line = n_lines + block.count(b"\n", 0, block.index(b"\0")) + 1
                    raise ValueError(
                        f"{self._file.name} has NUL bytes, the first on line {line:,}: remove them."
                    )
                n_lines += block.count(b"\n")
                if encoding == "utf-8":
                    try:
                        decoder.decode(block)
                    except UnicodeDecodeError:
                        encoding = "cp1252"
                without_character = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])  # in cp1252
                if encoding == "cp1252" and any(byte in block for byte in without_character):
                    return "latin-1"
                block = opened.read(CSV.read_bytes)
        return encoding

    def _find_delimiter(self, beginning: str) -> str:
        """Return the delimiter that divides the beginning of the file into rows of equally many
        cells.
        """
        is_tsv = ".tsv" in self._file.suffixes
        if is_tsv:
            preferred: Sequence[str] = sorted(DELIMITERS, key=lambda one: one != "\t")
        else:
            preferred = DELIMITERS
        judged = [(_judge_delimiter(beginning, one), one) for one in preferred]
        several = [entry for entry in judged if entry[0].length > 1 and entry[0].share >= 0.5]
        if several:
            return max(several, key=lambda entry: entry[0])[1]
        return max(judged, key=lambda entry: entry[0].share)[1]

    @contextmanager
    def _open_text(self) -> Iterator[IO[str]]:
        """Open the file as text, without its byte order mark and with the line breaks that it
        has.
        """
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        with self._open_bytes() as opened, io.TextIOWrapper(opened, encoding, newline="") as text:
            yield text

    @contextmanager
    def _open_bytes(self) -> Iterator[IO[bytes]]:
        with self._file.open() as opened:
            if ".gz" in self._file.suffixes:
                with gzip.open(opened, "rb") as unpacked:
                    yield unpacked  # type: ignore[misc]  # it reads bytes as a file does
            else:
                yield opened


class JoinedCsv(Table):
    """CSV files with the same columns, one after another."""

    format_name = "CSV"
    options = CsvTable.options
    has_sets = True

    def __init__(self, name: str, tables: Sequence[CsvTable]) -> None:
        super().__init__(name, tables[0].types, (), [file for one in tables for file in one._files])
        self._tables = list(tables)
        self._name_parts((table.name, table.types) for table in tables)
        self.format = tables[0].format

    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield batches of text from all files."""
        for table in self._tables:
            yield from table.read(columns)

    def to_source(self, columns: ColumnChoice = None) -> Source:
        """Convert columns of numbers of all files to one temporary Arrow file."""
        names = choose_names(self._tables[0].name, list(self.types), columns)
        self.refuse_differences(names, columns)
        types = self._tables[0].infer_types(columns)
        for table in self._tables[1:]:
            others = table.infer_types(list(types))
            types = {name: one if one == others[name] else "double" for name, one in types.items()}
        return TableSource(self.convert(types), origin=self)

    def count_by_file(self) -> dict[os.PathLike[str], int]:
        """Return the number of rows of each file."""
        counts: dict[os.PathLike[str], int] = {}
        for table in self._tables:
            counts |= table.count_by_file()
        return counts

    def convert(self, types: dict[str, str], missing: Sequence[str] | None = None) -> ArrowTable:
        """Convert columns of all files, as those of one are."""
        return convert(self._tables, types, missing)


def convert(
    tables: Sequence[CsvTable], types: dict[str, str], missing: Sequence[str] | None
) -> ArrowTable:
    """Convert columns of files to the given types of Arrow, in one temporary file."""
    arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
    target = TemporaryFile()
    schema = arrow.schema([(name, arrow.type_for_alias(one)) for name, one in types.items()])
    with arrow.ipc.new_file(target.file, schema) as writer:
        for table in tables:
            table.n_converted = 0
            for batch in table.read_batches(types, missing):
                writer.write_batch(batch)
                table.n_converted += len(batch)
    target.file.flush()
    for table in tables:
        table.refuse_changes()
    return ArrowTable(target)


def name_columns(name: str, cells: Sequence[str], *, has_header: bool) -> list[str]:
    """Return the column names, given the cells of the first line.

    Empty ones get the number of the column, and those that repeat are numbered.
    """
    if not cells:
        raise ValueError(f"{name} is empty: {A_LINE_EACH}.")
    if not has_header:
        return [f"f{number}" for number in range(len(cells))]
    return number_repeated(
        [cell or f"column {number}" for number, cell in enumerate(cells, start=1)]
    )


def has_names(records: Sequence[Sequence[str]]) -> bool:
    """Return whether the first record has the names of columns, and is no data.

    It is data if most of its cells are numbers above numbers, and all others are texts that their
    columns have again. Numbers that count, as those of years do, are names.
    """
    if not records:
        return True
    first, *below = records
    is_number = [_is_number_of_names(cell) for cell in first]
    if 2 * sum(is_number) <= len(first) or _counts(first):
        return True
    for place, cell in enumerate(first):
        column = [record[place] for record in below if len(record) > place]
        if is_number[place]:
            fits = all(is_plain_number(other) or other in MISSING for other in column)
        else:
            fits = cell != "" and cell in column
        if not fits:
            return True
    return False


def _is_number_of_names(cell: str) -> bool:
    """Return whether a cell is a number, also if a program has made it unique: the second 0.41 of a
    line of names is 0.41.1.
    """
    return is_plain_number(cell) or bool(re.fullmatch(r"[+-]?\d+\.\d+(e[+-]?\d+)?\.\d+", cell))


def _counts(cells: Sequence[str]) -> bool:
    """Return whether the numbers of a line are whole, and rise or fall as those of names do: in
    equal steps, or as years.
    """
    numbers = [float(cell) for cell in cells if is_plain_number(cell)]
    if len(numbers) < 3 or not all(number.is_integer() for number in numbers):
        return False
    steps = {after - before for before, after in pairwise(numbers)}
    is_even = len(steps) == 1 and steps != {0.0}
    is_one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    are_years = CSV.first_year <= min(numbers) <= max(numbers) <= CSV.last_year
    return is_even or (is_one_way and are_years)


def say_no_names() -> str:
    """Return that the first line of a file was taken as data, and how to decide otherwise."""
    return f"its first line is data: give {setting('header', True)} if it has the column names"


def _find_utf_16(beginning: bytes) -> str | None:
    """Return which UTF-16 text without a mark is; None for other text.

    There, delimiters and line breaks have a NUL byte before or after them: always on the same side.
    """
    before = beginning[::2].count(0)
    after = beginning[1::2].count(0)
    if max(before, after) < len(beginning) / 20 or min(before, after) > max(before, after) / 10:
        return None
    return "utf-16-be" if before > after else "utf-16-le"


class _Judged(NamedTuple):
    """How well a delimiter divides the beginning of a file; the best is the largest."""

    has_header: bool  # whether the first line has as many cells as all rows
    share: float  # of rows as long as the names
    clean: float  # share of cells without other delimiters
    length: int  # cells of the names


def _judge_delimiter(beginning: str, delimiter: str) -> _Judged:
    """Return how well a delimiter divides the beginning of a file."""
    records = [
        record for _, record in _first_records(io.StringIO(beginning, newline=""), delimiter)
    ]
    if len(beginning) == CSV.beginning and len(records) > 1:
        records.pop()  # it may have been cut
    if not records:
        return _Judged(has_header=False, share=0.0, clean=0.0, length=0)
    others = [one for one in DELIMITERS[1:] if one != delimiter]  # a comma may be part of a number
    cells = [cell for record in records for cell in record]
    clean = sum(not any(other in cell for other in others) for cell in cells) / len(cells)
    n_titles = count_titles(records)
    below = records[n_titles:]
    length = len(below[0])
    share = sum(len(record) == length for record in below) / len(below)
    has_header = n_titles == 0 and length > 1 and share == 1
    return _Judged(has_header, share, clean, length)


def count_titles(records: Sequence[Sequence[str]]) -> int:
    """Return the number of records at the top that are titles: one cell each, above names of
    several columns.
    """
    filled = [sum(map(bool, record)) for record in records]
    first = next((place for place, cells in enumerate(filled) if cells > 1), 0)
    if not records or any(is_plain_number(cell) for cell in records[first]):
        return 0
    return first


def is_plain_number(text: str) -> bool:
    """Return whether text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbered(opened: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not empty, with the line on which each begins."""
    reader = csv.reader(opened, delimiter=delimiter)
    line = 1
    for record in reader:
        if record:
            yield line, record
        line = reader.line_num + 1


def _first_records(opened: IO[str], delimiter: str) -> list[tuple[int, list[str]]]:
    first: list[tuple[int, list[str]]] = []
    # a cell that is too long is named later: what was read until then is enough
    with suppress(csv.Error):
        first += islice(_numbered(opened, delimiter), CSV.records)
    return first
