"""Rows of a Dask array, computed chunk by chunk in the calling thread."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from cohirf.sources.columns import Columns
from cohirf.sources.streamed import StreamedSource


class DaskSource(StreamedSource):
    """A two-dimensional Dask array. The chunk that was computed last is kept."""

    def __init__(self, array: Any, columns: Columns = None) -> None:
        if any(math.isnan(length) for length in array.shape):
            raise ValueError(
                f"The Dask array has unknown chunk sizes, shape {array.shape}: call array.compute_chunk_sizes() first."
            )
        row_chunks = array.chunks[0] if array.ndim else ()
        super().__init__(
            "The Dask array", array.shape, array.dtype, columns=columns, starts=np.cumsum((0, *row_chunks[:-1]))
        )
        self._array = array if self._columns is None else array[:, self._columns]

    def _pieces(self, number: int) -> Iterator[Any]:
        for block in range(number, self._array.numblocks[0]):
            # the fit decides what runs beside what
            yield np.asarray(self._array.blocks[block].compute(scheduler="synchronous"))
