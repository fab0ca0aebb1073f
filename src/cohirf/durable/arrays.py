"""Numeric arrays on disk: each has a declared layout, and the reader refuses everything else.

An array is a ``.npy`` file. A manifest holds its type, shape and SHA-256, so the reader knows every byte of the header
in advance: it compares the header with the expected one and does not parse it. Values are checked piece by piece while
they are read, so an invalid file is refused before the rest of it takes up memory.
"""

from __future__ import annotations

import hashlib
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.durable.files import sync_file
from cohirf.durable.json_text import require_count, require_keys, require_text
from cohirf.durable.reading import open_regular

CHUNK_BYTES = 2**22
INTEGERS, FLOATS = ("<i4", "<i8"), ("<f4", "<f8")
CSR_PARTS = ("data", "indices", "indptr")
CSR_KINDS = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}

Arrays = dict[str, NDArray[Any]]
Check = Callable[[NDArray[Any]], None]


@dataclass(frozen=True)
class ArrayLayout:
    """The allowed types of an array, and a name for each of its axes: axes with the same name have equal lengths."""

    dtypes: tuple[str, ...]
    axes: tuple[str, ...]


@dataclass(frozen=True)
class ArrayEntry:
    """The entry of an array file in a manifest."""

    n_bytes: int
    dtype: str
    shape: tuple[int, ...]
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """Return the entry as a JSON object for the manifest."""
        return {"bytes": self.n_bytes, "dtype": self.dtype, "shape": list(self.shape), "sha256": self.sha256}


def parse_entry(name: str, content: Any, layout: ArrayLayout) -> ArrayEntry:
    """Return the entry of an array, after a check that it matches the layout and that its size matches its shape."""
    content = require_keys(content, {"bytes", "dtype", "shape", "sha256"}, name)
    dtype, shape = parse_type(name, content["dtype"], content["shape"], layout)
    sha256 = require_text(content["sha256"], f"the sha256 of {name}")
    entry = ArrayEntry(require_count(content["bytes"], "bytes"), dtype, shape, sha256)
    expected = len(npy_header(entry)) + math.prod(shape) * np.dtype(dtype).itemsize
    if entry.n_bytes != expected:
        raise ValueError(f"{name} of shape {shape} takes {expected} bytes, not {entry.n_bytes}")
    return entry


def parse_type(name: str, dtype: Any, shape: Any, layout: ArrayLayout) -> tuple[str, tuple[int, ...]]:
    """Return the type and the shape of an array, after a check that they match the layout."""
    if not isinstance(dtype, str) or dtype not in layout.dtypes:
        raise ValueError(f"{name} has type {reprlib.repr(dtype)}, but only {', '.join(layout.dtypes)} are allowed")
    if not isinstance(shape, list) or len(shape) != len(layout.axes):
        raise ValueError(f"{name} has shape {reprlib.repr(shape)}, but {len(layout.axes)} axes are expected")
    return dtype, tuple(require_count(length, "a length") for length in shape)


def match_axes(
    shapes: Mapping[str, tuple[int, ...]], layouts: Mapping[str, ArrayLayout], known: Mapping[str, tuple[int, str]]
) -> dict[str, int]:
    """Return the length of each axis; refuse axes with the same name and different lengths.

    Parameters
    ----------
    shapes : dict
        Shape of each array, by its name.
    layouts : dict
        Layout of each array, by its name.
    known : dict
        Lengths that are known already, by the name of the axis; each with the name of its origin, for errors.
    """
    lengths = dict(known)
    for name, shape in shapes.items():
        for axis, length in zip(layouts[name].axes, shape, strict=True):
            expected, where = lengths.setdefault(axis, (length, name))
            if length != expected:
                raise ValueError(f"{name} has {length} {axis}, but {where} says {expected}")
    return {axis: length for axis, (length, _) in lengths.items()}


# ---- files


def npy_header(entry: ArrayEntry) -> bytes:
    """Return the header of a ``.npy`` file, version 1.0. It is composed here so that it does not depend on NumPy."""
    text = f"{{'descr': '{entry.dtype}', 'fortran_order': False, 'shape': {entry.shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"  # magic, version, length and line end make 11 bytes
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("ascii")


def write_array(path: Path, array: NDArray[Any]) -> ArrayEntry:
    """Write an array to a new file, flush it to disk, and return its entry for the manifest."""
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    header = npy_header(ArrayEntry(0, array.dtype.str, array.shape, ""))
    digest = hashlib.sha256(header)
    with path.open("xb") as file:
        file.write(header)
        for piece in _pieces(array):
            digest.update(as_bytes(piece))
            file.write(as_bytes(piece))
        sync_file(file)
    return ArrayEntry(len(header) + array.nbytes, array.dtype.str, array.shape, digest.hexdigest())


def read_array(path: Path, entry: ArrayEntry, check: Check) -> NDArray[Any]:
    """Read an array whose entry has been compared with the size of the file.

    ``check`` is called for one piece after the other, and raises ValueError for invalid values. This function raises
    ValueError if the SHA-256 differs. Only the part of the array that was read takes up memory.
    """
    with open_regular(path) as file:
        header = file.read(len(npy_header(entry)))
        if header != npy_header(entry):
            raise ValueError(f"its header is not that of an array of type {entry.dtype} and shape {entry.shape}")
        digest = hashlib.sha256(header)
        array = np.empty(entry.shape, dtype=entry.dtype)
        unchecked = array.reshape(-1)[:0]  # the last piece is checked after the SHA-256, whose error is clearer
        for piece in _pieces(array):
            check(unchecked)
            content = as_bytes(piece)
            if file.readinto(content) != len(content):  # type: ignore[attr-defined]  # binary files have it
                raise ValueError("it is cut short")
            digest.update(content)
            unchecked = piece
    if digest.hexdigest() != entry.sha256:
        raise ValueError("its SHA-256 differs from the one in the manifest")
    check(unchecked)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check_array(array: NDArray[Any], check: Check) -> None:
    """Call ``check`` for one piece of an array after the other, as ``read_array`` does."""
    for piece in _pieces(array):
        check(piece)


def accept(values: NDArray[Any]) -> None:
    """Accept all values: for arrays whose values cannot be checked on their own."""


def as_bytes(array: NDArray[Any]) -> memoryview:
    """View the memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8).data


def _pieces(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    flat = array.reshape(-1)
    step = max(1, CHUNK_BYTES // array.itemsize)
    for start in range(0, len(flat), step):
        yield flat[start : start + step]


# ---- checks of values


def in_range(low: int, high: int, what: str) -> Check:
    """Return a check that integers are from ``low`` to ``high``."""

    def check(values: NDArray[Any]) -> None:
        if len(values) and (values.min() < low or values.max() > high):
            raise ValueError(f"it has {what} outside the range {low} to {high}")

    return check


def sorted_in_range(low: int, high: int, what: str) -> Check:
    """Return a check that integers are from ``low`` to ``high``, sorted and distinct."""
    last = low - 1

    def check(values: NDArray[Any]) -> None:
        nonlocal last
        if len(values) == 0:
            return
        if values[0] <= last or values[-1] > high or (values[1:] <= values[:-1]).any():
            raise ValueError(f"it is not a sorted list of distinct {what} from {low} to {high}")
        last = values[-1]

    return check


def is_finite(values: NDArray[Any]) -> None:
    """Refuse NaN and infinity."""
    if not np.isfinite(values).all():
        raise ValueError("it has NaN or infinity among its values")


def is_finite_or_nan(values: NDArray[Any]) -> None:
    """Refuse infinity."""
    if np.isinf(values).any():
        raise ValueError("it has infinity among its values")


def is_positive(values: NDArray[Any]) -> None:
    """Refuse NaN, infinity, and values that are not above 0."""
    if not np.isfinite(values).all() or (values <= 0).any():
        raise ValueError("it has values that are not positive numbers")


def is_not_negative(values: NDArray[Any]) -> None:
    """Refuse NaN, infinity, and values below 0."""
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("it has values that are not numbers from 0 on")


def is_share_or_nan(values: NDArray[Any]) -> None:
    """Refuse values that are not NaN, and not above 0 and at most 1 (up to rounding)."""
    if ((values <= 0) | (values > 1 + 1e-6)).any():
        raise ValueError("it has values that are not above 0 and at most 1")


# ---- CSR matrices


def csr_parts(matrix: Any) -> Arrays:
    """Return the three arrays of a CSR matrix: data, indices and indptr."""
    return {part: getattr(matrix, part) for part in CSR_PARTS}


def build_csr(kind: str, parts: Arrays, shape: tuple[int, int], name: str) -> Any:
    """Return the CSR matrix of these parts, after a check that all its pointers and indices are within bounds."""
    n_rows, n_columns = shape
    data, indices, indptr = (parts[part] for part in CSR_PARTS)
    # SciPy's own check accepts decreasing pointers if the last is 0, and its loops would then read out of bounds
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name}_indptr is not the index pointer of {n_rows} rows with {len(data)} cells")
    if len(indices) != len(data):
        raise ValueError(f"{name}_indices has {len(indices)} column numbers for {len(data)} cells")
    if indices.min(initial=0) < 0 or indices.max(initial=-1) >= n_columns:
        raise ValueError(f"{name}_indices has column numbers outside the range 0 to {n_columns - 1}")
    return CSR_KINDS[kind]((data, indices, indptr), shape=shape)
