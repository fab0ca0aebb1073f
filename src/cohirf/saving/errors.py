"""Errors about saved models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cohirf.durable.errors import CONTENT_ERRORS, naming, one_line, refusing
from cohirf.error_contexts import replacing_errors

REMEDY = "Get an undamaged copy, or fit and save the model again."


class ModelFileError(ValueError):
    """A saved model is damaged, incomplete or of a newer format, or the directory is not a saved model."""


@replacing_errors
def refusing_to_save() -> Iterator[None]:
    """Turn any error that loading the model would raise into one about saving it."""
    try:
        yield
    except CONTENT_ERRORS as error:
        raise ValueError(f"The model cannot be saved: {one_line(error).rstrip('.')}. Fit it again.") from error


@replacing_errors
def reading(path: Path) -> Iterator[None]:
    """Make errors name the file: ModelFileError for wrong content, OSError for errors of the operating system."""
    with naming(path, "The model was not read: {}"), refusing(path, ModelFileError, REMEDY):
        yield
