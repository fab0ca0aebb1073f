"""Algorithm 1 and the batching levels: the only loop.

Plain CoHiRF is the case of one batch. ``contract_levels`` yields a small state after each level; progress, logs,
diagnostics and checkpoints consume it, or stand between the loop and the engine, and none of them enters the
algorithm.

Rows have three kinds of numbers: their *row number* in the data; their *index* in what is at hand, from which values
are read; and their *position* among the active ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cohirf.algorithm.batches import Batch, Batches, split_into_batches
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.companions import Companions
from cohirf.algorithm.consensus import Codes, Consensus
from cohirf.algorithm.engine import Engine, SerialEngine
from cohirf.algorithm.feature_tally import FeatureTally
from cohirf.algorithm.get_clusters import Views, get_clusters
from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks, sum_by_label
from cohirf.algorithm.parents import update_parents
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.storage import ArrayRows, MemoryStorage, Rows, Storage

RELEASE_ROWS = 2**22  # as many entries of the vectors may be held in memory that could be elsewhere

Mass = NDArray[np.float64]
ChooseMedoids = Callable[[Any, IntArray, int, Mass | None, np.random.Generator], IntArray]


@dataclass(frozen=True)
class Contraction:
    """What is done to a batch: the three steps of the paper and their options."""

    views: Views
    consensus: Callable[[Codes], Consensus]
    choose_medoids: ChooseMedoids
    batch_size: int | None
    weighted: bool = False  # whether rows count with their mass
    sum_mass: bool = False  # whether a medoid has the mass of all rows it stands for, or that of one row
    column_means: NDArray[np.floating[Any]] | None = None  # what missing cells count as when distances are measured


@dataclass(frozen=True)
class Resources:
    """Where batches and the views of a single one run, and where what grows with the data is kept or drawn from."""

    batch_engine: Engine = field(default_factory=SerialEngine)
    view_engine: Engine = field(default_factory=SerialEngine)
    storage: Storage = field(default_factory=MemoryStorage)
    companions: Companions | None = None  # what stands in for weights


@dataclass(frozen=True)
class RowsAtHand:
    """Rows whose values can be read.

    Attributes
    ----------
    values : Rows
        What is read from.
    numbers : array of int or None
        Row number of each of them in the data, rising; None if they are the whole data.
    in_order : bool
        Whether they are best read once and in order. Their level then carries the values of the rows that stay
        active along, and these are at hand from there on.
    """

    values: Rows
    numbers: IntArray | None = None
    in_order: bool = False

    def number(self, index: IntArray) -> IntArray:
        """Return the row numbers of the rows at ``index``."""
        return index if self.numbers is None else self.numbers[index]

    def take(self, numbers: IntArray) -> Any:
        """Return the values of the rows with the given row numbers, in their order."""
        order = np.argsort(numbers)
        rising = numbers[order]
        values = self.values.take(rising if self.numbers is None else np.searchsorted(self.numbers, rising))
        return values[np.argsort(order)]


@dataclass(frozen=True)
class LevelRecord:
    """What one level did. With several batches, ``views_kept``, ``agreement`` and ``stability`` are means over rows.

    Attributes
    ----------
    level : int
        Number of the level, from 1.
    n_batches : int
        How many batches were contracted, not counting the one held aside.
    rows_in, rows_held_aside, rows_out : int
        Active rows before the level, those of them that were held aside, and active rows after it.
    views_kept : float
        How many views took part in the consensus.
    agreement : float
        Mean adjusted Rand index between pairs of views; NaN for a single view.
    stability : float
        How far views confirm the groups that fused, as in ``CoHiRF.stability_``: the mean over rows.
    base_seconds, consensus_seconds, medoid_seconds : float
        Time in the base method, in the consensus and in the choice of medoids, added up over views and batches.
    """

    level: int
    n_batches: int
    rows_in: int
    rows_held_aside: int
    rows_out: int
    views_kept: float
    agreement: float
    stability: float
    base_seconds: float
    consensus_seconds: float
    medoid_seconds: float


@dataclass(frozen=True)
class FitState:
    """The state between two levels.

    ``parents``, ``absorbed_at`` and ``stability`` are the same arrays from level to level and are updated in place: a
    consumer that keeps them must copy them.

    Attributes
    ----------
    at_hand : RowsAtHand
        What values are read from.
    active : array of int or None
        Index of each active row in what is at hand, rising; None if all of it is active.
    mass : array of float or None
        Mass of each active row; None if each counts as one.
    parents, absorbed_at : array of int
        The hierarchy so far; see ``parents.py``.
    stability : array of float32
        How far views confirmed the group of each row at the last level that saw it; NaN where none did.
    tally : FeatureTally or None
        Counts how far views confirmed groups by the features they held, from level to level.
    """

    at_hand: RowsAtHand
    active: IntArray | None
    mass: Mass | None
    parents: IntArray
    absorbed_at: IntArray
    stability: NDArray[np.float32]
    tally: FeatureTally | None = None
    level: int = 0
    idle_levels: int = 0  # how many levels in a row merged nothing
    record: LevelRecord | None = None

    @classmethod
    def initial(
        cls,
        at_hand: RowsAtHand,
        weights: Mass | None,
        max_level: int,
        storage: Storage,
        tally: FeatureTally | None = None,
    ) -> FitState:
        """Return the state in which every row stands for itself; rows of weight 0 are not active."""
        n_rows = at_hand.values.n_rows
        parents = storage.vector(n_rows, index_dtype(n_rows))
        absorbed_at = storage.vector(n_rows, np.min_scalar_type(max_level))
        stability = storage.vector(n_rows, np.float32)
        for block in row_blocks(n_rows):
            parents[block] = np.arange(block.start, block.stop, dtype=parents.dtype)
            absorbed_at[block] = 0
            stability[block] = np.nan
        active = None if weights is None or weights.all() else np.flatnonzero(weights)
        mass = weights if weights is None or active is None else weights[active]
        return cls(at_hand, active, mass, parents, absorbed_at, stability, tally)

    @property
    def n_active(self) -> int:
        """Number of active rows."""
        return self.at_hand.values.n_rows if self.active is None else len(self.active)

    @property
    def converged(self) -> bool:
        """Whether the last level saw all rows at once and merged none."""
        return self.idle_levels > 0 and self.record is not None and self.record.rows_held_aside == 0

    @property
    def stalled(self) -> bool:
        """Whether several batches merged nothing twice, the second time after a reshuffle."""
        return self.idle_levels > 1

    def index(self, positions: IntArray) -> IntArray:
        """Return where the values of the active rows at ``positions`` are at hand."""
        return positions if self.active is None else self.active[positions]

    def row_numbers(self, positions: IntArray) -> IntArray:
        """Return the row numbers, in the data, of the active rows at ``positions``."""
        return self.at_hand.number(self.index(positions))


@dataclass(frozen=True)
class BatchTask:
    """One batch: what to read, the mass of the rows to contract, and the place (level, batch) that seeds it."""

    values: Rows
    contracted: IntArray
    held_aside: IntArray
    mass: Mass | None
    place: tuple[int, int]
    carry_values: bool
    companions: Any = None  # values of rows that are shown to the base method beside those to contract

    @property
    def rows_in(self) -> int:
        """Number of rows to contract."""
        return len(self.contracted)

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process with a handle on the data, or with the rows of this batch: never with all at hand."""
        values, contracted, held_aside = self.values, self.contracted, self.held_aside
        if isinstance(values, ArrayRows):
            together = _merge(contracted, held_aside)
            values = ArrayRows(values.take(together))
            contracted, held_aside = np.searchsorted(together, contracted), np.searchsorted(together, held_aside)
        return BatchTask, (values, contracted, held_aside, self.mass, self.place, self.carry_values, self.companions)


@dataclass(frozen=True)
class ContractedBatch:
    """What became of a batch.

    Attributes
    ----------
    labels : array of int
        The consensus cluster of each contracted row.
    medoids : array of int
        The medoid of each cluster, as a number among the contracted rows.
    mass : array of float or None
        Mass of each medoid.
    values : array or None
        Values of the medoids and the rows held aside, in rising order of these rows, if they are to be carried along.
    stability : array of float32
        How far views confirm the cluster of each contracted row.
    view_stability : array of float
        How far each view confirms the clusters.
    """

    labels: IntArray
    medoids: IntArray
    mass: Mass | None
    values: Any
    stability: NDArray[np.float32]
    view_stability: NDArray[np.float64]
    views_kept: int
    agreement: float
    base_seconds: float
    consensus_seconds: float
    medoid_seconds: float

    @property
    def rows_in(self) -> int:
        """Number of rows that were contracted."""
        return len(self.labels)

    @property
    def rows_out(self) -> int:
        """Number of medoids they were contracted to."""
        return len(self.medoids)

    @property
    def costs(self) -> tuple[float, ...]:
        """What the record of a level averages or adds up, in its order."""
        return (
            self.views_kept,
            self.agreement,
            float(self.view_stability.mean()),
            self.base_seconds,
            self.consensus_seconds,
            self.medoid_seconds,
        )


def contract_levels(
    state: FitState, contraction: Contraction, max_level: int, resources: Resources
) -> Iterator[FitState]:
    """Contract level after level until nothing merges any more, and yield the state after each."""
    while state.level < max_level and not (state.converged or state.stalled):
        state = contract_level(state, contraction, resources)
        yield state


def contract_level(state: FitState, contraction: Contraction, resources: Resources) -> FitState:
    """Contract each batch of active rows to its medoids."""
    level = state.level + 1
    rng = generator_at(contraction.views.entropy, Draw.SPLIT, level)
    batches = split_into_batches(state.n_active, contraction.batch_size, rng, in_order=state.at_hand.in_order)
    after = _LevelOutcome(state, contraction, resources.storage, batches)
    rows_held = 0
    for batch, outcome in _contract_batches(state, batches, contraction, resources):
        after.add(batch, outcome)
        rows_held += len(batch.contracted)
        if rows_held > RELEASE_ROWS:
            resources.storage.release()
            rows_held = 0
    return after.state()


def contract_batch(task: BatchTask, contraction: Contraction, engine: Engine) -> ContractedBatch:
    """Run GetClusters and ChooseMedoids on one batch."""
    X, held_aside = _read(task)
    clusters = get_clusters(X, task.mass, contraction.views, contraction.consensus, task.place, engine, task.companions)
    started = perf_counter()
    found = clusters.consensus
    rng = generator_at(contraction.views.entropy, Draw.MEDOIDS, *task.place)
    filled = fill_missing(X, contraction.column_means)
    medoids = contraction.choose_medoids(filled, found.labels, found.n_clusters, task.mass, rng)
    return ContractedBatch(
        labels=found.labels,
        medoids=medoids,
        mass=_contracted_mass(task.mass, found, sum_mass=contraction.sum_mass),
        values=_values_to_carry(task, X[medoids], medoids, held_aside) if task.carry_values else None,
        stability=clusters.stability.of_row,
        view_stability=clusters.stability.of_view,
        views_kept=len(found.views_kept),
        agreement=clusters.agreement,
        base_seconds=clusters.base_seconds,
        consensus_seconds=clusters.consensus_seconds,
        medoid_seconds=perf_counter() - started,
    )


def run_batches(
    tasks: Iterable[BatchTask], n_tasks: int, contraction: Contraction, resources: Resources
) -> Iterator[ContractedBatch]:
    """Contract batches and yield their outcomes in order; tasks are made no sooner than the engine asks for them.

    One batch runs its views in parallel; several run beside each other, each one view by view.
    """
    view_engine = resources.view_engine if n_tasks == 1 else SerialEngine()
    calls = ((task, contraction, view_engine) for task in tasks)
    return resources.batch_engine.run(contract_batch, calls, n_tasks)


def _contract_batches(
    state: FitState, batches: Batches, contraction: Contraction, resources: Resources
) -> Iterator[tuple[Batch, ContractedBatch]]:
    """Yield each batch of a level with its outcome, in order."""
    under_way: deque[Batch] = deque()

    def tasks() -> Iterator[BatchTask]:
        for number, batch in enumerate(batches):
            under_way.append(batch)
            yield BatchTask(
                values=state.at_hand.values,
                contracted=state.index(batch.contracted),
                held_aside=state.index(batch.held_aside),
                mass=_mass_at(state, batch.contracted, contraction),
                place=(state.level + 1, number),
                carry_values=state.at_hand.in_order,
                companions=_draw_companions(state, batch, number, resources.companions),
            )

    for outcome in run_batches(tasks(), batches.n_batches, contraction, resources):
        yield under_way.popleft(), outcome


def _draw_companions(state: FitState, batch: Batch, number: int, companions: Companions | None) -> Any:
    """Return rows to show beside a batch of medoids; at the first level there are none."""
    if companions is None or state.level == 0:
        return None
    return companions.draw(state.row_numbers(batch.contracted), (state.level + 1, number))


class _LevelOutcome:
    """Adds up what the batches of a level give, and becomes the state after it."""

    def __init__(self, before: FitState, contraction: Contraction, storage: Storage, batches: Batches) -> None:
        self.before = before
        self.contraction = contraction
        self.level = before.level + 1
        self.positions = [batches.held_aside]
        self.mass: list[Any] = [_mass_at(before, batches.held_aside, contraction)]
        self.gatherer = storage.gather() if before.at_hand.in_order else None
        self.sizes: list[int] = []
        self.costs: list[tuple[float, ...]] = []

    def add(self, batch: Batch, outcome: ContractedBatch) -> None:
        rows = self.before.row_numbers(batch.contracted)
        medoids = rows[outcome.medoids]
        update_parents(self.before.parents, self.before.absorbed_at, rows, medoids[outcome.labels], self.level)
        self.before.stability[rows] = outcome.stability
        if self.before.tally is not None:
            self.before.tally.add((self.level, len(self.sizes)), len(rows), outcome.view_stability)
        self.positions += [batch.contracted[outcome.medoids], batch.held_aside]
        self.mass += [outcome.mass, _mass_at(self.before, batch.held_aside, self.contraction)]
        if self.gatherer is not None:
            self.gatherer.add(outcome.values)
        self.sizes.append(len(rows))
        self.costs.append(outcome.costs)

    def state(self) -> FitState:
        positions = np.concatenate(self.positions)
        order = np.argsort(positions, kind="stable")
        positions = positions[order]
        at_hand = self.before.at_hand
        active: IntArray | None = self.before.index(positions)
        if self.gatherer is not None:
            numbers = self.before.row_numbers(positions)
            at_hand, active = RowsAtHand(self.gatherer.rows(), numbers), None
        return FitState(
            at_hand=at_hand,
            active=active,
            mass=np.concatenate(self.mass)[order] if self.contraction.weighted else None,
            parents=self.before.parents,
            absorbed_at=self.before.absorbed_at,
            stability=self.before.stability,
            tally=self.before.tally,
            level=self.level,
            idle_levels=self.before.idle_levels + 1 if len(positions) == self.before.n_active else 0,
            record=record_level(self.level, self.before.n_active, len(positions), self.sizes, self.costs),
        )


def record_level(level: int, rows_in: int, rows_out: int, sizes: ArrayLike, costs: ArrayLike) -> LevelRecord:
    """Return the record of a level from the size of each batch it contracted, and from its costs."""
    views_kept, agreement, stability, *seconds = np.array(costs).T
    sizes = np.asarray(sizes)
    return LevelRecord(
        level,
        len(sizes),
        rows_in,
        int(rows_in - sizes.sum()),
        rows_out,
        float(np.average(views_kept, weights=sizes)),
        float(np.average(agreement, weights=sizes)),
        float(np.average(stability, weights=sizes)),
        *(float(of_step.sum()) for of_step in seconds),
    )


def _read(task: BatchTask) -> tuple[Any, Any]:
    """Return the values of the rows to contract, and of those held aside; no more is kept while the batch runs."""
    if len(task.held_aside) == 0:
        return task.values.take(task.contracted), None
    together = _merge(task.contracted, task.held_aside)
    block = task.values.take(together)
    return tuple(block[np.searchsorted(together, rows)] for rows in (task.contracted, task.held_aside))


def _values_to_carry(task: BatchTask, of_medoids: Any, medoids: IntArray, held_aside: Any) -> Any:
    """Return the values of the medoids and the rows held aside in rising order of these rows."""
    order = np.argsort(np.concatenate([task.contracted[medoids], task.held_aside]))
    if held_aside is None:
        return of_medoids[order]
    stack = sparse.vstack if sparse.issparse(held_aside) else np.concatenate
    return stack([of_medoids, held_aside])[order]


def _merge(left: IntArray, right: IntArray) -> IntArray:
    """Return the entries of two rising arrays in rising order."""
    return left if len(right) == 0 else np.sort(np.concatenate([left, right]))


def _mass_at(state: FitState, positions: IntArray, contraction: Contraction) -> Mass | None:
    """Return the mass of the active rows at ``positions``, or None where rows have none."""
    if not contraction.weighted:
        return None
    return np.ones(len(positions)) if state.mass is None else state.mass[positions]


def _contracted_mass(mass: Mass | None, consensus: Consensus, *, sum_mass: bool) -> Mass | None:
    """Return the mass of each medoid: that of all rows it stands for or, without ``sum_mass``, that of one row."""
    if mass is None:
        return None
    if not sum_mass:
        return np.ones(consensus.n_clusters)
    return sum_by_label(consensus.labels, mass, consensus.n_clusters)
