"""What every engine does: one table of engines, and one contract for all of them.

A new engine gets an entry in ``ENGINES``.
"""

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import config_context, get_config
from threadpoolctl import threadpool_info, threadpool_limits

from cohirf.algorithm.batches import Run
from cohirf.algorithm.runs import ContractedRun, RunTask
from cohirf.engines import (
    LocalEngine,
    StreamingEngine,
    ThreadEngine,
    engine_at_rows,
    engine_of_sent_rows,
    local,
)
from cohirf.engines.policy import DASK
from cohirf.engines.tasks import begin_thread, one_thread
from cohirf.rows.storage import ArrayRows, Engine, EngineAround, SerialEngine
from cohirf.rows.threads import on_threads

X = np.arange(1000.0)[:, None]


@contextmanager
def serial() -> Iterator[Engine]:
    yield SerialEngine()


@contextmanager
def threads_of_a_fit() -> Iterator[Engine]:
    with on_threads(2, partial(begin_thread, get_config())):
        yield ThreadEngine()


@contextmanager
def tried_here() -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("start_seconds", "warm_seconds"):  # however slow the machine is now
            patch.setitem(vars(local.LOCAL), name, np.inf)
        yield LocalEngine(2)


@contextmanager
def threads_of_joblib() -> Iterator[Engine]:
    with parallel_config(backend="threading"):
        yield LocalEngine(2)


@contextmanager
def processes() -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_are_processes_running", lambda _: True)
        patch.setitem(vars(local.LOCAL), "warm_seconds", 0.0)
        yield LocalEngine(2)


class SentHere:
    """Rows for a device that is this process, so that torch is not needed."""

    def __init__(self, task, device):
        self._values = task.values

    def send(self, task):
        return self._values.take(np.array([task.run.start])), []

    def close(self):
        """No thread has begun."""


@contextmanager
def streaming() -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("cohirf.engines.streaming.Sender", SentHere)
        yield StreamingEngine("a device")


@contextmanager
def cluster() -> Iterator[Engine]:
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        distributed.LocalCluster(n_workers=2, protocol="tcp", **options) as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield engine_of_sent_rows(None, client)


class OfAnyResult(EngineAround):
    """The engine at the rows, whose results are contracted runs, with other results."""

    def run(self, function, tasks, n_tasks):
        return (
            outcome.survivors
            for outcome in self.engine.run(partial(as_run, function), tasks, n_tasks)
        )


def as_run(function, *task):
    return ContractedRun(function(*task))


@contextmanager
def at_rows() -> Iterator[Engine]:
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array").from_array(X, chunks=(100, 1))
    with dask.config.set(scheduler="threads"):
        yield OfAnyResult(engine_at_rows(array))


@dataclass(frozen=True)
class Kind:
    """An engine, and how far it goes."""

    open: Callable[[], AbstractContextManager[Engine]]
    n_ahead: int = 0  # tasks that are made, at most, beside those whose results are consumed
    runs_here: bool = True  # in this process, where a test sees what it does
    # joblib makes tasks as others end, whether or not results are consumed, does not wait for its
    # threads, and keeps an error of theirs until garbage is collected
    is_joblib: bool = False
    # tasks go to the rows, a single one, too; they are small, and all are made at once
    goes_to_rows: bool = False


ENGINES = {
    "serial": Kind(serial),
    "threads of a fit": Kind(threads_of_a_fit, n_ahead=2),
    "tried here": Kind(tried_here, n_ahead=1),
    "threads of joblib": Kind(threads_of_joblib, is_joblib=True),
    "processes": Kind(processes, runs_here=False, is_joblib=True),
    "streaming": Kind(streaming, n_ahead=3),
    # bundles of tasks: two for each thread, and one more
    "cluster": Kind(cluster, n_ahead=5 * 1000 // (DASK.calls_per_thread * 2), runs_here=False),
    "at rows": Kind(at_rows, runs_here=False, goes_to_rows=True),
}


def of_each(keeps: Callable[[Kind], bool] = lambda kind: True) -> Any:
    """Return a mark: a test is for each engine of which this holds."""
    kinds = [pytest.param(kind, id=name) for name, kind in ENGINES.items() if keeps(kind)]
    return pytest.mark.parametrize("kind", kinds)


of_each_own = of_each(lambda kind: kind.runs_here and not kind.is_joblib)


def tasks(n: int, values: Any = None) -> Iterator[tuple[Any, ...]]:
    """Make tasks; the number of each is that of its only row."""
    values = ArrayRows(X) if values is None else values
    for number in range(n):
        run = Run(np.array([0, 1]), np.empty(0, np.int64), 0, number)
        yield (RunTask(run, 1, values),)


def square(task):
    return task.run.start**2


@of_each()
@pytest.mark.parametrize("n_tasks", [1, 2, 3, 200])
def test_results_come_in_order(kind, n_tasks):
    with kind.open() as engine:
        found = list(engine.run(square, tasks(n_tasks), n_tasks))
    assert found == [number**2 for number in range(n_tasks)]


@of_each(lambda kind: not kind.goes_to_rows)
def test_a_single_task_runs_where_it_is_asked_for(kind):
    with kind.open() as engine:
        (found,) = engine.run(lambda task: threading.get_ident(), tasks(1), 1)
    assert found == threading.get_ident()


@of_each(lambda kind: not (kind.is_joblib or kind.goes_to_rows))
def test_tasks_are_made_as_they_are_needed(kind):
    made = []

    def noted():
        for task in tasks(1000):
            made.append(task)
            yield task

    with kind.open() as engine:
        results = engine.run(square, noted(), 1000)
        for n_consumed in range(1, 4):
            next(results)
            assert len(made) <= n_consumed + kind.n_ahead


@of_each()
def test_a_task_has_the_configuration_of_the_caller_and_one_thread(kind):
    def look(task):
        n_threads = {library["num_threads"] for library in threadpool_info()}
        return get_config()["working_memory"], n_threads

    with threadpool_limits(2), config_context(working_memory=77), ExitStack() as stack:
        stack.enter_context(one_thread())  # as a fit does
        engine = stack.enter_context(kind.open())
        assert list(engine.run(look, tasks(9), 9)) == [(77, {1})] * 9


@of_each()
def test_an_error_of_a_task_comes_through(kind):
    def divide(task):
        return 1 // (5 - task.run.start)

    with kind.open() as engine, pytest.raises(ZeroDivisionError):
        list(engine.run(divide, tasks(100), 100))


@of_each_own
@pytest.mark.parametrize("end", ["closed", "failed"])
def test_at_the_end_no_task_begins_and_those_that_have_begun_are_waited_for(kind, end):
    begun = []
    ended = []

    def note(task):
        begun.append(task.run.start)
        if task.run.start == 5 and end == "failed":
            raise ZeroDivisionError
        if task.run.start > 0:
            time.sleep(0.05)
        ended.append(task.run.start)

    with kind.open() as engine:
        results = engine.run(note, tasks(100), 100)
        next(results)
        if end == "closed":
            del results  # which closes it, if it is a generator
        else:
            with pytest.raises(ZeroDivisionError):
                list(results)
    n_ended = len(ended)
    assert len(begun) - n_ended == (end == "failed")
    assert len(begun) < 10
    time.sleep(0.2)
    assert len(ended) == n_ended


@of_each_own
def test_an_error_keeps_no_rows_in_memory(kind):
    def fail(task):
        raise ZeroDivisionError

    def run(engine):
        rows = ArrayRows(X.copy())
        with pytest.raises(ZeroDivisionError):
            list(engine.run(fail, tasks(9, rows), 9))
        return weakref.ref(rows)

    with kind.open() as engine:
        assert run(engine)() is None  # garbage is not collected during tests
