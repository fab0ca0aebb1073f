"""Rows in memory that other processes of this machine read from a temporary file, which is written once."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.storage import ArrayRows, Rows, SomeRows
from cohirf.scratch import ScratchStorage, is_scratch
from cohirf.sources import ArraySource

SMALL_BYTES = 2**20  # smaller arrays are sent with each task


def share_rows(rows: Rows) -> Rows:
    """Return rows that pickle as a handle; a file is written only when they are pickled for the first time."""
    if isinstance(rows, Shared):
        return rows
    if isinstance(rows, ArrayRows):
        return SharedRows(rows.X)
    if isinstance(rows, ArraySource):
        return SharedSource(rows.X, rows.feature_names)
    if isinstance(rows, SomeRows):
        return SharedSomeRows(share_rows(rows.values), rows.rows)
    return rows


class Shared:
    """Pickles as its ``kind`` of rows, whose arrays other processes read from temporary files."""

    kind: ClassVar[type[Any]]
    parts: ClassVar[tuple[str, ...]]  # the attributes that its kind is made from

    @cached_property
    def _stored(self) -> list[Any]:
        return [_store(getattr(self, part)) for part in self.parts]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.kind, [_handle(part) for part in self._stored])


class SharedRows(Shared, ArrayRows):
    """Shared rows of an array or CSR matrix."""

    kind, parts, in_memory = ArrayRows, ("X",), False


class SharedSource(Shared, ArraySource):
    """A shared source of an array in memory."""

    kind, parts, in_memory = ArraySource, ("X", "feature_names"), False


class SharedSomeRows(Shared, SomeRows):
    """A subset of shared rows; their numbers are shared, too."""

    kind, parts = SomeRows, ("values", "rows")


@dataclass(frozen=True)
class Mapped:
    """An array in a file, to be mapped into memory by another process, which may change its own copy of it."""

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def open(self) -> NDArray[Any]:
        """Map the array into the memory of this process."""
        return np.memmap(self.path, dtype=self.dtype, mode="c", shape=self.shape)


@dataclass(frozen=True)
class Csr:
    """A CSR matrix as its type, its three arrays and its shape."""

    kind: type[Any]
    arrays: tuple[Any, ...]
    shape: tuple[int, int]

    def open(self) -> Any:
        """Put the matrix together."""
        return self.kind(tuple(map(_open_handle, self.arrays)), shape=self.shape, copy=False)


def _store(values: Any) -> Any:
    """Return values with large arrays in temporary files, which live as long as they do.

    A memory map of the user is stored, too: its values in memory need not be those of its file.
    """
    if sparse.issparse(values):
        return Csr(type(values), tuple(map(_store, (values.data, values.indices, values.indptr))), values.shape)
    if not isinstance(values, np.ndarray) or is_scratch(values):
        return values
    return np.asarray(values) if values.nbytes < SMALL_BYTES else ScratchStorage().store(values)


def _handle(stored: Any) -> Any:
    """Return what another process needs in order to read stored values."""
    if isinstance(stored, Csr):
        return replace(stored, arrays=tuple(map(_handle, stored.arrays)))
    return Mapped(os.fspath(stored.filename), stored.dtype, stored.shape) if is_scratch(stored) else stored


def _open_handle(handle: Any) -> Any:
    return handle.open() if isinstance(handle, Mapped | Csr) else handle


def _rebuild(kind: type[Any], handles: list[Any]) -> Any:
    return kind(*map(_open_handle, handles))
