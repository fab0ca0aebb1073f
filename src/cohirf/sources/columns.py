"""Choose columns by name, or by number if the data has no names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Columns = (
    Sequence[Any] | Callable[[Any], bool] | None
)  # a list of columns, a function that selects columns, or all columns


def choose_numbers(source: str, n_columns: int, columns: Columns) -> list[int] | None:
    """Return the chosen column numbers, or None for all of them."""
    if columns is None:
        return None
    columns = _as_list(columns, range(n_columns))
    for column in columns:
        if isinstance(column, bool) or not isinstance(column, int | np.integer):
            raise TypeError(f"{source} has no column names: give numbers from 0 to {n_columns - 1}, not {column!r}.")
        if not 0 <= column < n_columns:
            raise ValueError(f"{source} has no column {column}: give numbers from 0 to {n_columns - 1}.")
    return [int(column) for column in columns]


def choose_names(source: str, available: Sequence[str], columns: Columns) -> list[str]:
    """Return the chosen column names; all available names if ``columns`` is None."""
    repeated = [name for name, times in Counter(available).items() if times > 1]
    if repeated:
        raise ValueError(f"{source}: the column name {repeated[0]!r} appears more than once: rename the columns.")
    if columns is None:
        return list(available)
    chosen, known = _as_list(columns, available), set(available)
    for column in chosen:
        if column not in known:
            raise ValueError(f"{source} has no column {column!r}: it has {_listed(available)}.")
    return chosen


def refuse_type(source: str, column: Any, stored: Any) -> ValueError:
    """Return the error for a column that is not numeric."""
    return ValueError(
        f"{source}: column {column!r} has type {stored}: turn it into numbers first, "
        f"or leave it out, for instance with columns=lambda name: name != {column!r}."
    )


def _as_list(columns: Any, available: Sequence[Any]) -> list[Any]:
    if callable(columns):
        columns = [column for column in available if columns(column)]
    if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
        raise TypeError(f"columns={columns!r} is not a list: give a list of columns, such as [{columns!r}].")
    if not len(columns):
        raise ValueError("columns= selects no column: choose at least one.")
    repeated = [column for column, times in Counter(columns).items() if times > 1]
    if repeated:
        raise ValueError(f"columns={list(columns)!r} lists {repeated[0]!r} more than once: give each column once.")
    return list(columns)


def _listed(names: Sequence[str], most: int = 8) -> str:
    text = ", ".join(repr(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most:,} more"
