"""Kinds of columns: what the features of each are, how its cells become numbers, and how numbers
become text again.

A column of a table is a :class:`Number`, :class:`Boolean`, :class:`Category`, :class:`Date` or
:class:`Vector`, or
:class:`LeftOut`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cohirf.app.preparation.policy import READING
from cohirf.app.preparation.readings import (
    DateReading,
    NumberReading,
    ReadCells,
    clean_text,
    compute,
    read_plain,
)
from cohirf.optional import import_optional
from cohirf.rows import FloatArray
from cohirf.sources import ARROW_NUMBERS, name_places

Name = str | int  # of a column: a number if the data has no names

DAY = 86_400  # seconds
# length of a cycle in seconds, and its number of steps
CYCLES = {
    "hour": (DAY, 24),
    "weekday": (7 * DAY, 7),
}
MONDAY = 4 * DAY  # 1970-01-05: weekdays count from Monday
MISSING_LEVEL = "missing"  # of a category: the level of empty cells
WISHES = ("number", "category", "boolean", "date", "id", "text")  # kinds that the user may ask for


@dataclass(frozen=True)
class Feature:
    """A feature of the prepared rows, and where it comes from.

    Attributes
    ----------
    name : str
        Its name, such as ``age``, ``region=North`` or ``last_order: hour (sine)``.
    column : str or int
        The column of the original data.
    kind : {"number", "boolean", "category", "date", "vector"}
        The kind of that column.
    unit : str
        The unit of its values in the original data, such as "€" or "%". "share" for booleans and
        levels of a category, whose mean is a share of the rows; "date" for days since 1970-01-01;
        empty if it is not known.
    level : str or None
        The level of a category that this feature marks with 1.
    cycle : {"hour", "weekday"} or None
        The cycle of a date that this feature is the sine or cosine of.
    """

    name: str
    column: Name
    kind: str
    unit: str = ""
    level: str | None = None
    cycle: str | None = None

    def show(self, value: float) -> str:
        """Return a value in original units as text.

        Examples
        --------
        >>> from cohirf.app.preparation import Feature
        >>> Feature("spend", "spend", "number", "€").show(1204.5)
        '€1,204'
        >>> Feature("discounted", "discounted", "number", "%").show(12.5)
        '12.5%'
        >>> Feature("signed_up", "signed_up", "date", "date").show(17_897.2)
        '2019-01-01'
        >>> Feature("region=North", "region", "category", "share", level="North").show(0.25)
        '25%'
        """
        if np.isnan(value):
            return "-"
        if self.unit == "share":
            return f"{100 * value:.3g}%"
        if self.unit == "date":
            return str(np.datetime64(0, "s") + np.timedelta64(round(value * DAY), "s"))[:10]
        number = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
        if len(self.unit) == 1 and self.unit not in "%‰°" and not self.unit.isalpha():
            if value < 0:
                return f"-{self.unit}{number[1:]}"
            return f"{self.unit}{number}"
        return f"{number}{'' if self.unit in ('', '%', '‰', '°') else ' '}{self.unit}"


class Encoded(NamedTuple):
    """The features of some cells, and which cells cannot be read."""

    features: list[FloatArray]
    is_bad: NDArray[np.bool_]


@dataclass(frozen=True)
class Column(ABC):
    """A column of the original data: what it is, and why."""

    kind: ClassVar[str]

    name: Name  # a number if the data has no names
    reason: str = ""  # why it has this kind
    n_missing: int = 0  # number of missing cells in the training data
    n_bad: int = (
        0  # number of cells in the training data that cannot be read, and are taken as missing
    )

    @property
    @abstractmethod
    def features(self) -> tuple[Feature, ...]:
        """The features that this column becomes."""

    @abstractmethod
    def encode(self, values: Any) -> Encoded:
        """Return the features of an Arrow array of cells; missing cells are NaN."""

    @property
    def expects(self) -> str:
        """What a cell must be, for messages."""
        return f"a {self.kind}"

    def to_json(self) -> dict[str, Any]:
        """Return the column as a dict that can be stored as JSON."""
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True)
class Number(Column):
    """Numbers, stored as such or as text.

    Attributes
    ----------
    decimal : {".", ","}
        The decimal sign of text.
    unit : str
        The unit, such as "€".
    missing : float or None
        A number that stands for a missing cell, such as -999.
    """

    kind: ClassVar[str] = "number"

    decimal: str = "."
    unit: str = ""
    missing: float | None = None

    @property
    def features(self) -> tuple[Feature, ...]:
        """The numbers themselves."""
        return (Feature(str(self.name), self.name, self.kind, self.unit),)

    @property
    def expects(self) -> str:
        """What a cell must be, for messages."""
        comma = " with a decimal comma" if self.decimal == "," else ""
        return f"a number{comma}{f' in {self.unit}' if self.unit else ''}"

    def encode(self, values: Any) -> Encoded:
        """Return the numbers."""
        cells = read_numbers(values, NumberReading(self.decimal, self.unit))
        if self.missing is not None:
            cells = cells._replace(
                values=np.where(cells.values == self.missing, np.nan, cells.values)
            )
        return Encoded([cells.values], cells.is_bad)


@dataclass(frozen=True)
class Boolean(Column):
    """Two values that mean yes and no."""

    kind: ClassVar[str] = "boolean"

    true: str = "true"
    false: str = "false"

    @property
    def features(self) -> tuple[Feature, ...]:
        """1 for yes and 0 for no."""
        return (Feature(str(self.name), self.name, self.kind, "share"),)

    @property
    def expects(self) -> str:
        """What a cell must be, for messages."""
        return f"{self.true!r} or {self.false!r}"

    def encode(self, values: Any) -> Encoded:
        """Return 1 and 0."""
        if is_number(str(values.type)) or self.true == "1":
            cells = read_numbers(values, NumberReading())
            is_other = ~np.isin(cells.values, [0, 1]) & ~np.isnan(cells.values)
            return Encoded(
                [np.where(is_other, np.nan, cells.values)],
                cells.is_bad | is_other,
            )
        pc = compute()
        text = pc.utf8_lower(clean_text(values))
        is_true = _is(text, self.true)
        is_false = _is(text, self.false)
        present = pc.is_valid(text).to_numpy(zero_copy_only=False)
        return Encoded(
            [np.where(is_true, 1.0, np.where(is_false, 0.0, np.nan))],
            present & ~is_true & ~is_false,
        )


@dataclass(frozen=True)
class Category(Column):
    """Levels without an order. Upper and lower case are the same level.

    Attributes
    ----------
    levels : tuple of str
        The levels with a feature, sorted, each in its most frequent spelling. Missing cells are the
        level "missing".
    has_other : bool
        Whether the training data had rarer levels: rows of these, which have nothing in common, are
        zeros.
    """

    kind: ClassVar[str] = "category"

    levels: tuple[str, ...] = ()
    has_other: bool = False

    @property
    def features(self) -> tuple[Feature, ...]:
        """One feature per level: 1 where a row has it, 0 elsewhere."""
        return tuple(
            Feature(f"{self.name}={level}", self.name, self.kind, "share", level=level)
            for level in self.levels
        )

    @property
    def expects(self) -> str:
        """What a cell must be, for messages."""
        return "a level of the training data"

    def encode(self, values: Any) -> Encoded:
        """Return zeros and ones.

        Unknown levels are bad, unless the training data had some without a feature.
        """
        arrow = import_optional("pyarrow", "arrow", "Encoding categories")
        pc = compute()
        text = pc.utf8_lower(pc.fill_null(clean_text(values), MISSING_LEVEL))
        codes = pc.index_in(text, value_set=pc.utf8_lower(arrow.array(self.levels, arrow.string())))
        numbers = np.asarray(codes.fill_null(-1).to_numpy(zero_copy_only=False))
        ones = [(numbers == number).astype(np.float64) for number in range(len(self.levels))]
        return Encoded(ones, (numbers == -1) & (not self.has_other))


@dataclass(frozen=True)
class Date(Column):
    """Dates, times of day, or both.

    Attributes
    ----------
    format : str
        The format of text, as in strptime; empty for cells that are stored as dates.
    elapsed : bool
        Whether the days since 1970-01-01 are a feature.
    cycles : tuple of {"hour", "weekday"}
        The cycles whose sine and cosine are features.
    first_year : int
        The first of the hundred years that years of two digits stand for.
    """

    kind: ClassVar[str] = "date"

    format: str = ""
    elapsed: bool = True
    cycles: tuple[str, ...] = ()
    first_year: int = READING.first_year

    @property
    def features(self) -> tuple[Feature, ...]:
        """Elapsed days, and sine and cosine of the cycles."""
        if self.elapsed:
            elapsed: tuple[Feature, ...] = (Feature(str(self.name), self.name, self.kind, "date"),)
        else:
            elapsed = ()
        return elapsed + tuple(
            Feature(f"{self.name}: {cycle} ({wave})", self.name, self.kind, cycle=cycle)
            for cycle in self.cycles
            for wave in ("sine", "cosine")
        )

    @property
    def expects(self) -> str:
        """What a cell must be, for messages."""
        if self.format:
            return f"a date in the format {self.format}"
        return "a date"

    def encode(self, values: Any) -> Encoded:
        """Return days, sines and cosines."""
        cells = read_moments(values, DateReading(self.format, self.first_year))
        features = [cells.values / DAY] if self.elapsed else []
        for cycle in self.cycles:
            angle = 2 * np.pi * phase(cells.values, cycle)
            features += [np.sin(angle), np.cos(angle)]
        return Encoded(features, cells.is_bad)


@dataclass(frozen=True)
class Vector(Column):
    """Vectors of numbers, such as embeddings of texts, which are taken as they are."""

    kind: ClassVar[str] = "vector"

    width: int = 1  # their length

    @property
    def features(self) -> tuple[Feature, ...]:
        """One feature for each place."""
        return tuple(
            Feature(name, self.name, self.kind) for name in name_places(str(self.name), self.width)
        )

    def encode(self, values: Any) -> Encoded:
        """Raise: vectors are read by a source."""
        raise TypeError(
            f"column {self.name!r} has vectors: they cannot be prepared together with other "
            "columns."
        )


@dataclass(frozen=True)
class LeftOut(Column):
    """A column without features.

    Attributes
    ----------
    role : {"id", "text", "constant", "empty", "dropped", "label", "other"}
        What it is.
    value : float or None
        The value of a constant number.
    text : str
        The text of a constant.
    is_word : bool
        Whether the cells of an id are words or dates, which name a row better than a number.
    """

    kind: ClassVar[str] = "left out"

    role: str = "dropped"
    value: float | None = None
    text: str = ""
    is_word: bool = False

    @property
    def features(self) -> tuple[Feature, ...]:
        """There are none."""
        return ()

    def encode(self, values: Any) -> Encoded:
        """Return no features."""
        return Encoded([], np.zeros(len(values), dtype=bool))


KINDS: dict[str, type[Column]] = {
    one.kind: one for one in (Number, Boolean, Category, Date, Vector, LeftOut)
}


def column_from_json(content: dict[str, Any]) -> Column:
    """Return the column of any kind that ``to_json`` described."""
    values: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in content.items()
    }
    return KINDS[values.pop("kind")](**values)


def is_number(stored: str) -> bool:
    """Return whether a type of Arrow is numeric or boolean."""
    return stored in ARROW_NUMBERS or stored.startswith("decimal")


def is_time(stored: str) -> bool:
    """Return whether a type of Arrow is a date, a time of day or both."""
    return stored.startswith(("timestamp", "date", "time"))


def is_clock(stored: str) -> bool:
    """Return whether a type of Arrow is a time of day without a date."""
    return stored.startswith(("time32", "time64"))


def is_text(stored: str) -> bool:
    """Return whether a type of Arrow is text, whose values can be categories."""
    return stored.startswith(("string", "large_string", "string_view", "dictionary<"))


def read_numbers(values: Any, reading: NumberReading) -> ReadCells:
    """Return stored numbers as they are, and text by a reading."""
    if is_number(str(values.type)):
        # whole numbers above 2**53 lose digits
        doubles = values.cast("double", safe=False)
        numbers = np.asarray(doubles.to_numpy(zero_copy_only=False), dtype=np.float64)
        is_infinite = np.isinf(numbers)
        return ReadCells(np.where(is_infinite, np.nan, numbers), is_infinite)
    return read_plain(values, reading) or reading.read(clean_text(values))


def read_moments(values: Any, reading: DateReading) -> ReadCells:
    """Return stored dates and times as seconds since 1970, and text by a reading."""
    if not is_time(str(values.type)):
        return reading.read(clean_text(values))
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    if is_clock(str(values.type)):
        values = values.cast(arrow.time64("us")).cast("int64").cast("double")
        seconds = np.asarray(values.to_numpy(zero_copy_only=False)) / 1e6
    else:
        if arrow.types.is_timestamp(values.type) and values.type.tz is not None:
            values = compute().local_timestamp(values)
        values = values.cast(arrow.timestamp("us"), safe=False).cast("int64").cast("double")
        seconds = np.floor(np.asarray(values.to_numpy(zero_copy_only=False)) / 1e6)
    return ReadCells(seconds.astype(np.float64), np.zeros(len(seconds), dtype=bool))


def phase(seconds: FloatArray, cycle: str) -> FloatArray:
    """Return the place of moments in their cycle, from 0 to 1.

    Weekdays are whole days, hours are not rounded.
    """
    length, n_steps = CYCLES[cycle]
    place: FloatArray = ((seconds - (MONDAY if cycle == "weekday" else 0)) % length) / length
    return np.floor(place * n_steps) / n_steps if cycle == "weekday" else place


def _is(text: Any, value: str) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (
        compute().equal(text, value.lower()).fill_null(False).to_numpy(zero_copy_only=False)
    )
    return mask
