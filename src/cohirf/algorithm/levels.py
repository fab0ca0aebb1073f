"""The loop over levels: Algorithm 1 of the paper, with batches.

CoHiRF without batches is the case of one batch. Every level is a map from active rows to
*survivors*, the rows that stay active, and is made of runs of batches. The first level sees all
rows of the data. Its survivors are the *leaves* of all later levels, which are a fit of these rows
only. That does not change the result: leaves are sorted by row number, and random numbers depend on
level and batch only.

``contract_levels`` yields a small state after each level. Logs and diagnostics consume these
states; progress bars and checkpoints wrap the engine. None of them is part of the algorithm.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import Batches, Run, cut_at_chunks, cut_into_runs, split_into_batches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.parents import Fusions, Recorded
from cohirf.algorithm.policy import STEP
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.runs import (
    PAPER,
    ContractedRun,
    RunTask,
    Steps,
    Survivors,
    contract_run,
    gather_survivors,
    held_aside,
)
from cohirf.rows import ranges
from cohirf.rows.grouping import IntArray, Mass
from cohirf.rows.storage import Engine, Rows, SerialEngine, SomeRows, Storage


@dataclass(frozen=True)
class Resources:
    """Where runs and views are computed (engines), and where arrays that grow with the data are
    kept (storage).
    """

    run_engine: Engine = field(default_factory=SerialEngine)
    view_engine: Engine = field(default_factory=SerialEngine)
    storage: Storage = field(default_factory=Storage)


@dataclass(frozen=True)
class LevelRecord:
    """Sizes, agreement and times of one level.

    ``views_kept``, ``agreement`` and ``stability`` are means over rows.

    Attributes
    ----------
    level : int
        Number of the level, from 1.
    n_batches : int
        Number of batches that were contracted, without the one held aside.
    rows_in, rows_held_aside, rows_out : int
        Number of active rows before the level, of rows that were held aside, and of active rows
        after the level.
    views_kept : float
        Number of views that took part in the consensus.
    agreement : float
        Mean adjusted Rand index between pairs of views; NaN for a single view.
    stability : float
        Mean Jaccard index between each row's group and its cluster in each view, as in
        ``CoHiRF.stability_``.
    base_seconds, consensus_seconds, medoid_seconds : float
        Time spent in the base method, in the consensus and in the choice of medoids, summed over
        views and batches.
    kind : {"all", "random", "local", "exact", "spanning", "fused"}
        Which rows were clustered together: all active rows; "random" rows, or blocks of consecutive
        rows; neighbouring rows ("local"). If local batches have all rows that their
        labels depend on, they are "exact": the clusters are those of the base method on all rows,
        except that a border row that is near to two clusters may be in either of them, and up to
        ties at exactly the radius of a metric on the sphere. "spanning" means HDBSCAN in local
        batches, whose spanning trees were joined. At a "fused" level, clusters that reach over
        several local batches were put together.
    """

    level: Annotated[int, ranges.counts()]
    n_batches: Annotated[int, ranges.counts()]
    rows_in: Annotated[int, ranges.counts()]
    rows_held_aside: Annotated[int, ranges.counts()]
    rows_out: Annotated[int, ranges.counts()]
    views_kept: Annotated[float, ranges.cells()]
    agreement: Annotated[float, ranges.cells()]
    stability: Annotated[float, ranges.shares()]
    base_seconds: Annotated[float, ranges.measures(least=0)]
    consensus_seconds: Annotated[float, ranges.measures(least=0)]
    medoid_seconds: Annotated[float, ranges.measures(least=0)]
    kind: Annotated[str, ranges.OneOf(("all", "random", "local", "exact", "spanning", "fused"))] = (
        "random"
    )

    @classmethod
    def of(
        cls, level: int, rows_in: int, survivors: Survivors, kind: str | None = None
    ) -> LevelRecord:
        """Return the record of a level with ``rows_in`` active rows.

        Without a kind, it has all or random rows.
        """
        sizes = survivors.batch_sizes
        if kind is None:
            if len(sizes) == 1 and sizes.sum() == rows_in:
                kind = "all"
            else:
                kind = "random"
        views_kept, agreement, stability = (
            float(np.average(figure, weights=sizes)) for figure in survivors.batch_costs.T[:3]
        )
        base, consensus, medoids = (float(of_step.sum()) for of_step in survivors.batch_costs.T[3:])
        return cls(
            level,
            len(sizes),
            rows_in,
            int(rows_in - sizes.sum()),
            len(survivors.rows),
            views_kept,
            agreement,
            stability,
            base,
            consensus,
            medoids,
            kind,
        )


@dataclass(frozen=True)
class ActiveRows:
    """The rows that a level contracts."""

    values: Rows  # values of the active rows, and perhaps of others
    index: IntArray | None = (
        None  # sorted index of each active row in ``values``; None if all of these rows are active
    )
    mass: Mass | None = None  # mass of each active row; None if each has mass 1
    # Whether the rows are best read once and in order. Batches are then blocks of consecutive rows,
    # and the survivors carry their values.
    in_order: bool = False
    # Number of the first row of each chunk of the data, if each run has the batches that start in
    # one chunk
    chunk_starts: IntArray | None = None
    batches: Batches | None = (
        None  # the batches, if they follow from the values of the rows; otherwise they are drawn
    )
    steps: Steps = PAPER  # how each batch is contracted

    @property
    def n_rows(self) -> int:
        """Number of active rows."""
        return self.values.n_rows if self.index is None else len(self.index)

    def at(self, positions: IntArray) -> IntArray:
        """Return the index of the active rows at ``positions``."""
        return positions if self.index is None else self.index[positions]

    def find(self, indices: IntArray) -> IntArray:
        """Return the position of the active rows with the given indices."""
        if self.index is None:
            return indices
        return np.searchsorted(self.index, indices)


@dataclass(frozen=True)
class FitState:
    """The state between two levels."""

    active: ActiveRows  # the leaves that are still active; their index is the number of the leaf
    fusions: Fusions  # the fusions of leaves so far
    survivors: Survivors  # survivors of the last level
    level: int  # number of the last level
    idle_levels: int  # number of consecutive levels that merged nothing
    record: LevelRecord  # record of the last level
    # For each leaf, whether the base method called it noise at the last level that clustered it
    is_noise: NDArray[np.bool_]

    @classmethod
    def of_leaves(
        cls,
        leaves: Survivors,
        values: Rows,
        rows_in: int,
        max_level: int,
        storage: Storage,
        kind: str | None = None,
    ) -> FitState:
        """Return the state after a first level that has contracted ``rows_in`` of the rows of
        ``values``.

        Above ``max_level``, another level may merge clusters to the wanted number.
        """
        if leaves.values is None:
            own = SomeRows(values, leaves.rows)
        else:
            own = leaves.values
        return cls(
            active=ActiveRows(own, None, leaves.mass),
            fusions=Fusions.none(leaves.stability, max(2, max_level) + 1, storage),
            survivors=leaves,
            level=1,
            idle_levels=int(len(leaves.rows) == rows_in),
            record=LevelRecord.of(1, rows_in, leaves, kind),
            is_noise=leaves.is_noise,
        )

    @property
    def n_active(self) -> int:
        """Number of active rows."""
        return self.active.n_rows

    @property
    def converged(self) -> bool:
        """Whether the last level clustered all active rows in one batch and merged none."""
        return self.idle_levels > 0 and self.record.rows_held_aside == 0

    @property
    def stalled(self) -> bool:
        """Whether two consecutive levels merged nothing, the second one with other random
        batches.
        """
        return self.idle_levels > 1

    def with_steps(self, steps: Steps) -> FitState:
        """Return the state with other steps for the levels that follow."""
        return replace(self, active=replace(self.active, steps=steps))

    def after(self, survivors: Survivors, kind: str | None = None) -> FitState:
        """Return the state after another level."""
        n_active = self.n_active
        clustered = ~np.isnan(survivors.stability)  # the others were held aside
        is_noise = self.is_noise.copy()
        is_noise[survivors.rows[clustered]] = survivors.is_noise[clustered]
        return replace(
            self,
            active=replace(self.active, index=survivors.rows, mass=survivors.mass),
            survivors=survivors,
            level=self.level + 1,
            idle_levels=self.idle_levels + 1 if len(survivors.rows) == n_active else 0,
            record=LevelRecord.of(self.level + 1, n_active, survivors, kind),
            is_noise=is_noise,
        )


def contract_levels(
    state: FitState,
    contraction: Contraction,
    max_level: int,
    resources: Resources,
    is_done: Callable[[FitState], bool] | None = None,
) -> Iterator[FitState]:
    """Contract level after level; yield the state after each level, the first one included.

    The levels end if nothing merges or, with ``is_done``, as soon as this function says so.
    """
    is_done = is_done or (lambda state: state.converged or state.stalled)
    yield state
    while state.level < max_level and not is_done(state):
        state = state.after(
            contract_level(state.active, state.level + 1, contraction, resources, state.fusions)
        )
        yield state


def contract_level(
    active: ActiveRows,
    level: int,
    contraction: Contraction,
    resources: Resources,
    fusions: Recorded | None,
    watch: Callable[[ContractedRun], None] | None = None,
) -> Survivors:
    """Contract each batch of active rows to its medoids, and record the fusions, unless they are
    kept elsewhere.

    ``watch`` is called with each run.
    """
    batches, cuts = split_level(active, level, contraction)
    tasks = make_tasks(active, level, batches, cuts, resources, fusions)
    # closed, so that an error here ends what is still running elsewhere
    with closing(run_tasks(tasks, len(cuts), contraction, resources)) as outcomes:
        survivors = record_runs(outcomes, fusions, resources.storage, watch)
        return gather_survivors(
            chain(_hold_aside(active, batches, contraction), survivors), resources.storage
        )


def split_level(
    active: ActiveRows, level: int, contraction: Contraction
) -> tuple[Batches, IntArray]:
    """Return the batches of a level, and the numbers of those at which its runs begin."""
    if active.batches is not None:
        return active.batches, cut_into_runs(active.batches.n_batches, active.n_rows)
    rng = generator_at(contraction.views.entropy, Draw.SPLIT, level)
    batches = split_into_batches(
        active.n_rows, contraction.batch_size, rng, in_order=active.in_order
    )
    if active.chunk_starts is not None:
        return batches, cut_at_chunks(batches.starts, active.chunk_starts)
    return batches, cut_into_runs(batches.n_batches, active.n_rows)


def make_tasks(
    active: ActiveRows,
    level: int,
    batches: Batches,
    cuts: IntArray,
    resources: Resources,
    fusions: Recorded | None,
) -> Iterator[RunTask]:
    """Return tasks, one for each run, which are made when they are needed, perhaps in another
    thread.
    """
    engine = resources.run_engine
    storage = resources.storage
    values = engine.share(active.values)
    can_write = engine.writes_here and (engine.is_serial or storage.is_shared)

    def make_task(run: Run) -> RunTask:
        of_run = run.among(active.index)
        return RunTask(
            run=of_run,
            level=level,
            values=values,
            mass=None if active.mass is None else active.mass[run.rows],
            carry_values=active.in_order,
            fusions=fusions if can_write else None,
            n_batches=batches.n_batches,
            steps=active.steps.of_run(run, of_run, level),
        )

    return map(make_task, batches.runs(cuts))


def run_tasks(
    tasks: Iterable[RunTask], n_tasks: int, contraction: Contraction, resources: Resources
) -> Generator[tuple[RunTask, ContractedRun], None, None]:
    """Contract runs, and yield each with its result, in order.

    The views of a single run are computed in parallel, if its rows are here. Several runs are
    contracted in parallel, each one view after the other.
    """
    under_way: deque[RunTask] = deque()

    def calls() -> Iterator[tuple[Any, ...]]:
        for task in tasks:
            under_way.append(task)
            views_here = n_tasks == 1 and not task.keeps_map
            yield task, contraction, resources.view_engine if views_here else SerialEngine()

    for outcome in resources.run_engine.run(contract_run, calls(), n_tasks):
        yield under_way.popleft(), outcome
    if under_way:
        raise RuntimeError(
            f"{len(under_way)} runs of batches have no result: the engine has lost them."
        )


def record_runs(
    outcomes: Iterable[tuple[RunTask, ContractedRun]],
    fusions: Recorded | None,
    storage: Storage,
    watch: Callable[[ContractedRun], None] | None = None,
) -> Iterator[Survivors]:
    """Record fusions that have not been recorded where they were found.

    Yield the survivors of each run.
    """
    rows_held = 0
    for task, outcome in outcomes:
        if fusions is not None and outcome.survivor_of is not None:
            outcome.record(task, fusions)
        if watch is not None:
            watch(outcome)
        rows_held += task.run.length
        if rows_held > STEP.entries_in_memory:
            storage.release()
            rows_held = 0
        yield outcome.survivors


def _hold_aside(active: ActiveRows, batches: Batches, contraction: Contraction) -> list[Survivors]:
    """Return the held-aside rows that are in no run."""
    positions = batches.held_aside
    if len(positions) == 0:
        return []
    given = None if active.mass is None else active.mass[positions]
    if not contraction.weighted:
        mass = None
    elif given is None:
        mass = np.ones(len(positions))
    else:
        mass = given
    means = None
    if contraction.keeps_means:
        values = active.values.take(active.at(positions))
        means = contraction.points(values).astype(np.float64)
    return [held_aside(active.at(positions), mass, given, means, contraction.views.n_views)]
