"""The cost of a batch: samples of the data, contracted in a separate process, and laws of growth
fitted to their cost.

Only the operating system knows the memory that compiled code allocates, and it counts per process.
A fresh process also does not hold memory that this process has freed but kept, which would hide
part of the cost.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import floor, log10
from pickle import PicklingError
from time import process_time
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor, process_executor
from numpy.polynomial import Polynomial
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Contraction, contract_batch
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.engines.tasks import one_thread
from cohirf.planning.memory import peak_bytes, reset_peak, resident_bytes
from cohirf.planning.policy import PROBE
from cohirf.rows.arrays import join_rows
from cohirf.rows.grouping import IntArray, row_blocks
from cohirf.rows.storage import Rows, SerialEngine

PROBE_LEVEL = 0  # levels of a fit start at 1, so probes never share random numbers with it


@dataclass(frozen=True)
class Probe:
    """Cost of contracting one batch of ``n_rows`` rows to ``n_survivors`` medoids."""

    n_rows: int
    n_survivors: int
    seconds: float  # of processor time, which hardly depends on other programs on the machine
    n_bytes: int  # largest increase of the resident memory, including the rows of the batch


def draw_rows(n_rows: int, size: int, entropy: Entropy) -> IntArray:
    """Draw ``size`` of ``n_rows`` rows, spread evenly over the data: one from each of ``size``
    equal parts.
    """
    bounds = np.linspace(0, n_rows, size + 1).astype(np.int64)
    return generator_at(entropy, Draw.SPLIT, PROBE_LEVEL, size).integers(bounds[:-1], bounds[1:])


class Neighbourhood:
    """A local batch to measure: the rows that are nearest to one row, drawn at random.

    Local batches have the density of the data. A random sample is thinner, so that a method with a
    radius would find fewer neighbours in it, and take less time and memory. All rows are read once,
    when the first are asked for. In distances, ``column_means`` replace missing values; ``entropy``
    seeds the choice of the row.
    """

    def __init__(
        self, rows: Rows, column_means: NDArray[np.floating[Any]] | None, entropy: Entropy
    ) -> None:
        self._rows = rows
        self._column_means = column_means
        self._centre = fill_missing(rows.take(draw_rows(rows.n_rows, 1, entropy)), column_means)

    @property
    def n_rows(self) -> int:
        """Number of rows: at most 131,072, and fewer if they have more than 64 features."""
        return max(
            1,
            min(self._rows.n_rows, PROBE.near_rows, PROBE.near_cells // int(self._centre.shape[1])),
        )

    def take(self, size: int) -> Any:
        """Return the ``size`` nearest rows, in the order of their distance."""
        return self._nearest[:size]

    @cached_property
    def _nearest(self) -> Any:
        near = self._rows.take(np.arange(0))
        distances = np.empty(0)
        for block in row_blocks(self._rows.n_rows, self.n_rows):
            new = self._rows.take(np.arange(block.start, block.stop))
            of_new = euclidean_distances(
                fill_missing(new, self._column_means), self._centre, squared=True
            ).ravel()
            if len(distances) == self.n_rows:
                closer = np.flatnonzero(of_new < distances[-1])
                new = new[closer]
                of_new = of_new[closer]
            distances = np.concatenate([distances, of_new])
            order = np.argsort(distances, kind="stable")[: self.n_rows]
            near = join_rows([near, new])[order]
            distances = distances[order]
        return near


def resident_with(contraction: Contraction) -> int:
    """Return the resident memory of a process that has the contraction, and the modules that it
    needs.
    """
    assert contraction is not None
    return resident_bytes()


def probe_batch(X: Any, contraction: Contraction) -> Probe:
    """Contract the rows of ``X`` as a fit contracts a batch, and measure the cost.

    Taking the rows copies them.
    """
    reset_peak()
    before = resident_bytes()
    started = process_time()
    # the fit itself will show the same warnings
    with (
        one_thread(),
        warnings.catch_warnings(action="ignore"),
    ):
        rows = np.arange(X.shape[0])
        mass = np.ones(len(rows)) if contraction.weighted else None
        contracted = contract_batch(X[rows], mass, contraction, (PROBE_LEVEL, 0), SerialEngine())
    seconds = process_time() - started
    return Probe(X.shape[0], len(contracted.medoids), seconds, max(0, peak_bytes() - before))


@contextmanager
def fresh_process() -> Iterator[Callable[..., Any]]:
    """Yield ``call(function, *arguments)``, which runs functions in one fresh process, or here if
    none can be started.

    Exceptions of the function are raised here.
    """
    executor: Any = None
    try:
        executor = ProcessPoolExecutor(max_workers=1, initializer=_keep_process)
        executor.submit(resident_bytes).result()
    except (OSError, ImportError, AssertionError, RuntimeError):
        # no memory or semaphores; daemon processes cannot have children; processes nested too deep,
        # or dead at once
        _shut_down(executor)
        executor = None
    try:
        yield lambda function, *arguments: _call_in(executor, function, *arguments)
    finally:
        _shut_down(executor, wait=True)


def _shut_down(executor: Any, *, wait: bool = False) -> None:
    if executor is not None:
        executor.shutdown(wait=wait, kill_workers=True)


def _keep_process() -> None:
    """Keep loky from replacing this process, with a warning, because its memory grew: its memory is
    what we measure.
    """
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize


def _call_in(executor: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    if executor is None:
        return function(*arguments)
    try:
        return executor.submit(function, *arguments).result()
    except PicklingError:
        # arguments that cannot be pickled can still be used in this process
        return function(*arguments)
    except BrokenProcessPool as error:
        raise RuntimeError(
            'The process in which batch_size="auto" measured the base method crashed, perhaps '
            "because memory ran out: "
            'set batch_size to a number of rows, or to less memory ("2GB"), so that smaller '
            "batches are measured."
        ) from error


@dataclass(frozen=True)
class BatchCost:
    """How time, memory and survivors of one batch grow with its number of rows: laws fitted to
    probes.
    """

    probes: tuple[Probe, ...]
    seconds: Polynomial
    n_bytes: Polynomial

    @classmethod
    def learn(cls, probes: Sequence[Probe]) -> BatchCost:
        """Fit the growth laws to probes of increasing size."""
        sizes = [probe.n_rows for probe in probes]
        seconds = [probe.seconds for probe in probes]
        n_bytes = [probe.n_bytes for probe in probes]
        return cls(
            tuple(probes),
            fit_growth(
                sizes, seconds, degree=PROBE.time_degree, resolution=PROBE.resolution_seconds
            ),
            fit_growth(
                sizes, n_bytes, degree=PROBE.memory_degree, resolution=PROBE.resolution_bytes
            ),
        )

    def survivors(self, n_rows: float) -> float:
        """Return the number of rows that a batch leaves active.

        Their share is interpolated between the probes.
        """
        sizes = np.array([probe.n_rows for probe in self.probes])
        shares = np.array([probe.n_survivors for probe in self.probes]) / sizes
        return n_rows * float(np.interp(np.log(n_rows), np.log(sizes), shares))


def fit_growth(
    sizes: Sequence[int], amounts: Sequence[float], *, degree: int, resolution: float
) -> Polynomial:
    """Fit a polynomial to amounts measured at increasing sizes.

    It is never below the last measurement.

    No coefficient is negative. For large batches, a single power would be enough. In small batches,
    fixed costs hide it, and an amount that has grown slowly so far may contain a higher power that
    dominates only later, as with the neighbour lists of DBSCAN. The fit minimises relative errors,
    so that small sizes matter, too. Amounts near or below ``resolution`` cannot be measured
    exactly, so their absolute errors are minimised.
    """
    scale = float(sizes[-1])
    powers = np.vander(np.asarray(sizes) / scale, degree + 1, increasing=True)
    weights = 1 / (np.asarray(amounts, dtype=np.float64) + resolution)
    coefficients, _ = nnls(powers * weights[:, None], np.asarray(amounts) * weights)
    at_last = coefficients.sum()
    if 0 < at_last < amounts[-1]:
        coefficients *= amounts[-1] / at_last
    return Polynomial(coefficients / scale ** np.arange(degree + 1))


def probe_increasing_sizes(
    measure: Callable[[int], Probe],
    smallest: int,
    n_rows: int,
    *,
    bytes_per_batch: float,
    n_jobs: int,
    most: int | None = None,
) -> BatchCost:
    """Measure batches of increasing size from ``smallest`` rows on, up to the limit of memory, time
    or rows.

    There are ``n_rows`` rows, of which no more than ``most`` can be measured. Of the next sizes,
    the largest is taken that needs at most half of the memory of a batch, and not too much time.
    """
    probes = []
    size = smallest
    while size:
        probes.append(measure(size))
        most_seconds = PROBE.seconds - sum(probe.seconds for probe in probes)
        low = PROBE.smallest_step * size
        high = min(PROBE.largest_step * size, n_rows if most is None else most)
        size = 0
        for larger in reversed(fine_sizes(low, high)):
            seconds, n_bytes = _expect(probes, larger)
            fit_seconds = seconds * n_rows / larger / n_jobs
            if n_bytes <= PROBE.memory * bytes_per_batch and seconds <= max(
                most_seconds, PROBE.time * fit_seconds
            ):
                size = larger
                break
    return BatchCost.learn(probes)


def _expect(probes: Sequence[Probe], size: int) -> tuple[float, float]:
    """Return the seconds and bytes that a batch of ``size`` rows may take.

    After few probes, the worst case.
    """
    if len(probes) >= PROBE.trusted:
        cost = BatchCost.learn(probes)
        return float(cost.seconds(size)), float(cost.n_bytes(size))
    last = probes[-1]
    growth = size / last.n_rows
    return last.seconds * growth**PROBE.time_degree, last.n_bytes * growth**PROBE.memory_degree


# Sizes are round numbers that do not depend on measurements, so measurements that differ a little
# mostly lead to the same choice.


def fine_sizes(low: float, high: float) -> list[int]:
    """Return sizes with two significant digits from ``low`` to ``high``, each about a fifth above
    the previous one.
    """
    sizes = []
    power = 0
    while (size := _two_digits(PROBE.size_step**power)) <= high:
        if size >= low:
            sizes.append(size)
        power += 1
    return sizes


def coarse_sizes(low: float, high: float) -> list[int]:
    """Return 1, 2, 5, 10, 20, 50 and so on from ``low`` to ``high``."""
    digits = range(1 + floor(log10(max(high, 1))))
    return [
        size
        for power in digits
        for size in (10**power, 2 * 10**power, 5 * 10**power)
        if low <= size <= high
    ]


def _two_digits(number: float) -> int:
    unit: int = 10 ** max(0, floor(log10(number)) - 1)
    return round(number / unit) * unit
