"""Tasks in this process, in threads and in other processes of this machine."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
from joblib import parallel_config

from cohirf.engines import LocalEngine, local
from cohirf.engines.local import seconds_saved
from cohirf.rows.storage import ArrayRows, Storage
from cohirf.scratch import ScratchStorage


def square(number):
    return number * number


def where_it_runs(_):
    return os.getpid(), threading.get_ident()


def tasks(n):
    return ((number,) for number in range(n))


@pytest.fixture
def at_once(monkeypatch):
    """Use processes for any number of tasks, and wait until they have started."""
    monkeypatch.setattr(local, "_are_processes_running", lambda _: True)
    monkeypatch.setitem(vars(local.LOCAL), "warm_seconds", 0.0)


def test_short_tasks_run_where_they_are_asked_for():
    places = set(LocalEngine(2).run(where_it_runs, tasks(20), 20))
    assert places == {(os.getpid(), threading.get_ident())}


def test_other_tasks_run_in_processes(at_once):
    first, *others = LocalEngine(2).run(where_it_runs, tasks(20), 20)
    assert first[0] == os.getpid()
    assert os.getpid() not in {process for process, _ in others}


def test_tasks_that_cannot_be_sent_run_in_threads(at_once):
    lock = threading.Lock()
    calls = [(number, lock) for number in range(5)]
    first, *others = LocalEngine(2).run(lambda _, __: where_it_runs(None), calls, 5)
    assert {process for process, _ in (first, *others)} == {os.getpid()}
    assert threading.get_ident() not in {thread for _, thread in others}


@pytest.mark.parametrize(
    ("n_bytes", "here"), [(local.LOCAL.start_bytes - 1, True), (local.LOCAL.start_bytes, False)]
)
def test_tasks_with_much_data_are_not_tried_here_first(n_bytes, here, monkeypatch):
    monkeypatch.setitem(vars(local.LOCAL), "warm_bytes", local.LOCAL.start_bytes)
    calls = [(SimpleNamespace(n_bytes=n_bytes),) for _ in range(4)]
    assert {
        process == os.getpid() for process, _ in LocalEngine(2).run(where_it_runs, calls, 4)
    } == {here}


def test_the_backend_of_a_parallel_config_context_is_used():
    with parallel_config(backend="threading", n_jobs=2):
        places = list(LocalEngine().run(where_it_runs, tasks(100), 100))
    assert {process for process, _ in places} == {os.getpid()}
    assert threading.get_ident() not in {thread for _, thread in places}


def sleep(_):
    time.sleep(0.01)


# A generator that is closed, and an error, end the processes; starting new ones takes seconds.
@pytest.mark.parametrize("where", ["threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_tasks_are_made_as_they_are_needed(where, at_once):
    made = []

    def noted():
        for task in tasks(1000):
            made.append(task)
            yield task

    with parallel_config(backend="threading") if where == "threads" else nullcontext():
        results = LocalEngine(2).run(sleep, noted(), 1000)
        for _ in range(3):
            next(results)
        assert len(made) < 500
        results.close()


@pytest.mark.parametrize(
    ("seconds_a_task", "n_tasks", "expected"),
    [
        pytest.param(1.0, 1, 0.0, id="a single task"),
        pytest.param(1.0, 2, 1.0, id="two tasks in the time of one"),
        pytest.param(1.0, 3, 1.0, id="two rounds"),
        pytest.param(0.5, 100, 25.0, id="many tasks"),
    ],
)
def test_processes_save_the_time_of_the_tasks_that_run_at_the_same_time(
    seconds_a_task, n_tasks, expected
):
    assert seconds_saved(seconds_a_task, n_tasks, n_jobs=2) == expected


def divide(number):
    return 1 // number


# -1: of a process, which ends all
@pytest.mark.parametrize("start", [0, pytest.param(-1, marks=pytest.mark.slow)])
def test_an_error_of_a_task_comes_through(start, at_once):
    with pytest.raises(ZeroDivisionError):
        list(LocalEngine(2).run(divide, ((number,) for number in range(start, 100)), 100))


def fit_in_fork(connection):
    connection.send(list(LocalEngine(2).run(where_it_runs, tasks(4), 4)))


def end_while_processes_start():
    vars(local.LOCAL).update(start_seconds=0, start_bytes=0)
    assert list(LocalEngine(2).run(square, tasks(4), 4)) == [0, 1, 4, 9]


def end_while_processes_wait():
    local._are_processes_running = lambda _: True
    vars(local.LOCAL)["warm_seconds"] = 0
    assert {process for process, _ in LocalEngine(2).run(where_it_runs, tasks(4), 4)} != {
        os.getpid()
    }


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_the_processes_of_its_parent(at_once):
    assert len(list(LocalEngine(2).run(square, tasks(4), 4))) == 4
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=fit_in_fork, args=(there,))
    child.start()
    assert here.poll(60)
    assert {process for process, _ in here.recv()} == {child.pid}
    child.join()


@pytest.mark.slow
@pytest.mark.parametrize("run", [end_while_processes_start, end_while_processes_wait])
def test_a_process_of_multiprocessing_ends_soon_after_its_work(run):
    child = multiprocessing.get_context("spawn").Process(target=run)
    child.start()
    child.join(60)  # joblib's processes end by themselves after 300 idle seconds
    try:
        assert child.exitcode == 0
    finally:
        child.kill()


def test_a_backend_that_gives_all_results_at_once_will_do(monkeypatch):
    """Such as Ray's."""
    monkeypatch.setattr(
        "joblib._parallel_backends.ThreadingBackend.supports_return_generator", False
    )
    with parallel_config(backend="threading", n_jobs=2):
        assert list(LocalEngine().run(square, tasks(5), 5)) == [0, 1, 4, 9, 16]


def write_sum(rows, out, number):
    out[number] = rows.take(np.array([number, number + 1])).sum()


@pytest.mark.parametrize("n_features", [3, 50_000])
@pytest.mark.parametrize("mapped", [False, True])
def test_processes_read_shared_rows_and_write_to_shared_vectors(
    n_features, mapped, at_once, tmp_path
):
    X = np.arange(10.0 * n_features).reshape(10, n_features)
    if mapped:
        X.tofile(tmp_path / "rows")
        X = np.memmap(tmp_path / "rows", dtype=X.dtype, mode="c", shape=X.shape)
        X[5] = 7.0  # in memory only
    engine = LocalEngine(2)
    out = ScratchStorage().vector(9, np.float64)
    rows = engine.share(ArrayRows(X))
    assert engine.writes_here
    assert (
        list(engine.run(write_sum, ((rows, out, number) for number in range(9)), 9)) == [None] * 9
    )
    assert out.tolist() == (X.sum(axis=1)[:-1] + X.sum(axis=1)[1:]).tolist()


def test_one_job_shares_nothing():
    rows = ArrayRows(np.zeros((3, 2)))
    assert LocalEngine(1).share(rows) is rows
    assert not Storage().is_shared


def die(number):
    if number:
        os.kill(os.getpid(), 9)


# the last test of those that share processes: the next one would have to start new ones
def test_a_killed_process_is_named(at_once):
    with pytest.raises(
        RuntimeError, match=r"A worker process was killed, .* lower n_jobs or batch_size"
    ):
        list(LocalEngine(2).run(die, tasks(10), 10))


PARENT = """
import os, sys, time
from cohirf.engines import LocalEngine, local
local._are_processes_running = lambda _: True
vars(local.LOCAL)["warm_seconds"] = 0.0
def task(number):
    if number:
        print(os.getpid(), flush=True)
        time.sleep(600)
if __name__ == "__main__":
    list(LocalEngine(2).run(task, ((number,) for number in range(3)), 3))
"""


def loky_workers(pid):
    children = psutil.Process(pid).children()
    return [child for child in children if any("popen_loky" in word for word in child.cmdline())]


@pytest.mark.slow
def test_processes_end_if_their_parent_was_killed_while_they_started(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.DEVNULL) as parent:
        while not (children := loky_workers(parent.pid)):
            assert parent.poll() is None
            time.sleep(0.05)
        parent.kill()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


@pytest.mark.slow
def test_processes_end_after_their_parent_was_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        children = [int(parent.stdout.readline()) for _ in range(2)]
        parent.kill()
    _, alive = psutil.wait_procs(
        [psutil.Process(pid) for pid in children if psutil.pid_exists(pid)], timeout=30
    )
    assert not alive


class OddError(Exception):
    """An error that cannot be unpickled."""

    def __init__(self, left, right):
        super().__init__(f"{left} and {right}")


def raise_odd_error(number):
    if number > 20:
        raise OddError("this", "that")


def test_an_error_that_cannot_be_sent_is_replaced_by_one_with_its_text():
    class LocalError(Exception):
        """An error whose class no other process finds."""

    of_another_process = os.getpid() + 1
    with (
        pytest.raises(RuntimeError, match="LocalError: here"),
        local._sending_errors(of_another_process),
    ):
        raise LocalError("here")
    with pytest.raises(LocalError), local._sending_errors(os.getpid()):
        raise LocalError("here")
    with pytest.raises(ZeroDivisionError), local._sending_errors(of_another_process):
        divide(0)


@pytest.mark.slow
def test_an_error_that_cannot_be_sent_keeps_its_text(at_once):
    with pytest.raises(RuntimeError, match="OddError: this and that"):
        list(LocalEngine(2).run(raise_odd_error, tasks(50), 50))


class OnFullDisk:
    """Rows that cannot be written to a file that processes share."""

    def __reduce__(self):
        raise OSError(28, "No space left on device", "rows")


def test_what_keeps_a_task_from_a_process_is_named(at_once):
    given = [(0,), (1,), (OnFullDisk(),), (2,)]
    with pytest.raises(
        RuntimeError, match=r"cannot be sent to another process: OSError: .*No space left on device"
    ):
        list(LocalEngine(2).run(where_it_runs, iter(given), len(given)))
