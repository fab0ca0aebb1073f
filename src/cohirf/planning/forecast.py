"""Forecast of the time and memory of a whole fit with a given batch size, from probes of single batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from cohirf.algorithm.batches import count_batches
from cohirf.planning.growth import GrowthLaw, fit_growth
from cohirf.planning.probe import Probe

# Resolution of the measurements: pages that the interpreter itself needs, ticks of the clock.
RESOLUTION_BYTES = 500_000
RESOLUTION_SECONDS = 0.002
# Highest powers of the growth laws: the memory of a matrix of all pairs of rows, the time to multiply or decompose it.
MEMORY_DEGREE, TIME_DEGREE = 2, 3
# A level that leaves a larger share of its rows makes no progress.
IDLE_SHARE = 0.98
MAX_LEVELS = 100


@dataclass(frozen=True)
class BatchCost:
    """How time, memory and survivors of one batch grow with its number of rows."""

    probes: tuple[Probe, ...]
    seconds: GrowthLaw
    n_bytes: GrowthLaw

    @classmethod
    def learn(cls, probes: Sequence[Probe]) -> BatchCost:
        """Fit the growth laws to probes of increasing size."""
        sizes = [probe.n_rows for probe in probes]
        seconds, n_bytes = [probe.seconds for probe in probes], [probe.n_bytes for probe in probes]
        return cls(
            tuple(probes),
            fit_growth(sizes, seconds, degree=TIME_DEGREE, resolution=RESOLUTION_SECONDS),
            fit_growth(sizes, n_bytes, degree=MEMORY_DEGREE, resolution=RESOLUTION_BYTES),
        )

    def survivors(self, n_rows: float) -> float:
        """Return the number of rows that a batch leaves active; their share is interpolated between the probes."""
        sizes = np.array([probe.n_rows for probe in self.probes])
        shares = np.array([probe.n_survivors for probe in self.probes]) / sizes
        return n_rows * float(np.interp(np.log(n_rows), np.log(sizes), shares))


@dataclass(frozen=True)
class Levels:
    """The number of levels of a fit, and their time; infinite if almost nothing merges in several batches."""

    n_levels: int
    seconds: float


def forecast_levels(n_rows: int, batch_size: int, cost: BatchCost, n_jobs: int) -> Levels:
    """Simulate a fit with ``n_jobs`` concurrent batches."""
    left, seconds = float(n_rows), 0.0
    for level in range(1, MAX_LEVELS + 1):
        n_batches = count_batches(round(left), batch_size)
        size = left / n_batches
        contracted = max(1, n_batches - 1)
        seconds += ceil(contracted / n_jobs) * cost.seconds(size)
        before = left
        left = contracted * cost.survivors(size) + (size if n_batches > 1 else 0)
        if n_batches == 1 and left < cost.probes[0].n_rows:
            return Levels(level + 1, seconds)  # too few rows left to forecast: one more level, which merges nothing
        if left > IDLE_SHARE * before:
            return Levels(level, seconds if n_batches == 1 else inf)
    return Levels(MAX_LEVELS, seconds)
