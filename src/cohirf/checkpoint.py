"""Checkpoints: a fit that was killed goes on where it stood.

A checkpoint is a directory with three files. ``manifest.json`` says which fit it belongs to, and what was settled when
that began. ``journal`` holds what became of each batch, in the order of the fit. ``lock`` keeps a second process out.
The manifest is written last: where it is, the journal is, too.

What a fit does is a function of its input and of its place, so nothing else is needed. To resume, the fit runs again
from its beginning; a batch that is in the journal is read from there instead of being computed.

A record of the journal carries a SHA-256 over itself and over the digest of the record before, the first one over
that of the manifest; and a checksum over its own length, which tells a record that was cut short by a kill from a
damaged one. Both end the journal, the latter with a warning: their batch and those behind it are computed again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import struct
import time
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.engine import Engine
from cohirf.algorithm.first_level import Run, Survivors
from cohirf.algorithm.levels import BatchTask, ContractedBatch
from cohirf.durable import replace_file, sync_directory, sync_file, write_all

FORMAT, FORMAT_VERSION = "cohirf-checkpoint", 1
MANIFEST, JOURNAL, LOCK = "manifest.json", "journal", "lock"
SYNC_SECONDS = 1.0  # a power failure costs at most the batches of the last moments, a kill none

MARK = b"cBat"
LENGTHS, CHECKSUM = struct.Struct("<4sIQ"), struct.Struct("<I")  # mark, length of the header, length of the arrays
DIGEST_BYTES = 32
CSR_PARTS = ("data", "indices", "indptr")

Outcome = ContractedBatch | Survivors
OUTCOMES = {kind.__name__: kind for kind in (ContractedBatch, Survivors)}


class CheckpointError(ValueError):
    """A checkpoint that is damaged, in use, or of another fit."""


class CheckpointWarning(UserWarning):
    """A checkpoint of which a part was damaged and is computed again."""


@dataclass
class Checkpoint:
    """An open checkpoint, held by this process alone.

    Attributes
    ----------
    settled : dict
        What was decided when the fit began, and is taken over when it resumes.
    journal : Journal
        What became of the batches.
    """

    settled: dict[str, Any]
    journal: Journal


@contextmanager
def open_checkpoint(
    directory: str | os.PathLike[str], fit: dict[str, Any], settle: Callable[[], dict[str, Any]]
) -> Iterator[Checkpoint]:
    """Open the checkpoint of a fit, or begin one.

    Parameters
    ----------
    directory : path
        Where it is, or is to be. Its parent must exist.
    fit : dict
        What the fit is: everything its result depends on, by name. A checkpoint of which anything differs is refused.
    settle : callable
        Decides what the fit needs to know beyond that; called only when a checkpoint begins.
    """
    path = Path(directory)
    with ExitStack() as stack:
        with _naming(path, "opened"):
            _make_directory(path)
            _refuse_strangers(path)
            stack.enter_context(_locked(path))
            is_new = not (path / MANIFEST).exists()
        settled = settle() if is_new else {}
        with _naming(path, "opened"):
            if is_new:
                _begin(path, fit, settled)
            text = (path / MANIFEST).read_bytes()
            content = _check_manifest(path, text, fit)
            journal = stack.enter_context(Journal(path / JOURNAL, hashlib.sha256(text).digest()))
        yield Checkpoint(content["settled"], journal)


@dataclass(frozen=True)
class ResumableEngine:
    """Takes the outcome of batches from a journal as far as it goes, and has the others computed and written down."""

    engine: Engine
    journal: Journal

    @property
    def is_serial(self) -> bool:
        """Whether there is one task at a time."""
        return self.engine.is_serial

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Give back what became of each batch, in order."""
        tasks = iter(tasks)
        while n_tasks > 0 and (entry := self.journal.read()) is not None:
            _check_place(entry, next(tasks)[0], self.journal.path)
            n_tasks -= 1
            yield entry.batch
        if n_tasks > 0:
            places: deque[tuple[int, int]] = deque()
            for outcome in self.engine.run(function, _noting_places(tasks, places), n_tasks):
                self.journal.append(JournalEntry(places.popleft(), outcome))
                yield outcome


@dataclass(frozen=True)
class JournalEntry:
    """What became of the batch at a place, (level, batch), or of a run of batches that begins there."""

    place: tuple[int, int]
    batch: Outcome


class Journal:
    """An append-only file of batches: first read to its end, then written to."""

    def __init__(self, path: Path, digest: bytes) -> None:
        self.path = path
        self._digest = digest  # of the last good record
        self._at_end = False
        self._synced = time.monotonic()
        if not path.exists():
            warnings.warn(f"{path} is missing: all it held is computed again.", CheckpointWarning, stacklevel=2)
            path.touch()
            sync_directory(path.parent)
        self._file: IO[bytes] = path.open("r+b", buffering=0)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with _naming(self.path, "written"), self._file:
            if error is None:
                sync_file(self._file)

    def read(self) -> JournalEntry | None:
        """Return the next batch, or None at the end of what can be used."""
        if self._at_end:
            return None
        with _naming(self.path, "read"):
            start = self._file.tell()
            record = _read_record(self._file)
        if record is not None and record.digest(self._digest) == record.expected:
            self._digest = record.expected
            return _decode(record)
        if record is not None:
            warnings.warn(
                f"{self.path} is damaged at byte {start}: what it holds from there on is computed again.",
                CheckpointWarning,
                stacklevel=2,
            )
        with _naming(self.path, "written"):
            os.ftruncate(self._file.fileno(), start)
            self._file.seek(start)
        self._at_end = True
        return None

    def append(self, entry: JournalEntry) -> None:
        """Write a batch down."""
        record = _encode(entry)
        self._digest = record.digest(self._digest)
        with _naming(self.path, "written"):
            for part in (record.frame + record.header, *record.arrays, self._digest):
                write_all(self._file, part)
            if time.monotonic() - self._synced > SYNC_SECONDS:
                sync_file(self._file)
                self._synced = time.monotonic()


def _make_directory(path: Path) -> None:
    try:
        path.mkdir()
    except FileExistsError as error:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
    else:
        sync_directory(path.parent)


def _refuse_strangers(path: Path) -> None:
    """Refuse a directory that holds anything but the files of a checkpoint, and hidden ones that systems make."""
    own = {MANIFEST, f"{MANIFEST}.new", JOURNAL, LOCK}
    with os.scandir(path) as entries:
        seen = [entry for entry in entries if not entry.name.startswith(".")]
    strangers = [entry.name for entry in seen if entry.name not in own or not entry.is_file(follow_symlinks=False)]
    if strangers:
        raise CheckpointError(
            f"checkpoint={str(path)!r} holds something else, {min(strangers)!r}: give an empty or new directory."
        )


def _begin(path: Path, fit: dict[str, Any], settled: dict[str, Any]) -> None:
    """Make an empty journal, then the manifest."""
    journal = path / JOURNAL
    if journal.exists() and journal.stat().st_size > 0:
        raise CheckpointError(f"{path} has a journal and no {MANIFEST}: delete the directory to begin anew.")
    journal.touch()
    replace_file(
        path / MANIFEST,
        _manifest_text({"format": FORMAT, "version": FORMAT_VERSION, "fit": fit, "settled": settled}),
    )


def _manifest_text(body: dict[str, Any]) -> bytes:
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return json.dumps(body | {"sha256": digest}, indent=1).encode()


def _check_manifest(path: Path, text: bytes, fit: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a manifest; refuse one that is damaged, of another version, or of another fit."""
    try:
        content = json.loads(text)
        version = content["version"] if content["format"] == FORMAT else None
        body = {name: value for name, value in content.items() if name != "sha256"}
        is_whole = _manifest_text(body) == text
    except (ValueError, LookupError, TypeError, RecursionError):
        is_whole, version = False, None
    if isinstance(version, int) and version != FORMAT_VERSION:
        raise CheckpointError(
            f"{path / MANIFEST} has version {version} of the format, and this release reads version {FORMAT_VERSION}: "
            f"use the release that wrote it, or another directory."
        )
    if not is_whole:
        raise CheckpointError(f"{path / MANIFEST} is damaged: delete {path} to begin anew.")
    _refuse_another_fit(path, body["fit"], fit)
    return body


def _refuse_another_fit(path: Path, was: dict[str, str], now: dict[str, str]) -> None:
    for name in dict.fromkeys([*was, *now]):
        if was.get(name) != now.get(name):
            raise CheckpointError(
                f"checkpoint={str(path)!r} belongs to another fit: {name} was {was.get(name, 'not given')} and is "
                f"{now.get(name, 'not given')}. Give another directory, or repeat the fit it belongs to."
            )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint; the system releases it however the process ends."""
    try:
        import fcntl
    except ImportError as error:  # pragma: no cover
        raise CheckpointError("checkpoint needs file locks as POSIX systems have them.") from error
    with (path / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise CheckpointError(
                f"checkpoint={str(path)!r} is in use by another fit: wait for it, or give another directory."
            ) from error
        yield


REMEDY = {
    "opened": "give a directory that can be written to, or a new one in a directory that exists",
    "read": "nothing in it was changed",
    "written": "what it held before is intact, and the same fit goes on from there",
}


@contextmanager
def _naming(path: Path, deed: str) -> Iterator[None]:
    """Let an error of the system say what it means for the checkpoint, and name the path."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"The checkpoint was not {deed} ({error.strerror or error}): {REMEDY[deed]}",
            str(error.filename or path),
        ) from error


def _noting_places(tasks: Iterable[tuple[Any, ...]], places: deque[tuple[int, int]]) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        places.append(task[0].place)
        yield task


def _check_place(entry: JournalEntry, task: BatchTask | Run, path: Path) -> None:
    is_of_run = isinstance(entry.batch, Survivors)
    if entry.place != task.place or entry.batch.rows_in != task.rows_in or is_of_run != isinstance(task, Run):
        raise CheckpointError(
            f"{path} holds batch {entry.place} with {entry.batch.rows_in} rows where the fit has {task.place} with "
            f"{task.rows_in}: it is of another fit. Give another directory."
        )


# -- records -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Record:
    frame: bytes
    header: bytes
    arrays: list[Any]
    expected: bytes = b""

    def digest(self, previous: bytes) -> bytes:
        hasher = hashlib.sha256(previous)
        for part in (self.frame, self.header, *self.arrays):
            hasher.update(part)
        return hasher.digest()


def _encode(entry: JournalEntry) -> _Record:
    parts = {field.name: getattr(entry.batch, field.name) for field in fields(entry.batch)}
    if sparse.issparse(parts["values"]):
        matrix = parts.pop("values")
        parts |= {"csr": (type(matrix).__name__, matrix.shape)} | {name: getattr(matrix, name) for name in CSR_PARTS}
    arrays = {name: np.ascontiguousarray(part) for name, part in parts.items() if isinstance(part, np.ndarray)}
    layout = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    scalars = {name: part for name, part in parts.items() if name not in arrays}
    content = {"kind": type(entry.batch).__name__, "place": entry.place, "arrays": layout, "scalars": scalars}
    header = json.dumps(content).encode()
    data = [array.reshape(-1).view(np.uint8) for array in arrays.values()]
    lengths = LENGTHS.pack(MARK, len(header), sum(map(len, data)))
    return _Record(lengths + CHECKSUM.pack(zlib.crc32(lengths)), header, data)


def _decode(record: _Record) -> JournalEntry:
    content = json.loads(record.header)
    parts, start = content["scalars"], 0
    for name, (dtype, shape) in content["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        stored = np.frombuffer(record.arrays[0], dtype=dtype, count=count, offset=start)
        parts[name] = stored.reshape(shape).copy()  # else each of them would keep all of the record in memory
        start += stored.nbytes
    if "csr" in parts:
        kind, shape = parts.pop("csr")
        make = sparse.csr_matrix if kind == "csr_matrix" else sparse.csr_array
        parts["values"] = make(tuple(parts.pop(name) for name in CSR_PARTS), shape=tuple(shape))
    level, batch = content["place"]
    return JournalEntry((level, batch), OUTCOMES[content["kind"]](**parts))


def _read_record(file: IO[bytes]) -> _Record | None:
    """Return the next record, however damaged; None where the file ends before it does."""
    rest = os.fstat(file.fileno()).st_size - file.tell()
    frame = _read_all(file, LENGTHS.size + CHECKSUM.size)
    if len(frame) < LENGTHS.size + CHECKSUM.size:
        return None
    lengths = frame[: LENGTHS.size]
    mark, header_bytes, array_bytes = LENGTHS.unpack(lengths)
    if mark != MARK or CHECKSUM.pack(zlib.crc32(lengths)) != frame[LENGTHS.size :]:
        return _Record(frame, b"", [])
    if len(frame) + header_bytes + array_bytes + DIGEST_BYTES > rest:
        return None
    header, arrays, expected = (_read_all(file, size) for size in (header_bytes, array_bytes, DIGEST_BYTES))
    return _Record(frame, header, [arrays], expected)


def _read_all(file: IO[bytes], size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(file.fileno(), size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
