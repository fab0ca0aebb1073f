"""The kind of a column, decided from what was found in all of its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from cohirf.app.preparation.evidence import (
    BadColumn,
    Evidence,
    Tally,
    abridge,
    is_called,
    is_code_name,
    words_of,
)
from cohirf.app.preparation.kinds import (
    CYCLES,
    MISSING_LEVEL,
    Boolean,
    Category,
    Column,
    Date,
    LeftOut,
    Number,
    is_clock,
    is_number,
    is_text,
    is_time,
)
from cohirf.app.preparation.policy import DECISION, NAME
from cohirf.app.preparation.readings import DateReading, NumberReading, find_unit, to_array
from cohirf.wording import setting

AS_ASKED = "as you asked"
NAMED = "its name says so"
BLOCKS = "numbers blocks of rows"


def decide_all(found: Sequence[Evidence]) -> list[Column]:
    """Return the kinds of columns about which the user has said nothing."""
    comma = any(map(uses_comma, found))
    decided = list[Column]()
    for one in found:
        is_leading = all(getattr(other, "role", "") == "id" for other in decided)
        follows_id = is_leading and len(decided) > 0
        decided.append(_decide(one, comma=comma, is_leading=is_leading, follows_id=follows_id))
    return decided


def take_codes_back(found: Sequence[Evidence]) -> list[Column]:
    """Return the codes among some columns as numbers: where nothing else is left, their order may
    mean something, as that of postal codes does.
    """
    taken = list[Column]()
    for one in found:
        best = best_tally(one, comma=False)
        if one.is_code and best is not None and best.n_bad == 0 and best.low < best.high:
            number = _make_reading(one, best)
            taken.append(replace(number, reason="codes, but no other column is left"))
    return taken


def _decide(found: Evidence, *, comma: bool, is_leading: bool, follows_id: bool) -> Column:
    """Return the kind of a column.

    ``comma`` if other columns have a decimal comma. ``is_leading`` if there are only ids before it,
    ``follows_id`` if there is one.
    """
    if not (
        is_number(found.stored)
        or is_text(found.stored)
        or is_time(found.stored)
        or found.n_present == 0
    ):
        return LeftOut(found.name, _say_unreadable(found), found.n_missing, role="other")
    column = _choose(found, comma=comma, is_leading=is_leading, follows_id=follows_id)
    n_gaps = found.n_missing + column.n_bad
    if not column.features or n_gaps <= DECISION.missing * found.n_rows:
        return column
    reason = f"{n_gaps:,} of {found.n_rows:,} cells are missing"
    return LeftOut(found.name, reason, found.n_missing, role="empty")


def _say_unreadable(found: Evidence) -> str:
    said = f"has type {found.stored}, which holds neither numbers nor text nor dates"
    if "list" in found.stored:
        return f"{said}: give {setting('vectors', found.name)} to cluster these vectors"
    return said


def uses_comma(found: Evidence) -> bool:
    """Return whether the numbers of a column have a decimal comma, and cannot have a decimal
    point.
    """
    tallies = {getattr(one.reading, "decimal", ""): one for one in reversed(found.tallies or [])}
    point = tallies.get(".")
    comma = tallies.get(",")
    return (
        comma is not None and _suits(found, comma) and (point is None or not _suits(found, point))
    )


def _choose(found: Evidence, *, comma: bool, is_leading: bool, follows_id: bool) -> Column:
    if found.n_present == 0:
        return LeftOut(found.name, "has no values", found.n_missing, role="empty")
    if found.is_counted and found.n_distinct == 1:
        value = next(iter(found.counts))
        gaps = " where it is not missing" if found.n_missing else ""
        numbers = [
            tally.low for tally in found.tallies or [] if isinstance(tally.reading, NumberReading)
        ]
        number = numbers[0] if numbers and np.isfinite(numbers[0]) else None
        always = f"always {_quote_cell(value)}{gaps}"
        text = str(value) if is_text(found.stored) else ""
        return LeftOut(
            found.name, always, found.n_missing, role="constant", value=number, text=text
        )
    if found.stored == "bool":
        return Boolean(found.name, "true or false", found.n_missing)
    if pair := _find_pair(found) or _find_digits(found):
        return Boolean(
            found.name, f"{pair[0]} or {pair[1]}", found.n_missing, true=pair[0], false=pair[1]
        )
    best = best_tally(found, comma=comma)
    if _has_codes(found, best) and not _may_be_years(found, best):
        return _settle_codes(found, best, follows_id=follows_id)
    if found.stored.startswith("dictionary"):
        return _settle_text(found)
    if best is None or not _suits(found, best):
        return _settle_text(found)
    return _settle_reading(found, best, is_leading=is_leading, follows_id=follows_id)


def _has_codes(found: Evidence, best: Tally | None) -> bool:
    """Return whether cells are codes: whole numbers or mixed with letters, as the name says; with
    letters and zeros in front, such as A, 01 and 01.1; or names, of which many are whole numbers.
    """
    has_others = best is None or best.n_bad > 0
    if found.is_code:
        return has_others or (best is not None and best.is_whole)
    if best is None or not isinstance(best.reading, NumberReading) or best.reading.unit:
        return False
    are_many = best.n_bad > DECISION.named * found.n_present
    differ = found.n_distinct > DECISION.distinct * found.n_present
    return best.n_bad > 0 and (found.has_zeros or (best.is_whole and are_many and differ))


def _may_be_years(found: Evidence, best: Tally | None) -> bool:
    """Return whether whole numbers are so small that their name may also be that of years."""
    word, most = NAME.years
    return best is not None and words_of(found.name)[-1:] == [word] and best.high <= most


def _settle_codes(found: Evidence, best: Tally | None, *, follows_id: bool) -> Column:
    """Return codes as a category, or leave them out, as text."""
    if best is not None and _numbers_blocks(found, best, follows_id=follows_id):
        return LeftOut(found.name, BLOCKS, found.n_missing, role="id")
    column = _settle_text(found)
    if isinstance(column, Category) and found.is_whole and is_code_name(found.name):
        return replace(column, reason=f"codes, as its name says: {column.reason}")
    return column


def grant(found: Evidence, wish: str, *, comma: bool) -> Column | BadColumn:
    """Return a column of the kind that the user asks for, or say why it cannot be one."""
    reason = AS_ASKED
    if found.n_present == 0:
        return BadColumn(found.name, "has no values", _leave_out(found.name))
    if wish == "category" and not found.is_counted:
        what = f"has more than {found.n_distinct:,} different values, too many for a category"
        return BadColumn(found.name, what, _leave_out(found.name))
    if wish == "category":
        return _make_category(found, reason)
    if wish == "boolean":
        if found.stored == "bool":
            pair: tuple[str, str] | None = ("true", "false")
        else:
            pair = _find_pair(found) or _find_digits(found)
        if pair is None:
            levels = ", ".join(_quote_cell(value) for value in list(found.counts)[:5])
            return BadColumn(
                found.name, f"is not a boolean, but holds {levels}", ": ask for a category instead"
            )
        return Boolean(found.name, reason, found.n_missing, true=pair[0], false=pair[1])
    best = best_tally(found, comma=comma)
    kind, _, detail = wish.partition(":")
    if best is None or best.n_bad == found.n_present:
        return BadColumn(found.name, f"is not a {kind}", ": none of its cells can be read as one")
    made = _make_reading(found, best)
    if made.kind != kind:
        return BadColumn(found.name, f"is not a {kind}", f": its cells are {made.kind}s")
    if isinstance(made, Number) and detail:  # a number that stands for missing cells
        marker = float(detail)
        n_marked = sum(
            times
            for cell, times in found.counts.items()
            if str(cell) in (f"{marker:g}", str(marker))
        )
        said = ", ".join(filter(None, [made.reason, f"{marker:g} is taken as missing"]))
        made = replace(made, reason=said, n_missing=made.n_missing + n_marked, missing=marker)
    return replace(made, reason=f"{reason}: {made.reason}" if made.reason else reason)


def find_doubt(found: Evidence, column: Column) -> str | None:
    """Return what is not sure about the kind of a column, and how to decide otherwise."""
    if marked := _find_marker(found, column):
        marker, n_cells = marked
        as_missing = setting("kinds", {found.name: f"number:{marker:g}"})
        return (
            f"has {n_cells:,} cells of {marker:g}, far from all others: if these are missing, "
            f"give {as_missing}; they are taken as numbers"
        )
    best = best_tally(found, comma=False)
    is_mixed = best is not None and 0 < best.n_bad <= (1 - DECISION.read) * found.n_present
    is_text_now = isinstance(column, Category) or _is_left_text(column)
    if best is None or not is_mixed or not is_text_now or found.wish is not None:
        return None
    unit = "" if isinstance(best.reading, DateReading) else best.reading.unit
    if unit and best.low == best.high:  # 0_no beside 1_yes: levels
        return None
    kind = "date" if isinstance(best.reading, DateReading) else "number"
    of_unit = _say_unit(found, best, unit) if unit else ""
    taken = "a category" if isinstance(column, Category) else "text, and left out"
    as_read = setting("kinds", {found.name: kind})
    return (
        f"has {best.n_read:,} of {found.n_present:,} cells that are {kind}s{of_unit}, and others "
        f"such as {abridge(best.first[0][1])!r}: it is taken as {taken}; give {as_read} to take "
        "the others as missing"
    )


def _say_unit(found: Evidence, best: Tally, unit: str) -> str:
    """Return how many of the cells that a reading reads have its unit."""
    if not found.is_counted:
        return f" with or without {unit!r}"
    cells = to_array(map(str, found.counts))
    is_bad = best.reading.read(cells).is_bad.tolist()
    n_with = sum(
        times
        for (cell, times), is_odd in zip(found.counts.items(), is_bad, strict=True)
        if unit in str(cell) and not is_odd
    )
    return f" with {unit!r}" if n_with == best.n_read else f", {n_with:,} of them with {unit!r}"


def _is_left_text(column: Column) -> bool:
    return isinstance(column, LeftOut) and (column.is_word or column.role == "text")


def _find_marker(found: Evidence, column: Column) -> tuple[float, int] | None:
    """Return a number that seems to stand for missing cells, such as -999, and how many cells have
    it.
    """
    if not isinstance(column, Number) or column.missing is not None or not found.is_counted:
        return None
    counts: dict[float, int] = {}
    for cell, times in found.counts.items():
        try:
            counts[float(cell)] = counts.get(float(cell), 0) + times
        except ValueError:  # text with a unit or grouped digits, which a marker lacks
            return None
    nines = (9.0, 99.0, 999.0, 9999.0, 99999.0)
    for marker in (min(counts), max(counts)):
        others = [number for number in counts if number != marker]
        # "9" and "99" are ages and grades, too
        is_known = -marker in nines or marker in nines[2:]
        if is_known and counts[marker] >= DECISION.marked_cells and len(others) > 1:
            gap = min(abs(marker - number) for number in others)
            if gap > max(others) - min(others):
                return marker, counts[marker]
    return None


def best_tally(found: Evidence, *, comma: bool) -> Tally | None:
    """Return the reading with the fewest bad cells.

    A tie between point and comma is decided by other columns.
    """
    tallies = found.tallies or []
    if comma and found.separators:
        tallies = sorted(tallies, key=lambda tally: getattr(tally.reading, "decimal", "") != ",")
    return min(tallies, key=lambda tally: tally.n_bad, default=None)


def _suits(found: Evidence, tally: Tally) -> bool:
    """Return whether a column has numbers or dates, as one reading has them.

    A few texts among numbers are mistakes; a few numbers among texts are levels, and so are numbers
    with another unit, such as 1Fam beside 1Story.
    """
    if tally.n_bad == 0:
        return True
    if _repeats_other_units(found, tally):
        return False
    if tally.n_bad > (1 - DECISION.read) * found.n_present or tally.low == tally.high:
        return False
    if not found.is_counted:
        return True
    cells = [str(cell) for cell in found.counts]
    is_odd = tally.reading.read(to_array(cells)).is_bad
    return bool(is_odd.mean() <= 1 - DECISION.read)


def _repeats_other_units(found: Evidence, tally: Tally) -> bool:
    """Return whether cells that a reading with a unit cannot read are numbers with other units,
    which repeat as levels do.
    """
    if not isinstance(tally.reading, NumberReading) or not tally.reading.unit:
        return False
    others = {cell: times for cell, times in found.counts.items() if find_unit([str(cell)])}
    if not others:
        return False
    is_bad = tally.reading.read(to_array(map(str, others))).is_bad
    times = np.array([*others.values()])[is_bad]
    return len(times) > 0 and bool(times.mean() >= DECISION.rows_per_level)


def _settle_reading(found: Evidence, best: Tally, *, is_leading: bool, follows_id: bool) -> Column:
    """Return numbers or dates, or an id if whole numbers name the rows."""
    if isinstance(best.reading, NumberReading) and best.is_whole and not best.reading.unit:
        named = _find_id(found, best, is_leading=is_leading, follows_id=follows_id)
        if named is not None:
            return named
    if _counts_rows(best):
        is_date = isinstance(best.reading, DateReading)
        reason = f"counts the rows: {'dates' if is_date else 'numbers'} in nearly equal steps"
        return LeftOut(found.name, reason, found.n_missing, role="id", is_word=is_date)
    largest = max(abs(best.low), abs(best.high))
    if best.is_whole and "int64" in found.stored and largest > DECISION.largest_exact:
        reason = f"holds whole numbers up to {largest:.3g}, as ids and hashes are"
        return LeftOut(found.name, reason, found.n_missing, role="id")
    if largest > DECISION.largest:
        reason = f"holds values up to {largest:.3g}, whose squares overflow"
        return LeftOut(found.name, reason, found.n_missing, role="other")
    if isinstance(best.reading, NumberReading) and _has_digits_only(found, best):
        said = "1 or 0"
        return Boolean(found.name, said, found.n_missing, best.n_bad, true="1", false="0")
    return _make_reading(found, best)


def _find_id(found: Evidence, best: Tally, *, is_leading: bool, follows_id: bool) -> LeftOut | None:
    """Return whole numbers that name the rows as an id, or None if they are numbers."""
    words = words_of(found.name)
    ids = {"id", "ids", "pid", "uuid", "guid", "key", "index", "idx", "nr"}
    # not: number of orders
    if is_called(found.name, ids) or (len(words) > 1 and words[-1] == "number"):
        if found.has_repeats:
            reason = NAMED
        else:
            reason = _say_distinct(found, "values")
        return LeftOut(found.name, reason, found.n_missing, best.n_bad, role="id")
    if (
        not found.has_repeats
        and best.high - best.low + 1 == found.n_present >= DECISION.counting_rows
    ):
        reason = f"counts the rows from {best.low:,.0f} to {best.high:,.0f}"
        return LeftOut(found.name, reason, found.n_missing, role="id")
    if is_leading and best.low_step > 0 and best.n_read >= DECISION.counting_rows:
        reason = "rises from row to row, as ids do"
        return LeftOut(found.name, reason, found.n_missing, role="id")
    if _numbers_blocks(found, best, follows_id=follows_id):
        return LeftOut(found.name, BLOCKS, found.n_missing, role="id")
    return None


def _numbers_blocks(found: Evidence, tally: Tally, *, follows_id: bool) -> bool:
    """Return whether whole numbers are those of blocks of rows, such as the rows of a subject: they
    count blocks of several rows, or rise behind an id with the name of a thing; and their name is
    not that of a measure by which rows are sorted.
    """
    is_of_things = follows_id and is_code_name(found.name)
    is_counting = tally.low in (0, 1) and (tally.low_step, tally.high_step) == (0, 1)
    has_blocks = found.n_rows >= DECISION.rows_per_block * found.n_distinct
    return (
        found.is_counted
        and tally.n_read == found.n_rows
        and tally.low_step == 0
        and found.n_distinct >= DECISION.counting_rows
        and (is_of_things or (is_counting and has_blocks))
        and not is_called(found.name, NAME.measures)
    )


def _counts_rows(tally: Tally) -> bool:
    """Return whether cells rise or fall from row to row in nearly equal steps."""
    steps = sorted((abs(tally.low_step), abs(tally.high_step)))
    is_one_way = tally.low_step * tally.high_step > 0
    most = DECISION.even_dates if isinstance(tally.reading, DateReading) else DECISION.even_numbers
    return is_one_way and steps[1] <= most * steps[0] and tally.n_read >= DECISION.counting_rows


def _has_digits_only(found: Evidence, tally: Tally) -> bool:
    """Return whether all cells that are numbers are 1 or 0."""
    if (tally.low, tally.high) != (0, 1) or not tally.is_whole or tally.reading != NumberReading():
        return False
    return found.is_counted


def _make_reading(found: Evidence, best: Tally) -> Number | Date:
    reading = best.reading
    counts = (found.n_missing, best.n_bad)
    # with another reading
    has_tie = sum(tally.n_bad == best.n_bad for tally in found.tallies or []) > 1
    if isinstance(reading, NumberReading):
        said = ["decimal comma"] if reading.decimal == "," else []
        said += [f"in {reading.unit}"] if reading.unit else []
        if has_tie and reading.decimal == "." and "," in found.separators:
            said.append("commas group digits, as no cell says otherwise")
        return Number(
            found.name, ", ".join(said), *counts, decimal=reading.decimal, unit=reading.unit
        )
    has_day = reading.has_day if reading.format else not is_clock(found.stored)
    if has_day:
        steps = dict(best.steps)
        steps["weekday"] = steps["weekday"][steps["weekday"] > 0]
        # dates of which most have no time: that of the others says when they were written
        has_time = 2 * best.n_midnight <= best.n_read
        cycles = tuple(
            cycle for cycle in CYCLES if (has_time or cycle != "hour") and _is_cyclic(steps[cycle])
        )
    else:
        cycles = ("hour",)
    said = ["elapsed days"] if has_day else []
    said += [f"{cycle} as sine and cosine" for cycle in cycles]
    if has_tie and "%b" not in reading.format:
        said.append("day before month, as no date says otherwise")
    if best.years:
        said.append(f"years of two digits are {min(best.years)} to {max(best.years)}")
    return Date(
        found.name,
        ", ".join(said),
        *counts,
        format=reading.format,
        elapsed=has_day,
        cycles=cycles,
        first_year=reading.first_year,
    )


def _is_cyclic(steps: NDArray[np.int64]) -> bool:
    """Return whether a cycle has full and empty parts, by more than chance.

    Weekdays without any row, as those on which markets are closed, say nothing about the others.
    """
    n = steps.sum()
    if (steps > 0).sum() < 2:  # dates without a time of day are all at hour 0
        return False
    expected = n / len(steps)
    fullest = np.sort(steps)[::-1]
    half = len(steps) / 2
    share = (fullest[: int(half)].sum() + (half % 1) * fullest[int(half)]) / n
    unevenness = ((steps - expected) ** 2 / expected).sum()
    return bool(share > DECISION.cyclic and unevenness > chdtri(len(steps) - 1, DECISION.chance))


def _settle_text(found: Evidence) -> Column:
    """Return a category if levels repeat, otherwise leave the column out."""
    levels = _levels(found)
    n_levels = len(levels) or found.n_distinct
    repeats = found.is_counted and n_levels * DECISION.rows_per_level <= found.n_present
    is_typed = found.stored.startswith("dictionary")
    if repeats or (is_typed and n_levels <= DECISION.levels):
        known = sum(times for _, times in levels[: DECISION.levels])
        if known >= DECISION.known * found.n_present:
            return _make_category(found, "")
        reason = f"{n_levels:,} levels, none of them frequent"
        return LeftOut(found.name, reason, found.n_missing, role="text")
    if found.n_words >= DECISION.words_of_text:
        reason = f"{_say_distinct(found, 'texts')}, of {found.n_words:.0f} words on average"
        return LeftOut(found.name, reason, found.n_missing, role="text")
    reason = _say_distinct(found, "values")
    return LeftOut(found.name, reason, found.n_missing, role="id", is_word=not found.is_whole)


def _say_distinct(found: Evidence, what: str) -> str:
    about = "" if found.is_counted else "more than "
    return f"{about}{found.n_distinct:,} different {what} in {found.n_present:,} rows"


def _leave_out(name: str | int) -> str:
    return f": leave it out with {setting('drop', [name])}"


def _make_category(found: Evidence, reason: str) -> Category:
    levels = _levels(found)
    kept = {level for level, _ in levels[: DECISION.levels]} | (
        {MISSING_LEVEL} if found.n_missing else set()
    )
    has_other = len(levels) > DECISION.levels
    said = f"{len(levels):,} level{'s' if len(levels) > 1 else ''}"
    said += f", the {DECISION.levels} most frequent as features" if has_other else ""
    said += ", upper and lower case alike" if len(levels) < len(found.counts) else ""
    reason = f"{reason}: {said}" if reason else said
    return Category(
        found.name, reason, found.n_missing, levels=tuple(sorted(kept)), has_other=has_other
    )


def _levels(found: Evidence) -> list[tuple[str, int]]:
    """Return the levels, each in its most frequent spelling: the most frequent first, then in the
    order of text.
    """
    spellings: dict[str, Counter[str]] = {}
    for cell, times in sorted(found.counts.items()):
        spellings.setdefault(cell.lower(), Counter())[cell] += times
    levels = [(cells.most_common(1)[0][0], cells.total()) for cells in spellings.values()]
    return sorted(levels, key=lambda entry: (-entry[1], entry[0]))


def _find_pair(found: Evidence) -> tuple[str, str] | None:
    """Return the words for yes and no, as they are spelled, if a text column has no others."""
    if not is_text(found.stored) or not found.is_counted or not 1 <= found.n_distinct <= 6:
        return None
    spelled = {level.lower(): level for level, _ in _levels(found)}
    pairs = (
        *(("true", "false"), ("yes", "no"), ("y", "n"), ("t", "f"), ("on", "off")),
        *(("ja", "nein"), ("oui", "non"), ("si", "no"), ("sí", "no")),
    )
    pair = next((pair for pair in pairs if spelled.keys() == set(pair)), None)
    return None if pair is None else (spelled[pair[0]], spelled[pair[1]])


def _find_digits(found: Evidence) -> tuple[str, str] | None:
    """Return 1 and 0 if a column has no other cells."""
    cells = {str(cell) for cell in found.counts}
    if found.is_counted and cells and cells <= {"1", "0", "1.0", "0.0"}:
        return ("1", "0")
    return None


def _quote_cell(value: Any) -> str:
    return repr(abridge(value)) if isinstance(value, str) else f"{value:,.6g}"
