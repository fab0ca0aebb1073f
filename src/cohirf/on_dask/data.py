"""Arrays and tables of Dask as the data of a fit, and any source as an array of Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import block_bounds, count_batches
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.storage import Storage
from cohirf.engines.dask import chunks_of, dask, dask_array, naming_faults
from cohirf.sources import ArraySource, Source
from cohirf.sources.dask import NAME, DaskSource, refuse_unknown_chunks

MANY_CHUNKS = 64  # into which a source is cut, if it has as many batches; it does not depend on the cluster


def is_dask(X: Any) -> bool:
    """Tell whether ``X`` is an array or table of Dask."""
    return type(X).__module__.startswith(("dask.", "dask_expr."))


def refuse_other_collections(X: Any) -> None:
    """Raise for what is of Dask, and neither an array nor a table."""
    is_table = hasattr(type(X), "to_dask_array") and hasattr(type(X), "columns")
    if not (is_table or type(X).__module__.startswith("dask.array")):
        raise TypeError(f"A {type(X).__name__} of Dask is no table: give a Dask array or data frame.")


def to_dask_array(source: Source, chunks: int | str | tuple[int, ...] = "auto") -> Any:
    """Return a Dask array of the rows of a source, which are read by whoever computes it.

    So a fit of a file runs on the workers of a cluster, if they find the file under the same path.

    Parameters
    ----------
    source : Source
        What :func:`cohirf.open_source` returned.
    chunks : int, tuple of int or str, default="auto"
        Rows of a chunk, rows of each chunk, or the size of one, such as "64MiB". Each chunk is one task of a fit, so
        there should be several for each thread. "auto" takes the size that Dask is configured for, 128 MiB unless it
        was changed.

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
    da, whole = dask_array(), _whole_rows(source, chunks)
    if isinstance(source, ArraySource):  # it is sent to the workers, chunk by chunk
        return da.from_array(source.take(np.arange(source.n_rows)), chunks=whole)
    return da.map_blocks(_read_rows, source=source, chunks=whole, meta=np.empty((0, 0), source.dtype))


def spread_source(source: Source, batch_size: int | None) -> Any:
    """Return a Dask array of a source in many chunks, none above what Dask finds not too large.

    Where batches are known, chunks are of whole batches: the first level then moves no rows between workers.
    """
    if isinstance(source, DaskSource):
        return source.array
    n_rows = source.n_rows
    fitting = _whole_rows(source, "auto")[0][0]
    n_batches = count_batches(n_rows, batch_size)
    if n_batches == 1:
        return to_dask_array(source, chunks=min(fitting, -(-n_rows // MANY_CHUNKS)))
    bounds = block_bounds(n_rows, n_batches)
    batches_a_chunk = max(1, min(fitting * n_batches // n_rows, -(-n_batches // MANY_CHUNKS)))
    return to_dask_array(source, chunks=tuple(np.diff([*bounds[:-1:batches_a_chunk], n_rows]).tolist()))


@dataclass(frozen=True)
class DaskTable:
    """An array or table of Dask as an array, with the names of its columns where it has some."""

    array: Any
    names: Sequence[str] | None

    @classmethod
    def of(cls, X: Any, *, known_rows: bool) -> DaskTable:
        """Return ``X`` as an array; with ``known_rows``, the rows of a table are counted, which computes its chunks."""
        if type(X).__module__.startswith("dask.array"):
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
        # a task of its own, so that it is sent to each worker once
        on_rows = dask().delayed(_OnRows(function, empty), pure=False, traverse=False)
        return array.map_blocks(_apply, on_rows=on_rows, dtype=dtype, meta=empty, token="cohirf_predict", **shape)


class GatheredSource(Source):
    """Rows of a Dask array that are gathered from where they are, by whatever Dask computes with."""

    def __init__(self, array: Any) -> None:
        refuse_unknown_chunks(array)
        if not isinstance(array._meta, np.ndarray):
            kind = type(array._meta).__name__
            raise TypeError(f"{NAME} has chunks of type {kind}: turn them into arrays of NumPy with X.map_blocks.")
        super().__init__(NAME, array.shape, array.dtype)
        self.array = array

    @property
    def chunk_bytes(self) -> int:
        """Memory of the largest chunk."""
        return int(max(self.array.chunks[0])) * self.n_features * self.dtype.itemsize

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        (out[...],) = compute_as_is(self.array[start : start + len(out)])

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        (out[...],) = compute_as_is(self.array[rows])

    def _content(self) -> Iterator[Any]:
        """Yield some rows, gathered together."""
        yield from compute_as_is(*(self.array[sample].astype(self.dtype) for sample in self._samples()))


def compute_as_is(*promises: Any) -> Any:
    """Return what Dask computes, without a change to its tasks.

    Dask would fuse tasks before it runs them. While a fit holds on to what it left on the workers, the scheduler knows
    the same tasks as they were, and warns of two tasks of one name.
    """
    with naming_faults():
        return dask().compute(*promises, optimize_graph=False)


def check_weights(sample_weight: Any, rows: GatheredSource) -> GatheredSource:
    """Return the weights of rows, with the chunks of the rows; refuse what no row can weigh here."""
    da = dask_array()
    if hasattr(sample_weight, "to_dask_array"):
        sample_weight = sample_weight.to_dask_array(lengths=True)
    weights = sample_weight if is_dask(sample_weight) else da.from_array(np.asarray(sample_weight))
    if weights.shape != (rows.n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}, and X has {rows.n_rows} rows: give one per row.")
    weights = weights.rechunk((rows.array.chunks[0],)).astype(np.float64)
    lowest, total = compute_as_is(weights.min(), weights.sum())
    if not (lowest > 0 and np.isfinite(total)):
        raise ValueError(
            f"sample_weight has the smallest value {lowest:g} and the sum {total:g}: on Dask, all weights are positive "
            f"and finite. Leave rows of weight 0 out, X[sample_weight > 0].compute_chunk_sizes(); or fit a source in "
            f'this process, with dask.config.set(scheduler="threads").'
        )
    return GatheredSource(weights[:, None])


def gather_vectors(vectors: Sequence[Any], storage: Storage) -> list[NDArray[Any]]:
    """Bring Dask vectors with the same chunks here, chunk by chunk."""
    here = [storage.vector(len(vector), vector.dtype) for vector in vectors]
    with naming_faults():
        computed = dask().persist(*vectors, optimize_graph=False)
        stops = np.cumsum(vectors[0].chunks[0])
        for stop, *parts in zip(stops, *map(chunks_of, computed), strict=True):
            for vector, part in zip(here, parts, strict=True):
                vector[stop - len(part) : stop] = part
            storage.release()
    return here


def align_vectors(model: Any, rows: GatheredSource) -> None:
    """Turn what a fit in memory has for each row into Dask arrays with the chunks of ``rows``."""
    for name in ("labels_", "parents_", "stability_"):
        setattr(model, name, dask_array().from_array(getattr(model, name), chunks=(rows.array.chunks[0],)))


def _whole_rows(source: Source, chunks: Any) -> tuple[tuple[int, ...], ...]:
    """Return the chunks of an array of whole rows, as Dask has them."""
    shape = (source.n_rows, source.n_features)
    found: tuple[tuple[int, ...], ...] = dask_array().core.normalize_chunks(
        (chunks, source.n_features), shape=shape, dtype=source.dtype
    )
    return found


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
