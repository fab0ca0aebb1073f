"""The Arrow file that a CSV file is converted to: whether it is up to date, and how it is written."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from cohirf.error_contexts import replacing_errors
from cohirf.optional import import_optional
from cohirf.sources.files import shown
from cohirf.store.files import TemporaryFile, replacing

MADE_FROM = b"cohirf: made from"


def is_made(target: Path, made_from: dict[str, Any]) -> bool:
    """Return whether ``target`` is an up-to-date conversion; raise FileExistsError if it was made from another file."""
    if not target.exists():
        return False
    found = _read_origin(target)
    if found.get("name") != made_from["name"]:
        raise FileExistsError(
            f"{shown(target)} exists and was not converted from {made_from['name']}: remove it, "
            f"or give another path as converted=."
        )
    return found == made_from


@replacing_errors
def writing(target: Path | TemporaryFile) -> Iterator[IO[bytes]]:
    """Yield a file to write to; if ``target`` is a path, the file replaces it atomically on success."""
    try:
        if isinstance(target, TemporaryFile):
            yield target.file
            target.file.flush()
        else:
            with replacing(target) as file:
                yield file
    except OSError as error:
        if error.errno is None:
            raise
        problem = f"The CSV file was not converted ({os.strerror(error.errno)}): give another path as converted="
        raise OSError(error.errno, problem, os.fspath(target)) from error


def _read_origin(target: Path) -> dict[str, Any]:
    """Return the description of the CSV file that a file was converted from; empty if it has none."""
    arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
    try:
        with arrow.OSFile(os.fsencode(target)) as file:
            metadata = arrow.ipc.open_file(file).schema.metadata or {}
        origin: dict[str, Any] = json.loads(metadata.get(MADE_FROM, b"{}"))
    except (ValueError, OSError):
        return {}
    return origin
