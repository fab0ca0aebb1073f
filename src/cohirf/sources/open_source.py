"""open_source: open a file, a folder or an object in memory as a source of rows.

To add a format of files, write a class, add its endings to ``FILES``, and name it where the tests
in ``tests/sources/test_open_source.py`` ask for it: in the docstring of ``open_source``, in
``docs/scale/files.rst`` and in the help of the program. Derive the class from

- ``Source``, if the format has numbers without column names: copy from ``NpySource``
  (``arrays.py``);
- ``StoredTable``, if it has named columns and can be decoded from several rows on, each time they
  are read: copy from ``ParquetTable`` (``tables.py``);
- ``Table``, if it has named columns and is converted once: copy from ``CsvTable`` (``csv.py``),
  which writes a temporary Arrow file, or ``SheetTable`` (``workbook.py``), which fits into memory.

Its contract is ``tests/sources/test_sources.py``: add it to ``KINDS`` there, and to ``READERS`` if
it reads in a way of its own. A new file has a line in CONTRIBUTING's map, and a place among the
layers of ``cohirf.sources`` in ``pyproject.toml``.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from scipy import sparse

from cohirf.sources.arrays import ArraySource, DaskSource, NpySource, ZarrSource
from cohirf.sources.csv import CsvTable, JoinedCsv
from cohirf.sources.datasets import DataSet, is_pattern, list_files, open_set
from cohirf.sources.files import StoredFile
from cohirf.sources.graph_files import (
    USUAL,
    AnnDataGraph,
    EdgeTable,
    GraphSource,
    NpzGraph,
    choose_edge_columns,
)
from cohirf.sources.lakehouse import find_delta, is_iceberg, open_delta, open_iceberg
from cohirf.sources.remote import Location, Url, locate, show, stamp
from cohirf.sources.remote_zarr import METADATA
from cohirf.sources.source import ColumnChoice, Source, choose_numbers
from cohirf.sources.tables import (
    ArrowTable,
    FrameTable,
    ParquetTable,
    StreamTable,
    Table,
    frame_names,
    is_frame,
    is_stream,
    read_frame,
)
from cohirf.sources.workbook import SheetTable
from cohirf.store.files import one_line, shown
from cohirf.wording import setting

# The class of each ending. A Table is called with the path, and its ``to_source`` with the columns;
# a Source with the path and the columns. Both get those of the options of ``open_source`` by name
# that their ``options`` list, None where the user gave none.
FILES: dict[str, type[Source | Table]] = {
    ".npy": NpySource,
    **dict.fromkeys((".parquet", ".pq"), ParquetTable),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), ArrowTable),
    **dict.fromkeys((".zarr", ".zarr.zip"), ZarrSource),
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), CsvTable),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), SheetTable),
}


@overload
def open_source(
    data: Any,
    *,
    columns: ColumnChoice = ...,
    delimiter: str | None = ...,
    header: bool | None = ...,
    sheet: str | None = ...,
    graph: Literal[False] = ...,
) -> Source: ...


@overload
def open_source(
    data: Any,
    *,
    columns: ColumnChoice = ...,
    delimiter: str | None = ...,
    header: bool | None = ...,
    sheet: str | None = ...,
    graph: Literal[True] | str,
) -> GraphSource: ...


def open_source(
    data: Any,
    *,
    columns: ColumnChoice = None,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
    graph: bool | str = False,
) -> Source | GraphSource:
    r"""Open a file, a folder or an object in memory as a source of rows for a fit.

    ``CoHiRF.fit`` and ``predict`` read a source in blocks, so the data may be larger than memory.
    The data itself is never modified.

    Parameters
    ----------
    data : str, path or object
        A file, whose format is chosen by the ending of its name:

        - ``.npy``: a two-dimensional NumPy array;
        - ``.parquet``, ``.pq``: a Parquet file (needs the extra ``arrow``);
        - ``.arrow``, ``.feather``, ``.ipc``: an Arrow IPC file or stream (extra ``arrow``);
        - ``.csv``, ``.tsv``, ``.csv.gz``, ``.tsv.gz``: text, which is first converted to a
          temporary Arrow file (extra ``arrow``);
        - ``.xlsx``, ``.xls``, ``.ods``: a sheet of a spreadsheet, which is read into memory (extras
          ``arrow`` and ``excel``);
        - ``.zarr.zip``: a Zarr array in a zip file (extra ``zarr``).

        The same at a URL: ``s3://``, ``gs://``, ``az://``, ``http://``, ``https://`` or
        ``file://`` (extra ``cloud``); spreadsheets and Zarr in zip files on a local disk only.
        Credentials are found in the environment, and URLs that contain some are refused.

        Or a folder:

        - ``.zarr``, or any other name: a Zarr array, version 2 or 3 (extra ``zarr``);
        - Parquet, Arrow or CSV files, of which those of the first of these formats are joined in
          the order of their names. Files whose names begin with ``.`` or ``_`` are ignored, and so
          are folders in it, except those of partitions such as ``year=2026``. The values of
          partitions are no columns.

        - a Delta table, of which ``"table@v3"`` is version 3, the newest one by default (extra
          ``delta``). What is added after it was opened is not read.

        Or an Iceberg table: the file ``....metadata.json`` of a version, or a table of pyiceberg
        (extra ``iceberg``).

        Or a pattern of such files, such as ``"rows/year=*/part-*.parquet"``; ``**`` stands for any
        number of folders.

        Or an object: a two-dimensional NumPy array (memory-mapped or not) or anything that converts
        to one, a SciPy sparse matrix, a pandas, polars or Arrow table, a Zarr array, or a Dask
        array. A source is returned unchanged. A lazy frame of polars, a query of DuckDB or a stream
        of Arrow's record batches is first written to a temporary Arrow file (extra ``arrow``): its
        result may be larger than memory.
    columns : list of str or int, or callable, optional
        The columns to read, in this order: names, or numbers if the data has no column names. A
        callable gets each name or number, and returns whether to read that column. None reads all
        columns; index columns that pandas stored in a Parquet or Arrow file are then left out.
    delimiter : str, optional
        For CSV files: the character that separates values. If None, it is the one of comma,
        semicolon, tab and ``|`` that divides the beginning of the file into rows of equally many
        values. The encoding is found, too: UTF-8, UTF-16, UTF-32, Windows-1252 or Latin-1.
    header : bool, optional
        For CSV files and spreadsheets: whether the first line contains column names. If False, the
        columns are named f0, f1 and so on. If None, the first line has names unless it looks like
        data: numbers above numbers, and texts that their columns have again.
    sheet : str, optional
        For spreadsheets: the name of the sheet; the first one if None.
    graph : bool or str, default=False
        Whether the data is a graph, for ``CoHiRF(metric="precomputed")`` or ``metric="affinity"``:

        - ``.npz``: a sparse matrix, as :func:`scipy.sparse.save_npz` writes it, or arrays
          ``indices`` and ``distances``, as vector indexes return them;
        - ``.h5ad``, ``.zarr``: AnnData, of which ``obsp["distances"]`` is read, or the matrix in
          ``obsp`` that is named: ``graph="connectivities"`` (extra ``anndata``);
        - ``.parquet``, ``.arrow``, ``.csv``, or a data frame: an edge in each row, with the columns
          ``source``, ``target`` and ``distance``, those that ``columns`` names, or the first three.
          Nodes are whole numbers from 0 on, or text, and then they are numbered in the order of
          their names. In a CSV file they are numbers if all are written as whole numbers are.

        Edges are read in blocks when the graph is fitted, and take the memory of a CSR matrix.

    Returns
    -------
    source : Source or GraphSource
        An object to pass to ``CoHiRF.fit``, ``predict`` and ``transform``.

    Raises
    ------
    FileNotFoundError
        If the path does not exist.
    ValueError
        If the format is unknown, the file is damaged, or a column that is read is not numeric.
    TypeError
        If an object cannot be opened, or a CSV option is given for other data.
    ImportError
        If the extra for a format is not installed.

    See Also
    --------
    cohirf.app.preparation.prepare : Open a table with text, missing cells or features to scale.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from cohirf import CoHiRF, open_source
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "data.npy", np.random.default_rng(0).normal(size=(100, 3)))
    >>> source = open_source(folder / "data.npy", columns=[0, 2])
    >>> source
    NpySource(...data.npy: 100 rows x 2 features, float64)
    >>> CoHiRF(random_state=0).fit(source).labels_.shape
    (100,)

    A CSV file, without one of its columns:

    >>> _ = (folder / "plants.csv").write_text("name;height;width\np1;1.5;2\np2;8;3\n")
    >>> source = open_source(folder / "plants.csv", columns=lambda name: name != "name")
    >>> source.feature_names
    ['height', 'width']
    >>> source.take([0, 1])
    array([[1.5, 2. ],
           [8. , 3. ]])
    """
    if graph:
        options = {"delimiter": delimiter, "header": header, "sheet": sheet}
        return _open_graph(data, columns, USUAL if graph is True else str(graph), **options)
    if isinstance(data, str | os.PathLike):
        path = locate(data)
        kind, found = _find(path)
        options = _choose_options(kind, delimiter=delimiter, header=header, sheet=sheet)
        opened: Source
        if issubclass(kind, Table):
            opened = _open_kind(kind, found, options).to_source(columns)
        else:
            opened = kind(found, columns, **options)
        return opened
    _choose_options(None, delimiter=delimiter, header=header, sheet=sheet)
    return _open_object(data, columns)


def _open_graph(data: Any, columns: ColumnChoice, key: str, **options: Any) -> GraphSource:
    """Return a file or a data frame as a graph; ``key`` names a matrix of AnnData."""
    if isinstance(data, GraphSource):
        return data
    if not isinstance(data, str | os.PathLike):
        table = open_table(data, **options)
        if table is None:
            raise TypeError(
                f"A {type(data).__name__} cannot be opened as a graph: give a path or a table of "
                "edges, or pass it to CoHiRF(metric='precomputed').fit."
            )
        return EdgeTable(table, columns)
    path = locate(data)
    if _is_matrix(path):
        _choose_options(None, **options)
        if columns is not None:
            raise TypeError(f"columns are only for tables of edges, not for {show(path)}.")
        is_npz = path.name.lower().endswith(".npz")
        return NpzGraph(path) if is_npz else AnnDataGraph(path, key)
    table = open_table(path, **options)
    if table is None:
        raise ValueError(
            f"{show(path)} is not a graph: give a .npz file of SciPy, AnnData, or a table of edges."
        )
    if isinstance(table, CsvTable | JoinedCsv):
        names = choose_edge_columns(table, columns)
        types = dict(zip(names, ("string", "string", "double"), strict=True))
        return EdgeTable(table.convert(types, missing=("",)), names, text_file=table.name)
    return EdgeTable(table, columns)


def _is_matrix(path: Location) -> bool:
    """Return whether a graph is in a file of a matrix, or in a folder of AnnData."""
    is_matrix = path.name.lower().endswith((".npz", ".h5ad"))
    if isinstance(path, Url):
        return is_matrix or _kind_of(path.name) is ZarrSource
    if is_matrix and not path.exists():
        raise FileNotFoundError(f"{shown(path.absolute())} is not a file: check the path.")
    return is_matrix or (path / "obs").is_dir()


def open_table(
    data: Any,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
) -> Table | None:
    """Return a file, a folder or a data frame as a table, or None for data without column names."""
    if is_iceberg(data):
        return ParquetTable(open_iceberg(data))
    if is_stream(data):
        return StreamTable(data)
    if not isinstance(data, Location):
        is_named = is_frame(data) and any(isinstance(name, str) for name in frame_names(data))
        return FrameTable(data) if is_named else None
    kind, found = _find(data)
    options = _choose_options(kind, delimiter=delimiter, header=header, sheet=sheet)
    return _open_kind(kind, found, options) if issubclass(kind, Table) else None


def _choose_options(kind: Any, **given: Any) -> dict[str, Any]:
    """Return the options that a format takes, and refuse others; an object, None, takes none."""
    taken = () if kind is None else kind.options
    for option, value in given.items():
        if value is not None and option not in taken:
            formats = dict.fromkeys(
                one.format_name for one in FILES.values() if option in one.options
            )
            raise TypeError(
                f"{setting(option)} is only for {' and '.join(formats)} files: leave it out."
            )
    return {option: given[option] for option in taken}


def find_format(path: Location) -> Any:
    """Return the class that opens a file (by the ending of its name) or a folder (by its
    content).
    """
    return _find(locate(path))[0]


def _find(path: Location) -> tuple[Any, Any]:
    """Return the class that opens data, and the file or the data set to open."""
    name = show(path)
    kind = _kind_of(path.name)
    if _is_zarr(path):
        return ZarrSource, path
    is_folder = path.key.endswith("/") if isinstance(path, Url) else path.is_dir()
    found = _find_table(path) if is_folder or kind is None else None
    if found is not None:
        return ParquetTable, found
    if is_folder or is_pattern(path):
        return _find_set_or_zarr(path)
    if isinstance(path, Url) and kind is not None:
        if not kind.is_remote:
            raise ValueError(f"{name}: {kind.format_name} is read from a local disk only: copy it.")
        return kind, _stamp_or_list(path)
    if isinstance(path, Path) and not path.is_file():
        raise FileNotFoundError(f"{name} is not a file: check the path.")
    if kind is None and path.name.lower().endswith((".npz", ".h5ad")):
        raise ValueError(f"{name} is opened as a graph only: give graph=True, or --graph.")
    if isinstance(path, Url) and not path.root.startswith("http"):
        with suppress(NoFilesError):
            return _find_set_or_zarr(path)
    if kind is None:
        raise ValueError(
            f"{name} has an unknown format: give a file whose name ends in {', '.join(FILES)}."
        )
    return kind, path


def _is_zarr(path: Location) -> bool:
    """Return whether a folder is one of Zarr: by its files, or at a URL by its ending."""
    if isinstance(path, Path):
        return any((path / file).is_file() for file in METADATA)
    is_zarr = _kind_of(path.name) is ZarrSource
    if is_zarr and path.name.lower().endswith(".zip"):
        raise ValueError(f"{path}: Zarr in a zip file is read from a local disk only: copy it.")
    return is_zarr


def _find_table(path: Location) -> DataSet | None:
    """Return the files of a table of Iceberg or Delta; None for other data."""
    if path.name.lower().endswith(".metadata.json"):
        return open_iceberg(path)
    delta = find_delta(path)
    return None if delta is None else open_delta(*delta)


class NoFilesError(ValueError):
    """A folder has no files that are opened as rows."""


def _kind_of(name: str) -> Any:
    """Return the class for the ending of a name; None if it is unknown."""
    endings = [ending for ending in FILES if name.lower().endswith(ending)]
    return FILES[max(endings, key=len)] if endings else None


def _find_set(path: Location) -> tuple[Any, DataSet]:
    """Return the class that opens the files of a folder or a pattern, and these files.

    Where there are several formats, it is the first one of ``FILES``.
    """
    found: dict[Any, list[Any]] = {}
    for file in list_files(path):
        kind = _kind_of(file.name)
        if kind is not None and issubclass(kind, Table) and kind.has_sets:
            found.setdefault(kind, []).append(file)
    for kind in FILES.values():
        if kind in found:
            return kind, open_set(path, found[kind])
    if is_pattern(path):
        raise FileNotFoundError(f"{show(path)} fits no file of Parquet, Arrow or CSV: check it.")
    others = "" if isinstance(path, Url) else ", or a Zarr array"
    raise NoFilesError(
        f"{show(path)} is a folder without data: give a folder of Parquet, Arrow or CSV files"
        f"{others}."
    )


def _find_set_or_zarr(path: Location) -> tuple[Any, Any]:
    """Return a data set; at a URL, a folder without files of one may be an array of Zarr."""
    try:
        return _find_set(path)
    except NoFilesError:
        if isinstance(path, Url) and _has_zarr(path):
            return ZarrSource, path
        raise


def _has_zarr(path: Url) -> bool:
    """Return whether there is an array or a group of Zarr at a key with another ending."""
    for file in METADATA:
        with suppress(FileNotFoundError):
            stamp(path.with_key(f"{path.key.rstrip('/')}/{file}"))
            return True
    return False


def _stamp_or_list(path: Url) -> StoredFile | DataSet:
    """Return an object, or the files below a key with the ending of a file, as Spark writes it."""
    try:
        return stamp(path)
    except FileNotFoundError:
        if path.root.startswith("http"):
            raise
        with suppress(NoFilesError):
            return _find_table(path) or _find_set(path)[1]
        raise


def _open_kind(kind: Any, found: Any, options: dict[str, Any]) -> Table:
    """Open a table that is in one file, or in several."""
    open_found = kind.join if isinstance(found, DataSet) else kind
    table: Table = open_found(found, **options)
    return table


def _open_object(data: Any, columns: ColumnChoice) -> Source:
    module = type(data).__module__
    if isinstance(data, Source):
        if columns is not None:
            raise TypeError(
                f"{data!r} is already a source: choose columns in open_source(path, columns=...)."
            )
        return data
    if is_iceberg(data):
        return ParquetTable(open_iceberg(data)).to_source(columns)
    if is_stream(data):
        return StreamTable(data).to_source(columns)
    if module.startswith("zarr."):
        return ZarrSource(data, columns)
    if module.startswith("dask.array."):
        return DaskSource(data, columns)
    if module.startswith("dask.") or hasattr(data, "collect"):
        if hasattr(data, "collect"):
            remedy = "collect()"
        else:
            remedy = "to_dask_array(lengths=True)"
        package = module.partition(".")[0]
        raise TypeError(
            f"A {package} {type(data).__name__} is lazy: give the result of its {remedy}."
        )
    if is_frame(data):
        return ArraySource(*read_frame(data, columns))
    X = data.tocsr() if sparse.issparse(data) else _to_array(data)
    source = ArraySource(X)
    chosen = choose_numbers(source.name, source.n_features, columns)
    return source if chosen is None else ArraySource(X[:, chosen])


def _to_array(data: Any) -> Any:
    if np.ma.is_masked(data):
        raise ValueError(
            "The array has masked cells: fill them with data.filled(value) or leave their rows out."
        )
    try:
        X = np.asarray(data)
    except ValueError as error:
        raise ValueError(f"The data cannot be converted to an array: {one_line(error)}.") from error
    if X.ndim == 0:
        raise TypeError(
            f"A {type(data).__name__} cannot be opened: give a path, an array or a table."
        )
    return X
