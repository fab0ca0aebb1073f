"""Errors about saved models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cohirf.durable.errors import naming, refusing
from cohirf.error_contexts import replacing_errors

REMEDY = "Get an undamaged copy, or fit and save the model again."


class ModelFileError(ValueError):
    """A saved model is damaged, incomplete or of a newer format, or the directory is not a saved model."""


@replacing_errors
def reading(path: Path) -> Iterator[None]:
    """Make errors name the file: ModelFileError for wrong content, OSError for errors of the operating system."""
    with naming(path, "The model was not read: {}"), refusing(path, ModelFileError, REMEDY):
        yield
