"""Labels as a data set: a Parquet file for each file of the data, of the same name."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from itertools import chain, takewhile
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from cohirf.optional import import_optional
from cohirf.rows.grouping import row_blocks
from cohirf.sources import Source, Table, TableSource, write_tables
from cohirf.sources.remote import Location, Url, list_objects, locate, show
from cohirf.store import objects
from cohirf.store.files import replacing


def write_labels(
    labels: Any,
    data: Source | Table,
    folder: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    column: str = "cluster",
) -> list[str]:
    """Write labels beside data of many files: a Parquet file for each, with a row for each row.

    The files have the names of those of the data, and stand in the same folders below ``folder``,
    so that a file and that of its labels can be read together. Each is written as a whole.

    Parameters
    ----------
    labels : array of int, shape (n_rows,)
        The label of each row, such as ``labels_`` of a model. It may be a memory map.
    data : Source or Table
        What :func:`cohirf.open_source` returns for Parquet, Arrow or CSV files.
    folder : str or path
        A folder, which is made if it is not there, or a URL of an object store, such as
        ``s3://bucket/labels``. It must not be that of the data.
    overwrite : bool, default=False
        Whether files that are there may be replaced. Otherwise a folder with files is refused.
    column : str, default="cluster"
        The name of the column.

    Returns
    -------
    files : list of str
        The files that were written, in the order of the rows.

    Raises
    ------
    FileExistsError
        If there is a file already, or another writer has been faster. With ``overwrite=True``, if
        there are files of Parquet that would not be replaced, such as labels of other files.
    TypeError
        If the data is not in files with named columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    >>> from cohirf import CoHiRF, open_source, write_labels
    >>> place = Path(tempfile.mkdtemp())
    >>> (place / "rows").mkdir()
    >>> for month in ("may", "june"):
    ...     pq.write_table(pa.table({"x": np.arange(6.0) % 3}), place / "rows" / f"{month}.parquet")
    >>> source = open_source(place / "rows")
    >>> model = CoHiRF(n_clusters=3, random_state=0).fit(source)
    >>> files = write_labels(model.labels_, source, place / "labels")
    >>> [Path(file).name for file in files]
    ['june.parquet', 'may.parquet']
    >>> pq.read_table(files[0])["cluster"].to_pylist()
    [0, 1, 2, 0, 1, 2]
    """
    table = data.origin if isinstance(data, TableSource) else data
    sizes = table.count_by_file() if isinstance(table, Table) else None
    if sizes is None:
        raise TypeError(
            f"{data!r} is not in files of Parquet, Arrow or CSV: write its labels to one file."
        )
    if sum(sizes.values()) != len(labels):
        raise ValueError(
            f"There are {len(labels):,} labels, and {sum(sizes.values()):,} rows in "
            f"{len(sizes):,} files: give the data of the fit."
        )
    target = locate(folder)
    files = refuse_label_folder(list(sizes), target, overwrite=overwrite)
    start = 0
    for file, n_rows in zip(files, sizes.values(), strict=True):
        _write(labels[start : start + n_rows], file, column, overwrite=overwrite)
        start += n_rows
    return [show(file) for file in files]


def refuse_label_folder(
    data: Sequence[os.PathLike[str]], target: Location, *, overwrite: bool
) -> list[Location]:
    """Return the places of the label files of data files, below a folder.

    Raise if they would be among the data, or if there are files that are not to be replaced.
    """
    parts = [_parts(place) for place in data]
    folders = [names[:-1] for names in parts]
    is_common = (len(set(names)) == 1 for names in zip(*folders, strict=False))
    n_common = sum(takewhile(bool, is_common))
    if _parts(target) in (folders[0][:n_common], *folders):
        raise ValueError(f"{show(target)} is the folder of the data: give another one for labels.")
    names = [(*one[n_common:-1], _stem(one[-1]) + ".parquet") for one in parts]
    if len(set(names)) < len(names):
        raise ValueError("Some files of the data differ in their endings only: rename them.")
    files = [_below(target, "/".join(name)) for name in names]
    if not {_parts(file) for file in files}.isdisjoint(parts):
        raise ValueError(f"Labels in {show(target)} would replace data: give another folder.")
    if isinstance(target, Url):
        objects.refuse_web(target)
        there = [str(file.url) for file in list_objects(target)]
    elif target.exists() and not target.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(target))
    else:
        there = [str(file) for file in target.rglob("*") if file.is_file()]
    if there and not overwrite:
        raise FileExistsError(
            errno.EEXIST, "There are files already: pass overwrite=True or another folder", there[0]
        )
    # a reader of the folder would take them for labels of this data
    ours = {_parts(file) for file in files}
    ours.update(parts)  # the data may stand below the folder
    left = [one for one in there if one.endswith(".parquet") and _parts(locate(one)) not in ours]
    if left:
        raise FileExistsError(
            errno.EEXIST,
            "The folder has Parquet files that belong to no file of the data "
            f"({len(left):,}): remove them, or give another folder",
            left[0],
        )
    return files


def _parts(place: os.PathLike[str]) -> tuple[str, ...]:
    """Return the names of the folders above a file or folder, and its own."""
    if isinstance(place, Url):
        return place.root, *PurePosixPath(place.key).parts
    return Path(place).resolve().parts


def _stem(name: str) -> str:
    """Return the name of a file without its endings."""
    for ending in (".gz", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv", ".tsv"):
        name = name[: -len(ending)] if name.lower().endswith(ending) else name
    return name


def _below(target: Location, name: str) -> Location:
    if isinstance(target, Url):
        return target.with_key(f"{target.key.rstrip('/')}/{name}".lstrip("/"))
    return target / name


def _write(labels: Any, place: Location, column: str, *, overwrite: bool) -> None:
    """Write some labels to a file, block by block."""
    arrow = import_optional("pyarrow", "arrow", "Writing labels")
    blocks = row_blocks(len(labels))
    empty = arrow.table({column: np.empty(0, np.int64)})
    tables = (arrow.table({column: np.asarray(labels[block]).astype(np.int64)}) for block in blocks)
    if isinstance(place, Url):
        former = objects.find(place) if overwrite else None
        with objects.writing(place, former) as file:
            write_tables(file, ".parquet", chain([empty], tables))
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    with replacing(place, is_new=not overwrite) as file:
        write_tables(file, ".parquet", chain([empty], tables))
