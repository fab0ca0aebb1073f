"""Output of commands: tables and progress bars on a terminal, plain lines in a log, JSON for programs."""

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
from cohirf.cli.errors import in_words_of_options, one_line
from cohirf.cli.options import ScreenOptions

NARROW, NARROWEST_SCREEN = 80, 40  # columns of a terminal; in a narrow one, progress has no bar
WIDEST = 10_000  # characters of a line of a file
LARGE_FILE = 10**8  # bytes; smaller files are read within seconds


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
        """Print the result: the document with --json; otherwise tables and text, unless --quiet is given."""
        if self.as_json:
            _print(json.dumps(document, allow_nan=False), sys.stdout)
        for part in () if self.as_json or self.quiet else shown:
            _print_part(part, sys.stdout)
            if not isinstance(part, str):
                _print("", sys.stdout)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Show progress and warnings of the library, with parameter names replaced by options."""
        display = RichDisplay() if sys.stderr.isatty() and not self.quiet else LogDisplay(self.quiet)
        with progress.shown_by(display), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations are for programmers
            warnings.simplefilter("default", UserWarning)
            warnings.simplefilter("default", RuntimeWarning)
            warnings.showwarning = lambda message, *_, **__: self.warn(in_words_of_options(str(message)))
            yield

    @contextmanager
    def reading(self, path: Path) -> Iterator[None]:
        """Show progress and warnings, and say at once that a large file is read: this takes a while."""
        if (n_bytes := count_bytes(path)) >= LARGE_FILE:
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


@dataclass(frozen=True)
class LogDisplay:
    """Prints progress as lines on standard error; standard output is for results."""

    quiet: bool

    def open(self, work: progress.Work) -> progress.Bar | None:
        """Return a bar that prints a line at intervals; None for work of a single step."""
        return None if self.quiet or progress.is_single(work) else progress.LogBar(work, prefix="")

    def say(self, line: str) -> None:
        """Print a line."""
        if not self.quiet:
            _print(in_words_of_options(line), sys.stderr)


class RichDisplay:
    """Shows a live progress bar on a terminal."""

    def open(self, work: progress.Work) -> progress.Bar:
        """Return a bar that disappears when the work is done; for a single step it only shows the elapsed time."""
        return RichBar(work)

    def say(self, line: str) -> None:
        """Print a line above the progress bar."""
        for part in wrap(in_words_of_options(line), _width(sys.stderr), "  "):
            _rich_console().print(part, style="dim", markup=False, highlight=False)


class RichBar:
    """A progress bar of rich."""

    def __init__(self, work: progress.Work) -> None:
        from rich import progress as rich

        is_single, is_narrow = progress.is_single(work), (_width(sys.stderr) or NARROW) < NARROW
        columns = {  # and whether they are shown
            rich.SpinnerColumn(): True,
            rich.TextColumn("{task.description}"): True,
            rich.BarColumn(): not is_narrow,
            rich.MofNCompleteColumn(): not is_single,
            rich.TextColumn(work.steps): not is_single,
            rich.TextColumn("{task.fields[note]}"): not is_narrow,
            rich.TimeElapsedColumn(): True,
            rich.TextColumn("left"): not (is_single or is_narrow),
            rich.TimeRemainingColumn(): not (is_single or is_narrow),
        }
        shown = (column for column, is_shown in columns.items() if is_shown)
        self._bar = rich.Progress(*shown, console=_rich_console(), transient=True)
        self._task = self._bar.add_task(work.name, total=None if is_single else work.n_steps, note="")
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()

    def advance(self, n_steps: int, note: str) -> None:
        """Advance the bar by ``n_steps`` steps."""
        self._bar.update(self._task, advance=n_steps, note=note)


def _rich_console() -> Any:
    from rich import console

    return console.Console(stderr=True)


def _width(stream: Any) -> int | None:
    """Return the number of columns of a terminal; None for files and pipes, whose lines are not broken."""
    return max(NARROWEST_SCREEN, shutil.get_terminal_size().columns) if stream.isatty() else None


def _print_part(part: TextGrid | str, stream: Any) -> None:
    width = _width(stream)
    for line in wrap(one_line(part), width) if isinstance(part, str) else grid_lines(part, width):
        _print(line, stream)


def _print(text: str, stream: Any) -> None:
    # characters that the terminal cannot show are replaced by their code
    safe = text.encode(stream.encoding or "utf-8", "backslashreplace").decode(stream.encoding or "utf-8")
    print(safe, file=stream, flush=True)


# -- tables -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TextGrid:
    """A small table of text; without headings, the first column contains names and the second their values."""

    rows: Sequence[Sequence[str]]
    headings: Sequence[str] = ()
    text: bool = False  # whether the last column is text, which is aligned left


def wrap(text: str, width: int | None, indent: str = "") -> list[str]:
    """Return text in lines of at most ``width`` characters, broken between words; one line if ``width`` is None."""
    if width is None:
        return [text]
    options = {"subsequent_indent": indent, "break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, width, **options) or [""]  # type: ignore[arg-type]  # one dict, two types


def grid_lines(grid: TextGrid, width: int | None = None) -> list[str]:
    """Return a table as lines of at most ``width`` characters; cells that are too long take several lines."""
    from rich import console, table, text

    has_header = bool(grid.headings)
    drawn = table.Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=has_header, header_style="")
    headings = list(grid.headings) or [""] * len(grid.rows[0])
    for place, heading in enumerate(headings):
        is_text = place == 0 or not grid.headings or (grid.text and place == len(headings) - 1)
        drawn.add_column(text.Text(heading), justify="left" if is_text else "right", overflow="fold")
    for row in grid.rows:
        drawn.add_row(*(text.Text(one_line(cell)) for cell in row))
    paper = io.StringIO()
    console.Console(file=paper, width=width or WIDEST, color_system=None, legacy_windows=False).print(drawn)
    return [line.rstrip() for line in paper.getvalue().splitlines()]
