"""How a CSV file is written: its encoding, its delimiter, and the lines on which its rows stand."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

from cohirf.sources.files import FileStamp

DELIMITERS = (",", ";", "\t", "|")
BEGINNING = 2**16  # characters from which the delimiter is found
READ_BYTES = 2**20
MOST_RECORDS = 200
UTF_8, UTF_16, WINDOWS, LATIN_1 = "utf-8", "utf-16", "cp1252", "latin-1"
_NOT_WINDOWS = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])  # bytes without a character in cp1252


def find_encoding(file: FileStamp) -> str:
    """Return the encoding of a text file: UTF-16 by its bytes, UTF-8 if all of it is, otherwise Windows or Latin-1.

    All bytes are read, so that a letter in the last line does not break a conversion that began as UTF-8.
    """
    decoder = codecs.getincrementaldecoder(UTF_8)()
    encoding = UTF_8
    with _open_bytes(file) as opened:
        first = opened.read(READ_BYTES)
        if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return UTF_16
        if unmarked := _find_utf_16(first[:BEGINNING]):
            return unmarked
        block, n_lines = first, 0
        while block:
            if b"\0" in block:
                line = n_lines + block.count(b"\n", 0, block.index(b"\0")) + 1
                raise ValueError(f"{file.name} has NUL bytes, the first on line {line:,}: remove them.")
            n_lines += block.count(b"\n")
            if encoding == UTF_8:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    encoding = WINDOWS
            if encoding == WINDOWS and any(byte in block for byte in _NOT_WINDOWS):
                return LATIN_1
            block = opened.read(READ_BYTES)
    return encoding


def _find_utf_16(beginning: bytes) -> str | None:
    """Return which UTF-16 text without a mark is; None for other text.

    There, delimiters and line breaks have a NUL byte before or after them: always on the same side.
    """
    before, after = beginning[::2].count(0), beginning[1::2].count(0)
    if max(before, after) < len(beginning) / 20 or min(before, after) > max(before, after) / 10:
        return None
    return "utf-16-be" if before > after else "utf-16-le"


def find_delimiter(file: FileStamp, encoding: str) -> str:
    """Return the delimiter that divides the beginning of a file into rows of equally many cells."""
    with open_text(file, encoding) as opened:
        beginning = opened.read(BEGINNING)
    preferred = sorted(DELIMITERS, key=lambda one: one != "\t") if ".tsv" in _endings(file.path) else DELIMITERS
    judged = [(_judge_delimiter(beginning, one), one) for one in preferred]
    several = [entry for entry in judged if entry[0][-1] > 1 and entry[0][0] >= 0.5]
    return max(several or judged, key=lambda entry: entry[0] if several else entry[0][:1])[1]


def _judge_delimiter(beginning: str, delimiter: str) -> tuple[float, float, int]:
    """Return the share of rows as long as the names, that of cells without other delimiters, and that length."""
    lines = io.StringIO(beginning, newline="")
    records = [record for record in islice(_records(lines, delimiter), MOST_RECORDS) if record]
    if len(beginning) == BEGINNING and len(records) > 1:
        records.pop()  # it may have been cut
    if not records:
        return 0.0, 0.0, 0
    others = [one for one in DELIMITERS[1:] if one != delimiter]  # a comma may be part of a number
    cells = [cell for record in records for cell in record]
    clean = sum(not any(other in cell for other in others) for cell in cells) / len(cells)
    below = records[_count_titles(records) :]
    return sum(len(record) == len(below[0]) for record in below) / len(below), clean, len(below[0])


def _count_titles(records: Sequence[Sequence[str]]) -> int:
    """Return the number of records at the top that are titles: one cell each, above names of several columns."""
    filled = [sum(map(bool, record)) for record in records]
    first = next((place for place, cells in enumerate(filled) if cells > 1), 0)
    return 0 if any(is_plain_number(cell) for cell in records[first]) else first


def is_plain_number(text: str) -> bool:
    """Return whether text is a number as Python writes it."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class Header(NamedTuple):
    """The first record that is no title: how many lines and titles stand above it, and its cells."""

    n_lines: int
    n_titles: int
    cells: list[str]


def find_header(file: FileStamp, encoding: str, delimiter: str, *, skip_titles: bool = True) -> Header:
    """Return the first record that is no title, such as the name of a report; it has no cells in an empty file."""
    first: list[tuple[int, list[str]]] = []
    with open_text(file, encoding) as opened, suppress(csv.Error):  # a cell that is too long is named later
        first += islice(_numbered(opened, delimiter), MOST_RECORDS)
    if not first:
        return Header(0, 0, [])
    n_titles = _count_titles([record for _, record in first]) if skip_titles else 0
    line, cells = first[n_titles]
    return Header(line - 1, n_titles, cells)


def find_lines(file: FileStamp, encoding: str, delimiter: str, records: Iterable[int]) -> dict[int, int]:
    """Return the line on which each of the given records begins; lines count from 1, records from 0, with the names.

    Records are not lines where a quoted cell has a line break.
    """
    wanted = set(records)
    found: dict[int, int] = {}
    with open_text(file, encoding) as opened, suppress(csv.Error):
        for number, (line, _) in enumerate(_numbered(opened, delimiter)):
            if number in wanted:
                found[number] = line
                if len(found) == len(wanted):
                    break
    return found


class Ragged(NamedTuple):
    """Records of another length than the first: how many, line and length of some, and the line of an endless one."""

    n_records: int
    first: list[tuple[int, int]]
    endless: int | None


def find_ragged(file: FileStamp, encoding: str, delimiter: str, n_columns: int, most: int, n_titles: int = 0) -> Ragged:
    """Return the records below the titles that do not have ``n_columns`` cells."""
    n_ragged, line = 0, 0
    first: list[tuple[int, int]] = []
    with open_text(file, encoding) as opened:
        try:
            for line, record in islice(_numbered(opened, delimiter), n_titles, None):
                if len(record) != n_columns:
                    n_ragged += 1
                    if len(first) < most:
                        first.append((line, len(record)))
        except csv.Error:  # a cell that is longer than csv allows
            return Ragged(n_ragged, first, line + 1)
    return Ragged(n_ragged, first, None)


def _numbered(opened: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not empty, with the line on which each begins."""
    reader = csv.reader(opened, delimiter=delimiter)
    line = 1
    for record in reader:
        if record:
            yield line, record
        line = reader.line_num + 1


def _records(lines: Iterable[str], delimiter: str) -> Iterator[Sequence[str]]:
    with suppress(csv.Error):  # a cell that is too long: what was read until then is enough
        yield from csv.reader(lines, delimiter=delimiter)


@contextmanager
def open_text(file: FileStamp, encoding: str) -> Iterator[IO[str]]:
    """Open a file as text, without its byte order mark and with the line breaks that it has."""
    with (
        _open_bytes(file) as opened,
        io.TextIOWrapper(opened, "utf-8-sig" if encoding == UTF_8 else encoding, newline="") as text,
    ):
        yield text


def _open_bytes(file: FileStamp) -> IO[bytes]:
    if file.path.suffix.lower() == ".gz":
        return gzip.open(file.path, "rb")  # type: ignore[return-value]  # it reads bytes as a file does
    return file.path.open("rb")


def _endings(path: Path) -> list[str]:
    return [suffix.lower() for suffix in path.suffixes]
