"""How results look in a notebook: as the text that ``print`` shows, or as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class ShownAsText:
    """An object that a notebook shows as ``print`` does."""

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


def draw_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML, with text at the left and whole numbers at the right."""
    head = "".join(f"<th style='text-align: left'>{escape(name)}</th>" for name in header)
    lines = ("".join(_draw_cell(cell) for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _draw_cell(cell: object) -> str:
    side = "right" if isinstance(cell, int) else "left"
    return f"<td style='text-align: {side}'>{escape(str(cell))}</td>"
