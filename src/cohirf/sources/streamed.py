"""Base class of sources that are decoded piece by piece, in order: Parquet, Arrow IPC, Zarr and Dask."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.sources.source import Source

N_CURSORS = 2


class StreamedSource(Source):
    """A source that remembers its decoding position, so that blocks that are read in order are decoded only once.

    It keeps two positions (cursors), because threads that read neighbouring blocks may arrive in either order. Decoding
    can start only at certain rows, ``_starts``; pieces between such a start and the requested rows are skipped.
    """

    _starts: NDArray[np.int64]
    _cursors: list[_Cursor]

    def __init__(self, *args: Any, starts: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._starts = np.asarray(starts, dtype=np.int64)
        self._reset_cursors()

    @property
    def is_streamed(self) -> bool:
        """True: threads that read ahead of each other would decode the same rows again."""
        return True

    @abstractmethod
    def _pieces(self, number: int) -> Iterator[Any]:
        """Yield pieces of rows, each with a length, from row ``_starts[number]`` to the end of the data."""

    def _copy(self, piece: Any, start: int, out: NDArray[Any]) -> None:
        """Write ``len(out)`` rows of a piece, starting with its row ``start``, into ``out``."""
        out[...] = piece[start : start + len(out)]

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        with self._lock:
            cursor = self._cursor_before(start)
            try:
                self._fill_from(cursor, start, out)
            except BaseException:
                self._cursors.remove(cursor)  # its position is unknown after an error
                raise

    def _fill_from(self, cursor: _Cursor, start: int, out: NDArray[Any]) -> None:
        n_filled = 0
        while n_filled < len(out):
            if not cursor.advance_to(start + n_filled):
                raise ValueError(f"{self.name} ends before row {start + n_filled:,}: write it again.")
            offset = start + n_filled - cursor.first
            n = min(len(cursor.piece) - offset, len(out) - n_filled)
            self._copy(cursor.piece, offset, out[n_filled : n_filled + n])
            n_filled += n

    def _cursor_before(self, start: int) -> _Cursor:
        """Return the cursor that is nearest before a row: a kept one, or a new one."""
        number = int(np.searchsorted(self._starts, start, side="right")) - 1
        fresh = int(self._starts[number])
        kept = [cursor for cursor in self._cursors if cursor.first <= start and cursor.end >= fresh]
        cursor = max(kept, key=lambda cursor: cursor.first) if kept else _Cursor(fresh, self._pieces(number))
        self._cursors = [cursor, *(other for other in self._cursors if other is not cursor)][:N_CURSORS]
        return cursor

    def _reset_cursors(self) -> None:
        self._lock = threading.Lock()
        self._cursors = []

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_cursors")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset_cursors()


class _Cursor:
    """A decoding position: the current piece, the number of its first row, and an iterator over later pieces."""

    def __init__(self, first: int, pieces: Iterator[Any]) -> None:
        self.first = first
        self.piece: Any = ()
        self.pieces = pieces

    @property
    def end(self) -> int:
        return self.first + len(self.piece)

    def advance_to(self, row: int) -> bool:
        """Decode pieces until the current one contains a row; return False if the data ends before that."""
        while row >= self.end:
            self.first = self.end
            self.piece = ()  # freed before the next one is decoded
            piece = next(self.pieces, None)
            if piece is None:
                return False
            self.piece = piece
        return True
