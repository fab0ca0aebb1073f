"""What ``verbose`` shows: a live bar for the batches of a level, and a line after each level.

On a terminal and in a notebook the bar is tqdm's, if that is installed. In a log file, where a bar would leave
thousands of lines, it is a plain line every few seconds. A program that has a screen of its own shows both itself:
``shown_by``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from math import isnan
from typing import Any, Protocol

from cohirf.algorithm.engine import Engine
from cohirf.algorithm.levels import LevelRecord
from cohirf.algorithm.redraw import BEYOND_LEVELS
from cohirf.optional import import_optional, is_installed

LOG_SECONDS = 10.0


@dataclass(frozen=True)
class WatchedEngine:
    """Runs the batches of a level on another engine and shows, where there are several, how far it is."""

    engine: Engine

    @property
    def is_serial(self) -> bool:
        """Whether there is one task at a time."""
        return self.engine.is_serial

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments and give the results back in order."""
        tasks = iter(tasks)
        first = next(tasks)
        level = first[0].place[0] % BEYOND_LEVELS
        bar = _display.get().open_bar(level, n_tasks) if level else None  # at level 0, samples are tried out
        outcomes = self.engine.run(function, chain([first], tasks), n_tasks)
        return outcomes if bar is None else _show(outcomes, bar)


class Display(Protocol):
    """Where progress is shown."""

    def open_bar(self, level: int, n_batches: int) -> Bar | None:
        """Return a bar for the batches of a level, or None for none."""

    def open_steps(self, name: str, n_steps: int, unit: str) -> Steps:
        """Return a bar for the steps of a longer work."""

    def say(self, line: str) -> None:
        """Show a line that stays."""


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Let what fits with ``verbose`` have to say be shown elsewhere."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


def say(line: str) -> None:
    """Show a line that stays."""
    _display.get().say(line)


def describe_level(record: LevelRecord, n_views: int) -> str:
    """Return the line that is shown after a level."""
    seconds = record.base_seconds + record.consensus_seconds + record.medoid_seconds
    batches = "1 batch" if record.n_batches == 1 else f"{record.n_batches:,} batches"
    agreement = "" if isnan(record.agreement) else f"agreement {record.agreement:.2f}, "  # one view has none
    return (
        f"level {record.level}: {record.rows_in:,} -> {record.rows_out:,} rows in {batches}, "
        f"{record.views_kept:.3g} of {n_views} views kept, {agreement}{seconds:.2f} s"
    )


def _show(outcomes: Iterator[Any], bar: Bar) -> Iterator[Any]:
    with bar:
        for outcome in outcomes:
            bar.advance(outcome.rows_in, outcome.rows_out)
            yield outcome


class Bar(Protocol):
    """Shows how many batches of a level are contracted."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...

    def advance(self, rows_in: int, rows_out: int) -> None:
        """Say that one more batch is contracted, from so many rows to so many."""


class Streams:
    """Lines on the standard output; bars on that for errors, where a level has several batches."""

    def open_bar(self, level: int, n_batches: int) -> Bar | None:
        """Return a bar for the batches of a level, or None for none."""
        return None if n_batches == 1 else open_bar(level, n_batches)

    def open_steps(self, name: str, n_steps: int, unit: str) -> Steps:
        """Return tqdm's bar where somebody watches, and lines for a log elsewhere."""
        return LiveSteps(name, n_steps, unit) if somebody_watches() else LogSteps(name, n_steps, unit)

    def say(self, line: str) -> None:
        """Print a line."""
        print(f"[CoHiRF] {line}", flush=True)  # noqa: T201 - what verbose asks for


_display: ContextVar[Display] = ContextVar("display", default=Streams())  # noqa: B039 - it has no state


def open_bar(level: int, n_batches: int) -> Bar:
    """Return tqdm's bar where somebody watches, and lines for a log elsewhere."""
    if somebody_watches():
        return LiveBar(level, n_batches)
    return LogBar(level, n_batches)


@dataclass
class RowCount:
    """Adds up the rows that went into batches, and those that came out."""

    rows_in: int = 0
    rows_out: int = 0

    def add(self, rows_in: int, rows_out: int) -> None:
        """Count one more batch."""
        self.rows_in += rows_in
        self.rows_out += rows_out

    def __str__(self) -> str:
        return f"{self.rows_in:,} -> {self.rows_out:,} rows"


class LiveBar:
    """A bar of tqdm, which knows terminals and notebooks."""

    def __init__(self, level: int, n_batches: int) -> None:
        self._bar = import_optional("tqdm.auto", "progress").tqdm(
            total=n_batches, desc=f"[CoHiRF] level {level}", unit="batch", leave=False
        )
        self._rows = RowCount()

    def __enter__(self) -> LiveBar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def advance(self, rows_in: int, rows_out: int) -> None:
        """Say that one more batch is contracted."""
        self._rows.add(rows_in, rows_out)
        self._bar.set_postfix_str(str(self._rows), refresh=False)
        self._bar.update()


class LogBar:
    """Writes a line every few seconds."""

    def __init__(self, level: int, n_batches: int, prefix: str = "[CoHiRF] ") -> None:
        self._level, self._n_batches, self._prefix = level, n_batches, prefix
        self._done = self._done_before = 0
        self._written = time.monotonic()
        self._rows = RowCount()

    def __enter__(self) -> LogBar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def advance(self, rows_in: int, rows_out: int) -> None:
        """Say that one more batch is contracted."""
        self._done += 1
        self._rows.add(rows_in, rows_out)
        now = time.monotonic()
        if now - self._written < LOG_SECONDS:
            return
        # since the line before: at the start of a level, batches may have come from a checkpoint, in no time
        rate = (self._done - self._done_before) / (now - self._written)
        self._written, self._done_before = now, self._done
        left = (self._n_batches - self._done) / rate
        print(  # noqa: T201 - what verbose asks for
            f"{self._prefix}level {self._level}: {self._done:,} of {self._n_batches:,} batches, {self._rows}, "
            f"{rate:.3g} batches a second, {left:,.0f} s left",
            file=sys.stderr,
            flush=True,
        )


class Steps(Protocol):
    """Shows how many steps of a longer work are done."""

    def __enter__(self) -> Any: ...

    def __exit__(self, *_: object) -> None: ...

    def advance(self, n_steps: int, note: str) -> None:
        """Say that so many more steps are done, and how it stands."""


def open_steps(name: str, n_steps: int, unit: str, *, shown: bool = True) -> Steps:
    """Return a bar for the steps of a longer work, or nothing if nothing is to be shown."""
    return _display.get().open_steps(name, n_steps, unit) if shown else NoSteps()


class NoSteps:
    """Shows nothing."""

    def __enter__(self) -> NoSteps:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def advance(self, n_steps: int, note: str) -> None:
        """Say nothing."""


class LiveSteps:
    """A bar of tqdm."""

    def __init__(self, name: str, n_steps: int, unit: str) -> None:
        self._bar = import_optional("tqdm.auto", "progress").tqdm(total=n_steps, desc=f"[CoHiRF] {name}", unit=unit)

    def __enter__(self) -> LiveSteps:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def advance(self, n_steps: int, note: str) -> None:
        """Say that so many more steps are done, and how it stands."""
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(n_steps)


class LogSteps(NoSteps):
    """Writes a line after the last step, and every few seconds before."""

    def __init__(self, name: str, n_steps: int, unit: str, prefix: str = "[CoHiRF] ") -> None:
        self._name, self._n_steps, self._unit, self._prefix = name, n_steps, unit, prefix
        self._done = 0
        self._written = time.monotonic()

    def advance(self, n_steps: int, note: str) -> None:
        """Say that so many more steps are done, and how it stands."""
        self._done += n_steps
        now = time.monotonic()
        if now - self._written < LOG_SECONDS and self._done < self._n_steps:
            return
        self._written = now
        line = f"{self._prefix}{self._name}: {self._done:,} of {self._n_steps:,} {self._unit}s, {note}"
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - what verbose asks for


def somebody_watches() -> bool:
    """Tell whether a bar can be drawn and is looked at."""
    return is_installed("tqdm") and (_on_terminal() or _in_notebook())


def _on_terminal() -> bool:
    return hasattr(sys.stderr, "isatty") and sys.stderr.isatty()  # what replaces it may lack that, or be None


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    shell: Any = sys.modules["IPython"].get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
