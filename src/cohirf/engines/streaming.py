"""Stream rows to a device: threads read and copy the rows of the next runs while the device computes a run.

Each run is cut into pieces. A thread reads a piece into a buffer of pinned memory, and a CUDA device copies it from
there on a stream of its own. Each thread has two such buffers, and fills one while the other one is copied. Runs are
computed one after the other, in the thread of the caller.

Memory: the device holds the rows of ``1 + RUNS_AHEAD`` runs. This process holds two pieces per thread, 256 MiB at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from itertools import cycle
from threading import local
from typing import Any, ClassVar

import numpy as np
from joblib import cpu_count

from cohirf.algorithm.runs import RunTask
from cohirf.rows.arrays import naming_full_memory, put_on_device
from cohirf.rows.grouping import row_blocks
from cohirf.rows.storage import Engine, RunRows, is_streamed, read_into

RUNS_AHEAD = 2  # with one, the readers would wait for the last pieces of each run
READERS = 8  # a thread reads and checks about 3 GB per second
STREAMED_BYTES = 2**24  # in a piece

Sent = tuple[Any, list[Future[Any]]]


@dataclass(frozen=True)
class StreamingEngine(Engine):
    """Computes runs one after the other on a device that torch knows; their rows are sent there ahead of time."""

    device: str

    is_serial: ClassVar[bool] = True
    writes_here: ClassVar[bool] = True

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, the first of which is a run; yield the results in order.

        An error of a reader is raised when its run would be computed, after the results of all runs before.
        """
        waiting: deque[Callable[[], Any]] = deque()
        with ExitStack() as stack, closing(_one_ahead(iter(tasks))) as made:
            sender: Sender | None = None
            for task, *others in made:
                if sender is None:
                    sender = Sender(task, self.device)
                    stack.callback(sender.close)
                waiting.append(partial(_compute, function, task, sender.send(task), others))
                if len(waiting) > RUNS_AHEAD:
                    yield waiting.popleft()()
            while waiting:
                yield waiting.popleft()()


def _one_ahead(tasks: Iterator[tuple[Any, ...]]) -> Generator[tuple[Any, ...], None, None]:
    """Yield tasks; the next one is made meanwhile, because the rows that it holds aside are drawn then."""
    with ThreadPoolExecutor(1, "cohirf-tasks") as maker:
        coming = maker.submit(next, tasks, None)
        while (task := coming.result()) is not None:
            coming = maker.submit(next, tasks, None)
            yield task


def _compute(function: Callable[..., Any], task: RunTask, sent: Sent, others: list[Any]) -> Any:
    """Wait until all pieces are read, and compute the run; what the device does next waits for the copies."""
    X, pieces = sent
    for piece in pieces:
        wait = piece.result()
        if wait is not None:
            wait()
    return function(task.with_values(RunRows(X)), *others)


class Sender:
    """Sends the rows of runs, such as those of ``task``, to a device."""

    def __init__(self, task: RunTask, device: str) -> None:
        rows: Any = task.values
        self._rows = rows
        self._like = like = put_on_device(rows.take(task.run.index(slice(0, 1))), device)
        # a source that is decoded in order would decode again what another thread has skipped
        n_readers = 1 if is_streamed(rows) else min(READERS, cpu_count())
        self._pool = ThreadPoolExecutor(n_readers, "cohirf-reader")
        self._lane: Any = CudaLane(like) if like.is_cuda else Lane()
        self._piece_rows = max(1, STREAMED_BYTES // (like.shape[1] * like.element_size()))

    def send(self, task: RunTask) -> Sent:
        """Start to send the rows of a run; return an array on the device, and the pieces that threads copy into it."""
        run, rows = task.run, self._rows
        with naming_full_memory(run.longest, self._like):
            X = self._like.new_empty((run.length, self._like.shape[1]))
        copy = self._lane.open(X)

        def send_piece(piece: slice) -> Any:
            numbers: Any = slice(run.start + piece.start, run.start + piece.stop)
            if run.indices is not None:
                numbers = run.indices[piece]
            return copy(piece, lambda out: read_into(rows, numbers, out))

        pieces = row_blocks(run.length, self._piece_rows)
        return X, [self._pool.submit(send_piece, piece) for piece in pieces]

    def close(self) -> None:
        """Leave out pieces that no thread has begun, and wait for the others."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._lane.close()


ReadRowsInto = Callable[[np.ndarray[Any, Any]], None]  # writes rows into an array
Copy = Callable[
    [slice, ReadRowsInto], Any
]  # returns a function that lets the device wait until the rows are there, or None


class Lane:
    """Reads rows where they are needed, in this process."""

    def open(self, X: Any) -> Copy:
        """Return a function that reads some rows into ``X``."""
        out = X.numpy() if X.device.type == "cpu" else None

        def copy(piece: slice, read: ReadRowsInto) -> None:
            if out is not None:
                read(out[piece])
                return
            staged = X.new_empty((piece.stop - piece.start, X.shape[1]), device="cpu")
            read(staged.numpy())
            X[piece].copy_(staged)

        return copy

    def close(self) -> None:
        """Do nothing: every copy is complete."""


class CudaLane:
    """Reads rows into pinned memory; the device copies them on a stream of its own while it computes."""

    def __init__(self, like: Any) -> None:
        import torch

        self._torch = torch
        self._stream = torch.cuda.Stream(like.device)
        self._of_thread = local()

    def open(self, X: Any) -> Copy:
        """Return a function that reads some rows and lets the device copy them into ``X``."""
        torch = self._torch
        # X may be in memory that the device still uses for what it has to do before
        is_free = torch.cuda.current_stream(X.device).record_event()

        def copy(piece: slice, read: ReadRowsInto) -> Any:
            with torch.cuda.stream(self._stream):
                buffer = self._next_buffer()
                staged = buffer.first_rows(X, piece.stop - piece.start)
                read(staged.numpy())
                self._stream.wait_event(is_free)
                X[piece].copy_(staged, non_blocking=True)
                copied = buffer.copied = self._stream.record_event()
                return lambda: torch.cuda.current_stream(X.device).wait_event(copied)

        return copy

    def close(self) -> None:
        """Wait until the device has copied everything, because the memory is freed then."""
        self._stream.synchronize()

    def _next_buffer(self) -> PinnedBuffer:
        """Return one of the two buffers of this thread."""
        if not hasattr(self._of_thread, "buffers"):
            self._of_thread.buffers = cycle([PinnedBuffer(), PinnedBuffer()])
        buffer: PinnedBuffer = next(self._of_thread.buffers)
        return buffer


@dataclass
class PinnedBuffer:
    """Pinned memory for some rows, and the event after which it can be filled again."""

    values: Any = None
    copied: Any = None

    def first_rows(self, X: Any, n_rows: int) -> Any:
        """Return memory for ``n_rows`` rows of the type of ``X``, as soon as the last copy from it is complete."""
        if self.copied is not None:
            self.copied.synchronize()
        if self.values is None or self.values.shape[0] < n_rows:
            self.values = X.new_empty((n_rows, X.shape[1]), device="cpu", pin_memory=True)
        return self.values[:n_rows]
