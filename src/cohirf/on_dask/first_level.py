"""The first level of a fit on Dask: it runs on the workers, and the labels stay there.

The data is rechunked so that each run of blocks is one chunk, and the contraction of a run is one task. Only the
survivors of each run are sent to the client. After the fit, each row's label is looked up on its worker, in a small
table with one label per survivor.

Some Dask arrays in this file hold one Python object per chunk (a run, or a contracted run) instead of an array block;
Dask does not look inside chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from cohirf.algorithm.engine import Engine
from cohirf.algorithm.first_level import ContractedRun, Run, Survivors, contract_run, gather_survivors, plan_runs
from cohirf.algorithm.grouping import IntArray, index_dtype
from cohirf.algorithm.levels import BatchTask, Contraction, FitState
from cohirf.algorithm.parents import find_roots, get_final_labels, hide_small_clusters, number_by_first_row
from cohirf.algorithm.population import Population
from cohirf.algorithm.storage import ArrayRows, RowsReadOnce, Storage
from cohirf.engines.dask import DataLocalEngine, call_on_one_thread, dask_array, new_name
from cohirf.on_dask.data import LazyDaskSource, compute_unoptimised
from cohirf.sources.dask import ChunkSource

WrapEngine = Callable[[Engine], Engine]


@dataclass(frozen=True)
class FirstLevel:
    """The first level of a fit.

    Attributes
    ----------
    rows : LazyDaskSource
        The data.
    runs : list of Run
        The runs of blocks.
    outcomes : dask.array.Array
        The contracted runs, one per chunk. They are on the workers.
    survivors : Survivors
        The rows that stay active after the first level.
    """

    rows: LazyDaskSource
    runs: list[Run]
    outcomes: Any
    survivors: Survivors

    @classmethod
    def contract(
        cls,
        rows: LazyDaskSource,
        weights: LazyDaskSource | None,
        contraction: Contraction,
        wrap_engine: WrapEngine,
        storage: Storage,
    ) -> FirstLevel:
        """Contract the runs on the workers that hold their rows, and load the survivors into this process."""
        runs = plan_runs(rows.n_rows, contraction, np.cumsum((0, *rows.array.chunks[0][:-1])))
        engine = DataLocalEngine(_lazy_runs(rows, weights, runs, contraction))
        parts = wrap_engine(engine).run(_without_labels, ((run,) for run in runs), len(runs))
        survivors = gather_survivors(parts, storage)
        return cls(rows, runs, engine.join_restored(_lazy_runs(rows, weights, runs, contraction)), survivors)

    def spread(self, values: NDArray[Any]) -> Any:
        """Look up each row's survivor in ``values``, which has one entry per survivor; return a Dask array."""
        starts = np.searchsorted(self.survivors.rows, [*(run.start for run in self.runs), self.rows.n_rows])
        table = dask_array().from_array(np.asarray(values), chunks=(tuple(np.diff(starts).tolist()),), name=False)
        lengths = tuple(run.length for run in self.runs)
        given = [self.outcomes, "i", table, "i"]
        found = _map_chunks(_look_up, given, lengths, new_name("label_rows"), values.dtype)
        return found.rechunk((self.rows.array.chunks[0],), method="tasks")

    def label(self, state: FitState, min_cluster_size: float) -> tuple[IntArray, IntArray]:
        """Return the final label of each survivor, and the survivor that is the medoid of each label."""
        found = self.survivors
        roots = find_roots(state.parents, state.absorbed_at, state.level).astype(index_dtype(self.rows.n_rows))
        labels, medoids = number_by_first_row(*get_final_labels(roots), found.first_rows)
        sizes = found.sizes.astype(np.float64) if found.weights is None else found.weights
        return hide_small_clusters(labels, medoids, sizes, min_cluster_size)

    def parents(self, state: FitState) -> Any:
        """Return a Dask array with the row that absorbed each row, or the row itself if it was never absorbed."""
        rows = self.survivors.rows
        return self._where_survivor(self.spread(rows[state.parents]), self.spread(rows))

    def stability(self, state: FitState) -> Any:
        """Return a Dask array with the stability of each row at the last level at which it was active.

        That is the mean over views of the Jaccard index between the row's group and its cluster in that view.
        """
        return self._where_survivor(self.spread(state.stability), self._at_first_level())

    def _where_survivor(self, values: Any, elsewhere: Any) -> Any:
        """Return a Dask array with ``values`` for survivors of the first level, and ``elsewhere`` for other rows."""
        da, survivor = dask_array(), self.spread(self.survivors.rows)
        row = da.arange(self.rows.n_rows, chunks=survivor.chunks, dtype=survivor.dtype)
        return da.where(row == survivor, values, elsewhere)

    def _at_first_level(self) -> Any:
        lengths = tuple(run.length for run in self.runs)
        found = _map_chunks(_stability, [self.outcomes, "i"], lengths, new_name("stability"), np.float32)
        return found.rechunk((self.rows.array.chunks[0],), method="tasks")


@dataclass(frozen=True, kw_only=True)
class DaskPopulation(Population):
    """The rows of a Dask array, all of which take part in the fit; samples of them are loaded into this process."""

    first_level: FirstLevel
    weights_there: LazyDaskSource | None = None

    def task(self, rows: IntArray, place: tuple[int, int]) -> BatchTask:
        """Return the task that contracts ``rows``, which must be sorted, as one batch; the task holds their values."""
        everything = np.arange(len(rows))
        task = self.gather(rows).task(everything, place)
        return replace(task, values=ArrayRows(task.values.take(everything)))

    def gather(self, rows: IntArray) -> Population:
        """Return a population of the given rows only, which must be sorted; they are loaded once."""
        weights = None if self.weights_there is None else self.weights_there.take(rows)[:, 0]
        return Population(RowsReadOnce(self.values, rows), weights)

    def leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf of the hierarchy for each row: the survivor that represents it."""
        survivor = self.first_level.spread(np.arange(len(self.first_level.survivors.rows)))
        (leaves,) = compute_unoptimised(survivor[rows])
        return np.asarray(leaves)

    def row_numbers(self, leaves: IntArray) -> IntArray:
        """Return the row numbers of survivors."""
        return self.first_level.survivors.rows[leaves]


def _lazy_runs(rows: LazyDaskSource, weights: LazyDaskSource | None, runs: list[Run], contraction: Contraction) -> Any:
    """Return a lazy array with one contracted run per chunk; every call uses new task names."""
    lengths = tuple(run.length for run in runs)
    given = [_one_chunk_each(runs), "i"]
    for array in (rows.array,) if weights is None else (rows.array, weights.array):
        named = array.map_blocks(_as_is, name=new_name("rows"), dtype=array.dtype, meta=array._meta)
        # the "p2p" method would write all data to the disks of the workers, and start over when a worker is lost
        given += [named.rechunk((lengths, -1), method="tasks"), "ij"]
    contract = partial(call_on_one_thread, partial(_contract_chunk, contraction), get_config())
    return _map_chunks(contract, given, tuple(1 for _ in runs), new_name("contract_batches"), object)


def _as_is(chunk: Any) -> Any:
    return chunk


def _one_chunk_each(things: list[Any]) -> Any:
    """Return a Dask array with one of ``things`` in each chunk."""
    name = new_name("run")
    graph = {(name, number): thing for number, thing in enumerate(things)}
    return dask_array().Array(graph, name, chunks=((1,) * len(things),), dtype=object)


def _map_chunks(function: Any, given: list[Any], lengths: tuple[int, ...], name: str, dtype: Any) -> Any:
    """Apply ``function`` to the chunks at the same position of several arrays; return a lazy array of the results."""
    meta, chunks = np.empty(0, dtype=dtype), {"i": lengths}
    return dask_array().blockwise(
        function, "i", *given, name=name, adjust_chunks=chunks, align_arrays=False, dtype=dtype, meta=meta
    )


def _contract_chunk(contraction: Contraction, run: Run, columns: list[Any], weights: Any = None) -> ContractedRun:
    """Contract a run on the worker that holds its rows. Dask passes the single chunk along the columns in a list."""
    of_rows = None if weights is None else np.asarray(weights[0])[:, 0]
    return contract_run(run, ChunkSource(columns[0], run.start, run.n_rows), of_rows, contraction)


def _without_labels(outcome: ContractedRun) -> Survivors:
    return outcome.survivors


def _look_up(outcome: ContractedRun, values: NDArray[Any]) -> NDArray[Any]:
    return values[outcome.survivor_of]


def _stability(outcome: ContractedRun) -> NDArray[np.float32]:
    return outcome.stability
