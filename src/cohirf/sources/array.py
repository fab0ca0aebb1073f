"""Rows of an array or CSR matrix in memory, or of a memory-mapped array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray


@dataclass(frozen=True)
class ArraySource:
    """A two-dimensional array or CSR matrix.

    Parameters
    ----------
    X : array or CSR matrix
        The data. It is never written to.
    column_means : array, optional
        Means of the columns where cells are missing: what a missing cell counts as when distances are measured.
    """

    X: Any
    column_means: NDArray[np.floating[Any]] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def take(self, rows: IntArray) -> Any:
        """Return the given rows, which are distinct and rising; all of them are the data itself, not a copy."""
        return self.X if len(rows) == self.n_rows else self.X[rows]

    def fill_missing(self, X: Any) -> Any:
        """Return rows with missing cells filled, as distances need them."""
        return fill_missing(X, self.column_means)


def fill_missing(X: Any, column_means: NDArray[np.floating[Any]] | None) -> Any:
    """Return ``X`` with missing cells replaced by the means of their columns; ``X`` itself without means."""
    return X if column_means is None else np.where(np.isnan(X), column_means, X)
