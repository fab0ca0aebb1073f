"""The loop over levels: Algorithm 1 of the paper, with batches.

CoHiRF without batches is the case of one batch. ``contract_levels`` yields a small state after each level. Logs and
diagnostics consume these states; progress bars and checkpoints wrap the engine. None of them is part of the algorithm.

A row has three numbers: its *row number* in the data, its *index* in the rows that values are read from
(``RowsAtHand``), and its *position* among the active rows.
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

RELEASE_ROWS = 2**22  # number of vector entries that may stay in memory if the vectors are stored on disk

Mass = NDArray[np.float64]
ChooseMedoids = Callable[[Any, IntArray, int, Mass | None, np.random.Generator], IntArray]


@dataclass(frozen=True)
class Contraction:
    """How a batch is contracted: the three steps of the paper and their options."""

    views: Views
    consensus: Callable[[Codes], Consensus]
    choose_medoids: ChooseMedoids
    batch_size: int | None
    weighted: bool = False  # whether rows have a mass
    sum_mass: bool = False  # whether a medoid has the total mass of the rows that it represents, or mass 1
    column_means: NDArray[np.floating[Any]] | None = None  # fill values for missing cells when distances are computed


@dataclass(frozen=True)
class Resources:
    """Where batches and views run (engines), and where arrays that grow with the data are kept (storage)."""

    batch_engine: Engine = field(default_factory=SerialEngine)
    view_engine: Engine = field(default_factory=SerialEngine)
    storage: Storage = field(default_factory=MemoryStorage)
    companions: Companions | None = None  # rows shown beside the medoids to base methods without sample weights


@dataclass(frozen=True)
class RowsAtHand:
    """The rows that a level reads values from: the whole data, or the rows that an earlier level left active.

    Attributes
    ----------
    values : Rows
        Values of the rows.
    numbers : array of int or None
        Sorted row numbers of these rows in the data; None if they are the whole data.
    in_order : bool
        Whether the rows are best read once and in order. The level then also returns the values of the rows that stay
        active, and later levels read these.
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
        sorted_numbers = numbers[order]
        index = sorted_numbers if self.numbers is None else np.searchsorted(self.numbers, sorted_numbers)
        values = self.values.take(index)
        return values[np.argsort(order)]


@dataclass(frozen=True)
class LevelRecord:
    """Sizes, agreement and times of one level; ``views_kept``, ``agreement`` and ``stability`` are means over rows.

    Attributes
    ----------
    level : int
        Number of the level, from 1.
    n_batches : int
        Number of batches that were contracted, without the one held aside.
    rows_in, rows_held_aside, rows_out : int
        Number of active rows before the level, of rows that were held aside, and of active rows after the level.
    views_kept : float
        Number of views that took part in the consensus.
    agreement : float
        Mean adjusted Rand index between pairs of views; NaN for a single view.
    stability : float
        Mean Jaccard index between each row's group and its cluster in each view, as in ``CoHiRF.stability_``.
    base_seconds, consensus_seconds, medoid_seconds : float
        Time spent in the base method, in the consensus and in the choice of medoids, summed over views and batches.
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

    All levels share the arrays ``parents``, ``absorbed_at`` and ``stability``, and update them in place: a consumer
    that keeps them must copy them.

    Attributes
    ----------
    at_hand : RowsAtHand
        The rows that values are read from.
    active : array of int or None
        Sorted index of each active row in ``at_hand``; None if all of these rows are active.
    mass : array of float or None
        Mass of each active row; None if each has mass 1.
    parents, absorbed_at : array of int
        The hierarchy so far; see ``parents.py``.
    stability : array of float32
        For each row, the mean Jaccard index between its group and its cluster in each view, at the last level that
        clustered it (see ``stability.py``); NaN if no level did.
    tally : FeatureTally or None
        Sums up the stability of the views that contained each feature, over all levels.
    """

    at_hand: RowsAtHand
    active: IntArray | None
    mass: Mass | None
    parents: IntArray
    absorbed_at: IntArray
    stability: NDArray[np.float32]
    tally: FeatureTally | None = None
    level: int = 0
    idle_levels: int = 0  # number of consecutive levels that merged nothing
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
        """Return the state before the first level: every row is its own cluster; rows of weight 0 are not active."""
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
        """Whether the last level clustered all active rows in one batch and merged none."""
        return self.idle_levels > 0 and self.record is not None and self.record.rows_held_aside == 0

    @property
    def stalled(self) -> bool:
        """Whether two consecutive levels merged nothing, the second one with other random batches."""
        return self.idle_levels > 1

    def index(self, positions: IntArray) -> IntArray:
        """Return the index in ``at_hand`` of the active rows at ``positions``."""
        return positions if self.active is None else self.active[positions]

    def row_numbers(self, positions: IntArray) -> IntArray:
        """Return the row numbers in the data of the active rows at ``positions``."""
        return self.at_hand.number(self.index(positions))


@dataclass(frozen=True)
class BatchTask:
    """One batch: the rows to read, the mass of the rows to contract, and the place (level, batch) that seeds it."""

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
        """Pickle a handle to the data, or only the rows of this batch; never all rows of an array."""
        values, contracted, held_aside = self.values, self.contracted, self.held_aside
        if isinstance(values, ArrayRows):
            together = _merge(contracted, held_aside)
            values = ArrayRows(values.take(together))
            contracted, held_aside = np.searchsorted(together, contracted), np.searchsorted(together, held_aside)
        return BatchTask, (values, contracted, held_aside, self.mass, self.place, self.carry_values, self.companions)


@dataclass(frozen=True)
class ContractedBatch:
    """The result of contracting one batch.

    Attributes
    ----------
    labels : array of int
        The consensus cluster of each contracted row.
    medoids : array of int
        The medoid of each cluster, as an index into the contracted rows.
    mass : array of float or None
        Mass of each medoid.
    values : array or None
        Values of the medoids and the held-aside rows, sorted by row number, if later levels read from them.
    stability : array of float32
        For each contracted row, the mean over views of the Jaccard index (see ``stability.py``).
    view_stability : array of float
        For each view, the mean over rows of the Jaccard index.
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
        """The figures that ``record_level`` averages or sums up, in the order that it expects."""
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
    """Contract level after level until nothing merges, and yield the state after each level."""
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
    """Contract batches and yield their results in order. Tasks are created when the engine asks for them.

    A single batch runs its views in parallel. Several batches run in parallel, each one view after the other.
    """
    view_engine = resources.view_engine if n_tasks == 1 else SerialEngine()
    calls = ((task, contraction, view_engine) for task in tasks)
    return resources.batch_engine.run(contract_batch, calls, n_tasks)


def _contract_batches(
    state: FitState, batches: Batches, contraction: Contraction, resources: Resources
) -> Iterator[tuple[Batch, ContractedBatch]]:
    """Yield each batch of a level with its result, in order."""
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
    """Return values of rows to show beside a batch of medoids; None at the first level, which has no medoids yet."""
    if companions is None or state.level == 0:
        return None
    return companions.draw(state.row_numbers(batch.contracted), (state.level + 1, number))


class _LevelOutcome:
    """Collects the results of the batches of a level, and returns the state after it."""

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
    """Return the record of a level from the size and the costs of each contracted batch."""
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
    """Return the values of the rows to contract and of the held-aside rows; nothing else stays in memory."""
    if len(task.held_aside) == 0:
        return task.values.take(task.contracted), None
    together = _merge(task.contracted, task.held_aside)
    block = task.values.take(together)
    return tuple(block[np.searchsorted(together, rows)] for rows in (task.contracted, task.held_aside))


def _values_to_carry(task: BatchTask, of_medoids: Any, medoids: IntArray, held_aside: Any) -> Any:
    """Return the values of the medoids and the held-aside rows, sorted by row number."""
    order = np.argsort(np.concatenate([task.contracted[medoids], task.held_aside]))
    if held_aside is None:
        return of_medoids[order]
    stack = sparse.vstack if sparse.issparse(held_aside) else np.concatenate
    return stack([of_medoids, held_aside])[order]


def _merge(left: IntArray, right: IntArray) -> IntArray:
    """Merge two sorted arrays into one."""
    return left if len(right) == 0 else np.sort(np.concatenate([left, right]))


def _mass_at(state: FitState, positions: IntArray, contraction: Contraction) -> Mass | None:
    """Return the mass of the active rows at ``positions``; None if the fit is not weighted."""
    if not contraction.weighted:
        return None
    return np.ones(len(positions)) if state.mass is None else state.mass[positions]


def _contracted_mass(mass: Mass | None, consensus: Consensus, *, sum_mass: bool) -> Mass | None:
    """Return the mass of each medoid: the total mass of its cluster or, without ``sum_mass``, 1."""
    if mass is None:
        return None
    if not sum_mass:
        return np.ones(consensus.n_clusters)
    return sum_by_label(consensus.labels, mass, consensus.n_clusters)
