"""From cells to features: columns of a table are written to a temporary Arrow file of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cohirf.callers import warn_caller
from cohirf.optional import import_optional
from cohirf.preparation.decide import STRAY_SHARE
from cohirf.preparation.evidence import MOST_NAMED
from cohirf.preparation.kinds import Boolean, Category, Column, Name, Number
from cohirf.preparation.problems import DataError, Problem, say_strays
from cohirf.preparation.tables import Table
from cohirf.preparation.text import as_text
from cohirf.sources import Source
from cohirf.sources.arrow_columns import NUMBERS
from cohirf.sources.arrow_ipc import ArrowSource
from cohirf.store.files import TemporaryFile


@dataclass
class Strays:
    """The cells of a column that cannot be read."""

    n_cells: int = 0
    cells: list[tuple[int, str]] = field(default_factory=list)

    def add(self, is_bad: Any, values: Any, start: int) -> None:
        """Count the bad cells of a block that starts with row ``start``."""
        bad = np.flatnonzero(is_bad)
        self.n_cells += len(bad)
        named = bad[: MOST_NAMED - len(self.cells)]
        self.cells += [(start + int(row), as_text(values)[int(row)].as_py()) for row in named]


def are_stored_numbers(table: Table, columns: Sequence[Column]) -> bool:
    """Return whether columns are features as they are stored, so that they need not be written again."""
    return all(isinstance(one, Number | Boolean) and table.types[str(one.name)] in NUMBERS for one in columns)


def encode(table: Table, columns: Sequence[Column], *, lenient: Collection[Name] = ()) -> Source:
    """Write the features of columns to a temporary Arrow file, and open it.

    Cells that cannot be read become missing, with a warning; if several cells of a column are such, and more than 1 %,
    the data is refused, except for the columns ``lenient``. Levels that the training data did not have are zeros, with
    a warning.
    """
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    target, writer, n_rows = TemporaryFile(), None, 0
    strays = [Strays() for _ in columns]
    schema = arrow.schema([(name, arrow.float64()) for name in _feature_names(table, columns)])
    for batch in table.read([str(one.name) for one in columns]):
        features = []
        for number, column in enumerate(columns):
            values = batch.column(number)
            coded = column.encode(values)
            features += coded.features
            if coded.is_bad.any():
                strays[number].add(coded.is_bad, values, n_rows)
        writer = writer or arrow.ipc.new_file(target.file, schema)
        writer.write_batch(arrow.record_batch([arrow.array(one) for one in features], schema=schema))
        n_rows += len(batch)
    if writer is None or n_rows == 0:
        raise ValueError(f"{table.name} has 0 rows: give at least one.")
    writer.close()
    target.file.flush()
    _judge(table, columns, strays, n_rows, lenient)
    return ArrowSource(target, origin=table.origin)


def _judge(
    table: Table, columns: Sequence[Column], strays: Sequence[Strays], n_rows: int, lenient: Collection[Name]
) -> None:
    """Refuse data with too many cells that cannot be read, and warn of the others."""
    refused, warned = [], []
    for column, found in zip(columns, strays, strict=True):
        if not found.n_cells:
            continue
        # a single cell says little about a column, unless it is all there is
        is_rare = found.n_cells <= STRAY_SHARE * n_rows or 1 == found.n_cells < n_rows
        is_tolerated = column.name in lenient or is_rare
        if isinstance(column, Category):
            warned.append(_tell_levels(column, found))
        elif is_tolerated:
            what = say_strays(found.n_cells, column.expects, are_taken=True)
            warned.append(Problem(column.name, what, "", found.n_cells, found.cells))
        else:
            refused.append(_tell_refused(column, found))
    if refused:
        raise DataError(table.name, refused, table.find_places)
    for problem in warned:
        places = table.find_places(row for row, _ in problem.cells)
        warn_caller(f"{table.name}: {problem.tell(places)}.", UserWarning)


def _tell_levels(column: Column, found: Strays) -> Problem:
    cells, are = ("1 cell", "is") if found.n_cells == 1 else (f"{found.n_cells:,} cells", "are")
    what = f"has {cells} with a level that the training data did not contain, which {are} taken as no level"
    return Problem(column.name, what, "", found.n_cells, found.cells)


def _tell_refused(column: Column, found: Strays) -> Problem:
    as_missing = f"; give kinds={{{column.name!r}: {column.kind!r}}} to take these as missing"
    otherwise = "give data with columns of the same kind as in the training data"
    if column.kind == "date":
        otherwise = f"kinds={{{column.name!r}: 'date:FORMAT'}} if dates have another format, or {otherwise}"
    remedy = f"{as_missing}, or {otherwise}"
    what = say_strays(found.n_cells, column.expects, are_taken=False)
    return Problem(column.name, what, remedy, found.n_cells, found.cells)


def _feature_names(table: Table, columns: Sequence[Column]) -> list[str]:
    names = [feature.name for column in columns for feature in column.features]
    for name, times in Counter(names).items():
        if times > 1:
            raise ValueError(f"{table.name}: two features would be called {name!r}: rename the column {name!r}.")
    return names
