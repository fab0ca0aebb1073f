"""Data on Dask: the first level runs on the workers that hold the rows, and what belongs to the
rows stays there.

The data is rechunked so that each run of batches is one chunk, and the contraction of a run is one
task. Only the survivors of each run are sent to the client. After the fit, the results of each row
are looked up on its worker, in a small table with one entry per leaf. Local batches are shuffled:
workers assign their rows to cells, and each task gathers the rows of its batches from all chunks.
What belongs to the rows is then on the client's disk.

Some Dask arrays in this file hold one Python object per chunk (such as a contracted run) instead of
an array block; Dask does not look inside chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import Batches, count_batches
from cohirf.algorithm.levels import ActiveRows, contract_level, make_tasks, split_level
from cohirf.algorithm.runs import ContractedRun
from cohirf.data.dask_arrays import DaskTable, LazyDaskSource
from cohirf.data.first_level import (
    Counts,
    Data,
    FirstLevel,
    Setup,
    active_rows,
    check_array_weights,
    check_range,
    contract_rows,
)
from cohirf.data.in_process import InMemory, contract_local_batches
from cohirf.engines import (
    engine_at_rows,
    engine_of_batches,
    engine_of_sent_rows,
    engine_that_gathers,
)
from cohirf.engines.dask import (
    chunks_of,
    compute_unoptimised,
    dask_array,
    find_client,
    find_fullest_worker,
    is_dask,
    keep_on_workers,
    map_chunks,
    naming_faults,
    new_name,
    persist,
    refuse_other_packages,
)
from cohirf.planning import Room, resolve_memory_limit
from cohirf.rows.grouping import IntArray
from cohirf.rows.storage import ArrayWeights, Engine, SerialEngine
from cohirf.scratch import ScratchStorage
from cohirf.sources.arrays import DaskSource
from cohirf.summary.rows import Part


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
class OnDask(Data):
    """A Dask array, or a source that the workers read. Batches are blocks of consecutive rows."""

    rows: LazyDaskSource

    is_on_cluster: ClassVar[bool] = True

    @property
    def reading(self) -> Any:
        """How rows are assigned to runs."""
        return "by chunks", np.array(self.rows.array.chunks[0])

    def check_weights(self, sample_weight: Any) -> DaskWeights:
        """Return sample weights with the chunks of the rows.

        Raise unless all are positive and finite.
        """
        da = dask_array()
        if hasattr(sample_weight, "to_dask_array"):
            sample_weight = sample_weight.to_dask_array(lengths=True)
        if is_dask(sample_weight):
            weights = sample_weight
        else:
            weights = da.from_array(np.asarray(sample_weight))
        if weights.shape != (self.rows.n_rows,):
            n_rows = self.rows.n_rows
            raise ValueError(
                f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: pass one per "
                "row."
            )
        weights = weights.rechunk((self.rows.array.chunks[0],)).astype(np.float64)
        lowest, total = compute_unoptimised(weights.min(), weights.sum())
        if not (lowest > 0 and np.isfinite(total)):
            raise ValueError(
                f"sample_weight has minimum {lowest:g} and sum {total:g}: on Dask, all weights "
                "must be positive and finite. Leave out rows of weight 0 with X[sample_weight > "
                "0].compute_chunk_sizes(), or fit a source without client=."
            )
        check_range(lowest, total)
        return DaskWeights(LazyDaskSource(weights[:, None]))

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use on the worker with the least memory."""
        worker = find_fullest_worker()
        if worker is None:
            return Room(resolve_memory_limit(memory_limit), held_bytes=0)
        limit = worker.usable_bytes if memory_limit is None else memory_limit
        # one is read while another is contracted
        held = 2 * worker.n_threads * self.rows.chunk_bytes
        return Room(limit, worker.n_threads, held_bytes=held, taken_bytes=worker.taken_bytes)

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels: the cluster, or this process without one."""
        return engine_of_sent_rows(n_jobs, find_client())

    def contract_first_level(self, weights: DaskWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows on the workers that hold them.

        A single batch is loaded into this process.
        """
        contraction = setup.contraction
        if count_batches(self.rows.n_rows, contraction.batch_size) == 1:
            return self._contract_here(weights, setup)
        if setup.locality is not None:
            return self._contract_local_batches(weights, setup)
        chunks = self.rows.array.chunks[0]
        active = ActiveRows(self.rows, in_order=True, chunk_starts=np.cumsum((0, *chunks[:-1])))
        engine = engine_at_rows(self.rows.array, None if weights is None else weights.source.array)
        resources = setup.make_resources(engine, ScratchStorage())
        leaves = contract_level(active, 1, contraction, resources, None)
        batches, cuts = split_level(active, 1, contraction)
        tasks = list(make_tasks(active, 1, batches, cuts, resources, None))
        starts = [task.run.start for task in tasks]
        return FirstLevel(
            leaves, self._map_runs(engine.outcomes(tasks, contraction), starts, leaves.rows), self
        )

    def _map_runs(self, outcomes: Any, starts: list[int], leaf_rows: IntArray) -> Part:
        """Return the leaf of each row, given the contracted runs, one in each chunk, and their
        first rows.

        Leaves are sorted by row, and so are the runs.
        """
        lengths = tuple(np.diff([*starts, self.rows.n_rows]).tolist())
        first_leaves = np.searchsorted(leaf_rows, starts).tolist()
        numbers = map_chunks(
            number_run, first_leaves, [outcomes], lengths, new_name("leaf_of_rows"), np.int64
        )
        stability = map_chunks(
            attrgetter("stability"), None, [outcomes], lengths, new_name("stability"), np.float32
        )
        chunks = (self.rows.array.chunks[0],)
        leaf_of, of_rows = (
            vector.rechunk(chunks, method="tasks") for vector in (numbers, stability)
        )
        return Part(leaf_of, of_rows, np.arange(len(leaf_rows)))

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to the chunks, on the workers, where the results stay."""
        return persist(DaskTable(self.rows.array, None).map_rows(function, n_columns, dtype))

    def count(self, leaf_of: Any, n_leaves: int, weights: DaskWeights | None) -> Counts:
        """Count the rows of each leaf, chunk by chunk."""
        starts = np.cumsum((0, *leaf_of.chunks[0][:-1])).tolist()
        arrays = [leaf_of]
        if weights is not None:
            arrays.append(weights.source.array[:, 0])
        count = partial(count_chunk, n_leaves=n_leaves)
        ones = tuple(1 for _ in starts)
        counts = map_chunks(count, starts, arrays, ones, new_name("count_leaves"), object)
        with naming_faults():
            found: Counts = reduce(Counts.and_of, chunks_of(persist(counts)))
        return found

    def put_vector(self, vector: Any) -> Any:
        """Return a vector as a Dask array with the chunks of the data."""
        if is_dask(vector):
            return vector
        return dask_array().from_array(vector, chunks=(self.rows.array.chunks[0],))

    def contract_blocks(
        self, before: Any, start: int, mass: Any, blocks: Batches, setup: Setup
    ) -> FirstLevel:
        """Contract blocks of rows in order: of the values in ``before``, followed by these rows,
        from ``start`` on.

        Workers gather the rows of each task from the chunks. What belongs to the rows is on the
        disk of this process.
        """
        client = find_client()
        n_rows = int(blocks.bounds[-1]) if mass is None else len(mass)
        if client is None:
            return super().contract_blocks(before, start, mass, blocks, setup)
        refuse_other_packages(client)
        da = dask_array()
        chunks = self.rows.array
        if len(before):
            chunks = da.concatenate(
                [da.from_array(np.asarray(before, chunks.dtype), chunks=-1), chunks]
            )
        kept = keep_on_workers(client, chunks[start : start + n_rows])
        rows = LazyDaskSource(kept)
        resources = setup.make_resources(engine_that_gathers(client, kept), ScratchStorage())
        active = active_rows(rows, None if mass is None else ArrayWeights(mass), in_order=True)
        active = replace(active, batches=blocks, steps=setup.steps)
        return contract_rows(active, setup.contraction, resources)

    def _contract_here(self, weights: DaskWeights | None, setup: Setup) -> FirstLevel:
        everything = np.arange(self.rows.n_rows)
        return InMemory(self.rows.take(everything)).contract_first_level(
            _load(weights, len(everything)), setup
        )

    def _contract_local_batches(self, weights: DaskWeights | None, setup: Setup) -> FirstLevel:
        """Contract local batches: workers assign rows to cells, and gather the rows of each batch
        from the chunks.

        Without a cluster, the chunks are read in this process.
        """
        client = find_client()
        weights_here = _load(weights, self.rows.n_rows)
        if client is None:
            rows = DaskSource(self.rows.array)
            engine = engine_of_batches(setup.n_jobs)
            return contract_local_batches(rows, weights_here, setup, SerialEngine(), engine)
        refuse_other_packages(client)
        kept = keep_on_workers(client, self.rows.array)
        shuffling = engine_that_gathers(client, kept)
        storage = ScratchStorage()
        resources = setup.make_resources(shuffling, storage)
        active = setup.make_local(
            active_rows(LazyDaskSource(kept), weights_here), None, storage, shuffling
        )
        active = setup.label(active, resources.run_engine, ScratchStorage())
        return contract_rows(active, setup.contraction, resources)


def _load(weights: DaskWeights | None, n_rows: int) -> ArrayWeights | None:
    """Return the weights in this process."""
    if weights is None:
        return None
    return check_array_weights(weights.take(np.arange(n_rows)), n_rows)


def count_chunk(
    start: int, leaf_of: IntArray, weights: NDArray[np.float64] | None = None, *, n_leaves: int
) -> Counts:
    """Return number, weight and first of the rows of a chunk in each leaf."""
    return Counts.of_block(leaf_of, start, weights, n_leaves)


def number_run(first_leaf: int, outcome: ContractedRun) -> IntArray:
    """Return the number of the leaf of each row of a run."""
    leaf_of: IntArray = outcome.labels.astype(np.int64) + first_leaf
    return leaf_of
