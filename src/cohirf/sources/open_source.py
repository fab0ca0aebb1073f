"""open_source: from a path or an object in memory to rows that can be read by number."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.sources.array import ArraySource
from cohirf.sources.arrow_ipc import ArrowSource
from cohirf.sources.columns import Columns, choose_numbers
from cohirf.sources.csv import open_csv
from cohirf.sources.dask import DaskSource
from cohirf.sources.files import one_line, shown
from cohirf.sources.npy import NpySource
from cohirf.sources.parquet import ParquetSource, parquet_files
from cohirf.sources.source import Source
from cohirf.sources.tables import is_table, read_table
from cohirf.sources.zarr import METADATA, ZarrSource

FILES: dict[str, Callable[..., Source]] = {
    ".npy": NpySource,
    ".parquet": ParquetSource,
    ".pq": ParquetSource,
    ".arrow": ArrowSource,
    ".feather": ArrowSource,
    ".ipc": ArrowSource,
    ".zarr": ZarrSource,
    ".zarr.zip": ZarrSource,
    ".csv": open_csv,
    ".csv.gz": open_csv,
    ".tsv": open_csv,
    ".tsv.gz": open_csv,
}


def open_source(
    data: Any,
    *,
    columns: Columns = None,
    converted: str | os.PathLike[str] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Source:
    """Open data for a fit that reads rows by number, without loading all of it.

    Parameters
    ----------
    data : path or object
        A file: ``.npy``, ``.parquet``, ``.arrow``, ``.feather``, ``.zarr``, ``.csv``, ``.tsv``, the last two also with
        ``.gz``. A folder: a Zarr array, or Parquet files, which are joined in the order of their names. Or an
        object: an array, memory-mapped or not, a sparse matrix, a Zarr or Dask array, a pandas, polars or Arrow
        table. None of them is ever written to.
    columns : list of str or int, or callable, optional
        The columns to read, in this order: names, or numbers where there are no names. Or a function that takes a name
        or number and tells whether to read that column. All of them if None.
    converted : path, optional
        Where to keep the Arrow file that a CSV file is converted to. It is used again if the CSV file has not changed
        since. Without it, the Arrow file is temporary and is removed when the process ends.
    delimiter : str, optional
        What separates the values of a CSV file; a comma, or a tab for ``.tsv``, if None.
    header : bool, optional
        Whether the first line of a CSV file holds names. If None, it does, and a line of numbers is refused. Without
        names, the columns are called f0, f1 and so on.

    Returns
    -------
    source : Source
        What ``CoHiRF.fit`` takes.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> from cohirf import CoHiRF, open_source
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.npy"
    >>> np.save(path, np.random.default_rng(0).normal(size=(100, 3)))
    >>> source = open_source(path, columns=[0, 2])
    >>> source
    NpySource(...data.npy: 100 rows x 2 features, float64)
    >>> CoHiRF(random_state=0).fit(source).labels_.shape
    (100,)
    """
    given = {"converted": converted, "delimiter": delimiter, "header": header}
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(data, str | os.PathLike):
        data = Path(data).expanduser()
        opener = find_opener(data)
    else:
        opener = _opener_of_object(data)
    if options and opener is not open_csv:
        raise TypeError(f"{next(iter(options))}= is for CSV files: leave it out.")
    return opener(data, columns, **options)


def find_opener(path: Path) -> Callable[..., Source]:
    """Return what opens a file or folder, by its name and by what is in it."""
    name = shown(path.absolute())
    if path.is_dir():
        if any((path / file).is_file() for file in METADATA):
            return ZarrSource
        if parquet_files(path):
            return ParquetSource
        raise ValueError(f"{name} is a folder without data: give one of Parquet files, or a Zarr array.")
    if not path.is_file():
        raise FileNotFoundError(f"{name} is not a file: check the path.")
    endings = [ending for ending in FILES if path.name.lower().endswith(ending)]
    if not endings:
        raise ValueError(f"{name} cannot be opened by its name: give a file that ends in {', '.join(FILES)}.")
    return FILES[max(endings, key=len)]


def _opener_of_object(data: Any) -> Callable[..., Source]:
    module = type(data).__module__
    if isinstance(data, Source):
        return _keep
    if module.startswith("zarr."):
        return ZarrSource
    if module.startswith("dask.array."):
        return DaskSource
    if module.startswith("dask.") or hasattr(data, "collect"):
        remedy = "collect()" if hasattr(data, "collect") else "to_dask_array(lengths=True)"
        package = module.partition(".")[0]
        raise TypeError(f"A {type(data).__name__} of {package} holds no rows yet: give what its {remedy} returns.")
    return _open_table if is_table(data) else _open_array


def _keep(source: Source, columns: Any) -> Source:
    if columns is not None:
        raise TypeError(f"{source!r} is open already: choose columns when you open the data itself.")
    return source


def _open_table(table: Any, columns: Any) -> Source:
    return ArraySource(*read_table(table, columns))


def _open_array(data: Any, columns: Any) -> Source:
    X = data.tocsr() if sparse.issparse(data) else _to_array(data)
    source = ArraySource(X)
    chosen = choose_numbers(source.name, source.n_features, columns)
    return source if chosen is None else ArraySource(X[:, chosen])


def _to_array(data: Any) -> Any:
    if np.ma.is_masked(data):
        raise ValueError("The array has masked cells: fill them with data.filled(value) or leave their rows out.")
    try:
        X = np.asarray(data)
    except ValueError as error:
        raise ValueError(f"The data makes no array: {one_line(error)}.") from error
    if X.ndim == 0:
        raise TypeError(f"A {type(data).__name__} cannot be opened: give a path, an array or a table.")
    return X
