"""Checkpoints: resume a killed fit.

A checkpoint is a directory with two files. ``journal`` is an archive that is not finished: its
first record identifies the fit and holds the settings that were resolved when it began, and each
other record holds the result of a run of batches, in the order of the fit. ``lock`` is locked while
a fit uses the checkpoint.

At a URL, the journal is a temporary file of the fit, and what is appended to it is put beside what
is there every ``CHECKPOINT.sync_seconds_at_url``, as objects with numbers: see ``objects.py``.

The result of a run is a deterministic function of the input and of the position of the run in the
fit, so nothing else is needed. To resume, the fit runs again from its beginning, and reads the runs
that are in the journal instead of computing them.
"""

from __future__ import annotations

import errno
import os
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cohirf.algorithm.runs import ContractedRun
from cohirf.beyond.batch_steps import LinkedRun
from cohirf.clusterers.density_labels import PartsOfRun
from cohirf.rows.storage import EngineAround
from cohirf.sources.remote import Location, Url, locate
from cohirf.spanning.found_in_runs import SpannedRun
from cohirf.store.archive import Archive, Kind
from cohirf.store.files import (
    CONTENT_ERRORS,
    CheckpointError,
    CheckpointWarning,
    TemporaryFile,
    naming_file,
    refusing,
    replacing,
    sync_directory,
    sync_file,
)
from cohirf.store.objects import Parts
from cohirf.store.schema import read, write
from cohirf.wording import setting


@dataclass(frozen=True)
class Layout:
    """The files of a checkpoint, and how often they are written to the disk."""

    kind: Kind
    journal: str
    lock: str
    # a power failure loses at most the batches of this time, a kill none
    sync_seconds: float
    # at a URL, a kill loses the work of this time; each costs a request
    sync_seconds_at_url: float


CHECKPOINT = Layout(
    kind=Kind("cohirf-checkpoint", version=9),
    journal="journal",
    lock="lock",
    sync_seconds=1.0,
    sync_seconds_at_url=5.0,
)


@dataclass(frozen=True)
class Beginning:
    """The first record: what the result of the fit depends on, by name, and what was resolved when
    it began.
    """

    fit: dict[str, Any]
    settled: dict[str, Any]


@dataclass(frozen=True)
class Entry:
    """The result of a run, and its place: the level and the first batch.

    Spanning trees are at level 0.
    """

    place: tuple[int, int]
    outcome: ContractedRun | LinkedRun | SpannedRun | PartsOfRun


@contextmanager
def open_checkpoint(
    directory: str | os.PathLike[str],
    fit: dict[str, Any],
    settle: Callable[[], dict[str, Any]],
    n_rows: int,
) -> Iterator[Journal]:
    """Open the checkpoint of a fit, or create it; the parent of its directory must exist.

    ``fit`` has everything that the result of the fit depends on, by name: a checkpoint with any
    other value is refused. ``settle`` resolves the settings that the user left open, and is called
    only when a checkpoint is created. The data has ``n_rows`` rows: results with other ones are
    computed again.
    """
    path = locate(directory)
    if isinstance(path, Url):
        with _open_parts(path, fit, settle, n_rows) as journal:
            yield journal
        return
    with ExitStack() as stack:
        with _naming_checkpoint(path, "opened"):
            _make_directory(path)
            stack.enter_context(_locked(path))
            is_new = not (path / CHECKPOINT.journal).exists()
        if is_new:
            beginning = Beginning(fit, settle())
            with _naming_checkpoint(path, "opened"), replacing(path / CHECKPOINT.journal) as file:
                _write_beginning(file, beginning)
        with _naming_checkpoint(path, "opened"):
            file = (path / CHECKPOINT.journal).open("r+b", buffering=0)
            journal = stack.enter_context(Journal(path / CHECKPOINT.journal, file, n_rows))
        _refuse_another_fit(path, journal.beginning.fit, fit)
        yield journal


@contextmanager
def _open_parts(
    url: Url, fit: dict[str, Any], settle: Callable[[], dict[str, Any]], n_rows: int
) -> Iterator[Journal]:
    """Open the checkpoint of a fit at a URL, or create it."""
    with _naming_checkpoint(url, "opened"):
        parts = Parts(url)
        here = TemporaryFile(buffering=0)
        parts.read(here.file)
    if parts.is_empty:
        beginning = Beginning(fit, settle())
        with _naming_checkpoint(url, "opened"):
            _write_beginning(here.file, beginning)
            parts.append(here.file, here.file.tell())
    here.file.seek(0)
    with Journal(url, here.file, n_rows, parts) as journal:
        _refuse_another_fit(url, journal.beginning.fit, fit)
        yield journal


def _write_beginning(file: IO[bytes], beginning: Beginning) -> None:
    archive = Archive(file)
    archive.begin(*CHECKPOINT.kind)
    archive.append(*write(Beginning, beginning))


class Journal:
    """An append-only file of results of runs: first read to its end, then appended to.

    What is appended to that of a checkpoint at a URL goes to its ``parts``, too.
    """

    def __init__(
        self, path: Location, file: IO[bytes], n_rows: int, parts: Parts | None = None
    ) -> None:
        self.path = path
        self.n_rows = n_rows  # the ranges of row numbers name it
        self._at_end = False
        self._synced = time.monotonic()
        self._file = file
        self._parts = parts
        self._end = 0  # of the last record that was appended as a whole
        self._sync_seconds = (
            CHECKPOINT.sync_seconds if parts is None else CHECKPOINT.sync_seconds_at_url
        )
        self._archive = Archive(self._file)
        try:
            self.beginning = self._read_beginning()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with _naming_checkpoint(self.path, "written"), self._file:
            if error is None:
                self._sync()
            elif self._parts is not None:
                with suppress(Exception):  # do not hide the error; a kill would not do it either
                    self._sync()

    def read(self) -> Entry | None:
        """Return the next run, or None at the end of the usable records."""
        if self._at_end:
            return None
        start = self._file.tell()
        try:
            with _naming_checkpoint(self.path, "read"):
                record = self._archive.read()
            if record is not None:
                return read(Entry, *record, known=self)  # type: ignore[no-any-return]  # what it reads has the type it is given
        except CONTENT_ERRORS as error:
            if self._parts is not None:  # parts stay as they were put
                raise CheckpointError(self._say_damaged(start)) from error
            warnings.warn(
                f"{self.path} is damaged at byte {start}: the batches from there on are computed "
                "again.",
                CheckpointWarning,
                stacklevel=2,
            )
        if self._parts is not None and os.fstat(self._file.fileno()).st_size > start:
            raise CheckpointError(self._say_damaged(start))
        with _naming_checkpoint(self.path, "written"):
            os.ftruncate(self._file.fileno(), start)
            self._file.seek(start)
        self._at_end = True
        return None

    def _say_damaged(self, start: int) -> str:
        return f"{self.path} is damaged at byte {start}: delete it to start again."

    def append(self, entry: Entry) -> None:
        """Append the result of a run."""
        with _naming_checkpoint(self.path, "written"):
            self._archive.append(*write(Entry, entry))
            self._end = self._file.tell()
            if time.monotonic() - self._synced > self._sync_seconds:
                self._sync()
                self._synced = time.monotonic()

    def _sync(self) -> None:
        """Bring what was appended to where it stays."""
        if self._parts is None:
            sync_file(self._file)
        else:
            self._parts.append(self._file, self._end)

    def _read_beginning(self) -> Beginning:
        whole = _checkpoint(self.path)
        remedy = f"Use the version of cohirf that wrote it, or delete {whole} to start again."
        with refusing(self.path, CheckpointError, remedy):
            self._archive.open(*CHECKPOINT.kind)
            return read(Beginning, *self._archive.next())  # type: ignore[no-any-return]  # it has the type it is given


@dataclass(frozen=True)
class ResumableEngine(EngineAround):
    """Takes results of runs from a journal while it has any; computes and records the others."""

    journal: Journal

    @property
    def writes_here(self) -> bool:
        """False: the journal needs all that a task finds."""
        return False

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int
    ) -> Iterator[Any]:
        """Yield the result of each run, in order."""
        tasks = iter(tasks)
        while n_tasks > 0 and (entry := self.journal.read()) is not None:
            task, *_ = next(tasks)
            if (entry.place, entry.outcome.rows_in) != (task.place, task.rows_in):
                raise CheckpointError(
                    f"{self.journal.path} holds batch {entry.place} with {entry.outcome.rows_in} "
                    f"rows where the fit has {task.place} with {task.rows_in}: the checkpoint "
                    "belongs to another fit. Give another directory."
                )
            n_tasks -= 1
            yield entry.outcome
        if n_tasks > 0:
            places: deque[tuple[int, int]] = deque()
            for outcome in self.engine.run(function, _noting_places(tasks, places), n_tasks):
                self.journal.append(Entry(places.popleft(), outcome))
                yield outcome


def _noting_places(
    tasks: Iterable[tuple[Any, ...]], places: deque[tuple[int, int]]
) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        places.append(task[0].place)
        yield task


def _checkpoint(journal: Location) -> str:
    """Return the name of the checkpoint of a journal."""
    return str(journal if isinstance(journal, Url) else journal.parent)


def _naming_checkpoint(path: Location, operation: str) -> AbstractContextManager[None]:
    """Make an error of the operating system name the path, and say what it means for the
    checkpoint.
    """
    words = {
        "opened": (
            "give a directory that can be written to, or a new one in a directory that exists"
        ),
        "read": "the checkpoint was not changed",
        "written": "the batches it already holds are intact, and the same fit resumes from there",
    }
    return naming_file(
        path, f"The checkpoint was not {operation} ({{}}): {words[operation]}", keep_inner=True
    )


def _make_directory(path: Path) -> None:
    """Make the directory, unless it is there.

    Refuse one with files of others, apart from hidden files.
    """
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)
    seen = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
    strangers = [
        entry.name
        for entry in seen
        if entry.name not in (CHECKPOINT.journal, CHECKPOINT.lock) or not entry.is_file()
    ]
    if strangers:
        raise CheckpointError(
            f"{setting('checkpoint', str(path))} contains {min(strangers)!r}, which does not "
            "belong to a checkpoint of this version of cohirf: give an empty or new directory."
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint, which the operating system releases when the process ends."""
    from filelock import FileLock, Timeout

    lock = FileLock(path / CHECKPOINT.lock)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise CheckpointError(
            f"{setting('checkpoint', str(path))} is in use by another fit: wait until that ends, "
            "or give another directory."
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):  # the fit is done; the lock goes with the process
            lock.release()


def _refuse_another_fit(path: Location, was: dict[str, Any], now: dict[str, Any]) -> None:
    for name in dict.fromkeys([*was, *now]):
        if was.get(name) != now.get(name):
            raise CheckpointError(
                f"{setting('checkpoint', str(path))} belongs to another fit: {setting(name)} was "
                f"{was.get(name, 'not given')} and is {now.get(name, 'not given')}. Give another "
                "directory, or repeat the fit it belongs to."
            )
