"""Which columns are read: chosen by name, or by number where there are no names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np


def choose_numbers(source: str, n_columns: int, columns: Sequence[int] | None) -> list[int] | None:
    """Return the chosen column numbers, or None for all of them."""
    if columns is None:
        return None
    _check_list(columns)
    for column in columns:
        if isinstance(column, bool) or not isinstance(column, int | np.integer):
            raise TypeError(f"{source} has no column names: give numbers from 0 to {n_columns - 1}, not {column!r}.")
        if not 0 <= column < n_columns:
            raise ValueError(f"{source} has no column {column}: give numbers from 0 to {n_columns - 1}.")
    return [int(column) for column in columns]


def choose_names(source: str, available: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """Return the chosen column names; all that are available if none are given."""
    repeated = [name for name, times in Counter(available).items() if times > 1]
    if repeated:
        raise ValueError(f"{source}: the column name {repeated[0]!r} appears more than once: rename the columns.")
    if columns is None:
        return list(available)
    _check_list(columns)
    for column in columns:
        if column not in available:
            raise ValueError(f"{source} has no column {column!r}: it has {_listed(available)}.")
    return list(columns)


def refuse_type(source: str, column: Any, stored: Any) -> ValueError:
    """Return the error for a column that holds no numbers."""
    return ValueError(
        f"{source}: column {column!r} has type {stored}: turn it into numbers first, "
        f"or leave it out by giving the others as columns=[...]."
    )


def _check_list(columns: Any) -> None:
    if isinstance(columns, str) or not isinstance(columns, Sequence | np.ndarray):
        raise TypeError(f"columns={columns!r} is no list: give a list of columns, such as [{columns!r}].")
    if not len(columns):
        raise ValueError("columns=[] leaves nothing to read: give at least one column.")
    repeated = [column for column, times in Counter(columns).items() if times > 1]
    if repeated:
        raise ValueError(f"columns={list(columns)!r} names {repeated[0]!r} more than once: give each column once.")


def _listed(names: Sequence[str], most: int = 8) -> str:
    text = ", ".join(repr(name) for name in names[:most])
    return text if len(names) <= most else f"{text} and {len(names) - most:,} more"
