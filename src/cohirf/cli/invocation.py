"""The command line of this run, to show it in reports and messages."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextvars import ContextVar

_arguments: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())


def remember(arguments: Sequence[str]) -> None:
    """Store the arguments of the program."""
    _arguments.set(tuple(arguments))


def command_line() -> str:
    """Return the command line, quoted for a shell."""
    return shlex.join(["cohirf", *_arguments.get()])
