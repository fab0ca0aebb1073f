"""A source of rows of a CSV file, which is converted once, block by block, to an Arrow file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from cohirf.durable.temporary import TemporaryFile
from cohirf.optional import import_optional
from cohirf.sources.arrow_batches import open_file
from cohirf.sources.arrow_ipc import ArrowSource
from cohirf.sources.columns import Columns, choose_names, refuse_type
from cohirf.sources.conversion import MADE_FROM, is_made, writing
from cohirf.sources.files import FileStamp, one_line

BLOCK_BYTES = 2**20  # Arrow reads about thirty blocks ahead
TO_UTF_8 = "convert the file first, for instance with iconv -f latin1 -t utf-8"
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
    made_from |= {"delimiter": csv.delimiter, "header": header, "types": types}
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
    """A CSV file and how to read it."""

    file: FileStamp
    delimiter: str
    header: bool | None

    @classmethod
    def of(cls, file: FileStamp, delimiter: str | None, header: bool | None) -> Self:
        """Return a CSV file; the default delimiter depends on the ending of its name."""
        if delimiter is None:
            delimiter = "\t" if ".tsv" in file.path.suffixes else ","
        elif len(delimiter) != 1 or not delimiter.isascii() or delimiter in _NO_DELIMITERS:
            raise ValueError(f"delimiter={delimiter!r} is not valid: give one character, such as ; or a tab.")
        return cls(file, delimiter, header)

    def find_schema(self) -> Any:
        """Return names and types of all columns, inferred from the beginning of the file."""
        with self.naming(), self.read() as reader:
            schema = reader.schema
            names = schema.names  # inside the context: Arrow decodes names lazily, so errors appear here
        if self.header is None and all(_is_number(name) for name in names):
            raise ValueError(
                f"{self.file.name} has only numbers in its first line: give header=False if they are data, "
                f"header=True if they are names."
            )
        return schema

    def find_types(self, columns: Columns) -> dict[str, str]:
        """Return the chosen columns and their types after conversion, inferred from the beginning of the file."""
        schema = self.find_schema()
        found = {name: str(schema.field(name).type) for name in choose_names(self.file.name, schema.names, columns)}
        for name, type_found in found.items():
            if type_found not in TYPES:
                hint = f" Or is the delimiter not {self.delimiter!r}?" if len(schema.names) == 1 else ""
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

    def read(self, types: dict[str, str] | None = None) -> Any:
        """Return a reader of record batches: the given columns with the given types, or all with inferred types."""
        arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
        csv = import_optional("pyarrow.csv", "arrow", "Reading a CSV file")
        file = open_file(self.file)
        return csv.open_csv(
            arrow.CompressedInputStream(file, "gzip") if self.file.path.suffix.lower() == ".gz" else file,
            csv.ReadOptions(block_size=BLOCK_BYTES, autogenerate_column_names=self.header is False),
            csv.ParseOptions(delimiter=self.delimiter),
            csv.ConvertOptions(column_types=types, include_columns=list(types or ()), strings_can_be_null=True),
        )

    @contextmanager
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
            return f"{self.file.name} is empty: give a line of column names and a line for each sample."
        if "codec can't decode" in message:
            return f"{self.file.name} has column names that are not in UTF-8: {TO_UTF_8}."
        if "invalid UTF8 data" in message:
            return f"{self.file.name} has text that is not in UTF-8: {TO_UTF_8}."
        if found := re.search(r"In CSV column #(\d+): .*invalid value '(.*)'", message):
            with self.read() as reader:
                name = reader.schema.names[int(found[1])]
            return (
                f"{self.file.name}: column {name!r} holds {found[2]!r}, which is not a number: turn it into numbers "
                f"first, or leave it out, for instance with columns=lambda name: name != {name!r}."
            )
        return f"{self.file.name} cannot be read as CSV: {message}. Repair the file, or give its delimiter=."


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
