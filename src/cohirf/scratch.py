"""Scratch files: arrays that grow with the data, on disk while a fit runs and while its results are
used.

They are temporary files, which are gone when the process ends, also if it is killed. Other
processes of this machine read rows that are in memory from such files, too: ``share_rows``.
"""

from __future__ import annotations

import errno
import math
import mmap
import os
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.error_contexts import replacing_errors
from cohirf.rows.storage import ArrayRows, Gatherer, Rows, SomeRows, Storage
from cohirf.sources import ArraySource
from cohirf.store.files import TemporaryFile, write_all

ZEROS = bytes(2**20)
SMALL_BYTES = 2**20  # smaller arrays are sent with each task


@dataclass(frozen=True)
class ScratchStorage(Storage):
    """Stores vectors and collected rows in temporary files in ``directory``.

    The default is the system's directory for temporary files, which the environment variable TMPDIR
    sets.
    """

    directory: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    mappings: list[mmap.mmap] = field(default_factory=list)

    is_shared: ClassVar[bool] = True

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised vector with one entry for each row."""
        return self._new(dtype, (n_rows,))

    def matrix(self, n_rows: int, n_columns: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised matrix."""
        return self._new(dtype, (n_rows, n_columns))

    def store(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of an array in a temporary file."""
        with _naming_directory(self.directory):
            stored = _map(_make_file(self.directory), values.dtype, values.shape)
        stored[...] = values
        return stored

    def gather(self) -> ScratchGatherer:
        """Return an object that collects the rows that later levels read."""
        return ScratchGatherer(self.directory)

    def release(self) -> None:
        """Release the memory that caches parts of the vectors.

        They are read from disk again when they are needed.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapping in self.mappings:
                mapping.madvise(mmap.MADV_DONTNEED)

    def _new(self, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
        with _naming_directory(self.directory):
            array = _map(_make_file(self.directory), np.dtype(dtype), shape)
        self.mappings.append(array._mmap)  # type: ignore[attr-defined]  # numpy names it for this use only
        return array


class ScratchGatherer(Gatherer):
    """Appends blocks of rows to a temporary file in ``directory``. CSR blocks stay in memory."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self._file: TemporaryFile | None = None
        self._n_rows = 0

    def add(self, values: Any) -> None:
        """Append a block of rows."""
        if sparse.issparse(values):
            super().add(values)
            return
        with _naming_directory(self._directory):
            if self._file is None:
                self._file = _make_file(self._directory)
                self._empty = values[:0]
            write_all(self._file.file, np.ascontiguousarray(values))
        self._n_rows += len(values)

    def rows(self) -> ArrayRows | None:
        """Return the rows of all blocks; None if there are none."""
        if self._file is None:
            return super().rows()
        with _naming_directory(self._directory):
            return ArrayRows(
                _map(self._file, self._empty.dtype, (self._n_rows, *self._empty.shape[1:]))
            )


def is_scratch(values: Any) -> bool:
    """Return whether an array is the whole content of a scratch file."""
    return bool(getattr(values, "is_scratch", False))


def share_rows(rows: Rows) -> Rows:
    """Return rows that pickle without their values.

    A file is written only when they are pickled for the first time.
    """
    if isinstance(rows, Shared):
        return rows
    if isinstance(rows, ArrayRows):
        return SharedValues(rows.X)
    if isinstance(rows, ArraySource):
        return SharedSource(rows.X, rows.feature_names)
    if isinstance(rows, SomeRows):
        return SharedSelection(share_rows(rows.values), rows.rows)
    return rows


class Shared:
    """Pickles as its ``kind`` of rows, whose arrays other processes read from temporary files."""

    kind: ClassVar[type[Any]]
    parts: ClassVar[tuple[str, ...]]  # the attributes that its kind is made from

    @cached_property
    def _stored(self) -> tuple[Any, ...]:
        return tuple(_share(getattr(self, part)) for part in self.parts)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.kind, self._stored


class SharedValues(Shared, ArrayRows):
    """Shared rows of an array or CSR matrix."""

    kind = ArrayRows
    parts = ("X",)
    in_memory = False


class SharedSource(Shared, ArraySource):
    """A shared source of an array in memory."""

    kind = ArraySource
    parts = ("X", "feature_names")
    in_memory = False


class SharedSelection(Shared, SomeRows):
    """A subset of shared rows; their numbers are shared, too."""

    kind = SomeRows
    parts = ("values", "rows")


class SharedArray(np.memmap):
    """A scratch file, which another process maps into its memory.

    It may change its own copy of the values.
    """

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _map_copy, (str(self.filename), self.dtype, self.shape)


@dataclass(frozen=True)
class SharedMatrix:
    """A CSR matrix whose arrays are shared."""

    kind: type[Any]
    arrays: tuple[Any, ...]
    shape: tuple[int, int]

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_matrix, (self.kind, self.arrays, self.shape)


def _share(values: Any) -> Any:
    """Return values that pickle without their large arrays, whose files live as long as they do.

    A memory map of the user is stored, too: its values in memory need not be those of its file.
    """
    if sparse.issparse(values):
        arrays = (values.data, values.indices, values.indptr)
        return SharedMatrix(type(values), tuple(map(_share, arrays)), values.shape)
    if not isinstance(values, np.ndarray):
        return values
    if not is_scratch(values):
        if values.nbytes < SMALL_BYTES:
            # joblib would send a view of a memory map by the name of its file
            return np.array(values)
        values = ScratchStorage().store(values)
    return values.view(SharedArray)


def _map_copy(path: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    return np.memmap(path, dtype=dtype, mode="c", shape=shape)


def _make_matrix(kind: type[Any], arrays: tuple[Any, ...], shape: tuple[int, int]) -> Any:
    return kind(arrays, shape=shape, copy=False)


def _make_file(directory: Path) -> TemporaryFile:
    return TemporaryFile(directory, buffering=0)


def _map(temporary: TemporaryFile, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a memory map of a file; the file exists as long as the map."""
    _reserve(temporary.file, max(1, dtype.itemsize * math.prod(shape)))
    array: Any = np.memmap(temporary.file, dtype=dtype, mode="r+", shape=shape)
    array.filename = os.fspath(temporary)  # joblib sends a memory map to its workers by name
    array.is_scratch = True  # parts of the array do not have this mark
    weakref.finalize(array._mmap, _let_go, temporary)
    return array  # type: ignore[no-any-return]  # Any, so that it can be marked


def _let_go(_: TemporaryFile) -> None:
    """Do nothing: the finalizer only holds a reference to the file until the map is deleted."""


def _reserve(file: IO[bytes], n_bytes: int) -> None:
    """Reserve disk space: writing to a memory map on a full disk would kill the process."""
    try:
        os.posix_fallocate(file.fileno(), 0, n_bytes)
    except AttributeError:  # not on this system
        _append_zeros(file, n_bytes)
    except OSError as error:
        # by the file system or the C library
        not_supported = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS)
        if error.errno not in not_supported:
            raise
        _append_zeros(file, n_bytes)


def _append_zeros(file: IO[bytes], n_bytes: int) -> None:
    for start in range(file.seek(0, os.SEEK_END), n_bytes, len(ZEROS)):
        write_all(file, ZEROS[: n_bytes - start])


@replacing_errors
def _naming_directory(directory: Path) -> Iterator[None]:
    """Replace system errors by errors that say what the directory is for, and how to choose another
    one.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            reason = "is full"
        else:
            reason = f"cannot be written to ({error.strerror or error})"
        raise OSError(
            error.errno,
            f"{directory}, the directory for temporary files of the fit, {reason}: free some "
            "space, or set the environment variable TMPDIR to another directory",
        ) from error
