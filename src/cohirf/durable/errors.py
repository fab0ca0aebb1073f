"""Errors that name the file and say what it means: of the system, and of content that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CONTENT_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)


@contextmanager
def refusing(path: Path, refusal: type[Exception], remedy: str) -> Iterator[None]:
    """Turn whatever the content of a file leads to into one line that names the file.

    Parameters
    ----------
    path : path
        The file.
    refusal : exception class
        What is raised. Errors of this class pass unchanged.
    remedy : str
        What to do about it, as a sentence.

    Examples
    --------
    >>> with refusing(Path("a.json"), ValueError, "Write it again."):
    ...     {}["version"]
    Traceback (most recent call last):
    ...
    ValueError: 'a.json' cannot be used: 'version'. Write it again.
    """
    try:
        yield
    except refusal:
        raise
    except RecursionError as error:
        raise refusal(f"{shown(path)} is nested too deeply. {remedy}") from error
    except MemoryError as error:
        raise refusal(f"{shown(path)} does not fit into memory: use a larger machine.") from error
    except CONTENT_ERRORS as error:
        raise refusal(f"{shown(path)} cannot be used: {one_line(error).rstrip('.')}. {remedy}") from error


@contextmanager
def naming(path: Path, message: str, *, keep_inner: bool = False) -> Iterator[None]:
    """Let an error of the system say what was not done, and to which file; it often names none.

    A FileExistsError passes unchanged: whoever raises it has said what to do.

    Parameters
    ----------
    path : path
        The file that the error names.
    message : str
        What was not done; the reason takes the place of ``{}``.
    keep_inner : bool, default=False
        Name the file that the error names already, if it does.
    """
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        named = error.filename if keep_inner and error.filename else path
        raise OSError(error.errno, message.format(error.strerror or error), str(named)) from error


def shown(path: Path) -> str:
    """Return a path in quotes, without line breaks."""
    return repr(str(path))


def one_line(text: Any) -> str:
    """Return text as one line of reasonable length."""
    return " ".join(str(text).split())[:400]
