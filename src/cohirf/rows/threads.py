"""Blocks of rows on several threads of this process.

NumPy, BLAS and compiled kernels release the lock of the interpreter, so threads compute at the same
time, and no row is copied for them. A fit says once how many threads there may be, with
``on_threads``. Functions that divide their rows into blocks need not know: blocks do not depend on
the number of threads, and results come in the order of the blocks, so sums are the same on any
number of cores.

A task may divide its own rows again: threads that have nothing to do help with these blocks, and no
thread is added. Threads that others start, and other processes, compute alone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

from cohirf.rows.blocks import row_blocks
from cohirf.rows.policy import BLOCK

Task = TypeVar("Task")
Result = TypeVar("Result")


@dataclass(frozen=True)
class _Threads:
    """Threads that compute at the same time; a thread that is one of them computes, too."""

    executor: Executor
    count: int
    is_one_of_them: bool = False


_threads: ContextVar[_Threads | None] = ContextVar("threads", default=None)

if hasattr(os, "register_at_fork"):  # a forked process has none of the threads of its parent
    os.register_at_fork(after_in_child=lambda: _threads.set(None))


@contextmanager
def on_threads(count: int, begin: Callable[[], Any] | None = None) -> Iterator[None]:
    """Let this thread divide its work among ``count`` threads; each calls ``begin`` first."""
    if count == 1:
        yield
        return
    with ThreadPoolExecutor(count, "cohirf", begin or _nothing) as executor:
        token = _threads.set(_Threads(executor, count))
        try:
            yield
        finally:
            _threads.reset(token)


def _nothing() -> None:
    """Begin a thread."""


def count_threads() -> int:
    """Return how many threads compute what this one divides."""
    threads = _threads.get()
    return 1 if threads is None else threads.count


def map_in_threads(function: Callable[[Task], Result], tasks: Iterable[Task]) -> list[Result]:
    """Return the result of each task, in the order of the tasks.

    If several fail, the error is that of the first of them, and those that have not begun are left
    out.

    Examples
    --------
    >>> from cohirf.rows.threads import map_in_threads, on_threads
    >>> with on_threads(2):
    ...     map_in_threads(abs, [3, -4, -5])
    [3, 4, 5]
    """
    tasks = list(tasks)
    threads = _threads.get()
    if threads is None or len(tasks) < 2:
        return [function(task) for task in tasks]
    work = _Work(function, tasks)
    n_others = min(threads.count, len(tasks)) - threads.is_one_of_them
    others = [threads.executor.submit(_help, work, copy_context()) for _ in range(n_others)]
    try:
        if threads.is_one_of_them:
            work.help()
        for other in others:
            # a thread that is busy elsewhere is not waited for
            if not (threads.is_one_of_them and other.cancel()):
                other.result()
    finally:
        work.end()
    return work.collect()


def map_in_groups(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """Yield the result of each task; there are no more than threads in memory at a time."""
    remaining = iter(tasks)
    while group := list(islice(remaining, count_threads())):
        yield from map_in_threads(function, group)


def map_blocks(
    function: Callable[[slice], Result], n_rows: int, block_rows: int | None = None
) -> list[Result]:
    """Return what ``function`` returns for each block of ``n_rows`` rows."""
    return map_in_threads(function, row_blocks(n_rows, block_rows or BLOCK.thread_rows))


def map_sums(
    function: Callable[[slice], Result], n_rows: int, fewest_rows: int = 1
) -> list[Result]:
    """Return what ``function`` returns for each of a few blocks of ``n_rows`` rows, which is in
    memory for all of them.

    A block has at least ``fewest_rows``, so that to put results together takes less time than to
    make them. There is at least one block.
    """
    blocks = row_blocks(n_rows, _count_summed(n_rows, fewest_rows))
    return map_in_threads(function, blocks) or [function(slice(0, 0))]


def sum_blocks(function: Callable[[slice], Any], n_rows: int, fewest_rows: int = 1) -> Any:
    """Return the sum of what ``function`` returns for each of a few blocks; see ``map_sums``.

    Large sums are added up as soon as each thread has made one.
    """
    block_rows = _count_summed(n_rows, fewest_rows)
    if fewest_rows * BLOCK.small_sums > block_rows:
        found = map_in_groups(function, row_blocks(n_rows, block_rows))
    else:
        found = iter(map_sums(function, n_rows, fewest_rows))
    total = next(found)
    for other in found:
        total += other
    return total


def _count_summed(n_rows: int, fewest_rows: int) -> int:
    """Return the rows of a block that has a sum of its own."""
    return max(BLOCK.thread_rows, fewest_rows, -(-n_rows // BLOCK.most_sums))


@dataclass
class _Work:
    """Tasks that several threads take one after the other."""

    function: Callable[[Any], Any]
    tasks: Sequence[Any]
    results: dict[int, Any] = field(default_factory=dict)
    errors: dict[int, BaseException] = field(default_factory=dict)
    n_taken: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def help(self) -> None:
        """Do tasks until all are taken."""
        while (number := self._take()) < len(self.tasks):
            try:
                self.results[number] = self.function(self.tasks[number])
            except BaseException as error:
                self.errors[number] = error
                self.end()

    def _take(self) -> int:
        with self.lock:
            number = self.n_taken
            self.n_taken += 1
        return number

    def end(self) -> None:
        """Let nobody begin another task."""
        with self.lock:
            self.n_taken = len(self.tasks)

    def collect(self) -> list[Any]:
        """Return all results, or raise the error of the first task that has failed."""
        if self.errors:
            try:
                raise self.errors[min(self.errors)]
            finally:
                self.errors.clear()  # the error refers to this frame: neither keeps the other
        return [self.results[number] for number in range(len(self.tasks))]


def _help(work: _Work, context: Context) -> None:
    """Do tasks in a copy of the context of the thread that has divided its work."""
    context.run(_help_as_one_of_them, work)


def _help_as_one_of_them(work: _Work) -> None:
    threads = _threads.get()
    assert threads is not None  # this thread is one of them
    _threads.set(replace(threads, is_one_of_them=True))
    work.help()
