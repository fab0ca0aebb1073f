"""The first level of a fit on Dask: it runs where the data is, and labels stay there.

Batches are a rechunk: runs of blocks are the chunks of an array, each of which becomes one task. What comes here are
the survivors of each run. When the fit is done, the label of a row is looked up where the row is, in the small table of
the labels of its run's survivors.

Several arrays of Dask here have chunks that are no arrays, but a run or what became of it. Dask need not know.
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
from cohirf.engines.dask import WhereDataIs, call_on_one_thread, dask_array, new_name
from cohirf.on_dask.data import GatheredSource, compute_as_is
from cohirf.sources.dask import ChunkSource

Around = Callable[[Engine], Engine]


@dataclass(frozen=True)
class FirstLevel:
    """The first level of a fit: its runs, what became of them, as an array with a chunk for each, and the survivors."""

    rows: GatheredSource
    runs: list[Run]
    outcomes: Any
    survivors: Survivors

    @classmethod
    def contract(
        cls,
        rows: GatheredSource,
        weights: GatheredSource | None,
        contraction: Contraction,
        around: Around,
        storage: Storage,
    ) -> FirstLevel:
        """Contract the runs where their rows are, and gather the survivors."""
        runs = plan_runs(rows.n_rows, contraction, np.cumsum((0, *rows.array.chunks[0][:-1])))
        where = WhereDataIs(_promise(rows, weights, runs, contraction))
        parts = around(where).run(_without_labels, ((run,) for run in runs), len(runs))
        survivors = gather_survivors(parts, storage)
        return cls(rows, runs, where.join_known(_promise(rows, weights, runs, contraction)), survivors)

    def spread(self, values: NDArray[Any]) -> Any:
        """Return the Dask array that has for each row what ``values`` have for the survivor that stands for it."""
        starts = np.searchsorted(self.survivors.rows, [*(run.start for run in self.runs), self.rows.n_rows])
        table = dask_array().from_array(np.asarray(values), chunks=(tuple(np.diff(starts).tolist()),), name=False)
        lengths = tuple(run.length for run in self.runs)
        given = [self.outcomes, "i", table, "i"]
        found = _map_chunks(_look_up, given, lengths, new_name("label_rows"), values.dtype)
        return found.rechunk((self.rows.array.chunks[0],), method="tasks")

    def label(self, state: FitState, min_cluster_size: float) -> tuple[IntArray, IntArray]:
        """Return the final label of each survivor, and which survivor is the medoid of each label."""
        found = self.survivors
        roots = find_roots(state.parents, state.absorbed_at, state.level).astype(index_dtype(self.rows.n_rows))
        labels, medoids = number_by_first_row(*get_final_labels(roots), found.first_rows)
        sizes = found.sizes.astype(np.float64) if found.weights is None else found.weights
        return hide_small_clusters(labels, medoids, sizes, min_cluster_size)

    def parents(self, state: FitState) -> Any:
        """Return the Dask array of the row that absorbed each row, or of the row itself."""
        rows = self.survivors.rows
        return self._where_survivor(self.spread(rows[state.parents]), self.spread(rows))

    def stability(self, state: FitState) -> Any:
        """Return the Dask array of how far views confirmed the group of each row at the last level that saw it."""
        return self._where_survivor(self.spread(state.stability), self._at_first_level())

    def _where_survivor(self, values: Any, elsewhere: Any) -> Any:
        """Return the Dask array with ``values`` where a row survived the first level, and others where it did not."""
        da, survivor = dask_array(), self.spread(self.survivors.rows)
        row = da.arange(self.rows.n_rows, chunks=survivor.chunks, dtype=survivor.dtype)
        return da.where(row == survivor, values, elsewhere)

    def _at_first_level(self) -> Any:
        lengths = tuple(run.length for run in self.runs)
        found = _map_chunks(_stability, [self.outcomes, "i"], lengths, new_name("stability"), np.float32)
        return found.rechunk((self.rows.array.chunks[0],), method="tasks")


@dataclass(frozen=True, kw_only=True)
class DaskPopulation(Population):
    """The rows of a Dask array, all of which take part in a fit; samples of them are gathered here."""

    first_level: FirstLevel
    weights_there: GatheredSource | None = None

    def task(self, rows: IntArray, place: tuple[int, int]) -> BatchTask:
        """Return the task to contract rows as one batch, with their values; their numbers are rising."""
        everything = np.arange(len(rows))
        task = self.gather(rows).task(everything, place)
        return replace(task, values=ArrayRows(task.values.take(everything)))

    def gather(self, rows: IntArray) -> Population:
        """Return a population of the given rows alone, which are gathered once; their numbers are rising."""
        weights = None if self.weights_there is None else self.weights_there.take(rows)[:, 0]
        return Population(RowsReadOnce(self.values, rows), weights)

    def leaves(self, rows: IntArray) -> IntArray:
        """Return which survivor stands for each row: the leaves of the hierarchy are the survivors."""
        survivor = self.first_level.spread(np.arange(len(self.first_level.survivors.rows)))
        (leaves,) = compute_as_is(survivor[rows])
        return np.asarray(leaves)

    def row_numbers(self, leaves: IntArray) -> IntArray:
        """Return the row number of survivors."""
        return self.first_level.survivors.rows[leaves]


def _promise(rows: GatheredSource, weights: GatheredSource | None, runs: list[Run], contraction: Contraction) -> Any:
    """Return the array of what will become of each run, in a chunk of its own; each call gives its tasks new names."""
    lengths = tuple(run.length for run in runs)
    given = [_one_chunk_each(runs), "i"]
    for array in (rows.array,) if weights is None else (rows.array, weights.array):
        named = array.map_blocks(_as_is, name=new_name("rows"), dtype=array.dtype, meta=array._meta)
        # "p2p" would write all of the data to the disks of the workers, and begin anew where one of them is lost
        given += [named.rechunk((lengths, -1), method="tasks"), "ij"]
    contract = partial(call_on_one_thread, partial(_contract_chunk, contraction), get_config())
    return _map_chunks(contract, given, tuple(1 for _ in runs), new_name("contract_batches"), object)


def _as_is(chunk: Any) -> Any:
    return chunk


def _one_chunk_each(things: list[Any]) -> Any:
    """Return an array of Dask with one of ``things`` in each chunk."""
    name = new_name("run")
    graph = {(name, number): thing for number, thing in enumerate(things)}
    return dask_array().Array(graph, name, chunks=((1,) * len(things),), dtype=object)


def _map_chunks(function: Any, given: list[Any], lengths: tuple[int, ...], name: str, dtype: Any) -> Any:
    """Return the array of what ``function`` makes of the chunks that arrays have at the same place."""
    meta, chunks = np.empty(0, dtype=dtype), {"i": lengths}
    return dask_array().blockwise(
        function, "i", *given, name=name, adjust_chunks=chunks, align_arrays=False, dtype=dtype, meta=meta
    )


def _contract_chunk(contraction: Contraction, run: Run, columns: list[Any], weights: Any = None) -> ContractedRun:
    """Contract a run; on the worker that has its rows. The only chunk along the columns comes in a list."""
    of_rows = None if weights is None else np.asarray(weights[0])[:, 0]
    return contract_run(run, ChunkSource(columns[0], run.start, run.n_rows), of_rows, contraction)


def _without_labels(outcome: ContractedRun) -> Survivors:
    return outcome.survivors


def _look_up(outcome: ContractedRun, values: NDArray[Any]) -> NDArray[Any]:
    return values[outcome.survivor_of]


def _stability(outcome: ContractedRun) -> NDArray[np.float32]:
    return outcome.stability
