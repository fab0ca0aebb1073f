"""Rows in memory that other processes of this machine read from a temporary file, which is written once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.storage import ArrayRows, Rows, SomeRows
from cohirf.scratch import ScratchStorage, is_scratch
from cohirf.sources import ArraySource

SMALL_BYTES = 2**20  # smaller arrays are sent with each task


def share_rows(rows: Rows) -> Rows:
    """Return rows that pickle as a handle; a file is written only when they are pickled for the first time."""
    if isinstance(rows, SharedRows | SharedSource):
        return rows
    if isinstance(rows, ArrayRows):
        return SharedRows(rows.X)
    if isinstance(rows, ArraySource):
        return SharedSource(rows.X, rows.feature_names)
    if isinstance(rows, SomeRows):
        return SharedSomeRows(share_rows(rows.values), rows.rows)
    return rows


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
class SharedRows(ArrayRows):
    """Rows of an array or CSR matrix; other processes read them from a temporary file."""

    in_memory: ClassVar[bool] = False

    @cached_property
    def _stored(self) -> Any:
        return _store(self.X)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_rows, (_handle(self._stored),)


class SharedSource(ArraySource):
    """A source of an array in memory; other processes read it from a temporary file."""

    in_memory: ClassVar[bool] = False

    @cached_property
    def _stored(self) -> Any:
        return _store(self.X)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_source, (_handle(self._stored), self.feature_names)


@dataclass(frozen=True)
class SharedSomeRows(SomeRows):
    """A subset of shared rows; other processes read their numbers from a temporary file, too."""

    @cached_property
    def _stored(self) -> Any:
        return _store(self.rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_some_rows, (self.values, _handle(self._stored))


def _store(values: Any) -> Any:
    """Return the values in a temporary file, which lives as long as they do; small ones stay in memory.

    A CSR matrix becomes its type, its three arrays and its shape. A memory map of the user is stored, too: its values
    in memory need not be those of its file.
    """
    if sparse.issparse(values):
        return type(values), tuple(map(_store, (values.data, values.indices, values.indptr))), values.shape
    if is_scratch(values):
        return values
    return np.asarray(values) if values.nbytes < SMALL_BYTES else ScratchStorage().store(values)


def _handle(stored: Any) -> Any:
    """Return what another process needs in order to read stored values."""
    if isinstance(stored, tuple):
        kind, parts, shape = stored
        return kind, tuple(map(_handle, parts)), shape
    return Mapped(os.fspath(stored.filename), stored.dtype, stored.shape) if is_scratch(stored) else stored


def _open(handle: Any) -> Any:
    if isinstance(handle, tuple):
        kind, parts, shape = handle
        return kind(tuple(map(_open, parts)), shape=shape, copy=False)
    return handle.open() if isinstance(handle, Mapped) else handle


def _open_rows(handle: Any) -> ArrayRows:
    return ArrayRows(_open(handle))


def _open_source(handle: Any, feature_names: Any) -> ArraySource:
    return ArraySource(_open(handle), feature_names)


def _open_some_rows(values: Rows, handle: Any) -> SomeRows:
    rows: IntArray = _open(handle)
    return SomeRows(values, rows)
