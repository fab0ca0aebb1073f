"""Run tasks on this machine: one after the other, or with joblib in processes or threads.

Every task runs with one BLAS and one OpenMP thread. Parallelism comes from ``n_jobs`` alone, so
cores are never over-subscribed, and sums are always computed in the same order: the labels do not
depend on the number of cores.

Threads of one process wait for each other: for the interpreter, and for the memory that they share.
So processes are the rule. Starting them takes time, so the first tasks run in this process, until
it is clear that the others take long enough; tasks with much data are clear from the beginning.
Tasks that cannot be sent to another process, for instance because of a base method with an open
file, run in threads. In a ``joblib.parallel_config`` context, its backend runs all tasks.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from multiprocessing.util import Finalize
from pickle import PicklingError
from traceback import format_exception
from typing import Any, ClassVar

import psutil
from joblib import Parallel, delayed, effective_n_jobs
from joblib._parallel_backends import (
    LokyBackend,
    MultiprocessingBackend,
    SequentialBackend,
    ThreadingBackend,
)
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.backend.reduction import dumps
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from sklearn import get_config

from cohirf.engines.policy import LOCAL
from cohirf.engines.tasks import (
    Function,
    Task,
    Tasks,
    begin_thread,
    call_on_one_thread,
    one_thread,
)
from cohirf.error_contexts import (
    CollectedWarning,
    collecting_warnings,
    issue_again,
    replacing_errors,
)
from cohirf.rows.storage import Engine, SerialEngine
from cohirf.rows.threads import count_threads, map_in_groups, on_threads
from cohirf.scratch import share_rows


@dataclass(frozen=True)
class LocalEngine(Engine):
    """Runs tasks with joblib, in processes or threads, unless the user has chosen with
    ``parallel_config``.
    """

    n_jobs: int | None = None

    @property
    def is_serial(self) -> bool:
        """Whether there is only one job."""
        return count_jobs(self.n_jobs) == 1

    @property
    def writes_here(self) -> bool:
        """Whether tasks run on this machine; the user may have chosen a backend of another one."""
        return _is_backend_local()

    def share(self, rows: Any) -> Any:
        """Return rows that processes of this machine read from a file, which is written when they
        are first sent.
        """
        if self.is_serial or not self.writes_here:
            return rows
        return share_rows(rows)

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, and yield the results in order, as they
        become ready.
        """
        if self.is_serial or n_tasks == 1:
            return SerialEngine().run(function, tasks, n_tasks)
        if _user_chose_backend():
            return _results_of(_start(None, self.n_jobs, _calls(function, tasks)))
        return self._in_processes_if_worth_it(function, iter(tasks), n_tasks)

    def _in_processes_if_worth_it(
        self, function: Function, tasks: Iterator[Task], n_tasks: int
    ) -> Iterator[Any]:
        """Run tasks here until it is clear that processes save time.

        Then run the others in processes.
        """
        n_jobs = count_jobs(self.n_jobs)
        are_running = _are_processes_running(n_jobs)
        seconds_to_save, long_bytes = (
            (LOCAL.warm_seconds, LOCAL.warm_bytes)
            if are_running
            else (LOCAL.start_seconds, LOCAL.start_bytes)
        )
        first = next(tasks)
        n_left = n_tasks
        tasks = chain([first], tasks)
        if getattr(first[0], "n_bytes", 0) >= long_bytes:
            seconds = math.inf
        else:
            seconds = 0.0
        while n_left and seconds_saved(seconds, n_left, n_jobs) <= seconds_to_save:
            started = time.perf_counter()
            result = function(*next(tasks))
            seconds = time.perf_counter() - started
            n_left = n_left - 1
            yield result
        if n_left:
            yield from _in_processes(function, tasks, n_jobs)


@dataclass(frozen=True)
class ThreadEngine(Engine):
    """Runs tasks that divide their own rows in the threads of a fit, which do both."""

    writes_here: ClassVar[bool] = True

    @property
    def is_serial(self) -> bool:
        """Whether there is only one thread, as in another process."""
        return count_threads() == 1

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, and yield the results in order."""
        return map_in_groups(lambda task: function(*task), tasks)


def _is_backend_local() -> bool:
    """Return whether the backend of joblib, which the user may have chosen, runs tasks here."""
    # exactly these classes: backends of clusters, such as Ray's, may be subclasses
    local = (SequentialBackend, ThreadingBackend, LokyBackend, MultiprocessingBackend)
    return type(get_active_backend()[0]) in local


def count_jobs(n_jobs: int | None) -> int:
    """Return how many tasks run at the same time on this machine."""
    return int(effective_n_jobs(n_jobs))


def seconds_saved(seconds_a_task: float, n_tasks: int, n_jobs: int) -> float:
    """Return the time that ``n_jobs`` processes save on ``n_tasks`` tasks."""
    n_rounds = -(-n_tasks // n_jobs)
    return seconds_a_task * (n_tasks - n_rounds)


def _in_processes(function: Function, tasks: Iterator[Task], n_jobs: int) -> Iterator[Any]:
    """Run tasks in processes; in threads, if they cannot be sent to processes."""
    first = next(tasks)
    if _runs_elsewhere(function, first):
        backend: ProcessBackend | str = ProcessBackend()
    else:
        backend = "threading"
    try:
        yield from _results_of(_start(backend, n_jobs, _calls(function, chain([first], tasks))))
    except TerminatedWorkerError as error:
        raise RuntimeError(
            "A worker process was killed, perhaps because of too little memory: lower n_jobs or "
            "batch_size. With checkpoint=, the fit continues where it stopped. "
            f"({str(error).partition(os.linesep)[0]})"
        ) from error
    except PicklingError as error:
        # such as a full disk, when rows are written to files that processes share: joblib has the
        # text of the error
        reason = str(error.__cause__ or error).strip('\n"').rpartition("\n")[2]
        raise RuntimeError(f"A task cannot be sent to another process: {reason}") from error
    except BrokenProcessPool as error:
        raise RuntimeError(
            "A worker process cannot import what the fit consists of, such as the class of the "
            "base method: put it into a module that can be imported, or fit in a context "
            'joblib.parallel_config(backend="threading").'
        ) from error
    if backend != "threading":
        _last_used.clear()  # joblib has one set of processes at a time
        _last_used[n_jobs] = time.monotonic()


class ProcessBackend(LokyBackend):
    """joblib's processes; each watches this process from its start, not only from its first
    task.
    """

    def configure(self, *arguments: Any, **options: Any) -> int:
        """Start the processes, or take those that run already; return their number."""
        _end_processes_at_exit()
        watch = {"initializer": _end_with_parent, "initargs": (os.getpid(),)}
        return int(super().configure(*arguments, **options, **watch))


@cache
def _end_processes_at_exit() -> None:
    """Let a process of multiprocessing end at once: it waits for its children, and joblib's stay
    for five minutes.
    """
    if multiprocessing.parent_process() is not None:
        Finalize(
            None,
            lambda: get_reusable_executor(reuse=True).shutdown(kill_workers=True),
            exitpriority=0,
        )


def _start(backend: LokyBackend | str | None, n_jobs: int | None, calls: Iterable[Any]) -> Any:
    """Start calls in a backend (None: the user's choice).

    Return a generator of their outcomes, in order.
    """
    run = partial(Parallel, n_jobs=n_jobs, backend=backend, prefer="threads", max_nbytes=None)
    if backend is None and not get_active_backend()[0].supports_return_generator:  # Ray's does not
        return run()(calls)
    return run(return_as="generator")(calls)


def _calls(function: Function, tasks: Tasks) -> Iterator[Any]:
    here = os.getpid()
    config = get_config()
    for task in tasks:
        yield delayed(_call_and_collect)(function, task, config, here)


def _runs_elsewhere(function: Function, task: Task) -> bool:
    """Return whether a task can be pickled; its first argument holds the data, which always can."""
    if _forked:
        return False
    try:
        dumps((function, task[1:]))
    except Exception:  # whatever the base method, or a callable of the user, raises
        return False
    return True


def _results_of(outcomes: Any) -> Iterator[Any]:
    """Yield the results, and issue the warnings of other processes in this one."""
    try:
        for result, collected in outcomes:
            issue_again(collected)
            yield result
    finally:
        # stop what is still running, without joblib's warning about cancelled tasks
        if hasattr(outcomes, "close"):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=r"\d+ tasks")
                outcomes.close()


_last_used: dict[int, float] = {}  # by number of processes: when joblib's processes were last used
_forked: list[
    int
] = []  # not empty in a forked process, in which the processes of its parent would never answer

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _forked.append(os.getpid()))


def _are_processes_running(n_jobs: int) -> bool:
    return time.monotonic() - _last_used.get(n_jobs, -LOCAL.idle_seconds) < LOCAL.idle_seconds


@contextmanager
def threads_of_fit(n_jobs: int | None) -> Iterator[None]:
    """Give a fit ``n_jobs`` threads for blocks of rows, each with one thread of BLAS and OpenMP."""
    n_threads = count_jobs(n_jobs) if _is_backend_local() else 1
    with one_thread(), on_threads(n_threads, partial(begin_thread, get_config())):
        yield


def _user_chose_backend() -> bool:
    """Return whether the backend is fixed, as in a ``parallel_config`` context: it then ignores
    hints.
    """
    hinted = (type(get_active_backend(prefer=hint)[0]) for hint in ("threads", "processes"))
    return len(set(hinted)) == 1


def _call_and_collect(
    function: Function, task: Task, config: dict[str, Any], pid: int
) -> tuple[Any, Any]:
    """Run a task of the process ``pid``, in that process or another one, whose warnings are part of
    the outcome.
    """
    with _collecting_unless_in(pid) as collected, _sending_errors(pid):
        return call_on_one_thread(function, config, *task), collected


@replacing_errors
def _sending_errors(pid: int) -> Iterator[None]:
    """Replace an error that cannot be sent to the process ``pid`` by one with the same text."""
    try:
        yield
    except Exception as error:
        if os.getpid() == pid or _survives_pickling(error):
            raise
        raise RuntimeError("".join(format_exception(error))) from None


def _survives_pickling(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # such as a TypeError, if its arguments are not those of its constructor
        return False
    return True


def _collecting_unless_in(pid: int) -> AbstractContextManager[list[CollectedWarning]]:
    if os.getpid() == pid:
        return nullcontext([])
    if os.getppid() == pid:  # not on another machine
        _end_with_parent(pid)
    return collecting_warnings()


@cache
def _end_with_parent(pid: int) -> None:
    """End this process soon after the process ``pid`` has ended, even if that was killed."""
    threading.Thread(target=_wait_for_end_of, args=(pid,), daemon=True).start()


def _wait_for_end_of(pid: int) -> None:
    with suppress(psutil.NoSuchProcess):  # it has ended before, or between two looks
        process = psutil.Process(pid)
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(LOCAL.watch_seconds)
    os._exit(1)
