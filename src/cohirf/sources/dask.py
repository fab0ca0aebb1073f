"""Sources of rows of a Dask array: computed chunk by chunk in the calling thread, or one chunk in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.sources.columns import Columns
from cohirf.sources.source import Source
from cohirf.sources.streamed import StreamedSource

NAME = "The Dask array"


class DaskSource(StreamedSource):
    """A two-dimensional Dask array. The chunk that was computed last is kept in memory."""

    def __init__(self, array: Any, columns: Columns = None) -> None:
        refuse_unknown_chunks(array)
        row_chunks = array.chunks[0] if array.ndim else ()
        super().__init__(NAME, array.shape, array.dtype, columns=columns, starts=np.cumsum((0, *row_chunks[:-1])))
        self.array = array if self._columns is None else array[:, self._columns]

    def _pieces(self, number: int) -> Iterator[Any]:
        for block in range(number, self.array.numblocks[0]):
            # the fit decides what runs in parallel
            yield np.asarray(self.array.blocks[block].compute(scheduler="synchronous"))


class ChunkSource(Source):
    """One chunk of a Dask array in memory. Rows keep the numbers that they have in the whole array."""

    def __init__(self, chunk: Any, start: int, n_rows: int) -> None:
        super().__init__(NAME, (n_rows, chunk.shape[1]), chunk.dtype)
        self._chunk, self._start = chunk, start

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        offset = start - self._start
        out[...] = self._chunk[offset : offset + len(out)]

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        out[...] = self._chunk[rows - self._start]


def refuse_unknown_chunks(array: Any) -> None:
    """Raise ValueError for a Dask array whose number of rows is unknown until it is computed."""
    if any(math.isnan(length) for length in array.shape):
        shape = tuple(array.shape)
        raise ValueError(f"{NAME} has unknown chunk sizes, shape {shape}: call array.compute_chunk_sizes() first.")
