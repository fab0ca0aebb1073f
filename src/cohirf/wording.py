"""Counts, shares and names as text, for messages of the library and of the application."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import count
from typing import Any


def count_of(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent; 0% and 100% only if they are exact."""
    if 0 < share <= 0.005:
        return "less than 1%"
    if 0.995 < share < 1:
        return "more than 99%"
    return f"{math.floor(100 * share + 0.5)}%"  # half is rounded up, as pages do


def listed(names: Sequence[Any], most: int = 8) -> str:
    """Return the first names as text, for error messages."""
    text = ", ".join(repr(name) for name in names[:most])
    if len(names) <= most:
        return text
    return f"{text} and {len(names) - most:,} more"


def number_repeated(names: Sequence[str]) -> list[str]:
    """Return the names, with a number behind those that occur again."""
    given = set(names)
    used = dict[str, None]()
    for name in names:
        numbered = (f"{name} ({number})" for number in count(2))
        if name not in used:
            unique = name
        else:
            unique = next(one for one in numbered if one not in used and one not in given)
        used[unique] = None
    return list(used)
