"""The archive of saved models and checkpoints: a line of text, then records of JSON and numeric
arrays.

The line has the kind of the archive and the version of its format. Each record carries a checksum
of its lengths, which distinguishes a record that was cut short by a kill from a damaged one, and a
SHA-256 over its content and the digest of what is before it. Nothing in an archive is compressed,
and nothing is code: an array cannot be larger than its file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import reprlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cohirf.store.files import write_all


@dataclass(frozen=True)
class RecordFormat:
    """How the bytes around a record are laid out."""

    mark: bytes
    lengths: struct.Struct  # mark, bytes of JSON, bytes of arrays
    checksum: struct.Struct  # CRC-32 of the lengths
    digest_bytes: int

    @property
    def frame_bytes(self) -> int:
        """Number of bytes before the content."""
        return self.lengths.size + self.checksum.size

    def frame(self, json_bytes: int, array_bytes: int) -> bytes:
        """Return the bytes before a content of these lengths."""
        lengths = self.lengths.pack(self.mark, json_bytes, array_bytes)
        return lengths + self.checksum.pack(zlib.crc32(lengths))


RECORD = RecordFormat(
    mark=b"cRec",
    lengths=struct.Struct("<4sIQ"),
    checksum=struct.Struct("<I"),
    digest_bytes=hashlib.sha256().digest_size,
)
DTYPES = {np.dtype(kind).newbyteorder("<").str for kind in "?bBhHiIqQefd"}

Arrays = list[NDArray[Any]]


class Kind(NamedTuple):
    """What an archive is, and the version of its content: its first line has both."""

    name: str
    version: int


class Archive:
    """The records of an open file, which are read or appended at its current place.

    It is unbuffered if it is read.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._digest = b""  # of all that is before the current place

    def begin(self, kind: str, version: int) -> None:
        """Write the first line of a new archive."""
        line = f"{kind} {version}\n".encode()
        write_all(self.file, line)
        self._digest = hashlib.sha256(line).digest()

    def open(self, kind: str, version: int) -> None:
        """Read the first line, which must have this kind and version."""
        # no first line is longer than 64 bytes
        line, newline, _ = os.read(self.file.fileno(), 64).partition(b"\n")
        found_kind, _, found = line.decode("ascii", "replace").rpartition(" ")
        if (
            not newline
            or not found_kind.startswith("cohirf-")
            or not found.isdecimal()
            or str(int(found)) != found
        ):
            raise ValueError("it does not begin as a file that cohirf has written")
        if found_kind != kind:
            raise ValueError(f"it is a {found_kind}, not a {kind}")
        if int(found) != version:
            raise ValueError(
                f"it has format version {found}, and this version of cohirf reads version {version}"
            )
        self.file.seek(len(line + newline))
        self._digest = hashlib.sha256(line + newline).digest()

    def append(self, content: Any, arrays: Sequence[NDArray[Any]] = ()) -> None:
        """Write a record: content that can be stored as JSON, and arrays of numbers."""
        stored = [
            np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C") for array in arrays
        ]
        described = [(array.dtype.str, array.shape) for array in stored]
        text = json.dumps({"content": content, "arrays": described}, allow_nan=False).encode()
        parts: list[Any] = [
            RECORD.frame(len(text), sum(array.nbytes for array in stored)),
            text,
            *stored,
        ]
        digest = hashlib.sha256(self._digest)
        for part in parts:
            digest.update(part)
            write_all(self.file, part)
        self._digest = digest.digest()
        write_all(self.file, self._digest)

    def read(self) -> tuple[Any, Arrays] | None:
        """Return content and arrays of the next record.

        None if the file ends before the record does.

        Raises ValueError or RecursionError for a damaged record.
        """
        rest = os.fstat(self.file.fileno()).st_size - self.file.tell()
        frame = _read_all(self.file, RECORD.frame_bytes)
        if len(frame) < RECORD.frame_bytes:
            return None
        _, json_bytes, array_bytes = RECORD.lengths.unpack(frame[: RECORD.lengths.size])
        if frame != RECORD.frame(json_bytes, array_bytes):
            raise ValueError("the lengths of a record are damaged")
        if RECORD.frame_bytes + json_bytes + array_bytes + RECORD.digest_bytes > rest:
            return None
        text = _read_all(self.file, json_bytes)
        record = json.loads(text, parse_constant=_refuse_constant)
        if not isinstance(record, dict) or record.keys() != {"content", "arrays"}:
            raise ValueError("a record has no content")
        layouts = [_parse_layout(entry) for entry in record["arrays"]]
        n_bytes = sum(math.prod(shape) * dtype.itemsize for dtype, shape in layouts)
        if n_bytes != array_bytes:  # an array cannot be larger than its file
            raise ValueError(
                f"a record has {array_bytes} bytes of arrays, but its JSON says {n_bytes}"
            )
        digest = hashlib.sha256(self._digest + frame + text)
        arrays = [_read_array(self.file, dtype, shape, digest) for dtype, shape in layouts]
        if _read_all(self.file, RECORD.digest_bytes) != digest.digest():
            raise ValueError("its SHA-256 differs")
        self._digest = digest.digest()
        return record["content"], arrays

    def next(self) -> tuple[Any, Arrays]:
        """Return content and arrays of the next record, which must be there."""
        record = self.read()
        if record is None:
            raise ValueError("it is cut short")
        return record


def _parse_layout(entry: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return type and shape of an array; objects, text and dates are refused."""
    dtype, shape = entry
    if dtype not in DTYPES or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(
            f"{reprlib.repr(entry)} is not the type and the shape of an array of numbers"
        )
    return np.dtype(dtype), tuple(shape)


def _read_array(
    file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], digest: Any
) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(shape, dtype)
    rest = array.reshape(-1).view(np.uint8).data
    while len(rest):
        n_read = file.readinto(rest)  # type: ignore[attr-defined]  # binary files have it
        if not n_read:
            raise ValueError("it is cut short")
        rest = rest[n_read:]
    digest.update(array)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _read_all(file: IO[bytes], size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(file.fileno(), size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")
