"""Stream rows to a device: threads read and copy the rows of the next runs while the device
computes a run.

Each run is cut into pieces. A thread reads a piece into pinned memory, and a CUDA device copies it
from there on a stream of its own, while it computes. Runs are computed one after the other, in the
thread of the caller.

Memory: the device holds the rows of ``1 + STREAM.runs_ahead`` runs. This process holds a piece for
each thread, 128 MiB at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from joblib import cpu_count

from cohirf.algorithm.batches import Run
from cohirf.algorithm.runs import RunTask
from cohirf.engines.policy import STREAM
from cohirf.rows.arrays import naming_full_memory, put_on_device, torch_with
from cohirf.rows.grouping import row_blocks
from cohirf.rows.storage import Engine, RunValues, is_streamed, read_into

Sent = tuple[Any, list[Future[Any]]]


@dataclass(frozen=True)
class StreamingEngine(Engine):
    """Computes runs one after the other on a device that torch knows.

    Their rows are sent there ahead of time.
    """

    device: str

    is_serial: ClassVar[bool] = True
    writes_here: ClassVar[bool] = True

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int
    ) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, the first of which is a run.

        Yield the results in order.

        An error of a reader is raised when its run would be computed, after the results of all runs
        before.
        """
        waiting: deque[Callable[[], Any]] = deque()
        with ExitStack() as stack, closing(_one_ahead(iter(tasks))) as made:
            sender: Sender | None = None
            for task, *others in made:
                if sender is None:
                    sender = Sender(task, self.device)
                    stack.callback(sender.close)
                waiting.append(partial(_compute, function, task, sender.send(task), others))
                if len(waiting) > STREAM.runs_ahead:
                    yield waiting.popleft()()
            while waiting:
                yield waiting.popleft()()


def _one_ahead(tasks: Iterator[tuple[Any, ...]]) -> Generator[tuple[Any, ...], None, None]:
    """Yield tasks; the next one is made meanwhile, because the rows that it holds aside are drawn
    then.
    """
    with ThreadPoolExecutor(1, "cohirf-tasks") as maker:
        coming = maker.submit(next, tasks, None)
        while (task := coming.result()) is not None:
            coming = maker.submit(next, tasks, None)
            yield task


def _compute(function: Callable[..., Any], task: RunTask, sent: Sent, others: list[Any]) -> Any:
    """Wait until all pieces are on the device, and compute the run."""
    X, pieces = sent
    for piece in pieces:
        piece.result()
    return function(task.with_values(RunValues(X)), *others)


class Sender:
    """Sends the rows of runs, such as those of ``task``, to a device."""

    def __init__(self, task: RunTask, device: str) -> None:
        rows: Any = task.values
        self._rows = rows
        self._like = like = put_on_device(rows.take(task.run.index(slice(0, 1))), device)
        # a source that is decoded in order would decode again what another thread has skipped
        n_readers = 1 if is_streamed(rows) else min(STREAM.readers, cpu_count())
        self._pool = ThreadPoolExecutor(n_readers, "cohirf-reader")
        self._piece_rows = max(1, STREAM.piece_bytes // (like.shape[1] * like.element_size()))
        self._cuda: Any = torch_with(device).cuda
        self._stream = self._cuda.Stream(like.device) if like.is_cuda else None

    def send(self, task: RunTask) -> Sent:
        """Start to send the rows of a run.

        Return an array on the device, and the pieces that threads copy into it.
        """
        run = task.run
        with naming_full_memory(run.longest, self._like):
            X = self._like.new_empty((run.length, self._like.shape[1]))
        # X may be in memory that the device still uses for what it has to do before
        if self._stream is None:
            is_free = None
        else:
            is_free = self._cuda.current_stream(X.device).record_event()
        pieces = row_blocks(run.length, self._piece_rows)
        return X, [self._pool.submit(self._send_piece, run, X, piece, is_free) for piece in pieces]

    def _send_piece(self, run: Run, X: Any, piece: slice, is_free: Any) -> None:
        """Read some rows of a run, and copy them to the device."""
        numbers: Any = slice(run.start + piece.start, run.start + piece.stop)
        if run.indices is not None:
            numbers = run.indices[piece]
        there = X[piece]
        if X.device.type == "cpu":
            here = there
        else:
            here = X.new_empty(there.shape, device="cpu", pin_memory=X.is_cuda)
        read_into(self._rows, numbers, here.numpy())
        if self._stream is not None:
            with self._cuda.stream(self._stream):
                self._stream.wait_event(is_free)
                there.copy_(here)
        elif here is not there:
            there.copy_(here)

    def close(self) -> None:
        """Leave out pieces that no thread has begun, and wait for the others."""
        self._pool.shutdown(wait=True, cancel_futures=True)
