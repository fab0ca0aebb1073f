"""Small tables of text, for terminals of any width: lines are broken between words, and never inside one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cohirf.cli.errors import one_line

GAP = "  "
NARROWEST = 20  # a column of text is not narrower than this
STEP = "    "  # before the lines below the first one of a row


@dataclass(frozen=True)
class Grid:
    """A small table of text.

    Attributes
    ----------
    rows : sequence of sequence of str
        The cells. Without headings, the first column contains names and the second their values.
    headings : sequence of str
        Headings of the columns.
    text : bool
        Whether the last column is text, which is aligned left and may take several lines.
    """

    rows: Sequence[Sequence[str]]
    headings: Sequence[str] = ()
    text: bool = False


def wrap(text: str, width: int | None, indent: str = "", first: str | None = None) -> list[str]:
    """Return text in lines of at most ``width`` characters, broken between words; one line if ``width`` is None."""
    if width is None:
        return [f"{indent if first is None else first}{text}"]
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]


def grid_lines(grid: Grid, width: int | None = None) -> list[str]:
    """Return a table as lines of at most ``width`` characters.

    A table that is too wide for its columns is written row by row, with the heading before each value.
    """
    rows = [[one_line(cell) for cell in row] for row in grid.rows]
    header = [list(grid.headings)] if grid.headings else []
    widths = [max(len(row[place]) for row in [*header, *rows]) for place in range(len([*header, *rows][0]))]
    wraps = grid.text or not grid.headings
    fixed = sum(widths[:-1] if wraps else widths) + len(GAP) * (len(widths) - 1)
    if width is not None and fixed + (NARROWEST if wraps else 0) > width:
        return [line for row in rows for line in _stack(grid.headings, row, width)]
    lines = []
    for row in [*header, *rows]:
        cells = [_align(grid, cell, widths[place], place) for place, cell in enumerate(row)]
        if not wraps:
            lines.append(GAP.join(cells).rstrip())
            continue
        head = GAP.join([*cells[:-1], ""])
        lines += [line.rstrip() for line in wrap(cells[-1].rstrip(), width, " " * len(head), head)]
    return lines


def _align(grid: Grid, cell: str, width: int, place: int) -> str:
    is_text = place == 0 or not grid.headings or (grid.text and place == len(grid.headings) - 1)
    return cell.ljust(width) if is_text else cell.rjust(width)


def _stack(headings: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    """Yield a row as running text: each value behind its heading."""
    if not headings:
        yield from wrap(row[0], width)
        yield from wrap(row[1], width, STEP)
        return
    pairs = ", ".join(f"{heading} {cell}" for heading, cell in zip(headings[1:], row[1:], strict=True) if cell)
    yield from wrap(f"{headings[0]} {row[0]}: {pairs}", width, STEP, "")
