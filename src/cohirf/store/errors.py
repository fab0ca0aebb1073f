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
    """Turn any error caused by the content of a file into a one-line ``refusal`` that names the file and a remedy."""
    try:
        yield
    except refusal:
        raise
    except MemoryError as error:
        raise refusal(f"{shown(path)} does not fit into memory: use a machine with more memory.") from error
    except CONTENT_ERRORS as error:
        raise refusal(f"{shown(path)} cannot be used: {one_line(error).rstrip('.')}. {remedy}") from error


@replacing_errors
def naming_file(path: Path, message: str, *, keep_inner: bool = False) -> Iterator[None]:
    """Make an error of the operating system name a file, and say what failed; ``{}`` in the message is the reason.

    A FileExistsError passes unchanged, because its message already says what to do. With ``keep_inner``, an error that
    names a file keeps that name.
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
