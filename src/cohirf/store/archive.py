"""The archive of saved models and checkpoints: a line of text, then records of JSON and numeric arrays.

The line has the kind of the archive and the version of its format. Each record carries a checksum of its lengths, which
distinguishes a record that was cut short by a kill from a damaged one, and a SHA-256 over its content and the digest of
what is before it. Nothing in an archive is compressed, and nothing is code: an array cannot be larger than its file.
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
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.store.files import write_all

MARK = b"cRec"
LENGTHS, CHECKSUM = struct.Struct("<4sIQ"), struct.Struct("<I")  # mark, bytes of JSON, bytes of arrays; their CRC-32
FRAME_BYTES, DIGEST_BYTES = LENGTHS.size + CHECKSUM.size, 32
LINE_BYTES = 64  # no first line is longer
CHUNK_BYTES = 2**22
DTYPES = {np.dtype(kind).newbyteorder("<").str for kind in "?bBhHiIqQefd"}

Arrays = list[NDArray[Any]]


class Archive:
    """The records of an open file, which are read or appended at its current place.

    Parameters
    ----------
    file : binary file
        The open file, unbuffered if it is read.
    max_json_bytes : int, default=2**26
        The reader refuses a record with more JSON than this.
    """

    def __init__(self, file: IO[bytes], max_json_bytes: int = 2**26) -> None:
        self.file = file
        self._max_json_bytes = max_json_bytes
        self._digest = b""  # of all that is before the current place

    def begin(self, kind: str, version: int) -> None:
        """Write the first line of a new archive."""
        line = f"{kind} {version}\n".encode()
        write_all(self.file, line)
        self._digest = hashlib.sha256(line).digest()

    def open(self) -> tuple[str, int]:
        """Read the first line, and return the kind and the version of the archive."""
        line, newline, _ = os.read(self.file.fileno(), LINE_BYTES).partition(b"\n")
        kind, _, version = line.decode("ascii", "replace").rpartition(" ")
        if not newline or not kind.startswith("cohirf-") or not version.isdecimal() or str(int(version)) != version:
            raise ValueError("it does not begin as a file that cohirf has written")
        self.file.seek(len(line + newline))
        self._digest = hashlib.sha256(line + newline).digest()
        return kind, int(version)

    def append(self, content: Any, arrays: Sequence[NDArray[Any]] = ()) -> None:
        """Write a record: content that can be stored as JSON, and arrays of numbers."""
        described = [(array.dtype.newbyteorder("<").str, array.shape) for array in arrays]
        text = json.dumps({"content": content, "arrays": described}, allow_nan=False).encode()
        frame = _frame(len(text), sum(array.nbytes for array in arrays))
        digest = hashlib.sha256(self._digest)
        for part in (frame, text):
            digest.update(part)
            write_all(self.file, part)
        for array in arrays:
            for block in _blocks(np.ascontiguousarray(array)):
                piece = block.astype(block.dtype.newbyteorder("<"), copy=False)
                digest.update(piece.data)
                write_all(self.file, piece)
        self._digest = digest.digest()
        write_all(self.file, self._digest)

    def read(self) -> tuple[Any, Arrays] | None:
        """Return content and arrays of the next record; None if the file ends before the record does.

        Raises ValueError or RecursionError for a damaged record.
        """
        frame = self._read_frame()
        if frame is None:
            return None
        text = _read_all(self.file, frame.json_bytes)
        record = json.loads(text, parse_constant=_refuse_constant)
        if not isinstance(record, dict) or record.keys() != {"content", "arrays"}:
            raise ValueError("a record has no content")
        layouts = [_parse_layout(entry) for entry in record["arrays"]]
        n_bytes = sum(math.prod(shape) * dtype.itemsize for dtype, shape in layouts)
        if n_bytes != frame.array_bytes:
            raise ValueError(f"a record has {frame.array_bytes} bytes of arrays, but its JSON says {n_bytes}")
        digest = hashlib.sha256(self._digest + frame.content + text)
        arrays = [_read_array(self.file, dtype, shape, digest) for dtype, shape in layouts]
        if _read_all(self.file, DIGEST_BYTES) != digest.digest():
            raise ValueError("its SHA-256 differs")
        self._digest = digest.digest()
        return record["content"], arrays

    def skip(self) -> bool:
        """Move to the end of the next record without a look at its content; return False if there is none."""
        try:
            frame = self._read_frame()
        except ValueError:
            return False
        if frame is not None:
            self.file.seek(frame.json_bytes + frame.array_bytes + DIGEST_BYTES, os.SEEK_CUR)
        return frame is not None

    def _read_frame(self) -> _Frame | None:
        rest = os.fstat(self.file.fileno()).st_size - self.file.tell()
        content = _read_all(self.file, FRAME_BYTES)
        if len(content) < FRAME_BYTES:
            return None
        _, json_bytes, array_bytes = LENGTHS.unpack(content[: LENGTHS.size])
        if content != _frame(json_bytes, array_bytes):
            raise ValueError("the lengths of a record are damaged")
        if json_bytes > self._max_json_bytes:
            raise ValueError(f"it has {json_bytes} bytes of JSON, but at most {self._max_json_bytes} are read")
        if FRAME_BYTES + json_bytes + array_bytes + DIGEST_BYTES > rest:
            return None
        return _Frame(content, json_bytes, array_bytes)


@dataclass(frozen=True)
class _Frame:
    content: bytes
    json_bytes: int
    array_bytes: int


def _frame(json_bytes: int, array_bytes: int) -> bytes:
    lengths = LENGTHS.pack(MARK, json_bytes, array_bytes)
    return lengths + CHECKSUM.pack(zlib.crc32(lengths))


def _parse_layout(entry: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return type and shape of an array; objects, text and dates are refused."""
    dtype, shape = entry
    if dtype not in DTYPES or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"{reprlib.repr(entry)} is not the type and the shape of an array of numbers")
    return np.dtype(dtype), tuple(shape)


def _read_array(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], digest: Any) -> NDArray[Any]:
    array: NDArray[Any] = np.empty(shape, dtype)
    for block in _blocks(array):
        rest = block.view(np.uint8).data
        while len(rest):
            n_read = file.readinto(rest)  # type: ignore[attr-defined]  # binary files have it
            if not n_read:
                raise ValueError("it is cut short")
            rest = rest[n_read:]
        digest.update(block.data)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _blocks(array: NDArray[Any]) -> list[NDArray[Any]]:
    """Return parts of a contiguous array, each of a few megabytes."""
    flat, step = array.reshape(-1), CHUNK_BYTES // array.itemsize
    return [flat[start : start + step] for start in range(0, len(flat), step)]


def _read_all(file: IO[bytes], size: int) -> bytes:
    parts = []
    while size > 0 and (part := os.read(file.fileno(), size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")
