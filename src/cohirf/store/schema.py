"""Nested dataclasses as JSON and arrays, and back: the types of their fields say what is written
and read.

A field may have the type ``int``, ``float`` (NaN is stored as null), ``bool`` or ``str``; an array,
``NDArray[...]``; ``Any``, for an array, a CSR matrix or None; another dataclass; a union of
dataclasses; ``tuple``, ``list`` or ``dict`` of these; ``dict[str, Any]``, for any JSON object; any
of these ``| None``; or ``Later`` of these, whose value is made when it is written. JSON holds the
numbers of arrays in the archive. An array that is in several places is stored once, and is one
array again when it is read.

Digests of the archive detect damage, but anyone can write a file whose digests fit. So values are
checked once, when they are read: a CSR matrix, because SciPy would read outside of its arrays if
they did not fit together; and all others against the ranges in the types of their fields, which
``rows/ranges.py`` explains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from types import GenericAlias, NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows.later import Later
from cohirf.rows.ranges import check_ranges
from cohirf.store.archive import Arrays

JsonObject = dict[str, Any]


def write(kind: Any, value: Any) -> tuple[Any, Arrays]:
    """Return a value as content for JSON, and its arrays."""
    walk = _Walk([], is_reading=False)
    return walk.convert(kind, value), walk.arrays


def read(kind: Any, content: Any, arrays: Arrays, known: Any = None) -> Any:
    """Return the value that :func:`write` was given; foreign content raises an error of its kind.

    ``known`` has attributes that the ranges of fields name, and the value does not have.
    """
    value = _Walk(arrays, is_reading=True).convert(kind, content)
    check_ranges(value, around=(known,))
    return value


def _is_struct(kind: Any) -> bool:
    return is_dataclass(kind)  # of which mypy would conclude that no type can be a key of a cache


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {part.name: hints[part.name] for part in fields(kind)}


@cache
def _type_parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the origin of a type, and its arguments."""
    origin = get_origin(kind)
    # NDArray, NumPy 2.5
    return get_origin(getattr(origin, "__value__", None)) or origin, get_args(kind)


def _alternatives(arguments: tuple[Any, ...]) -> dict[str, Any]:
    return {
        getattr(kind, "__name__", str(kind)): kind for kind in arguments if kind is not NoneType
    }


@dataclass
class _Walk:
    """A walk over a value and its type: from a value to content and arrays or, if it is reading,
    back.
    """

    arrays: Arrays
    is_reading: bool
    # numbers of written arrays, or matrices that were read
    _known: dict[Any, Any] = field(default_factory=dict)

    def convert(self, kind: Any, value: Any) -> Any:
        origin, arguments = _type_parts(kind)
        if origin is Later:
            return self._convert_later(arguments[0], value)
        if value is None:
            return _read_null(kind) if self.is_reading else None
        if kind == JsonObject:
            return dict(value)
        if _is_struct(kind):
            return self._convert_struct(kind, value)
        if origin in (Union, UnionType):
            return self._convert_one_of(_alternatives(arguments), value)
        if kind is Any or origin is np.ndarray:
            if self.is_reading:
                return self._read_matrix(value)
            return self._write_matrix(value)
        if origin in (list, tuple, dict):
            if origin is dict and not self.is_reading:
                given = value.items()
            else:
                given = value
            kinds = _items(origin, arguments, given)
            items = [self.convert(part, each) for part, each in zip(kinds, given, strict=True)]
            return origin(items) if self.is_reading else items
        return kind(value) if self.is_reading else _write_plain(kind, value)

    def _convert_later(self, kind: Any, later: Any) -> Any:
        if self.is_reading:
            return Later.known(self.convert(kind, later))
        return self.convert(kind, later.value)

    def _convert_struct(self, kind: Any, value: Any) -> Any:
        part_of = value.__getitem__ if self.is_reading else partial(getattr, value)
        parts = {
            name: self.convert(part, part_of(name)) for name, part in _field_types(kind).items()
        }
        return kind(**parts) if self.is_reading else parts

    def _convert_one_of(self, kinds: dict[str, Any], value: Any) -> Any:
        if len(kinds) == 1:
            return self.convert(next(iter(kinds.values())), value)
        if not self.is_reading:
            return {type(value).__name__: self.convert(type(value), value)}
        ((which, inner),) = value.items()
        return self.convert(kinds[which], inner)

    def _write_matrix(self, matrix: Any) -> Any:
        if not sparse.issparse(matrix):
            return self._number(np.asarray(matrix))
        parts = [self._number(part) for part in (matrix.data, matrix.indices, matrix.indptr)]
        return {"csr": type(matrix).__name__, "shape": list(map(int, matrix.shape)), "parts": parts}

    def _number(self, array: NDArray[Any]) -> int:
        place = (array.ctypes.data, array.shape, array.strides, array.dtype.str)
        if place not in self._known or array.size == 0:
            self._known[place] = len(self.arrays)
            self.arrays.append(array)
        return int(self._known[place])

    def _read_matrix(self, content: Any) -> Any:
        if not isinstance(content, dict):
            return self.arrays[content]
        key = repr(content)
        if key not in self._known:
            data, indices, indptr = (self.arrays[number] for number in content["parts"])
            kinds = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
            self._known[key] = _build_csr(
                kinds[content["csr"]], data, indices, indptr, content["shape"]
            )
        return self._known[key]


def _write_plain(kind: Any, value: Any) -> Any:
    """Return a number or a text as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if kind is float and math.isnan(value) else value


def _read_null(kind: Any) -> Any:
    """Return what null stands for in a field of a type."""
    if kind is float:
        return math.nan
    if kind is not Any and NoneType not in get_args(kind):
        raise ValueError(f"null is not a value of type {getattr(kind, '__name__', kind)}")
    return None


def _items(origin: Any, arguments: tuple[Any, ...], values: Any) -> list[Any]:
    """Return the type of each item of a list or tuple; those of a dict are pairs."""
    if origin is dict:
        return [GenericAlias(tuple, arguments)] * len(values)
    if origin is list or arguments[-1] is Ellipsis:
        return [arguments[0]] * len(values)
    return list(arguments)


def _build_csr(kind: Any, data: Any, indices: Any, indptr: Any, shape: Any) -> Any:
    """Return the CSR matrix of these parts, after a check that all its pointers and indices are
    within bounds.
    """
    n_rows, n_columns = map(int, shape)
    # SciPy's own check accepts decreasing pointers if the last is 0, and its loops would then read
    # out of bounds
    if (
        len(indptr) != n_rows + 1
        or indptr[0] != 0
        or indptr[-1] != len(data)
        or (indptr[1:] < indptr[:-1]).any()
    ):
        raise ValueError(f"indptr is not the index pointer of {n_rows} rows with {len(data)} cells")
    if (
        len(indices) != len(data)
        or indices.min(initial=0) < 0
        or indices.max(initial=-1) >= n_columns
    ):
        raise ValueError(f"indices has not a column number from 0 to {n_columns - 1} for each cell")
    return kind((data, indices, indptr), shape=(n_rows, n_columns))
