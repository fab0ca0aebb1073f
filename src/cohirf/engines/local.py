"""Tasks on this machine: one after the other, or through joblib in threads or processes.

Every task runs with one BLAS and one OpenMP thread. Parallelism comes from ``n_jobs`` alone, so cores are never
over-subscribed, and sums are always added up in the same order: the labels do not depend on the number of cores.

Threads share the data and start at once, but a base method written in Python keeps them waiting for each other. Whether
it does is measured on the first tasks of many; if so, a few more run in processes, and the faster way does the rest.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from cohirf.algorithm.engine import SerialEngine

Function = Callable[..., Any]
Tasks = Iterable[tuple[Any, ...]]

TRIAL_ROUNDS = 4  # tasks per job in a trial
TOO_FEW_FOR_TRIALS = 20  # tasks per job
PARALLEL_GAIN = 1.3  # how much more work threads do than one of them alone, if they run at the same time
START_SECONDS = 5.0  # what it may take to start processes
CHUNK_SECONDS = 0.05  # how long a job should work before it asks for more


@dataclass(frozen=True)
class LocalEngine:
    """Runs tasks with joblib; the backend is chosen here unless the user has chosen one with ``parallel_config``."""

    n_jobs: int | None = None

    @property
    def is_serial(self) -> bool:
        """Whether there is one job at a time."""
        return bool(effective_n_jobs(self.n_jobs) == 1)

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments and give the results back in order, as they are ready."""
        if self.is_serial or n_tasks == 1:
            return SerialEngine().run(function, tasks, n_tasks)
        if _user_chose_backend() or n_tasks < TOO_FEW_FOR_TRIALS * effective_n_jobs(self.n_jobs):
            return self._in(None, function, tasks)
        return self._in_what_is_faster(function, iter(tasks), n_tasks)

    def _in(self, backend: str | None, function: Function, tasks: Tasks, per_call: int = 1) -> Iterator[Any]:
        """Run tasks in a backend, or in what the user chose, with some tasks in each call."""
        config = get_config()  # of this thread; scikit-learn's own way to pass it on disturbs warnings of other threads
        calls = (delayed(_call_on_one_thread)(function, some, config) for some in _chunks(tasks, per_call))
        run = partial(Parallel, n_jobs=self.n_jobs, backend=backend, prefer="threads")
        if backend is None and not get_active_backend()[0].supports_return_generator:  # Ray's does not
            return chain.from_iterable(run()(calls))
        return chain.from_iterable(_cancelling_quietly(run(return_as="generator")(calls)))

    def _in_what_is_faster(self, function: Function, tasks: Iterator[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        n_jobs = effective_n_jobs(self.n_jobs)
        n_trial = TRIAL_ROUNDS * n_jobs
        alone = _Trial.of(SerialEngine().run(function, islice(tasks, TRIAL_ROUNDS), TRIAL_ROUNDS))
        yield from alone.results
        best = _Trial.of(self._in("threading", function, islice(tasks, n_trial)))
        yield from best.results
        backend = "threading"
        n_tasks -= TRIAL_ROUNDS + n_trial
        if best.busy_cores < PARALLEL_GAIN * alone.busy_cores and best.seconds_a_task * n_tasks > START_SECONDS:
            in_processes = self._try_processes(function, list(islice(tasks, n_trial)))
            yield from in_processes.results
            if in_processes.seconds_a_task < best.seconds_a_task:
                backend, best = "loky", in_processes
        per_call = int(CHUNK_SECONDS / (best.seconds_a_task * n_jobs))
        yield from self._in(backend, function, tasks, max(1, min(per_call, n_tasks // (4 * n_jobs))))

    def _try_processes(self, function: Function, tasks: list[tuple[Any, ...]]) -> _Trial:
        try:
            list(self._in("loky", _start, ((task,) for task in tasks)))
            return _Trial.of(self._in("loky", function, tasks))
        except (pickle.PicklingError, TypeError, AttributeError):  # a base method that cannot be sent
            return _Trial.of(self._in("threading", function, tasks))


@dataclass(frozen=True)
class _Trial:
    """Results of some tasks, the time each took on average, and how many cores were busy with them."""

    results: list[Any]
    seconds_a_task: float
    busy_cores: float

    @classmethod
    def of(cls, results: Iterator[Any]) -> _Trial:
        started, cpu = time.perf_counter(), time.process_time()
        collected = list(results)
        seconds = max(time.perf_counter() - started, 1e-9)
        return cls(collected, seconds / max(len(collected), 1), (time.process_time() - cpu) / seconds)


def _cancelling_quietly(results: Any) -> Iterator[Any]:
    """Pass results on; if nobody takes the rest, because of an error, joblib's advice on that is out of place."""
    try:
        for result in results:  # noqa: UP028 - with "yield from", the results would be closed before this is
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"\d+ tasks")
            results.close()


def one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds, as long as a small batch


def _user_chose_backend() -> bool:
    """Tell whether a backend is set that does not follow hints, as in a ``parallel_config`` context."""
    hinted = (type(get_active_backend(prefer=hint)[0]) for hint in ("threads", "processes"))
    return len(set(hinted)) == 1


def _chunks(tasks: Tasks, size: int) -> Iterator[list[tuple[Any, ...]]]:
    tasks = iter(tasks)
    while chunk := list(islice(tasks, size)):
        yield chunk


def _call_on_one_thread(function: Function, tasks: list[tuple[Any, ...]], config: dict[str, Any]) -> list[Any]:
    # OpenMP counts threads per thread and BLAS per process, so a worker needs the limit too. BLAS limits of several
    # workers do not disturb each other, since the caller holds the same limit around all of them.
    with config_context(**config), one_thread():
        return [function(*task) for task in tasks]


def _start(task: Any) -> None:
    """Take a task and leave it: whoever was sent it has started, and imported what it needs."""
    time.sleep(0.1)  # long enough for the others to get one, too
