"""Exceptions of commands, and text that is safe to print."""

from __future__ import annotations


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
