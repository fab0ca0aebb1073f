"""The table of columns: what each is, and what was done with it."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from cohirf.preparation import ColumnNote, Preparation
from cohirf.preparation.decide import AS_ASKED

MOST_LINES = 20  # more columns than this are told in groups
MOST_NAMES = 3  # named in a group
WIDEST_NAME = 40
NARROWEST_NOTE = 24


def describe_columns(preparation: Preparation) -> list[dict[str, Any]]:
    """Return what was done with each column in a form that JSON can hold."""
    return [
        {
            "name": column.name,
            "kind": note.kind,
            "features": [feature.name for feature in column.features],
            "missing": column.n_missing,
            "note": note.note,
        }
        for column, note in zip(preparation.columns, preparation.describe(), strict=True)
    ]


def column_lines(preparation: Preparation) -> list[str]:
    """Return a line for each column, or for each group of columns; none if nothing was decided without the user."""
    notes = preparation.describe()
    is_told = [
        column.reason in ("", AS_ASKED) or note.kind == "label"
        for column, note in zip(preparation.columns, notes, strict=True)
    ]
    if all(is_told) and not any(note.note for note in notes if note.n_features):
        return []
    rows = _rows(notes)
    widths = [max(len(row[place]) for row in rows) for place in range(2)]
    room = shutil.get_terminal_size().columns if sys.stderr.isatty() else 10_000
    indent = sum(widths) + 4
    lines = []
    for name, kind, note in rows:
        first, *more = textwrap.wrap(note, max(NARROWEST_NOTE, room - indent)) or [""]
        lines.append(f"{name:{widths[0]}}  {kind:{widths[1]}}  {first}".rstrip())
        lines += [" " * indent + line for line in more]
    return lines


def _rows(notes: Sequence[ColumnNote]) -> list[tuple[str, str, str]]:
    if len(notes) <= MOST_LINES:
        return [(_shorten(str(note.column)), note.kind, note.note) for note in notes]
    groups: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        groups.setdefault((note.kind, note.note), []).append(_shorten(str(note.column)))
    return [(_join(names), kind, note) for (kind, note), names in groups.items()]


def _join(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _shorten(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= WIDEST_NAME else f"{name[: WIDEST_NAME - 3]}..."
