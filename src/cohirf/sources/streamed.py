"""Storage that is decoded piece by piece, in order: Parquet, Arrow IPC, Zarr and Dask."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.sources.source import Source

N_PLACES = 2


class StreamedSource(Source):
    """A source that keeps its place, so that blocks read in order decode nothing twice.

    Two places, because threads that read neighbouring blocks arrive in any order: the one behind serves whoever comes
    late. Decoding can begin at some rows only, ``_starts``; from there on, pieces that are not wanted are skipped.
    """

    _starts: NDArray[np.int64]
    _places: list[_Place]

    def __init__(self, *args: Any, starts: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._starts = np.asarray(starts, dtype=np.int64)
        self._forget_places()

    @abstractmethod
    def _pieces(self, number: int) -> Iterator[Any]:
        """Yield the pieces from the row ``_starts[number]`` on, each with a length, to the end of the data."""

    def _copy(self, piece: Any, start: int, out: NDArray[Any]) -> None:
        """Write the rows of a piece from its row ``start`` on into ``out``."""
        out[...] = piece[start : start + len(out)]

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        with self._lock:
            place = self._place_before(start)
            try:
                self._fill_from(place, start, out)
            except BaseException:
                self._places.remove(place)  # nobody knows where its stream stands
                raise

    def _fill_from(self, place: _Place, start: int, out: NDArray[Any]) -> None:
        n_filled = 0
        while n_filled < len(out):
            if not place.advance_to(start + n_filled):
                raise ValueError(f"{self.name} ends before row {start + n_filled:,}: write it again.")
            offset = start + n_filled - place.first
            n = min(len(place.piece) - offset, len(out) - n_filled)
            self._copy(place.piece, offset, out[n_filled : n_filled + n])
            n_filled += n

    def _place_before(self, start: int) -> _Place:
        """Return the place from which the way to a row is shortest: one that is kept, or a fresh one."""
        number = int(np.searchsorted(self._starts, start, side="right")) - 1
        fresh = int(self._starts[number])
        kept = [place for place in self._places if place.first <= start and place.end >= fresh]
        place = max(kept, key=lambda place: place.first) if kept else _Place(fresh, self._pieces(number))
        self._places = [place, *(other for other in self._places if other is not place)][:N_PLACES]
        return place

    def _forget_places(self) -> None:
        self._lock = threading.Lock()
        self._places = []

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_lock", "_places")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget_places()


class _Place:
    """One decoded piece, the number of its first row, and the pieces that follow."""

    def __init__(self, first: int, pieces: Iterator[Any]) -> None:
        self.first = first
        self.piece: Any = ()
        self.pieces = pieces

    @property
    def end(self) -> int:
        return self.first + len(self.piece)

    def advance_to(self, row: int) -> bool:
        """Decode on until the piece holds a row; tell whether there is one that does."""
        while row >= self.end:
            self.first = self.end
            self.piece = ()  # freed before the next one is decoded
            piece = next(self.pieces, None)
            if piece is None:
                return False
            self.piece = piece
        return True
