"""Words of messages: counts, shares and names, and how a parameter is written.

A message writes a parameter with :func:`setting`, as Python does: ``max_features=0.5``. A program
whose users give options replaces this while it runs, with :func:`writing_settings`, so that its
messages name the options.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any

__all__ = ["count_of", "listed", "number_repeated", "percent", "setting", "writing_settings"]

WriteSetting = Callable[..., str]  # of a name and, unless the name stands alone, of a value


def _write_in_python(name: str, *value: Any) -> str:
    if not value:
        return name
    shown = "{...}" if value[0] is ... else repr(value[0])
    return f"{name}={shown}"


_write_setting: ContextVar[WriteSetting] = ContextVar("write_setting", default=_write_in_python)


def setting(name: str, *value: Any) -> str:
    """Return a parameter as a message writes it, with a value or alone.

    The value ``...`` stands for any dict.

    Examples
    --------
    >>> from cohirf.wording import setting
    >>> setting("max_features", 0.5), setting("drop", ["a"]), setting("batch_size")
    ('max_features=0.5', "drop=['a']", 'batch_size')
    """
    return _write_setting.get()(name, *value)


@contextmanager
def writing_settings(write: WriteSetting) -> Iterator[None]:
    """Let messages of this thread write parameters in another way."""
    before = _write_setting.set(write)
    try:
        yield
    finally:
        _write_setting.reset(before)


def count_of(number: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent; 0% and 100% only if they are exact, but for rounding errors."""
    share = round(share, 12)
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
