"""A fit of Dask's arrays and tables: the first level runs where the data is, and labels stay there.

Batches are a rechunk: runs of blocks are the chunks of an array, each of which becomes one task. What comes here are
the survivors of each run. When the fit is done, the label of a row is looked up where the row is, in the small table of
the labels of its run's survivors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.engine import Engine
from cohirf.algorithm.first_level import ContractedRun, Run, Survivors, contract_run, gather_survivors, plan_runs
from cohirf.algorithm.grouping import IntArray, index_dtype
from cohirf.algorithm.levels import BatchTask, Contraction, FitState
from cohirf.algorithm.parents import find_roots, get_final_labels, hide_small_clusters, number_by_first_row
from cohirf.algorithm.population import Population
from cohirf.algorithm.storage import ArrayRows, Storage
from cohirf.engines.dask import WhereDataIs, dask, dask_array, lazily, name_keys, naming_faults
from cohirf.sources import ArraySource, Source
from cohirf.sources.dask import ChunkSource, DaskSource, GatheredSource, compute_as_is

Around = Callable[[Engine], Engine]


def is_dask(X: Any) -> bool:
    """Tell whether ``X`` is an array or table of Dask."""
    return type(X).__module__.startswith(("dask.", "dask_expr."))


def to_dask_array(source: Source, chunks: int | str = "auto") -> Any:
    """Return a Dask array of the rows of a source, which are read by whoever computes it.

    So a fit of a file runs on the workers of a cluster, if they find the file under the same path.

    Parameters
    ----------
    source : Source
        What :func:`cohirf.open_source` returned.
    chunks : int or str, default="auto"
        Rows of a chunk, or its size, such as "64MiB". Each chunk is one task of a fit, so there should be several for
        each thread. "auto" takes the size that Dask is configured for, 128 MiB unless it was changed.

    Returns
    -------
    array : dask.array.Array
        An array with one row per row of the source.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf import open_source, to_dask_array
    >>> to_dask_array(open_source(np.zeros((1000, 3))), chunks=300).chunks
    ((300, 300, 300, 100), (3,))
    """
    if isinstance(source, DaskSource):
        return source.array
    da = dask_array()
    shape = (source.n_rows, source.n_features)
    whole = da.core.normalize_chunks((chunks, source.n_features), shape=shape, dtype=source.dtype)
    if isinstance(source, ArraySource):  # it is sent to the workers, chunk by chunk
        return da.from_array(source.take(np.arange(source.n_rows)), chunks=whole)
    return da.map_blocks(_read_rows, source=source, chunks=whole, dtype=source.dtype, meta=np.empty((0, 0)))


@dataclass(frozen=True)
class DaskTable:
    """An array or table of Dask as an array, with the names of its columns where it has some."""

    array: Any
    names: Sequence[str] | None

    @classmethod
    def of(cls, X: Any, *, known_rows: bool) -> DaskTable:
        """Return ``X`` as an array; with ``known_rows``, the rows of a table are counted, which computes its chunks."""
        if not hasattr(X, "to_dask_array"):
            return cls(X, None)
        names = [name for name in X.columns if isinstance(name, str)]
        if names and len(names) < len(X.columns):
            raise TypeError(f"Only some column names of X are text, such as {names[0]!r}: rename the columns.")
        with naming_faults():
            return cls(X.to_dask_array(lengths=True if known_rows else None), names or None)

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Return the array of what ``function`` makes of each chunk: some columns, or None for a vector."""
        array = self.array.rechunk({1: -1}) if self.array.numblocks[1] > 1 else self.array
        shape = {"drop_axis": 1} if n_columns is None else {"chunks": (array.chunks[0], (n_columns,))}
        empty = np.empty((0,) if n_columns is None else (0, n_columns), dtype=dtype)
        on_rows = dask().delayed(
            _OnRows(function, empty), pure=False, traverse=False
        )  # one task sends it to the others
        return array.map_blocks(_apply, on_rows=on_rows, dtype=dtype, meta=empty, token="cohirf_predict", **shape)


@dataclass(frozen=True)
class FirstLevel:
    """The first level of a fit: its runs, the promises of what became of them, and the survivors."""

    rows: GatheredSource
    runs: list[Run]
    outcomes: list[Any]
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
        chunk_starts = np.cumsum((0, *rows.array.chunks[0][:-1]))
        runs = plan_runs(rows.n_rows, contraction, chunk_starts)
        chunks = _chunks_of(rows.array, runs)
        weight_chunks = [None] * len(runs) if weights is None else _chunks_of(weights.array, runs)
        key = name_keys("contract_batches")
        promises = [
            lazily(partial(_contract_chunk, run, contraction))(chunk, of_rows, dask_key_name=key(number))
            for number, (run, chunk, of_rows) in enumerate(zip(runs, chunks, weight_chunks, strict=True))
        ]
        where = WhereDataIs()
        parts = around(where).run(_without_labels, zip(runs, promises, strict=True), len(runs))
        survivors = gather_survivors(parts, storage)
        # runs that a checkpoint knew are contracted only if their labels are asked for
        outcomes = [where.kept.get(run.place, promise) for run, promise in zip(runs, promises, strict=True)]
        return cls(rows, runs, outcomes, survivors)

    def spread(self, values: NDArray[Any]) -> Any:
        """Return the Dask array that has for each row what ``values`` have for the survivor that stands for it."""
        da = dask_array()
        starts = np.searchsorted(self.survivors.rows, [*(run.start for run in self.runs), self.rows.n_rows])
        key = name_keys("label_rows")
        look_up = dask().delayed(_look_up, pure=False, traverse=False)
        parts = [
            da.from_delayed(
                look_up(outcome, values[starts[i] : starts[i + 1]], dask_key_name=key(i)),
                shape=(run.length,),
                dtype=values.dtype,
            )
            for i, (run, outcome) in enumerate(zip(self.runs, self.outcomes, strict=True))
        ]
        return da.concatenate(parts).rechunk((self.rows.array.chunks[0],), method="tasks")

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
        da, survivor = dask_array(), self.spread(rows)
        row = da.arange(self.rows.n_rows, chunks=survivor.chunks, dtype=rows.dtype)
        return da.where(row == survivor, self.spread(rows[state.parents]), survivor)


@dataclass(frozen=True)
class DaskPopulation(Population):
    """The rows of a Dask array, all of which take part in a fit; samples of them are gathered here."""

    weights_there: GatheredSource | None = None
    first_level: FirstLevel | None = None

    def task(self, rows: IntArray, place: tuple[int, int]) -> BatchTask:
        """Return the task to contract rows as one batch, with their values; their numbers are rising."""
        return self.gather(rows).task(np.arange(len(rows)), place)

    def gather(self, rows: IntArray) -> Population:
        """Return a population of the given rows alone, in memory; their numbers are rising."""
        with naming_faults():
            weights = None if self.weights_there is None else self.weights_there.take(rows)[:, 0]
            return Population(ArrayRows(self.values.take(rows)), weights)

    def leaves(self, rows: IntArray) -> IntArray:
        """Return which survivor stands for each row: the leaves of the hierarchy are the survivors."""
        assert self.first_level is not None  # before it, there is no hierarchy
        survivor = self.first_level.spread(np.arange(len(self.first_level.survivors.rows)))
        with naming_faults():
            return compute_as_is(survivor[rows])

    def row_numbers(self, leaves: IntArray) -> IntArray:
        """Return the row number of survivors."""
        assert self.first_level is not None  # before it, there is no hierarchy
        return self.first_level.survivors.rows[leaves]


def check_weights(sample_weight: Any, rows: GatheredSource) -> GatheredSource:
    """Return the weights of rows, with the chunks of the rows; refuse what no row can weigh here."""
    da = dask_array()
    weights = da.asarray(sample_weight)
    if weights.shape != (rows.n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, and X has {rows.n_rows} rows: give one per row.")
    weights = weights.rechunk((rows.array.chunks[0],)).astype(np.float64)
    with naming_faults():
        lowest, total = dask().compute(weights.min(), weights.sum(), optimize_graph=False)
    if not (lowest > 0 and np.isfinite(total)):
        raise ValueError(
            f"sample_weight has the smallest value {lowest:g} and the sum {total:g}: on Dask, all weights are positive "
            f"and finite. Leave rows of weight 0 out, X[sample_weight > 0].compute_chunk_sizes()."
        )
    return GatheredSource(weights[:, None])


def align_vectors(model: Any, rows: GatheredSource) -> None:
    """Turn labels and parents of a fit in memory into Dask arrays with the chunks of ``rows``."""
    for name in ("labels_", "parents_"):
        setattr(model, name, dask_array().from_array(getattr(model, name), chunks=(rows.array.chunks[0],)))


def _chunks_of(array: Any, runs: list[Run]) -> list[Any]:
    """Return the promise of the rows of each run."""
    rows = tuple(run.length for run in runs)
    # "p2p" would write all of the data to the disks of the workers, and begin anew where one of them is lost
    return list(array.rechunk((rows, -1), method="tasks").to_delayed(optimize_graph=False).ravel())


def _contract_chunk(run: Run, contraction: Contraction, chunk: Any, weights: Any) -> ContractedRun:
    """Contract a run; on the worker that has its rows."""
    of_rows = None if weights is None else np.asarray(weights)[:, 0]
    return contract_run(run, ChunkSource(chunk, run.start, run.n_rows), of_rows, contraction)


def _without_labels(outcome: ContractedRun) -> Survivors:
    return outcome.survivors


def _look_up(outcome: ContractedRun, values: NDArray[Any]) -> NDArray[Any]:
    return values[outcome.survivor_of]


def _read_rows(source: Source, block_info: Any = None) -> NDArray[Any]:
    """Read one chunk of a source."""
    (start, stop), _ = block_info[None]["array-location"]
    return np.asarray(source.take(np.arange(start, stop)))


@dataclass(frozen=True)
class _OnRows:
    """Calls a function with the checked rows of a chunk."""

    function: Callable[[Any], Any]
    empty: NDArray[Any]

    def __call__(self, chunk: Any) -> Any:
        if len(chunk) == 0:
            return self.empty
        return self.function(ArraySource(chunk).take(np.arange(len(chunk))))


def _apply(chunk: Any, on_rows: _OnRows) -> Any:
    return on_rows(chunk)
