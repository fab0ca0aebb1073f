"""Scratch files: what grows with the data, kept on disk while a fit runs and as long as its results are in use.

They are temporary files: nothing is left behind however the process ends.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.storage import ArrayRows, MemoryGatherer
from cohirf.durable.files import write_all
from cohirf.durable.temporary import TemporaryFile

ZEROS = bytes(2**20)
NOT_SUPPORTED = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)  # by the file system, or by the C library


@dataclass(frozen=True)
class ScratchStorage:
    """Keeps vectors and gathered rows in temporary files of ``directory``.

    By default that is the directory for temporary files, which the environment variable TMPDIR names.
    """

    directory: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    mappings: list[mmap.mmap] = field(default_factory=list)

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return a vector with an entry for each row, to be written to."""
        with _naming(self.directory):
            vector = _map(_make_file(self.directory), np.dtype(dtype), (n_rows,))
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


class ScratchGatherer:
    """Appends blocks of rows to a temporary file of ``directory``. CSR blocks stay in memory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sparse_blocks = MemoryGatherer()
        self._file: TemporaryFile | None = None
        self._empty: NDArray[Any] = np.empty((0, 0))  # tells type and number of columns
        self._n_rows = 0

    def add(self, values: Any) -> None:
        """Append a block of rows."""
        if sparse.issparse(values):
            self._sparse_blocks.add(values)
            return
        with _naming(self._directory):
            if self._file is None:
                self._file, self._empty = _make_file(self._directory), values[:0]
            write_all(self._file.file, np.ascontiguousarray(values))
        self._n_rows += len(values)

    def rows(self) -> ArrayRows:
        """Return the rows of all blocks."""
        if self._file is None:
            return self._sparse_blocks.rows()
        with _naming(self._directory):
            return ArrayRows(_map(self._file, self._empty.dtype, (self._n_rows, *self._empty.shape[1:])))


def _make_file(directory: Path) -> TemporaryFile:
    return TemporaryFile(directory, buffering=0)


def _map(temporary: TemporaryFile, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a memory map of a file, which then exists as long as the map."""
    _reserve(temporary.file, max(1, dtype.itemsize * math.prod(shape)))
    array: Any = np.memmap(temporary.file, dtype=dtype, mode="r+", shape=shape)
    array.filename = os.fspath(temporary)  # joblib sends a memory map to its workers by name
    weakref.finalize(array._mmap, _let_go, temporary)
    return array  # type: ignore[no-any-return]


def _let_go(_: TemporaryFile) -> None:
    """Do nothing: the argument is what was held until now."""


def _reserve(file: IO[bytes], n_bytes: int) -> None:
    """Take room on the disk: if it ran full under a mapping, the system would kill the process."""
    try:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    except AttributeError:  # not on this system
        _append_zeros(file, n_bytes)
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
        _append_zeros(file, n_bytes)


def _append_zeros(file: IO[bytes], n_bytes: int) -> None:
    for start in range(file.seek(0, os.SEEK_END), n_bytes, len(ZEROS)):
        write_all(file, ZEROS[: n_bytes - start])


@contextmanager
def _naming(directory: Path) -> Iterator[None]:
    """Let an error of the system say what the directory is for, and how to have another."""
    try:
        yield
    except OSError as error:
        reason = "is full" if error.errno == errno.ENOSPC else f"cannot be written to ({error.strerror or error})"
        raise OSError(
            error.errno,
            f"{directory}, where the fit keeps what grows with the data, {reason}: "
            f"make room, or name another directory in the environment variable TMPDIR",
        ) from error
