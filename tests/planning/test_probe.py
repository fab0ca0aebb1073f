"""The cost of a batch: measured in a process of its own, at increasing sizes, and as a law of
growth.
"""

import os
from itertools import pairwise

import numpy as np
import pytest
from hungry import Hungry, contraction_of
from joblib.externals.loky import process_executor
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans

from cohirf.planning import probe
from cohirf.planning.memory import resident_bytes
from cohirf.planning.policy import PROBE
from cohirf.planning.probe import (
    Neighbourhood,
    Probe,
    coarse_sizes,
    draw_rows,
    fine_sizes,
    fit_growth,
    fresh_process,
    probe_batch,
    probe_increasing_sizes,
)
from cohirf.rows.storage import ArrayRows
from systems import linux_only

X = np.random.default_rng(0).normal(size=(2000, 5))


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
def test_probes_run_in_another_process_which_is_kept_if_its_memory_grows_and_missed_if_it_dies():
    def take_memory():
        process_executor._MEMORY_LEAK_CHECK_DELAY = 0  # loky looks after each call
        # loky replaces processes that grow by 300 MB
        probe.taken = np.ones(310_000_000, dtype=np.uint8)

    with fresh_process() as call:
        first = call(os.getpid)
        assert first != os.getpid()
        call(take_memory)
        assert {call(os.getpid) for _ in range(3)} == {first}
        with pytest.raises(
            RuntimeError, match="crashed, perhaps because memory ran out: set batch_size"
        ):
            call(os._exit, 1)


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


def test_warnings_of_a_probe_are_not_shown():
    same = np.zeros((100, 5))  # K-Means warns that there are fewer distinct rows than clusters
    assert probe_batch(same, contraction_of(KMeans(3), 5)).n_survivors == 1


def test_without_processes_the_probe_runs_here(monkeypatch):
    def refuse(**_):
        raise OSError("no more processes")

    monkeypatch.setattr(probe, "ProcessPoolExecutor", refuse)
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


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(1000, 3))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_are_the_nearest_ones_to_one_row(monkeypatch, points, kind):
    monkeypatch.setitem(vars(probe.PROBE), "near_rows", 64)
    near = Neighbourhood(ArrayRows(kind(points)), None, (0,))
    found = near.take(50)
    found = found.toarray() if sparse.issparse(found) else found
    by_distance = points[np.argsort(np.linalg.norm(points - found[0], axis=1))]
    assert near.n_rows == 64
    np.testing.assert_allclose(found, by_distance[:50])


def test_missing_values_do_not_hide_a_row(points):
    points[::2, 1] = np.nan
    near = Neighbourhood(ArrayRows(points), np.zeros(3), (0,))
    found = near.take(1000)
    assert np.isnan(found).sum() == 500
    distances = np.linalg.norm(np.nan_to_num(found) - np.nan_to_num(found[0]), axis=1)
    assert (np.diff(distances) > -1e-12).all()


def test_rows_are_read_once_and_only_if_asked_for(points):
    class Counted(ArrayRows):
        def take(self, rows):
            taken.extend(rows.tolist())
            return super().take(rows)

    taken = []
    near = Neighbourhood(Counted(points), None, (0,))
    assert len(taken) == 1  # the row in the middle
    near.take(10), near.take(100)
    assert len(taken) == 1001


def probed(
    seconds=lambda b: 0.0, n_bytes=lambda b: 0, n_rows=10**7, room=1e9, n_jobs=1, smallest=100
):
    def measure(size):
        return Probe(size, 1, seconds(size), int(n_bytes(size)))

    return probe_increasing_sizes(
        measure, smallest, n_rows, bytes_per_batch=room, n_jobs=n_jobs
    ).probes


def test_sizes_rise_step_by_step_from_the_smallest():
    sizes = [probe.n_rows for probe in probed(n_bytes=lambda b: 1000 * b)]
    assert sizes[0] == 100
    assert all(PROBE.smallest_step <= b / a <= PROBE.largest_step for a, b in pairwise(sizes))


@pytest.mark.parametrize("power", [1, 1.5, 2])
@pytest.mark.parametrize("factor", [1, 100])
def test_probes_come_close_to_the_memory_of_a_batch_and_stay_below_it(power, factor):
    last = probed(n_bytes=lambda b: factor * b**power, n_rows=10**10)[-1]
    assert (
        PROBE.memory * 1e9 / (2 * PROBE.smallest_step**power)
        <= last.n_bytes
        <= 1.1 * PROBE.memory * 1e9
    )


@pytest.mark.parametrize("power", [1, 2, 3])
def test_probing_ends_when_it_takes_too_long(power):
    probes = probed(seconds=lambda b: (b / 1000) ** power, n_rows=20_000)
    assert (
        PROBE.seconds / 2 / PROBE.smallest_step**power
        <= sum(probe.seconds for probe in probes)
        <= PROBE.seconds
    )


def test_a_slow_fit_is_worth_slow_probes():
    probes = probed(seconds=lambda b: b / 10, n_rows=10**6)  # a day: 2% of it is half an hour
    assert probes[-1].n_rows * PROBE.smallest_step * 1.2 >= PROBE.time * 10**6
    assert probes[-1].n_rows <= PROBE.time * 10**6


def test_probing_ends_with_the_rows():
    assert probed(n_rows=5000)[-1].n_rows <= 5000
    assert [probe.n_rows for probe in probed(n_rows=100)] == [100]
    assert [probe.n_rows for probe in probed(n_rows=7, smallest=7)] == [7]


def test_a_first_probe_that_is_too_much_is_the_last():
    assert len(probed(n_bytes=lambda b: 10**9)) == 1
    assert len(probed(seconds=lambda b: 100.0, n_rows=200)) == 1


def test_fine_sizes_do_not_depend_on_the_bounds():
    assert fine_sizes(100, 300) == [110, 130, 150, 180, 220, 260, 300]
    assert fine_sizes(140, 230) == [150, 180, 220]
    assert fine_sizes(5, 4) == []


def test_fine_sizes_are_about_a_fifth_apart():
    steps = [b / a for a, b in pairwise(fine_sizes(50, 10**9))]
    assert min(steps) > 1.1
    assert max(steps) <= 1.25


def test_coarse_sizes_are_one_two_or_five_times_a_power_of_ten():
    assert coarse_sizes(100, 2000) == [100, 200, 500, 1000, 2000]
    assert coarse_sizes(101, 499) == [200]
    assert coarse_sizes(3, 0.5) == []
    assert coarse_sizes(1, 7) == [1, 2, 5]


SIZES = [100, 300, 860, 2400, 6900, 19_000]


def measured(function, noise=0.0):
    rng = np.random.default_rng(0)
    return [function(size) * (1 + noise * rng.uniform(-1, 1)) for size in SIZES]


@pytest.mark.parametrize(
    ("amount", "degree", "noise", "reach", "rel"),
    [
        *((lambda b, p=power: 7.0 * b**p, 3, 0.0, 4 * SIZES[-1], 0.01) for power in (0, 1, 2, 3)),
        *(
            (lambda b, p=power: 7.0 * b**p, d, 0.1, 2 * SIZES[-1], 0.5)
            for power, d in ((1, 2), (2, 2), (1, 3), (3, 3))
        ),
        pytest.param(
            lambda b: 1e6 + 20.0 * b, 2, 0.0, 1e6, 0.01, id="a fixed cost does not hide growth"
        ),
        pytest.param(
            lambda b: 1e3 * b + 0.02 * b**2,
            2,
            0.0,
            1e6,
            0.01,
            id="a higher power is seen before it dominates",
        ),
    ],
)
def test_a_law_of_growth_is_recovered(amount, degree, noise, reach, rel):
    law = fit_growth(SIZES, measured(amount, noise), degree=degree, resolution=1e-3)
    assert law(reach) == pytest.approx(amount(reach), rel=rel)


@pytest.mark.parametrize("between", [lambda b: b**1.5, lambda b: b * np.log(b), lambda b: b**1.2])
def test_growth_between_two_powers_is_not_underestimated(between):
    law = fit_growth(SIZES, measured(between), degree=2, resolution=1.0)
    for reach in (1, 2, 4):
        assert (
            between(reach * SIZES[-1])
            <= 1.02 * law(reach * SIZES[-1])
            <= 3 * between(reach * SIZES[-1])
        )


def test_small_amounts_are_not_taken_for_more_than_they_are():
    # what the measurement cannot resolve looks like anything, here like a fixed cost
    amounts = [90_000, 4_000, 120_000, 240_000, 690_000, 1_900_000]
    law = fit_growth(SIZES, amounts, degree=2, resolution=500_000)
    assert 1.0 < law(76_000) / 7_600_000 < 1.3


def test_a_law_does_not_lie_below_the_last_measurement():
    amounts = [*measured(lambda b: 10.0 * b)[:-1], 400_000.0]
    assert fit_growth(SIZES, amounts, degree=1, resolution=1.0)(SIZES[-1]) >= 400_000


def test_nothing_stays_nothing_and_one_measurement_is_enough():
    assert fit_growth(SIZES, [0.0] * len(SIZES), degree=2, resolution=1.0)(10**6) == 0
    assert fit_growth([100], [5.0], degree=2, resolution=1.0)(100) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("sizes", "seconds", "degree"),
    [
        ([200, 3200], [5.824256060585307e-05, 8.562771291553373e-05], 2),
        ([150, 3200], [0.00125009632715416, 0.0024181053221193787], 3),
    ],
)
def test_two_short_measurements_are_enough(sizes, seconds, degree):
    """SciPy before 1.15 finds no solution where there are fewer measurements than coefficients."""
    law = fit_growth(sizes, seconds, degree=degree, resolution=0.001)
    assert law(sizes[-1]) >= seconds[-1] * (1 - 1e-9)
