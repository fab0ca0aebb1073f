"""cohirf fit --links: pairs of rows that are to be in one cluster, or not to be, from a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.app.cli.errors import BadInputError
from cohirf.app.preparation import Prepared
from cohirf.optional import import_optional
from cohirf.sources import find_format, open_table

FLAG = "--links"
SIGNS = {"1": 1, "+1": 1, "1.0": 1, "together": 1, "-1": -1, "-1.0": -1, "apart": -1}
FORMAT = (
    "give a table with three columns, such as a.csv with the lines first,second,link and 0,5,1 "
    "and 2,3,-1: two rows, and 1 or together, -1 or apart"
)


def read_links(path: Path, data: Prepared, id_column: str | None) -> NDArray[np.int64]:
    """Return the links of a table as triples of row numbers and signs.

    Rows are given by number, from 0 on, or by what they have in the ``id_column``.
    """
    arrow = import_optional("pyarrow", "arrow", FLAG)
    first, second, signs = _read_columns(path, arrow)
    if id_column is None:
        ends = [_read_numbers(path, column, arrow) for column in (first, second)]
    else:
        ends = _find_ids(path, [first, second], data, id_column)
    return np.column_stack([*ends, _read_signs(path, signs)])


def _read_columns(path: Path, arrow: Any) -> list[Any]:
    """Return the three columns of a table as Arrow arrays of text."""
    is_csv = "header" in find_format(path).options
    table = open_table(path, header=False) if is_csv else open_table(path)
    names = [] if table is None else [name for name in table.types if name not in table.index]
    if table is None or len(names) != 3:
        raise BadInputError(f"{FLAG} {path} has {len(names)} columns: {FORMAT}.")
    batches = list(table.read(names))
    columns = [
        arrow.chunked_array([batch.column(place).cast("string") for batch in batches], "string")
        for place in range(3)
    ]
    if is_csv and _are_names([str(column[0]) for column in columns]):
        return [column[1:] for column in columns]
    return columns


def _are_names(cells: list[str]) -> bool:
    """Return whether the cells of the first line are names of columns, and no link."""
    return cells[2].strip().lower() not in SIGNS and not cells[0].strip().isdecimal()


def _read_numbers(path: Path, column: Any, arrow: Any) -> Any:
    try:
        return column.cast("int64").to_numpy()
    except (arrow.ArrowInvalid, ValueError):
        raise BadInputError(
            f"{FLAG} {path} has cells that are no row numbers: give numbers from 0 on, or "
            "--id-column for rows by name."
        ) from None


def _find_ids(path: Path, columns: list[Any], data: Prepared, id_column: str) -> list[Any]:
    """Return the row numbers of ids."""
    arrow = import_optional("pyarrow", "arrow", FLAG)
    compute = import_optional("pyarrow.compute", "arrow", FLAG)
    ids = data.ids()
    assert ids is not None  # the column was given
    known = arrow.chunked_array([part.cast("string") for part in ids], "string").combine_chunks()
    wanted = arrow.concat_arrays([column.combine_chunks() for column in columns])
    found = compute.index_in(wanted, value_set=known)
    if found.null_count:
        unknown = wanted.filter(compute.is_null(found))[0].as_py()
        raise BadInputError(
            f"{FLAG} {path} has {unknown!r}, which no row of the data has in --id-column "
            f"{id_column}."
        )
    uses = compute.value_counts(known.filter(compute.is_in(known, value_set=wanted)))
    repeated = uses.filter(compute.greater(uses.field("counts"), 1))
    if len(repeated):
        name = repeated.field("values")[0].as_py()
        raise BadInputError(
            f"{FLAG} {path} has {name!r}, which several rows of the data have in --id-column "
            f"{id_column}: give row numbers, or a column that tells rows apart."
        )
    rows = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return [rows[: len(columns[0])], rows[len(columns[0]) :]]


def _read_signs(path: Path, column: Any) -> NDArray[np.int64]:
    words, codes = np.unique(
        [str(word).strip().lower() for word in column.to_pylist()], return_inverse=True
    )
    unknown = [word for word in words.tolist() if word not in SIGNS]
    if unknown:
        raise BadInputError(f"{FLAG} {path} has the link {unknown[0]!r}: {FORMAT}.")
    return np.array([SIGNS[word] for word in words.tolist()], dtype=np.int64)[codes]
