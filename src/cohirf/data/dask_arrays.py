"""Dask arrays and data frames as tables of numbers, and any source as a Dask array."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import block_bounds, count_batches
from cohirf.data.policy import DATA
from cohirf.engines.dask import compute_unoptimised, dask, dask_array, naming_faults
from cohirf.rows.arrays import is_dask
from cohirf.rows.grouping import IntArray, row_blocks
from cohirf.sources import ArraySource, Source, open_source
from cohirf.sources.arrays import DASK_ARRAY, DaskSource, refuse_unknown_chunks
from cohirf.validation import Columns


def refuse_other_collections(X: Any) -> None:
    """Raise for Dask collections that are neither arrays nor data frames."""
    is_table = hasattr(type(X), "to_dask_array") and hasattr(type(X), "columns")
    if not (is_table or type(X).__module__.startswith("dask.array")):
        raise TypeError(f"X is a Dask {type(X).__name__}: pass a Dask array or data frame.")


def refuse_dask(X: Any, method: str) -> None:
    """Raise for Dask collections, of which a method would read all rows in this process."""
    if is_dask(X):
        raise TypeError(
            f"{method} reads rows in this process, but X is on Dask: pass X.compute(), or a sample "
            "of its rows."
        )


def read_in_order(X: Any, block_cells: int) -> tuple[Source, list[slice]]:
    """Return rows as a source, and the blocks in which to read all of them: chunks of Dask, each of
    which is then computed once, or blocks of about ``block_cells``.
    """
    if is_dask(X):
        lazy = LazyDaskSource(DaskTable.of(X, known_rows=True).array)
        bounds = [0, *np.cumsum(lazy.array.chunks[0]).tolist()]
        return lazy, [slice(*pair) for pair in pairwise(bounds)]
    source = open_source(X)
    return source, list(row_blocks(source.n_rows, max(1, block_cells // source.n_features)))


def to_dask_array(source: Source, chunks: int | str | tuple[int, ...] = "auto") -> Any:
    """Return a lazy Dask array of the rows of a source.

    Each chunk is read by the worker that computes it.

    A fit of this array runs on the workers of a cluster. They must be able to read the file under
    the same path.

    Parameters
    ----------
    source : Source
        A source from :func:`cohirf.open_source`.
    chunks : int, tuple of int or str, default="auto"
        Number of rows per chunk, number of rows of each chunk, or size of a chunk such as "64MiB".
        Each chunk is one task of a fit, so there should be several chunks for each thread. "auto"
        uses the chunk size in Dask's configuration, which is 128 MiB by default.

    Returns
    -------
    array : dask.array.Array
        An array with one row per row of the source.

    Raises
    ------
    ImportError
        If Dask is not installed.

    See Also
    --------
    cohirf.open_source : Opens a file as a source.

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
    whole = _whole_rows(source, chunks)
    if isinstance(source, ArraySource):  # in memory: it is sent to the workers, chunk by chunk
        return da.from_array(source.take(np.arange(source.n_rows)), chunks=whole)
    sent: Any = _SentSource(source, dask().base.tokenize(source))
    if len(pickle.dumps(source)) > DATA.sent_bytes:
        # a task of its own, so that a source of many files is sent to each worker only once
        sent = dask().delayed(sent, pure=True, traverse=False)
    return da.map_blocks(_read_rows, sent=sent, chunks=whole, meta=np.empty((0, 0), source.dtype))


def spread_source(source: Source, batch_size: int | None) -> Any:
    """Return a source as a Dask array of many chunks, none larger than Dask's configured chunk
    size.

    If the batch size is known, chunks consist of whole batches: the first level then moves no rows
    between workers.
    """
    if isinstance(source, DaskSource):
        return source.array
    n_rows = source.n_rows
    fitting = _whole_rows(source, "auto")[0][0]
    n_batches = count_batches(n_rows, batch_size)
    if n_batches == 1:
        return to_dask_array(source, chunks=min(fitting, -(-n_rows // DATA.chunks)))
    bounds = block_bounds(n_rows, n_batches)
    batches_a_chunk = max(1, min(fitting * n_batches // n_rows, -(-n_batches // DATA.chunks)))
    return to_dask_array(
        source, chunks=tuple(np.diff([*bounds[:-1:batches_a_chunk], n_rows]).tolist())
    )


@dataclass(frozen=True)
class DaskTable:
    """A Dask array or data frame as an array, with the names of its columns, or None if it has
    none.
    """

    array: Any
    names: Sequence[str] | None

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        return self.array.dtype

    @property
    def columns(self) -> Columns:
        """Number and names of the columns; an array of one dimension has none."""
        n_features = self.array.shape[1] if self.array.ndim == 2 else 0
        return Columns.of_source(n_features, self.names)

    @classmethod
    def of(cls, X: Any, *, known_rows: bool) -> DaskTable:
        """Return ``X`` as an array.

        ``known_rows`` counts the rows of a data frame, which computes its partitions.
        """
        if type(X).__module__.startswith("dask.array"):
            return cls(X, None)
        names = [name for name in X.columns if isinstance(name, str)]
        if names and len(names) < len(X.columns):
            raise TypeError(
                f"Only some column names of X are strings, such as {names[0]!r}: convert all "
                "column names to strings."
            )
        with naming_faults():
            return cls(X.to_dask_array(lengths=True if known_rows else None), names or None)

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to each chunk.

        The result has ``n_columns`` columns, or is a vector if that is None.
        """
        if self.array.numblocks[1] > 1:
            array = self.array.rechunk({1: -1})
        else:
            array = self.array
        if n_columns is None:
            shape: dict[str, Any] = {"drop_axis": 1}
        else:
            shape = {"chunks": (array.chunks[0], (n_columns,))}
        empty = np.empty((0,) if n_columns is None else (0, n_columns), dtype=dtype)
        # a separate task, so that the function is sent to each worker only once
        call_validated = dask().delayed(
            _ValidatedChunk(function, empty), pure=False, traverse=False
        )
        return array.map_blocks(
            _call_on_chunk,
            call_validated=call_validated,
            dtype=dtype,
            meta=empty,
            token="cohirf_predict",
            **shape,
        )


class LazyDaskSource(Source):
    """A lazy source: reads rows of a Dask array, which the active scheduler of Dask computes when
    they are needed.
    """

    in_memory: ClassVar[bool] = True  # pickling it would pickle its graph, perhaps with all values

    def __init__(self, array: Any) -> None:
        refuse_unknown_chunks(array)
        if not isinstance(array._meta, np.ndarray):
            kind = type(array._meta).__name__
            raise TypeError(
                f"{DASK_ARRAY} has chunks of type {kind}: convert them to NumPy arrays with "
                "X.map_blocks."
            )
        super().__init__(DASK_ARRAY, array.shape, array.dtype)
        self.array = array

    @property
    def chunk_bytes(self) -> int:
        """Size of the largest chunk in bytes."""
        return int(max(self.array.chunks[0])) * self.n_features * self.dtype.itemsize

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        (out[...],) = compute_unoptimised(self.array[start : start + len(out)])

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        (out[...],) = compute_unoptimised(self.array[rows])

    def _content(self) -> Iterator[Any]:
        """Yield samples of rows, computed together."""
        yield from compute_unoptimised(
            *(self.array[sample].astype(self.dtype) for sample in self._samples())
        )


def _whole_rows(source: Source, chunks: Any) -> tuple[tuple[int, ...], ...]:
    """Return the chunks of the rows of a source in Dask's format; every chunk has all columns."""
    shape = (source.n_rows, source.n_features)
    found: tuple[tuple[int, ...], ...] = dask_array().core.normalize_chunks(
        (chunks, source.n_features), shape=shape, dtype=source.dtype
    )
    return found


@dataclass(frozen=True)
class _SentSource:
    """A source in tasks, of which Dask looks at the token: it would hash it for each task."""

    source: Source
    token: str

    def __dask_tokenize__(self) -> str:
        return self.token


def _read_rows(sent: _SentSource, block_info: Any = None) -> NDArray[Any]:
    """Read one chunk of a source."""
    (start, stop), _ = block_info[None]["array-location"]
    return np.asarray(sent.source.take(np.arange(start, stop)))


@dataclass(frozen=True)
class _ValidatedChunk:
    """Validates the rows of a chunk, then calls a function with them.

    An empty chunk gives ``empty``.
    """

    function: Callable[[Any], Any]
    empty: NDArray[Any]

    def __call__(self, chunk: Any) -> Any:
        if len(chunk) == 0:
            return self.empty
        return self.function(ArraySource(chunk).take(np.arange(len(chunk))))


def _call_on_chunk(chunk: Any, call_validated: _ValidatedChunk) -> Any:
    return call_validated(chunk)
