"""Errors of commands, values of options that are refused, and errors of the library in words of
options.
"""

from __future__ import annotations

import errno
import re
from functools import cache
from pathlib import Path

REMEDIES = {
    errno.ENOENT: "check the path",
    errno.EACCES: "get permission to access it, or give another path",
    errno.EPERM: "get permission to access it, or give another path",
    errno.EROFS: "give a path that can be written to",
    errno.ENOSPC: "free some disk space, or give a path on another disk",
    errno.EISDIR: "give a file",
}

# messages of the library for Python users, and the words for users of the command line
IN_WORDS_OF_OPTIONS = (
    (
        r"contains NaN\. .*? or leave their rows out\.",
        "there are missing values: fit with --impute median or --impute mean to fill them, or "
        "with --drop to leave the column out.",
    ),
    (
        r"open it again with open_source, and leave it as it is until the fit is done",
        "run the command again, and leave the file as it is until it is done",
    ),
    (
        r"give header=False if they are data, header=True if they are names",
        "give --no-header if they are data, --header if they are names",
    ),
    (r", for instance with columns=lambda name: name != (.+?)\.( |$)", r" with --drop \1.\2"),
    (
        r"contains infinity: replace infinite values or leave their rows out\.",
        "there are infinite values: replace them, or leave the column out with --drop.",
    ),
    (r"\bimpute='(\w+)'", r"--impute \1"),
    (r"\bkinds=\{(.+?): '([\w:%/.-]+)'\}", r"--as \1=\2"),
    (r"with kinds=\{\.\.\.\}", "with --as NAME=KIND"),
    (r"\bdrop=\[('.*?'|\".*?\"|\d+)\]", r"--drop \1"),
    (r"\bvectors=('.*?'|\".*?\")", r"--vectors \1"),
    (r"\bof X\b", "of the data"),
    (r"^X has", "The data has"),
    (r"^(delimiter|header)= is", r"--\1 is"),
    (r"Repair the file, or give its delimiter=\.", "Repair the file, or give its --delimiter."),
    (
        r"give the delimiter of the file with delimiter= if",
        "give the delimiter of the file with --delimiter if",
    ),
    (r"Or is the delimiter not (.+)\?", r"Or is the delimiter not \1? Give --delimiter."),
    (r", or fit from a file with cohirf\.open_source", ""),
    (r", or choose others with columns=\[\.\.\.\]", ", or leave some out with --drop"),
    (r"hierarchy_\.cut with fewer clusters", "cohirf cut with fewer --clusters"),
    (r"overwrite=True", "--force"),
    (r"Give another storage\.", "Give another --storage."),
    (r"cannot be used as storage: ", "cannot be used as --storage: "),
    (r" Widen search_space\.", ""),
    (
        r": widen search_space, or choose another base method\.",
        ": give fewer parameters, or another --estimator.",
    ),
)


class BadInputError(ValueError):
    """A command cannot use its input; the message is for the user."""


class Interrupted(Exception):  # noqa: N818 - not an error
    """The user has stopped the command; the message says what was kept."""


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: the command ends and cleans up as it does after Ctrl-C."""


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


def read_number(flag: str, text: str) -> float:
    """Return a non-negative number."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadInputError(f"{flag} {text!r} is not valid: give a number from 0 on.")
    return number


def explain(error: BaseException) -> str:
    """Return an error as one line, with parameter names replaced by options."""
    if isinstance(error, BadInputError):
        return one_line(str(error))
    if isinstance(error, MemoryError) and not str(error):
        return (
            "There is not enough memory: give a --batch-size, as a number of rows or as memory, "
            "such as 2GB."
        )
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        from cohirf.store.files import shown  # imports numpy, which help does not need

        said = str(error.strerror).rstrip(".")
        if ": " not in said:  # the message does not name a remedy yet
            said += f": {REMEDIES.get(error.errno or 0, 'give another path')}"
        return one_line(f"{shown(Path(str(error.filename)).absolute())}: {said}.")
    # cells that cannot be read are told in one line each
    lines = getattr(error, "lines", None) or [str(error)]
    return "\n".join(one_line(in_words_of_options(line)) for line in lines)


def in_words_of_options(message: str) -> str:
    """Return a message of the library with parameter names replaced by options."""
    for pattern, words in IN_WORDS_OF_OPTIONS:
        message = re.sub(pattern, words, message)
    for name, flag in _all_flags().items():
        message = re.sub(rf"(?<![\w.-]){name}=True\b", flag, message)
        message = re.sub(rf"(?<![\w.-]){name}=(?=\S)", f"{flag} ", message)
        if "_" in name:  # names such as "majority" or "estimator" are also ordinary words
            # but not in names of files and columns
            message = re.sub(rf"(?<![\w./'-]){name}\b(?!=|-|/|'|\.\w)", flag, message)
    return message


@cache
def _all_flags() -> dict[str, str]:
    """Return the option of each parameter of the library."""
    from cohirf.app.cli.options import FLAGS, DataOptions, flag_of

    of_data = {name: flag_of(name).partition("/")[0] for name in vars(DataOptions())}
    return FLAGS | of_data | {"scaling": "--scale", "places": "--places"}
