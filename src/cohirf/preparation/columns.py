"""Which columns are features, and which have another role: labels, ids, or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cohirf.preparation.tables import Table, is_number, is_text
from cohirf.sources.csv import TO_UTF_8

Column = str | int  # a name, or a number if the data has no names


@dataclass(frozen=True)
class Roles:
    """The features, the label column and the id column of a table."""

    features: list[Column]
    label: Column | None = None
    id: Column | None = None


def assign_roles(
    name: str,
    available: Sequence[Column],
    candidates: Sequence[Column],
    *,
    label_column: Column | None,
    id_column: Column | None,
    drop: Sequence[Column],
) -> Roles:
    """Return the role of each column: features are the candidates that are not labels, ids or dropped."""
    label = None if label_column is None else find_column(name, available, label_column, f"{label_column=}")
    row_id = None if id_column is None else find_column(name, available, id_column, f"{id_column=}")
    dropped = [find_column(name, available, column, f"drop=[{column!r}]") for column in drop]
    for role, times in Counter([column for column in (label, row_id, *dropped) if column is not None]).items():
        if times > 1:
            raise ValueError(
                f"{name}: column {role!r} has more than one role (label, id or dropped column): give it one role."
            )
    apart = {label, row_id, *dropped}
    features = [column for column in candidates if column not in apart]
    if not features:
        raise ValueError(f"{name} has no columns left to cluster: drop fewer columns.")
    return Roles(features, label, row_id)


def find_column(name: str, available: Sequence[Column], wanted: Column, given: str) -> Column:
    """Return the column that the user names; ``given`` is the argument as text, for error messages."""
    if wanted in available:
        return wanted
    if isinstance(available[0], int):
        if isinstance(wanted, str) and wanted.isdecimal() and int(wanted) in available:
            return int(wanted)
        raise ValueError(f"{given}: {name} has no column names: give a number from 0 to {available[-1]}.")
    raise ValueError(f"{given}: {name} has no such column: it has {listed(available)}.")


def listed(columns: Sequence[Column], most: int = 8) -> str:
    """Return the first names as text, for error messages."""
    text = ", ".join(repr(column) for column in columns[:most])
    return text if len(columns) <= most else f"{text} and {len(columns) - most:,} more"


def find_categorical(table: Table, features: Sequence[Column], *, allowed: bool) -> list[str]:
    """Return the text columns among the features; refuse them unless ``allowed``; refuse other non-numeric columns."""
    categorical = []
    for column in map(str, features):
        stored = table.types[column]
        if is_text(stored):
            if not allowed:
                raise ValueError(
                    f'{table.name}: column {column!r} is text: encode it with categorical="onehot", name it as '
                    f"label_column or id_column, or leave it out with drop=[{column!r}].{_hint(table)}"
                )
            categorical.append(column)
        elif stored == "binary" and _is_csv(table):
            raise ValueError(
                f"{table.name}: column {column!r} has text that is not in UTF-8: {TO_UTF_8}; or leave it out with "
                f"drop=[{column!r}]."
            )
        elif not is_number(stored):
            raise ValueError(
                f"{table.name}: column {column!r} has type {stored}, which is not a number: leave it out with "
                f"drop=[{column!r}], or turn it into numbers first."
            )
    return categorical


def _hint(table: Table) -> str:
    return (
        " Or does the file have several columns, with another delimiter?"
        if _is_csv(table) and len(table.types) == 1
        else ""
    )


def _is_csv(table: Table) -> bool:
    return ".csv" in table.name or ".tsv" in table.name
