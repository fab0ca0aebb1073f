"""Convert tables in memory (pandas, polars, Arrow) to an array and column names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.sources.columns import Columns, choose_names, choose_numbers, refuse_type

TABLE = "The table"


def is_table(data: Any) -> bool:
    """Return whether an object is a pandas, polars or Arrow table."""
    return hasattr(data, "column_names") or (hasattr(data, "columns") and hasattr(data, "dtypes"))


def read_table(table: Any, columns: Columns) -> tuple[NDArray[Any], list[str] | None]:
    """Return the chosen columns as an array, and their names if the names are text."""
    names = list(table.column_names if hasattr(table, "column_names") else table.columns)
    if not all(isinstance(name, str) for name in names):
        if any(isinstance(name, str) for name in names):
            raise TypeError(
                f"{TABLE} has column names of several types, {names[:8]}: convert all column names to strings."
            )
        numbers = choose_numbers(TABLE, len(names), columns) or range(len(names))
        return _to_array(table, numbers, names), None
    chosen = choose_names(TABLE, names, columns)
    number_of = {name: number for number, name in enumerate(names)}
    return _to_array(table, [number_of[name] for name in chosen], names), chosen


def _to_array(table: Any, numbers: Sequence[int], names: list[Any]) -> NDArray[Any]:
    values = []
    for number in numbers:
        column = table.iloc[:, number] if hasattr(table, "iloc") else table[names[number]]
        values.append(_to_numbers(column, names[number]))
    return np.stack(values, axis=1)


def _to_numbers(column: Any, name: Any) -> NDArray[Any]:
    """Return a column as an array of numbers; missing cells become NaN."""
    is_extension = hasattr(column, "iloc") and not isinstance(column.dtype, np.dtype)
    if is_extension and column.dtype.kind in "biuf":  # pandas' nullable numeric types
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    values = np.asarray(column.to_numpy())
    if values.dtype.kind not in "biuf":
        raise refuse_type(TABLE, name, column.type if hasattr(column, "type") else column.dtype)
    return values
