"""Contract a run: consecutive batches of a level, in this process, in another one, or on a worker of a cluster.

A run returns its *survivors*: the rows that stay active, with their values and the sizes of their clusters. What
belongs to its other rows is a map from rows to survivors. It is written where it is needed, and not sent around.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.batches import Run
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import ContractedBatch, Contraction, Mass, Place, contract_batch
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.fusions import Fusions
from cohirf.algorithm.grouping import IntArray, count_by_label, first_rows, index_dtype, sum_by_label
from cohirf.algorithm.storage import NumberedRows, Rows, Storage, is_in_memory


@dataclass(frozen=True)
class RunTask:
    """A run to contract.

    Attributes
    ----------
    run : Run
        The batches.
    level : int
        The level, which with the number of a batch seeds it.
    values : Rows or None
        The rows, by index; None if they are where the task runs.
    mass : array of float or None
        Mass of each row of the run, by offset; None if each has mass 1.
    carry_values : bool
        Whether the values of the survivors are returned, because later levels cannot read the rows again.
    fusions : Fusions or None
        Where to record the fusions; None to return them.
    companions : sequence or None
        For each batch, values of other rows that the base method sees beside its rows, or None.
    n_batches : int
        Number of batches of the level.
    halo_mass : sequence of arrays of float, or None
        For each batch, the mass of the rows of its halo; None if each has mass 1, or there are no halos.
    labels : array of int or None
        The label of each row of the run, by offset, if the base method need not be called for it.
    """

    run: Run
    level: int
    values: Rows | None
    mass: Mass | None = None
    carry_values: bool = False
    fusions: Fusions | None = None
    companions: Sequence[Any] | None = None
    n_batches: int = 1
    halo_mass: Sequence[Mass] | None = None
    labels: IntArray | None = None

    @property
    def rows_in(self) -> int:
        """Number of rows to contract."""
        return self.run.rows_in

    @property
    def place(self) -> Place:
        """Level and first batch."""
        return self.level, self.run.first_batch

    @property
    def keeps_map(self) -> bool:
        """Whether the map from rows to survivors stays where the rows are."""
        return self.values is None

    def rows_needed(self) -> IntArray:
        """Return the sorted indices of all rows of the run, halos included."""
        return np.unique(np.concatenate([self.run.index(np.arange(self.run.length)), *(self.run.halos or ())]))

    def with_values(self, values: Rows | None) -> RunTask:
        """Return the task with other values."""
        return replace(self, values=values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a handle to the data, or only the rows of this run; never all rows of an array."""
        values = self.values
        if values is not None and is_in_memory(values):
            numbers = self.rows_needed()
            values = NumberedRows(values.take(numbers), numbers)
        return RunTask, (
            self.run,
            self.level,
            values,
            self.mass,
            self.carry_values,
            self.fusions,
            self.companions,
            self.n_batches,
            self.halo_mass,
            self.labels,
        )


@dataclass(frozen=True)
class Survivors:
    """Rows that stay active after a level, sorted by index.

    Attributes
    ----------
    rows : array of int
        Index of each survivor.
    values : array, Rows or None
        Values of each survivor, if they are carried.
    mass : array of float or None
        Mass of each survivor in later levels; None if each has mass 1.
    sizes, first_rows : array of int
        Number of rows in each survivor's cluster, and the smallest index among them.
    weights : array of float or None
        Total mass of the rows in each survivor's cluster; None if each row has mass 1.
    means : array, CSR matrix or None
        Mean of the rows in each survivor's cluster, if means are kept.
    is_noise : array of bool
        Whether a survivor is a single row of the batch that the base method called noise.
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
    means: Any
    is_noise: NDArray[np.bool_]
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
class Links:
    """Rows that two batches have in common: each is at home in one, and in a cluster of another whose halo it is in.

    Attributes
    ----------
    rows : array of int
        Index of each such row.
    survivors : array of int
        Index of the survivor of the cluster that the row is in as a row of the halo.
    by_core : bool
        Whether all of these are core rows of a method such as DBSCAN, which belong to one cluster only.
    """

    rows: IntArray
    survivors: IntArray
    by_core: bool

    @classmethod
    def join(cls, parts: Iterable[Links]) -> Links:
        """Concatenate links."""
        parts = list(parts)
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.survivors for part in parts]),
            all(part.by_core for part in parts),
        )


@dataclass(frozen=True)
class ContractedRun:
    """The result of a run.

    Attributes
    ----------
    survivors : Survivors
        The rows that stay active.
    survivor_of : array of int or None
        For each row of the run, by offset, the position of its survivor in ``survivors``; None if the fusions have been
        recorded, or are kept elsewhere.
    stability : array of float32 or None
        Stability of each row, NaN if it was held aside; None if ``survivor_of`` is.
    links : Links or None
        Rows of halos, if the batches have halos.
    """

    survivors: Survivors
    survivor_of: IntArray | None = None
    stability: NDArray[np.float32] | None = None
    links: Links | None = None

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        maps = (part.nbytes for part in (self.survivor_of, self.stability) if part is not None)
        return sys.getsizeof(self.survivors) + sum(maps)

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return len(self.survivors.batch_sizes)

    @property
    def rows_in(self) -> int:
        """Number of rows that were contracted."""
        return self.survivors.rows_in

    @property
    def rows_out(self) -> int:
        """Number of medoids they were contracted to."""
        return self.survivors.rows_out

    @property
    def labels(self) -> IntArray:
        """Number of the survivor of each row of the run."""
        assert self.survivor_of is not None  # the fusions have not been recorded
        return self.survivor_of

    @property
    def parents(self) -> IntArray:
        """Index of the survivor of each row of the run."""
        return self.survivors.rows[self.labels]

    def record(self, task: RunTask, fusions: Fusions) -> ContractedRun:
        """Record the fusions of the run, and return its survivors alone."""
        fusions.record(task.run.rows, self.parents, task.level)
        fusions.stability[task.run.rows] = self.stability
        return ContractedRun(self.survivors, links=self.links)


def contract_run(task: RunTask, contraction: Contraction, engine: Engine) -> ContractedRun:
    """Contract the batches of a run one after the other; ``engine`` runs the views of each."""
    run = task.run
    survivor_of = np.empty(run.length, dtype=index_dtype(run.length))
    stability = np.full(run.length, np.nan, dtype=np.float32)
    parts: list[Survivors] = []
    links: list[Links] = []
    n_before = 0
    for number, (contracted, held) in enumerate(run.batches()):
        X, X_held = _read(task, contracted, held)
        mass = _mass(task, contracted, contraction)
        shown = None if task.companions is None else task.companions[number]
        place = (task.level, run.first_batch + number)
        halo = None if run.halos is None else run.halos[number]
        if halo is not None and len(halo):
            assert task.values is not None  # whoever has the rows has put them in
            together = _stack(X, task.values.take(halo))
            batch = contract_batch(
                together, _add_halo_mass(mass, task, number), contraction, place, engine, shown, len(halo)
            )
            links.append(_find_links(task, batch, contracted, halo))
        else:
            labels = None if task.labels is None else task.labels[contracted]
            batch = contract_batch(X, mass, contraction, place, engine, shown, labels=labels)
        order, rank = _sort(np.concatenate([contracted[batch.medoids], held]))
        n_medoids = len(batch.medoids)
        survivor_of[contracted] = n_before + rank[:n_medoids][batch.labels]
        survivor_of[held] = n_before + rank[n_medoids:]
        stability[contracted] = batch.stability
        values = _stack(X[batch.medoids], X_held)[order] if task.carry_values else None
        means = None if batch.means is None else _stack(batch.means, fill_missing(X_held, contraction.column_means))
        given = _mass(task, held, contraction)
        parts.append(_survivors(task, batch, contracted, held, order, values, means, given))
        n_before += len(order)
    found = ContractedRun(join_survivors(parts), survivor_of, stability, Links.join(links) if links else None)
    return found if task.fusions is None else found.record(task, task.fusions)


def gather_survivors(parts: Iterable[Survivors], storage: Storage) -> Survivors:
    """Concatenate the survivors of all runs, sorted; values that are carried go to ``storage`` as they arrive."""
    gatherer = storage.gather()
    small = []
    for part in parts:
        if part.values is not None:
            gatherer.add(part.values)
        small.append(replace(part, values=None))
    found = join_survivors(small)
    if (found.rows[1:] > found.rows[:-1]).all():
        return replace(found, values=gatherer.rows())
    order = np.argsort(found.rows)  # random batches, whose values are not carried
    of_rows: dict[str, Any] = {}
    for name in ("rows", "mass", "sizes", "first_rows", "weights", "means", "is_noise", "stability"):
        part = getattr(found, name)
        of_rows[name] = None if part is None else part[order]
    return replace(found, **of_rows)


def join_survivors(parts: list[Survivors]) -> Survivors:
    """Concatenate survivors."""
    if len(parts) == 1:
        return parts[0]
    joined: dict[str, Any] = {}
    for name in (field.name for field in fields(Survivors)):
        columns = [getattr(part, name) for part in parts]
        joined[name] = None if columns[0] is None else _concatenate(columns)
    return Survivors(**joined)


def held_aside(rows: IntArray, mass: Mass | None, weights: Mass | None, means: Any, n_views: int) -> Survivors:
    """Return rows that are in no batch of a level as survivors of it; ``means`` are their values, if means are kept."""
    return Survivors(
        rows=rows,
        values=None,
        mass=mass,
        sizes=np.ones(len(rows), dtype=np.int64),
        first_rows=rows,
        weights=weights,
        means=means,
        is_noise=np.zeros(len(rows), dtype=bool),
        stability=np.full(len(rows), np.nan, dtype=np.float32),
        batch_sizes=np.empty(0, dtype=np.int64),
        batch_costs=np.empty((0, 6)),
        view_stability=np.empty((0, n_views)),
    )


def _read(task: RunTask, contracted: IntArray, held: IntArray) -> tuple[Any, Any]:
    """Return the values of the rows to contract and of the held-aside rows, which are read together."""
    assert task.values is not None  # whoever has the rows has put them in
    if len(held) == 0:
        return task.values.take(task.run.index(contracted)), None
    together = np.sort(np.concatenate([contracted, held]))
    block = task.values.take(task.run.index(together))
    return tuple(block[np.searchsorted(together, offsets)] for offsets in (contracted, held))


def _add_halo_mass(mass: Mass | None, task: RunTask, number: int) -> Mass | None:
    """Return the mass of the rows of a batch, followed by that of its halo."""
    if mass is None or task.run.halos is None:
        return mass
    n_halo = len(task.run.halos[number])
    return np.concatenate([mass, np.ones(n_halo) if task.halo_mass is None else task.halo_mass[number]])


def _find_links(task: RunTask, batch: ContractedBatch, contracted: IntArray, halo: IntArray) -> Links:
    assert batch.halo is not None
    survivors = task.run.index(contracted[batch.medoids])
    return Links(halo[batch.halo.rows], survivors[batch.halo.labels], batch.halo.is_core)


def _mass(task: RunTask, offsets: IntArray, contraction: Contraction) -> Mass | None:
    """Return the mass of the rows at ``offsets``; None if the fit is not weighted."""
    if not contraction.weighted:
        return None
    return np.ones(len(offsets)) if task.mass is None else task.mass[offsets]


def _sort(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the order that sorts distinct ``keys``, and the rank of each key."""
    order = np.argsort(keys)
    rank = np.empty(len(order), dtype=order.dtype)
    rank[order] = np.arange(len(order))
    return order, rank


def _survivors(
    task: RunTask,
    batch: ContractedBatch,
    contracted: IntArray,
    held: IntArray,
    order: IntArray,
    values: Any,
    means: Any,
    of_held: Mass | None,
) -> Survivors:
    """Return the medoids of a batch and its held-aside rows in the given order."""
    n_medoids = len(batch.medoids)
    first = contracted[first_rows(batch.labels, n_medoids)]
    is_noise = np.zeros(len(order), dtype=bool)
    is_noise[n_medoids - batch.n_noise : n_medoids] = True
    weights = None
    if task.mass is not None:
        of_clusters = sum_by_label(batch.labels, task.mass[contracted], n_medoids)
        weights = np.concatenate([of_clusters, task.mass[held]])[order]
    return Survivors(
        rows=task.run.index(np.concatenate([contracted[batch.medoids], held])[order]),
        values=values,
        mass=None if batch.mass is None else np.concatenate([batch.mass, of_held])[order],
        sizes=np.concatenate([count_by_label(batch.labels, n_medoids), np.ones(len(held), dtype=np.int64)])[order],
        first_rows=task.run.index(np.concatenate([first, held])[order]),
        weights=weights,
        means=None if means is None else means[order],
        is_noise=is_noise[order],
        stability=np.concatenate([batch.stability[batch.medoids], np.full(len(held), np.nan, np.float32)])[order],
        batch_sizes=np.array([len(contracted)]),
        batch_costs=np.array([batch.costs], dtype=np.float64),
        view_stability=batch.view_stability[None],
    )


def _stack(of_medoids: Any, of_held: Any) -> Any:
    return of_medoids if of_held is None else _concatenate([of_medoids, of_held.astype(of_medoids.dtype, copy=False)])


def _concatenate(blocks: list[Any]) -> Any:
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)
