"""Checkpoints: a fit that was killed goes on where it stood.

A checkpoint is a directory with three files. ``manifest.json`` says which fit it belongs to, and what was settled when
that began. ``journal`` holds what became of each batch, in the order of the fit. ``lock`` keeps a second process out.

What a fit does is a function of its input and of its place, so nothing else is needed. To resume, the fit runs again
from its beginning; a batch that is in the journal is read from there instead of being computed.

A record of the journal carries a SHA-256 over itself and over the digest of the record before, the first one over
that of the manifest. A record that was cut short by a kill ends the journal; so does a damaged one, after a warning:
its batch and those behind it are computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import struct
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator

from cohirf.algorithm.engine import Engine
from cohirf.algorithm.levels import BatchTask, ContractedBatch
from cohirf.durable import replace_file, sync_directory, sync_file

FORMAT, FORMAT_VERSION = "cohirf-checkpoint", 1
MANIFEST, JOURNAL, LOCK = "manifest.json", "journal", "lock"
SYNC_SECONDS = 1.0  # a power failure costs at most the batches of the last moments, a kill none

# What may differ when a fit goes on: it changes neither what a batch becomes nor which batches there are.
FREE_PARAMETERS = {"checkpoint", "max_iter", "memory_limit", "min_cluster_size", "n_jobs", "random_state", "verbose"}

FRAME = struct.Struct("<4sIQ")  # mark, length of the header, length of the arrays
MARK = b"cBat"
DIGEST_BYTES = 32
CSR_PARTS = ("data", "indices", "indptr")


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
    with _naming(path):
        path.mkdir(exist_ok=True)
        with _locked(path):
            text = _manifest_text(path, fit, settle)
            content = json.loads(text)
            with Journal(path / JOURNAL, hashlib.sha256(text).digest()) as journal:
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
        while n_tasks > 0 and (outcome := self.journal.read()) is not None:
            _check_place(outcome, next(tasks)[0], self.journal.path)
            n_tasks -= 1
            yield outcome.batch
        if n_tasks > 0:
            places: list[tuple[int, int]] = []
            for outcome in self.engine.run(function, _noting_places(tasks, places), n_tasks):
                self.journal.append(JournalEntry(places.pop(0), outcome))
                yield outcome


@dataclass(frozen=True)
class JournalEntry:
    """What became of the batch at a place: (level, batch)."""

    place: tuple[int, int]
    batch: ContractedBatch


class Journal:
    """An append-only file of batches: first read to its end, then written to."""

    def __init__(self, path: Path, digest: bytes) -> None:
        self.path = path
        self._digest = digest  # of the last good record
        self._file: IO[bytes] = path.open("r+b" if path.exists() else "x+b", buffering=0)
        self._at_end = False
        self._synced = time.monotonic()
        sync_directory(path.parent)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with self._file:
            if error is None:
                sync_file(self._file)

    def read(self) -> JournalEntry | None:
        """Return the next batch, or None at the end of what can be used."""
        if self._at_end:
            return None
        start = self._file.tell()
        record, is_whole = _read_record(self._file)
        if record is not None and record.digest(self._digest) == record.expected:
            self._digest = record.expected
            return _decode(record)
        if is_whole:
            warnings.warn(
                f"{self.path} is damaged at byte {start}: what it holds from there on is computed again.",
                CheckpointWarning,
                stacklevel=2,
            )
        self._file.seek(start)
        self._file.truncate()
        self._at_end = True
        return None

    def append(self, entry: JournalEntry) -> None:
        """Write a batch down."""
        record = _encode(entry)
        self._digest = record.digest(self._digest)
        _write_all(self._file, b"".join([record.frame, record.header, *record.arrays, self._digest]))
        if time.monotonic() - self._synced > SYNC_SECONDS:
            sync_file(self._file)
            self._synced = time.monotonic()


def describe_fit(model: BaseEstimator, **facts: Any) -> dict[str, Any]:
    """Return everything the result of a fit depends on, by name: versions, ``facts`` and parameters."""
    versions = {"cohirf": _package_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    parameters = {name: value for name, value in model.get_params().items() if name not in FREE_PARAMETERS}
    return {name: _describe(value) for name, value in (versions | facts | parameters).items()}


def _describe(value: Any) -> str:
    """Return text that is the same for the same value in another process."""
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).data).hexdigest()}"
    if isinstance(value, BaseEstimator):  # its parameters have entries of their own
        return f"{type(value).__module__}.{type(value).__qualname__}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _package_version() -> str:
    try:
        return metadata.version("cohirf")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"


def _manifest_text(path: Path, fit: dict[str, Any], settle: Callable[[], dict[str, Any]]) -> bytes:
    """Return the manifest of the checkpoint, which is written now if there is none."""
    manifest = path / MANIFEST
    strangers = {entry.name for entry in path.iterdir()} - {MANIFEST, f"{MANIFEST}.new", JOURNAL, LOCK}
    if strangers:
        raise CheckpointError(
            f"checkpoint={str(path)!r} holds other files, such as {min(strangers)!r}: give an empty or new directory."
        )
    if manifest.exists():
        text = manifest.read_bytes()
        _check_fit(path, text, fit)
        return text
    if (path / JOURNAL).exists():
        raise CheckpointError(f"{path} has a journal and no {MANIFEST}: delete the directory to begin anew.")
    body = {"format": FORMAT, "version": FORMAT_VERSION, "fit": fit, "settled": settle()}
    text = json.dumps(body | {"sha256": _body_digest(body)}, indent=1).encode()
    replace_file(manifest, text)
    return text


def _check_fit(path: Path, text: bytes, fit: dict[str, Any]) -> None:
    """Refuse a manifest that is damaged, too new, or of another fit."""
    try:
        content = json.loads(text)
        digest = content.pop("sha256")
        whole = digest == _body_digest(content)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        whole = False
    if not whole:
        raise CheckpointError(f"{path / MANIFEST} is damaged: delete {path} to begin anew.")
    if (content.get("format"), content.get("version")) != (FORMAT, FORMAT_VERSION):
        raise CheckpointError(
            f"{path / MANIFEST} is {content.get('format')} version {content.get('version')}, and this release reads "
            f"{FORMAT} version {FORMAT_VERSION}: use the release that wrote it, or another directory."
        )
    was = content["fit"]
    for name in dict.fromkeys([*was, *fit]):
        if was.get(name) != fit.get(name):
            raise CheckpointError(
                f"checkpoint={str(path)!r} belongs to another fit: {name} was {was.get(name, 'not given')} and is "
                f"{fit.get(name, 'not given')}. Give another directory, or repeat the fit it belongs to."
            )


def _body_digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


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


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let an error of the system name the checkpoint; of writing to an open file, it names none."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(
            error.errno,
            f"The checkpoint was not written ({error.strerror or error}); what it held before is intact",
            str(path),
        ) from error


def _noting_places(tasks: Iterable[tuple[Any, ...]], places: list[tuple[int, int]]) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        places.append(task[0].place)
        yield task


def _check_place(entry: JournalEntry, task: BatchTask, path: Path) -> None:
    if entry.place != task.place or len(entry.batch.labels) != len(task.contracted):
        raise CheckpointError(
            f"{path} holds batch {entry.place} with {len(entry.batch.labels)} rows where the fit has {task.place} with "
            f"{len(task.contracted)}: it is of another fit. Give another directory."
        )


# -- records -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Record:
    frame: bytes
    header: bytes
    arrays: list[bytes]
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
        parts |= {"shape": matrix.shape} | {name: getattr(matrix, name) for name in CSR_PARTS}
    arrays = {name: np.ascontiguousarray(part) for name, part in parts.items() if isinstance(part, np.ndarray)}
    layout = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    scalars = {name: part for name, part in parts.items() if name not in arrays}
    header = json.dumps({"place": entry.place, "arrays": layout, "scalars": scalars}).encode()
    data = [array.tobytes() for array in arrays.values()]
    return _Record(FRAME.pack(MARK, len(header), sum(map(len, data))), header, data)


def _decode(record: _Record) -> JournalEntry:
    content = json.loads(record.header)
    parts, start = content["scalars"], 0
    for name, (dtype, shape) in content["arrays"].items():
        count = int(np.prod(shape, dtype=np.int64))
        parts[name] = np.frombuffer(record.arrays[0], dtype=dtype, count=count, offset=start).reshape(shape)
        start += parts[name].nbytes
    if "shape" in parts:
        shape = tuple(parts.pop("shape"))
        parts["values"] = sparse.csr_array(tuple(parts.pop(name) for name in CSR_PARTS), shape=shape)
    level, batch = content["place"]
    return JournalEntry((level, batch), ContractedBatch(**parts))


def _read_record(file: IO[bytes]) -> tuple[_Record | None, bool]:
    """Return the next record, if it can be read, and whether the file holds as much as it should, the end aside."""
    rest = os.fstat(file.fileno()).st_size - file.tell()
    frame = file.read(FRAME.size)
    if len(frame) < FRAME.size:
        return None, False
    mark, header_bytes, array_bytes = FRAME.unpack(frame)
    if mark != MARK:
        return None, True
    if FRAME.size + header_bytes + array_bytes + DIGEST_BYTES > rest:
        return None, False
    header, arrays, expected = (_read_all(file, size) for size in (header_bytes, array_bytes, DIGEST_BYTES))
    return _Record(frame, header, [arrays], expected), True


def _read_all(file: IO[bytes], size: int) -> bytes:
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write_all(file: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
