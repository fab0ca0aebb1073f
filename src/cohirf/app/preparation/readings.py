"""Text as numbers and dates: how the cells of a column are read, and which of them cannot be read
that way.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cohirf.app.preparation.policy import READING
from cohirf.optional import import_optional
from cohirf.rows import FloatArray
from cohirf.sources import MISSING

# spaces (plain, no-break and narrow) and apostrophes, all of which group digits
DIGIT_GROUPS = (" ", "\u00a0", "\u202f", "'", "\u2019")
# what people write into a column of numbers or dates where there is none; elsewhere these may be
# levels
MARKS = (
    *("-", "--", "\u2013", "\u2014", "?", "??", ".", "*"),
    *("none", "nil", "missing", "unknown", "not available"),
)
FIELDS = {"Y": r"\d{4}", "b": "[A-Za-z]+", "p": "[AaPp][Mm]"}  # patterns of parts of dates


def compute() -> Any:
    """Return pyarrow.compute."""
    return import_optional("pyarrow.compute", "arrow", "Preparing a table")


def as_text(values: Any) -> Any:
    """Return an Arrow array as plain text."""
    return values.cast("string")


def clean_text(values: Any) -> Any:
    """Return an Arrow array as trimmed text, with null for cells that stand for a missing value."""
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    pc = compute()
    text = pc.utf8_trim_whitespace(as_text(values))
    is_missing = pc.is_in(text, value_set=arrow.array(MISSING))
    if pc.any(is_missing).as_py():
        return pc.if_else(is_missing, None, text)
    return text


class ReadCells(NamedTuple):
    """Numbers, with NaN for missing cells and for those that cannot be read.

    And which cells these last are.
    """

    values: FloatArray
    is_bad: NDArray[np.bool_]


@dataclass(frozen=True)
class NumberReading:
    """Numbers with a decimal sign, which may have grouped digits, a unit, and parentheses for a
    minus.
    """

    decimal: str = "."  # the other one may group digits by three, as spaces and apostrophes may
    unit: str = ""  # text before or after the number, such as "€", "%" or "kg"; cells may lack it

    def read(self, text: Any) -> ReadCells:
        """Read clean text."""
        pc = compute()
        if (plain := read_plain(text, self)) is not None:
            return plain
        if self.unit:
            text = pc.utf8_trim_whitespace(
                pc.replace_substring(text, self.unit, "", max_replacements=1)
            )
        if pc.any(pc.match_substring(text, "\N{MINUS SIGN}")).as_py():
            text = pc.replace_substring(text, "\N{MINUS SIGN}", "-")
        groups = ("," if self.decimal == "." else ".", *DIGIT_GROUPS)
        sign = rf"\{self.decimal}"
        whole = rf"(\d+|[1-9]\d{{0,2}}([{''.join(groups)}]\d{{3}})+)"
        pattern = rf"^[-+(]? ?({whole}({sign}\d*)?|{sign}\d+)([eE][-+]?\d+)?\)?$"
        is_good = pc.match_substring_regex(text, pattern)
        is_bad = np.zeros(len(text), dtype=bool)
        if pc.all(is_good).as_py() is False:  # None: all cells are missing
            is_good = pc.or_(pc.fill_null(is_good, False), pc.is_null(text))
            is_bad = ~_bools(is_good) & ~_bools(
                pc.is_in(pc.utf8_lower(text), value_set=to_array(MARKS))
            )
            text = pc.if_else(is_good, text, None)
        is_negative = pc.starts_with(text, "(")
        for sign in (*groups, *"()"):
            if pc.any(pc.match_substring(text, sign)).as_py():
                text = pc.replace_substring(text, sign, "")
        values = _floats(pc.replace_substring(text, self.decimal, ".").cast("double"))
        is_huge = np.isinf(values)  # such as 1e999: no more a number than the word inf
        values = np.where(is_huge, np.nan, np.where(_bools(is_negative), -values, values))
        return ReadCells(values, is_bad | is_huge)


@dataclass(frozen=True)
class DateReading:
    """Dates, times of day, or both, in a format of strptime.

    Years of two digits are the hundred years from ``first_year`` on. Fractions of seconds and time
    zones are cut off.
    """

    format: str
    first_year: int = READING.first_year

    def read(self, text: Any) -> ReadCells:
        """Read clean text as seconds since 1970, in local time."""
        pc = compute()
        is_missing = _bools(pc.is_null(text))
        values = self._parse(text)
        # 2024-03-01T12:30:00.250+01:00
        if self.format.endswith("%S") and (np.isnan(values) & ~is_missing).any():
            values = self._parse(
                pc.replace_substring_regex(text, r"([.,]\d+)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?$", "")
            )
        is_bad = np.isnan(values) & ~is_missing
        if is_bad.any():
            is_bad &= ~_bools(pc.is_in(pc.utf8_lower(text), value_set=to_array(MARKS)))
        return ReadCells(values, is_bad)

    def _parse(self, text: Any) -> FloatArray:
        moments = compute().strptime(text, format=self.format, unit="s", error_is_null=True)
        values = _floats(moments.cast("int64").cast("double"))
        if not self.has_day:
            return values
        values = np.where(values < READING.first_date, np.nan, values)
        if self.has_short_years:
            values = self._settle_century(values)
        pc = compute()
        early = np.flatnonzero(_bools(pc.less_equal(pc.day(moments), 3)))
        # or a day that does not exist, such as 31 February, which Arrow reads as 2 March
        if len(early):
            fields = FIELDS | {"d": r" ?(?P<day>\d{1,2})"}
            days = pc.struct_field(
                pc.extract_regex(text.take(early), _to_pattern(self._in_full, fields)), "day"
            )
            values[early[_floats(days.cast("double")) > 28]] = np.nan
        return values

    def _settle_century(self, values: FloatArray) -> FloatArray:
        """Return moments in the hundred years from the first year on, with the same day and month.

        29 February is missing where there is none.
        """
        settled = np.full(len(values), np.nan)
        is_read = ~np.isnan(values)
        moments = values[is_read].astype("int64").astype("datetime64[s]")
        months = moments.astype("datetime64[M]")
        in_month = moments - months
        months = months - (years_of(values[is_read]) - self.first_year) // 100 * 1200
        moments = months + in_month
        exists = moments.astype("datetime64[M]") == months
        settled[is_read] = np.where(exists, moments.astype("int64"), np.nan)
        return settled

    @property
    def has_short_years(self) -> bool:
        """Whether years have two digits."""
        return "%y" in self._in_full

    @property
    def _in_full(self) -> str:
        """The format without abbreviations of dates, which users may give."""
        return self.format.replace("%F", "%Y-%m-%d").replace("%D", "%m/%d/%y").replace("%e", "%d")

    @property
    def has_day(self) -> bool:
        """Whether there is a date, not only a time of day."""
        return "%d" in self._in_full


def years_of(moments: FloatArray) -> NDArray[np.int64]:
    """Return the years of seconds since 1970."""
    years = moments.astype("int64").astype("datetime64[s]").astype("datetime64[Y]")
    found: NDArray[np.int64] = years.astype("int64") + 1970
    return found


def find_first_year(years: Iterable[int]) -> int:
    """Return the first of the hundred years that some years of two digits stand for.

    On the circle from 0 to 99, the longest gap is cut: all other years are one stretch. Of two
    centuries, that one is taken in which more of the stretch is in the usual hundred years, and of
    equal ones the later. These hundred years themselves are taken if all of the stretch is in them,
    and if there is no gap but of a few years.
    """
    usual = READING.first_year
    seen = sorted({year % 100 for year in years})
    gaps = [
        (after - year - 1) % 100 for year, after in zip(seen, [*seen[1:], *seen[:1]], strict=True)
    ]
    longest = max(gaps, default=0)
    if longest <= READING.few_years:
        return usual
    length = 100 - longest
    begins = [
        century + (year + longest + 1) % 100
        for year, gap in zip(seen, gaps, strict=True)
        for century in (1900, 2000)
        if gap == longest
    ]
    n_usual, begin = max((min(one + length, usual + 100) - max(one, usual), one) for one in begins)
    return usual if n_usual == length else max(1900, begin - longest // 2)


def find_unit(cells: Iterable[str]) -> str:
    """Return the text that most cells have before or after their number; empty if there is none."""
    units = Counter(_unit_of(cell) for cell in cells)
    unit, times = units.most_common(1)[0] if units else ("", 0)
    return unit if times * 2 > units.total() else ""


def _unit_of(cell: str) -> str:
    """Return what remains of a cell without its number.

    Before the number, only currencies are units.
    """
    rest = cell.strip(f"0123456789.,+-()\N{MINUS SIGN}{''.join(DIGIT_GROUPS)}")
    if not rest or len(rest) > READING.unit or any(sign.isdigit() for sign in rest):
        return ""
    currencies = {
        *("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "NZD", "SEK", "NOK"),
        *("DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "KRW", "TRY", "SGD", "HKD", "ILS"),
        "RUB",
    }
    is_currency = rest in currencies or any(unicodedata.category(sign) == "Sc" for sign in rest)
    return rest if is_currency or cell.rstrip(")").endswith(rest) else ""


def are_whole(text: Any) -> bool:
    """Return whether all cells of some clean text are whole numbers."""
    pattern = r"^[+-]?\d+(\.0*)?$"  # pandas writes 98101.0 where a cell is missing
    return bool(compute().all(compute().match_substring_regex(text, pattern)).as_py())


def have_codes(text: Any) -> bool:
    """Return whether some cell of clean text would lose digits as a number."""
    pattern = r"^(0\d+|[+-]?\d{19,})$"
    return bool(compute().any(compute().match_substring_regex(text, pattern)).as_py())


def have_zeros(text: Any) -> bool:
    """Return whether some cell of clean text begins with a 0 that a number would not have."""
    return bool(compute().any(compute().match_substring_regex(text, r"^0\d")).as_py())


def find_date_formats(sample: Any) -> list[DateReading]:
    """Return the formats that read at least half of some clean text without missing cells."""
    first = sample[
        : READING.date_samples
    ].to_pylist()  # few cells show that most of the formats are wrong
    readings = [DateReading(form) for form in _date_formats() if _looks_like(form, first)]
    return [reading for reading in readings if reading.read(sample).is_bad.mean() <= 0.5]


@cache
def _date_formats() -> list[str]:
    """Return all formats of dates and times that are tried."""
    days = [
        *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"),
        *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y"),
        *("%d %b %Y", "%d-%b-%Y", "%b %d, %Y"),  # %b reads names of months in full, too
    ]
    clocks = ["%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p"]
    moments = [f"{day}{gap}{clock}" for day, gap, clock in product(days, " T", clocks)]
    return [*days, *moments, *clocks]


def _looks_like(form: str, cells: list[str]) -> bool:
    """Return whether cells look like a format.

    Years of two digits are in all of them: 1.2.3 is no date.
    """
    fit = all if "%y" in form else any
    return fit(_shape(form).match(cell) for cell in cells)


def _to_pattern(form: str, fields: dict[str, str]) -> str:
    """Return a format of strptime as a pattern.

    Fields that are not given have one or two digits.
    """
    return re.sub(r"%(.)", lambda found: fields.get(found[1], r"\d{1,2}"), form.replace(".", r"\."))


@cache
def _shape(form: str) -> re.Pattern[str]:
    """Return a pattern that matches the beginning of all text in a format of strptime."""
    return re.compile(_to_pattern(form, FIELDS | {"y": r"\d{2}(?!\d)"}))


def read_plain(text: Any, reading: NumberReading | DateReading) -> ReadCells | None:
    """Read plain numbers, the quick way.

    None if another reading is asked for, or some cells are not plain numbers.
    """
    if reading != NumberReading():
        return None
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    try:
        values = _floats(text.cast("double"))
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError):
        return None
    # Arrow also reads the word inf
    if np.isinf(values).any():
        return None
    return ReadCells(values, np.zeros(len(values), dtype=bool))


def to_array(values: Iterable[str]) -> Any:
    """Return texts as an Arrow array."""
    arrow = import_optional("pyarrow", "arrow", "Preparing a table")
    return arrow.array(list(values), arrow.string())


def _bools(mask: Any) -> NDArray[np.bool_]:
    values: NDArray[np.bool_] = compute().fill_null(mask, False).to_numpy(zero_copy_only=False)
    return values


def _floats(values: Any) -> FloatArray:
    numbers: FloatArray = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    return numbers
