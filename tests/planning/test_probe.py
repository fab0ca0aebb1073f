"""One batch, measured in a process of its own."""

import os

import numpy as np
import pytest
from hungry import Hungry, contraction_of
from joblib.externals.loky import process_executor
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from cohirf.planning import probe
from cohirf.planning.memory import resident_bytes
from cohirf.planning.probe import draw_rows, fresh_process, probe_batch
from systems import linux_only

X = np.random.default_rng(0).normal(size=(2000, 5))


@pytest.fixture
def no_process(monkeypatch):
    def refuse(**_):
        raise OSError("no more processes")

    monkeypatch.setattr(probe, "ProcessPoolExecutor", refuse)


@pytest.mark.slow
@linux_only
@pytest.mark.parametrize(("factor", "power"), [(50_000, 1), (25, 2), (12, 2)])
def test_the_memory_of_the_base_method_is_measured(call, factor, power):
    measured = call(probe_batch, X, contraction_of(Hungry(factor, power), 5))
    assert measured.n_bytes == pytest.approx(factor * len(X) ** power, rel=0.05)


@pytest.mark.slow
@linux_only
def test_memory_that_was_freed_before_does_not_hide_what_is_taken(call):
    def fragmented_then(X, contraction):
        blocks = [np.ones(2000, dtype=np.uint8) for _ in range(20_000)]  # 40 MB in the heap
        del blocks
        return probe_batch(X, contraction)

    class ManySmall(Hungry):
        def fit(self, X, y=None):
            self.blocks = [np.ones(2000, dtype=np.uint8) for _ in range(20_000)]
            return super().fit(X)

    measured = call(fragmented_then, X, contraction_of(ManySmall(1), 5))
    assert measured.n_bytes == pytest.approx(42e6, rel=0.1)


@pytest.mark.slow
@linux_only
def test_the_rows_of_the_batch_count(call):
    wide = np.zeros((1000, 5000))
    assert call(probe_batch, wide, contraction_of(Hungry(1), 5000)).n_bytes >= wide.nbytes


@pytest.mark.filterwarnings("ignore:A worker stopped")
def test_a_process_whose_memory_grows_is_kept():
    def take_memory():
        process_executor._MEMORY_LEAK_CHECK_DELAY = 0  # loky looks after each call
        probe.taken = np.ones(310_000_000, dtype=np.uint8)  # loky replaces processes that grow by 300 MB

    with fresh_process() as call:
        first = call(os.getpid)
        call(take_memory)
        assert {call(os.getpid) for _ in range(3)} == {first}


def test_survivors_and_time_are_measured(call):
    measured = call(probe_batch, X, contraction_of(KMeans(8), 5, n_views=2))
    assert measured.n_rows == 2000
    assert 8 <= measured.n_survivors <= 64
    assert measured.seconds > 0


def test_a_probe_with_mass_passes_weights_on(call):
    class Weighted(Hungry):
        def fit(self, X, y=None, sample_weight=None):
            assert (sample_weight == np.ones(len(X))).all()
            return super().fit(X)

    assert call(probe_batch, X, contraction_of(Weighted(1), 5, weighted=True)).n_survivors == 1


def test_a_class_that_no_other_process_can_import_is_probed(call):
    class Local(ClusterMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.labels_ = np.arange(len(X)) % 3
            return self

    assert call(probe_batch, X, contraction_of(Local(), 5)).n_survivors == 3


def test_an_error_of_the_base_method_surfaces_as_itself(call):
    class Broken(Hungry):
        def fit(self, X, y=None):
            raise ZeroDivisionError("no rows like these")

    with pytest.raises(ZeroDivisionError, match="no rows like these"):
        call(probe_batch, X, contraction_of(Broken(), 5))


def test_warnings_of_a_probe_are_not_shown():
    same = np.zeros((100, 5))  # K-Means warns that there are fewer distinct rows than clusters
    assert probe_batch(same, contraction_of(KMeans(3), 5)).n_survivors == 1


def test_a_process_that_dies_is_reported():
    with (
        fresh_process() as call,
        pytest.raises(RuntimeError, match="crashed, perhaps because memory ran out: set batch_size"),
    ):
        call(os._exit, 1)


def test_the_work_is_done_in_another_process(call):
    assert call(os.getpid) != os.getpid()


def test_without_processes_the_probe_runs_here(no_process):
    with fresh_process() as call:
        assert call(os.getpid) == os.getpid()
        assert call(probe_batch, X, contraction_of(Hungry(10_000), 5)).n_bytes >= 15_000_000


def test_what_cannot_be_sent_is_probed_here(call):
    class Unsendable(Hungry):
        def __reduce__(self):
            raise TypeError("stays here")

        def __deepcopy__(self, memo):
            return self

    assert call(probe_batch, X, contraction_of(Unsendable(), 5)).n_survivors == 1


@pytest.mark.parametrize(("n_rows", "size"), [(1000, 10), (1000, 1000), (7, 5), (10**12, 1000)])
def test_drawn_rows_are_distinct_and_sorted_and_spread_over_the_data(n_rows, size):
    rows = draw_rows(n_rows, size, (0,))
    assert (np.diff(rows) > 0).all()
    assert len(rows) == size
    assert rows[0] >= 0
    assert rows[-1] < n_rows
    assert abs(rows.mean() / (n_rows - 1) - 0.5) <= 0.5 / size


def test_drawn_rows_depend_on_the_seed_alone():
    assert (draw_rows(1000, 10, (1,)) == draw_rows(1000, 10, (1,))).all()
    assert (draw_rows(1000, 10, (1,)) != draw_rows(1000, 10, (2,))).any()


@pytest.mark.slow
def test_resident_memory_of_a_fresh_process_is_its_own(call):
    block = np.ones(5 * 10**8, dtype=np.uint8)  # in this process, which the other must not count
    assert block.all()
    assert call(resident_bytes) < 4 * 10**8
