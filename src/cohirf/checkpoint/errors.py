"""Errors and warnings about checkpoints."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from cohirf.durable.errors import naming, refusing

REMEDY = {
    "opened": "give a directory that can be written to, or a new one in a directory that exists",
    "read": "the checkpoint was not changed",
    "written": "the batches it already holds are intact, and the same fit resumes from there",
}


class CheckpointError(ValueError):
    """A checkpoint is damaged, in use by another process, or belongs to another fit."""


class CheckpointWarning(UserWarning):
    """A part of a checkpoint is damaged, and its batches are computed again."""


def naming_operation(path: Path, operation: str) -> AbstractContextManager[None]:
    """Make an error of the operating system name the path, and say what it means for the checkpoint."""
    return naming(path, f"The checkpoint was not {operation} ({{}}): {REMEDY[operation]}", keep_inner=True)


def refusing_content(path: Path) -> AbstractContextManager[None]:
    """Turn any error caused by the content of a checkpoint file into a CheckpointError that names the file."""
    return refusing(path, CheckpointError, f"Delete {path.parent} to start again.")
