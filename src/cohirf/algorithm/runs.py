"""Contract a run: consecutive batches of a level, in this process, in another one, or on a worker
of a cluster.

A run returns its *survivors*: the rows that stay active, with their values and the sizes of their
clusters. What belongs to its other rows is a map from rows to survivors. It is written where it is
needed, and not sent around.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import AllBut, Offsets, Run
from cohirf.algorithm.contract_batch import ContractedBatch, Contraction, Place, contract_batch
from cohirf.algorithm.parents import Recorded
from cohirf.rows import ranges
from cohirf.rows.arrays import (
    fetch_rows,
    join_rows,
    look_up,
    naming_full_memory,
    put_beside,
    put_on_device,
    take_rows,
    to_host,
)
from cohirf.rows.grouping import (
    IntArray,
    Mass,
    index_dtype,
    leave_out,
    put_back,
    sum_by_label,
)
from cohirf.rows.storage import (
    ArrayRows,
    Engine,
    Gatherer,
    NumberedRows,
    Rows,
    RunValues,
    Storage,
    is_in_memory,
)


class Steps:
    """How the batches of a level are contracted: by the steps of the paper.

    Subclasses contract them in other ways, and have what these need of each row.
    """

    def of_run(self, run: Run, indexed: Run, level: int) -> Steps:
        """Return the steps of a run, with what belongs to its rows.

        ``run`` has the positions of its rows among the active ones, and ``indexed`` their indices.
        """
        return self

    def contract(
        self, batch: BatchOfRun, contraction: Contraction, engine: Engine
    ) -> ContractedBatch:
        """Contract a batch; ``engine`` runs its views."""
        return contract_batch(batch.X, batch.mass, contraction, batch.place, engine)

    def finish(self, run: ContractedRun, batches: Sequence[ContractedBatch]) -> ContractedRun:
        """Return a run, after all of its batches were contracted."""
        return run


PAPER = Steps()


@dataclass(frozen=True)
class RunTask:
    """A run to contract."""

    run: Run  # the batches
    level: int  # the level, which with the number of a batch seeds it
    # The rows, by index, or those of the run alone, by offset; None if they are where the task runs
    values: Rows | RunValues | None
    mass: Mass | None = (
        None  # mass of each row of the run, by offset, perhaps on a device; None if each has mass 1
    )
    # Whether the values of the survivors are returned, because later levels cannot read the rows
    # again
    carry_values: bool = False
    fusions: Recorded | None = None  # where to record the fusions; None to return them
    n_batches: int = 1  # number of batches of the level
    steps: Steps = PAPER  # how each batch is contracted

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
        """Return the sorted indices of all rows that are read to contract the run."""
        return self.run.indices_read()

    def with_values(self, values: Rows | RunValues | None) -> RunTask:
        """Return the task with other values."""
        return replace(self, values=values)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a handle to the data, or only the rows of this run; never all rows of an array."""
        values = self.values
        if values is not None and not isinstance(values, RunValues) and is_in_memory(values):
            numbers = self.rows_needed()
            values = NumberedRows(values.take(numbers), numbers)
        return type(self), tuple(
            values if part.name == "values" else getattr(self, part.name) for part in fields(self)
        )


@dataclass(frozen=True)
class BatchOfRun:
    """A batch of a run, with its rows where they are contracted."""

    task: RunTask
    number: int  # among the batches of the run
    offsets: Offsets  # of the rows that are contracted
    X: Any  # their values
    mass: Any  # mass of each; None if each has mass 1

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.X.shape[0])

    @property
    def place(self) -> Place:
        """Level and number of the batch, which seed it."""
        return self.task.level, self.task.run.first_batch + self.number

    def offsets_at(self, positions: IntArray) -> IntArray:
        """Return the offsets in the run of the rows at the given positions."""
        return _at(self.offsets, positions)


@dataclass(frozen=True)
class Survivors:
    """Rows that stay active after a level, sorted by index."""

    rows: Annotated[IntArray, ranges.numbers(ranges.ANY, below="n_rows")]  # index of each survivor
    # Values of each survivor, if they are carried
    values: Annotated[Any, ranges.OPTIONAL, ranges.cells("rows", ranges.ANY)]
    # Mass of each survivor in later levels; None if each has mass 1
    mass: Annotated[Mass | None, ranges.measures("rows", least=0)]
    # Number of rows in each survivor's cluster, and the smallest index among them
    sizes: Annotated[NDArray[np.int64], ranges.counts("rows")]
    first_rows: Annotated[IntArray, ranges.numbers("rows", below="n_rows")]
    # Total mass of the rows in each survivor's cluster; None if each row has mass 1
    weights: Annotated[NDArray[np.float64] | None, ranges.measures("rows", least=0)]
    # Mean of the rows in each survivor's cluster, if means are kept
    means: Annotated[Any, ranges.OPTIONAL, ranges.cells("rows", ranges.ANY)]
    # Whether a survivor is a single row of the batch that the base method called noise
    is_noise: Annotated[NDArray[np.bool_], ranges.flags("rows")]
    # Stability of each survivor, as in ``CoHiRF.stability_``; NaN if it was held aside
    stability: Annotated[NDArray[np.float32], ranges.shares("rows")]
    # For each batch: the number of contracted rows, the costs, and the stability of each view; see
    # ``ContractedBatch``
    batch_sizes: Annotated[NDArray[np.int64], ranges.counts(ranges.ANY)]
    batch_costs: Annotated[NDArray[np.float64], ranges.cells("batch_sizes", ranges.ANY)]
    view_stability: Annotated[NDArray[np.float64], ranges.cells("batch_sizes", ranges.ANY)]

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        parts = (getattr(self, field.name) for field in fields(self))
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    @property
    def total_mass(self) -> NDArray[np.float64]:
        """Total mass of the rows in each survivor's cluster; their number, if each has mass 1."""
        if self.weights is None:
            return self.sizes.astype(np.float64)
        return self.weights

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
    """The result of a run."""

    survivors: Survivors  # the rows that stay active
    # For each row of the run, by offset, the position of its survivor in ``survivors``, perhaps on
    # a device; None if the fusions have been recorded, or are kept elsewhere
    survivor_of: Annotated[
        Any, ranges.OPTIONAL, ranges.numbers(ranges.ANY, below="survivors.rows")
    ] = None
    # Stability of each row, NaN if it was held aside; None if ``survivor_of`` is
    stability: Annotated[Any, ranges.OPTIONAL, ranges.shares("survivor_of")] = None

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        maps = (int(part.nbytes) for part in (self.survivor_of, self.stability) if part is not None)
        return int(sys.getsizeof(self.survivors)) + sum(maps)

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
        return np.asarray(to_host(self.survivor_of))

    @property
    def parents(self) -> IntArray:
        """Index of the survivor of each row of the run."""
        return self.survivors.rows[self.labels]

    def record(self, task: RunTask, fusions: Recorded) -> ContractedRun:
        """Record the fusions of the run, and return its survivors alone."""
        fusions.record(task.run.rows, look_up(self.survivors.rows, self.survivor_of), task.level)
        fusions.stability[task.run.rows] = to_host(self.stability)
        return replace(self, survivor_of=None, stability=None)


def contract_run(task: RunTask, contraction: Contraction, engine: Engine) -> ContractedRun:
    """Contract the batches of a run one after the other; ``engine`` runs the views of each."""
    run = task.run
    kind = index_dtype(run.length)
    survivor_of = list[Any]()
    stability = list[Any]()
    stays = not isinstance(contraction.device, str)
    parts: list[Survivors] = []
    batches: list[ContractedBatch] = []
    n_before = 0
    with (
        nullcontext()
        if contraction.device is None
        else naming_full_memory(run.longest, contraction.device)
    ):
        for number, (contracted, held) in enumerate(run.batches()):
            read, X_held = _read(task, contracted)
            X = read if contraction.device is None else put_on_device(read, contraction.device)
            # None also if each row has the mass 1: a base method is faster without weights
            mass = beside(X, task.mass if contraction.weighted else None, contracted)
            of_run = BatchOfRun(task, number, contracted, X, mass)
            batch = task.steps.contract(of_run, contraction, engine)
            batches.append(batch)
            order, rank = _rank(np.concatenate([_at(contracted, batch.medoids), held]))
            of_medoids, of_held = np.split(
                (n_before + rank).astype(kind, copy=False), [len(batch.medoids)]
            )
            of_rows = look_up(of_medoids, batch.labels)
            stable = batch.stability
            if isinstance(contracted, AllBut):
                of_rows = put_back(of_rows, of_held, contracted.places)
                stable = put_back(
                    stable, np.full(len(held), np.nan, dtype=np.float32), contracted.places
                )
            survivor_of.append(of_rows)
            stability.append(stable)
            stays = stays and X is read
            values = fetch_rows(X, batch.medoids) if task.carry_values else None
            means = batch.means
            if X_held is not None:
                values = None if values is None else _stack(values, X_held)
                means = None if means is None else _stack(means, contraction.points(X_held))
            parts.append(_survivors(task, batch, contracted, held, order, values, means))
            n_before += len(order)
    found = ContractedRun(
        parts[0] if len(parts) == 1 else join_survivors(parts),
        survivor_of[0] if len(survivor_of) == 1 else join_rows(survivor_of),
        stability[0] if len(stability) == 1 else join_rows(stability),
    )
    found = task.steps.finish(found, batches)
    if task.fusions is not None:
        return found.record(task, task.fusions)
    if stays:
        return found
    return replace(found, survivor_of=found.labels, stability=to_host(found.stability))


BY_BATCH = ("batch_sizes", "batch_costs", "view_stability")


def gather_survivors(parts: Iterable[Survivors], storage: Storage) -> Survivors:
    """Concatenate the survivors of all runs, sorted.

    What they have goes to ``storage`` as it arrives.

    Noise survives, so there can be millions of them.
    """
    columns: dict[str, Gatherer] = {}
    for part in parts:
        for name in (field.name for field in fields(Survivors)):
            column = getattr(part, name)
            if name not in columns:
                columns[name] = Gatherer() if name in BY_BATCH else storage.gather()
            if column is not None:
                columns[name].add(column)
    gathered = {name: column.rows() for name, column in columns.items()}
    found: dict[str, Any] = {
        name: None if rows is None else _plain(rows.X) for name, rows in gathered.items()
    }
    if (found["rows"][1:] > found["rows"][:-1]).all():
        return Survivors(**found | {"values": gathered["values"]})
    order = np.argsort(found["rows"])  # random batches, whose values are not carried
    for name, column in found.items():
        if column is not None and name not in BY_BATCH:
            found[name] = _sort_rows(column, order, storage)
    return Survivors(**found)


def _sort_rows(column: Any, order: IntArray, storage: Storage) -> Any:
    """Return rows in the given order, in ``storage``; those of a CSR matrix in memory."""
    if not isinstance(column, np.ndarray):
        return column[order]
    n_rows = len(order)
    dtype = column.dtype
    if column.ndim == 1:
        stored = storage.vector(n_rows, dtype)
    else:
        stored = storage.matrix(n_rows, column.shape[1], dtype)
    np.take(column, order, axis=0, out=stored, mode="clip")
    return _plain(stored)


def _plain(X: Any) -> Any:
    """Return an array that says nothing of the file that it may be in."""
    return np.asarray(X) if isinstance(X, np.ndarray) else X


def join_survivors(parts: list[Survivors]) -> Survivors:
    """Concatenate survivors."""
    joined: dict[str, Any] = {}
    for name in (field.name for field in fields(Survivors)):
        columns = [getattr(part, name) for part in parts]
        joined[name] = None if columns[0] is None else join_rows(columns)
    return Survivors(**joined)


def held_aside(
    rows: IntArray, mass: Mass | None, weights: Mass | None, means: Any, n_views: int
) -> Survivors:
    """Return rows that are in no batch of a level as survivors of it.

    ``means`` are their values, if means are kept.
    """
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


def _read(task: RunTask, contracted: Offsets) -> tuple[Any, Any]:
    """Return the values of the rows to contract and of the held-aside rows, which are read
    together.

    Consecutive rows of an array are not copied. The held-aside rows are arrays of NumPy.
    """
    values = task.values
    run = task.run
    offsets = slice(contracted.start, contracted.stop)
    assert values is not None  # whoever has the rows has put them in
    if isinstance(values, RunValues):
        block = take_rows(values.X, offsets)
    elif (
        type(values) is ArrayRows and run.indices is None
    ):  # a subclass may read rows in another way
        block = take_rows(values.X, slice(run.start + offsets.start, run.start + offsets.stop))
    else:
        block = values.take(run.index(offsets))
    if isinstance(contracted, slice):
        return block, None
    return leave_out(block, contracted.places), fetch_rows(block, contracted.places)


def _at(offsets: Offsets, positions: IntArray) -> IntArray:
    """Return the offsets at the given positions of a batch."""
    at: IntArray = (
        positions + offsets.start if isinstance(offsets, slice) else offsets.at(positions)
    )
    return at


def entries_of(vector: NDArray[Any], offsets: Offsets) -> NDArray[Any]:
    """Return the entries of a vector at the given offsets."""
    of_batch = vector[offsets.start : offsets.stop]
    if not isinstance(offsets, slice):
        of_batch = leave_out(of_batch, offsets.places)
    return of_batch


def beside(X: Any, vector: NDArray[Any] | None, offsets: Offsets) -> Any:
    """Return the entries of a vector at the given offsets, where the rows are; None for none."""
    return None if vector is None else put_beside(entries_of(vector, offsets), X)


def _rank(keys: IntArray) -> tuple[IntArray, IntArray]:
    """Return the order that sorts distinct ``keys``, and the rank of each key."""
    order = np.argsort(keys)
    rank = np.empty(len(order), dtype=order.dtype)
    rank[order] = np.arange(len(order))
    return order, rank


def _survivors(
    task: RunTask,
    batch: ContractedBatch,
    contracted: Offsets,
    held: IntArray,
    order: IntArray,
    values: Any,
    means: Any,
) -> Survivors:
    """Return the medoids of a batch and its held-aside rows in the given order."""
    n_medoids = len(batch.medoids)
    first = _at(contracted, batch.first_rows)
    is_noise = np.zeros(len(order), dtype=bool)
    is_noise[n_medoids - batch.n_noise : n_medoids] = True
    weights = None
    if task.mass is None:
        mass_held = np.ones(len(held))
    else:
        mass_held = fetch_rows(task.mass, held)
    if task.mass is not None:
        of_clusters = sum_by_label(
            batch.labels, put_beside(entries_of(task.mass, contracted), batch.labels), n_medoids
        )
        weights = np.concatenate([of_clusters, mass_held])[order]
    stability = fetch_rows(batch.stability, batch.medoids)
    return Survivors(
        rows=task.run.index(np.concatenate([_at(contracted, batch.medoids), held])[order]),
        values=None if values is None else values[order],
        mass=None if batch.mass is None else np.concatenate([batch.mass, mass_held])[order],
        sizes=np.concatenate([batch.sizes, np.ones(len(held), dtype=np.int64)])[order],
        first_rows=task.run.index(np.concatenate([first, held])[order]),
        weights=weights,
        means=None if means is None else means[order],
        is_noise=is_noise[order],
        stability=np.concatenate([stability, np.full(len(held), np.nan, np.float32)])[order],
        batch_sizes=np.array([contracted.stop - contracted.start - len(held)]),
        batch_costs=np.array([batch.costs], dtype=np.float64),
        view_stability=batch.view_stability[None],
    )


def _stack(of_medoids: Any, of_held: Any) -> Any:
    return join_rows([of_medoids, of_held.astype(of_medoids.dtype, copy=False)])
