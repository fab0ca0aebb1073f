"""Run tasks on this machine: one after the other, or with joblib in threads or processes.

Every task runs with one BLAS and one OpenMP thread. Parallelism comes from ``n_jobs`` alone, so cores are never
over-subscribed, and sums are always computed in the same order: the labels do not depend on the number of cores.

Threads share the data and start at once, but a base method written in Python makes them wait for each other. If there
are many tasks, the first ones measure whether it does. If so, a few more tasks run in processes, and the faster backend
runs the rest.
"""

from __future__ import annotations

import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController

from cohirf.algorithm.engine import SerialEngine
from cohirf.algorithm.repeated_warnings import CollectedWarning, collecting_warnings, issue_again

Function = Callable[..., Any]
Tasks = Iterable[tuple[Any, ...]]

TRIAL_ROUNDS = 4  # tasks per job in a trial
TOO_FEW_FOR_TRIALS = 20  # with fewer tasks per job, there are no trials
PARALLEL_GAIN = 1.3  # threads that keep fewer times as many cores busy as one thread wait for each other
START_SECONDS = 5.0  # time that starting processes may take
CHUNK_SECONDS = 0.05  # how long a job should work before it fetches more tasks


@dataclass(frozen=True)
class LocalEngine:
    """Runs tasks with joblib, and chooses the backend unless the user has chosen one with ``parallel_config``."""

    n_jobs: int | None = None

    @property
    def is_serial(self) -> bool:
        """Whether there is only one job."""
        return bool(effective_n_jobs(self.n_jobs) == 1)

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, and yield the results in order, as they become ready."""
        if self.is_serial or n_tasks == 1:
            return SerialEngine().run(function, tasks, n_tasks)
        if _user_chose_backend() or n_tasks < TOO_FEW_FOR_TRIALS * effective_n_jobs(self.n_jobs):
            return self._in(None, function, tasks)
        return self._in_what_is_faster(function, iter(tasks), n_tasks)

    def _in(self, backend: str | None, function: Function, tasks: Tasks, per_call: int = 1) -> Iterator[Any]:
        """Run tasks in a backend (None: the user's choice), with ``per_call`` tasks in each call."""
        config = get_config()  # of this thread; scikit-learn's own delayed() would disturb warnings of other threads
        here = os.getpid()
        calls = (delayed(_call_on_one_thread)(function, some, config, here) for some in _chunks(tasks, per_call))
        run = partial(Parallel, n_jobs=self.n_jobs, backend=backend, prefer="threads")
        if backend is None and not get_active_backend()[0].supports_return_generator:  # Ray's does not
            return _unpack(run()(calls))
        return _cancelling_quietly(run(return_as="generator")(calls))

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
        """Run tasks in processes and measure them; if they cannot be pickled, run them in threads, unmeasured."""
        try:
            list(self._in("loky", _start, ((task,) for task in tasks)))
            return _measure(self._in("loky", function, tasks))
        except (pickle.PicklingError, TypeError, AttributeError):  # the base method cannot be pickled
            return None, list(self._in("threading", function, tasks))


@dataclass(frozen=True)
class Trial:
    """Cost of some tasks: the average time per task, and the average number of busy cores."""

    seconds_a_task: float
    busy_cores: float


def are_processes_worth_a_trial(alone: Trial, threads: Trial, n_left: int) -> bool:
    """Return whether threads wait for each other, and the remaining tasks take longer than processes take to start."""
    threads_wait = threads.busy_cores < PARALLEL_GAIN * alone.busy_cores
    return threads_wait and threads.seconds_a_task * n_left > START_SECONDS


def choose_backend(threads: Trial, processes: Trial | None) -> tuple[str, Trial]:
    """Return the faster backend and its trial; processes that were not tried are not chosen."""
    if processes is not None and processes.seconds_a_task < threads.seconds_a_task:
        return "loky", processes
    return "threading", threads


def choose_chunk(trial: Trial, n_left: int, n_jobs: int) -> int:
    """Return the number of tasks per call: enough to keep a job busy, and few enough to keep all jobs busy."""
    # a trial with several jobs measures the time between results; a single task takes n_jobs times as long
    wanted = int(CHUNK_SECONDS / (trial.seconds_a_task * n_jobs))
    return max(1, min(wanted, n_left // (4 * n_jobs)))


def _measure(results: Iterator[Any]) -> tuple[Trial, list[Any]]:
    """Consume all results; return their cost, and the results."""
    started, cpu = time.perf_counter(), time.process_time()
    collected = list(results)
    seconds = max(time.perf_counter() - started, 1e-9)
    return Trial(seconds / max(len(collected), 1), (time.process_time() - cpu) / seconds), collected


def _cancelling_quietly(outcomes: Any) -> Iterator[Any]:
    """Yield results; suppress joblib's warning about cancelled tasks if an error makes the consumer stop early."""
    try:
        for result in _unpack(outcomes):  # noqa: UP028 - "yield from" would end before the filter below is set
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"\d+ tasks")
            outcomes.close()


def one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # the search for libraries takes milliseconds, as long as a small batch


def _user_chose_backend() -> bool:
    """Return whether the backend is fixed, as in a ``parallel_config`` context: it then ignores hints."""
    hinted = (type(get_active_backend(prefer=hint)[0]) for hint in ("threads", "processes"))
    return len(set(hinted)) == 1


def _chunks(tasks: Tasks, size: int) -> Iterator[list[tuple[Any, ...]]]:
    tasks = iter(tasks)
    while chunk := list(islice(tasks, size)):
        yield chunk


@dataclass(frozen=True)
class Outcome:
    """Results of some tasks, and the warnings of the base method if they ran in another process."""

    results: list[Any]
    collected: list[CollectedWarning]


def _unpack(outcomes: Iterable[Outcome]) -> Iterator[Any]:
    """Yield the results, and issue the warnings of other processes in this one."""
    for outcome in outcomes:
        issue_again(outcome.collected)
        yield from outcome.results


def _call_on_one_thread(function: Function, tasks: list[tuple[Any, ...]], config: dict[str, Any], pid: int) -> Outcome:
    """Run tasks of the process ``pid``, in that process or another one."""
    # OpenMP limits its threads per calling thread and BLAS per process, so a worker needs the limit, too. The BLAS
    # limits of several workers do not conflict, because the caller has set the same limit before.
    with config_context(**config), one_thread(), _collecting_unless_in(pid) as collected:
        return Outcome([function(*task) for task in tasks], collected)


def _collecting_unless_in(pid: int) -> AbstractContextManager[list[CollectedWarning]]:
    return nullcontext([]) if os.getpid() == pid else collecting_warnings()


def _start(task: Any) -> None:
    """Do nothing with a task: receiving it starts a worker process and its imports."""
    time.sleep(0.1)  # long enough for each of the other processes to receive a task, too
