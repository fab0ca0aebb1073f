"""A source of rows of an array or CSR matrix in memory, or of a memory-mapped array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.sources.source import Source


class ArraySource(Source):
    """A two-dimensional array or CSR matrix ``X``, which is never modified."""

    in_memory: ClassVar[bool] = True  # pickling it would pickle all values

    def __init__(self, X: Any, feature_names: Sequence[str] | None = None) -> None:
        name = "The CSR matrix" if sparse.issparse(X) else "The array"
        super().__init__(name, X.shape, X.dtype, feature_names=feature_names)
        self.X = X

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        out[...] = self.X[start : start + len(out)]

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        out[...] = self.X[rows]

    def _gather(self, rows: IntArray) -> Any:
        if sparse.issparse(self.X):
            return self.X[rows].astype(self.dtype, copy=False)
        return super()._gather(rows)

    def _content(self) -> Iterator[Any]:
        parts = (self.X.data, self.X.indices, self.X.indptr) if sparse.issparse(self.X) else (self.X,)
        for part in parts:
            yield part.dtype.str.encode()
            for block in row_blocks(len(part)):
                yield np.ascontiguousarray(part[block])
