"""The command line as it was given: to show it, and to say how it is run again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextvars import ContextVar

_arguments: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())


def remember(arguments: Sequence[str]) -> None:
    """Keep the arguments of the program."""
    _arguments.set(tuple(arguments))


def command_line() -> str:
    """Return the command as a shell takes it."""
    return shlex.join(["cohirf", *_arguments.get()])
