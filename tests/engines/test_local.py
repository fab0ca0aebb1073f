"""Tasks in threads and processes of this machine."""

import os
import threading

import pytest
from joblib import parallel_config

from cohirf.engines import LocalEngine, local


def square(number):
    return number * number


def where_it_runs(_):
    return os.getpid(), threading.get_ident()


def tasks(n):
    return ((number,) for number in range(n))


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
@pytest.mark.parametrize("n_tasks", [1, 3, 200])
def test_results_come_in_order(n_tasks, n_jobs):
    assert list(LocalEngine(n_jobs).run(square, tasks(n_tasks), n_tasks)) == [i * i for i in range(n_tasks)]


def test_a_single_task_runs_where_it_is_asked_for():
    assert list(LocalEngine(2).run(where_it_runs, tasks(1), 1)) == [(os.getpid(), threading.get_ident())]


def test_several_tasks_run_in_threads():
    places = list(LocalEngine(2).run(where_it_runs, tasks(6), 6))
    assert {process for process, _ in places} == {os.getpid()}
    assert threading.get_ident() not in {thread for _, thread in places}


def test_the_backend_of_a_parallel_config_context_is_used():
    with parallel_config(backend="loky", n_jobs=2):
        places = list(LocalEngine().run(where_it_runs, tasks(100), 100))
    assert os.getpid() not in {process for process, _ in places}


def test_tasks_are_made_as_they_are_needed():
    made = []

    def noted():
        for task in tasks(1000):
            made.append(task)
            yield task

    results = LocalEngine(2).run(square, noted(), 1000)
    for _ in range(3):
        next(results)
    assert len(made) < 500
    assert len(list(results)) == 997


@pytest.fixture
def trials(monkeypatch):
    """Replace what trials measure: one entry for each of them."""
    measured = []

    def of(results):
        seconds_a_task, busy_cores = measured.pop(0)
        return local._Trial(list(results), seconds_a_task, busy_cores)

    monkeypatch.setattr(local._Trial, "of", of)
    return measured


def test_threads_that_run_at_the_same_time_are_kept(trials):
    trials += [(1.0, 1.0), (0.5, 1.9)]
    processes = {process for process, _ in LocalEngine(2).run(where_it_runs, tasks(100), 100)}
    assert processes == {os.getpid()}
    assert trials == []


def test_threads_that_wait_for_each_other_give_way_to_processes_that_are_faster(trials):
    trials += [(1.0, 1.0), (1.0, 1.0), (0.5, 0.0)]
    processes = [process for process, _ in LocalEngine(2).run(where_it_runs, tasks(100), 100)]
    assert processes[:12] == [os.getpid()] * 12
    assert os.getpid() not in processes[12:]


def test_processes_that_are_slower_are_given_up(trials):
    trials += [(1.0, 1.0), (1.0, 1.0), (2.0, 0.0)]
    processes = [process for process, _ in LocalEngine(2).run(where_it_runs, tasks(100), 100)]
    assert os.getpid() not in processes[12:20]
    assert processes[20:] == [os.getpid()] * 80


def test_processes_are_not_started_for_what_is_done_sooner(trials):
    trials += [(0.001, 1.0), (0.001, 1.0)]
    processes = {process for process, _ in LocalEngine(2).run(where_it_runs, tasks(100), 100)}
    assert processes == {os.getpid()}


def test_what_cannot_be_sent_to_processes_runs_in_threads(trials):
    trials += [(1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]
    lock = threading.Lock()
    numbered = ((number, lock) for number in range(100))
    assert list(LocalEngine(2).run(lambda number, _: number, numbered, 100)) == list(range(100))


def test_an_error_of_a_task_comes_through():
    with pytest.raises(ZeroDivisionError):
        list(LocalEngine(2).run(lambda number: 1 // number, tasks(100), 100))


def test_a_backend_that_gives_all_results_at_once_will_do(monkeypatch):
    """Such as Ray's."""
    monkeypatch.setattr("joblib._parallel_backends.ThreadingBackend.supports_return_generator", False)
    with parallel_config(backend="threading", n_jobs=2):
        assert list(LocalEngine().run(square, tasks(5), 5)) == [0, 1, 4, 9, 16]
