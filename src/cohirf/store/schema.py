"""Nested dataclasses as JSON and arrays, and back: the types of their fields say what is written, read and checked.

A field may have the type ``int``, ``float`` (NaN is stored as null), ``bool`` or ``str``; an array, ``NDArray[...]``;
``Any``, for an array, a CSR matrix or None; another dataclass; a union of dataclasses; ``tuple``, ``list`` or ``dict``
of these; ``dict[str, Any]``, for any JSON object; or any of these ``| None``. JSON holds the numbers of arrays in the
archive. An array that is in several places is stored once, and is one array again when it is read.

``Annotated`` adds what a reader checks: :class:`Layout`.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.store.archive import Arrays

CSR_PARTS = ("data", "indices", "indptr")
CSR_KINDS = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
MAX_INT = 2**62  # sums of a few numbers cannot overflow
JSON_OBJECT = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """What is checked of an array, or of a number that is the length of an axis."""

    axes: str  # names of the axes, with spaces between them. Axes with the same name have the same length in all arrays
    below: str = ""  # the name of an axis, or "": values are integers that number its entries


def write(kind: Any, value: Any) -> tuple[Any, Arrays]:
    """Return a value as content for JSON, and its arrays."""
    writer = _Writer()
    return writer.write(kind, value), writer.arrays


def read(kind: Any, content: Any, arrays: Arrays) -> Any:
    """Return the value that :func:`write` was given; raise ValueError if the content does not fit its type."""
    reader = _Reader(arrays)
    value = reader.read(kind, content, "")
    reader.check_ranges()
    return value


def _is_struct(kind: Any) -> bool:
    return is_dataclass(kind)  # of which mypy would conclude that no type can be a key of a cache


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {part.name: hints[part.name] for part in fields(kind)}


@cache
def _type_parts(kind: Any) -> tuple[Any, Any, tuple[Any, ...], Layout | None]:
    """Return a type without annotations, its origin, its arguments, and its layout."""
    layout = None
    if get_origin(kind) is Annotated:
        layout = next((note for note in kind.__metadata__ if isinstance(note, Layout)), None)
        kind = get_args(kind)[0]
    origin = get_origin(kind)
    return kind, get_origin(getattr(origin, "__value__", None)) or origin, get_args(kind), layout  # NDArray, NumPy 2.5


def _alternatives(arguments: tuple[Any, ...]) -> dict[str, Any]:
    return {getattr(kind, "__name__", str(kind)): kind for kind in arguments if kind is not NoneType}


@dataclass
class _Writer:
    arrays: Arrays = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)

    def write(self, kind: Any, value: Any) -> Any:
        kind, origin, arguments, _ = _type_parts(kind)
        if value is None or kind == JSON_OBJECT:
            return value
        if _is_struct(kind):
            return {name: self.write(part, getattr(value, name)) for name, part in _field_types(kind).items()}
        if origin in (Union, UnionType):
            kinds = _alternatives(arguments)
            if len(kinds) == 1:
                return self.write(next(iter(kinds.values())), value)
            return {type(value).__name__: self.write(type(value), value)}
        if kind is Any or origin is np.ndarray:
            return self._write_matrix(value)
        if origin is dict:
            return [self._write_items(arguments, pair) for pair in value.items()]
        if origin in (list, tuple):
            return self._write_items(_items(origin, arguments, value), value)
        if isinstance(value, np.generic):
            value = value.item()
        return None if kind is float and math.isnan(value) else value

    def _write_items(self, kinds: Sequence[Any], values: Any) -> list[Any]:
        return [self.write(kind, value) for kind, value in zip(kinds, values, strict=True)]

    def _write_matrix(self, matrix: Any) -> Any:
        if not sparse.issparse(matrix):
            return self._number(np.asarray(matrix))
        parts = [self._number(getattr(matrix, part)) for part in CSR_PARTS]
        return {"csr": type(matrix).__name__, "shape": list(map(int, matrix.shape)), "parts": parts}

    def _number(self, array: NDArray[Any]) -> int:
        place = (array.ctypes.data, array.shape, array.strides, array.dtype.str)
        if place not in self._numbers or array.size == 0:
            self._numbers[place] = len(self.arrays)
            self.arrays.append(array)
        return self._numbers[place]


@dataclass
class _Reader:
    arrays: Arrays
    _matrices: dict[str, Any] = field(default_factory=dict)
    _lengths: dict[str, tuple[int, str]] = field(default_factory=dict)
    _numbering: list[tuple[str, Any, Layout]] = field(default_factory=list)

    def read(self, kind: Any, content: Any, name: str) -> Any:
        kind, origin, arguments, layout = _type_parts(kind)
        if _is_struct(kind):
            return self._read_fields(kind, content, name)
        if origin in (Union, UnionType):
            return self._read_union(arguments, content, name)
        if kind == JSON_OBJECT:
            return content if isinstance(content, dict) else _refuse_content(name, content, "a JSON object")
        if origin is dict:
            return dict(self._read_items(tuple, arguments, pair, name) for pair in _require_list(name, content))
        if origin in (list, tuple):
            return origin(self._read_items(origin, arguments, content, name))
        if kind is Any and content is None:
            return None
        of_numbers = kind is Any or origin is np.ndarray
        value = self._read_matrix(kind, content, name) if of_numbers else _scalar(kind, content, name)
        if layout is not None:
            self._note(name, value, layout)
        return value

    def check_ranges(self) -> None:
        """Raise for values that should number the entries of an axis, and do not."""
        for name, values, layout in self._numbering:
            length, _ = self._lengths.get(layout.below, (0, ""))
            if values.size and not 0 <= values.min() <= values.max() < length:
                raise ValueError(f"{name} has numbers outside the range 0 to {length - 1}")

    def _read_fields(self, kind: Any, content: Any, name: str) -> Any:
        kinds = _field_types(kind)
        if not isinstance(content, dict) or content.keys() != kinds.keys():
            _refuse_content(name or kind.__name__, content, f"an object with the keys {', '.join(kinds)}")
        prefix = f"{name}." if name else ""
        return kind(**{each: self.read(part, content[each], prefix + each) for each, part in kinds.items()})

    def _read_union(self, arguments: tuple[Any, ...], content: Any, name: str) -> Any:
        kinds = _alternatives(arguments)
        if content is None and NoneType in arguments:
            return None
        if len(kinds) == 1:
            return self.read(next(iter(kinds.values())), content, name)
        if not isinstance(content, dict) or len(content) != 1 or not content.keys() <= kinds.keys():
            _refuse_content(name, content, f"one of {', '.join(kinds)}")
        ((which, inner),) = content.items()
        return self.read(kinds[which], inner, name)

    def _read_items(self, origin: Any, arguments: tuple[Any, ...], content: Any, name: str) -> list[Any]:
        kinds = _items(origin, arguments, _require_list(name, content))
        if len(kinds) != len(content):
            _refuse_content(name, content, f"a list of {len(kinds)}")
        return [self.read(part, each, name) for part, each in zip(kinds, content, strict=True)]

    def _read_matrix(self, kind: Any, content: Any, name: str) -> Any:
        if isinstance(content, dict) and kind is Any and content.keys() == {"csr", "shape", "parts"}:
            key = repr(content)
            if key not in self._matrices:
                parts = [
                    self._array(number, f"{name}.{part}")
                    for number, part in zip(content["parts"], CSR_PARTS, strict=True)
                ]
                self._matrices[key] = _build_csr(content["csr"], parts, content["shape"], name)
            return self._matrices[key]
        array = self._array(content, name)
        arguments = get_args(kind)  # of NDArray: the type of its values, in older NumPy within those of ndarray
        declared = np.generic if kind is Any else get_args(arguments[1])[0] if len(arguments) > 1 else arguments[0]
        kinds = _kinds_of(declared)
        if array.dtype.kind not in kinds:
            raise ValueError(f"{name} has values of type {array.dtype}, which is not the type of this array")
        return array

    def _array(self, number: Any, name: str) -> NDArray[Any]:
        if type(number) is not int or not 0 <= number < len(self.arrays):
            _refuse_content(name, number, "the number of an array")
        found: NDArray[Any] = self.arrays[number]
        return found

    def _note(self, name: str, value: Any, layout: Layout) -> None:
        """Compare the lengths of the axes with those of other arrays."""
        axes = layout.axes.split()
        shape = (value,) if isinstance(value, int) else value.shape
        if len(shape) != len(axes):
            raise ValueError(f"{name} has {len(shape)} axes, but must have {len(axes)}")
        for axis, length in zip(axes, shape, strict=True):
            expected, where = self._lengths.setdefault(axis, (length, name))
            if length != expected:
                raise ValueError(f"{name} has {length} {axis}, but {where} has {expected}")
        if layout.below:
            self._numbering.append((name, value, layout))


def _items(origin: Any, arguments: tuple[Any, ...], values: Any) -> list[Any]:
    """Return the type of each item of a list or tuple."""
    if origin is list or arguments[-1] is Ellipsis:
        return [arguments[0]] * len(values)
    return list(arguments)


def _kinds_of(declared: Any) -> str:
    """Return the kinds of numbers that an array may have: the width of numbers may differ."""
    with suppress(TypeError):
        for kind, letters in ((np.integer, "iu"), (np.floating, "f"), (np.bool_, "b")):
            if issubclass(get_origin(declared) or declared, kind):
                return letters
    return "biuf"


def _scalar(kind: Any, content: Any, name: str) -> Any:
    if kind is float:
        if content is None:
            return math.nan
        if type(content) not in (int, float) or not math.isfinite(content):
            _refuse_content(name, content, "a finite number or null")
        return float(content)
    if type(content) is not kind or (kind is int and abs(content) > MAX_INT):
        _refuse_content(name, content, f"of type {kind.__name__}")
    return content


def _require_list(name: str, content: Any) -> list[Any]:
    return content if isinstance(content, list) else _refuse_content(name, content, "a list")


def _refuse_content(name: str, content: Any, expected: str) -> Any:
    raise ValueError(f"{name} is {reprlib.repr(content)}, but must be {expected}")


def _build_csr(kind: Any, parts: Arrays, shape: Any, name: str) -> Any:
    """Return the CSR matrix of these parts, after a check that all its pointers and indices are within bounds."""
    if (
        kind not in CSR_KINDS
        or any(part.ndim != 1 for part in parts)
        or "f" in parts[1].dtype.kind + parts[2].dtype.kind
    ):
        _refuse_content(name, kind, "a CSR matrix")
    n_rows, n_columns = (_scalar(int, length, name) for length in shape)
    data, indices, indptr = parts
    # SciPy's own check accepts decreasing pointers if the last is 0, and its loops would then read out of bounds
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name}.indptr is not the index pointer of {n_rows} rows with {len(data)} cells")
    if len(indices) != len(data) or indices.min(initial=0) < 0 or indices.max(initial=-1) >= n_columns:
        raise ValueError(f"{name}.indices has not a column number from 0 to {n_columns - 1} for each cell")
    return CSR_KINDS[kind]((data, indices, indptr), shape=(n_rows, n_columns))
