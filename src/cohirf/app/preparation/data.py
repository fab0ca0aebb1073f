"""Data as a set of columns, roles that the user gives to some, and their cells as features.

Places on the globe.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf import open_source
from cohirf.app.preparation.evidence import BadColumn, DataError, Strays, reading, say_strays
from cohirf.app.preparation.kinds import (
    WISHES,
    Boolean,
    Category,
    Column,
    LeftOut,
    Name,
    Number,
    Vector,
    is_text,
    read_numbers,
)
from cohirf.app.preparation.readings import NumberReading, as_text
from cohirf.error_contexts import warn_caller
from cohirf.optional import import_optional
from cohirf.rows import EARTH_KM
from cohirf.sources import (
    ARROW_NUMBERS,
    ArrowTable,
    NoRowsError,
    Source,
    Table,
    TableSource,
    is_plain_number,
    locate,
    open_table,
)
from cohirf.store import TemporaryFile
from cohirf.wording import listed, setting


@dataclass(frozen=True)
class Data:
    """A table, or an array without column names, in a file or in memory."""

    origin: Any  # the data itself, or its path
    # delimiter and header of a CSV file, header and sheet of a spreadsheet, if they were given
    csv: dict[str, Any]
    table: Table | None  # None for an array
    name: str  # in error messages
    columns: list[Name]  # names of all columns; numbers if the data has no names
    # the columns that can be features: all except index columns that pandas stored
    candidates: list[Name]

    @classmethod
    def open(
        cls,
        data: Any,
        *,
        delimiter: str | None = None,
        header: bool | None = None,
        sheet: str | None = None,
    ) -> Data:
        """Open data and find its columns.

        Some formats read the whole file for that: what is opened here is read from then on.
        """
        csv: dict[str, Any] = {"delimiter": delimiter, "header": header, "sheet": sheet}
        if isinstance(data, str | os.PathLike):
            origin: Any = locate(data)
        else:
            origin = data
        table = open_table(origin, **csv)
        if table is not None:
            if not table.types:
                raise ValueError(f"{table.name} has no columns: give at least one.")
            columns: list[Name] = list(table.types)
            candidates = [name for name in columns if name not in table.index]
            return cls(origin, csv, table, table.name, columns, candidates)
        array = open_source(origin, **csv)
        numbers: list[Name] = list(range(array.n_features))
        return cls(origin, csv, None, array.name, numbers, numbers)

    def open_numbers(self, columns: Sequence[Name]) -> Source:
        """Open numeric columns as a source."""
        wanted = None if list(columns) == self.columns else list(columns)
        if self.table is not None:
            return self.table.to_source(wanted)
        source: Source = open_source(self.origin, columns=wanted, **self.csv)
        return source

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
                if is_whole:
                    values = block[:, 0].astype(np.int64)
                else:
                    values = block[:, 0]
                yield arrow.array(values, from_pandas=True)

    def take(self, rows: Sequence[int]) -> dict[Name, list[Any]]:
        """Return the cells of some rows by column; all rows are read once, in blocks."""
        wanted, places = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
        if self.table is None:
            numbers = self.open_numbers(self.columns).take(wanted)
            return {
                column: numbers[places, number].tolist()
                for number, column in enumerate(self.columns)
            }
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
        arrow = import_optional("pyarrow", "arrow", "A label column")
        parts = [as_text(values).dictionary_encode() for values in self.read(column)]
        whole = arrow.chunked_array(parts).unify_dictionaries()
        codes = [part.indices.fill_null(-1).to_numpy() for part in whole.chunks]
        return Classes(whole.chunk(0).dictionary.to_pylist(), np.concatenate(codes))


@dataclass(frozen=True)
class Classes:
    """Known classes of the rows: the names of the classes, and each row's class number (-1 if it is
    missing).
    """

    names: list[str]
    codes: NDArray[Any]


def assign_roles(
    name: str,
    available: Sequence[Name],
    *,
    label_column: Name | None = None,
    id_column: Name | None = None,
    drop: Sequence[Name] = (),
    kinds: Mapping[Any, str] | None = None,
) -> dict[Name, str]:
    """Return what the user says that columns are: "label", "id", "dropped" or a kind.

    All must be in the data.
    """
    if label_column is None:
        given = []
    else:
        given = [(label_column, "label", setting("label_column", label_column))]
    given += [] if id_column is None else [(id_column, "id", setting("id_column", id_column))]
    given += [(column, "dropped", setting("drop", [column])) for column in drop]
    for column, wish in (kinds or {}).items():
        given.append((column, _check_wish(column, wish), setting("kinds", {column: wish})))
    roles: dict[Name, str] = {}
    for wanted, role, said in given:
        column = find_column(name, available, wanted, said)
        if column in roles:
            raise ValueError(
                f"{name}: column {column!r} has two roles, {roles[column]} and {role}: give it one."
            )
        roles[column] = role
    return roles


def find_role(roles: Mapping[Name, str], role: str) -> Name | None:
    """Return the first column with a role; None if there is none."""
    return next((column for column, one in roles.items() if one == role), None)


def _check_wish(column: Any, wish: str) -> str:
    kind, _, detail = wish.partition(":") if isinstance(wish, str) else ("", "", "")
    has_detail = bool(detail) and (kind == "date" or (kind == "number" and is_plain_number(detail)))
    if wish not in WISHES and not has_detail:
        raise ValueError(
            f"{setting('kinds', {column: wish})} is not valid: give {', '.join(WISHES)}, a date "
            "with its format, such as date:%d/%m/%Y, or numbers of which one means missing, such "
            "as number:-999."
        )
    return wish


def find_column(name: str, available: Sequence[Name], wanted: Name, given: str) -> Name:
    """Return the column that the user names.

    ``given`` is the argument as text, for error messages.
    """
    if wanted in available:
        return wanted
    if isinstance(available[0], int):
        if isinstance(wanted, str) and wanted.isdecimal() and int(wanted) in available:
            return int(wanted)
        raise ValueError(
            f"{given}: {name} has no column names: give a number from 0 to {available[-1]}."
        )
    raise ValueError(f"{given}: {name} has no such column: it has {listed(available)}.")


def are_stored_numbers(table: Table, columns: Sequence[Column]) -> bool:
    """Return whether columns are features as they are stored, so that they need not be written
    again.
    """
    return all(
        isinstance(one, Vector)
        or (
            isinstance(one, Number | Boolean)
            and table.types[str(one.name)] in ARROW_NUMBERS
            and getattr(one, "missing", None) is None
            and not one.n_bad
        )
        for one in columns
    )


def encode_table(table: Table, columns: Sequence[Column], most_bad: float) -> Source:
    """Write the features of columns to a temporary Arrow file, and open it.

    Cells that cannot be read become missing, and levels that the training data did not have zeros,
    with a warning. If more than the share ``most_bad`` of the cells of a column cannot be read, the
    data is refused.
    """
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    target = TemporaryFile()
    n_rows = 0
    strays = [Strays() for _ in columns]
    names = [feature.name for column in columns for feature in column.features]
    if name := next((name for name, times in Counter(names).items() if times > 1), None):
        raise ValueError(
            f"{table.name}: two features would be called {name!r}: rename the column {name!r}."
        )
    schema = arrow.schema([(name, arrow.float64()) for name in names])
    with (
        arrow.ipc.new_file(target.file, schema) as writer,
        reading(table.n_rows, "making features") as advance,
    ):
        for batch in table.read([str(one.name) for one in columns]):
            features = []
            for column, values, found in zip(columns, batch.columns, strays, strict=True):
                coded = column.encode(values)
                features += coded.features
                if coded.is_bad.any():
                    found.note(coded.is_bad, as_text(values), n_rows)
            writer.write_batch(
                arrow.record_batch([arrow.array(one) for one in features], schema=schema)
            )
            n_rows += len(batch)
            advance(len(batch))
    if n_rows == 0:
        raise NoRowsError(f"{table.name} has 0 rows: give at least one.")
    target.file.flush()
    _judge_strays(table, columns, strays, most_bad * n_rows)
    return TableSource(ArrowTable(target), origin=table)


def _judge_strays(
    table: Table, columns: Sequence[Column], strays: Sequence[Strays], most_bad: float
) -> None:
    """Refuse data with columns of which too many cells cannot be read, and warn of the others."""
    refused = list[BadColumn]()
    warned = list[BadColumn]()
    for column, found in zip(columns, strays, strict=True):
        if not found.n_bad:
            continue
        is_taken = isinstance(column, Category) or found.n_bad <= most_bad
        what = say_strays(found.n_bad, column.expects, are_taken=is_taken)
        if isinstance(column, Category):
            cells, are = ("1 cell", "is") if found.n_bad == 1 else (f"{found.n_bad:,} cells", "are")
            what = (
                f"has {cells} with a level that the training data did not contain, which {are} "
                "taken as no level"
            )
        if is_taken:
            remedy = ""
        else:
            remedy = "; give data with columns of the same kind as in the training data"
        (warned if is_taken else refused).append(
            BadColumn(column.name, what, remedy, found.n_bad, found.first)
        )
    if refused:
        raise DataError(table.name, refused, table.find_places)
    for problem in warned:
        places = table.find_places(row for row, _ in problem.cells)
        warn_caller(f"{table.name}: {problem.tell(places)}.", UserWarning)


# -- places on the globe


def read_length(text: str) -> float:
    """Return a length on the surface of the Earth as an angle in radians, which the haversine
    metric takes.

    Examples
    --------
    >>> from cohirf.app.preparation.data import read_length
    >>> round(read_length("2km") * 6371.0088, 6)
    2.0
    >>> read_length("500 m") == read_length("0.5km")
    True
    """
    in_km = {"km": 1.0, "m": 1e-3, "mi": 1.609344}
    found = re.fullmatch(r"([\d.]+(?:e[+-]?\d+)?)\s*(km|mi?)", text.strip().lower())
    if found and found[1].count(".") < 2:
        kilometres = float(found[1]) * in_km[found[2]]
    else:
        kilometres = 0.0
    if not 0 < kilometres < math.pi * EARTH_KM:
        raise ValueError(
            f"{text!r} is not a length on the globe: give a number and km, m or mi, such as 2km."
        )
    return kilometres / EARTH_KM


def find_coordinates(
    data: Data, roles: Mapping[Name, str], places: Sequence[Name]
) -> tuple[Column, ...]:
    """Return latitude and longitude, and then all other columns, which are no features."""
    if len(places) != 2:
        raise ValueError(
            f"{setting('places', places)} is not valid: give two columns, latitude and longitude."
        )
    names = [find_column(data.name, data.columns, name, setting("places", name)) for name in places]
    if names[0] == names[1] or roles.keys() & set(names):
        raise ValueError(
            f"{setting('places', places)} is not valid: give two columns that have no other role."
        )
    left = [column for column in data.candidates if column not in names]
    others = [
        LeftOut(column, "not a coordinate", role=roles.get(column, "dropped")) for column in left
    ]
    return Number(names[0], "latitude"), Number(names[1], "longitude"), *others


def refuse_bad_coordinates(data: Data, names: Iterable[Name]) -> None:
    """Raise DataError for cells of latitude and longitude that are not on the globe."""
    problems = []
    # 0 to 360 is as good as -180 to 180
    coordinates = {"latitude": 90.0, "longitude": 360.0}
    for name, (coordinate, largest) in zip(names, coordinates.items(), strict=True):
        found = Strays()
        start = 0
        for values in data.read(name):
            is_bad = ~(np.abs(read_numbers(values, NumberReading()).values) <= largest)
            if is_bad.any():
                found.note(is_bad, as_text(values).fill_null(""), start)
            start += len(values)
        if found.n_bad:
            what = say_strays(
                found.n_bad, f"a {coordinate}, a number up to {largest:g}", are_taken=False
            )
            remedy = "; give latitude, then longitude, in degrees, and leave out rows that lack one"
            problems.append(BadColumn(name, what, remedy, found.n_bad, found.first))
    if problems:
        name_rows = {row: f"row {row}" for problem in problems for row, _ in problem.cells}
        raise DataError(
            data.name,
            problems,
            (lambda _: name_rows) if data.table is None else data.table.find_places,
        )
