"""What one pass over a column finds: missing and distinct cells, cells that each reading cannot
read, and problems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf import progress
from cohirf.app.preparation.kinds import (
    CYCLES,
    DAY,
    Name,
    is_number,
    is_text,
    is_time,
    phase,
    read_moments,
    read_numbers,
)
from cohirf.app.preparation.policy import NAME, READING
from cohirf.app.preparation.readings import (
    DateReading,
    NumberReading,
    ReadCells,
    are_whole,
    as_text,
    clean_text,
    compute,
    find_date_formats,
    find_first_year,
    find_unit,
    have_codes,
    have_zeros,
    read_plain,
    years_of,
)
from cohirf.optional import import_optional
from cohirf.sources import Source, Table

FindPlaces = Callable[[Iterable[int]], dict[int, str]]


@dataclass
class Strays:
    """The cells of a column that cannot be read."""

    n_bad: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)  # row and text of some of them

    def note(self, is_bad: NDArray[np.bool_], text: Any, start: int) -> None:
        """Count the bad cells of a block that starts with row ``start``."""
        bad = np.flatnonzero(is_bad)
        self.n_bad += len(bad)
        self.first += [
            (start + int(row), text[int(row)].as_py() or "")
            for row in bad[: READING.named_cells - len(self.first)]
        ]


@dataclass(kw_only=True)
class Tally(Strays):
    """How well a reading suits a column: which cells it cannot read, and what the others are."""

    reading: NumberReading | DateReading
    n_read: int = 0  # cells that it can read,
    is_whole: bool = True  # whether these are whole numbers,
    low: float = np.inf
    high: float = -np.inf
    total: float = 0.0  # and their sum,
    # the smallest and the largest step from one cell to the next
    low_step: float = np.inf
    high_step: float = -np.inf
    last: float = np.nan
    years: set[int] = field(default_factory=set)  # of dates whose years have two digits
    n_midnight: int = 0  # of dates: cells at 0:00, as dates without a time have
    # of dates: cells in each hour, on each weekday
    steps: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def add(self, cells: ReadCells, text: Any, start: int) -> None:
        """Count the cells of a block that starts with row ``start``."""
        self.note(cells.is_bad, text, start)
        present = cells.values[~np.isnan(cells.values)]
        if not len(present):
            return
        self.n_read += len(present)
        # infinite values give NaN means, and are not whole
        with np.errstate(invalid="ignore", over="ignore"):
            self.total += float(present.sum())
            self.is_whole = self.is_whole and bool((present % 1 == 0).all())
        self.low = min(self.low, float(present.min()))
        self.high = max(self.high, float(present.max()))
        with np.errstate(invalid="ignore", over="ignore"):
            steps = np.diff(present, prepend=self.last)
        self.low_step = float(np.fmin.reduce(steps, initial=self.low_step))
        self.high_step = float(np.fmax.reduce(steps, initial=self.high_step))
        self.last = float(present[-1])
        if isinstance(self.reading, DateReading):
            if self.reading.has_short_years:
                self.years |= set(np.unique(years_of(present)).tolist())
            self.n_midnight += int(np.count_nonzero(present % DAY == 0))
            for cycle, (_, n_steps) in CYCLES.items():
                step = (phase(present, cycle) * n_steps + 1e-9).astype(np.int64)
                counted = np.bincount(step, minlength=n_steps)
                self.steps[cycle] = self.steps.get(cycle, 0) + counted


@dataclass
class Evidence:
    """What is known of a column after some of its cells were seen."""

    name: Name
    stored: str  # the type in which it is stored
    most_distinct: int
    wish: str | None = None
    first_year: int = READING.first_year  # of dates whose years have two digits
    n_rows: int = 0
    n_missing: int = 0
    # How often each distinct cell occurs, and their number, among the first n_counted cells that
    # are not missing. If there are too many, later cells are not counted: is_counted is False, and
    # there are more than n_distinct.
    counts: Counter[Any] = field(default_factory=Counter)
    n_distinct: int = 0
    n_counted: int = 0
    is_counted: bool = True
    has_repeats: bool = False  # whether one of the counted cells occurs twice
    tallies: list[Tally] | None = (
        None  # the readings that suit the column; None before its first cell
    )
    is_whole: bool = True  # whether all cells of text are whole numbers
    # whether whole numbers are codes: its name says so, or they would lose digits, like 007
    is_code: bool = False
    # whether some cell of text that is not whole begins with a 0 that a number has not: 01.1
    has_zeros: bool = False
    # "." and "," in cells that could be numbers with either
    separators: set[str] = field(default_factory=set)
    n_spaces: int = 0  # between words

    @property
    def n_present(self) -> int:
        """Number of cells that are not missing."""
        return self.n_rows - self.n_missing

    @property
    def n_words(self) -> float:
        """Mean number of words of a cell."""
        return 1 + self.n_spaces / max(1, self.n_present)

    def add(self, values: Any) -> None:
        """Take a block of cells, as an Arrow array, into account."""
        if self.wish == "category" or self.is_code:
            self._add_text(clean_text(values))
        elif is_number(str(values.type)):
            self._add_stored(values, read_numbers(values, NumberReading()), NumberReading())
        elif is_time(str(values.type)):
            self._add_stored(values, read_moments(values, DateReading("")), DateReading(""))
        elif is_text(str(values.type)):
            if (plain := self._read_plain(values)) is None:
                self._add_text(clean_text(values))
            else:
                self._add_stored(values, plain, NumberReading())
        else:
            self.n_missing += values.null_count
        self.n_rows += len(values)

    def _read_plain(self, text: Any) -> ReadCells | None:
        """Return plain numbers of text, if that is what it has and nothing else has to be found out
        about it.
        """
        is_known = not self.is_counted and not self.is_whole and len(self.tallies or ()) == 1
        if is_known and self.tallies:
            return read_plain(text, self.tallies[0].reading)
        return None

    def _add_stored(
        self, values: Any, cells: ReadCells, reading: NumberReading | DateReading
    ) -> None:
        """Take numbers or moments into account."""
        present = cells.values[~np.isnan(cells.values)]
        self.n_missing += len(cells.values) - len(present) - int(cells.is_bad.sum())
        self.tallies = self.tallies or [Tally(reading=reading)]
        self.tallies[0].add(cells, as_text(values) if cells.is_bad.any() else None, self.n_rows)
        if self.is_counted:
            distinct, times = np.unique(present, return_counts=True)
            self._count(distinct.tolist(), times.tolist())

    def _add_text(self, text: Any) -> None:
        self.n_missing += text.null_count
        if text.null_count == len(text):
            return
        if self.is_counted:
            counted = text.drop_null().value_counts()
            self._count(counted.field(0).to_pylist(), counted.field(1).to_pylist())
        if self.tallies is None:
            self.tallies = [
                Tally(reading=reading) for reading in self._find_readings(text.drop_null())
            ]
        if not any(isinstance(tally.reading, NumberReading) for tally in self.tallies):
            self.is_whole = False
            self.n_spaces += compute().sum(compute().count_substring(text, " ")).as_py()
            self._tally(text)
        elif self.is_whole and are_whole(text):
            self.is_code = self.is_code or have_codes(text)
            cells = NumberReading().read(text)  # all readings of numbers read them alike
            for tally in self.tallies:
                tally.add(cells, text, self.n_rows)
        else:
            self.is_whole = False
            self.has_zeros = self.has_zeros or have_zeros(text)
            if len(self.tallies) == 1:
                new = []
            else:
                new = [sign for sign in ".," if sign not in self.separators]
            self.separators |= {
                sign for sign in new if compute().any(compute().match_substring(text, sign)).as_py()
            }
            self._tally(text)

    def _tally(self, text: Any) -> None:
        """Count the cells that each reading cannot read.

        Stop with readings that are worse than others.
        """
        tallies = self.tallies or []
        for tally in tallies:
            tally.add(tally.reading.read(text), text, self.n_rows)
        best = min((tally.n_bad for tally in tallies), default=0)
        n_seen = self.n_present + len(text)
        self.tallies = [
            tally
            for tally in tallies
            if tally.n_bad == best or tally.n_bad <= READING.hopeless * n_seen
        ]

    def _find_readings(self, text: Any) -> Sequence[NumberReading | DateReading]:
        """Return the readings that are worth a try: those that read half of the first cells, or of
        distinct ones.
        """
        samples = text[: READING.samples], text.unique()[: READING.samples]
        unit = next(filter(None, (find_unit(sample.to_pylist()) for sample in samples)), "")
        numbers = [NumberReading(".", unit), NumberReading(",", unit)]
        if self.wish is not None and self.wish.startswith("date:"):
            return [DateReading(self.wish.removeprefix("date:"), self.first_year)]
        suitable = [
            one
            for one in numbers
            if any(one.read(sample).is_bad.mean() <= 0.5 for sample in samples)
        ]
        wants_numbers = self.wish is not None and self.wish.startswith("number")
        if wants_numbers or (suitable and self.wish != "date"):
            return numbers if wants_numbers else suitable
        dates = list(
            dict.fromkeys(
                replace(reading, first_year=self.first_year)
                for sample in samples
                for reading in find_date_formats(sample)
            )
        )
        if self.wish == "date":
            return [*dates, DateReading("%Y%m%d")]
        return dates

    def find_first_year(self) -> int:
        """Return the first of the hundred years that years of two digits stand for."""
        best = min(self.tallies or [], key=lambda tally: tally.n_bad, default=None)
        return find_first_year(() if best is None else best.years)

    def _count(self, cells: list[Any], times: list[int]) -> None:
        if self.counts or len(cells) <= self.most_distinct:
            self.counts.update(dict(zip(cells, times, strict=True)))
        self.n_distinct, self.n_counted = (
            max(len(self.counts), len(cells)),
            self.n_counted + sum(times),
        )
        self.has_repeats = self.n_distinct < self.n_counted
        if self.n_distinct > self.most_distinct:
            self.is_counted, self.counts = False, Counter()
            self.n_distinct = self.most_distinct  # does not depend on the size of blocks


def is_called(name: Name, words: Collection[str]) -> bool:
    """Return whether a name, such as customer_id or customerId, has one of some words."""
    return any(word in words for word in words_of(name))


def is_code_name(name: Name) -> bool:
    """Return whether a name says that whole numbers are codes: zip, or one of many things."""
    words = words_of(name)
    if not words:
        return False
    if len(words) > 1 and words[-1] in NAME.number_endings:  # school_no
        words = [*words[:-2], words[-2] + words[-1]]
    is_thing = words[-1] in NAME.things or _numbers_thing(words[-1])
    is_thing = is_thing and NAME.whose.union(NAME.things).issuperset(words[:-1])
    return is_thing or words[-1].endswith(NAME.code_endings) or is_called(name, NAME.codes)


def _numbers_thing(word: str) -> bool:
    """Return whether a word is the number of a thing, such as villnum: that of a village."""
    ending = next((one for one in NAME.number_endings if word.endswith(one)), "")
    begin = word.removesuffix(ending)
    is_long = ending != "" and len(begin) >= NAME.letters
    return is_long and any(thing.startswith(begin) for thing in NAME.things)


def _may_be_codes(stored: str) -> bool:
    return is_number(stored) or is_text(stored)


def words_of(name: Name) -> list[str]:
    """Return the words of a name, such as customer_id or customerId, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", str(name))]


def gather_numbers(source: Source) -> dict[Any, Evidence]:
    """Read an array once, and return what is found in each of its columns."""
    arrow = import_optional("pyarrow", "arrow", "Describing an array")
    most = min(READING.counted, READING.counted_in_all // source.n_features)
    found = {
        number: Evidence(number, source.dtype.name, most) for number in range(source.n_features)
    }
    for block in source.read_all():
        for number, evidence in found.items():
            evidence.add(arrow.array(block[:, number]))
    return found


def gather(table: Table, columns: Sequence[str], wishes: Mapping[Any, str]) -> dict[str, Evidence]:
    """Read the given columns, and return what is found in each.

    They are read once, and dates whose years have two digits once more if these are not those from
    the usual first one on.
    """
    found = _gather(table, columns, wishes, {})
    first_years = {name: one.find_first_year() for name, one in found.items()}
    again = [name for name, year in first_years.items() if year != READING.first_year]
    return found | (_gather(table, again, wishes, first_years) if again else {})


def _gather(
    table: Table,
    columns: Sequence[str],
    wishes: Mapping[Any, str],
    first_years: Mapping[str, int],
) -> dict[str, Evidence]:
    """Read the given columns once, and return what is found in each."""
    most = min(READING.counted, READING.counted_in_all // max(1, len(columns)))
    found = {
        name: Evidence(
            name,
            table.types[name],
            most,
            wishes.get(name),
            first_years.get(name, READING.first_year),
            is_code=is_code_name(name) and _may_be_codes(table.types[name]),
        )
        for name in columns
    }
    with reading(table.n_rows, "looking at the cells") as advance:
        for batch in table.read(columns):
            for number, name in enumerate(columns):
                found[name].add(batch.column(number))
            advance(len(batch))
    return found


@contextmanager
def reading(n_rows: int | None, purpose: str) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of rows that were just read.

    A program shows how far this is.
    """
    work = progress.Work("reading", n_rows or 1, "rows")
    with progress.showing(work, shown=progress.is_redirected()) as advance:
        yield lambda n_read: advance(n_read if n_rows else 0, purpose)


@dataclass(frozen=True)
class BadColumn:
    """What is wrong with a column, and what to do about it."""

    column: Any
    what: str
    remedy: str = ""
    n_cells: int = 0  # that cannot be read
    cells: Sequence[tuple[int, str]] = ()  # row and text of the first of them

    def tell(self, places: dict[int, str]) -> str:
        """Return a sentence that names column, cells and remedy."""
        return f"column {self.column!r} {self.tell_cells(places)}"

    def tell_cells(self, places: dict[int, str]) -> str:
        """Return the sentence without its subject, the column."""
        named = ", ".join(f"{places[row]}: {abridge(cell)!r}" for row, cell in self.cells)
        if self.n_cells > len(self.cells):
            more = f" and {self.n_cells - len(self.cells):,} more"
        else:
            more = ""
        return f"{self.what}{f': {named}{more}' if named else ''}{self.remedy}"


class DataError(ValueError):
    """Data that cannot be prepared.

    The message lists all problems, one in each line if there are several.

    Attributes
    ----------
    problems : list of BadColumn
        What is wrong with each column.
    lines : list of str
        The lines of the message.
    """

    def __init__(self, name: str, problems: Sequence[BadColumn], find_places: FindPlaces) -> None:
        self.problems = list(problems)
        places = find_places(row for problem in problems for row, _ in problem.cells)
        told = [f"{problem.tell(places)}." for problem in problems]
        if len(told) == 1:
            self.lines = [f"{name}: {told[0]}"]
        else:
            self.lines = [f"{name}: {len(told)} columns have problems:", *told]
        super().__init__("\n".join(self.lines))


def say_strays(n_cells: int, expected: str, *, are_taken: bool) -> str:
    """Return how many cells of a column are not what is expected, and whether they are taken as
    missing.
    """
    cells, are = ("1 cell", "is") if n_cells == 1 else (f"{n_cells:,} cells", "are")
    return (
        f"has {cells} that {are} not "
        f"{expected}{f', which {are} taken as missing' if are_taken else ''}"
    )


def abridge(cell: str) -> str:
    """Return the beginning of a long cell."""
    return cell if len(cell) <= READING.cell else f"{cell[: READING.cell - 3]}..."
