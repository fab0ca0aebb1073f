"""Source: the interface through which a fit reads rows from any storage.

``take`` is the same for all sources: it reads, converts and validates rows. A subclass opens its
storage and implements ``_fill``, which writes consecutive rows into an array; one of
:class:`StreamedSource` decodes its storage in order.
"""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from cohirf.error_contexts import replacing_errors
from cohirf.rows.grouping import IntArray
from cohirf.sources.policy import READ
from cohirf.validation import find_fault
from cohirf.wording import listed

# a list of columns, a function that selects them, or all
ColumnChoice = Sequence[Any] | Callable[[Any], bool] | None


class NoRowsError(ValueError):
    """Data has columns, but no rows: ``cohirf update`` and ``cohirf drift`` take it as nothing new,
    everything else as an error.
    """


class NotNumbersError(ValueError):
    """A column has no numbers."""

    def __init__(self, message: str, column: Any = None) -> None:  # None after pickling
        super().__init__(message)
        self.column = column


class Source(ABC):
    """Base class of sources: numeric rows that are read by row number, independently of where they
    are stored.

    :func:`cohirf.open_source` returns a source. Derive a class from Source to read from another
    kind of storage: call ``super().__init__`` and implement ``_fill``.

    A source never modifies its storage. Several threads can read from it. Sources of files pickle
    as a small handle, which opens the files again in another process.

    Parameters
    ----------
    name : str
        Its name in error messages.
    shape : tuple of int
        Number of rows and columns in the storage.
    stored : dtype
        Type of the values in the storage.
    columns : list of int or callable, optional
        The columns to read, or a function that returns whether to read a column; all columns if
        None.
    feature_names : list of str, optional
        Names of the columns that are read.

    Attributes
    ----------
    name : str
        Its name in error messages.
    n_rows, n_features : int
        Number of rows, and of columns that are read.
    dtype : dtype
        Type of the rows that ``take`` returns: float32 if the storage holds float16 or float32,
        float64 otherwise.
    feature_names : list of str or None
        Names of the columns that are read; None if the storage has no names.
    format_name : str
        For a format of files: what help and messages call it, such as "Parquet".
    options : tuple of str
        For a format of files: the options of ``open_source`` that the class takes, by name.
    is_remote : bool
        For a format of files: whether it is read from URLs, too.

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

    format_name: ClassVar[str] = ""
    options: ClassVar[tuple[str, ...]] = ()
    is_remote: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        stored: DTypeLike,
        *,
        columns: ColumnChoice = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        stored = np.dtype(stored)
        if len(shape) != 2:
            raise ValueError(
                f"{name} has shape {tuple(shape)}: give two dimensions, one row per sample and one "
                "column per feature."
            )
        if 0 in shape:
            kind = ValueError if shape[0] else NoRowsError
            raise kind(
                f"{name} has {shape[0]} rows and {shape[1]} columns: give at least one of each."
            )
        if stored.kind not in "biuf":
            raise ValueError(f"{name} holds values of type {stored}: turn them into numbers first.")
        self.name = name
        self.n_rows = int(shape[0])
        self._columns = choose_numbers(name, int(shape[1]), columns)
        if self._columns is None:
            self.n_features = int(shape[1])
        else:
            self.n_features = len(self._columns)
        self.dtype = np.dtype(np.float32 if stored in (np.float16, np.float32) else np.float64)
        if feature_names is None:
            self.feature_names = None
        else:
            self.feature_names = list(feature_names)

    def take(self, rows: IntArray) -> Any:
        """Return the given rows.

        Parameters
        ----------
        rows : array of int
            Sorted, distinct row numbers. Consecutive rows are read together.

        Returns
        -------
        X : array or CSR matrix, shape (len(rows), n_features)
            A copy, which the caller may modify: C-ordered, of type ``dtype``, with finite values
            only.

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
        self.refuse_faults(X, rows)
        return X

    def fill(self, start: int, out: NDArray[Any]) -> None:
        """Write consecutive rows, from row ``start`` on, into a C-ordered array of type ``dtype``.

        The rows are checked as those of ``take``, whose errors this method raises, too.
        """
        with self._unchanged():
            self._fill(start, out)
        self.refuse_faults(out, range(start, start + len(out)))

    @property
    def is_streamed(self) -> bool:
        """Whether the storage is decoded in order, which a single thread does best."""
        return False

    def read_all(self) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, in blocks. Values are not checked: missing cells are NaN."""
        step = rows_within(READ.piece_bytes, self.n_features * self.dtype.itemsize)
        for start in range(0, self.n_rows, step):
            block = np.empty((min(step, self.n_rows - start), self.n_features), self.dtype)
            self._refuse_changes()
            self._fill(start, block)
            yield block

    def fingerprint(self) -> str:
        """Return a short text that identifies the data: it is the same for the same data and
        storage in any process.
        """
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
            # if the storage changed meanwhile, report that instead of another error
            self._refuse_changes()

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
        for start in np.unique(
            np.linspace(0, self.n_rows - n_sampled, READ.sampled_rows, dtype=np.int64)
        ).tolist():
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
        window = rows_within(READ.piece_bytes, self.n_features * self.dtype.itemsize)
        far = np.diff(rows) > self._nearby
        next_window = np.diff(rows // window) > 0
        for begin, end in pairwise([0, *(np.flatnonzero(far | next_window) + 1), len(rows)]):
            first = int(rows[begin])
            last = int(rows[end - 1])
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
            raise IndexError(
                f"{self.name} has rows 0 to {self.n_rows - 1:,}, not {rows[0]:,} to {rows[-1]:,}."
            )
        return rows

    def refuse_faults(self, X: Any, rows: IntArray | range) -> None:
        """Raise ValueError if rows with these numbers have values that a fit cannot compute
        with.
        """
        fault = find_fault(X, allow_nan=False)
        if fault is not None:
            where = f"rows {rows[0]:,} to {rows[-1]:,}"
            raise ValueError(f"{self.name}, {where}: {fault}{self._first_fault(X, rows)}")

    def _first_fault(self, X: Any, rows: IntArray | range) -> str:
        """Return a sentence that names the first cell that is not finite.

        Empty if there is none.
        """
        if sparse.issparse(X) or np.isfinite(X).all():
            return ""
        row, column = np.unravel_index(np.argmin(np.isfinite(X)), X.shape)
        if self.feature_names:
            named: str | int = self.feature_names[column]
        else:
            named = int(column)
        return f" The first is in row {rows[row]:,}, column {named!r}."


class SourceAround(Source):
    """A source of the same rows and columns as another source, with other values.

    Attributes
    ----------
    source : Source
        The source of the rows.
    """

    def __init__(self, source: Source) -> None:
        shape = (source.n_rows, source.n_features)
        super().__init__(source.name, shape, source.dtype, feature_names=source.feature_names)
        self.source = source

    @property
    def is_streamed(self) -> bool:
        """Whether the source below is decoded in order."""
        return self.source.is_streamed

    @property
    def _nearby(self) -> int:
        return self.source._nearby

    def _refuse_changes(self) -> None:
        self.source._refuse_changes()

    def _content(self) -> Iterator[Any]:
        yield from self.source._content()

    def refuse_faults(self, X: Any, rows: IntArray | range) -> None:
        """Raise ValueError as the source below does."""
        self.source.refuse_faults(X, rows)


class StreamedSource(Source):
    """A source that remembers its decoding position, so that blocks that are read in order are
    decoded only once.

    Decoding can start only at certain rows, ``_starts``; pieces between a start and the requested
    rows are skipped.
    """

    _starts: NDArray[np.int64]
    _cursor: _Cursor | None

    def __init__(self, *args: Any, starts: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._starts = np.asarray(starts, dtype=np.int64)
        self._reset_cursor()

    @property
    def is_streamed(self) -> bool:
        """True: threads that read ahead of each other would decode the same rows again."""
        return True

    def read_all(self) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, in blocks; in the end, the memory for decoding is freed."""
        yield from super().read_all()
        with self._lock:
            self._cursor = None

    @abstractmethod
    def _pieces(self, number: int) -> Iterator[Any]:
        """Yield pieces of rows, each with a length, from row ``_starts[number]`` to the end of the
        data.
        """

    def _copy(self, piece: Any, start: int, out: NDArray[Any], first: int) -> None:
        """Write ``len(out)`` rows of a piece into ``out``, from its row ``start`` on, the row
        ``first`` of the data.
        """
        out[...] = piece[start : start + len(out)]

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        number = int(np.searchsorted(self._starts, start, side="right")) - 1
        with self._lock:
            # its position is unknown after an error
            cursor = self._cursor
            self._cursor = None
            if cursor is None or not cursor.first <= start or cursor.end < self._starts[number]:
                cursor = _Cursor(int(self._starts[number]), self._pieces(number))
            self._fill_from(cursor, start, out)
            self._cursor = cursor

    def _fill_from(self, cursor: _Cursor, start: int, out: NDArray[Any]) -> None:
        n_filled = 0
        while n_filled < len(out):
            if not cursor.advance_to(start + n_filled):
                raise ValueError(
                    f"{self.name} ends before row {start + n_filled:,}: write it again."
                )
            offset = start + n_filled - cursor.first
            n = min(len(cursor.piece) - offset, len(out) - n_filled)
            self._copy(cursor.piece, offset, out[n_filled : n_filled + n], start + n_filled)
            n_filled += n

    def _reset_cursor(self) -> None:
        self._lock = threading.Lock()
        self._cursor = None

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_lock", "_cursor")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset_cursor()


class _Cursor:
    """A decoding position: the current piece, the number of its first row, and an iterator over
    later pieces.
    """

    def __init__(self, first: int, pieces: Iterator[Any]) -> None:
        self.first = first
        self.piece: Any = ()
        self.pieces = pieces

    @property
    def end(self) -> int:
        return self.first + len(self.piece)

    def advance_to(self, row: int) -> bool:
        """Decode pieces until the current one contains a row.

        Return False if the data ends before that.
        """
        while row >= self.end:
            self.first = self.end
            self.piece = ()  # freed before the next one is decoded
            piece = next(self.pieces, None)
            if piece is None:
                return False
            self.piece = piece
        return True


def rows_within(n_bytes: int, row_bytes: int) -> int:
    """Return how many rows of ``row_bytes`` bytes fit into ``n_bytes`` bytes; at least one."""
    return max(1, n_bytes // row_bytes)


def choose_numbers(source: str, n_columns: int, columns: ColumnChoice) -> list[int] | None:
    """Return the chosen column numbers, or None for all of them."""
    if columns is None:
        return None
    columns = _as_list(columns, range(n_columns))
    for column in columns:
        if isinstance(column, bool) or not isinstance(column, int | np.integer):
            raise TypeError(
                f"{source} has no column names: give numbers from 0 to {n_columns - 1}, not "
                f"{column!r}."
            )
        if not 0 <= column < n_columns:
            raise ValueError(
                f"{source} has no column {column}: give numbers from 0 to {n_columns - 1}."
            )
    return [int(column) for column in columns]


def choose_names(source: str, available: Sequence[str], columns: ColumnChoice) -> list[str]:
    """Return the chosen column names; all available names if ``columns`` is None."""
    repeated = [name for name, times in Counter(available).items() if times > 1]
    if repeated:
        raise ValueError(
            f"{source}: the column name {repeated[0]!r} appears more than once: rename the columns."
        )
    if columns is None:
        return list(available)
    chosen = _as_list(columns, available)
    known = set(available)
    for column in chosen:
        if column not in known:
            raise ValueError(f"{source} has no column {column!r}: it has {listed(available)}.")
    return chosen


def refuse_type(source: str, column: Any, stored: Any, hint: str = "") -> NotNumbersError:
    """Return the error for a column that is not numeric."""
    message = (
        f"{source}: column {column!r} has type {stored}: turn it into numbers first, or leave it "
        f"out, for instance with columns=lambda name: name != {column!r}.{hint}"
    )
    return NotNumbersError(message, column)


def _as_list(columns: Any, available: Sequence[Any]) -> list[Any]:
    if callable(columns):
        columns = [column for column in available if columns(column)]
    if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
        raise TypeError(
            f"columns={columns!r} is not a list: give a list of columns, such as [{columns!r}]."
        )
    if not len(columns):
        raise ValueError("columns= selects no column: choose at least one.")
    repeated = [column for column, times in Counter(columns).items() if times > 1]
    if repeated:
        raise ValueError(
            f"columns={list(columns)!r} lists {repeated[0]!r} more than once: give each column "
            "once."
        )
    return list(columns)
