"""What one batch costs: the whole batch step, run on a sample in a process of its own.

Only the system knows the memory that compiled code takes, and it counts by process. A fresh process also starts
without the memory that this one has used before and keeps.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pickle import PicklingError
from time import process_time
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from cohirf.algorithm.engine import SerialEngine
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import BatchTask, ContractedBatch, Contraction, contract_batch
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.engines.local import one_thread
from cohirf.planning.memory import peak_bytes, reset_peak, resident_bytes

LEVEL = 0  # those of a fit count from 1, so what is drawn here is drawn nowhere in it
# no memory or semaphores, a daemon (which has no children), processes nested too deep or dead at once
NO_PROCESS = (OSError, ImportError, AssertionError, RuntimeError)

Call = Callable[..., Any]


@dataclass(frozen=True)
class Probe:
    """What the contraction of one batch took.

    Attributes
    ----------
    n_rows, n_survivors : int
        Rows of the batch, and how many of them were left as medoids.
    seconds : float
        Processor time, which other programs on the machine do not change much.
    n_bytes : int
        By how much the resident memory rose at most, the rows of the batch included.
    """

    n_rows: int
    n_survivors: int
    seconds: float
    n_bytes: int


def draw_rows(n_rows: int, size: int, entropy: Entropy) -> IntArray:
    """Draw ``size`` of ``n_rows`` rows, spread evenly over the data: one from each of as many parts of it."""
    bounds = np.linspace(0, n_rows, size + 1).astype(np.int64)
    return generator_at(entropy, Draw.SPLIT, LEVEL, size).integers(bounds[:-1], bounds[1:])


def probe_batch(X: Any, contraction: Contraction) -> Probe:
    """Contract the rows of ``X`` as one batch and measure it."""
    reset_peak()
    before, started = resident_bytes(), process_time()
    with one_thread(), warnings.catch_warnings(action="ignore"):  # the fit gives the same ones, to the user
        contracted = contract_sample(X, contraction)
    seconds = process_time() - started
    return Probe(X.shape[0], len(contracted.medoids), seconds, max(0, peak_bytes() - before))


def contract_sample(X: Any, contraction: Contraction) -> ContractedBatch:
    """Run the batch step of the fit, the reading of its rows included."""
    rows = np.arange(X.shape[0])
    mass = np.ones(len(rows)) if contraction.weighted else None
    task = BatchTask(_Sample(X), rows, rows[:0], mass, (LEVEL, 0), carry_values=False)
    return contract_batch(task, contraction, SerialEngine())


@dataclass(frozen=True)
class _Sample:
    """Rows to contract. A batch is a copy of its rows, and so is what is taken from here."""

    X: Any

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: IntArray) -> Any:
        return self.X[rows]


@contextmanager
def fresh_process() -> Iterator[Call]:
    """Yield ``call(function, *arguments)``, which runs it in one fresh process; in this one if none can be had.

    What the function raises is raised here.
    """
    executor = _start_process()
    if executor is None:
        yield _call_here
        return
    try:
        yield lambda function, *arguments: _call_there(executor, function, *arguments)
    finally:
        executor.shutdown(wait=True, kill_workers=True)


def _start_process() -> Any | None:
    """Return an executor with one process that answers, or None."""
    try:
        executor = ProcessPoolExecutor(max_workers=1)
    except NO_PROCESS:
        return None
    try:
        executor.submit(resident_bytes).result()
    except NO_PROCESS:
        executor.shutdown(wait=False, kill_workers=True)
        return None
    return executor


def _call_there(executor: Any, function: Call, *arguments: Any) -> Any:
    try:
        return executor.submit(function, *arguments).result()
    except PicklingError:
        return _call_here(function, *arguments)  # what cannot be sent can still be run
    except BrokenProcessPool as error:
        raise RuntimeError(
            'The process in which batch_size="auto" tried the base method broke down, perhaps for lack of memory: '
            "give batch_size a number, or lower memory_limit, so that smaller batches are tried."
        ) from error


def _call_here(function: Call, *arguments: Any) -> Any:
    return function(*arguments)
