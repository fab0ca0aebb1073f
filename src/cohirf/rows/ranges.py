"""Ranges: what the values of a field may be. Dataclasses say it in the types of their fields.

    rows: Annotated[IntArray, ranges.numbers(ranges.ANY, below="n_rows")]
    stability: Annotated[NDArray[np.float32], ranges.shares("rows")]

A size or a limit is a number or a name. A name is an attribute of the object that has the field or,
if that has none, of the nearest object around it; it means the attribute if that is a number, and
its length otherwise.

Values that our own code has made need no check. Those of a file do: anyone can write one. Whoever
reads a file calls :func:`check_ranges` once, before values are used as indices or to allocate
memory. A check reads each array a few times, and copies none.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from operator import attrgetter
from types import NoneType
from typing import Any, Protocol, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.arrays import is_here, stored_cells
from cohirf.rows.later import Later

Size = int | str | None
Find = Callable[[str], Any]  # from a name to what it means

ANY: Size = None  # any length
OPTIONAL = "optional"  # a mark: the field may be None, although its type does not say so
# names of types of NumPy
INDICES = ("int32", "int64")
FLOATS = ("float32", "float64")
FINITE = sys.float_info.max
LARGEST = 2**63 - 1  # of integers of 64 bits


class Rule(Protocol):
    """Something that holds for the value of a field."""

    def check(self, value: Any, find: Find) -> None:
        """Raise ValueError with the value if the rule does not hold."""


@dataclass(frozen=True)
class Range:
    """Numbers within bounds, alone or in arrays, CSR matrices, lists and dicts.

    Arrays have a type and a shape.
    """

    types: tuple[str, ...]
    shape: tuple[Size, ...]
    least: float = -FINITE
    most: float = FINITE
    below: Size = None  # a lower bound than ``most``: integers below this
    may_miss: bool = False  # whether NaN is valid, too
    filled_by: str | None = None  # NaN is valid if there is something with this name
    is_sorted: bool = False  # and distinct
    among: str | None = None  # the only values besides -1; they are sorted

    def check(self, value: Any, find: Find) -> None:
        """Raise ValueError if a value is of another type or shape, or out of bounds."""
        if is_here(value):
            self._check_array(value, find)
            numbers = stored_cells(value)
        else:  # as floats, which have room for large integers
            numbers = np.array(list(_flat(value)), dtype=np.float64)
        if numbers.size == 0 or numbers.dtype.kind == "b":
            return
        most = self.most if self.below is None else _size(self.below, find) - 1
        may_miss = self.may_miss or (
            self.filled_by is not None and find(self.filled_by) is not None
        )
        lowest, highest = _extremes(numbers, may_miss=may_miss)
        if not (self.least <= lowest and highest <= most):
            wrong = highest if self.least <= lowest else lowest
            raise ValueError(f"has {wrong}, which is not {_in_words(self.least, most)}")
        if self.is_sorted and not (numbers[1:] > numbers[:-1]).all():
            raise ValueError("is not sorted, or has a number twice")
        if self.among is not None:
            self._check_names(numbers, find(self.among))

    def _check_array(self, array: Any, find: Find) -> None:
        if array.dtype.name not in self.types:
            raise ValueError(f"has the type {array.dtype}, which is not {' or '.join(self.types)}")
        shape = tuple(None if size is ANY else _size(size, find) for size in self.shape)
        lengths = zip(shape, array.shape, strict=False)
        if array.ndim != len(shape) or not all(size in (None, length) for size, length in lengths):
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise ValueError(f"has the shape {array.shape}, which is not ({wanted})")

    def _check_names(self, numbers: NDArray[Any], names: NDArray[Any]) -> None:
        known = (numbers == -1) | np.isin(numbers, names)
        if not known.all():
            raise ValueError(f"has {numbers[~known][0]}, which is not in {self.among}")


@dataclass(frozen=True)
class OneOf:
    """A text out of a few."""

    texts: tuple[str, ...]

    def check(self, value: Any, find: Find) -> None:
        """Raise ValueError if it is another text."""
        if value not in self.texts:
            raise ValueError(f"is {value[:50]!r}, which is not one of {', '.join(self.texts)}")


class Holds:
    """What a function checks: it gets the value and what some names mean, and raises ValueError."""

    def __init__(self, function: Callable[..., None], *names: str) -> None:
        self._function = function
        self._names = names

    def check(self, value: Any, find: Find) -> None:
        """Raise ValueError if the function does."""
        self._function(value, *map(find, self._names))


@dataclass(frozen=True)
class Given:
    """A rule for values that are not None; these are refused, unless they are optional."""

    rule: Rule
    is_optional: bool

    def check(self, value: Any, find: Find) -> None:
        """Raise ValueError if the value is missing, or the rule does not hold."""
        if value is not None:
            self.rule.check(value, find)
        elif not self.is_optional:
            raise ValueError("is missing")


# ---- ranges by the names of what they hold


def numbers(*shape: Size, below: Size, is_sorted: bool = False) -> Range:
    """Return the range of numbers of rows, groups or points: from 0, and below how many there
    are.
    """
    return Range(INDICES, shape, least=0, below=below, is_sorted=is_sorted)


def labels(*shape: Size, among: str) -> Range:
    """Return the range of labels: -1, and numbers of clusters."""
    return Range(INDICES, shape, least=-1, among=among)


def counts(*shape: Size, least: int = 0, most: int = LARGEST) -> Range:
    """Return the range of counts: integers of 64 bits."""
    types = ("int8", "uint8", "int16", "uint16", "uint32", *INDICES)
    return Range(types, shape, least=least, most=most)


def shares(*shape: Size) -> Range:
    """Return the range of shares, such as stability, where they are known.

    Sums of shares are rounded.
    """
    return Range(FLOATS, shape, least=-1e-6, most=1 + 1e-6, may_miss=True)


def measures(*shape: Size, least: float = -FINITE) -> Range:
    """Return the range of what is measured: finite numbers."""
    return Range(FLOATS, shape, least=least)


def distances(*shape: Size) -> Range:
    """Return the range of distances, which are infinite where there is no other row."""
    return Range(FLOATS, shape, least=0, most=math.inf)


def cells(*shape: Size, filled_by: str | None = None) -> Range:
    """Return the range of cells of a table: finite numbers, or NaN where a cell is missing.

    Cells that are filled may be missing only if there is something to fill them with.
    """
    return Range(FLOATS, shape, may_miss=filled_by is None, filled_by=filled_by)


def flags(*shape: Size) -> Range:
    """Return the range of what is true or false."""
    return Range(("bool",), shape)


def one_for_each(size: str) -> Holds:
    """Return the rule that a list has an item for each of something."""
    return Holds(_check_length, size)


def _check_length(items: Any, of: Any) -> None:
    wanted = of if isinstance(of, int) else len(of)
    if len(items) != wanted:
        raise ValueError(f"has {len(items)} items, and not {wanted}")


# ---- checks


def check_ranges(value: Any, place: str = "", around: tuple[Any, ...] = ()) -> None:
    """Raise ValueError if a field of a dataclass, or of one inside it, has a value that is not
    valid.

    The message begins with ``place`` and the name of the field. ``around`` are objects with further
    names, the nearest first.
    """
    if isinstance(value, list | tuple):
        for number, item in enumerate(value):
            check_ranges(item, f"{place}[{number}]", around)
    if not is_dataclass(value):
        return
    kind: Any = type(value)
    rules = _rules(kind)
    for each in fields(kind):
        part = _value_of(getattr(value, each.name))
        where = f"{place}.{each.name}" if place else each.name
        check_ranges(part, where, (value, *around))
        for rule in rules[each.name]:
            try:
                rule.check(part, partial(_find, (value, *around)))
            except ValueError as error:
                raise ValueError(f"{where} {error}") from error


@cache
def _rules(kind: Hashable) -> dict[str, list[Rule]]:
    """Return the rules of each field of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: _rules_of(hint) for name, hint in hints.items()}


def _rules_of(hint: Any) -> list[Rule]:
    """Return the rules of a field; if it may be None, they are about all other values."""
    if not hasattr(hint, "__metadata__"):
        return []
    rules = [rule for rule in hint.__metadata__ if rule is not OPTIONAL]
    is_optional = len(rules) < len(hint.__metadata__) or NoneType in get_args(hint.__origin__)
    return [Given(rule, is_optional=is_optional) for rule in rules]


def _find(known: tuple[Any, ...], name: str) -> Any:
    """Return an attribute of the first object that has it."""
    first = name.partition(".")[0]
    for each in known:
        if hasattr(each, first):
            return _value_of(attrgetter(name)(each))
    raise ValueError(f"needs {name}, which is missing")


def _value_of(part: Any) -> Any:
    return part.value if isinstance(part, Later) else part


def _size(size: Size, find: Find) -> int:
    meant: Any = find(size) if isinstance(size, str) else size
    return meant if isinstance(meant, int) else len(meant)


def _flat(value: Any) -> Iterator[float]:
    """Yield all numbers of nested lists and dicts."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        for each in value:
            yield from _flat(each)
    else:
        yield value


def _extremes(numbers: NDArray[Any], *, may_miss: bool) -> tuple[Any, Any]:
    """Return the lowest and the highest number; NaN if there is one, unless it is valid."""
    if not may_miss:
        return numbers.min().item(), numbers.max().item()
    lowest, highest = (
        reduce(numbers, axis=None).item() for reduce in (np.fmin.reduce, np.fmax.reduce)
    )
    return (0, 0) if math.isnan(lowest) else (lowest, highest)  # all are missing


def _in_words(least: float, most: float) -> str:
    if least > -FINITE and most < FINITE:
        return f"from {least:g} to {most:.15g}"
    if least == -FINITE:
        return "a finite number"
    return f"a finite number from {least:g} on"
