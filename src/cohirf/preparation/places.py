"""Places on the globe: columns with latitude and longitude in degrees, and lengths on its surface."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from cohirf.preparation.data import Data, find_column
from cohirf.preparation.evidence import BadColumn, DataError, Strays
from cohirf.preparation.kinds import Column, LeftOut, Name, Number, read_numbers
from cohirf.preparation.readings import NumberReading, as_text
from cohirf.rows.metric_spaces import EARTH_KM

DEGREES = 180 / math.pi  # of a radian
COORDINATES = {"latitude": 90.0, "longitude": 360.0}  # and the largest of them; 0 to 360 is as good as -180 to 180
KILOMETRES = {"km": 1.0, "m": 1e-3, "mi": 1.609344}
LENGTH = re.compile(rf"([\d.]+(?:e[+-]?\d+)?)\s*({'|'.join(KILOMETRES)})")


def read_length(text: str) -> float:
    """Return a length on the surface of the Earth as an angle in radians, which the haversine metric takes.

    Examples
    --------
    >>> from cohirf.preparation.places import read_length
    >>> round(read_length("2km") * 6371.0088, 6)
    2.0
    >>> read_length("500 m") == read_length("0.5km")
    True
    """
    found = LENGTH.fullmatch(text.strip().lower())
    kilometres = float(found[1]) * KILOMETRES[found[2]] if found and found[1].count(".") < 2 else 0.0
    if not 0 < kilometres < math.pi * EARTH_KM:
        raise ValueError(f"{text!r} is not a length on the globe: give a number and km, m or mi, such as 2km.")
    return kilometres / EARTH_KM


def find_coordinates(data: Data, roles: Mapping[Name, str], places: Sequence[Name]) -> tuple[Column, ...]:
    """Return latitude and longitude, and then all other columns, which are no features."""
    if len(places) != 2:
        raise ValueError(f"places={places!r} is not valid: give two columns, latitude and longitude.")
    names = [find_column(data.name, data.columns, name, f"places={name!r}") for name in places]
    if names[0] == names[1] or roles.keys() & set(names):
        raise ValueError(f"places={places!r} is not valid: give two columns that have no other role.")
    others = [
        LeftOut(column, "not a coordinate", role=roles.get(column, "dropped"))
        for column in data.candidates
        if column not in names
    ]
    return Number(names[0], "latitude"), Number(names[1], "longitude"), *others


def refuse_bad_coordinates(data: Data, names: Iterable[Name]) -> None:
    """Raise DataError for cells of latitude and longitude that are not on the globe."""
    pairs = zip(names, COORDINATES, strict=True)
    problems = [problem for name, coordinate in pairs for problem in _find_problems(data, name, coordinate)]
    if problems:
        raise DataError(data.name, problems, _name_rows if data.table is None else data.table.find_places)


def _find_problems(data: Data, name: Name, coordinate: str) -> Iterator[BadColumn]:
    """Yield what is wrong with the cells of a column of coordinates."""
    largest, start = COORDINATES[coordinate], 0
    missing, strange, beyond = Strays(), Strays(), Strays()
    for values in data.read(name):
        cells = read_numbers(values, NumberReading())
        is_right = np.abs(cells.values) <= largest
        if not is_right.all():
            text = as_text(values).fill_null("")
            missing.note(np.isnan(cells.values) & ~cells.is_bad, text, start)
            strange.note(cells.is_bad, text, start)
            beyond.note(~is_right & ~np.isnan(cells.values), text, start)
        start += len(values)
    wrong = {
        "missing": (missing, "leave these rows out"),
        "not a number": (strange, "write degrees as in 48.137"),
        f"no {coordinate}, because beyond {largest:g} degrees": (beyond, "give latitude, then longitude, in degrees"),
    }
    for what, (found, remedy) in wrong.items():
        if found.n_bad:
            cells_are = "1 cell that is" if found.n_bad == 1 else f"{found.n_bad:,} cells that are"
            yield BadColumn(name, f"has {cells_are} {what}", f"; {remedy}", found.n_bad, found.first)


def _name_rows(rows: Iterable[int]) -> dict[int, str]:
    return {row: f"row {row}" for row in rows}
