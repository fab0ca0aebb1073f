"""Text from users that goes into a page: made valid UTF-8, and shortened."""

from __future__ import annotations

from typing import Any

MAX_NAME = 120  # characters


def clean(text: Any) -> str:
    """Return text as valid UTF-8; characters that cannot be encoded become question marks."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def shorten(text: Any, length: int = MAX_NAME) -> str:
    r"""Return text as one line of at most ``length`` characters.

    Examples
    --------
    >>> from cohirf.diagnosis.text import shorten
    >>> shorten("a name over two\nlines", 12)
    'a name over…'
    """
    line = " ".join(clean(text).split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
