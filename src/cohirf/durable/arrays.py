"""Numeric arrays on disk: what each may be is declared, and nothing is allocated or believed beyond that.

An array is a ``.npy`` file. Its type, shape and SHA-256 stand in a manifest, so the reader knows each byte of the
header in advance: it compares headers and parses none. Values are checked piece by piece while they are read, so a
file that cannot be right is refused before the rest of it takes up memory.
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
    """The types an array may have, and a name for each of its axes: axes of one name are equally long."""

    dtypes: tuple[str, ...]
    axes: tuple[str, ...]


@dataclass(frozen=True)
class ArrayEntry:
    """What a manifest says about an array file."""

    n_bytes: int
    dtype: str
    shape: tuple[int, ...]
    sha256: str

    def to_json(self) -> dict[str, Any]:
        """Return the entry as it stands in the manifest."""
        return {"bytes": self.n_bytes, "dtype": self.dtype, "shape": list(self.shape), "sha256": self.sha256}


def parse_entry(name: str, content: Any, layout: ArrayLayout) -> ArrayEntry:
    """Return the entry of an array, after a check that it has the layout, and the size that its shape asks for."""
    content = require_keys(content, {"bytes", "dtype", "shape", "sha256"}, name)
    dtype, shape = parse_type(name, content["dtype"], content["shape"], layout)
    sha256 = require_text(content["sha256"], f"the sha256 of {name}")
    entry = ArrayEntry(require_count(content["bytes"], "bytes"), dtype, shape, sha256)
    expected = len(npy_header(entry)) + math.prod(shape) * np.dtype(dtype).itemsize
    if entry.n_bytes != expected:
        raise ValueError(f"{name} of shape {shape} takes {expected} bytes, not {entry.n_bytes}")
    return entry


def parse_type(name: str, dtype: Any, shape: Any, layout: ArrayLayout) -> tuple[str, tuple[int, ...]]:
    """Return the type and the shape of an array, after a check that it has the layout."""
    if not isinstance(dtype, str) or dtype not in layout.dtypes:
        raise ValueError(f"{name} has the type {reprlib.repr(dtype)}, and only {', '.join(layout.dtypes)} may be")
    if not isinstance(shape, list) or len(shape) != len(layout.axes):
        raise ValueError(f"{name} has the shape {reprlib.repr(shape)}, and {len(layout.axes)} axes are expected")
    return dtype, tuple(require_count(length, "a length") for length in shape)


def match_axes(
    shapes: Mapping[str, tuple[int, ...]], layouts: Mapping[str, ArrayLayout], known: Mapping[str, tuple[int, str]]
) -> dict[str, int]:
    """Return the length of each axis; refuse axes of one name that differ.

    Parameters
    ----------
    shapes : dict
        Shape of each array, by its name.
    layouts : dict
        Layout of each array, by its name.
    known : dict
        Lengths that are known from elsewhere, by the name of the axis, each with the name of who says so.
    """
    lengths = dict(known)
    for name, shape in shapes.items():
        for axis, length in zip(layouts[name].axes, shape, strict=True):
            expected, where = lengths.setdefault(axis, (length, name))
            if length != expected:
                raise ValueError(f"{name} has {length} {axis}, and {where} says {expected}")
    return {axis: length for axis, (length, _) in lengths.items()}


# ---- files


def npy_header(entry: ArrayEntry) -> bytes:
    """Return the header of a ``.npy`` file, version 1.0: fixed here, so that it never changes with NumPy's version."""
    text = f"{{'descr': '{entry.dtype}', 'fortran_order': False, 'shape': {entry.shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"  # magic, version, length and line end make 11 bytes
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("ascii")


def write_array(path: Path, array: NDArray[Any]) -> ArrayEntry:
    """Write an array to a new file, force it to disk, and return its entry for the manifest."""
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

    ``check`` gets one piece after the other, in order, and raises ValueError for values that cannot be; so does this
    function if the SHA-256 differs. Memory is used as far as the file was read.
    """
    with open_regular(path) as file:
        header = file.read(len(npy_header(entry)))
        if header != npy_header(entry):
            raise ValueError(f"it does not begin as an array of type {entry.dtype} and shape {entry.shape} does")
        digest = hashlib.sha256(header)
        array = np.empty(entry.shape, dtype=entry.dtype)
        unchecked = array.reshape(-1)[:0]  # the last piece is checked behind the SHA-256, which tells more
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


def accept(values: NDArray[Any]) -> None:
    """Check nothing: for arrays whose values say nothing by themselves."""


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
            raise ValueError(f"it has {what} outside of {low} to {high}")

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


def is_share_or_nan(values: NDArray[Any]) -> None:
    """Refuse what is not above 0 and at most 1, up to rounding, or NaN."""
    if ((values <= 0) | (values > 1 + 1e-6)).any():
        raise ValueError("it has values that are not above 0 and at most 1")


# ---- CSR matrices


def csr_parts(matrix: Any) -> Arrays:
    """Return the arrays that a CSR matrix is made of."""
    return {part: getattr(matrix, part) for part in CSR_PARTS}


def build_csr(kind: str, parts: Arrays, shape: tuple[int, int], name: str) -> Any:
    """Return the CSR matrix of these parts, after a check that no loop over it can leave its memory."""
    n_rows, n_columns = shape
    data, indices, indptr = (parts[part] for part in CSR_PARTS)
    # scipy's own check lets decreasing pointers through where the last is 0, and its loops would run out of bounds
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name}_indptr is not the index pointer of {n_rows} rows with {len(data)} cells")
    if len(indices) != len(data):
        raise ValueError(f"{name}_indices has {len(indices)} column numbers for {len(data)} cells")
    if indices.min(initial=0) < 0 or indices.max(initial=-1) >= n_columns:
        raise ValueError(f"{name}_indices has column numbers outside of 0 to {n_columns - 1}")
    return CSR_KINDS[kind]((data, indices, indptr), shape=shape)
