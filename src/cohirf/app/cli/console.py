"""Output of commands: tables on a terminal, plain lines in a log, JSON for programs."""

from __future__ import annotations

import io
import json
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cohirf import progress
from cohirf.app.cli.errors import one_line
from cohirf.app.cli.options import ScreenOptions
from cohirf.app.cli.policy import DEFAULT, OUTPUT


@dataclass
class Console:
    """Prints progress messages, warnings and results."""

    as_json: bool = False
    quiet: bool = False
    warned: list[str] = field(default_factory=list)

    @classmethod
    def on(cls, screen: ScreenOptions) -> Console:
        """Return a console with the output options of the user."""
        return cls(screen.json, screen.quiet)

    def note(self, *parts: TextGrid | str) -> None:
        """Print tables and text that are not part of the result, unless --quiet is given."""
        for part in () if self.quiet else parts:
            _print_part(part, sys.stderr)

    def show(self, document: dict[str, Any], *shown: TextGrid | str) -> None:
        """Print the result: the document with --json.

        Otherwise tables and text, unless --quiet is given.
        """
        if self.as_json:
            _print(json.dumps(document, allow_nan=False), sys.stdout)
        for part in () if self.as_json or self.quiet else shown:
            _print_part(part, sys.stdout)
            if not isinstance(part, str):
                _print("", sys.stdout)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show progress and warnings of the library."""
        display = progress.Display("", self.note, self.quiet)
        with progress.shown_by(display), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations are for programmers
            warnings.simplefilter("default", UserWarning)
            warnings.simplefilter("default", RuntimeWarning)
            warnings.showwarning = lambda message, *_, **__: self.warn(str(message))
            yield

    @contextmanager
    def reading(self, path: Path) -> Iterator[None]:
        """Show progress and warnings, and say at once that a large file is read: this takes a
        while.
        """
        if (n_bytes := count_bytes(path)) >= DEFAULT.progress_bytes:
            self.note(f"reading {path} ({n_bytes / 1e6:,.0f} MB)")
        with self.watching():
            yield

    def warn(self, text: str) -> None:
        """Print a warning, once."""
        text = one_line(text)
        if text not in self.warned:
            self.warned.append(text)
            self.note(f"warning: {text}")


def count_bytes(path: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _width(stream: Any) -> int | None:
    """Return the number of columns of a terminal.

    None for files and pipes, whose lines are not broken.
    """
    if stream.isatty():
        return max(OUTPUT.narrowest, shutil.get_terminal_size().columns)
    return None


def _print_part(part: TextGrid | str, stream: Any) -> None:
    width = _width(stream)
    for line in wrap(one_line(part), width) if isinstance(part, str) else grid_lines(part, width):
        _print(line, stream)


def _print(text: str, stream: Any) -> None:
    # characters that the terminal cannot show are replaced by their code
    safe = text.encode(stream.encoding or "utf-8", "backslashreplace").decode(
        stream.encoding or "utf-8"
    )
    progress.write_above(safe, stream)


# -- tables ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextGrid:
    """A small table of text.

    Without headings, the first column contains names and the second their values.
    """

    rows: Sequence[Sequence[str]]
    headings: Sequence[str] = ()
    text: bool = False  # whether the last column is text, which is aligned left


def wrap(text: str, width: int | None) -> list[str]:
    """Return text in lines of at most ``width`` characters, broken between words.

    One line if ``width`` is None.
    """
    if width is None:
        return [text]
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def grid_lines(grid: TextGrid, width: int | None = None) -> list[str]:
    """Return a table as lines of at most ``width`` characters.

    Cells that are too long take several lines.
    """
    from rich import console, table, text

    has_header = bool(grid.headings)
    drawn = table.Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=has_header, header_style=""
    )
    headings = list(grid.headings) or [""] * len(grid.rows[0])
    for place, heading in enumerate(headings):
        is_text = place == 0 or not grid.headings or (grid.text and place == len(headings) - 1)
        drawn.add_column(
            text.Text(heading), justify="left" if is_text else "right", overflow="fold"
        )
    for row in grid.rows:
        drawn.add_row(*(text.Text(one_line(cell)) for cell in row))
    paper = io.StringIO()
    console.Console(
        file=paper, width=width or OUTPUT.widest, color_system=None, legacy_windows=False
    ).print(drawn)
    return [line.rstrip() for line in paper.getvalue().splitlines()]
