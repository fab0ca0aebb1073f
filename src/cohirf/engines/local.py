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
        alone, results = _measure(SerialEngine().run(function, islice(tasks, TRIAL_ROUNDS), TRIAL_ROUNDS))
        yield from results
        threads, results = _measure(self._in("threading", function, islice(tasks, n_trial)))
        yield from results
        n_left = n_tasks - TRIAL_ROUNDS - n_trial
        processes = None
        if are_processes_worth_a_trial(alone, threads, n_left):
            processes, results = self._try_processes(function, list(islice(tasks, n_trial)))
            yield from results
            n_left -= n_trial
        backend, fastest = choose_backend(threads, processes)
        yield from self._in(backend, function, tasks, choose_chunk(fastest, n_left, n_jobs))

    def _try_processes(self, function: Function, tasks: list[tuple[Any, ...]]) -> tuple[Trial | None, list[Any]]:
        """Run tasks in processes and measure them; in threads, and measure nothing, where they cannot be sent."""
        try:
            list(self._in("loky", _start, ((task,) for task in tasks)))
            return _measure(self._in("loky", function, tasks))
        except (pickle.PicklingError, TypeError, AttributeError):  # a base method that cannot be sent
            return None, list(self._in("threading", function, tasks))


@dataclass(frozen=True)
class Trial:
    """What some tasks took: the time of each on average, and how many cores were busy with them."""

    seconds_a_task: float
    busy_cores: float


def are_processes_worth_a_trial(alone: Trial, threads: Trial, n_left: int) -> bool:
    """Tell whether threads wait for each other, and what is left takes longer than processes take to start."""
    threads_wait = threads.busy_cores < PARALLEL_GAIN * alone.busy_cores
    return threads_wait and threads.seconds_a_task * n_left > START_SECONDS


def choose_backend(threads: Trial, processes: Trial | None) -> tuple[str, Trial]:
    """Return the faster backend and its trial; processes that were not tried are not chosen."""
    if processes is not None and processes.seconds_a_task < threads.seconds_a_task:
        return "loky", processes
    return "threading", threads


def choose_chunk(trial: Trial, n_left: int, n_jobs: int) -> int:
    """Return how many tasks a job takes at a time: enough to keep it busy, and few enough to keep all jobs busy."""
    # a trial of several jobs gives the time from one result to the next; a job takes n_jobs times as long for a task
    wanted = int(CHUNK_SECONDS / (trial.seconds_a_task * n_jobs))
    return max(1, min(wanted, n_left // (4 * n_jobs)))


def _measure(results: Iterator[Any]) -> tuple[Trial, list[Any]]:
    """Take all results; return what they took, and them."""
    started, cpu = time.perf_counter(), time.process_time()
    collected = list(results)
    seconds = max(time.perf_counter() - started, 1e-9)
    return Trial(seconds / max(len(collected), 1), (time.process_time() - cpu) / seconds), collected


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
