"""What ``verbose`` shows: a live bar for the batches of a level, and a line after each level.

On a terminal and in a notebook the bar is tqdm's, if that is installed. In a log file, where a bar would leave
thousands of lines, it is a plain line every few seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
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
        if n_tasks == 1:
            return self.engine.run(function, tasks, n_tasks)
        tasks = iter(tasks)
        first = next(tasks)
        bar = open_bar(first[0].place[0] % BEYOND_LEVELS, n_tasks)
        return _show(self.engine.run(function, chain([first], tasks), n_tasks), bar)


def describe_level(record: LevelRecord, n_views: int) -> str:
    """Return the line that is shown after a level."""
    seconds = record.base_seconds + record.consensus_seconds + record.medoid_seconds
    batches = "1 batch" if record.n_batches == 1 else f"{record.n_batches:,} batches"
    return (
        f"[CoHiRF] level {record.level}: {record.rows_in:,} -> {record.rows_out:,} rows in {batches}, "
        f"{record.views_kept:.3g} of {n_views} views kept, agreement {record.agreement:.2f}, {seconds:.2f} s"
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


def open_bar(level: int, n_batches: int) -> Bar:
    """Return tqdm's bar where somebody watches, and lines for a log elsewhere."""
    if is_installed("tqdm") and (_on_terminal() or _in_notebook()):
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

    def __init__(self, level: int, n_batches: int) -> None:
        self._level, self._n_batches = level, n_batches
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
            f"[CoHiRF] level {self._level}: {self._done:,} of {self._n_batches:,} batches, {self._rows}, "
            f"{rate:.3g} batches a second, {left:,.0f} s left",
            file=sys.stderr,
            flush=True,
        )


def _on_terminal() -> bool:
    return hasattr(sys.stderr, "isatty") and sys.stderr.isatty()  # what replaces it may lack that, or be None


def _in_notebook() -> bool:
    if "IPython" not in sys.modules:
        return False
    shell: Any = sys.modules["IPython"].get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
