"""Choice of the batch size under a memory limit: probe, forecast, choose.

**Few rows.** If there are too few rows for two batches of the smallest size, they are one batch. Nothing is measured:
there is no choice, and starting a process for measurements takes longer than the fit.

**Probe.** Batches of increasing size are contracted in a separate process, which measures the time and the peak memory
of each. They are uniform samples of the data or, if batches are local, the rows around one row. The sizes start at the
smallest useful batch, and end when the next probe would need more than half of the memory that a batch may use, or too
much time.

**Forecast.** Growth laws fitted to the probes predict the time and memory of a batch, up to four times the size of the
largest probe. The levels of a fit are simulated with the share of rows that the probes left active. Local batches are
contracted only once.

**Choose.** Of the batch sizes that keep the process below the limit, take the largest whose fit is expected to take at
most twice the time of the cheapest size, or at most a minute. A larger batch shows the base method more of the density
of the data, and CoHiRF fails with batches that are too thin, so larger batches are better. But a super-linear base
method costs more per row in larger batches, so time can be the limit before memory is. The time of each size includes
all levels: batches so thin that hardly anything merges need many levels, and are not cheap.

Memory is measured to a few percent, so if it is the limit, candidate sizes are a fifth apart. Times can be wrong by
half, so if time is the limit, candidate sizes are 1, 2 or 5 times a power of ten: the same call should lead to the same
choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf
from time import perf_counter
from typing import Any

from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.planning.byte_sizes import format_bytes
from cohirf.planning.forecast import BatchCost, Levels, forecast_levels
from cohirf.planning.memory import resident_bytes
from cohirf.planning.probe import Call, Probe, fresh_process, probe_batch
from cohirf.planning.probe_sizes import probe_increasing_sizes
from cohirf.planning.round_sizes import coarse_sizes, fine_sizes

# In smaller batches, most methods find nothing, and the calls themselves cost more than the clustering. A method with
# n_clusters clusters or n_neighbors neighbours gets at least ten times as many rows.
SMALLEST_BATCH = 100
ROWS_PER_SIZE = 10
LARGEST_BATCH = 1.5  # in units of batch_size; see count_batches
REACH = 4.0  # largest batch size that can be forecast, in units of the largest probe
MARGIN = 1.3  # safety factor on the memory of a batch: fragmentation, and rows that differ from the sample
HELD_BYTES_PER_ROW = 36  # row numbers, parents, levels, mass, stability and labels of a fit in memory
SLOWER = 2.0
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class BatchPlan:
    """A batch size, the expected cost of a fit with it, and the measurements behind it.

    Attributes
    ----------
    batch_size : int
        Approximate number of rows that are contracted together; a batch has at most 1.5 times as many.
    n_batches : int
        Number of batches at the first level, including the one held aside.
    n_levels : int or None
        Expected number of levels; None if nothing was measured.
    seconds : float or None
        Expected time, without reading the data; infinite if almost nothing merges in a batch; None if nothing was
        measured.
    n_bytes : int or None
        Expected peak of the process's resident memory, including what it holds already; None if nothing was measured.
    memory_limit : int
        The memory limit in bytes.
    reason : str
        Why larger batches were not chosen.
    probes : tuple of Probe
        The measurements, by increasing size.
    probing_seconds : float
        Time of the measurements, including the start of a process.
    """

    batch_size: int
    n_batches: int
    n_levels: int | None
    seconds: float | None
    n_bytes: int | None
    memory_limit: int
    reason: str
    probes: tuple[Probe, ...]
    probing_seconds: float

    def describe(self) -> str:
        """Return the plan as one line."""
        batches = "one batch" if self.n_batches == 1 else f"{self.n_batches:,} batches"
        if self.seconds is None or self.n_bytes is None:
            return f"batch_size={self.batch_size}: {batches}; {self.reason}"
        levels = f"about {self.n_levels} levels and {_format_seconds(self.seconds)}"
        outlook = "in which hardly any rows merge" if self.seconds == inf else levels
        memory = f"{format_bytes(self.n_bytes)} of {format_bytes(self.memory_limit)} memory"
        return f"batch_size={self.batch_size}: {batches}, {outlook}, {memory}; {self.reason}"


@dataclass(frozen=True)
class Room:
    """The memory limit, and the memory that is used independently of the batches."""

    memory_limit: int
    taken: int
    taken_per_job: int = 0

    def for_batch(self, n_jobs: int) -> float:
        """Return the memory that each of ``n_jobs`` concurrent batches may use."""
        return (self.memory_limit - self.taken) / n_jobs - self.taken_per_job

    def peak(self, batch_bytes: float, n_jobs: int) -> int:
        """Return the peak memory with ``n_jobs`` concurrent batches."""
        return int(self.taken + n_jobs * (self.taken_per_job + batch_bytes))


@dataclass(frozen=True)
class Trial:
    """Contracts samples of the data in another process."""

    call: Call
    read_sample: Callable[[int], Any]
    contraction: Contraction

    def measure(self, n_rows: int) -> Probe:
        """Probe a batch of ``n_rows`` rows."""
        probe: Probe = self.call(probe_batch, self.read_sample(n_rows), self.contraction)
        return probe

    def first_call(self, n_rows: int) -> tuple[int, int]:
        """Trigger imports and compilation; return the memory that these use, and the number of features."""
        X = self.read_sample(n_rows)
        before = self.call(resident_bytes)
        self.call(probe_batch, X, self.contraction)
        return max(0, self.call(resident_bytes) - before), X.shape[1]


@dataclass(frozen=True)
class Task:
    """The planned fit: its rows, runs of the base method per batch, concurrent batches, smallest batch and memory.

    For local batches, ``overlap`` is the number of rows in their halos, in multiples of their own rows.
    """

    n_rows: int
    n_runs: int
    n_jobs: int
    smallest_batch: int
    room: Room
    overlap: float | None = None


@dataclass(frozen=True)
class Candidate:
    """A batch size, its forecast, and the memory that it needs including a safety margin."""

    batch_size: int
    n_batches: int
    levels: Levels
    peak: int
    needed: int


def plan_batches(
    read_sample: Callable[[int], Any],
    n_rows: int,
    contraction: Contraction,
    *,
    memory_limit: int,
    n_jobs: int = 1,
    held_bytes: int | None = None,
    taken_bytes: int | None = None,
    in_processes: bool = False,
    overlap: float | None = None,
    n_readable: int | None = None,
) -> BatchPlan:
    """Choose the batch size of a fit by measuring the contraction of samples.

    Parameters
    ----------
    read_sample : callable
        Takes a number of rows, and returns so many rows of the data that are like a batch: drawn uniformly or, for
        local batches, neighbours. It is called once for each size that is probed.
    n_rows : int
        Number of rows of the data.
    contraction : Contraction
        How the fit contracts a batch; its own ``batch_size`` is not used.
    memory_limit : int
        Largest peak memory, in bytes, of the process that runs batches, including what it holds already.
    n_jobs : int
        Number of batches, or of views of a single batch, that run at the same time.
    held_bytes : int, optional
        Memory that the fit holds in addition to its batches. By default 36 bytes per row, for a fit in memory.
    taken_bytes : int, optional
        Memory that the process that runs batches uses before the fit. By default the resident memory of this process.
    in_processes : bool
        Whether batches run in separate processes, each of which holds an interpreter.
    overlap : float, optional
        For local batches, the number of rows in their halos, in multiples of their own rows.
    n_readable : int, optional
        Most rows that ``read_sample`` can return, if that is not all rows.

    Returns
    -------
    plan : BatchPlan
        The choice, with the forecast and the measurements behind it. Since measurements vary a little, the choice may
        vary by one step.
    """
    started = perf_counter()
    held = HELD_BYTES_PER_ROW * n_rows if held_bytes is None else held_bytes
    taken = resident_bytes() if taken_bytes is None else taken_bytes
    room = Room(memory_limit, taken + held)
    if room.for_batch(1) <= 0:
        raise ValueError(_say_no_room(room, held, on_worker=taken_bytes is not None))
    if count_batches(n_rows, SMALLEST_BATCH) == 1:
        return _plan_few_rows(n_rows, memory_limit)
    smallest = smallest_batch(contraction, n_rows)
    with fresh_process() as call:
        trial = Trial(call, read_sample, contraction)
        loaded, n_features = trial.first_call(smallest)
        room = Room(memory_limit, room.taken + loaded, call(resident_bytes) if in_processes else 0)
        bytes_per_batch = room.for_batch(n_jobs)
        probes = probe_increasing_sizes(
            trial.measure, smallest, n_rows, bytes_per_batch=bytes_per_batch, n_jobs=n_jobs, most=n_readable
        )
    task = Task(n_rows, contraction.views.n_runs(n_features), n_jobs, smallest, room, overlap)
    candidates = list_candidates(task, BatchCost.learn(probes))
    chosen = choose(candidates, memory_limit)
    if chosen is None:
        raise ValueError(_say_too_little(task, candidates[0]))
    return BatchPlan(
        batch_size=chosen.batch_size,
        n_batches=chosen.n_batches,
        n_levels=chosen.levels.n_levels,
        seconds=chosen.levels.seconds,
        n_bytes=chosen.peak,
        memory_limit=memory_limit,
        reason=_say_why(chosen, candidates, memory_limit),
        probes=tuple(probes),
        probing_seconds=perf_counter() - started,
    )


def smallest_batch(contraction: Contraction, n_rows: int) -> int:
    """Return the smallest batch size that is useful for the base method."""
    sizes = contraction.views.method.sizes.values()
    return min(n_rows, max(SMALLEST_BATCH, ROWS_PER_SIZE * max(sizes, default=0)))


def _plan_few_rows(n_rows: int, memory_limit: int) -> BatchPlan:
    """Plan one batch of all rows, without measurements."""
    return BatchPlan(
        batch_size=n_rows,
        n_batches=1,
        n_levels=None,
        seconds=None,
        n_bytes=None,
        memory_limit=memory_limit,
        reason=f"{n_rows} rows are too few to divide",
        probes=(),
        probing_seconds=0.0,
    )


def list_candidates(task: Task, cost: BatchCost) -> list[Candidate]:
    """Forecast batch sizes from the smallest up to the reach of the probes, and one batch of all rows if within it."""
    reach = REACH * cost.probes[-1].n_rows
    low, high = task.smallest_batch, reach / LARGEST_BATCH
    fine = [judge(size, task, cost) for size in fine_sizes(low, high)]
    last_that_fits = [
        smaller for smaller, larger in pairwise(fine) if smaller.needed <= task.room.memory_limit < larger.needed
    ]
    sizes = {low, *coarse_sizes(low, high), *(candidate.batch_size for candidate in last_that_fits)}
    several = sorted(size for size in sizes if count_batches(task.n_rows, size) > 1)
    return [judge(size, task, cost) for size in several + [task.n_rows] * (task.n_rows <= reach)]


def judge(batch_size: int, task: Task, cost: BatchCost) -> Candidate:
    """Forecast the fit with this batch size."""
    n_batches = count_batches(task.n_rows, batch_size)
    levels = forecast_levels(task.n_rows, batch_size, cost, task.n_jobs)
    if task.overlap is not None and n_batches > 1:
        n_batches = ceil((1 + task.overlap) * task.n_rows / batch_size)
        levels = Levels(2, ceil(n_batches / task.n_jobs) * cost.seconds(batch_size))  # the second one only fuses
    # A single batch runs its views in parallel, several batches run in parallel; the last level has a single batch.
    n_jobs = min(task.n_jobs, max(task.n_runs, n_batches - 1))
    batch_bytes = cost.n_bytes(min(task.n_rows, LARGEST_BATCH * batch_size))
    return Candidate(
        batch_size=batch_size,
        n_batches=n_batches,
        levels=levels,
        peak=task.room.peak(batch_bytes, n_jobs),
        needed=task.room.peak(MARGIN * batch_bytes, n_jobs),
    )


def choose(candidates: Sequence[Candidate], memory_limit: int) -> Candidate | None:
    """Return the largest batch size below the memory limit whose time is reasonable; None if none fits."""
    fitting = [candidate for candidate in candidates if candidate.needed <= memory_limit]
    most_seconds = reasonable_seconds(fitting)
    return next((candidate for candidate in reversed(fitting) if candidate.levels.seconds <= most_seconds), None)


def reasonable_seconds(candidates: Sequence[Candidate]) -> float:
    """Return twice the time of the cheapest candidate, or a minute if that is more: a fast fit need not be faster."""
    cheapest = min((candidate.levels.seconds for candidate in candidates), default=0.0)
    return max(SLOWER * cheapest, PATIENCE_SECONDS)


def _say_why(chosen: Candidate, candidates: Sequence[Candidate], memory_limit: int) -> str:
    if chosen.n_batches == 1:
        return "all rows fit in one batch"
    larger = candidates[candidates.index(chosen) + 1 :]
    if not larger:
        return "larger batches would take too long to measure"
    if larger[0].needed > memory_limit:
        return "larger batches would not fit"
    return "larger batches would take more than twice as long as small ones"


def _say_no_room(room: Room, held: int, *, on_worker: bool) -> str:
    whose = "the worker with the least memory left" if on_worker else "this process"
    with_data = "" if on_worker else "the data included if it is in memory, "
    remedy = "start workers with more memory" if on_worker else "fit from a file with cohirf.open_source"
    return (
        f"{format_bytes(room.memory_limit)} of memory is too little: {whose} takes {format_bytes(room.taken - held)} "
        f"already, {with_data}and the fit takes another {format_bytes(held)} apart from its batches. "
        f'Allow more, such as batch_size="{format_bytes(2 * room.taken)}", or {remedy}.'
    )


def _say_too_little(task: Task, smallest: Candidate) -> str:
    room = task.room
    return (
        f"{format_bytes(room.memory_limit)} of memory is too little for batches of {smallest.batch_size} rows, the "
        f"smallest that are useful for this base method: they need {format_bytes(smallest.needed)} with "
        f"n_jobs={task.n_jobs}, of which {format_bytes(room.taken)} is used before the first batch. Allow more, such "
        f'as batch_size="{format_bytes(2 * smallest.needed)}", lower n_jobs, or choose a base method that needs less.'
    )


def _format_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
