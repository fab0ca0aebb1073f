"""STUB until the branch `sources` lands."""

from __future__ import annotations

import hashlib
import mmap
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.sources.source import Source


class ArraySource(Source):
    """A two-dimensional array or CSR matrix. It is never written to."""

    def __init__(self, X: Any) -> None:
        self.X = X
        self.n_rows, self.n_features = map(int, X.shape)
        self.feature_names = None

    def take(self, rows: IntArray) -> Any:
        """Return the given rows."""
        taken = self.X[rows]
        self._forget_pages()
        return taken

    def fingerprint(self) -> str:
        """Return text that is the same for the same data."""
        parts = (self.X.data, self.X.indices, self.X.indptr) if sparse.issparse(self.X) else (self.X,)
        hasher = hashlib.sha256()
        for part in parts:
            for block in row_blocks(len(part)):
                hasher.update(np.ascontiguousarray(part[block]).data)
                self._forget_pages()
        return hasher.hexdigest()[:32]

    def _forget_pages(self) -> None:
        if isinstance(self.X, np.memmap):
            self.X._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]
