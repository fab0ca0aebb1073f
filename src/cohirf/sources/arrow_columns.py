"""Numeric columns of Arrow data: which types are accepted, and how a batch is converted to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.sources.columns import Columns, choose_names, refuse_type
from cohirf.sources.files import naming

NUMBERS = {"bool": "bool", "halffloat": "float16", "float": "float32", "double": "float64"} | {
    name: name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def choose_fields(source: str, schema: Any, columns: Columns) -> dict[str, str]:
    """Return the chosen columns of an Arrow schema with their types; by default all but pandas' index columns."""
    names = choose_names(source, column_names(source, schema), columns)
    if columns is None:
        index = index_columns(source, schema)
        names = [name for name in names if name not in index]
    types = {name: str(schema.field(name).type) for name in names}
    for name, stored in types.items():
        if stored not in NUMBERS:
            raise refuse_type(source, name, stored)
    return types


def column_names(source: str, schema: Any) -> list[str]:
    """Return the column names of an Arrow schema; raise ValueError if they are damaged."""
    with naming(source, "a table"):
        return list(schema.names)


def index_columns(source: str, schema: Any) -> list[str]:
    """Return the columns of an Arrow schema in which pandas stored the index of a table."""
    with naming(source, "a table"):
        metadata = schema.pandas_metadata or {}
    return [name for name in metadata.get("index_columns", []) if isinstance(name, str)]


def common_type(types: dict[str, str]) -> np.dtype[Any]:
    """Return the NumPy type of an array that holds all these columns."""
    return np.result_type(*(np.dtype(NUMBERS[stored]) for stored in types.values()))


def copy_batch(batch: Any, names: Sequence[str], start: int, out: NDArray[Any]) -> None:
    """Write the rows of a batch from its row ``start`` on into ``out``, column by column; nulls become NaN."""
    for place, name in enumerate(names):
        column = batch.column(name).slice(start, len(out))
        if column.null_count:
            column = column.cast("double")
        out[:, place] = column.to_numpy(zero_copy_only=False)
