"""Output of ``verbose``: progress of work in steps, and a line after each level.

Work in steps (the batches of a level, the trials of a search) is a :class:`Work`. It is shown with
a progress bar of tqdm on a terminal or in a notebook; elsewhere with a line every few seconds,
because a bar would fill a log with thousands of lines. A program can change what lines begin with
and where they go with ``shown_by``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from typing import Any

from cohirf.algorithm.levels import LevelRecord
from cohirf.in_words import InWords
from cohirf.optional import import_optional, is_installed
from cohirf.rows.storage import EngineAround


@dataclass(frozen=True)
class ProgressPolicy:
    """How often progress is shown, in seconds."""

    log_seconds: float = 10.0  # between two lines
    bar_seconds: float = 0.5  # shorter work has no bar


POLICY = ProgressPolicy()


__all__ = [
    "ContractedLevel",
    "Display",
    "Work",
    "is_redirected",
    "say",
    "showing",
    "shown_by",
    "write_above",
]

PREFIX = "[CoHiRF] "

# takes the number of steps that were just done, and a note on the progress
Advance = Callable[[int, str], None]


@dataclass(frozen=True)
class ContractedLevel(InWords):
    """A level of a fit that is done; ``print`` shows it in a line."""

    record: LevelRecord
    n_views: int


@dataclass(frozen=True)
class Work:
    """Work in steps."""

    name: str  # name of the work
    n_steps: int  # number of steps
    steps: str  # name of the steps, in the plural
    # Whether the final state stays visible. That of a level does not: a separate line describes the
    # level.
    stays: bool = False


@dataclass(frozen=True)
class Display:
    """How lines begin, where permanent ones go, and whether progress is shown at all."""

    prefix: str = PREFIX
    say: Callable[[str], None] = lambda line: write_above(f"{PREFIX}{line}", sys.stdout)
    quiet: bool = False


OWN = Display()
_display: ContextVar[Display] = ContextVar("display", default=OWN)


@contextmanager
def shown_by(display: Display) -> Iterator[None]:
    """Redirect the output of fits with ``verbose`` to another display, within this context."""
    token = _display.set(display)
    try:
        yield
    finally:
        _display.reset(token)


def is_redirected() -> bool:
    """Return whether a program shows the progress, also of work that has no ``verbose``, such as
    reading a file.
    """
    return _display.get() is not OWN


def say(result: InWords) -> None:
    """Print permanent lines: what a result says of itself."""
    _display.get().say(str(result))


@contextmanager
def showing(work: Work, *, shown: bool = True) -> Iterator[Advance]:
    """Yield a function that takes the number of steps that were just done, and a note on the
    progress.
    """
    display = _display.get()
    if not shown or display.quiet or (work.n_steps == 1 and not work.stays):
        yield lambda n_steps, note: None
    elif somebody_watches():
        made = import_optional("tqdm.auto", "progress", "A progress bar").tqdm
        name = f"{display.prefix}{work.name}"
        unit = f" {work.steps}"
        options: dict[str, Any] = {
            "leave": work.stays,
            "dynamic_ncols": True,
            "delay": POLICY.bar_seconds,
        }
        with made(total=work.n_steps, desc=name, unit=unit, **options) as bar:

            def advance(n_steps: int, note: str) -> None:
                bar.set_postfix_str(note, refresh=False)
                bar.update(n_steps)

            yield advance
    else:
        yield Log(work, display.prefix).advance


def write_above(line: str, stream: Any) -> None:
    """Print a line, above a bar if there is one."""
    if somebody_watches():
        import_optional("tqdm.auto", "progress", "A progress bar").tqdm.write(line, file=stream)
    else:
        print(line, file=stream, flush=True)


class WatchedEngine(EngineAround):
    """Contracts the runs of a level on another engine, and shows the progress."""

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int
    ) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, and yield the results in order."""
        tasks = iter(tasks)
        first = next(tasks)
        level = first[0].level
        outcomes = self.engine.run(function, chain([first], tasks), n_tasks)
        name = f"level {level}" if level else "spanning trees"
        return _show(outcomes, Work(name, max(n_tasks, first[0].n_batches), "batches"))


def _show(outcomes: Iterator[Any], work: Work) -> Iterator[Any]:
    rows_in = rows_out = 0
    with showing(work) as advance:
        for outcome in outcomes:
            rows_in = rows_in + outcome.rows_in
            rows_out = rows_out + outcome.rows_out
            advance(outcome.n_batches, f"{rows_in:,} -> {rows_out:,} rows")
            yield outcome


class Log:
    """Writes a line every few seconds, and one after the last step of work that stays."""

    def __init__(self, work: Work, prefix: str) -> None:
        self._work = work
        self._prefix = prefix
        self._done = self._done_before = 0
        self._written = time.monotonic()

    def advance(self, n_steps: int, note: str) -> None:
        """Write a line if the last one was written long enough ago, or if the work is done."""
        self._done += n_steps
        seconds = time.monotonic() - self._written
        is_last = self._work.stays and self._done >= self._work.n_steps
        if seconds < POLICY.log_seconds and not is_last:
            return
        # measured since the previous line: the first batches of a level may have come from a
        # checkpoint, at once
        n_new = self._done - self._done_before
        pace = ""
        if n_new and seconds and not is_last:
            left = (self._work.n_steps - self._done) * seconds / n_new
            pace = f", {n_new / seconds:.3g} {self._work.steps} a second, {left:,.0f} s left"
        self._written = self._written + seconds
        self._done_before = self._done
        print(  # noqa: T201 - output that verbose requests
            f"{self._prefix}{self._work.name}: {self._done:,} of {self._work.n_steps:,} "
            f"{self._work.steps}, {note}{pace}",
            file=sys.stderr,
            flush=True,
        )


def somebody_watches() -> bool:
    """Return whether a bar can be shown: tqdm is installed, and the output is a terminal or a
    notebook.
    """
    # sys.stderr may be replaced, or be None
    on_terminal = hasattr(sys.stderr, "isatty") and sys.stderr.isatty()
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return is_installed("tqdm") and (
        on_terminal or (shell is not None and "IPKernelApp" in shell.config)
    )
