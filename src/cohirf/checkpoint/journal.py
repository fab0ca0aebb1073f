"""The journal of a checkpoint: the result of each batch, appended in the order of the fit.

Each record carries a SHA-256 over its content and the digest of the previous record (for the first record, over the
digest of the manifest). It also carries a checksum of its length, which distinguishes a record that was cut short by a
kill from a damaged one. Reading stops at either, with a warning for a damaged one; that batch and all later ones are
computed again.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from cohirf.checkpoint.errors import CheckpointWarning, naming_operation, refusing_content
from cohirf.checkpoint.outcomes import JournalEntry, decode, encode
from cohirf.durable.files import sync_directory, sync_file, write_all
from cohirf.durable.reading import refuse_holes

SYNC_SECONDS = 1.0  # a power failure loses at most the batches of the last second, a kill none

MARK = b"cBat"
LENGTHS, CHECKSUM = struct.Struct("<4sIQ"), struct.Struct("<I")  # mark, length of the header, length of the arrays
FRAME_BYTES = LENGTHS.size + CHECKSUM.size
DIGEST_BYTES = 32
MAX_HEADER_BYTES = 2**16  # a header lists at most a dozen arrays and a few numbers


class Journal:
    """An append-only file of batch results: first read to its end, then appended to."""

    def __init__(self, path: Path, digest: bytes) -> None:
        self.path = path
        self._digest = digest  # of the last good record
        self._at_end = False
        self._synced = time.monotonic()
        if not path.exists():
            warnings.warn(f"{path} is missing: all batches are computed again.", CheckpointWarning, stacklevel=2)
            path.touch()
            sync_directory(path.parent)
        with refusing_content(path):
            refuse_holes([path.stat()])
        self._file: IO[bytes] = path.open("r+b", buffering=0)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with naming_operation(self.path, "written"), self._file:
            if error is None:
                sync_file(self._file)

    def read(self) -> JournalEntry | None:
        """Return the next batch, or None at the end of the usable records.

        A record with correct digests and impossible content must be forged: it raises CheckpointError.
        """
        if self._at_end:
            return None
        with naming_operation(self.path, "read"), refusing_content(self.path):
            start = self._file.tell()
            record = _read_record(self._file)
        if record is not None and record.digest(self._digest) == record.expected:
            self._digest = record.expected
            with refusing_content(self.path):
                return decode(record.header, record.arrays[0])
        if record is not None:
            warnings.warn(
                f"{self.path} is damaged at byte {start}: the batches from there on are computed again.",
                CheckpointWarning,
                stacklevel=2,
            )
        with naming_operation(self.path, "written"):
            os.ftruncate(self._file.fileno(), start)
            self._file.seek(start)
        self._at_end = True
        return None

    def append(self, entry: JournalEntry) -> None:
        """Append the result of a batch."""
        header, arrays = encode(entry)
        record = _Record(_frame(len(header), sum(map(len, arrays))), header, arrays)
        self._digest = record.digest(self._digest)
        with naming_operation(self.path, "written"):
            for part in (record.frame + record.header, *record.arrays, self._digest):
                write_all(self._file, part)
            if time.monotonic() - self._synced > SYNC_SECONDS:
                sync_file(self._file)
                self._synced = time.monotonic()


def count_records(path: Path) -> int:
    """Return how many batches a journal holds, damaged ones included. The journal is not changed."""
    if not path.exists():
        return 0
    with path.open("rb", buffering=0) as file:
        return sum(1 for _ in iter(lambda: _read_record(file), None))


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


def _frame(header_bytes: int, array_bytes: int) -> bytes:
    lengths = LENGTHS.pack(MARK, header_bytes, array_bytes)
    return lengths + CHECKSUM.pack(zlib.crc32(lengths))


def _read_record(file: IO[bytes]) -> _Record | None:
    """Return the next record, even if it is damaged; None if the file ends before the record does.

    Raises ValueError for a header that no fit can have written.
    """
    rest = os.fstat(file.fileno()).st_size - file.tell()
    frame = _read_all(file, FRAME_BYTES)
    if len(frame) < FRAME_BYTES:
        return None
    _, header_bytes, array_bytes = LENGTHS.unpack(frame[: LENGTHS.size])
    if frame != _frame(header_bytes, array_bytes):
        return _Record(frame, b"", [])
    if header_bytes > MAX_HEADER_BYTES:
        raise ValueError(f"a record has a header of {header_bytes} bytes, but at most {MAX_HEADER_BYTES} are allowed")
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
