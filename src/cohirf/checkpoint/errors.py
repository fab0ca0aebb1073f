"""What a checkpoint that cannot be used is answered with."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from cohirf.durable.errors import naming, refusing

REMEDY = {
    "opened": "give a directory that can be written to, or a new one in a directory that exists",
    "read": "nothing in it was changed",
    "written": "what it held before is intact, and the same fit goes on from there",
}


class CheckpointError(ValueError):
    """A checkpoint that is damaged, in use, or of another fit."""


class CheckpointWarning(UserWarning):
    """A checkpoint of which a part was damaged and is computed again."""


def naming_deed(path: Path, deed: str) -> AbstractContextManager[None]:
    """Let an error of the system say what it means for the checkpoint, and name the path."""
    return naming(path, f"The checkpoint was not {deed} ({{}}): {REMEDY[deed]}", keep_inner=True)


def refusing_content(path: Path) -> AbstractContextManager[None]:
    """Turn whatever the content of a file of a checkpoint leads to into a CheckpointError that names the file."""
    return refusing(path, CheckpointError, f"Delete {path.parent} to begin anew.")
