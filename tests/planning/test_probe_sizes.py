"""The sizes that are probed."""

from itertools import pairwise

import pytest

from cohirf.planning.probe import Probe
from cohirf.planning.probe_sizes import (
    LARGEST_STEP,
    MEMORY_SHARE,
    PROBING_SECONDS,
    SMALLEST_STEP,
    TIME_SHARE,
    probe_increasing_sizes,
)


def probed(seconds=lambda b: 0.0, n_bytes=lambda b: 0, n_rows=10**7, room=1e9, n_jobs=1, smallest=100):
    def measure(size):
        return Probe(size, 1, seconds(size), int(n_bytes(size)))

    return probe_increasing_sizes(measure, smallest, n_rows, bytes_per_batch=room, n_jobs=n_jobs)


def test_sizes_rise_step_by_step_from_the_smallest():
    sizes = [probe.n_rows for probe in probed(n_bytes=lambda b: 1000 * b)]
    assert sizes[0] == 100
    assert all(SMALLEST_STEP <= b / a <= LARGEST_STEP for a, b in pairwise(sizes))


@pytest.mark.parametrize("power", [1, 1.5, 2])
@pytest.mark.parametrize("factor", [1, 100])
def test_probes_come_close_to_the_memory_of_a_batch_and_stay_below_it(power, factor):
    last = probed(n_bytes=lambda b: factor * b**power, n_rows=10**10)[-1]
    assert MEMORY_SHARE * 1e9 / (2 * SMALLEST_STEP**power) <= last.n_bytes <= 1.1 * MEMORY_SHARE * 1e9


@pytest.mark.parametrize("power", [1, 2, 3])
def test_probing_ends_when_it_takes_too_long(power):
    probes = probed(seconds=lambda b: (b / 1000) ** power, n_rows=20_000)
    assert PROBING_SECONDS / 2 / SMALLEST_STEP**power <= sum(probe.seconds for probe in probes) <= PROBING_SECONDS


def test_a_slow_fit_is_worth_slow_probes():
    probes = probed(seconds=lambda b: b / 10, n_rows=10**6)  # a day: 2% of it is half an hour
    assert probes[-1].n_rows * SMALLEST_STEP * 1.2 >= TIME_SHARE * 10**6
    assert probes[-1].n_rows <= TIME_SHARE * 10**6


def test_probing_ends_with_the_rows():
    assert probed(n_rows=5000)[-1].n_rows <= 5000
    assert [probe.n_rows for probe in probed(n_rows=100)] == [100]
    assert [probe.n_rows for probe in probed(n_rows=7, smallest=7)] == [7]


def test_a_first_probe_that_is_too_much_is_the_last():
    assert len(probed(n_bytes=lambda b: 10**9)) == 1
    assert len(probed(seconds=lambda b: 100.0, n_rows=200)) == 1
