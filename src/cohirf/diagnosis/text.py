"""Text from users that goes into a page: in characters that can be written, and not too much of it."""

from __future__ import annotations

from typing import Any

MAX_NAME = 120  # characters


def clean(text: Any) -> str:
    """Return text that can be written to a file, whatever it holds."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def shorten(text: Any, length: int = MAX_NAME) -> str:
    r"""Return text in one line that is not longer than a page can bear.

    Examples
    --------
    >>> from cohirf.diagnosis.text import shorten
    >>> shorten("a name over two\nlines", 12)
    'a name over…'
    """
    line = " ".join(clean(text).split())
    return line if len(line) <= length else f"{line[: length - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"
