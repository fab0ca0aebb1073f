"""A file at a URL as a file object: ranges are asked for before they are needed, several at a time.

Whoever knows what will be read says so by :meth:`RemoteReader.expect`. Otherwise the file is
divided into pieces, and those that follow are asked for once it is read in order: first one, then
twice as many each time.
"""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.sources.policy import READ

Ranges = Sequence[tuple[int, int]]
Pieces = list[tuple[int, int, int]]  # where each begins and ends, and how much of it will be read


class RemoteReader(io.RawIOBase):
    """An object of ``size`` bytes as a file that is read, of which few pieces are in memory.

    ``fetch(start, stop)`` returns a range of it; several threads call it at a time.
    """

    def __init__(self, size: int, fetch: Callable[[int, int], memoryview]) -> None:
        super().__init__()
        self._size = size
        self._fetch = fetch
        self._position = 0
        self._lock = threading.RLock()  # Arrow reads CSV files in a thread of its own
        self._pool: ThreadPoolExecutor | None = None
        step = READ.remote.piece_bytes
        starts = np.arange(0, size, step, dtype=np.int64)
        ends = np.minimum(starts + step, size)
        self._plan = _Plan(starts, ends, ends - starts)
        self._forget()

    def expect(self, pieces: Pieces) -> None:
        """Say which pieces will be read, about in this order.

        Others are read as they are asked for, and nothing after them.
        """
        with self._lock:
            self._forget()
            self._plan = _Plan(*np.asarray(pieces, dtype=np.int64).reshape(-1, 3).T)

    def _forget(self) -> None:
        self._pieces: OrderedDict[int, Future[memoryview]] = OrderedDict()
        self._read: dict[int, int] = {}  # bytes of each piece that were read
        self._next = 0  # the first piece that was not asked for yet, in the order of the plan
        self._window = 1  # pieces that are asked for ahead
        self._held = 0  # bytes of pieces that are here or on their way

    def readable(self) -> bool:
        """Say that it is."""
        return True

    def seekable(self) -> bool:
        """Say that it is."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError("a position before the beginning of the file")
        self._position = base + offset
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """Return all of the next bytes, up to the end of the file."""
        left = max(0, self._size - self._position)
        length = left if size is None or size < 0 else min(left, size)
        with self._lock:
            number = self._plan.find(self._position)
            if number is not None and self._position + length <= self._plan[number][1]:
                content = bytes(self._take(number, self._position, length))  # copied once
                self._position += length
                return content
        several = bytearray(length)
        self.readinto(several)
        return bytes(several)

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer with the next bytes, up to the end of the file."""
        with self._lock:
            view = memoryview(buffer).cast("B")
            view = view[: max(0, self._size - self._position)]
            if len(view) >= 2 * READ.remote.piece_bytes:
                self._read_direct(view)
            else:
                self._read_pieces(view)
            self._position += len(view)
            return len(view)

    def close(self) -> None:
        """Forget what was read, and what is on its way."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = None
            self._forget()
            super().close()

    def _read_direct(self, view: memoryview) -> None:
        """Read a long range, whose pieces are asked for at the same time."""
        step = READ.remote.piece_bytes

        def fill(start: int) -> None:
            part = view[start : start + step]
            part[:] = self._fetch(self._position + start, self._position + start + len(part))

        for _ in self._threads.map(fill, range(0, len(view), step)):
            pass

    def _read_pieces(self, view: memoryview) -> None:
        filled = 0
        while filled < len(view):
            position = self._position + filled
            number = self._plan.find(position)
            if number is None:  # nobody expected it
                stop = min(self._position + len(view), self._plan.next_start(position))
                part = self._fetch(position, stop)
            else:
                part = self._take(number, position, len(view) - filled)
            view[filled : filled + len(part)] = part
            filled += len(part)

    def _take(self, number: int, position: int, length: int) -> memoryview:
        """Return at most ``length`` bytes of a piece; it is dropped when all was read that will be.

        Several columns are read side by side, so its last byte need not be the last one.
        """
        start, _ = self._plan[number]
        part = self._get(number)[position - start : position - start + length]
        self._read[number] = self._read.get(number, 0) + len(part)
        if self._read[number] >= self._plan.needed(number):
            self._drop(number)
        return part

    def _get(self, number: int) -> memoryview:
        """Return a piece, and ask for those after it."""
        if number not in self._pieces:
            is_in_order = number == self._next
            self._window = min(2 * self._window, len(self._plan)) if is_in_order else 1
            self._next = number
            self._ask()
            if not is_in_order:
                return self._pieces[number].result()
        elif number + self._window >= self._next:
            self._window = min(2 * self._window, len(self._plan))
        self._pieces.move_to_end(number)
        future = self._pieces[number]
        most = READ.remote.ahead_bytes
        for _ in range(self._next, min(number + 1 + self._window, len(self._plan))):
            start, end = self._plan[self._next]
            if self._held + end - start > most:
                break
            self._ask()
        return future.result()

    def _ask(self) -> None:
        """Ask for the next piece; if there are too many, give up the one used longest ago."""
        start, end = self._plan[self._next]
        if self._next not in self._pieces:
            while self._pieces and self._held + end - start > READ.remote.ahead_bytes:
                self._drop(next(iter(self._pieces)))
            self._pieces[self._next] = self._threads.submit(self._fetch, start, end)
            self._held += end - start
        self._next += 1

    def _drop(self, number: int) -> None:
        self._pieces.pop(number).cancel()
        self._read.pop(number, None)
        start, end = self._plan[number]
        self._held -= end - start

    @property
    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(READ.remote.parallel)
        return self._pool


def split_ranges(ranges: Ranges) -> Pieces:
    """Return ranges that are read side by side as pieces, in the order in which they are needed.

    Those that are close to each other are read together if all of them may be in memory. Otherwise
    each is divided, and those of equal places in their ranges follow each other.
    """
    policy = READ.remote
    if sum(stop - start for start, stop in ranges) <= policy.ahead_bytes:
        joined: list[tuple[int, int]] = []
        for start, stop in sorted(ranges):
            if joined and start - joined[-1][1] <= policy.gap_bytes:
                joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
            else:
                joined.append((start, stop))
        cut = [piece for bounds in joined for piece in _divide(bounds, policy.piece_bytes)]
        return [(start, stop, _overlap(start, stop, ranges)) for start, stop in cut]
    step = max(READ.buffer_bytes, policy.ahead_bytes // (3 * len(ranges)))
    pieces = [
        ((piece[0] - bounds[0]) / (bounds[1] - bounds[0]), piece)
        for bounds in ranges
        for piece in _divide(bounds, min(step, policy.piece_bytes))
    ]
    return [(start, stop, stop - start) for _, (start, stop) in sorted(pieces)]


def _overlap(start: int, stop: int, ranges: Ranges) -> int:
    """Return how many bytes of a piece are in ranges, which do not overlap."""
    return sum(max(0, min(stop, end) - max(start, begin)) for begin, end in ranges)


def _divide(bounds: tuple[int, int], step: int) -> list[tuple[int, int]]:
    """Return a range as pieces of equal length, at most ``step``."""
    start, stop = bounds
    n_pieces = max(1, -(-(stop - start) // step))
    cuts = [start + (stop - start) * number // n_pieces for number in range(n_pieces + 1)]
    return list(pairwise(cuts))


class _Plan:
    """Ranges in the order in which they are probably read."""

    def __init__(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64], needed: NDArray[np.int64]
    ) -> None:
        self._starts = starts
        self._ends = ends
        self._needed = needed
        self._by_place = np.argsort(starts, kind="stable")
        self._sorted = starts[self._by_place]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> tuple[int, int]:
        return int(self._starts[number]), int(self._ends[number])

    def needed(self, number: int) -> int:
        """Return how much of a range will be read."""
        return int(self._needed[number])

    def find(self, position: int) -> int | None:
        """Return the number of the range in which a byte is."""
        place = int(np.searchsorted(self._sorted, position, side="right")) - 1
        if place < 0:
            return None
        number = int(self._by_place[place])
        return number if position < self._ends[number] else None

    def next_start(self, position: int) -> int:
        """Return the beginning of the first range after a byte; a very large number if none."""
        place = int(np.searchsorted(self._sorted, position, side="right"))
        return int(self._sorted[place]) if place < len(self._sorted) else 2**62
