"""What ``verbose`` shows: how far a piece of work is, and a line after each level.

Work in steps (the batches of a level, the trials of a search) is a :class:`Work`. A display draws it: tqdm's bar where
somebody watches, a line every few seconds in a log, where a bar would leave thousands of lines. A program that has a
screen of its own brings its own display: ``shown_by``.
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
PREFIX = "[CoHiRF] "

Advance = Callable[[int, str], None]  # so many more steps are done, and how the work stands


@dataclass(frozen=True)
class Work:
    """Work in steps.

    Attributes
    ----------
    name : str
        What the work is called.
    n_steps : int
        How many steps it has.
    steps : str
        What the steps are called, in the plural.
    stays : bool
        Whether its last state stays to be read; of a level, a line of its own tells more.
    """

    name: str
    n_steps: int
    steps: str
    stays: bool = False


class Bar(Protocol):
    """The picture of some work."""

    def advance(self, n_steps: int, note: str) -> None:
        """Show that so many more steps are done, and how the work stands."""

    def close(self) -> None:
        """Show nothing more."""


class Display(Protocol):
    """Where progress is shown."""

    def open(self, work: Work) -> Bar | None:
        """Return a bar for some work, or None if there is nothing to show."""

    def say(self, line: str) -> None:
        """Show a line that stays."""


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Show progress on another display, in fits with ``verbose`` that are called inside."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


@contextmanager
def showing(work: Work, *, shown: bool = True) -> Iterator[Advance]:
    """Yield a function that takes the number of steps that were just done, and a note on how the work stands."""
    bar = _display.get().open(work) if shown else None
    try:
        yield _ignore if bar is None else bar.advance
    finally:
        if bar is not None:
            bar.close()


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


@dataclass(frozen=True)
class WatchedEngine:
    """Runs the batches of a level on another engine and shows how far it is."""

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
        outcomes = self.engine.run(function, chain([first], tasks), n_tasks)
        # at level 0, samples are tried out
        return _show(outcomes, Work(f"level {level}", n_tasks, "batches")) if level else outcomes


def _show(outcomes: Iterator[Any], work: Work) -> Iterator[Any]:
    rows_in = rows_out = 0
    with showing(work) as advance:
        for outcome in outcomes:
            rows_in, rows_out = rows_in + outcome.rows_in, rows_out + outcome.rows_out
            advance(1, f"{rows_in:,} -> {rows_out:,} rows")
            yield outcome


def _ignore(n_steps: int, note: str) -> None:
    """Show nothing."""


class Streams:
    """Lines on the standard output; bars on that for errors, unless a single step is all there is."""

    def open(self, work: Work) -> Bar | None:
        """Return tqdm's bar where somebody watches, and lines for a log elsewhere."""
        if is_single(work):
            return None
        return LiveBar(work) if somebody_watches() else LogBar(work)

    def say(self, line: str) -> None:
        """Print a line."""
        print(f"{PREFIX}{line}", flush=True)  # noqa: T201 - what verbose asks for


_display: ContextVar[Display] = ContextVar("display", default=Streams())  # noqa: B039 - it has no state


class LiveBar:
    """A bar of tqdm, which knows terminals and notebooks."""

    def __init__(self, work: Work) -> None:
        tqdm = import_optional("tqdm.auto", "progress", "A progress bar").tqdm
        self._bar = tqdm(total=work.n_steps, desc=f"{PREFIX}{work.name}", unit=f" {work.steps}", leave=work.stays)

    def close(self) -> None:
        """Take the bar away, unless its work stays."""
        self._bar.close()

    def advance(self, n_steps: int, note: str) -> None:
        """Show that so many more steps are done."""
        self._bar.set_postfix_str(note, refresh=False)
        self._bar.update(n_steps)


class LogBar:
    """Writes a line every few seconds, and one after the last step of work that stays."""

    def __init__(self, work: Work, prefix: str = PREFIX) -> None:
        self._work, self._prefix = work, prefix
        self._done = self._done_before = 0
        self._written = time.monotonic()

    def close(self) -> None:
        """Do nothing: lines stay."""

    def advance(self, n_steps: int, note: str) -> None:
        """Write a line, if it is time to."""
        self._done += n_steps
        seconds = time.monotonic() - self._written
        is_last = self._work.stays and self._done >= self._work.n_steps
        if seconds < LOG_SECONDS and not is_last:
            return
        pace = "" if is_last else self._pace(seconds)
        self._written, self._done_before = self._written + seconds, self._done
        print(  # noqa: T201 - what verbose asks for
            f"{self._prefix}{self._work.name}: {self._done:,} of {self._work.n_steps:,} {self._work.steps}, "
            f"{note}{pace}",
            file=sys.stderr,
            flush=True,
        )

    def _pace(self, seconds: float) -> str:
        # since the line before: at the start of a level, batches may have come from a checkpoint, in no time
        n_steps = self._done - self._done_before
        if n_steps == 0 or seconds == 0:
            return ""
        left = (self._work.n_steps - self._done) * seconds / n_steps
        return f", {n_steps / seconds:.3g} {self._work.steps} a second, {left:,.0f} s left"


def is_single(work: Work) -> bool:
    """Tell whether all there is to show is the end of a single step, which is said elsewhere."""
    return work.n_steps == 1 and not work.stays


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
