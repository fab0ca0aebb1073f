"""Data of the tutorial, to download: the files that its own commands make."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from tools import pages

TUTORIAL = Path(__file__).parents[1] / "tutorial.rst"
FOLDER = Path(__file__).parents[1] / "data"
MAKES_DATA = "python -m examples.synthetic "


def write_data(app: Any = None) -> None:
    """Run the commands of the tutorial that make data, in the folder of downloads."""
    steps = pages.find_steps(TUTORIAL.read_text(encoding="utf-8"))
    FOLDER.mkdir(exist_ok=True)
    with contextlib.chdir(FOLDER):
        for step in steps:
            if not step.is_python and step.source.startswith(MAKES_DATA):
                pages.run_command(step.source)


def setup(app: Any) -> dict[str, bool]:
    """Register the hook with Sphinx."""
    app.connect("builder-inited", write_data)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
