"""Output of commands: tables and progress bars on a terminal, plain lines in a log, JSON for programs."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cohirf import progress
from cohirf.cli.errors import one_line
from cohirf.cli.explain import in_words_of_options
from cohirf.cli.options import Screen


@dataclass(frozen=True)
class Grid:
    """A small table of text. Without headings, the first column contains names and the second their values."""

    rows: Sequence[Sequence[str]]
    headings: Sequence[str] = ()


@dataclass
class Console:
    """Prints progress messages, warnings and results."""

    as_json: bool = False
    quiet: bool = False
    warned: list[str] = field(default_factory=list)

    @classmethod
    def on(cls, screen: Screen) -> Console:
        """Return a console with the output options of the user."""
        return cls(screen.json, screen.quiet)

    def note(self, text: str) -> None:
        """Print a message that is not part of the result, unless --quiet is given."""
        if not self.quiet:
            _print(one_line(text), sys.stderr)

    def note_lines(self, lines: Sequence[str]) -> None:
        """Print lines that are not part of the result as they are, unless --quiet is given."""
        for line in () if self.quiet else lines:
            _print(line, sys.stderr)

    def show(self, document: dict[str, Any], *shown: Grid | str) -> None:
        """Print the result: the document with --json; otherwise tables and text, unless --quiet is given."""
        if self.as_json:
            _print(json.dumps(document, allow_nan=False), sys.stdout)
        for part in () if self.as_json or self.quiet else shown:
            if isinstance(part, str):
                _print(one_line(part), sys.stdout)
            elif sys.stdout.isatty():
                _draw(part)
            else:
                _write(part)
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

    def warn(self, text: str) -> None:
        """Print a warning, once."""
        text = one_line(text)
        if text not in self.warned:
            self.warned.append(text)
            self.note(f"warning: {text}")


class LogDisplay:
    """Prints progress as lines on standard error; standard output is for results."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def open(self, work: progress.Work) -> progress.Bar | None:
        """Return a bar that prints a line at intervals; None for work of a single step."""
        return None if self._quiet or progress.is_single(work) else progress.LogBar(work, prefix="")

    def say(self, line: str) -> None:
        """Print a line."""
        if not self._quiet:
            _print(line, sys.stderr)


class RichDisplay:
    """Shows a live progress bar on a terminal."""

    def open(self, work: progress.Work) -> progress.Bar:
        """Return a bar that disappears when the work is done; for a single step it only shows the elapsed time."""
        return RichBar(work)

    def say(self, line: str) -> None:
        """Print a line above the progress bar."""
        _rich_console(stderr=True).print(line, style="dim", markup=False, highlight=False)


class RichBar:
    """A progress bar of rich."""

    def __init__(self, work: progress.Work) -> None:
        from rich import progress as rich

        is_single = progress.is_single(work)
        counts = () if is_single else (rich.MofNCompleteColumn(), rich.TextColumn(work.steps))
        left = () if is_single else (rich.TextColumn("left"), rich.TimeRemainingColumn())
        self._bar = rich.Progress(
            rich.SpinnerColumn(),
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            *counts,
            rich.TextColumn("{task.fields[note]}"),
            rich.TimeElapsedColumn(),
            *left,
            console=_rich_console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(work.name, total=None if is_single else work.n_steps, note="")
        self._bar.start()

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()

    def advance(self, n_steps: int, note: str) -> None:
        """Advance the bar by ``n_steps`` steps."""
        self._bar.update(self._task, advance=n_steps, note=note)


def _draw(grid: Grid) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, show_header=bool(grid.headings), pad_edge=False)
    for number, heading in enumerate(grid.headings or grid.rows[0]):
        if grid.headings:
            drawn.add_column(Text(heading), justify="right" if number else "left")
        else:
            drawn.add_column(style=None if number else "bold")
    for row in grid.rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    _rich_console(stderr=False).print(drawn)


def _write(grid: Grid) -> None:
    rows = [[one_line(cell) for cell in row] for row in (*([grid.headings] if grid.headings else []), *grid.rows)]
    widths = [max(len(row[number]) for row in rows) for number in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if grid.headings and number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        _print("  ".join(cells).rstrip(), sys.stdout)


def _rich_console(*, stderr: bool) -> Any:
    from rich import console

    return console.Console(stderr=stderr)


def _print(text: str, stream: Any) -> None:
    # characters that the terminal cannot show are replaced by their code
    safe = text.encode(stream.encoding or "utf-8", "backslashreplace").decode(stream.encoding or "utf-8")
    print(safe, file=stream, flush=True)
