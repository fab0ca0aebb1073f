"""What a saved model that cannot be used is answered with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cohirf.durable.errors import naming, refusing

REMEDY = "Get an undamaged copy, or fit and save the model again."


class ModelFileError(ValueError):
    """A saved model that is damaged, incomplete, too new, or was never one."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Let every error that a file leads to name the file: ModelFileError for its content, OSError for the system."""
    with naming(path, "The model was not read: {}"), refusing(path, ModelFileError, REMEDY):
        yield
