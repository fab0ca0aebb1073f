"""Choice of the batch size under a memory limit: probe, forecast, choose.

Batches of increasing size are contracted in a separate process (``probe.py``), laws of growth
predict the time and memory of larger ones, and the levels of a fit are simulated. Of the sizes
below the limit, the largest is taken whose fit takes at most twice the time of the cheapest, or a
minute: a larger batch shows the base method more of the density of the data.
docs/choose/batches.rst has the reasons.

Memory is measured to a few percent, so if it is the limit, candidate sizes are a fifth apart. Times
can be wrong by half, so if time is the limit, candidate sizes are 1, 2 or 5 times a power of ten:
the same call should lead to the same choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, inf
from typing import Any, Literal

from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.beyond.policy import CELL
from cohirf.engines.policy import STREAM
from cohirf.error_contexts import warn_caller
from cohirf.in_words import InWords
from cohirf.planning.memory import format_bytes, free_bytes, peak_bytes, reset_peak, resident_bytes
from cohirf.planning.policy import PLAN
from cohirf.planning.probe import (
    BatchCost,
    Probe,
    coarse_sizes,
    fine_sizes,
    fresh_process,
    probe_batch,
    probe_increasing_sizes,
    resident_with,
)
from cohirf.wording import setting

# What keeps batches from being larger: all rows are in one, they are too few to divide, larger
# batches would take too long to measure, would need too much memory, or too much time.
Why = Literal["all rows", "few rows", "measuring", "memory", "time"]


@dataclass(frozen=True)
class BatchPlan(InWords):
    """A batch size, and the expected cost of a fit with it; ``print`` shows it in a line.

    Levels and bytes are None if nothing was measured.
    """

    batch_size: int
    n_batches: int  # at the first level, including the one held aside
    memory_limit: int
    n_levels: int | None = None
    seconds: float = inf  # without reading the data; infinite if almost nothing merges in a batch
    n_bytes: int | None = (
        None  # peak of the process's resident memory, including what it holds already
    )
    needed: int = 0  # the same with a safety margin
    why: Why = "all rows"  # why batches are not larger
    # whether batches grow until all neighbours within a radius have room: how far is not known yet,
    # and smaller ones were measured
    grows: bool = False
    probes: tuple[Probe, ...] = ()  # the measurements, by increasing size

    @property
    def fits(self) -> bool:
        """Whether the memory limit is high enough."""
        return self.needed <= self.memory_limit


@dataclass(frozen=True)
class Room:
    """The memory that a fit may use, and what takes some of it besides the batches."""

    memory_limit: int
    n_jobs: int = 1  # number of batches at a time
    in_processes: bool = False  # whether each is in a process of its own
    held_bytes: int | None = (
        None  # what the fit holds besides its batches; None if its vectors are in memory
    )
    taken_bytes: int | None = (
        None  # what runs batches uses before the fit, if this is not this process
    )
    row_bytes: float = (
        0.0  # of a row that is read with those of a batch, but held aside; 0 if none is
    )
    leaf_bytes: float = (
        0.0  # of the values of a row that the first level leaves; 0 if they are elsewhere
    )


@dataclass(frozen=True)
class PlannedFit:
    """The planned fit: its rows, its room, and the memory that is taken before the first batch."""

    n_rows: int
    n_runs: int  # of the base method, in a batch
    smallest_batch: int
    room: Room
    taken: int = 0
    taken_per_job: int = 0
    overlap: float | None = (
        None  # rows in the halos of local batches, in multiples of their own rows
    )

    @property
    def bytes_per_batch(self) -> float:
        """The memory that each of the concurrent batches may use."""
        return (self.room.memory_limit - self.taken) / self.room.n_jobs - self.taken_per_job

    def forecast(self, batch_size: int, cost: BatchCost) -> BatchPlan:
        """Forecast the fit with this batch size."""
        room = self.room
        n_batches = count_batches(self.n_rows, batch_size)
        n_levels, seconds = forecast_levels(self.n_rows, batch_size, cost, room.n_jobs)
        largest = min(self.n_rows, CELL.largest_batch * batch_size)
        batch_bytes = float(cost.n_bytes(largest))
        of_leaves = 0.0
        if self.overlap is not None and n_batches > 1:
            n_batches = ceil((1 + self.overlap) * self.n_rows / batch_size)
            # the second one only fuses
            n_levels = 2
            seconds = ceil(n_batches / room.n_jobs) * cost.seconds(batch_size)
        elif n_batches > 1:
            size = self.n_rows / n_batches
            # Rows are read with those that are held aside: all are copied, these once more.
            batch_bytes += room.row_bytes * (largest + 3 * size / (n_batches - 1))
            if room.leaf_bytes:
                n_leaves = size + (n_batches - 1) * cost.survivors(size)
                of_leaves = PLAN.leaf_copies * (room.leaf_bytes + PLAN.leaf_bytes) * n_leaves
        # A single batch runs its views in parallel, several batches run in parallel; the last level
        # has a single batch.
        n_jobs = min(room.n_jobs, max(self.n_runs, n_batches - 1))
        of_ending = PLAN.ending_bytes if room.leaf_bytes else 0
        peak, needed = (
            int(
                self.taken
                + max(n_jobs * (self.taken_per_job + some) + of_leaves / 2, of_ending + of_leaves)
            )
            for some in (batch_bytes, PLAN.memory_margin * batch_bytes)
        )
        return BatchPlan(batch_size, n_batches, room.memory_limit, n_levels, seconds, peak, needed)


def plan_batches(
    read_sample: Callable[[int], Any],
    n_rows: int,
    contraction: Contraction,
    room: Room,
    *,
    overlap: float | None = None,
    n_readable: int | None = None,
    grow: Callable[[int], int] | None = None,
) -> BatchPlan:
    """Choose the batch size of a fit by measuring the contraction of samples.

    ``read_sample`` returns a number of rows, of at most ``n_readable``, that are like a batch.
    ``overlap`` is the number of rows in the halos of local batches, in multiples of their own rows.
    ``grow`` returns the size to which batches of the chosen size will grow, until their halos have
    room: a warning says so if that may not fit. Since measurements vary a little, the choice may
    vary by one step.
    """
    reset_peak()  # memory that was freed, but kept, is not taken
    if room.held_bytes is None:
        held = PLAN.held_bytes * n_rows
    else:
        held = room.held_bytes
    taken = held + (resident_bytes() if room.taken_bytes is None else room.taken_bytes)
    if room.memory_limit <= taken:
        raise ValueError(_say_no_room(room, taken, held))
    if count_batches(n_rows, PLAN.smallest_batch) == 1:
        return BatchPlan(n_rows, 1, room.memory_limit, why="few rows")
    smallest = smallest_batch(contraction, n_rows)
    peak = peak_bytes()
    with fresh_process() as call:
        sample = read_sample(smallest)
        # buffers of the reader, which it needs for any number of rows
        taken += max(0, peak_bytes() - peak)
        before = call(resident_with, contraction)  # this process has imported its modules already
        # triggers imports and compilation, whose memory stays
        call(probe_batch, sample, contraction)
        after = call(resident_bytes)
        n_runs = contraction.views.n_runs(sample.shape[1])
        per_job = after if room.in_processes else 0
        taken += max(0, after - before)
        if room.memory_limit <= taken:
            raise ValueError(_say_no_room(room, taken, held))
        task = PlannedFit(n_rows, n_runs, smallest, room, taken, per_job, overlap)
        cost = probe_increasing_sizes(
            lambda size: call(probe_batch, read_sample(size), contraction),
            smallest,
            n_rows,
            bytes_per_batch=task.bytes_per_batch,
            n_jobs=room.n_jobs,
            most=n_readable,
        )
    candidates = list_candidates(task, cost)
    chosen = choose(candidates)
    if chosen is None:
        raise ValueError(
            _say_too_little(task, min(candidates, key=lambda candidate: candidate.needed))
        )
    if grow is not None and chosen.n_batches > 1:
        grown = task.forecast(grow(chosen.batch_size), cost)
        if not grown.fits:
            warn_caller(_say_may_pass(chosen, grown, contraction.views.method.name), UserWarning)
    return replace(chosen, why=_find_why(chosen, candidates), probes=cost.probes)


def plan_for_device(
    device: Any, row_bytes: int, view_share: float, memory_limit: int | None, n_rows: int
) -> int | None:
    """Return the batch size for ``n_rows`` rows on a device: a name that torch knows, or an array
    that is there.

    Memory is not measured there: it is assumed to be linear in the number of rows, as for K-Means,
    which works through distances in blocks. A batch needs memory for its rows, of ``row_bytes``
    bytes, unless they are there already, and for a view of them, which has a share of their
    features. If all rows fit, the result is None: they are one batch. Of several batches, some are
    on the device before they are needed, and one is there with and without its held-aside rows.
    """
    free = free_bytes(device) if memory_limit is None else memory_limit
    copies = view_share + isinstance(device, str)
    if n_rows * (row_bytes * copies + PLAN.device_bytes) <= PLAN.usable * free:
        return None
    copies += (1 + STREAM.runs_ahead) * isinstance(device, str)
    return max(
        2, int(PLAN.usable * free / (CELL.largest_batch * (row_bytes * copies + PLAN.device_bytes)))
    )


def smallest_batch(contraction: Contraction, n_rows: int) -> int:
    """Return the smallest batch size that is useful for the base method."""
    sizes = contraction.views.method.sizes.values()
    return min(n_rows, max(PLAN.smallest_batch, PLAN.rows_per_size * max(sizes, default=0)))


def forecast_levels(
    n_rows: int, batch_size: int, cost: BatchCost, n_jobs: int
) -> tuple[int, float]:
    """Simulate a fit with ``n_jobs`` concurrent batches.

    Return its number of levels, and their time.

    The time is infinite if almost nothing merges in several batches.
    """
    left = float(n_rows)
    seconds = 0.0
    for level in range(1, PLAN.levels + 1):
        n_batches = count_batches(round(left), batch_size)
        size = left / n_batches
        contracted = max(1, n_batches - 1)
        seconds += ceil(contracted / n_jobs) * float(cost.seconds(size))
        before = left
        left = contracted * cost.survivors(size) + (size if n_batches > 1 else 0)
        if n_batches == 1 and left < cost.probes[0].n_rows:
            # too few rows left to forecast: one more level, which merges nothing
            return (
                level + 1,
                seconds,
            )
        if left > PLAN.idle * before:
            return level, seconds if n_batches == 1 else inf
    return PLAN.levels, seconds


def list_candidates(task: PlannedFit, cost: BatchCost) -> list[BatchPlan]:
    """Forecast batch sizes from the smallest up to the reach of the probes, and one batch of all
    rows if within it.

    That is the only one if there are too few rows for two batches of the smallest size.
    """
    reach = PLAN.reach * cost.probes[-1].n_rows
    low = task.smallest_batch
    high = reach / CELL.largest_batch
    fine = [task.forecast(size, cost) for size in fine_sizes(low, high)]
    last_that_fits = [
        smaller.batch_size for smaller, larger in pairwise(fine) if smaller.fits and not larger.fits
    ]
    sizes = {low, *coarse_sizes(low, high), *last_that_fits}
    several = sorted(size for size in sizes if count_batches(task.n_rows, size) > 1)
    is_one = task.n_rows <= reach or not several
    return [task.forecast(size, cost) for size in several + [task.n_rows] * is_one]


def choose(candidates: Sequence[BatchPlan]) -> BatchPlan | None:
    """Return the largest batch size below the memory limit whose time is reasonable.

    None if none fits.

    Reasonable is twice the time of the cheapest candidate, or a minute if that is more: a fast fit
    need not be faster.
    """
    fitting = [candidate for candidate in candidates if candidate.fits]
    cheapest = min((candidate.seconds for candidate in fitting), default=0.0)
    most_seconds = max(PLAN.slower * cheapest, PLAN.patience_seconds)
    return next(
        (candidate for candidate in reversed(fitting) if candidate.seconds <= most_seconds), None
    )


def _find_why(chosen: BatchPlan, candidates: Sequence[BatchPlan]) -> Why:
    if chosen.n_batches == 1:
        return "all rows"
    larger = candidates[candidates.index(chosen) + 1 :]
    if not larger:
        return "measuring"
    return "time" if larger[0].fits else "memory"


def _say_no_room(room: Room, taken: int, held: int) -> str:
    on_worker = room.taken_bytes is not None
    if on_worker:
        whose = "the worker with the least memory left"
    else:
        whose = "this process"
    with_data = "" if on_worker else "the data included if it is in memory, "
    if on_worker:
        remedy = "start workers with more memory"
    else:
        remedy = "fit from a file with cohirf.open_source"
    return (
        f"{format_bytes(room.memory_limit)} of memory is too little: {whose} takes "
        f"{format_bytes(taken - held)} already, {with_data}and the fit takes another "
        f"{format_bytes(held)} apart from its batches. "
        f"Allow more, such as {setting('batch_size', format_bytes(2 * taken))}, or {remedy}."
    )


def _say_too_little(task: PlannedFit, least: BatchPlan) -> str:
    n_jobs = task.room.n_jobs
    return (
        f"{format_bytes(least.memory_limit)} of memory is too little for batches of "
        f"{least.batch_size} rows, which need least of those that are useful for this base method: "
        f"{format_bytes(least.needed)} with {setting('n_jobs', n_jobs)}, of which "
        f"{format_bytes(task.taken)} is used before the first batch. Allow more, such as "
        f"{setting('batch_size', format_bytes(1.25 * least.needed))}, lower "
        f"{setting('n_jobs')}, or choose a base method that needs less."
    )


def _say_may_pass(chosen: BatchPlan, grown: BatchPlan, name: str) -> str:
    # no amount: far beyond the probes, it would be the worst case
    return (
        f"The fit may need more than {format_bytes(chosen.memory_limit)} of memory: batches of "
        f"{chosen.batch_size} rows would fit, but grow to {grown.batch_size}, so that all "
        f"neighbours within the radius of {name} have room. Lower the radius, allow more memory, "
        'or choose batches="random".'
    )
