"""Scratch files: what grows with the data, kept on disk while a fit runs and as long as its results are in use.

The files have no name, so nothing is left behind however the process ends.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.storage import ArrayRows, MemoryGatherer


@dataclass(frozen=True)
class ScratchStorage:
    """Keeps vectors and gathered rows in unnamed files of ``directory``.

    By default that is the directory for temporary files, which the environment variable TMPDIR names.
    """

    directory: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    mappings: list[mmap.mmap] = field(default_factory=list)

    def vector(self, n_rows: int, dtype: Any) -> IntArray:
        """Return a vector with an entry for each row, to be written to."""
        vector = _map(_open_file(self.directory), np.dtype(dtype), (n_rows,), self.directory)
        self.mappings.append(vector._mmap)  # type: ignore[attr-defined]  # numpy names it for this use only
        return vector

    def gather(self) -> ScratchGatherer:
        """Return a place for rows that are carried from one level to the next."""
        return ScratchGatherer(self.directory)

    def release(self) -> None:
        """Let go of the memory that holds parts of the vectors; they are read again when they are needed."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapping in self.mappings:
                mapping.madvise(mmap.MADV_DONTNEED)


@dataclass
class ScratchGatherer:
    """Appends blocks of rows to an unnamed file. CSR blocks stay in memory."""

    directory: Path
    n_rows: int = 0
    sparse_blocks: MemoryGatherer = field(default_factory=MemoryGatherer)
    file: IO[bytes] | None = None
    first: NDArray[Any] | None = None

    def add(self, values: Any) -> None:
        """Append a block of rows."""
        if sparse.issparse(values):
            self.sparse_blocks.add(values)
            return
        if self.file is None or self.first is None:
            self.file, self.first = _open_file(self.directory), values[:0]
        try:
            self.file.write(np.ascontiguousarray(values).data)
        except OSError as error:
            raise _no_room(error, self.directory) from error
        self.n_rows += len(values)

    def rows(self) -> ArrayRows:
        """Return the rows of all blocks."""
        if self.file is None or self.first is None:
            return self.sparse_blocks.rows()
        self.file.flush()
        return ArrayRows(_map(self.file, self.first.dtype, (self.n_rows, *self.first.shape[1:]), self.directory))


def _open_file(directory: Path) -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(dir=directory)
    except OSError as error:
        raise _no_room(error, directory) from error


def _map(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...], directory: Path) -> NDArray[Any]:
    n_bytes = dtype.itemsize * math.prod(shape)
    if hasattr(os, "posix_fallocate"):
        try:  # a disk that runs full under a mapping would kill the process
            os.posix_fallocate(file.fileno(), 0, max(n_bytes, 1))
        except OSError as error:
            raise _no_room(error, directory) from error
    return np.memmap(file, dtype=dtype, mode="r+", shape=shape)


def _no_room(error: OSError, directory: Path) -> OSError:
    reason = "is full" if error.errno == errno.ENOSPC else f"cannot be written to ({error.strerror})"
    return OSError(
        error.errno,
        f"{directory}, where the fit keeps what grows with the data, {reason}: "
        f"make room, or name another directory in the environment variable TMPDIR",
    )
