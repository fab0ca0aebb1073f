"""A value that many users never need: it is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Self, TypeVar, cast

Value = TypeVar("Value")


class Later(Generic[Value]):
    """A value, or the function that makes it. All who share it share the value, too."""

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make: Callable[[], Value] | None = make
        self._made: Value | None = None

    @classmethod
    def known(cls, value: Value) -> Self:
        """Return a value that is there already."""
        later = cls(lambda: value)
        later._made = value
        later._make = None
        return later

    @property
    def value(self) -> Value:
        """The value. What it was made from is not kept."""
        make = self._make  # another thread may set it to None
        if make is not None:
            self._made = make()
            self._make = None
        return cast("Value", self._made)
