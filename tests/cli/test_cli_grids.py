"""Small tables of text in any width."""

import pytest

from cohirf.cli.console import TextGrid, grid_lines, wrap

LEVELS = TextGrid([("1", "150", "0.68"), ("2", "14", "0.9")], ("level", "rows in", "agreement"))
NAMES = TextGrid(
    [("0", "68", "narrow sepal, medium petal length, medium petal width")], ("cluster", "rows", "name"), True
)


def test_columns_are_aligned():
    assert grid_lines(LEVELS) == ["level  rows in  agreement", "1          150       0.68", "2           14        0.9"]


def test_a_table_that_is_too_wide_is_written_row_by_row():
    assert grid_lines(LEVELS, 20) == ["level 1: rows in", "    150, agreement", "    0.68", *grid_lines(LEVELS, 20)[3:]]


@pytest.mark.parametrize("width", [40, 60, 100])
@pytest.mark.parametrize("grid", [LEVELS, NAMES, TextGrid([("sizes", "12, 13, 14, 15 and 200 more of them")])])
def test_lines_fit_and_words_stay_whole(grid, width):
    lines = grid_lines(grid, width)
    assert max(map(len, lines)) <= width
    words = {word for row in (*grid.rows, grid.headings) for cell in row for word in cell.split()}
    assert {word.rstrip(",:") for word in " ".join(lines).split()} <= {word.rstrip(",") for word in words}


def test_text_takes_several_lines_below_its_heading():
    assert grid_lines(NAMES, 44) == [
        "cluster  rows  name",
        "0          68  narrow sepal, medium petal",
        "               length, medium petal width",
    ]


def test_files_get_whole_lines():
    assert wrap("word " * 100, None) == ["word " * 100]
