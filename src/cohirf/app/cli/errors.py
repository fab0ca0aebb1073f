"""Errors of commands, and how messages name options and the command line."""

from __future__ import annotations

import errno
import shlex
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path
from typing import Any

REMEDIES = {
    errno.ENOENT: "check the path",
    errno.EACCES: "get permission to access it, or give another path",
    errno.EPERM: "get permission to access it, or give another path",
    errno.EROFS: "give a path that can be written to",
    errno.ENOSPC: "free some disk space, or give a path on another disk",
    errno.EISDIR: "give a file",
}

# options that are not called like the parameter that they stand for, and a command
FLAGS = {
    "n_clusters": "--clusters",
    "random_state": "--seed",
    "kinds": "--as",
    "scaling": "--scale",
    "overwrite": "--force",
    "hierarchy_.cut": "cohirf cut",
}
# two options that are a pair for the library
PAIRS = {"size_limits": ("--min-size", "--max-size")}


# the command line of this run, without the name of the program
arguments_of_run: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())

# caused by input; all others are bugs
INPUT_ERRORS = (ValueError, TypeError, OSError, ImportError, MemoryError, NotImplementedError)


class ExitCode(IntEnum):
    """What the program returns; 0 is success. The help of ``cohirf drift`` names its two."""

    BAD_INPUT = 2
    DRIFTED = 3
    NEW_KIND = 4
    STOPPED = 130
    TERMINATED = 143


class BadInputError(ValueError):
    """A command cannot use its input; the message is for the user."""


class Interrupted(Exception):  # noqa: N818 - not an error
    """The user has stopped the command; the message says what was kept."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: the command ends and cleans up as it does after Ctrl-C."""


def command_line() -> str:
    """Return the command line of this run, quoted for a shell, for reports and messages."""
    return shlex.join(["cohirf", *arguments_of_run.get()])


def one_line(text: str) -> str:
    """Return text without line breaks, and with control characters made visible."""
    flat = " ".join(text.split())
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in flat)


def read_count(flag: str, text: str, least: int = 1) -> int:
    """Return an integer of at least ``least``; it may be written as 1e6."""
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        number = float("nan")
    if not (least <= number <= 2**53 and number == int(number)):
        raise BadInputError(
            f"{flag} {text!r} is not valid: give a whole number from {least} on, such as 1000 or "
            "1e6."
        )
    return int(number)


def read_number(flag: str, text: str, *, takes_zero: bool = True) -> float:
    """Return a number above 0, or 0 where that is taken."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf") or (number == 0 and not takes_zero):
        least = "from 0 on" if takes_zero else "above 0"
        raise BadInputError(f"{flag} {text!r} is not valid: give a number {least}.")
    return number


def flag_of(parameter: str) -> str:
    """Return the option that stands for a parameter of the library."""
    return FLAGS.get(parameter, f"--{parameter.replace('_', '-')}")


def as_option(name: str, *value: Any) -> str:
    """Return a parameter of the library as the user gives it, for messages.

    Examples
    --------
    >>> from cohirf.app.cli.errors import as_option
    >>> as_option("kinds", {"a": "date"}), as_option("drop", ["two words"]), as_option("views", 3)
    ('--as a=date', "--drop 'two words'", '--views 3')
    >>> as_option("header", False), as_option("overwrite", True), as_option("batch_size")
    ('--no-header', '--force', '--batch-size')
    >>> as_option("size_limits", (80, None)), as_option("size_limits")
    ('--min-size 80', '--min-size and --max-size')
    """
    if name in PAIRS:
        if not value:
            return " and ".join(PAIRS[name])
        pairs = zip(PAIRS[name], value[0], strict=True)
        return " ".join(f"{flag} {limit}" for flag, limit in pairs if limit is not None)
    flag = flag_of(name)
    if not value or value[0] is True:
        return flag
    if value[0] is False:
        return flag.replace("--", "--no-", 1)
    if value[0] is ...:
        return f"{flag} NAME=KIND"
    if isinstance(value[0], dict):
        words = [f"{key}={one}" for key, one in value[0].items()]
    elif isinstance(value[0], list | tuple):
        words = list(value[0])
    else:
        words = [value[0]]
    return " ".join([flag, *map(_quoted, words)])


def _quoted(word: Any) -> str:
    """Return a word as a shell takes it; what cannot be printed is made visible instead."""
    text = str(word)
    return shlex.quote(text) if text.isprintable() else repr(text)


def explain(error: BaseException) -> str:
    """Return an error as one line, or one for each cell that cannot be read."""
    if isinstance(error, MemoryError) and not str(error):
        return (
            "There is not enough memory: give a --batch-size, as a number of rows or as memory, "
            "such as 2GB."
        )
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        from cohirf.store import shown  # imports numpy, which help does not need

        said = str(error.strerror).rstrip(".")
        if ": " not in said:  # the message does not name a remedy yet
            said += f": {REMEDIES.get(error.errno or 0, 'give another path')}"
        named = str(error.filename)
        is_url = "://" in named
        return one_line(f"{named if is_url else shown(Path(named).absolute())}: {said}.")
    lines = getattr(error, "lines", None) or [str(error)]
    return "\n".join(map(one_line, lines))
