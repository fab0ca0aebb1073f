"""What stops a command, and text that is safe to print."""

from __future__ import annotations


class BadInputError(ValueError):
    """Input that a command does not take; the message is for the user."""


class Interrupted(Exception):  # noqa: N818 - the user wanted it
    """The user has stopped the command; the message says what is left."""


def one_line(text: str) -> str:
    """Return text without line breaks, and with what a terminal would obey made visible."""
    flat = " ".join(text.split())
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in flat)
