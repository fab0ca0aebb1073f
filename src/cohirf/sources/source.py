"""Source: what a fit asks of a place where rows are stored.

``take`` is the same for all of them: it reads, converts and checks. An adapter opens its storage and implements
``_fill``, which writes consecutive rows into an array.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.finite import find_fault
from cohirf.sources.columns import Columns, choose_numbers

PIECE_BYTES = 2**23  # what is decoded or held in passing, besides the rows that were asked for
FINGERPRINT_SAMPLES = 16


class Source(ABC):
    """Rows of numbers that are read by their number, wherever they are stored.

    A source never writes to its storage. It can be read from several threads, and pickles to a small handle that
    opens the storage anew in another process.

    Parameters
    ----------
    name : str
        What errors call it.
    shape : tuple of int
        Rows and columns of the storage.
    stored : dtype
        Type of the values in the storage.
    columns : list of int or callable, optional
        The columns to read, or a function that tells whether to read one; all of them if None.
    feature_names : list of str, optional
        Name of each column that is read.

    Attributes
    ----------
    name : str
        What errors call it.
    n_rows, n_features : int
        Number of rows, and of columns that are read.
    dtype : dtype
        Type of the rows that ``take`` returns: float32 where the storage holds float32, float64 otherwise.
    feature_names : list of str or None
        Names of the columns, where the storage has names.
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        stored: DTypeLike,
        *,
        columns: Columns = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        stored = np.dtype(stored)
        if len(shape) != 2:
            raise ValueError(
                f"{name} has shape {tuple(shape)}: give two dimensions, one row per sample and one column per feature."
            )
        if 0 in shape:
            raise ValueError(f"{name} has {shape[0]} rows and {shape[1]} columns: give at least one of each.")
        if stored.kind not in "biuf":
            raise ValueError(f"{name} holds values of type {stored}: turn them into numbers first.")
        self.name = name
        self.n_rows = int(shape[0])
        self._columns = choose_numbers(name, int(shape[1]), columns)
        self.n_features = int(shape[1]) if self._columns is None else len(self._columns)
        self.dtype = np.dtype(np.float32 if stored == np.float32 else np.float64)
        self.feature_names = None if feature_names is None else list(feature_names)

    def take(self, rows: IntArray) -> Any:
        """Return the given rows.

        Parameters
        ----------
        rows : array of int
            Row numbers, distinct and rising. Consecutive ones are read in one go.

        Returns
        -------
        X : array or CSR matrix, shape (len(rows), n_features)
            New memory, which the caller may overwrite: C-ordered, of type ``dtype``, all values finite.
        """
        rows = self._check_rows(rows)
        self._refuse_changes()
        try:
            X = self._gather(rows)
        finally:
            self._refuse_changes()  # if it changed meanwhile, that explains whatever else went wrong
        self._refuse_faults(X, rows)
        return X

    def read_all(self) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, some at a time and unchecked: missing cells are NaN."""
        step = rows_within(PIECE_BYTES, self.n_features * self.dtype.itemsize)
        for start in range(0, self.n_rows, step):
            block = np.empty((min(step, self.n_rows - start), self.n_features), self.dtype)
            self._refuse_changes()
            self._fill(start, block)
            yield block

    def fingerprint(self) -> str:
        """Return a short text that is the same for the same data in the same storage, in any process."""
        layout = (self.n_rows, self.n_features, self.dtype.name, self._columns, self.feature_names)
        digest = hashlib.sha256(repr(layout).encode())
        self._refuse_changes()
        for content in self._content():
            digest.update(content)
        return digest.hexdigest()[:32]

    def __repr__(self) -> str:
        size = f"{self.n_rows:,} rows x {self.n_features:,} features"
        return f"{type(self).__name__}({self.name}: {size}, {self.dtype})"

    @abstractmethod
    def _fill(self, start: int, out: NDArray[Any]) -> None:
        """Write the rows from number ``start`` on into ``out``, as many as it has."""

    def _refuse_changes(self) -> None:  # noqa: B027 - there is nothing to notice in memory
        """Raise if the storage is not what it was when it was opened."""

    def _content(self) -> Iterator[Any]:
        """Yield the bytes that the fingerprint is made of: here, some of the rows."""
        for rows in self._samples():
            sample = np.empty((rows.stop - rows.start, self.n_features), self.dtype)
            self._fill(rows.start, sample)
            yield sample

    def _samples(self) -> Iterator[slice]:
        """Yield the rows that stand for all."""
        n_sampled = min(256, self.n_rows)
        for start in np.unique(np.linspace(0, self.n_rows - n_sampled, FINGERPRINT_SAMPLES, dtype=np.int64)).tolist():
            yield slice(start, start + n_sampled)

    @property
    def _nearby(self) -> int:
        """How many unwanted rows are rather read than left out."""
        return self.n_rows

    def _gather(self, rows: IntArray) -> Any:
        X = np.empty((len(rows), self.n_features), self.dtype)
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            self._fill(int(rows[0]), X)
        elif len(rows):
            self._pick(rows, X)
        return X

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        """Write scattered rows into ``out``: read those that are near each other together."""
        window = rows_within(PIECE_BYTES, self.n_features * self.dtype.itemsize)
        far = np.diff(rows) > self._nearby
        next_window = np.diff(rows // window) > 0
        for begin, end in pairwise([0, *(np.flatnonzero(far | next_window) + 1), len(rows)]):
            first, last = int(rows[begin]), int(rows[end - 1])
            together = np.empty((last - first + 1, self.n_features), self.dtype)
            self._fill(first, together)
            out[begin:end] = together[rows[begin:end] - first]

    def _check_rows(self, given: Any) -> IntArray:
        rows: IntArray = np.asarray(given)
        if rows.size == 0:
            return np.empty(0, dtype=np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not (rows[1:] > rows[:-1]).all():
            raise ValueError(f"{self.name}: row numbers are distinct, rising integers.")
        if rows[0] < 0 or rows[-1] >= self.n_rows:
            raise IndexError(f"{self.name} has rows 0 to {self.n_rows - 1:,}, not {rows[0]:,} to {rows[-1]:,}.")
        return rows

    def _refuse_faults(self, X: Any, rows: IntArray) -> None:
        fault = find_fault(X, allow_nan=False)
        if fault is not None:
            where = f"rows {rows[0]:,} to {rows[-1]:,}"
            raise ValueError(f"{self.name}, {where}: {fault}{self._first_fault(X, rows)}")

    def _first_fault(self, X: Any, rows: IntArray) -> str:
        """Point to the first cell that is not finite, where there is one."""
        if sparse.issparse(X) or np.isfinite(X).all():
            return ""
        row, column = np.unravel_index(np.argmin(np.isfinite(X)), X.shape)
        named = self.feature_names[column] if self.feature_names else int(column)
        return f" The first is in row {rows[row]:,}, column {named!r}."


def rows_within(n_bytes: int, row_bytes: int) -> int:
    """Return how many rows fit into so many bytes; at least one."""
    return max(1, n_bytes // row_bytes)
