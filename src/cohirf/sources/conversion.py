"""The file that a CSV file is converted to: where it lies, whether it is there already, and how it is written."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cohirf.optional import import_optional
from cohirf.sources.files import shown

MADE_FROM = b"cohirf: made from"


def temporary_file() -> Path:
    """Return a path in a new folder that is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="cohirf-"))
    atexit.register(_remove, folder, os.getpid())
    return folder / "converted.arrow"


def is_made(target: Path, made_from: dict[str, Any]) -> bool:
    """Tell whether a file is the conversion that is wanted; raise if it is something else than an outdated one."""
    if not target.exists():
        return False
    found = _read_origin(target)
    if found.get("name") != made_from["name"]:
        raise FileExistsError(
            f"{shown(target)} exists and was not converted from {made_from['name']}: remove it, "
            f"or give another path as converted=."
        )
    return found == made_from


@contextmanager
def writing(target: Path) -> Iterator[Path]:
    """Yield the path of an unfinished file that takes the place of ``target`` when it is done, and only then."""
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    try:
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        unfinished.replace(target)
    except OSError as error:
        if error.errno is None:
            raise
        problem = f"The CSV file was not converted ({os.strerror(error.errno)}): give another path as converted="
        raise OSError(error.errno, problem, str(target)) from error
    finally:
        unfinished.unlink(missing_ok=True)


def _read_origin(target: Path) -> dict[str, Any]:
    """Return what a file says it was converted from; nothing if it does not say."""
    arrow = import_optional("pyarrow", "arrow", "Reading a CSV file")
    try:
        with arrow.OSFile(os.fsencode(target)) as file:
            metadata = arrow.ipc.open_file(file).schema.metadata or {}
        origin: dict[str, Any] = json.loads(metadata.get(MADE_FROM, b"{}"))
    except (ValueError, OSError):
        return {}
    return origin


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork
        shutil.rmtree(folder, ignore_errors=True)
