"""Errors about saved models and checkpoints, and errors of the operating system that name the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cohirf.error_contexts import replacing_errors

CONTENT_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)
REMEDY = "Get an undamaged copy, or fit and save the model again."  # of a saved model


class ModelFileError(ValueError):
    """A saved model is damaged or of another format, or the file is not a saved model."""


class CheckpointError(ValueError):
    """A checkpoint is damaged, in use by another process, or belongs to another fit."""


class CheckpointWarning(UserWarning):
    """A part of a checkpoint is damaged, and its batches are computed again."""


@replacing_errors
def refusing(path: Path, refusal: type[Exception], remedy: str) -> Iterator[None]:
    """Turn any error caused by the content of a file into a one-line error that names the file.

    Parameters
    ----------
    path : path
        The file.
    refusal : exception class
        The exception to raise. Exceptions of this class pass unchanged.
    remedy : str
        A sentence that says what the user can do.

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
    except MemoryError as error:
        raise refusal(f"{shown(path)} does not fit into memory: use a machine with more memory.") from error
    except CONTENT_ERRORS as error:
        raise refusal(f"{shown(path)} cannot be used: {one_line(error).rstrip('.')}. {remedy}") from error


@replacing_errors
def naming(path: Path, message: str, *, keep_inner: bool = False) -> Iterator[None]:
    """Make an error of the operating system say what failed, and for which file.

    A FileExistsError passes unchanged, because its message already says what to do.

    Parameters
    ----------
    path : path
        The file that the error names.
    message : str
        What failed; ``{}`` is replaced by the reason.
    keep_inner : bool, default=False
        If the error already names a file, keep that name.
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
