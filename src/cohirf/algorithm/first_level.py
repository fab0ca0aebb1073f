"""The first level when labels are stored with the data (on Dask): its result, and how the fit continues.

Only the first level sees all rows. It reads them in blocks of consecutive rows. Consecutive blocks form a *run*, which
is contracted on the worker that holds its rows. A run returns its *survivors*: the rows that stay active, with their
values and the sizes of their clusters. Survivors are few, and all later levels are a fit of these rows only. This fit
numbers rows by their position among all survivors. That does not change the result: survivors are sorted by row number,
and random numbers depend on level and batch only.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import Batch, Block, BlocksInOrder, split_into_batches
from cohirf.algorithm.engine import SerialEngine
from cohirf.algorithm.feature_tally import FeatureTally
from cohirf.algorithm.grouping import IntArray, count_by_label, first_rows, index_dtype, sum_by_label
from cohirf.algorithm.levels import (
    BatchTask,
    ContractedBatch,
    Contraction,
    FitState,
    Mass,
    RowsAtHand,
    contract_batch,
    record_level,
)
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.storage import Rows, Storage

LEVEL = 1


@dataclass(frozen=True)
class Run:
    """Consecutive blocks. The object stays small even if the data has millions of blocks.

    Attributes
    ----------
    bounds : array of int
        Number of the first row of each block, and the end of the last block.
    held : array of int
        Sorted numbers of the held-aside rows.
    first_batch : int
        Batch number of the first block.
    n_rows : int
        Number of rows of the whole data.
    """

    bounds: IntArray
    held: IntArray
    first_batch: int
    n_rows: int

    @classmethod
    def of(cls, blocks: list[Block], first_batch: int, n_rows: int) -> Run:
        """Return consecutive blocks as one run."""
        held = np.sort(np.concatenate([block.start + block.held for block in blocks]))
        return cls(np.array([*(block.start for block in blocks), blocks[-1].stop]), held, first_batch, n_rows)

    @property
    def start(self) -> int:
        """Number of the first row."""
        return int(self.bounds[0])

    @property
    def length(self) -> int:
        """Number of rows."""
        return int(self.bounds[-1] - self.bounds[0])

    @property
    def place(self) -> tuple[int, int]:
        """Level and batch."""
        return (LEVEL, self.first_batch)

    @property
    def rows_in(self) -> int:
        """Number of rows that are contracted."""
        return self.length - len(self.held)

    def batches(self) -> Iterator[Batch]:
        """Yield the blocks as batches of rows."""
        for start, stop in pairwise(self.bounds):
            held = self.held[slice(*np.searchsorted(self.held, (start, stop)))]
            yield Block(start, stop, held - start).batch(self.n_rows)


@dataclass(frozen=True)
class Survivors:
    """Rows that stay active after the first level, sorted by row number.

    Attributes
    ----------
    rows : array of int
        Row number of each survivor.
    values : array, or Rows
        Values of each survivor.
    mass : array of float or None
        Mass of each survivor in later levels; None if each has mass 1.
    sizes, first_rows : array of int
        Size of each survivor's first-level cluster, and the smallest row number in it.
    weights : array of float or None
        Total sample weight of each survivor's first-level cluster; None without sample weights.
    stability : array of float32
        Stability of each survivor, as in ``CoHiRF.stability_``; NaN if it was held aside.
    batch_sizes, batch_costs, view_stability : array
        For each batch: the number of contracted rows, the costs, and the stability of each view; see
        ``ContractedBatch``.
    """

    rows: IntArray
    values: Any
    mass: Mass | None
    sizes: NDArray[np.int64]
    first_rows: IntArray
    weights: NDArray[np.float64] | None
    stability: NDArray[np.float32]
    batch_sizes: NDArray[np.int64]
    batch_costs: NDArray[np.float64]
    view_stability: NDArray[np.float64]

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        parts = (getattr(self, field.name) for field in fields(self))
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    @property
    def rows_in(self) -> int:
        """Number of rows that were contracted."""
        return int(self.batch_sizes.sum())

    @property
    def rows_out(self) -> int:
        """Number of medoids they were contracted to."""
        n_held_aside = int(self.sizes.sum()) - self.rows_in
        return len(self.rows) - n_held_aside


@dataclass(frozen=True)
class ContractedRun:
    """The result of a run: survivors, the number of the survivor that represents each row, and each row's stability."""

    survivors: Survivors
    survivor_of: IntArray
    stability: NDArray[np.float32]

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        return sys.getsizeof(self.survivors) + self.survivor_of.nbytes + self.stability.nbytes


def plan_runs(n_rows: int, contraction: Contraction, chunk_starts: IntArray) -> list[Run]:
    """Return the runs of a first level with several batches: for each chunk of data, the blocks that start in it."""
    rng = generator_at(contraction.views.entropy, Draw.SPLIT, LEVEL)
    batches = split_into_batches(n_rows, contraction.batch_size, rng, in_order=True)
    assert isinstance(batches, BlocksInOrder)  # the caller runs this for several batches only
    runs: list[Run] = []
    n_before = 0
    for _, group in groupby(batches.blocks(), lambda block: np.searchsorted(chunk_starts, block.start, side="right")):
        blocks = list(group)
        runs.append(Run.of(blocks, n_before, n_rows))
        n_before += len(blocks)
    return runs


def contract_run(
    run: Run, values: Rows, weights: NDArray[np.float64] | None, contraction: Contraction
) -> ContractedRun:
    """Contract the blocks of a run one after the other.

    ``values`` are read by row number; ``weights`` has one entry for each row of the run.
    """
    survivor_of = np.empty(run.length, dtype=index_dtype(run.length))
    stability = np.full(run.length, np.nan, dtype=np.float32)
    parts: list[Survivors] = []
    n_before = 0
    for number, batch in enumerate(run.batches()):
        of_contracted = _mass(batch.contracted - run.start, weights, contraction)
        of_held = _mass(batch.held_aside - run.start, weights, contraction)
        place = (LEVEL, run.first_batch + number)
        task = BatchTask(values, batch.contracted, batch.held_aside, of_contracted, place, carry_values=True)
        outcome = contract_batch(task, contraction, SerialEngine())
        medoids, held_aside = _numbers_among_survivors(batch, outcome)
        survivor_of[batch.contracted - run.start] = n_before + medoids[outcome.labels]
        survivor_of[batch.held_aside - run.start] = n_before + held_aside
        stability[batch.contracted - run.start] = outcome.stability
        parts.append(_survivors(batch, outcome, of_contracted, of_held, has_weights=weights is not None))
        n_before += len(parts[-1].rows)
    return ContractedRun(_join(parts), survivor_of, stability)


def gather_survivors(parts: Iterable[Survivors], storage: Storage) -> Survivors:
    """Concatenate the survivors of all runs; their values are written to ``storage`` as they arrive."""
    gatherer = storage.gather()
    small = []
    for part in parts:
        gatherer.add(part.values)
        small.append(replace(part, values=None))
    return replace(_join(small), values=gatherer.rows())


def state_after(
    survivors: Survivors,
    n_rows: int,
    contraction: Contraction,
    max_level: int,
    storage: Storage,
    tally: FeatureTally | None = None,
) -> FitState:
    """Return the state after the first level; its data are the survivors only."""
    n_survivors = len(survivors.rows)
    if tally is not None:
        for number, (size, of_view) in enumerate(zip(survivors.batch_sizes, survivors.view_stability, strict=True)):
            tally.add((LEVEL, number), int(size), of_view)
    state = FitState.initial(RowsAtHand(survivors.values), None, max_level, storage, tally)
    state.stability[:] = survivors.stability
    return replace(
        state,
        mass=survivors.mass,
        level=LEVEL,
        idle_levels=int(n_survivors == n_rows),
        record=record_level(LEVEL, n_rows, n_survivors, survivors.batch_sizes, survivors.batch_costs),
    )


def _mass(within_run: IntArray, weights: NDArray[np.float64] | None, contraction: Contraction) -> Mass | None:
    """Return the mass of the rows at the given offsets in the run; None if the fit is not weighted."""
    if not contraction.weighted:
        return None
    return np.ones(len(within_run)) if weights is None else weights[within_run]


def _survivor_rows(batch: Batch, outcome: ContractedBatch) -> IntArray:
    """Return the row numbers of the medoids of a batch, followed by the held-aside rows."""
    return np.concatenate([batch.contracted[outcome.medoids], batch.held_aside])


def _numbers_among_survivors(batch: Batch, outcome: ContractedBatch) -> tuple[IntArray, IntArray]:
    """Return the position of each medoid, and of each held-aside row, in the sorted union of both."""
    numbers = np.argsort(np.argsort(_survivor_rows(batch, outcome)))
    return numbers[: len(outcome.medoids)], numbers[len(outcome.medoids) :]


def _survivors(
    batch: Batch, outcome: ContractedBatch, of_contracted: Mass | None, of_held: Mass | None, *, has_weights: bool
) -> Survivors:
    rows = _survivor_rows(batch, outcome)
    order = np.argsort(rows)
    n_medoids, n_held = len(outcome.medoids), len(batch.held_aside)
    sizes = [count_by_label(outcome.labels, n_medoids), np.ones(n_held, dtype=np.int64)]
    first = [batch.contracted[first_rows(outcome.labels, n_medoids)], batch.held_aside]
    weights = None
    if has_weights:
        weights = np.concatenate([sum_by_label(outcome.labels, of_contracted, n_medoids), of_held])[order]
    return Survivors(
        rows=rows[order],
        values=outcome.values,  # already in this order
        mass=None if outcome.mass is None else np.concatenate([outcome.mass, of_held])[order],
        sizes=np.concatenate(sizes)[order],
        first_rows=np.concatenate(first)[order],
        weights=weights,
        stability=np.concatenate([outcome.stability[outcome.medoids], np.full(n_held, np.nan, np.float32)])[order],
        batch_sizes=np.array([len(batch.contracted)]),
        batch_costs=np.array([outcome.costs], dtype=np.float64),
        view_stability=outcome.view_stability[None],
    )


def _join(parts: list[Survivors]) -> Survivors:
    """Concatenate survivors."""
    joined: dict[str, Any] = {}
    for name in (field.name for field in fields(Survivors)):
        columns = [getattr(part, name) for part in parts]
        joined[name] = None if columns[0] is None else np.concatenate(columns)
    return Survivors(**joined)
