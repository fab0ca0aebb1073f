"""Rows of an array or CSR matrix in memory, or of a memory-mapped array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cohirf.algorithm.grouping import IntArray


@dataclass(frozen=True)
class ArraySource:
    """A two-dimensional array or CSR matrix. It is never written to."""

    X: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def take(self, rows: IntArray) -> Any:
        """Return the given rows, which are distinct and rising; all of them are the data itself, not a copy."""
        return self.X if len(rows) == self.n_rows else self.X[rows]
