"""Redraws: rounds with newly sampled rows that fuse clusters which thin batches left apart (not part of the paper).

A level shows the base method one row per cluster. Two halves of an arc whose medoids are far apart then never fuse, and
after a few levels of thin batches only such medoids are left. A round samples other rows of the data. Each of them
represents the cluster that it already belongs to: clusters fuse if the base method puts some of their rows together.

For DBSCAN this rarely makes errors. Two core rows that are connected in a sample are connected in the data, so each
round finds some of the links of the whole data, and links accumulate over rounds. HDBSCAN chooses a new radius for each
sample, so a single round can fuse everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.first_level import FirstLevel
from cohirf.algorithm.grouping import IntArray, sum_by_label
from cohirf.algorithm.levels import FitState, LevelRecord, Resources, run_tasks
from cohirf.algorithm.population import Population
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.runs import ContractedRun

# A single row on the border between two clusters can get into a group by chance. Two rows of one cluster in the same
# group are not a coincidence.
ROWS_TO_BIND = 2
BEYOND_LEVELS = 2**20  # added to the level in places of rounds, so that they differ from the places of levels
IDLE_ROUNDS = 2  # a single round that fuses nothing may be due to its random rows


@dataclass(frozen=True)
class Bonds:
    """Links between clusters (``roots``, by medoid) and ``groups`` of a batch, with the number of rows of each link."""

    roots: IntArray
    groups: IntArray
    n_rows: IntArray
    n_groups: int
    batch: ContractedRun


def redraw_rounds(
    population: Population,
    first_level: FirstLevel,
    state: FitState,
    contraction: Contraction,
    max_rounds: int,
    resources: Resources,
) -> Iterator[FitState]:
    """Run rounds after the last level, until two in a row fuse nothing; yield the state after each round.

    Each sampled row represents only itself: it has its sample weight, not the mass of a cluster.
    """
    n_idle = 0
    for _ in range(max_rounds):
        if state.n_active == 1 or n_idle == IDLE_ROUNDS:
            return
        state = redraw_round(population, first_level, state, contraction, resources)
        n_idle = n_idle + 1 if state.idle_levels else 0
        yield state


def redraw_round(
    population: Population, first_level: FirstLevel, state: FitState, contraction: Contraction, resources: Resources
) -> FitState:
    """Fuse clusters if the base method puts some of their rows, active or sampled, into the same group."""
    level = state.level + 1
    rng = generator_at(contraction.views.entropy, Draw.REDRAW, level)
    active = state.active.at(np.arange(state.n_active))
    batches = draw_batches(first_level.leaves.rows[active], population, contraction.batch_size, rng)
    tasks = (population.task(rows, (BEYOND_LEVELS + level, number)) for number, rows in enumerate(batches))
    bonds = [
        find_bonds(find_roots_of(state.fusions.parents, first_level.find_leaves(rows)), outcome)
        for rows, (_, outcome) in zip(batches, run_tasks(tasks, len(batches), contraction, resources), strict=True)
    ]
    stay = np.flatnonzero(~np.isin(active, _fuse(state, contraction, bonds, level)))
    mass = None if state.active.mass is None else state.active.mass[stay]
    return replace(
        state,
        active=replace(state.active, index=active[stay], mass=mass),
        level=level,
        idle_levels=int(len(stay) == len(active)),
        record=_record(level, len(active), len(stay), bonds),
    )


def draw_batches(
    active: IntArray, population: Population, batch_size: int | None, rng: np.random.Generator
) -> list[IntArray]:
    """Split the active rows into half batches, and complete each batch with rows sampled from the whole data."""
    batch_size = batch_size or population.n_rows
    n_batches = int(np.ceil(2 * len(active) / batch_size))
    parts = np.array_split(rng.permutation(active), n_batches)
    drawn = (population.draw(min(population.n_rows, batch_size) - len(part), rng) for part in parts)
    return [np.union1d(part, others).astype(active.dtype) for part, others in zip(parts, drawn, strict=True)]


def find_roots_of(parents: IntArray, rows: IntArray) -> IntArray:
    """Return the active row that represents each of the given rows, which are leaves of the hierarchy."""
    roots = parents[rows]
    while not np.array_equal(further := parents[roots], roots):
        roots = further
    return roots


def find_bonds(roots: IntArray, batch: ContractedRun) -> Bonds:
    """Link each cluster to the groups that contain two of its rows, or all of its rows in this batch.

    ``roots`` has the cluster of each row of the batch.
    """
    names, number = np.unique(roots, return_inverse=True)
    shape = (len(names), batch.rows_out)
    counts = sparse.csr_array((np.ones(len(roots), dtype=np.int64), (number, batch.labels)), shape=shape).tocoo()
    here = np.bincount(number)
    binds = counts.data >= np.minimum(ROWS_TO_BIND, here[counts.row])
    return Bonds(names[counts.row[binds]], counts.col[binds], counts.data[binds], batch.rows_out, batch)


def _fuse(state: FitState, contraction: Contraction, bonds: list[Bonds], level: int) -> IntArray:
    """Fuse clusters that are linked to the same group, directly or through others; return the absorbed clusters."""
    offsets = np.cumsum([0, *(found.n_groups for found in bonds)])
    groups = np.concatenate([found.groups + offset for found, offset in zip(bonds, offsets, strict=False)])
    roots, number = np.unique(np.concatenate([found.roots for found in bonds]), return_inverse=True)
    component = _components(number, groups, len(roots), int(offsets[-1]))
    sizes = np.bincount(component)
    fused = sizes[component] > 1
    if not fused.any():
        return roots[:0]
    n_rows = sum_by_label(number, np.concatenate([found.n_rows for found in bonds]).astype(np.float64), len(roots))
    names, labels = np.unique(component[fused], return_inverse=True)
    roots = roots[fused]
    X = fill_missing(state.active.values.take(roots), contraction.column_means)
    rng = generator_at(contraction.views.entropy, Draw.MEDOIDS, level)
    chosen = roots[contraction.choose_medoids(X, labels, len(names), n_rows[fused], rng)]
    state.fusions.record(roots, chosen[labels], level)
    return np.setdiff1d(roots, chosen)


def _components(clusters: IntArray, groups: IntArray, n_clusters: int, n_groups: int) -> NDArray[np.int32]:
    """Return the connected component of each cluster in the graph of clusters and groups."""
    n = n_clusters + n_groups
    graph = sparse.coo_array((np.ones(len(clusters), dtype=np.int8), (clusters, groups + n_clusters)), shape=(n, n))
    component: NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return component[:n_clusters]


def _record(level: int, rows_in: int, rows_out: int, bonds: list[Bonds]) -> LevelRecord:
    costs = np.concatenate([found.batch.survivors.batch_costs for found in bonds])
    return LevelRecord(
        level, len(bonds), rows_in, 0, rows_out, *costs[:, :3].mean(axis=0).tolist(), *costs[:, 3:].sum(axis=0).tolist()
    )
