"""Text as numbers and dates."""

import numpy as np
import pyarrow as pa
import pytest

from cohirf.app.preparation.readings import (
    DateReading,
    NumberReading,
    clean_text,
    find_date_formats,
    find_first_year,
    find_unit,
    years_of,
)


def read(reading, *cells):
    """Return values, with None for cells that are not read, and the cells that cannot be read."""
    found = reading.read(clean_text(pa.array(cells)))
    values = [None if np.isnan(value) else value for value in found.values.tolist()]
    return values, [cell for cell, is_bad in zip(cells, found.is_bad, strict=True) if is_bad]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        (" -1.5 ", -1.5),
        ("+2.", 2),
        (".5", 0.5),
        ("1e-3", 1e-3),
        ("1,204", 1204),
        ("1,234,567.5", 1234567.5),
        ("1 204.5", 1204.5),
        ("1\u00a0204", 1204),
        ("1\u202f204", 1204),
        ("1'204", 1204),
        ("1\u2019204", 1204),
        ("\u22125", -5),
        ("(12.5)", -12.5),
    ],
)
def test_numbers_with_a_decimal_point(text, value):
    assert read(NumberReading(), text) == ([value], [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,5", 1.5),
        ("1.204,5", 1204.5),
        ("1.204", 1204),
        ("1 204,5", 1204.5),
        (",5", 0.5),
        ("7", 7),
    ],
)
def test_numbers_with_a_decimal_comma(text, value):
    assert read(NumberReading(","), text) == ([value], [])


@pytest.mark.parametrize(
    "text",
    ["x", "1,20", "12,34,5", "1..2", "1 2", "inf", "1e999", "0x10", "1.5.2", "12:30", "1-2", "--5"],
)
def test_what_is_not_a_number(text):
    assert read(NumberReading(), text) == ([None], [text])


def test_numbers_have_one_unit_or_none():
    assert read(NumberReading(".", "€"), "€1,204.50", "-€5", "€-6", "7 €", "8") == (
        [1204.5, -5, -6, 7, 8],
        [],
    )
    assert read(NumberReading(".", "€"), "$5", "€6") == ([None, 6], ["$5"])


def test_missing_cells_and_marks_are_not_wrong():
    for reading in (NumberReading(), DateReading("%Y-%m-%d")):
        assert read(reading, "NA", "", None, "?", "-", "Unknown") == ([None] * 6, [])


@pytest.mark.parametrize(
    ("cells", "unit"),
    [
        (["€5", "€6.50"], "€"),
        (["5 €", "6"], ""),  # in half of the cells alone
        (["5 kg", "6 kg", "7"], "kg"),
        (["12%", "5.5 %"], "%"),
        (["US$ 5", "US$ 6"], "US$"),
        (["CHF 5", "CHF 6"], "CHF"),
        (["C-1", "C-2"], ""),  # letters before a number are a unit only if they are a currency
        (["1e5", "2e5"], ""),
        (["5", "6"], ""),
        (["a text", "a text"], ""),
    ],
)
def test_the_unit_is_what_most_cells_have_beside_their_number(cells, unit):
    assert find_unit(cells) == unit


@pytest.mark.parametrize(
    ("text", "form", "moment"),
    [
        ("2024-03-01", "%Y-%m-%d", "2024-03-01T00:00:00"),
        ("2024/03/01", "%Y/%m/%d", "2024-03-01T00:00:00"),
        ("13.03.2024", "%d.%m.%Y", "2024-03-13T00:00:00"),
        ("13/03/2024", "%d/%m/%Y", "2024-03-13T00:00:00"),
        ("03/13/2024", "%m/%d/%Y", "2024-03-13T00:00:00"),
        ("13.03.24", "%d.%m.%y", "2024-03-13T00:00:00"),
        ("29/02/64", "%d/%m/%y", "1964-02-29T00:00:00"),
        ("31.12.30", "%d.%m.%y", "1930-12-31T00:00:00"),
        ("31.12.29", "%d.%m.%y", "2029-12-31T00:00:00"),
        ("3/13/99 9:30", "%m/%d/%y %H:%M", "1999-03-13T09:30:00"),
        ("1 Mar 2024", "%d %b %Y", "2024-03-01T00:00:00"),
        ("March 1, 2024", "%b %d, %Y", "2024-03-01T00:00:00"),
        ("2024-03-01 21:30", "%Y-%m-%d %H:%M", "2024-03-01T21:30:00"),
        ("2024-03-01T21:30:05.250+01:00", "%Y-%m-%dT%H:%M:%S", "2024-03-01T21:30:05"),
        ("2024-03-01T21:30:05Z", "%Y-%m-%dT%H:%M:%S", "2024-03-01T21:30:05"),
        ("3/13/2024 9:30 PM", "%m/%d/%Y %I:%M %p", "2024-03-13T21:30:00"),
    ],
)
def test_formats_of_dates_are_found(text, form, moment):
    assert [reading.format for reading in find_date_formats(pa.array([text]))] == [form]
    assert np.datetime64(
        int(DateReading(form).read(pa.array([text])).values[0]), "s"
    ) == np.datetime64(moment)


@pytest.mark.parametrize(
    ("years", "found"),
    [
        (range(1922, 1948), (1922, 1947)),
        (range(2020, 2040), (2020, 2039)),  # as many from 1930 on as up to 2029: the later
        (range(1915, 1956, 5), (1915, 1955)),
        (range(1900, 1966), (1900, 1965)),
        (range(1950, 2026), (1950, 2025)),
        (range(1931, 2030), (1931, 2029)),
        ([*range(1922, 1932), *range(1990, 2003)], (1990, 2031)),
        (range(2000, 2100), (1930, 2029)),  # no gap
        (range(1928, 2025), (1930, 2029)),  # a short gap may be chance
        ([2030], (1930, 1930)),
        ([], None),
    ],
)
def test_years_of_two_digits_are_cut_at_their_longest_gap(years, found):
    cells = [f"01.02.{year % 100:02d}" for year in years]
    reading = DateReading("%d.%m.%y", find_first_year(years))
    read = years_of(reading.read(pa.array(cells, pa.string())).values).tolist()
    assert (min(read), max(read)) == found if cells else reading == DateReading("%d.%m.%y")


def test_years_of_two_digits_keep_their_days_in_another_century():
    reading = DateReading("%d.%m.%y %H:%M", 1900)
    assert reading.read(
        pa.array(["01.01.00 9:30", "29.02.00 9:30", "01.03.99 0:00"])
    ).values.tolist()[::2] == [
        np.datetime64(moment, "s").astype(int).item()
        for moment in ("1900-01-01T09:30", "1999-03-01")
    ]
    assert read(reading, "29.02.00 9:30", "29.02.04 9:30")[1] == ["29.02.00 9:30"]


@pytest.mark.parametrize("text", ["hello", "12", "20240301", "2024-13-01", "2024-1", "1.5", "2024"])
def test_what_is_not_a_date(text):
    assert find_date_formats(pa.array([text])) == []


def test_a_time_of_day_is_a_date_without_a_day():
    (reading,) = find_date_formats(pa.array(["21:30", "7:05"]))
    assert not reading.has_day
    assert (reading.read(pa.array(["21:30"])).values % 86_400).tolist() == [21.5 * 3600]


@pytest.mark.parametrize(
    ("form", "cells"),
    [
        ("%Y-%m-%d", ["2024-02-29", "2024-02-31", "2023-02-29", "2024-03-02", "2024-04-31"]),
        ("%d.%m.%Y", ["29.02.2024", "31.02.2024", "29.2.2023", "2.3.2024", "31.04.2024"]),
        ("%F", ["2024-02-29", "2024-02-31", "2023-02-29", "2024-03-02", "2024-04-31"]),
        ("%D", ["02/29/24", "02/31/24", "02/29/23", "03/02/24", "04/31/24"]),
        ("%e %b %Y", ["29 Feb 2024", "31 Feb 2024", "29 Feb 2023", "2 Mar 2024", "31 Apr 2024"]),
        (
            "%Y-%m-%d %H:%M:%S",
            [f"{day} 10:30:00" for day in ("2024-02-29", "2024-02-31", "2023-02-29", "2024-03-02")],
        ),
    ],
)
def test_a_day_that_does_not_exist_is_a_stray_cell(form, cells):
    read = DateReading(form).read(pa.array([*cells, None]))
    assert read.is_bad.tolist() == [*[False, True, True, False, True][: len(cells)], False]
    assert np.isnan(read.values[1])
