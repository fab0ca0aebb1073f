"""Which batch sizes to probe: increasing sizes, up to the limits of memory and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from cohirf.planning.forecast import MEMORY_DEGREE, TIME_DEGREE, BatchCost
from cohirf.planning.probe import Probe
from cohirf.planning.round_sizes import fine_sizes

# Three is not a power of two, so a table that doubles its capacity is not measured at the same load each time.
LARGEST_STEP = 3.0
SMALLEST_STEP = 1.25
MEMORY_SHARE = 0.5  # a probe may need this share of the memory that a batch may need
PROBING_SECONDS = 5.0
TIME_SHARE = 0.02  # a probe may take this share of the fit's time, even if that exceeds PROBING_SECONDS
TRUSTED_PROBES = 3  # fewer probes cannot determine the three or four coefficients of a law


def probe_increasing_sizes(
    measure: Callable[[int], Probe],
    smallest: int,
    n_rows: int,
    *,
    bytes_per_batch: float,
    n_jobs: int,
    most: int | None = None,
) -> list[Probe]:
    """Measure batches of increasing size from ``smallest`` rows on, up to the limit of memory, time or rows.

    There are ``n_rows`` rows, of which no more than ``most`` can be measured.
    """
    probes = [measure(smallest)]
    find_next = partial(next_size, bytes_per_batch=bytes_per_batch, n_jobs=n_jobs, most=most)
    while (size := find_next(probes, n_rows)) is not None:
        probes.append(measure(size))
    return probes


def next_size(
    probes: Sequence[Probe], n_rows: int, *, bytes_per_batch: float, n_jobs: int, most: int | None = None
) -> int | None:
    """Return the largest size within the limits for the next probe; None if no larger size is within them."""
    last = probes[-1].n_rows
    most_seconds = PROBING_SECONDS - sum(probe.seconds for probe in probes)
    for size in reversed(fine_sizes(SMALLEST_STEP * last, min(LARGEST_STEP * last, n_rows if most is None else most))):
        seconds, n_bytes = expect(probes, size)
        fit_seconds = seconds * n_rows / size / n_jobs
        if n_bytes <= MEMORY_SHARE * bytes_per_batch and seconds <= max(most_seconds, TIME_SHARE * fit_seconds):
            return size
    return None


def expect(probes: Sequence[Probe], size: int) -> tuple[float, float]:
    """Return the seconds and bytes that a batch of ``size`` rows may take; after few probes, the worst case."""
    if len(probes) >= TRUSTED_PROBES:
        cost = BatchCost.learn(probes)
        return cost.seconds(size), cost.n_bytes(size)
    last = probes[-1]
    growth = size / last.n_rows
    return last.seconds * growth**TIME_DEGREE, last.n_bytes * growth**MEMORY_DEGREE
