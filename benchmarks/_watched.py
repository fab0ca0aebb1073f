"""A task in a process of its own, on a number of cores, until it is done or passes a limit of time
or memory.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

import psutil

from cohirf.planning.memory import peak_bytes, reset_peak

# seconds between two looks at a process; what it allocates in between can exceed the limit
INTERVAL = 0.05
PREPARATION_LIMIT = 600.0  # seconds; some packages compile for minutes when they are first used
EXIT_LIMIT = 10.0  # seconds for a process to end after its result
# times the limit, by the clock, after which a task on one core is stopped even if it does not
# compute
PATIENCE = 10
THREAD_VARIABLES = (
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PARLAY_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


@dataclass(frozen=True)
class Limits:
    """What a task may use.

    Parameters
    ----------
    seconds : float
        Processor time on one core, time by the clock on several. Other programs disturb processor
        time the least, but it does not tell how long several cores take.
    megabytes : float
        Resident memory of the process and its children, with the interpreter, packages and data.
    cores : int
        Number of cores. The process is bound to them where the system allows it, and starts as many
        threads.
    """

    seconds: float
    megabytes: float
    cores: int


class Task(Protocol):
    """Work of which one part is measured. Tasks are pickled."""

    def prepare(self) -> None:
        """Read data, import packages, compile: not measured."""

    def run(self) -> None:
        """Do what is measured."""

    def result(self) -> dict[str, Any]:
        """Return figures of what ``run`` did: not measured."""


class PassedLimitError(Exception):
    """The task was stopped; the message tells which limit it passed."""


def run_watched(task: Task, limits: Limits) -> dict[str, Any]:
    """Run a task in a fresh process.

    Returns
    -------
    figures : dict
        Either "seconds", "peak" (in bytes), and the task's result; or "gave_up", the limit that it
        passed or the name of its error, and "error", the first line of its message.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, task, limits.cores))
    with _restricted_to(limits.cores):
        process.start()
    there.close()  # so that the end of the process closes the pipe
    try:
        figures = _follow(here, psutil.Process(process.pid), limits)
        process.join(EXIT_LIMIT)  # it removes its temporary files
    except PassedLimitError as passed:
        figures = {"gave_up": str(passed), "error": ""}
    except EOFError:
        figures = {"gave_up": "crashed", "error": "the process ended without an answer"}
    finally:
        _kill(process)
    return figures


def _serve(connection: Connection, task: Task, cores: int) -> None:
    """Run a task and send: None once it is prepared, its time and peak once it has run, its
    result.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    clock = time.process_time if cores == 1 else time.perf_counter
    try:
        task.prepare()
        connection.send(None)
        reset_peak()
        started = clock()
        task.run()
        connection.send({"seconds": clock() - started, "peak": peak_bytes()})
        connection.send(task.result())
    except Exception as error:
        first_line = str(error).strip().split("\n")[0]
        connection.send({"gave_up": type(error).__name__, "error": first_line})


def _end_with_parent() -> None:
    """End this process when the one that started it is gone: nobody else would enforce the
    limits.
    """
    multiprocessing.parent_process().join()
    os._exit(1)


def _follow(connection: Connection, process: psutil.Process, limits: Limits) -> dict[str, Any]:
    """Receive what a task sends, and watch what it uses while it runs."""
    if not connection.poll(PREPARATION_LIMIT):
        raise PassedLimitError(f"not ready in {PREPARATION_LIMIT:.0f} s")
    failure = connection.recv()
    if failure is not None:
        return failure
    sampled_peak = _watch(connection, process, limits)
    figures = connection.recv()
    if "gave_up" in figures:
        return figures
    # A single process knows its exact peak. The samples include its children.
    figures["peak"] = max(figures["peak"], sampled_peak)
    return figures | connection.recv()


def _watch(connection: Connection, process: psutil.Process, limits: Limits) -> int:
    """Return the peak memory until a task sends its figures.

    Raises
    ------
    PassedLimitError
        If the task uses more time or memory than it may.
    """
    started = time.monotonic()
    computed_before = _processor_seconds(process)
    peak = 0
    while not connection.poll(INTERVAL):
        elapsed = time.monotonic() - started
        seconds = _processor_seconds(process) - computed_before if limits.cores == 1 else elapsed
        peak = max(peak, tree_bytes(process))
        if seconds > limits.seconds:
            raise PassedLimitError(f"over {limits.seconds:g} s")
        if elapsed > PATIENCE * limits.seconds:  # it waits, or other programs leave it no processor
            raise PassedLimitError(f"over {PATIENCE * limits.seconds:g} s by the clock")
        if peak > 1e6 * limits.megabytes:
            raise PassedLimitError(f"over {limits.megabytes:,.0f} MB")
    return peak


def _processor_seconds(process: psutil.Process) -> float:
    with suppress(psutil.Error):  # it has just ended
        times = process.cpu_times()
        return times.user + times.system
    return 0.0


def tree_bytes(process: psutil.Process) -> int:
    """Return the resident memory of a process and its children.

    A page that n of them share counts 1/n in each.
    """
    with suppress(psutil.Error):  # one of them has just ended
        children = process.children(recursive=True)
        if not children:
            return process.memory_info().rss
        infos = [each.memory_full_info() for each in (process, *children)]
        # only Linux tells what is shared
        return sum(getattr(info, "pss", info.rss) for info in infos)
    return 0


def own_bytes(process: psutil.Process) -> int:
    """Return the memory of a process and its children without pages of files, which the system
    takes back at will.
    """
    with suppress(psutil.Error):  # one of them has just ended
        infos = [each.memory_info() for each in (process, *process.children(recursive=True))]
        return sum(info.rss - getattr(info, "shared", 0) for info in infos)
    return 0


class TreePeak:
    """Measures the peak memory of this process and its children together, by a look now and then.

    ``n_bytes`` is all resident memory, and ``own_bytes`` what remains without pages of files.
    """

    def __enter__(self) -> TreePeak:
        self.n_bytes = self.own_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(4 * INTERVAL):
            self.n_bytes = max(self.n_bytes, tree_bytes(psutil.Process()))
            self.own_bytes = max(self.own_bytes, own_bytes(psutil.Process()))


def _kill(process: Any) -> None:
    """End a process and its children, if they still run."""
    with suppress(psutil.Error):
        parent = psutil.Process(process.pid)
        for each in (*parent.children(recursive=True), parent):
            each.kill()
    process.join()


@contextmanager
def _restricted_to(cores: int) -> Iterator[None]:
    """Let processes that start in this block compute on so many cores, with as many threads."""
    variables = dict.fromkeys(THREAD_VARIABLES, str(cores))
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    can_bind = hasattr(os, "sched_setaffinity")  # Linux
    allowed = os.sched_getaffinity(0) if can_bind else set()
    if can_bind:
        os.sched_setaffinity(0, sorted(allowed)[-cores:])
    try:
        yield
    finally:
        if can_bind:
            os.sched_setaffinity(0, allowed)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
