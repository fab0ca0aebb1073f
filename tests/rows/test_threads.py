"""Blocks of rows on several threads: the same results in the same order, on no more threads."""

import os
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from cohirf import CoHiRF
from cohirf.engines import local
from cohirf.error_contexts import ignoring_warnings
from cohirf.rows.grouping import best_by_label, compress, count_by_label, first_rows
from cohirf.rows.policy import BlockPolicy
from cohirf.rows.threads import (
    count_threads,
    map_blocks,
    map_in_groups,
    map_in_threads,
    on_threads,
    sum_blocks,
)


def test_results_are_in_the_order_of_the_tasks():
    def wait_and_return(number):
        time.sleep(0.002 * (10 - number))
        return number

    with on_threads(4):
        assert map_in_threads(wait_and_return, range(10)) == list(range(10))
        assert list(map_in_groups(wait_and_return, range(10))) == list(range(10))


def test_without_threads_everything_runs_here():
    here = threading.get_ident()
    assert count_threads() == 1
    assert set(map_in_threads(lambda _: threading.get_ident(), range(5))) == {here}
    with on_threads(1):
        assert set(map_in_threads(lambda _: threading.get_ident(), range(5))) == {here}


def test_tasks_of_tasks_run_on_the_same_threads():
    running = []
    most = []
    lock = threading.Lock()

    def compute(_):
        with lock:
            running.append(threading.get_ident())
            most.append(len(running))
        time.sleep(0.005)
        with lock:
            running.remove(threading.get_ident())
        return threading.get_ident()

    with on_threads(3):
        found = map_in_threads(lambda _: map_in_threads(compute, range(6)), range(4))
    assert max(most) == 3
    assert len({thread for inner in found for thread in inner}) == 3
    assert all(len(inner) == 6 for inner in found)


def test_idle_threads_help_with_the_last_task():
    with on_threads(2):
        (found,) = map_in_groups(
            lambda _: map_in_threads(
                lambda _: (time.sleep(0.01), threading.get_ident())[1], range(8)
            ),
            range(1),
        )
        assert len(set(found)) == 2


def test_the_error_of_the_first_task_that_fails_comes_out():
    begun = []

    def fail(number):
        begun.append(number)
        time.sleep(0.005)
        if number in {1, 2}:
            raise ValueError(f"task {number}")

    with on_threads(4), pytest.raises(ValueError, match="task 1"):
        map_in_threads(fail, range(100))
    assert len(begun) < 20  # the others do not begin
    with on_threads(3), pytest.raises(ValueError, match="task 1"):
        map_in_threads(lambda _: map_in_threads(fail, range(4)), range(3))


def test_other_threads_compute_alone():
    found = []
    with on_threads(3):
        other = threading.Thread(target=lambda: found.append(count_threads()))
        other.start()
        other.join()
        assert count_threads() == 3
    assert found == [1]
    assert count_threads() == 1


def test_threads_end_with_the_context():
    before = threading.active_count()
    with on_threads(4):
        map_in_threads(lambda _: time.sleep(0.001), range(8))
        assert threading.active_count() > before
    assert threading.active_count() == before


def test_groups_are_not_all_in_memory():
    block = np.zeros(100_000)
    tracemalloc.start()
    with on_threads(2):
        total = sum(float(array.sum()) for array in map_in_groups(lambda _: block + 1, range(50)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total == 50 * len(block)
    assert peak < 8 * block.nbytes


@pytest.mark.parametrize("n_threads", [2, 5])
def test_sums_do_not_depend_on_the_number_of_threads(n_threads):
    values = np.random.default_rng(0).normal(size=200_000)

    def add(block):
        return values[block].sum(keepdims=True)

    alone = sum_blocks(add, len(values))
    with on_threads(n_threads):
        assert sum_blocks(add, len(values)) == alone
        assert map_blocks(lambda block: block.stop, 10, 4) == [4, 8, 10]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_rare_labels_behind_many_rows_are_counted_and_found(n_threads):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, size=200_000).astype(np.int32)
    labels[[150_000, 160_000, 199_999]] = [5, 6, 5]
    scores = rng.integers(0, 50, size=len(labels)) / 10
    highest = [scores[labels == label].max() for label in range(7)]
    with on_threads(n_threads):
        assert first_rows(labels, 7).tolist() == [np.argmax(labels == i) for i in range(7)]
        assert count_by_label(labels, 7).tolist() == np.bincount(labels).tolist()
        best = best_by_label(scores, labels, 7, tie=0)
        np.testing.assert_array_equal(compress(labels, 8)[1], labels)
    assert scores[best].tolist() == highest
    assert best.tolist() == [
        np.flatnonzero((labels == label) & (scores == most))[0]
        for label, most in enumerate(highest)
    ]


def test_large_sums_are_not_in_memory_together():
    n_rows = 400_000
    with on_threads(2):
        tracemalloc.start()
        total = sum_blocks(lambda _: np.ones(300_000), n_rows, fewest_rows=30_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert total[0] == -(-n_rows // BlockPolicy().thread_rows)
    assert peak < 5 * total.nbytes


def test_a_category_is_ignored_until_the_last_thread_leaves():
    first_is_inside = threading.Event()
    second_is_inside = threading.Event()

    def enter_first():
        with ignoring_warnings(ConvergenceWarning):
            first_is_inside.set()
            second_is_inside.wait(5)

    thread = threading.Thread(target=enter_first)
    filters = list(warnings.filters)
    thread.start()
    first_is_inside.wait(5)
    with ignoring_warnings(ConvergenceWarning):
        second_is_inside.set()
        thread.join()
        warnings.warn("nobody sees this", ConvergenceWarning, stacklevel=1)
    assert warnings.filters == filters
    with pytest.warns(ConvergenceWarning):
        warnings.warn("this is seen", ConvergenceWarning, stacklevel=1)


# ---- fits


def make_rows(dtype):
    X, _ = make_blobs(2_000, 6, centers=7, cluster_std=2.0, random_state=0)
    return X.astype(dtype)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 256 rows, so that few rows are many blocks."""
    monkeypatch.setattr("cohirf.rows.threads.BLOCK", BlockPolicy(thread_rows=256))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parameters", [{"n_clusters": 7}, {}, {"n_clusters": 7, "views": 3}])
def test_fits_do_not_depend_on_the_number_of_threads(dtype, parameters):
    X = make_rows(dtype)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    for weight in (None, weights):
        alone = CoHiRF(**parameters, random_state=0).fit(X, sample_weight=weight)
        for n_jobs in (2, 5):
            model = CoHiRF(**parameters, random_state=0, n_jobs=n_jobs).fit(X, sample_weight=weight)
            np.testing.assert_array_equal(model.labels_, alone.labels_)
            np.testing.assert_array_equal(model.medoid_indices_, alone.medoid_indices_)
            np.testing.assert_array_equal(model.medoids_, alone.medoids_)
            np.testing.assert_array_equal(model.stability_, alone.stability_)


@pytest.mark.usefixtures("small_blocks")
def test_threads_of_a_fit_use_one_thread_of_blas_and_openmp(monkeypatch):
    found = []
    begin = local.begin_thread

    def look(config):
        threadpool_limits(2, user_api="openmp")  # of this thread; that of BLAS is of the process
        begin(config)
        found.extend(library["num_threads"] for library in threadpool_info())

    monkeypatch.setattr(local, "begin_thread", look)
    with threadpool_limits(2):
        CoHiRF(n_clusters=7, random_state=0, n_jobs=3).fit(make_rows(np.float64))
    assert set(found) == {1}


@pytest.mark.usefixtures("small_blocks")
def test_an_error_in_a_thread_comes_out_of_the_fit(monkeypatch):
    from cohirf.landmarks import NearestLabel

    def fail(self, X):
        raise MemoryError("a thread is out of memory")

    monkeypatch.setattr(NearestLabel, "label", fail)
    with pytest.raises(MemoryError, match="a thread is out"):
        CoHiRF(n_clusters=7, random_state=0, n_jobs=3).fit(make_rows(np.float64))
    assert count_threads() == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot fork here")
def test_a_forked_process_has_no_threads_to_wait_for():
    with on_threads(2):
        assert map_in_threads(abs, [1, -2]) == [1, 2]
        child = os.fork()
        if child == 0:  # no cleaning up of the test runner
            os._exit(0 if count_threads() == 1 and map_in_threads(abs, [1, -2]) == [1, 2] else 1)
        assert os.waitpid(child, 0)[1] == 0
