"""Data on Dask: the first level runs on the workers that hold the rows, and what belongs to the rows stays there.

The data is rechunked so that each run of batches is one chunk, and the contraction of a run is one task. Only the
survivors of each run are sent to the client. After the fit, the results of each row are looked up on its worker, in a
small table with one entry per leaf. Local batches are shuffled: workers deal their rows to cells, and each task gathers
the rows of its batches from all chunks. What belongs to the rows is then on the client's disk.

Some Dask arrays in this file hold one Python object per chunk (such as a contracted run) instead of an array block;
Dask does not look inside chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import EqualBlocks, count_batches
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.first_level import (
    Assigned,
    FirstLevel,
    FirstLevelHere,
    RowResults,
    SettledLevel,
    Tree,
    tree_of_leaves,
)
from cohirf.algorithm.fusions import Fusions
from cohirf.algorithm.grouping import IntArray, first_rows, index_dtype
from cohirf.algorithm.levels import ActiveRows, FitState, contract_level, make_tasks, split_level
from cohirf.algorithm.runs import ContractedRun, Survivors
from cohirf.algorithm.storage import ArrayRows, StackedRows, take_in_order
from cohirf.data.dask_arrays import DaskTable, LazyDaskSource, compute_unoptimised, is_dask
from cohirf.data.data import Setup, check_range
from cohirf.data.in_memory import ArrayWeights, InMemory, active_rows, check_array_weights, contract_stacked
from cohirf.data.in_source import contract_local_batches
from cohirf.engines import DaskEngine, LocalEngine
from cohirf.engines.dask import (
    DataLocalEngine,
    chunks_of,
    dask_array,
    find_client,
    find_fullest_worker,
    keep_on_workers,
    map_chunks,
    naming_faults,
    new_name,
    one_chunk_each,
    persist,
    refuse_other_packages,
)
from cohirf.planning import resolve_memory_limit
from cohirf.scratch import ScratchStorage


@dataclass(frozen=True)
class DaskWeights:
    """Sample weights on Dask, all of which are positive."""

    source: LazyDaskSource

    positive: ClassVar[None] = None

    def take(self, rows: IntArray) -> NDArray[np.float64]:
        """Return the weights of the given rows."""
        weights: NDArray[np.float64] = self.source.take(rows)[:, 0]
        return weights

    def describe(self) -> str:
        """Return a short text that identifies the weights."""
        return self.source.fingerprint()


@dataclass(frozen=True)
class OnDask:
    """A Dask array, or a source that the workers read. Batches are blocks of consecutive rows."""

    rows: LazyDaskSource

    column_means: ClassVar[None] = None  # missing cells are refused
    device: ClassVar[None] = None

    @property
    def reading(self) -> Any:
        """How rows are assigned to runs."""
        return "by chunks", np.array(self.rows.array.chunks[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.rows.n_features

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        return self.rows.dtype

    def take(self, rows: IntArray) -> Any:
        """Return the given rows."""
        return take_in_order(self.rows, rows)

    def fingerprint(self) -> str:
        """Return a short text that identifies the values."""
        return self.rows.fingerprint()

    def check_weights(self, sample_weight: Any) -> DaskWeights:
        """Return sample weights with the chunks of the rows; raise unless all are positive and finite."""
        da = dask_array()
        if hasattr(sample_weight, "to_dask_array"):
            sample_weight = sample_weight.to_dask_array(lengths=True)
        weights = sample_weight if is_dask(sample_weight) else da.from_array(np.asarray(sample_weight))
        if weights.shape != (self.rows.n_rows,):
            n_rows = self.rows.n_rows
            raise ValueError(f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: pass one per row.")
        weights = weights.rechunk((self.rows.array.chunks[0],)).astype(np.float64)
        lowest, total = compute_unoptimised(weights.min(), weights.sum())
        if not (lowest > 0 and np.isfinite(total)):
            raise ValueError(
                f"sample_weight has minimum {lowest:g} and sum {total:g}: on Dask, all weights must be positive and "
                f"finite. Leave out rows of weight 0 with X[sample_weight > 0].compute_chunk_sizes(), or fit a source "
                f"without client=."
            )
        check_range(lowest, total)
        return DaskWeights(LazyDaskSource(weights[:, None]))

    def room(self, memory_limit: int | None, n_jobs: int | None) -> dict[str, Any]:
        """Return the memory that batches may use on the worker with the least memory."""
        worker = find_fullest_worker()
        if worker is None:
            return {"memory_limit": resolve_memory_limit(memory_limit), "n_jobs": 1, "held_bytes": 0}
        return {
            "memory_limit": worker.usable_bytes if memory_limit is None else memory_limit,
            "n_jobs": worker.n_threads,
            "held_bytes": 2 * worker.n_threads * self.rows.chunk_bytes,  # one is read while another is contracted
            "taken_bytes": worker.taken_bytes,
        }

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels: the cluster, or this process without one."""
        client = find_client()
        return LocalEngine(n_jobs) if client is None else DaskEngine(client)

    def contract_first_level(self, weights: DaskWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows on the workers that hold them; a single batch is loaded into this process."""
        contraction = setup.contraction
        if count_batches(self.rows.n_rows, contraction.batch_size) == 1:
            return self._contract_here(weights, setup)
        if setup.locality is not None:
            return self._contract_local_batches(weights, setup)
        chunks = self.rows.array.chunks[0]
        active = ActiveRows(self.rows, in_order=True, chunk_starts=np.cumsum((0, *chunks[:-1])))
        engine = DataLocalEngine(self.rows.array, None if weights is None else weights.source.array)
        resources = setup.make_resources(engine, ScratchStorage())
        leaves = contract_level(active, 1, contraction, resources, None)
        batches, cuts = split_level(active, 1, contraction)
        tasks = list(make_tasks(active, 1, batches, cuts, resources, None))
        return FirstLevelOnDask(self, leaves, [task.run.start for task in tasks], engine.outcomes(tasks, contraction))

    def contract_blocks(self, before: Any, start: int, mass: Any, blocks: EqualBlocks, setup: Setup) -> FirstLevelHere:
        """Contract blocks of rows in order: of the values in ``before``, followed by these rows, from ``start`` on.

        Workers gather the rows of each task from the chunks. What belongs to the rows is on the disk of this process.
        """
        client, n_rows = find_client(), blocks.n_batches * blocks.size if mass is None else len(mass)
        if client is None:
            stacked = StackedRows(ArrayRows(before), self.rows, n_rows, start)
            return contract_stacked(stacked, mass, blocks, setup, ScratchStorage())
        refuse_other_packages(client)
        da, chunks = dask_array(), self.rows.array
        if len(before):
            chunks = da.concatenate([da.from_array(np.asarray(before, chunks.dtype), chunks=-1), chunks])
        kept = keep_on_workers(client, chunks[start : start + n_rows])
        rows = LazyDaskSource(kept)
        resources = setup.make_resources(DaskEngine(client, kept), ScratchStorage())
        active = active_rows(rows, None if mass is None else ArrayWeights(mass), in_order=True)
        active = replace(active, batches=blocks, apart=setup.apart)
        return FirstLevelHere.contract(active, setup.contraction, setup.max_level, resources)

    def _contract_here(self, weights: DaskWeights | None, setup: Setup) -> FirstLevel:
        everything = np.arange(self.rows.n_rows)
        first_level = InMemory(self.rows.take(everything)).contract_first_level(_load(weights, len(everything)), setup)
        return LoadedFirstLevel(**vars(first_level), chunks=self.rows.array.chunks[0])

    def _contract_local_batches(self, weights: DaskWeights | None, setup: Setup) -> FirstLevel:
        """Contract local batches: workers deal rows to cells, and gather the rows of each batch from the chunks.

        Without a cluster, the rows are written to a file of this process, chunk by chunk.
        """
        client, weights_here = find_client(), _load(weights, self.rows.n_rows)
        if client is None:
            here = self._copy_to_disk()
            engine = LocalEngine(setup.n_jobs)
            first_level = contract_local_batches(ArrayRows(here), weights_here, setup, engine, engine)
        else:
            refuse_other_packages(client)
            kept = keep_on_workers(client, self.rows.array)
            shuffling, storage = DaskEngine(client, kept), ScratchStorage()
            resources = setup.make_resources(shuffling, storage)
            active = setup.make_local(active_rows(LazyDaskSource(kept), weights_here), None, storage, shuffling)
            active = setup.label(active, resources.run_engine, ScratchStorage())
            first_level = FirstLevelHere.contract(active, setup.contraction, setup.max_level, resources)
            first_level = replace(first_level, in_memory=False)
        return LoadedFirstLevel(**vars(first_level), chunks=self.rows.array.chunks[0])

    def _copy_to_disk(self) -> NDArray[Any]:
        """Return the rows in a temporary file; each chunk is computed once."""
        storage = ScratchStorage()
        here = storage.matrix(self.rows.n_rows, self.n_features, self.dtype)
        for start, stop in pairwise(np.cumsum((0, *self.rows.array.chunks[0])).tolist()):
            here[start:stop] = self.rows.take(np.arange(start, stop))
            storage.release()
        return here


def _load(weights: DaskWeights | None, n_rows: int) -> ArrayWeights | None:
    """Return the weights in this process."""
    return None if weights is None else check_array_weights(weights.take(np.arange(n_rows)), n_rows)


@dataclass(frozen=True)
class LoadedFirstLevel(FirstLevelHere):
    """The first level of rows that were loaded into this process; results by row become Dask arrays again."""

    chunks: tuple[int, ...] = ()

    def hand_down(self, state: FitState, labels_of_rows: Any) -> tuple[RowResults, Tree]:
        """Return the results of all rows with the chunks of the data."""
        found, tree = super().hand_down(state, labels_of_rows)
        vectors = (found.labels, found.parents, found.absorbed_at, found.stability)
        da = dask_array()
        return RowResults(*(da.from_array(vector, chunks=(self.chunks,)) for vector in vectors)), tree


@dataclass(frozen=True)
class FirstLevelOnDask:
    """A first level whose contracted runs are on the workers.

    Attributes
    ----------
    data : OnDask
        The data.
    leaves : Survivors
        The rows that it left active.
    starts : list of int
        Number of the first row of each run.
    outcomes : dask.array.Array
        The contracted runs, one per chunk.
    """

    data: OnDask
    leaves: Survivors
    starts: list[int]
    outcomes: Any

    readable: ClassVar[None] = None

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf that each of the given rows belongs to."""
        (parents,) = compute_unoptimised(self._vector(self.outcomes, _parents, self.leaves.rows.dtype)[rows])
        leaves: IntArray = np.searchsorted(self.leaves.rows, parents)
        return leaves

    def label(self, labels: IntArray) -> Any:
        """Return the label of each row of the data, given the label of each leaf."""
        parts = [labels[run] for run in self._leaves_of_runs]
        given = [self.outcomes, "i", one_chunk_each(parts), "i"]
        return self._with_chunks(map_chunks(label_run, given, self._lengths, new_name("label_rows"), labels.dtype))

    def assign(self, cells: Any, rows: Any, column_means: Any, n_leaves: int, weights: Any) -> Assigned:
        """Label each row of the data by its values, on the workers, with the number of another leaf."""
        leaf_of = DaskTable(self.data.rows.array, None).map_rows(cells.label, None, index_dtype(n_leaves))
        leaf_of = persist(leaf_of)
        starts = np.cumsum((0, *leaf_of.chunks[0][:-1])).tolist()
        given = [leaf_of, "i", one_chunk_each(starts), "i"]
        if weights is not None:
            given += [weights.source.array[:, 0], "i"]
        count = partial(count_chunk, n_leaves=n_leaves)
        counts = map_chunks(count, given, tuple(1 for _ in starts), new_name("count_leaves"), object)
        with naming_faults():
            parts = list(chunks_of(persist(counts)))
        sizes, sums, first = (np.stack(column) for column in zip(*parts, strict=True))
        return Assigned(leaf_of, sizes.sum(axis=0), None if weights is None else sums.sum(axis=0), first.min(axis=0))

    def settle(self, found: Assigned, leaves: Survivors) -> SettledLevel:
        """Return a first level with other leaves, in which each row belongs to the one that it was assigned to."""
        stability = self._vector(self.outcomes, attrgetter("stability"), np.float32)
        (own,) = compute_unoptimised(stability[leaves.rows])
        return SettledOnDask(replace(leaves, stability=own), found.leaf_of, stability)

    def hand_down(self, state: FitState, labels_of_rows: Any) -> tuple[RowResults, Tree]:
        """Return the results of all rows as Dask arrays with the chunks of the data."""
        rows, fusions = self.leaves.rows, state.fusions
        table = LeafTable(rows, rows[fusions.parents], fusions.absorbed_at, fusions.stability)
        results = self._hand_down(table)
        return RowResults(
            labels_of_rows,
            self._vector(results, attrgetter("parents"), rows.dtype),
            self._vector(results, attrgetter("absorbed_at"), fusions.absorbed_at.dtype),
            self._vector(results, attrgetter("stability"), fusions.stability.dtype),
        ), tree_of_leaves(state, self.leaves)

    @cached_property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(np.diff([*self.starts, self.data.rows.n_rows]).tolist())

    @property
    def _leaves_of_runs(self) -> list[slice]:
        """The leaves of each run: they are sorted by row, and so are the runs."""
        bounds = np.searchsorted(self.leaves.rows, [*self.starts, self.data.rows.n_rows])
        return [slice(*bound) for bound in pairwise(bounds.tolist())]

    def _hand_down(self, table: LeafTable) -> Any:
        """Return a Dask array with the ``Fusions`` of one run in each chunk."""
        parts = [table.part(run) for run in self._leaves_of_runs]
        ones = tuple(1 for _ in parts)
        given = [self.outcomes, "i", one_chunk_each(parts), "i", one_chunk_each(self.starts), "i"]
        return map_chunks(hand_down_run, given, ones, new_name("hand_down"), object)

    def _vector(self, results: Any, function: Callable[[Any], Any], dtype: Any) -> Any:
        """Return a Dask vector with the chunks of the data: what ``function`` returns for each run."""
        return self._with_chunks(map_chunks(function, [results, "i"], self._lengths, new_name("of_rows"), dtype))

    def _with_chunks(self, found: Any) -> Any:
        """Return a vector whose chunks are runs with the chunks of the data."""
        return found.rechunk((self.data.rows.array.chunks[0],), method="tasks")


@dataclass(frozen=True)
class SettledOnDask:
    """A first level whose rows were assigned to other leaves: the leaf of each row is in a Dask array.

    Attributes
    ----------
    leaves : Survivors
        The leaves.
    leaf_of, stability : dask.array.Array
        The number of each row's leaf, and its stability, with the chunks of the data.
    """

    leaves: Survivors
    leaf_of: Any
    stability: Any

    readable: ClassVar[None] = None

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf that each of the given rows belongs to."""
        (leaves,) = compute_unoptimised(self.leaf_of[rows])
        return np.asarray(leaves)

    def label(self, labels: IntArray) -> Any:
        """Return the label of each row of the data, given the label of each leaf."""
        return self._look_up(labels, "label_rows")

    def hand_down(self, state: FitState, labels_of_rows: Any) -> tuple[RowResults, Tree]:
        """Return the results of all rows as Dask arrays with the chunks of the data."""
        rows, fusions = self.leaves.rows, state.fusions
        chunks = self.leaf_of.chunks[0]
        starts = np.cumsum((0, *chunks[:-1])).tolist()
        bounds = np.searchsorted(rows, [*starts, sum(chunks)])
        table = LeafTable(rows, rows[fusions.parents], fusions.absorbed_at, fusions.stability)
        parts = [table.part(slice(*bound)) for bound in pairwise(bounds.tolist())]

        def overwrite(vector: Any, name: str) -> Any:
            own = [(part.rows - start, getattr(part, name)) for part, start in zip(parts, starts, strict=True)]
            given = [vector, "i", one_chunk_each(own), "i"]
            return map_chunks(put_into_chunk, given, chunks, new_name("of_rows"), getattr(table, name).dtype)

        ones = np.ones(len(rows), dtype=fusions.absorbed_at.dtype)
        return RowResults(
            labels_of_rows,
            overwrite(self._look_up(rows, "parents"), "parents"),
            overwrite(self._look_up(ones, "absorbed_at"), "absorbed_at"),
            overwrite(self.stability, "stability"),
        ), tree_of_leaves(state, self.leaves)

    def _look_up(self, table: NDArray[Any], name: str) -> Any:
        return map_chunks(table.__getitem__, [self.leaf_of, "i"], self.leaf_of.chunks[0], new_name(name), table.dtype)


def put_into_chunk(chunk: NDArray[Any], own: tuple[IntArray, NDArray[Any]]) -> NDArray[Any]:
    """Return a copy of a chunk with other values at some places."""
    changed = np.array(chunk)
    changed[own[0]] = own[1]
    return changed


def count_chunk(
    leaf_of: IntArray, start: int, weights: NDArray[np.float64] | None = None, *, n_leaves: int
) -> tuple[IntArray, NDArray[np.float64], IntArray]:
    """Return number, weight and first of the rows of a chunk in each leaf; the first is huge if there is none."""
    sizes: IntArray = np.bincount(leaf_of, minlength=n_leaves)
    first = np.where(sizes > 0, start + first_rows(leaf_of, n_leaves).astype(np.int64), np.iinfo(np.int64).max)
    return sizes, np.bincount(leaf_of, weights=weights, minlength=n_leaves).astype(np.float64), first


@dataclass(frozen=True)
class LeafTable:
    """Results of leaves: row number, row number of the parent, level of absorption, stability."""

    rows: IntArray
    parents: IntArray
    absorbed_at: IntArray
    stability: NDArray[np.float32]

    def part(self, some: slice) -> LeafTable:
        """Return the results of some leaves."""
        return LeafTable(self.rows[some], self.parents[some], self.absorbed_at[some], self.stability[some])


def label_run(outcome: ContractedRun, labels: IntArray) -> IntArray:
    """Return the label of each row of a run, given the label of each of its leaves."""
    of_rows: IntArray = labels[outcome.survivor_of]
    return of_rows


def hand_down_run(outcome: ContractedRun, leaves: LeafTable, start: int) -> Fusions:
    """Return the results of the rows of a run, given those of its leaves."""
    assert outcome.stability is not None
    parents, own = outcome.parents, leaves.rows - start
    fusions = Fusions(parents, np.empty(len(parents), leaves.absorbed_at.dtype), outcome.stability.copy())
    fusions.absorbed_at[:] = 1  # rows that are not leaves were absorbed at the first level
    fusions.parents[own] = leaves.parents
    fusions.absorbed_at[own] = leaves.absorbed_at
    fusions.stability[own] = leaves.stability
    return fusions


def _parents(outcome: ContractedRun) -> IntArray:
    return outcome.parents
