"""Output files of commands: checked before the work begins, written atomically."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from cohirf.cli.console import Console
from cohirf.cli.errors import BadInputError
from cohirf.optional import import_optional
from cohirf.preparation.data import Data
from cohirf.rows.grouping import row_blocks
from cohirf.sources.tables import write_tables
from cohirf.store.files import refuse_irregular, replacing, shown
from cohirf.store.models import refuse_target

CLUSTER = "cluster"
LABEL_FILES = (".parquet", ".csv", ".npy")
LABEL_BLOCK = 2**17
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def check_file(path: Path | None, flag: str, suffixes: Sequence[str], *, force: bool, data: Path | None = None) -> None:
    """Refuse a file that cannot be written or that exists, unless ``force``; the data is never replaced."""
    if path is None:
        return
    name = shown(path.absolute())
    refuse_data(path, flag, data)
    if suffixes and path.suffix.lower() not in suffixes:
        endings = " or ".join(suffixes)
        raise BadInputError(f"{flag} {name}: the kind of file is not known: give a name that ends in {endings}.")
    if path.is_dir():
        raise BadInputError(f"{flag} {name} is a folder: give the name of a file.")
    _check_place(lambda: refuse_irregular(path), "a regular file", path, flag, force=force)


def refuse_data(path: Path, flag: str, data: Path | None) -> None:
    """Refuse a path that is the data, or inside its folder."""
    name = shown(path.absolute())
    if data is not None and path.resolve() == data.resolve():
        raise BadInputError(f"{flag} {name} is the data itself: give another name.")
    if data is not None and data.resolve() in path.resolve().parents:
        raise BadInputError(f"{flag} {name} is inside the folder of the data: give another path.")


def check_model(path: Path | None, flag: str, *, force: bool, data: Path | None = None) -> None:
    """Refuse a model that cannot be written or that exists, unless ``force``; only saved models are replaced."""
    if path is None:
        return
    refuse_data(path, flag, data)
    target = Path(os.path.realpath(path))
    _check_place(lambda: refuse_target(target, overwrite=True), "a saved model", path, flag, force=force)


def _check_place(refuse: Callable[[], None], what: str, path: Path, flag: str, *, force: bool) -> None:
    """Refuse a path that exists and is something else, or is not to be replaced; or whose folder cannot be used."""
    name, parent = shown(path.absolute()), path.absolute().parent
    try:
        refuse()
    except FileExistsError:
        raise BadInputError(f"{flag} {name} exists and is not {what}: give another name.") from None
    if path.exists() and not force:
        raise BadInputError(f"{flag} {name} exists: give another name, or --force to replace it.")
    if not parent.is_dir():
        raise BadInputError(f"{flag} {name}: there is no folder {shown(parent)}: create it first.")
    if not os.access(parent, os.W_OK):
        raise BadInputError(f"{flag} {name}: the folder cannot be written to: give another path.")


def check_report(path: Path | None, flag: str, *, force: bool, data: Path | None = None) -> None:
    """Refuse a report that cannot be written."""
    check_file(path, flag, (".html", ".htm"), force=force, data=data)
    if path is not None:
        import_optional("jinja2", "report", flag)


def check_ids(path: Path | None, column: Any) -> None:
    """Refuse an id column if the format cannot store it, or if it has the name of the cluster column."""
    if path is None or column is None:
        return
    if path.suffix.lower() == ".npy":
        raise BadInputError(
            f"--out {shown(path.absolute())}: an array cannot store --id-column {column!r}: "
            f"give a name that ends in .parquet or .csv."
        )
    if column == CLUSTER:
        raise BadInputError(f"--id-column {column!r} has the name of the cluster column: rename it in the data.")


def save_labels(
    path: Path, labels: NDArray[Any], ids: Any, id_name: Any, console: Console, *, coarser: Sequence[int] = ()
) -> None:
    """Write the cluster of each row, and its name if there are ``ids``; ``coarser`` are numbers of further columns."""
    parts, id_name, n_formulas = _label_parts(labels, ids), str(id_name), 0
    columns = [CLUSTER, *(f"{CLUSTER}_{number}" for number in coarser)]
    with replacing(path) as file:
        if path.suffix.lower() == ".csv":
            n_formulas = _write_csv(file, parts, id_name, columns)
        elif path.suffix.lower() == ".npy":
            header = {"descr": "<i8", "fortran_order": False, "shape": labels.shape}
            npy_format.write_array_header_1_0(file, header)
            file.writelines(some.astype("<i8").tobytes() for _, some in parts)
        else:
            write_tables(file, ".parquet", _label_tables(parts, id_name, columns))
    if n_formulas:
        cells = "1 cell begins" if n_formulas == 1 else f"{n_formulas:,} cells begin"
        console.warn(
            f"{path}: {cells} with =, +, -, @, a tab or a line break, which a spreadsheet would run as a formula: "
            f"import the column as text, or write a .parquet file."
        )


def check_kept(path: Path | None, data: Data) -> None:
    """Refuse to keep the columns of data that has none, or in a file that cannot store them."""
    if path is None or path.suffix.lower() == ".npy":
        raise BadInputError("--keep writes the columns of the data, too: give --out with a .parquet or .csv file.")
    if data.table is None:
        raise BadInputError(f"--keep: {data.name} is an array without column names: leave --keep out.")
    if CLUSTER in map(str, data.columns):
        raise BadInputError(f"--keep: {data.name} has a column {CLUSTER!r} already: rename it in the data.")


def save_table(path: Path, labels: NDArray[Any], data: Data, *, coarser: Sequence[int] = ()) -> None:
    """Write all columns of the data, as they are, and the cluster of each row."""
    columns = [CLUSTER, *(f"{CLUSTER}_{number}" for number in coarser)]
    with replacing(path) as file:
        write_tables(file, path.suffix.lower(), _extend_table(data, labels, columns))


def _extend_table(data: Data, labels: NDArray[Any], columns: Sequence[str]) -> Iterator[Any]:
    arrow, start = import_optional("pyarrow", "arrow", "--keep"), 0
    assert data.table is not None  # check_kept
    for batch in data.table.read([str(name) for name in data.columns]):
        table = arrow.Table.from_batches([batch])
        some = np.asarray(labels[start : start + len(table)]).reshape(len(table), -1).astype(np.int64)
        start += len(table)
        for name, clusters in zip(columns, some.T, strict=True):
            table = table.append_column(name, arrow.array(clusters))
        yield table


def say_written(written: dict[str, str], nothing: str = "") -> str:
    """Return the line that lists the written files; without files, ``nothing`` says which options write some."""
    if not written:
        return f"Nothing was written: {nothing}"
    return "Written: " + ", ".join(f"{path} ({name})" for name, path in written.items())


LabelParts = Iterator[tuple[Any, NDArray[Any]]]


def _label_parts(labels: NDArray[Any], ids: Iterable[Any] | None) -> LabelParts:
    """Yield the names (an Arrow array or None) and the labels of some rows at a time."""
    if ids is None:
        yield from ((None, np.asarray(labels[block])) for block in row_blocks(len(labels), LABEL_BLOCK))
        return
    start = 0
    for names in ids:
        yield names, np.asarray(labels[start : start + len(names)])
        start += len(names)
    if start != len(labels):
        raise BadInputError(f"There are {start:,} names of rows for {len(labels):,} rows: give the data of the fit.")


def _write_csv(file: IO[bytes], parts: LabelParts, id_name: str, columns: Sequence[str]) -> int:
    """Write a CSV file, and return the number of cells that are formulas."""
    n_formulas = 0
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    for number, (names, labels) in enumerate(parts):
        cells = [] if names is None else [names.to_pylist()]
        header, cells = [id_name] * len(cells) + [*columns], cells + labels.reshape(len(labels), -1).T.tolist()
        cells = [[name, *some] for name, some in zip(header, cells, strict=True)] if number == 0 else cells
        n_formulas += 0 if names is None else sum(map(is_formula, cells[0]))
        writer.writerows(zip(*cells, strict=True))
    text.detach()  # leaves the file open
    return n_formulas


def _label_tables(parts: LabelParts, id_name: str, columns: Sequence[str]) -> Iterator[Any]:
    arrow = import_optional("pyarrow", "arrow", "Writing a Parquet file")
    for names, labels in parts:
        clusters = labels.reshape(len(labels), -1).astype(np.int64).T
        table = dict(zip(columns, clusters, strict=True))
        yield arrow.table(table if names is None else {id_name: names, **table})


def is_formula(cell: Any) -> bool:
    """Return whether a cell is text that a spreadsheet would run as a formula; numbers such as -5 are not.

    Examples
    --------
    >>> from cohirf.cli.outputs import is_formula
    >>> [is_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-5", -5, "plant-1", None)]
    [True, True, False, False, False, False]
    """
    return isinstance(cell, str) and cell.startswith(FORMULA_STARTS) and NUMBER.fullmatch(cell) is None
