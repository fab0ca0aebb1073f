"""Which columns the user gives a role: labels, ids, kept, dropped, or of a kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cohirf.preparation.decide import WISHES
from cohirf.preparation.kinds import Column, Date, Name
from cohirf.preparation.readings import DateReading


@dataclass(frozen=True)
class Roles:
    """What the user says about columns; all other columns are decided by their cells."""

    label: Name | None = None
    id: Name | None = None
    dropped: tuple[Name, ...] = ()
    kept: tuple[Name, ...] = ()
    wishes: dict[Name, str] = field(default_factory=dict)

    @property
    def apart(self) -> set[Name | None]:
        """Columns that are not features."""
        return {self.label, self.id, *self.dropped}


def assign_roles(
    name: str,
    available: Sequence[Name],
    *,
    label_column: Name | None,
    id_column: Name | None,
    drop: Sequence[Name],
    keep: Sequence[Name],
    kinds: Mapping[Any, str],
) -> Roles:
    """Return what the user says about columns, after all names are found among those of the data."""
    label = None if label_column is None else find_column(name, available, label_column, f"{label_column=}")
    row_id = None if id_column is None else find_column(name, available, id_column, f"{id_column=}")
    dropped = tuple(find_column(name, available, column, f"drop=[{column!r}]") for column in drop)
    kept = tuple(find_column(name, available, column, f"keep=[{column!r}]") for column in keep)
    wishes = {
        find_column(name, available, column, f"kinds={{{column!r}: {wish!r}}}"): _check_wish(column, wish)
        for column, wish in kinds.items()
    }
    given = [column for column in (label, row_id, *dropped) if column is not None]
    for role, times in Counter([*given, *{*kept, *wishes}]).items():
        if times > 1:
            raise ValueError(
                f"{name}: column {role!r} has more than one role (label, id, dropped or kept column): give it one role."
            )
    return Roles(label, row_id, dropped, kept, wishes)


def confirm_kinds(columns: Sequence[Column], kinds: Mapping[Any, str]) -> dict[Name, Column]:
    """Return the columns that the user names, as other data is read; their kinds must be those of the training data."""
    known = {column.name: column for column in columns}
    confirmed = {}
    for wanted, wish in kinds.items():
        given = f"kinds={{{wanted!r}: {wish!r}}}"
        name = find_column("the training data", list(known), wanted, given)
        confirmed[name] = _confirm(known[name], _check_wish(wanted, wish), given)
    return confirmed


def _confirm(column: Column, wish: str, given: str) -> Column:
    """Return the column with the format that a wish for a date may have."""
    kind, _, form = wish.partition(":")
    if not column.features:
        raise ValueError(f"{given}: the model was fitted without column {column.name!r}: leave it out here, too.")
    if kind != column.kind:
        raise ValueError(
            f"{given} is not valid: column {column.name!r} was a {column.kind} in the training data: give "
            f"kinds={{{column.name!r}: {column.kind!r}}}, or fit the model again."
        )
    if not isinstance(column, Date) or not form:
        return column
    if column.elapsed and not (DateReading(form).has_day and DateReading(form).has_year):
        raise ValueError(
            f"{given} is not valid: the training data had days: give a format with a day (%d) and a year (%Y)."
        )
    return replace(column, format=form)


def _check_wish(column: Any, wish: str) -> str:
    if wish not in WISHES and not (isinstance(wish, str) and wish.startswith("date:") and wish != "date:"):
        raise ValueError(
            f"kinds={{{column!r}: {wish!r}}} is not valid: give {', '.join(WISHES)}, or a date with its "
            f"format, such as date:%d/%m/%Y."
        )
    return wish


def find_column(name: str, available: Sequence[Name], wanted: Name, given: str) -> Name:
    """Return the column that the user names; ``given`` is the argument as text, for error messages."""
    if wanted in available:
        return wanted
    if isinstance(available[0], int):
        if isinstance(wanted, str) and wanted.isdecimal() and int(wanted) in available:
            return int(wanted)
        raise ValueError(f"{given}: {name} has no column names: give a number from 0 to {available[-1]}.")
    raise ValueError(f"{given}: {name} has no such column: it has {listed(available)}.")


def listed(columns: Sequence[Name], most: int = 8) -> str:
    """Return the first names as text, for error messages."""
    text = ", ".join(repr(column) for column in columns[:most])
    return text if len(columns) <= most else f"{text} and {len(columns) - most:,} more"
