"""Which batch size to take under a memory limit: probe, forecast, choose.

**Few rows.** Rows that even the smallest batches would not divide are one batch. Nothing is measured for them: there is
nothing to choose, and a process that measures takes longer than their fit.

**Probe.** The whole batch step runs on uniform samples of rising size in a process of its own, which tells the time
and the peak memory of each. It starts at the smallest batch that makes sense and ends when the next probe would take
more than half of the memory that a batch may have, or more time than probing is worth.

**Forecast.** Laws fitted to the probes say what time and memory a batch takes, up to four times the largest probe. A
fit is played through level by level with the share of rows that the probes left.

**Choose.** Of the batch sizes that keep the process under the limit, the largest whose fit is expected to take at
most twice the time of the cheapest, or at most a minute. A larger batch shows the base method more of the density of
the data, and thin batches are where the scheme fails: so quality asks for the largest batch. But in larger batches a
super-linear base method costs more per row: so time may say stop before memory does. The cheapest size is judged
with all its levels: batches so thin that hardly anything merges need many, and are not cheap.

Memory is measured to a few percent, so where it decides, sizes are a fifth apart. Times can be off by half, so where
they decide, sizes are 1, 2 or 5 times a power of ten: the same call should lead to the same choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from time import perf_counter
from typing import Any

from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.levels import Contraction
from cohirf.planning.byte_sizes import format_bytes
from cohirf.planning.forecast import BatchCost, Levels, forecast_levels
from cohirf.planning.memory import resident_bytes
from cohirf.planning.probe import Call, Probe, fresh_process, probe_batch
from cohirf.planning.probe_sizes import probe_increasing_sizes
from cohirf.planning.round_sizes import coarse_sizes, fine_sizes

# In smaller batches most methods have nothing to find, and calls cost more than what is done in them. A method that
# looks for n_clusters clusters or at n_neighbors neighbours gets ten times as many rows.
SMALLEST_BATCH = 100
ROWS_PER_SIZE = 10
LARGEST_BATCH = 1.5  # in units of batch_size; see count_batches
REACH = 4.0  # how far beyond the largest probe a batch may go
MARGIN = 1.3  # on the memory of a batch: fragmentation, and rows that are unlike those of the sample
HELD_BYTES_PER_ROW = 36  # row numbers, parents, levels, mass, stability and labels of a fit in memory
SLOWER = 2.0
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class BatchPlan:
    """A batch size, what a fit with it is expected to take, and the measurements behind it.

    Attributes
    ----------
    batch_size : int
        About how many rows are contracted together; never more than one and a half times as many.
    n_batches : int
        Number of batches at the first level, the one held aside included.
    n_levels : int or None
        Number of levels expected; None if nothing was measured.
    seconds : float or None
        Time expected, without reading the data; infinite if next to nothing merges in a batch; None if nothing was
        measured.
    n_bytes : int or None
        Peak of the resident memory of the process expected, all that it holds already included; None if nothing was
        measured.
    memory_limit : int
        The limit that was planned for.
    reason : str
        Why the batches are no larger.
    probes : tuple of Probe
        What was measured, by rising size.
    probing_seconds : float
        How long the measurements took, the start of a process included.
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
    """The memory limit, and what is taken of it whatever the batches are."""

    memory_limit: int
    taken: int
    taken_per_job: int = 0

    def for_batch(self, n_jobs: int) -> float:
        """Return the memory that each of ``n_jobs`` batches may take."""
        return (self.memory_limit - self.taken) / n_jobs - self.taken_per_job

    def peak(self, batch_bytes: float, n_jobs: int) -> int:
        """Return the memory at the peak, with ``n_jobs`` batches at the same time."""
        return int(self.taken + n_jobs * (self.taken_per_job + batch_bytes))


@dataclass(frozen=True)
class Trial:
    """The batch step, run on samples of the data in another process."""

    call: Call
    read_sample: Callable[[int], Any]
    contraction: Contraction

    def measure(self, n_rows: int) -> Probe:
        """Probe a batch of so many rows."""
        probe: Probe = self.call(probe_batch, self.read_sample(n_rows), self.contraction)
        return probe

    def first_call(self, n_rows: int) -> tuple[int, int]:
        """Load and compile what later calls find ready; return the memory that this takes, and the columns."""
        X = self.read_sample(n_rows)
        before = self.call(resident_bytes)
        self.call(probe_batch, X, self.contraction)
        return max(0, self.call(resident_bytes) - before), X.shape[1]


@dataclass(frozen=True)
class Task:
    """The fit that is planned: how often the base method runs on a batch, what may run at once, what there is."""

    n_rows: int
    n_runs: int
    n_jobs: int
    smallest_batch: int
    room: Room


@dataclass(frozen=True)
class Candidate:
    """A batch size, what it would take, and the memory it needs to be safe."""

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
) -> BatchPlan:
    """Choose the batch size of a fit by measuring its batch step on samples.

    Parameters
    ----------
    read_sample : callable
        Returns so many rows of the data, drawn uniformly. It is called once for each size that is probed.
    n_rows : int
        Number of rows of the data.
    contraction : Contraction
        What the fit does to a batch; its own ``batch_size`` plays no part.
    memory_limit : int
        Bytes that the process that runs batches may take at its peak, with all it holds already.
    n_jobs : int
        How many batches, or views of a last batch, run at the same time.
    held_bytes : int, optional
        What the fit holds apart from its batches. By default 36 bytes a row, for a fit in memory.
    taken_bytes : int, optional
        What the process that runs batches takes before the fit. By default what this process takes.
    in_processes : bool
        Whether batches run in processes of their own, each of which holds the interpreter once more.

    Returns
    -------
    plan : BatchPlan
        The choice, with the forecast and the measurements behind it. Since those vary a little, the choice may vary
        by a step.
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
        probes = probe_increasing_sizes(trial.measure, smallest, n_rows, bytes_per_batch=bytes_per_batch, n_jobs=n_jobs)
    task = Task(n_rows, contraction.views.n_runs(n_features), n_jobs, smallest, room)
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
    """Return the size below which batches make no sense for the base method."""
    sizes = contraction.views.method.sizes.values()
    return min(n_rows, max(SMALLEST_BATCH, ROWS_PER_SIZE * max(sizes, default=0)))


def _plan_few_rows(n_rows: int, memory_limit: int) -> BatchPlan:
    """Put all rows in one batch, unmeasured."""
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
    """Judge batch sizes from the smallest up to what the probes can tell, and up to all rows in one batch."""
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
    # One batch runs its views at the same time, several run beside each other; the last level has one.
    n_jobs = min(task.n_jobs, max(task.n_runs, n_batches - 1))
    batch_bytes = cost.n_bytes(min(task.n_rows, LARGEST_BATCH * batch_size))
    return Candidate(
        batch_size=batch_size,
        n_batches=n_batches,
        levels=forecast_levels(task.n_rows, batch_size, cost, task.n_jobs),
        peak=task.room.peak(batch_bytes, n_jobs),
        needed=task.room.peak(MARGIN * batch_bytes, n_jobs),
    )


def choose(candidates: Sequence[Candidate], memory_limit: int) -> Candidate | None:
    """Return the largest batch size under the limit that takes no more than is reasonable; None if none fits."""
    fitting = [candidate for candidate in candidates if candidate.needed <= memory_limit]
    most_seconds = reasonable_seconds(fitting)
    return next((candidate for candidate in reversed(fitting) if candidate.levels.seconds <= most_seconds), None)


def reasonable_seconds(candidates: Sequence[Candidate]) -> float:
    """Return twice the time of the cheapest, or a minute: a fit that is done by then gains nothing from haste."""
    cheapest = min((candidate.levels.seconds for candidate in candidates), default=0.0)
    return max(SLOWER * cheapest, PATIENCE_SECONDS)


def _say_why(chosen: Candidate, candidates: Sequence[Candidate], memory_limit: int) -> str:
    if chosen.n_batches == 1:
        return "all rows fit in one batch"
    larger = candidates[candidates.index(chosen) + 1 :]
    if not larger:
        return "larger batches would take too long to try out"
    if larger[0].needed > memory_limit:
        return "larger batches would not fit"
    return "larger batches would take more than twice as long as small ones"


def _say_no_room(room: Room, held: int, *, on_worker: bool) -> str:
    whose = "the worker with the least memory left" if on_worker else "this process"
    with_data = "" if on_worker else "the data included if it is in memory, "
    remedy = "start workers with more memory" if on_worker else "fit from a file with cohirf.open_source"
    return (
        f"memory_limit={format_bytes(room.memory_limit)} is too low: {whose} takes {format_bytes(room.taken - held)} "
        f"already, {with_data}and the fit takes another {format_bytes(held)} apart from its batches. "
        f"Raise memory_limit, or {remedy}."
    )


def _say_too_little(task: Task, smallest: Candidate) -> str:
    room = task.room
    return (
        f"memory_limit={format_bytes(room.memory_limit)} is too low for batches of {smallest.batch_size} rows, the "
        f"smallest that make sense for this base method: they need {format_bytes(smallest.needed)} with "
        f"n_jobs={task.n_jobs}, of which {format_bytes(room.taken)} is taken before the first batch. Raise "
        f"memory_limit, lower n_jobs, or choose a base method that takes less memory."
    )


def _format_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
