"""Cells of tables: a hyphen means that there is no value.

It is shown as a dash, and not as an empty list.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes

NO_VALUE = "\N{EN DASH}"


def show_dashes(app: Any, doctree: nodes.document) -> None:
    """Replace the empty list that reStructuredText reads in a cell of ``-`` by a dash."""
    for cell in doctree.findall(nodes.entry):
        if len(cell) == 1 and isinstance(cell[0], nodes.bullet_list) and not cell.astext().strip():
            cell[0] = nodes.paragraph("", NO_VALUE)


def setup(app: Any) -> dict[str, bool]:
    """Register the hook with Sphinx."""
    app.connect("doctree-read", show_dashes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
