"""Data as a set of columns: numeric columns are opened as a source, other columns are read as stored."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.optional import import_optional
from cohirf.preparation.kinds import Name
from cohirf.preparation.tables import Table, is_text, open_table
from cohirf.preparation.text import as_text
from cohirf.sources import Source, open_source


@dataclass(frozen=True)
class Data:
    """A table, or an array without column names, in a file or in memory.

    Attributes
    ----------
    origin : path or object
        The data itself.
    csv : dict
        ``delimiter`` and ``header`` of a CSV file, if they were given.
    table : Table or None
        The data as a table; None for an array.
    name : str
        Its name in error messages.
    columns : list
        Names of all columns; numbers if the data has no names.
    candidates : list
        The columns that can be features: all except index columns that pandas stored.
    """

    origin: Any
    csv: dict[str, Any]
    table: Table | None
    name: str
    columns: list[Name]
    candidates: list[Name]

    @classmethod
    def open(cls, data: Any, *, delimiter: str | None = None, header: bool | None = None) -> Data:
        """Open data and find its columns, without reading its rows."""
        csv: dict[str, Any] = {"delimiter": delimiter, "header": header}
        origin = Path(data).expanduser() if isinstance(data, str | os.PathLike) else data
        table = open_table(origin, **csv)
        if table is not None:
            columns: list[Name] = list(table.types)
            candidates = [name for name in columns if name not in table.index]
            return cls(origin, csv, table, table.name, columns, candidates)
        array = open_source(origin, **csv)
        numbers: list[Name] = list(range(array.n_features))
        return cls(origin, csv, None, array.name, numbers, numbers)

    def open_numbers(self, columns: Sequence[Name]) -> Source:
        """Open numeric columns as a source."""
        wanted = None if list(columns) == self.columns else list(columns)
        return open_source(self.origin, columns=wanted, **self.csv)

    def read(self, column: Name) -> Iterator[Any]:
        """Yield a label or id column as Arrow arrays of one type."""
        if self.table is not None:
            for batch in self.table.read([str(column)]):
                values = batch.column(0)
                yield as_text(values) if is_text(str(values.type)) else values
        else:
            arrow = import_optional("pyarrow", "arrow", "A label or id column")
            numbers = self.open_numbers([column])
            is_whole = all((block % 1 == 0).all() for block in numbers.read_all())
            for block in numbers.read_all():
                values = block[:, 0].astype(np.int64) if is_whole else block[:, 0]
                yield arrow.array(values, from_pandas=True)

    def take(self, rows: Sequence[int]) -> dict[Name, list[Any]]:
        """Return the cells of some rows by column; all rows are read once, in blocks."""
        wanted, places = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
        if self.table is None:
            numbers = self.open_numbers(self.columns).take(wanted)
            return {column: numbers[places, number].tolist() for number, column in enumerate(self.columns)}
        names = [str(name) for name in self.candidates]
        cells: dict[Name, list[Any]] = {name: [] for name in names}
        start = 0
        for batch in self.table.read(names):
            here = wanted[(wanted >= start) & (wanted < start + len(batch))] - start
            for number, name in enumerate(names if len(here) else ()):
                cells[name] += batch.column(number).take(here).to_pylist()
            start += len(batch)
        return {name: [found[place] for place in places] for name, found in cells.items()}

    def classes(self, column: Name) -> Classes:
        """Return the class of each row."""
        number_of: dict[Any, int] = {}
        codes = []
        for values, places in self._distinct(column):
            numbers = [-1 if value is None else number_of.setdefault(value, len(number_of)) for value in values]
            codes.append(np.array(numbers, dtype=np.int32)[places])
        return Classes([str(value) for value in number_of], np.concatenate(codes))

    def _distinct(self, column: Name) -> Iterator[tuple[list[Any], NDArray[Any]]]:
        """Yield, for some rows at a time, the distinct values and the index of each row's value among them."""
        for values in self.read(column):
            coded = as_text(values).dictionary_encode(null_encoding="encode")
            yield coded.dictionary.to_pylist(), coded.indices.to_numpy()


@dataclass(frozen=True)
class Classes:
    """Known classes of the rows: the names of the classes, and each row's class number (-1 if it is missing)."""

    names: list[str]
    codes: NDArray[np.int32]

    def by_name(self) -> NDArray[np.str_]:
        """Return the name of each row's class."""
        return np.array([*self.names, "missing"])[self.codes]
