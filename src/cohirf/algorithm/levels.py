"""Algorithm 1 and the batching levels: the only loop.

Plain CoHiRF is the case of one batch. ``contract_levels`` yields a small state after each level; progress, logs,
diagnostics and checkpoints consume it and none of them enters the algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import Batches, split_into_batches
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.consensus import Codes, Consensus
from cohirf.algorithm.engine import Engine, SerialEngine
from cohirf.algorithm.get_clusters import Views, get_clusters
from cohirf.algorithm.grouping import IntArray, index_dtype, sum_by_label
from cohirf.algorithm.parents import update_parents
from cohirf.algorithm.randomness import Draw, generator_at

Mass = NDArray[np.float64]
ChooseMedoids = Callable[[Any, IntArray, int, Mass | None, np.random.Generator], IntArray]


class Rows(Protocol):
    """Where rows are read from."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def take(self, rows: IntArray) -> Any:
        """Return the given rows (distinct, rising) as an array or CSR matrix."""


@dataclass(frozen=True)
class Contraction:
    """What is done to a batch: the three steps of the paper and their options."""

    views: Views
    consensus: Callable[[Codes], Consensus]
    choose_medoids: ChooseMedoids
    batch_size: int | None
    sum_mass: bool
    column_means: NDArray[np.floating[Any]] | None = None  # what missing cells count as when distances are measured


@dataclass(frozen=True)
class LevelRecord:
    """What one level did. With several batches, ``views_kept`` and ``agreement`` are means over their rows.

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
    base_seconds: float
    consensus_seconds: float
    medoid_seconds: float


@dataclass(frozen=True)
class FitState:
    """The state between two levels.

    ``parents``, ``absorbed_at`` and ``mass`` are the same arrays from level to level and are updated in place: a
    consumer that keeps them must copy them.
    """

    active: IntArray
    parents: IntArray
    absorbed_at: IntArray
    mass: Mass | None
    level: int = 0
    idle_levels: int = 0  # how many levels in a row merged nothing
    record: LevelRecord | None = None

    @classmethod
    def initial(cls, n_rows: int, mass: Mass | None, max_level: int) -> FitState:
        """Return the state in which every row stands for itself."""
        rows = np.arange(n_rows, dtype=index_dtype(n_rows))
        return cls(rows, rows.copy(), np.zeros(n_rows, dtype=np.min_scalar_type(max_level)), mass)

    @property
    def converged(self) -> bool:
        """Whether the last level saw all rows at once and merged none."""
        return self.idle_levels > 0 and self.record is not None and self.record.rows_held_aside == 0

    @property
    def stalled(self) -> bool:
        """Whether several batches merged nothing twice, the second time after a reshuffle."""
        return self.idle_levels > 1


@dataclass(frozen=True)
class ContractedBatch:
    """The medoid of each row of a batch, the rows that are medoids with their new mass, and what it took."""

    medoids: IntArray
    survivors: IntArray
    survivor_mass: Mass | None
    views_kept: int
    agreement: float
    base_seconds: float
    consensus_seconds: float
    medoid_seconds: float


def contract_levels(
    source: Rows, state: FitState, contraction: Contraction, max_level: int, engine: Engine
) -> Iterator[FitState]:
    """Contract level after level until nothing merges any more, and yield the state after each."""
    while state.level < max_level and not (state.converged or state.stalled):
        state = contract_level(source, state, contraction, engine)
        yield state


def contract_level(source: Rows, state: FitState, contraction: Contraction, engine: Engine) -> FitState:
    """Contract each batch of active rows to its medoids."""
    level = state.level + 1
    rng = generator_at(contraction.views.entropy, Draw.SPLIT, level)
    batches = split_into_batches(state.active, contraction.batch_size, rng)
    # One batch runs its views in parallel; several run beside each other, each one view by view.
    serial = SerialEngine()
    for_batches, for_views = (serial, engine) if len(batches.contracted) == 1 else (engine, serial)
    tasks = (
        (source, rows, None if state.mass is None else state.mass[rows], contraction, (level, number), for_views)
        for number, rows in enumerate(batches.contracted)
    )
    outcomes: list[ContractedBatch] = []
    survivors = [batches.held_aside]
    for rows, outcome in zip(batches.contracted, for_batches.run(contract_batch, tasks), strict=True):
        update_parents(state.parents, state.absorbed_at, rows, outcome.medoids, level)
        if state.mass is not None:
            state.mass[outcome.survivors] = outcome.survivor_mass
        survivors.append(outcome.survivors)
        outcomes.append(outcome)
    active = np.sort(np.concatenate(survivors))
    return FitState(
        active=active,
        parents=state.parents,
        absorbed_at=state.absorbed_at,
        mass=state.mass,
        level=level,
        idle_levels=state.idle_levels + 1 if len(active) == len(state.active) else 0,
        record=_record(level, batches, len(active), outcomes),
    )


def contract_batch(
    source: Rows,
    rows: IntArray,
    mass: Mass | None,
    contraction: Contraction,
    place: tuple[int, int],
    engine: Engine,
) -> ContractedBatch:
    """Run GetClusters and ChooseMedoids on one batch."""
    X = source.take(rows)
    clusters = get_clusters(X, mass, contraction.views, contraction.consensus, place, engine)
    started = perf_counter()
    found = clusters.consensus
    rng = generator_at(contraction.views.entropy, Draw.MEDOIDS, *place)
    filled = fill_missing(X, contraction.column_means)
    medoids = contraction.choose_medoids(filled, found.labels, found.n_clusters, mass, rng)
    return ContractedBatch(
        medoids=rows[medoids][found.labels],
        survivors=rows[medoids],
        survivor_mass=_contracted_mass(mass, found, sum_mass=contraction.sum_mass),
        views_kept=len(found.views_kept),
        agreement=clusters.agreement,
        base_seconds=clusters.base_seconds,
        consensus_seconds=clusters.consensus_seconds,
        medoid_seconds=perf_counter() - started,
    )


def _contracted_mass(mass: Mass | None, consensus: Consensus, *, sum_mass: bool) -> Mass | None:
    """Return the mass of each medoid: that of all rows it stands for or, without ``sum_mass``, that of one row."""
    if mass is None:
        return None
    if not sum_mass:
        return np.ones(consensus.n_clusters)
    return sum_by_label(consensus.labels, mass, consensus.n_clusters)


def _record(level: int, batches: Batches, rows_out: int, outcomes: list[ContractedBatch]) -> LevelRecord:
    sizes = [len(rows) for rows in batches.contracted]
    return LevelRecord(
        level=level,
        n_batches=len(outcomes),
        rows_in=sum(sizes) + len(batches.held_aside),
        rows_held_aside=len(batches.held_aside),
        rows_out=rows_out,
        views_kept=float(np.average([outcome.views_kept for outcome in outcomes], weights=sizes)),
        agreement=float(np.average([outcome.agreement for outcome in outcomes], weights=sizes)),
        base_seconds=sum(outcome.base_seconds for outcome in outcomes),
        consensus_seconds=sum(outcome.consensus_seconds for outcome in outcomes),
        medoid_seconds=sum(outcome.medoid_seconds for outcome in outcomes),
    )
