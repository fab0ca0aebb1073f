"""What people see: tables and bars on a terminal, plain lines in a log, one JSON document for programs."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from cohirf import progress
from cohirf.cli.errors import in_words_of_options, one_line
from cohirf.cli.estimator_options import flags
from cohirf.optional import import_optional


@dataclass(frozen=True)
class Grid:
    """A small table: its headings, and its cells as text. Without headings, the first column names the second."""

    rows: Sequence[Sequence[str]]
    headings: Sequence[str] = ()


@dataclass
class Console:
    """Where a command says what it does, and what came out."""

    as_json: bool = False
    quiet: bool = False
    warned: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Say something about the work, which is no result of it."""
        if not self.quiet:
            _print(one_line(text), sys.stderr)

    def show(self, document: dict[str, Any], *shown: Grid | str) -> None:
        """Show the result: the document to programs, the rest to people, and to those only who want to hear it."""
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
        """Show progress and warnings of the library in words of the command line."""
        display = RichDisplay() if sys.stderr.isatty() and not self.quiet else LogDisplay(self.quiet)
        with progress.shown_by(display), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is deprecated concerns those who write code
            warnings.simplefilter("default", UserWarning)
            warnings.simplefilter("default", RuntimeWarning)
            warnings.showwarning = self._warn
            yield

    def _warn(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: Any = None,
        line: str | None = None,
    ) -> None:
        text = one_line(in_words_of_options(str(message), flags()))
        if text not in self.warned:
            self.warned.append(text)
            self.note(f"warning: {text}")


class LogDisplay:
    """Lines on the stream for errors: the other one is for results."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def open_bar(self, level: int, n_batches: int) -> progress.Bar | None:
        """Return something that writes a line now and then, where a level has several batches."""
        return None if self._quiet or n_batches == 1 else progress.LogBar(level, n_batches, prefix="")

    def open_steps(self, name: str, n_steps: int, unit: str) -> progress.Steps:
        """Return something that writes a line now and then."""
        return progress.NoSteps() if self._quiet else progress.LogSteps(name, n_steps, unit, prefix="")

    def say(self, line: str) -> None:
        """Write a line."""
        if not self._quiet:
            _print(line, sys.stderr)


class RichDisplay:
    """A live bar on a terminal."""

    def open_bar(self, level: int, n_batches: int) -> progress.Bar:
        """Return a bar that goes away when the level is done; of a single batch it only tells the time."""
        return RichBar(level, n_batches)

    def open_steps(self, name: str, n_steps: int, unit: str) -> progress.Steps:
        """Return a bar that goes away when the last step is done."""
        return RichSteps(name, n_steps, unit)

    def say(self, line: str) -> None:
        """Print a line that stays."""
        _rich_console(stderr=True).print(line, style="dim", markup=False, highlight=False)


class RichBar(AbstractContextManager["RichBar"]):
    """How far a level is."""

    def __init__(self, level: int, n_batches: int) -> None:
        rich = import_optional("rich.progress", "cli")
        parts = [rich.SpinnerColumn(), rich.TextColumn("{task.description}"), rich.BarColumn()]
        if n_batches > 1:
            parts += [rich.MofNCompleteColumn(), rich.TextColumn("batches")]
        parts += [rich.TextColumn("{task.fields[rows]}"), rich.TimeElapsedColumn()]
        if n_batches > 1:
            parts += [rich.TextColumn("left"), rich.TimeRemainingColumn()]
        self._progress = rich.Progress(*parts, console=_rich_console(stderr=True), transient=True)
        total = n_batches if n_batches > 1 else None
        self._task = self._progress.add_task(f"level {level}", total=total, rows="")
        self._rows = progress.RowCount()

    def __enter__(self) -> RichBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, rows_in: int, rows_out: int) -> None:
        """Say that one more batch is contracted."""
        self._rows.add(rows_in, rows_out)
        self._progress.update(self._task, advance=1, rows=str(self._rows))


class RichSteps(AbstractContextManager["RichSteps"]):
    """How many steps of a longer work are done."""

    def __init__(self, name: str, n_steps: int, unit: str) -> None:
        rich = import_optional("rich.progress", "cli")
        self._progress = rich.Progress(
            rich.SpinnerColumn(),
            rich.TextColumn("{task.description}"),
            rich.BarColumn(),
            rich.MofNCompleteColumn(),
            rich.TextColumn(f"{unit}s"),
            rich.TextColumn("{task.fields[note]}"),
            rich.TimeElapsedColumn(),
            rich.TextColumn("left"),
            rich.TimeRemainingColumn(),
            console=_rich_console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task(name, total=n_steps, note="")

    def __enter__(self) -> RichSteps:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, n_steps: int, note: str) -> None:
        """Say that so many more steps are done, and how it stands."""
        self._progress.update(self._task, advance=n_steps, note=note)


def _draw(grid: Grid) -> None:
    box, table = import_optional("rich.box", "cli"), import_optional("rich.table", "cli")
    text = import_optional("rich.text", "cli").Text
    drawn = table.Table(box=box.SIMPLE_HEAD, show_header=bool(grid.headings), pad_edge=False)
    for number, heading in enumerate(grid.headings or grid.rows[0]):
        is_named = bool(grid.headings)
        justify = "right" if is_named and number > 0 else "left"
        drawn.add_column(
            text(heading) if is_named else None, justify=justify, style=None if is_named or number else "bold"
        )
    for row in grid.rows:
        drawn.add_row(*(text(one_line(cell)) for cell in row))
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
    return import_optional("rich.console", "cli").Console(stderr=stderr)


def _print(text: str, stream: Any) -> None:
    # a terminal that cannot show a letter gets its number
    safe = text.encode(stream.encoding or "utf-8", "backslashreplace").decode(stream.encoding or "utf-8")
    print(safe, file=stream, flush=True)
