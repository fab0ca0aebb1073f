"""Figures with their source, ``:figure:`0.58 <file; row; column>```: the page shows the figure.

``python -m tools.figures`` writes it, and a test compares it with the file.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.util.docutils import ReferenceRole


class Figure(ReferenceRole):
    """A figure, and in angle brackets where it comes from."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the figure."""
        return [nodes.Text(self.title)], []


def setup(app: Any) -> dict[str, bool]:
    """Register the role with Sphinx."""
    app.add_role("figure", Figure())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
