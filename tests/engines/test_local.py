"""Tasks in threads and processes of this machine."""

import os
import threading

import pytest
from joblib import parallel_config

from cohirf.engines import LocalEngine
from cohirf.engines.local import Trial, are_processes_worth_a_trial, choose_backend, choose_chunk


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


ALONE = Trial(seconds_a_task=1.0, busy_cores=1.0)
WAITING = Trial(seconds_a_task=1.0, busy_cores=1.0)  # threads that get no further than one of them


@pytest.mark.parametrize(
    ("threads", "n_left", "expected"),
    [
        pytest.param(WAITING, 100, True, id="threads that wait for each other"),
        pytest.param(Trial(1.0, 1.29), 100, True, id="threads that hardly run at the same time"),
        pytest.param(Trial(0.5, 1.31), 100, False, id="threads that run at the same time"),
        pytest.param(WAITING, 5, False, id="done before processes have started"),
        pytest.param(WAITING, 6, True, id="done just after processes have started"),
        pytest.param(Trial(0.001, 1.0), 100, False, id="short tasks"),
    ],
)
def test_processes_are_tried_where_threads_wait_for_each_other_and_much_is_left(threads, n_left, expected):
    assert are_processes_worth_a_trial(ALONE, threads, n_left) is expected


def test_the_faster_backend_is_chosen():
    faster, slower = Trial(0.5, 0.0), Trial(2.0, 0.0)
    assert choose_backend(WAITING, faster) == ("loky", faster)
    assert choose_backend(WAITING, slower) == ("threading", WAITING)
    assert choose_backend(WAITING, None) == ("threading", WAITING)


@pytest.mark.parametrize(
    ("seconds_a_task", "n_left", "expected"),
    [
        pytest.param(0.001, 1000, 25, id="25 tasks keep one of two jobs busy for 0.05 s"),
        pytest.param(0.001, 80, 10, id="each of two jobs gets four chunks of what is left"),
        pytest.param(1.0, 1000, 1, id="long tasks"),
        pytest.param(0.001, 0, 1, id="nothing left"),
        pytest.param(1e-9, 10**9, 25_000_000, id="tasks that take no time"),
    ],
)
def test_chunks_are_long_enough_for_a_job_and_leave_some_for_the_others(seconds_a_task, n_left, expected):
    assert choose_chunk(Trial(seconds_a_task, 1.0), n_left, n_jobs=2) == expected


def test_a_trial_in_processes_runs_in_processes():
    trial, places = LocalEngine(2)._try_processes(where_it_runs, list(tasks(4)))
    assert len(places) == 4
    assert os.getpid() not in {process for process, _ in places}
    assert trial.seconds_a_task > 0


def test_a_trial_of_what_cannot_be_sent_to_processes_runs_in_threads():
    lock = threading.Lock()
    trial, results = LocalEngine(2)._try_processes(lambda number, _: number, [(number, lock) for number in range(4)])
    assert trial is None
    assert results == [0, 1, 2, 3]


def test_an_error_of_a_task_comes_through():
    with pytest.raises(ZeroDivisionError):
        list(LocalEngine(2).run(lambda number: 1 // number, tasks(100), 100))


def test_a_backend_that_gives_all_results_at_once_will_do(monkeypatch):
    """Such as Ray's."""
    monkeypatch.setattr("joblib._parallel_backends.ThreadingBackend.supports_return_generator", False)
    with parallel_config(backend="threading", n_jobs=2):
        assert list(LocalEngine().run(square, tasks(5), 5)) == [0, 1, 4, 9, 16]
