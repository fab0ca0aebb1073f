"""Sheets of spreadsheets as tables."""

import numpy as np
import pytest
from workbooks import Day, write_workbook

from cohirf import open_source
from cohirf.app.preparation import prepare

pytest.importorskip("python_calamine")


@pytest.fixture
def book(tmp_path):
    group = np.repeat([0.0, 9.0], 30)
    values = group + np.random.default_rng(0).normal(size=60)
    rows = [
        [f"n{row}", float(value), Day(45_000 + 31 * (row % 7)), bool(row % 2), "red"]
        for row, value in enumerate(values)
    ]
    rows[3][1] = ""
    rows[5][1] = "oops"
    sales = [["Sales of 2024"], [], ["name", "size", "day", "paid", "colour"], *rows]
    return write_workbook(
        tmp_path / "book.xlsx",
        {"Sales": sales, "Two": [["x", "y"], [1, 2], [3, 5], [4, 6], [5, 7], [6, 8]]},
    )


def test_the_first_sheet_is_a_table_below_its_titles(book):
    with pytest.warns(UserWarning, match="1 cell that is not a number.*line 9: 'oops'"):
        prepared = prepare(book, scaling="none")
    kinds = [note.kind for note in prepared.preparation.describe()]
    assert kinds == ["id", "number", "date", "boolean", "constant"]
    assert prepared.data.table.format == "sheet 'Sales' of 2"
    # 2023-03-15
    assert prepared.array()[0, prepared.feature_names.index("day")] == 19_431


def test_another_sheet_is_named(book):
    source = open_source(book, sheet="Two")
    assert source.feature_names == ["x", "y"]
    np.testing.assert_array_equal(source.take([0, 1]), [[1, 2], [3, 5]])
    with pytest.warns(UserWarning, match="'f0' has 1 cell that is not a number.*line 1: 'x'"):
        prepared = prepare(book, sheet="Two", header=False, drop=["f1"])
    assert [column.name for column in prepared.preparation.columns] == ["f0", "f1"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sheet": "Three"}, r"sheet='Three': .*book.xlsx has no such sheet: it has"),
        ({"delimiter": ";"}, "delimiter is only for CSV files: leave it out"),
    ],
)
def test_options_that_do_not_fit_are_refused(book, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        open_source(book, **options)


def test_a_file_that_is_no_spreadsheet_is_refused(tmp_path):
    (tmp_path / "book.xlsx").write_text("no", encoding="utf-8")
    with pytest.raises(ValueError, match=r"book\.xlsx cannot be read as a spreadsheet"):
        open_source(tmp_path / "book.xlsx")
