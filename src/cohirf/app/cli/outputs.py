"""Output files of commands: checked before the work begins, written atomically."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from cohirf.app.cli.console import Console
from cohirf.app.cli.errors import BadInputError
from cohirf.app.cli.policy import DEFAULT
from cohirf.app.preparation.data import Data
from cohirf.app.preparation.kinds import Name, is_text
from cohirf.app.preparation.readings import as_text
from cohirf.optional import import_optional
from cohirf.rows import row_blocks
from cohirf.sources import locate, write_tables
from cohirf.store import (
    check_writable,
    is_model,
    locked,
    refuse_irregular,
    refuse_label_folder,
    refuse_target,
    refuse_url,
    replacing,
    shown,
)

CLUSTER = "cluster"
NODE = "node"  # the column of names of nodes
LABEL_FILES = (".parquet", ".csv", ".npy")


def check_file(
    path: Path | None, flag: str, suffixes: Sequence[str], *, force: bool, data: Path | None = None
) -> None:
    """Refuse a file that cannot be written or that exists, unless ``force``.

    The data is never replaced.
    """
    if path is None:
        return
    name = shown(path.absolute())
    refuse_data(path, flag, data)
    if suffixes and path.suffix.lower() not in suffixes:
        endings = " or ".join(suffixes)
        raise BadInputError(
            f"{flag} {name}: the kind of file is not known: give a name that ends in {endings}."
        )
    if path.is_dir():
        raise BadInputError(f"{flag} {name} is a folder: give the name of a file.")
    _check_place(lambda: refuse_irregular(path), "a regular file", path, flag, force=force)


@contextmanager
def holding(model: Path, console: Console) -> Iterator[None]:
    """Hold the lock of a saved model that is replaced.

    Say so if another command holds it, and wait.
    """
    if not is_model(model):  # it is made by the command, or refused
        yield
        return
    waiting = f"waiting until another command has changed {shown(model.absolute())}"
    with locked(model, lambda: console.note(waiting)):
        yield


def refuse_same(written: dict[str, Path | None], read: dict[str, Path | None]) -> None:
    """Refuse a path that is given for two outputs, or for an output and an input.

    Both by the names of arguments.
    """
    outputs = [(flag, path) for flag, path in written.items() if path is not None]
    inputs = [(name, path) for name, path in read.items() if path is not None]
    for number, (flag, path) in enumerate(outputs):
        for other, taken in (*outputs[:number], *inputs):
            if _is_same(path, taken):
                raise BadInputError(
                    f"{flag} {shown(path.absolute())} is also {other}: give another path."
                )


def _is_same(one: Path, two: Path) -> bool:
    """Return whether two paths lead to the same file, also if it does not exist yet."""
    return one.resolve() == two.resolve() or (one.exists() and two.exists() and one.samefile(two))


def refuse_data(path: Path, flag: str, data: Path | None) -> None:
    """Refuse a path that is the data, or inside its folder, and a URL."""
    refuse_url(path, f"{flag} is written")
    name = shown(path.absolute())
    if data is not None and path.resolve() == data.resolve():
        raise BadInputError(f"{flag} {name} is the data itself: give another name.")
    if data is not None and data.resolve() in path.resolve().parents:
        raise BadInputError(f"{flag} {name} is inside the folder of the data: give another path.")


def check_model(path: Path | None, flag: str, *, force: bool, data: Path | None = None) -> None:
    """Refuse a model that cannot be written or that exists, unless ``force``.

    Only saved models are replaced.
    """
    if path is None:
        return
    refuse_data(path, flag, data)
    target = Path(os.path.realpath(path))
    _check_place(
        lambda: refuse_target(target, overwrite=True), "a saved model", path, flag, force=force
    )


def _check_place(
    refuse: Callable[[], None], what: str, path: Path, flag: str, *, force: bool
) -> None:
    """Refuse a path that exists and is something else, or is not to be replaced.

    Or whose folder cannot be used.
    """
    name = shown(path.absolute())
    parent = path.absolute().parent
    try:
        refuse()
    except FileExistsError:
        raise BadInputError(f"{flag} {name} exists and is not {what}: give another name.") from None
    if path.exists() and not force:
        raise BadInputError(f"{flag} {name} exists: give another name, or --force to replace it.")
    if not parent.is_dir():
        raise BadInputError(f"{flag} {name}: there is no folder {shown(parent)}: create it first.")
    try:
        check_writable(parent)
    except OSError as error:
        reason = f"the folder cannot be written to ({error.strerror})"
        raise BadInputError(f"{flag} {name}: {reason}: give another path.") from None


def check_report(path: Path | None, flag: str, *, force: bool, data: Path | None = None) -> None:
    """Refuse a report that cannot be written."""
    check_file(path, flag, (".html", ".htm"), force=force, data=data)
    if path is not None:
        import_optional("jinja2", "report", flag)


def check_ids(path: Path | None, column: Any) -> None:
    """Refuse an id column if the format cannot store it, or if it has the name of the cluster
    column.
    """
    if path is None or column is None:
        return
    if path.suffix.lower() == ".npy":
        raise BadInputError(
            f"--out {shown(path.absolute())}: an array cannot store --id-column {column!r}: give a "
            "name that ends in .parquet or .csv."
        )
    if column == CLUSTER:
        raise BadInputError(
            f"--id-column {column!r} has the name of the cluster column: rename it in the data."
        )


def save_labels(
    path: Path,
    labels: NDArray[Any],
    console: Console,
    data: Data | None = None,
    kept: Sequence[Name] = (),
    coarser: Sequence[int] = (),
    names: Sequence[str] | None = None,
) -> None:
    """Write the cluster of each row, behind some columns of the data or the ``names`` of nodes.

    ``coarser`` are numbers of further columns.
    """
    ending = path.suffix.lower()
    n_formulas = Counter[str]()
    with replacing(path) as file:
        if ending == ".npy":
            header = {"descr": "<i8", "fortran_order": False, "shape": labels.shape}
            npy_format.write_array_header_1_0(file, header)
            blocks = row_blocks(len(labels), DEFAULT.block_rows)
            file.writelines(np.asarray(labels[block]).astype("<i8").tobytes() for block in blocks)
        else:
            columns = [CLUSTER, *(f"{CLUSTER}_{number}" for number in coarser)]
            beside = _read_kept(data, kept) if names is None else _table_names(names)
            write_tables(file, ending, _label_tables(labels, columns, beside, n_formulas))
    if ending == ".csv" and (total := n_formulas.total()):
        cells = "1 cell begins" if total == 1 else f"{total:,} cells begin"
        console.warn(
            f"{path}: {cells} with =, +, -, @, a tab or a line break, which a spreadsheet would "
            "run as a formula: import the column as text, or write a .parquet file."
        )


def _read_kept(data: Data | None, kept: Sequence[Name]) -> Iterator[Any]:
    """Yield some columns of the data as Arrow tables; nothing without columns."""
    arrow = import_optional("pyarrow", "arrow", "Writing a table")
    if data is not None and len(kept) == 1:  # names of rows, which may be those of an array
        yield from (arrow.table({str(kept[0]): part}) for part in data.read(kept[0]))
    elif data is not None and data.table is not None and kept:
        yield from (
            arrow.Table.from_batches([batch])
            for batch in data.table.read([str(name) for name in kept])
        )


def _table_names(names: Sequence[str]) -> Iterator[Any]:
    """Yield the names of nodes as Arrow tables."""
    arrow = import_optional("pyarrow", "arrow", "Writing a table")
    for block in row_blocks(len(names), DEFAULT.block_rows):
        yield arrow.table({NODE: list(names[block])})


def _label_tables(
    labels: NDArray[Any], names: Sequence[str], beside: Iterator[Any], n_formulas: Counter[str]
) -> Iterator[Any]:
    """Yield tables with columns of clusters behind those of ``beside``, and count text that is a
    formula.
    """
    arrow = import_optional("pyarrow", "arrow", "Writing a table")
    start = 0
    first = next(beside, None)
    alone = (arrow.table({}) for _ in row_blocks(len(labels), DEFAULT.block_rows))
    for table in alone if first is None else chain([first], beside):
        n_rows = DEFAULT.block_rows if first is None else len(table)
        some = np.asarray(labels[start : start + n_rows]).astype(np.int64)
        start += n_rows
        if first is not None and len(some) < n_rows:
            break
        columns = dict(zip(table.column_names, table.columns, strict=True))
        n_formulas.update({name: count_formulas(column) for name, column in columns.items()})
        yield arrow.table(columns | dict(zip(names, some.reshape(len(some), -1).T, strict=True)))
    if first is not None and start != len(labels):
        raise BadInputError(
            f"The data has not the {len(labels):,} rows of the fit: give the data of the fit."
        )


def count_formulas(column: Any) -> int:
    """Return how many cells are text that a spreadsheet would run as a formula.

    Numbers such as -5 are not.

    Examples
    --------
    >>> import pyarrow
    >>> from cohirf.app.cli.outputs import count_formulas
    >>> count_formulas(pyarrow.array(["=1+1", "@SUM(A1)", "-5", "plant-1", None]))
    2
    """
    pc = import_optional("pyarrow.compute", "arrow", "Writing a table")
    if not is_text(str(column.type)):
        return 0
    text = as_text(column)
    starts = pc.match_substring_regex(text, r"\A[=+\-@\t\r\n]")
    number = r"\A[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\z"
    is_number = pc.match_substring_regex(text, number)
    return int(pc.sum(pc.and_(starts, pc.invert(is_number))).as_py() or 0)


def check_kept(path: Path | None, data: Data) -> None:
    """Refuse to keep the columns of data that has none, or in a file that cannot store them."""
    if path is None or path.suffix.lower() == ".npy":
        raise BadInputError(
            "--keep writes the columns of the data, too: give --out with a .parquet or .csv file."
        )
    if data.table is None:
        raise BadInputError(
            f"--keep: {data.name} is an array without column names: leave --keep out."
        )
    taken = [name for name in map(str, data.columns) if re.fullmatch(rf"{CLUSTER}(_\d+)?", name)]
    if taken:
        raise BadInputError(
            f"--keep: {data.name} has a column {taken[0]!r} already: rename it in the data."
        )


def check_label_folder(folder: Path, data: Data, *, force: bool) -> None:
    """Refuse a folder for a file of labels for each file of the data, unless they can be there."""
    table = data.table
    places = table.places if table is not None and table.has_sets else []
    if not places:
        raise BadInputError(
            f"--out-files: {data.name} is not in files of Parquet, Arrow or CSV: give --out."
        )
    try:
        refuse_label_folder(places, locate(folder), overwrite=force)
    except FileExistsError as error:
        raise BadInputError(
            f"--out-files: there is {error.filename} already: give another folder, or --force to "
            "replace files."
        ) from None
    except ValueError as error:
        raise BadInputError(f"--out-files: {error}") from None


def say_written(written: dict[str, str], nothing: str = "") -> str:
    """Return the line that lists the written files.

    Without files, ``nothing`` says which options write some.
    """
    if not written:
        return f"Nothing was written: {nothing}"
    return "Written: " + ", ".join(f"{path} ({name})" for name, path in written.items())
