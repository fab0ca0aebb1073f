"""Sheets of spreadsheets as tables."""

import zipfile
from xml.sax.saxutils import escape

import numpy as np
import pytest

from cohirf import open_source
from cohirf.app.preparation import prepare

pytest.importorskip("python_calamine")

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DATED = '<numFmts/><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>'


class Day(int):
    """A cell with a date, as the number of days since 1899-12-30."""


def write_cell(value):
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, Day):
        return f'<c s="1"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f"<c><v>{value}</v></c>"
    return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>' if value else "<c/>"


def write_workbook(path, sheets):
    """Write sheets, which are lists of lines, as the smallest file that is a spreadsheet."""
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{MAIN}">{DATED}</styleSheet>',
    }
    named = ""
    linked = f'<Relationship Id="s" Type="{RELATIONS}/styles" Target="styles.xml"/>'
    kinds = ""
    for number, (name, lines) in enumerate(sheets.items(), start=1):
        cells = "".join(f"<row>{''.join(map(write_cell, line))}</row>" for line in lines)
        file = f"worksheets/sheet{number}.xml"
        parts[f"xl/{file}"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{cells}</sheetData></worksheet>'
        )
        named += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
        linked += f'<Relationship Id="r{number}" Type="{RELATIONS}/worksheet" Target="{file}"/>'
        kinds += (
            f'<Override PartName="/xl/{file}" ContentType="application/vnd.openxmlformats-'
            'officedocument.spreadsheetml.worksheet+xml"/>'
        )
    parts["xl/workbook.xml"] = (
        f'<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets>{named}</sheets></workbook>'
    )
    parts["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{PACKAGE}/relationships">{linked}</Relationships>'
    )
    parts["[Content_Types].xml"] = (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
        f'ContentType="application/xml"/>{kinds}</Types>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, HEAD + content)
    return path


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
        tmp_path / "book.xlsx", {"Sales": sales, "Two": [["x", "y"], [1, 2], [3, 5]]}
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
