"""Source: the interface through which a fit reads rows from any storage.

``take`` is the same for all sources: it reads, converts and validates rows. A subclass opens its storage and implements
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
from cohirf.error_contexts import replacing_errors
from cohirf.finite import find_fault
from cohirf.sources.columns import Columns, choose_numbers

PIECE_BYTES = 2**23  # memory for decoding, in addition to the requested rows
FINGERPRINT_SAMPLES = 16


class Source(ABC):
    """Base class of sources: numeric rows that are read by row number, independently of where they are stored.

    :func:`cohirf.open_source` returns a source. Derive a class from Source to read from another kind of storage: call
    ``super().__init__`` and implement ``_fill``.

    A source never modifies its storage. Several threads can read from it. Sources of files pickle as a small handle,
    which opens the files again in another process.

    Parameters
    ----------
    name : str
        Its name in error messages.
    shape : tuple of int
        Number of rows and columns in the storage.
    stored : dtype
        Type of the values in the storage.
    columns : list of int or callable, optional
        The columns to read, or a function that returns whether to read a column; all columns if None.
    feature_names : list of str, optional
        Names of the columns that are read.

    Attributes
    ----------
    name : str
        Its name in error messages.
    n_rows, n_features : int
        Number of rows, and of columns that are read.
    dtype : dtype
        Type of the rows that ``take`` returns: float32 if the storage holds float32, float64 otherwise.
    feature_names : list of str or None
        Names of the columns that are read; None if the storage has no names.

    See Also
    --------
    cohirf.open_source : Open a file or an object as a source.

    Examples
    --------
    A source that computes its rows:

    >>> import numpy as np
    >>> from cohirf import CoHiRF
    >>> from cohirf.sources import Source
    >>> class Powers(Source):
    ...     def __init__(self, n_rows):
    ...         super().__init__("The powers", (n_rows, 2), np.float64)
    ...     def _fill(self, start, out):
    ...         numbers = np.arange(start, start + len(out))
    ...         out[:, 0], out[:, 1] = numbers, numbers**2
    >>> source = Powers(100)
    >>> source.take([2, 3])
    array([[2., 4.],
           [3., 9.]])
    >>> CoHiRF(random_state=0).fit(source).labels_.shape
    (100,)
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
            Sorted, distinct row numbers. Consecutive rows are read together.

        Returns
        -------
        X : array or CSR matrix, shape (len(rows), n_features)
            A copy, which the caller may modify: C-ordered, of type ``dtype``, with finite values only.

        Raises
        ------
        ValueError
            If a value is NaN or infinite, or the row numbers are not sorted and distinct.
        SourceChangedError
            If the storage has changed since the source was opened.
        """
        rows = self._check_rows(rows)
        with self._unchanged():
            X = self._gather(rows)
        self._refuse_faults(X, rows)
        return X

    def fill(self, start: int, out: NDArray[Any]) -> None:
        """Write consecutive rows, from row ``start`` on, into a C-ordered array of type ``dtype``.

        The rows are checked as those of ``take``, whose errors this method raises, too.
        """
        with self._unchanged():
            self._fill(start, out)
        self._refuse_faults(out, range(start, start + len(out)))

    @property
    def is_streamed(self) -> bool:
        """Whether the storage is decoded in order, which a single thread does best."""
        return False

    def read_all(self) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, in blocks. Values are not checked: missing cells are NaN."""
        step = rows_within(PIECE_BYTES, self.n_features * self.dtype.itemsize)
        for start in range(0, self.n_rows, step):
            block = np.empty((min(step, self.n_rows - start), self.n_features), self.dtype)
            self._refuse_changes()
            self._fill(start, block)
            yield block

    def fingerprint(self) -> str:
        """Return a short text that identifies the data: it is the same for the same data and storage in any process."""
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
        """Write ``len(out)`` consecutive rows, starting with row ``start``, into ``out``."""

    @replacing_errors
    def _unchanged(self) -> Iterator[None]:
        """Refuse changes before and after something is read."""
        self._refuse_changes()
        try:
            yield
        finally:
            self._refuse_changes()  # if the storage changed meanwhile, report that instead of another error

    def _refuse_changes(self) -> None:  # noqa: B027 - data in memory is not monitored
        """Raise SourceChangedError if the storage has changed since it was opened."""

    def _content(self) -> Iterator[Any]:
        """Yield the content that the fingerprint is computed from: by default, a sample of rows."""
        for rows in self._samples():
            sample = np.empty((rows.stop - rows.start, self.n_features), self.dtype)
            self._fill(rows.start, sample)
            yield sample

    def _samples(self) -> Iterator[slice]:
        """Yield the slices of rows that are sampled for the fingerprint."""
        n_sampled = min(256, self.n_rows)
        for start in np.unique(np.linspace(0, self.n_rows - n_sampled, FINGERPRINT_SAMPLES, dtype=np.int64)).tolist():
            yield slice(start, start + n_sampled)

    @property
    def _nearby(self) -> int:
        """Largest gap between requested rows that is read through rather than skipped."""
        return self.n_rows

    def _gather(self, rows: IntArray) -> Any:
        X = np.empty((len(rows), self.n_features), self.dtype)
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            self._fill(int(rows[0]), X)
        elif len(rows):
            self._pick(rows, X)
        return X

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        """Write scattered rows into ``out``; rows that are near each other are read together."""
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
            raise ValueError(f"{self.name}: row numbers must be sorted, distinct integers.")
        if rows[0] < 0 or rows[-1] >= self.n_rows:
            raise IndexError(f"{self.name} has rows 0 to {self.n_rows - 1:,}, not {rows[0]:,} to {rows[-1]:,}.")
        return rows

    def _refuse_faults(self, X: Any, rows: IntArray | range) -> None:
        fault = find_fault(X, allow_nan=False)
        if fault is not None:
            where = f"rows {rows[0]:,} to {rows[-1]:,}"
            raise ValueError(f"{self.name}, {where}: {fault}{self._first_fault(X, rows)}")

    def _first_fault(self, X: Any, rows: IntArray | range) -> str:
        """Return a sentence that names the first cell that is not finite; empty if there is none."""
        if sparse.issparse(X) or np.isfinite(X).all():
            return ""
        row, column = np.unravel_index(np.argmin(np.isfinite(X)), X.shape)
        named = self.feature_names[column] if self.feature_names else int(column)
        return f" The first is in row {rows[row]:,}, column {named!r}."


def rows_within(n_bytes: int, row_bytes: int) -> int:
    """Return how many rows of ``row_bytes`` bytes fit into ``n_bytes`` bytes; at least one."""
    return max(1, n_bytes // row_bytes)
