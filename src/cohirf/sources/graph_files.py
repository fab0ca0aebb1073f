"""Sources of graphs: sparse matrices in ``.npz`` files, tables of edges, and AnnData.

Edges are read in blocks into one CSR matrix, so that reading needs little memory beside it.
"""

from __future__ import annotations

import os
import re
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray
from scipy import sparse

from cohirf.optional import import_optional
from cohirf.rows.grouping import row_blocks, take_places
from cohirf.rows.texts import Texts
from cohirf.sources.files import naming, reading
from cohirf.sources.policy import READ
from cohirf.sources.remote import Location, RemoteFile, Url, show, stamp
from cohirf.sources.remote_zarr import RemoteFolder
from cohirf.sources.source import rows_within
from cohirf.sources.tables import ARROW_NUMBERS, Table

EDGE_COLUMNS = ("source", "target", "distance")
WRITTEN_NUMBER = r"^(0|[1-9][0-9]{0,17})$"  # others are names, such as 007
NODES_PER_EDGE = 16  # numbers above 16 for each edge are names that look like numbers
CATEGORIES = re.compile(r"dictionary<values=(\w+), .*>")  # Arrow's name of the type
USUAL = "distances"  # where scanpy keeps them in obsp


class GraphSource(ABC):
    """Base class of sources of graphs: all edges, read at once.

    :func:`cohirf.open_source` returns one with ``graph=True``. Pass it to ``fit`` or ``predict`` of
    ``CoHiRF(metric="precomputed")`` or ``metric="affinity"``.

    Attributes
    ----------
    name : str
        Its name in error messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def read(self) -> Any:
        """Return the graph: a CSR array, a square array, or a pair (indices, distances)."""

    def read_new(self, n_nodes: int, names: Sequence[str] | None) -> Any:
        """Return the edges of new nodes to those of a fit, as ``predict`` takes them.

        The fit had ``n_nodes`` nodes, which may have names.
        """
        return self.read()

    def read_names(self) -> Texts | None:
        """Return the name of each node; None if nodes have numbers only."""
        return None

    def read_new_names(self, n_nodes: int, names: Sequence[str] | None) -> Sequence[str] | None:
        """Return the name of each new node that ``predict`` labels, in its order.

        None if rows of a matrix have no names.
        """
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class NpzGraph(GraphSource):
    """A ``.npz`` file: a sparse matrix of SciPy, or arrays ``indices`` and ``distances``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = stamp(path if isinstance(path, Url) else Path(path))
        super().__init__(self._file.name)

    def read(self) -> Any:
        """Return the matrix, or the pair."""
        with (
            reading(self._file, "a graph in .npz"),
            self._file.open() as file,
            zipfile.ZipFile(file) as archive,
        ):
            members = {Path(name).stem for name in archive.namelist()}
            if "format" not in members:
                if not {"indices", "distances"} <= members:
                    raise ValueError(
                        "it has neither a sparse matrix, as scipy.sparse.save_npz writes it, nor "
                        "the arrays indices and distances"
                    )
                return tuple(_read_member(archive, name) for name in ("indices", "distances"))
            kind = str(_read_small(archive, "format").astype(str))
            shape = tuple(int(size) for size in _read_small(archive, "shape"))
            if kind != "csr":
                matrix = sparse.load_npz(file)
                if kind in ("csc", "bsr"):
                    matrix.check_format(full_check=True)  # conversion would not look at indices
                return sparse.csr_array(matrix)
            return _make_csr(shape, lambda name, below: _read_member(archive, name, below=below))


class EdgeTable(GraphSource):
    """A table with a row for each edge: source, target, and distance or similarity.

    Nodes are numbers from 0 on, or texts, which are numbered in their order. In a file that is
    text, such as CSV, nodes are numbers if all of them are written as numbers are.
    """

    def __init__(self, table: Table, columns: Any = None, *, text_file: str | None = None) -> None:
        super().__init__(text_file or table.name)
        self._table = table
        self._is_written = text_file is not None  # nodes that are numbers are text
        self._columns = choose_edge_columns(table, columns)
        source, target, value = self._columns
        if table.types[value] not in ARROW_NUMBERS:
            raise ValueError(
                f"{self.name}: column {value!r} is {table.types[value]}: give distances or "
                "similarities, which are numbers, or choose columns=[source, target, distance]."
            )
        kinds = {_kind_of_nodes(table.types[name]) for name in (source, target)}
        if len(kinds) > 1 or "" in kinds:
            raise ValueError(
                f"{self.name}: the nodes in {source!r} are {table.types[source]} and those in "
                f"{target!r} {table.types[target]}: give both as whole numbers from 0 on, or both "
                "as text."
            )
        self._is_text = kinds == {"text"}

    def read(self) -> Any:
        """Return the edges as a CSR array: one pass counts those of each node, another fills it."""
        names = self.read_names()
        find = self._as_numbers if names is None else _find_names(names)
        counts = np.zeros(len(names) if names is not None else 0, dtype=np.int64)
        n_edges = n_nodes = 0
        for source, target, values in self._blocks(find):
            n_edges += len(values)
            n_nodes = max(n_nodes, int(max(source.max(initial=-1), target.max(initial=-1))) + 1)
            self._refuse_numbers(source, target, n_edges, n_nodes)
            in_block = np.bincount(source, minlength=len(counts))
            in_block[: len(counts)] += counts
            counts = in_block
        counts = np.append(counts, np.zeros(max(0, n_nodes - len(counts)), dtype=np.int64))
        kind = np.int32 if max(n_edges, n_nodes) < 2**31 else np.int64
        stored = self._table.types[self._columns[2]]
        data = np.empty(n_edges, dtype=np.float32 if stored == "float" else np.float64)
        indices = np.empty(n_edges, dtype=kind)
        indptr = np.append(0, np.cumsum(counts))
        next_places = indptr[:-1].copy()
        for source, target, values in self._blocks(find):
            places = take_places(source, next_places)
            indices[places] = target
            data[places] = values
        return _sorted_csr((data, indices, indptr.astype(kind)), (len(counts), len(counts)))

    def read_new(self, n_nodes: int, names: Sequence[str] | None) -> Any:
        """Return the edges between new nodes, which the fit did not have, and those that it had.

        They may stand in either direction. Other edges do not count.
        """
        new = self._find_new(n_nodes, names)
        find = self._as_numbers if names is None else _find_names([*names, *new])
        rows = []
        columns = []
        data = []
        for source, target, values in self._blocks(find):
            for one, two in ((source, target), (target, source)):
                is_new = np.flatnonzero((one >= n_nodes) & (two < n_nodes))
                rows.append(one[is_new] - n_nodes)
                columns.append(two[is_new])
                data.append(values[is_new])
        edges = (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.coo_array(edges, shape=(len(new), n_nodes))

    def read_new_names(self, n_nodes: int, names: Sequence[str] | None) -> Sequence[str]:
        """Return the names of the nodes that the fit did not have, or their numbers."""
        return [str(node) for node in self._find_new(n_nodes, names)]

    def read_names(self) -> Texts | None:
        """Return the names of the nodes, sorted; None if they are numbers."""
        return self._names

    @cached_property
    def _names(self) -> Texts | None:
        if not self._is_text or self._has_written_numbers():
            return None
        return Texts.of(self._list_names(lambda column: column))

    def _has_written_numbers(self, n_known: int = 0) -> bool:
        """Return whether the nodes of a file that is text are numbers, the first of them known."""
        if not self._is_written:
            return False
        compute = import_optional("pyarrow.compute", "arrow", "A table of edges")
        n_edges = n_nodes = 0
        for batch in self._table.read(self._columns[:2]):
            for column in batch.columns:
                are_numbers = compute.match_substring_regex(column, WRITTEN_NUMBER)
                if not compute.all(are_numbers, min_count=0).as_py():
                    return False
                n_nodes = max(n_nodes, int(self._as_numbers(column).max(initial=-1)) + 1)
            n_edges += len(batch)
        return _are_near(n_nodes - n_known, n_edges)

    def _find_new(self, n_nodes: int, names: Sequence[str] | None) -> Sequence[Any]:
        """Return the nodes that a fit did not have, in their order."""
        if names is None:
            is_alike = not self._is_text or self._has_written_numbers(n_nodes)
        else:
            is_alike = self._is_text
        if not is_alike:
            kinds = ("names", "numbers") if names is None else ("numbers", "names")
            raise ValueError(
                f"{self.name} has {kinds[0]} of nodes, and the graph of the fit had {kinds[1]}: "
                f"give the edges of new nodes with {kinds[1]}, or as .npz: a matrix with a row for "
                "each new node and a column for each node of the fit."
            )
        new: Sequence[Any]
        if names is None:
            new = range(n_nodes, self._count_numbers(n_nodes))
            which = f"numbers from {n_nodes} on"
        else:
            new = self._list_names(_leave_out(names))
            which = "names that the fit did not have"
        if not new:
            raise ValueError(
                f"{self.name} has no new node: new nodes have {which}. Give the edges of others as "
                ".npz: a matrix with a row for each and a column for each node of the fit."
            )
        return new

    def _count_numbers(self, n_known: int) -> int:
        n_edges = n_nodes = 0
        for source, target, values in self._blocks(self._as_numbers):
            n_edges += len(values)
            n_nodes = max(n_nodes, int(max(source.max(initial=-1), target.max(initial=-1))) + 1)
            self._refuse_numbers(source, target, n_edges, n_nodes, n_known)
        return n_nodes

    def _list_names(self, choose: Callable[[Any], Any]) -> list[str]:
        """Return the names that are chosen from each column of names, sorted."""
        found: set[str] = set()
        for batch in self._table.read(self._columns[:2]):
            for column in batch.columns:
                found.update(choose(_decode(column).unique()).to_pylist())
        if None in found:
            raise ValueError(f"{self.name} has an edge without a node: leave missing nodes out.")
        return sorted(found)

    def _blocks(self, find: Callable[[Any], NDArray[Any]]) -> Iterator[tuple[Any, Any, Any]]:
        for batch in self._table.read(self._columns):
            source, target, values = batch.columns
            for name, column in zip(self._columns, batch.columns, strict=True):
                if column.null_count:
                    raise ValueError(
                        f"{self.name}: column {name!r} has missing cells: leave these edges out."
                    )
            nodes = find(_decode(source)), find(_decode(target))
            yield *nodes, values.to_numpy(zero_copy_only=False)

    def _as_numbers(self, column: Any) -> NDArray[np.int64]:
        if self._is_text:
            return np.asarray(column.cast("int64").to_numpy(zero_copy_only=False))
        numbers = np.asarray(column.to_numpy(zero_copy_only=False))
        if numbers.dtype == np.uint64 and numbers.max(initial=0) >= 2**63:
            raise ValueError(
                f"{self.name} has a node {numbers.max():,}: nodes are numbered from 0 on. Give "
                "other numbers as text."
            )
        return numbers.astype(np.int64, copy=False)

    def _refuse_numbers(
        self, source: Any, target: Any, n_edges: int, n_nodes: int, n_known: int = 0
    ) -> None:
        lowest = min(source.min(initial=0), target.min(initial=0))
        if lowest < 0:
            raise ValueError(f"{self.name} has a node {lowest}: give whole numbers from 0 on.")
        if not _are_near(n_nodes - n_known, n_edges):
            raise ValueError(
                f"{self.name} has a node {n_nodes - 1:,}, and only {n_edges:,} edges up to there: "
                "nodes are numbered from 0 on. Give other numbers as text."
            )


class AnnDataGraph(GraphSource):
    """A matrix in ``obsp`` of an AnnData file: ``.h5ad``, or a Zarr folder."""

    def __init__(self, path: str | os.PathLike[str], key: str = USUAL) -> None:
        self._place = path if isinstance(path, Url) else Path(path).absolute()
        self._key = key
        # as it is now: the matrix and the names are read one after the other
        self._opened = _look_at(self._place)
        super().__init__(f"{show(self._place)} obsp[{key!r}]")

    def read(self) -> Any:
        """Return the matrix."""
        with self._open() as root, naming(show(self._place), "AnnData"):
            group = root["obsp"][self._key]
            if not hasattr(group, "keys"):
                return np.asarray(group[...])
            kind = group.attrs["encoding-type"]
            shape = tuple(int(size) for size in group.attrs["shape"])
            found = _make_csr(shape, lambda name, below: _read_stored(group[name], below=below))
            return found if kind == "csr_matrix" else sparse.csr_array(found.T.tocsr())

    def read_names(self) -> Texts:
        """Return the names of the observations."""
        io = import_optional("anndata", "anndata", "Reading AnnData").io
        with self._open() as root, naming(show(self._place), "AnnData"):
            return Texts.of(str(name) for name in io.read_elem(root["obs"]).index)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        """Open the file; raise if it has no such matrix."""
        with ExitStack() as opened:
            with naming(show(self._place), "AnnData"):
                root = opened.enter_context(_open_anndata(self._opened))
                is_group = hasattr(root, "keys")
                there = sorted(root["obsp"].keys()) if is_group and "obsp" in root else []
            if not is_group:
                raise ValueError(f"{show(self._place)} is an array, and no graph: leave graph out.")
            if self._key not in there:
                listed = ", ".join(map(repr, there)) or "nothing"
                raise ValueError(
                    f"{self.name} is not there: obsp has {listed}. Run scanpy.pp.neighbors before, "
                    'or name another matrix with graph="...".'
                )
            yield root


def _look_at(place: Location) -> Path | RemoteFolder | RemoteFile:
    """Return a file or a folder; one at a URL as it is now."""
    if isinstance(place, Path):
        return place
    if place.name.lower().endswith(".h5ad"):
        return RemoteFile.of(place)
    return RemoteFolder(place)


@contextmanager
def _open_anndata(place: Path | RemoteFolder | RemoteFile) -> Iterator[Any]:
    """Open a file of HDF5, or a folder of Zarr, here or at a URL."""
    user = "Reading AnnData"
    if isinstance(place, RemoteFolder):
        yield place.open()
    elif isinstance(place, RemoteFile):
        h5py = import_optional("h5py", "anndata", user)
        with place.open() as stream:
            try:
                with h5py.File(stream, mode="r") as root:
                    yield root
            except Exception:
                place.raise_failure()  # h5py does not say what the store said
                raise
    elif place.is_dir():
        yield import_optional("zarr", "anndata", user).open_group(place, mode="r")
    else:
        with import_optional("h5py", "anndata", user).File(place, mode="r") as root:
            yield root


# ---- parts of matrices, in blocks


def _make_csr(shape: tuple[int, ...], read: Callable[[str, int | None], NDArray[Any]]) -> Any:
    """Return a CSR array whose parts are read by name: as they are, or, with a number that they
    must be below, as int32.
    """
    indptr = read("indptr", None)
    n_edges = int(indptr[-1])
    is_narrow = max(n_edges, *shape) < 2**31
    parts = (read("data", None), read("indices", shape[1] if is_narrow else None), indptr)
    if is_narrow:
        parts = (*parts[:2], _narrow(indptr, n_edges + 1))
    return _sorted_csr(parts, shape)


def _narrow(numbers: NDArray[Any], below: int) -> NDArray[np.int32]:
    """Return numbers from 0 to ``below`` as int32, which would take others for smaller ones."""
    if numbers.dtype.kind not in "iu":
        raise ValueError(f"indices have type {numbers.dtype}, and not whole numbers")
    lowest, highest = int(numbers.min(initial=0)), int(numbers.max(initial=0))
    if lowest < 0 or (highest >= below and len(numbers)):
        wrong = lowest if lowest < 0 else highest
        raise ValueError(f"an index is {wrong}, which is not from 0 to {below - 1}")
    return numbers.astype(np.int32)


def _sorted_csr(parts: tuple[Any, ...], shape: tuple[int, ...]) -> Any:
    matrix = sparse.csr_array(parts, shape=shape)
    matrix.check_format(full_check=True)  # a damaged file may have indices beyond the last node
    matrix.sort_indices()
    return matrix


def _read_stored(stored: Any, *, below: int | None) -> NDArray[Any]:
    """Return a vector that is stored in HDF5 or Zarr."""
    kind = stored.dtype if below is None else np.int32
    values: NDArray[Any] = np.empty(stored.shape, dtype=kind)
    for block in row_blocks(len(values), rows_within(READ.piece_bytes, stored.dtype.itemsize)):
        values[block] = stored[block] if below is None else _narrow(stored[block], below)
    return values


def _read_member(archive: zipfile.ZipFile, name: str, *, below: int | None = None) -> NDArray[Any]:
    """Return an array in a .npz file."""
    with archive.open(f"{name}.npy") as file:
        shape, is_fortran, stored = _read_header(file)
        if stored.hasobject:
            raise ValueError(f"{name} has type {stored}")
        values = np.empty(int(np.prod(shape)), dtype=stored if below is None else np.int32)
        for block in row_blocks(len(values), rows_within(READ.piece_bytes, stored.itemsize)):
            n_bytes = (block.stop - block.start) * stored.itemsize
            read = np.frombuffer(file.read(n_bytes), dtype=stored)
            values[block] = read if below is None else _narrow(read, below)
        return values.reshape(shape[::-1]).T if is_fortran else values.reshape(shape)


def _read_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    if npy_format.read_magic(file) == (1, 0):
        return npy_format.read_array_header_1_0(file)
    return npy_format.read_array_header_2_0(file)


def _read_small(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as file:
        return np.asarray(npy_format.read_array(file, allow_pickle=False))


# ---- columns of edges


def choose_edge_columns(table: Table, columns: Any) -> list[str]:
    """Return the columns of source, target, and distance or similarity."""
    if columns is None:
        usual = all(name in table.types for name in EDGE_COLUMNS)
        names = list(EDGE_COLUMNS) if usual else list(table.types)[:3]
    else:
        names = list(columns)
    if len(names) != 3 or any(name not in table.types for name in names):
        raise ValueError(
            f"{table.name} has the columns {', '.join(map(str, table.types))}: a graph needs "
            "source, target and distance. Name them: columns=[source, target, distance]."
        )
    return names


def _are_near(n_nodes: int, n_edges: int) -> bool:
    """Return whether numbers of nodes are not much larger than how many edges there are."""
    return n_nodes <= NODES_PER_EDGE * (n_edges + READ.piece_rows)


def _kind_of_nodes(stored: str) -> str:
    """Return what nodes of a type of Arrow are: "number", "text", or nothing."""
    categories = CATEGORIES.fullmatch(stored)
    stored = categories[1] if categories else stored
    if stored in ARROW_NUMBERS and np.dtype(ARROW_NUMBERS[stored]).kind in "iu":
        return "number"
    return "text" if "string" in stored else ""


def _decode(column: Any) -> Any:
    """Return a column of categories as one of their names; another as it is."""
    return column.dictionary_decode() if hasattr(column, "dictionary_decode") else column


def _find_names(names: Sequence[str]) -> Callable[[Any], NDArray[np.int64]]:
    """Return a function that returns the places of texts among names."""
    compute = import_optional("pyarrow.compute", "arrow", "A table of edges")
    known = _known_names(names)

    def find(column: Any) -> NDArray[np.int64]:
        found = compute.index_in(column.cast("large_string"), value_set=known)
        return np.asarray(found.to_numpy(zero_copy_only=False)).astype(np.int64)

    return find


def _leave_out(names: Sequence[str]) -> Callable[[Any], Any]:
    """Return a function that leaves known names out of a column."""
    compute = import_optional("pyarrow.compute", "arrow", "A table of edges")
    known = _known_names(names)
    n_distinct = len(known.unique())
    if n_distinct < len(names):
        raise ValueError(
            f"The {len(names):,} nodes of the fit have only {n_distinct:,} different names: give "
            "the edges of new nodes as .npz: a matrix with a row for each of them and a column for "
            "each node of the fit."
        )

    def leave_out(column: Any) -> Any:
        return column.filter(compute.is_null(compute.index_in(column.cast("large_string"), known)))

    return leave_out


def _known_names(names: Sequence[str]) -> Any:
    arrow = import_optional("pyarrow", "arrow", "A table of edges")
    return arrow.array(list(names), arrow.large_string())
