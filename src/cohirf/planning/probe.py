"""The cost of one batch: the complete contraction of a sample, run in a separate process.

Only the operating system knows the memory that compiled code allocates, and it counts per process. A fresh process also
does not hold memory that this process has freed but kept, which would hide part of the cost.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pickle import PicklingError
from time import process_time
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor, process_executor

from cohirf.algorithm.contract_batch import ContractedBatch, Contraction, contract_batch
from cohirf.algorithm.engine import SerialEngine
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.engines.local import one_thread
from cohirf.planning.memory import peak_bytes, reset_peak, resident_bytes

LEVEL = 0  # levels of a fit start at 1, so probes never share random numbers with it
# no memory or semaphores; daemon processes cannot have children; processes nested too deep, or dead at once
NO_PROCESS = (OSError, ImportError, AssertionError, RuntimeError)

Call = Callable[..., Any]


@dataclass(frozen=True)
class Probe:
    """Cost of contracting one batch.

    Attributes
    ----------
    n_rows, n_survivors : int
        Number of rows of the batch, and number of medoids that it was contracted to.
    seconds : float
        Processor time, which hardly depends on other programs on the machine.
    n_bytes : int
        Largest increase of the resident memory, including the rows of the batch.
    """

    n_rows: int
    n_survivors: int
    seconds: float
    n_bytes: int


def draw_rows(n_rows: int, size: int, entropy: Entropy) -> IntArray:
    """Draw ``size`` of ``n_rows`` rows, spread evenly over the data: one from each of ``size`` equal parts."""
    bounds = np.linspace(0, n_rows, size + 1).astype(np.int64)
    return generator_at(entropy, Draw.SPLIT, LEVEL, size).integers(bounds[:-1], bounds[1:])


def probe_batch(X: Any, contraction: Contraction) -> Probe:
    """Contract the rows of ``X`` as one batch, and measure the cost."""
    reset_peak()
    before, started = resident_bytes(), process_time()
    with one_thread(), warnings.catch_warnings(action="ignore"):  # the fit itself will show the same warnings
        contracted = contract_sample(X, contraction)
    seconds = process_time() - started
    return Probe(X.shape[0], len(contracted.medoids), seconds, max(0, peak_bytes() - before))


def contract_sample(X: Any, contraction: Contraction) -> ContractedBatch:
    """Contract a sample as the fit contracts a batch; taking its rows copies them, as in a fit."""
    rows = np.arange(X.shape[0])
    mass = np.ones(len(rows)) if contraction.weighted else None
    return contract_batch(X[rows], mass, contraction, (LEVEL, 0), SerialEngine())


@contextmanager
def fresh_process() -> Iterator[Call]:
    """Yield ``call(function, *arguments)``, which runs functions in one fresh process, or here if none can be started.

    Exceptions of the function are raised here.
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
    """Return an executor with one running process, or None if no process can be started."""
    try:
        executor = ProcessPoolExecutor(max_workers=1, initializer=_keep_process)
    except NO_PROCESS:
        return None
    try:
        executor.submit(resident_bytes).result()
    except NO_PROCESS:
        executor.shutdown(wait=False, kill_workers=True)
        return None
    return executor


def _keep_process() -> None:
    """Keep loky from replacing this process, with a warning, because its memory grew: its memory is what we measure."""
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize


def _call_there(executor: Any, function: Call, *arguments: Any) -> Any:
    try:
        return executor.submit(function, *arguments).result()
    except PicklingError:
        return _call_here(function, *arguments)  # arguments that cannot be pickled can still be used in this process
    except BrokenProcessPool as error:
        raise RuntimeError(
            'The process in which batch_size="auto" measured the base method crashed, perhaps because memory ran out: '
            'set batch_size to a number of rows, or to less memory ("2GB"), so that smaller batches are measured.'
        ) from error


def _call_here(function: Call, *arguments: Any) -> Any:
    return function(*arguments)
