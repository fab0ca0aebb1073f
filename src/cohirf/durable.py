"""Files that survive a crash: written out and synchronised before anything relies on them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def write_new_file(path: Path, content: bytes) -> None:
    """Write a file that must not exist yet."""
    with path.open("xb") as file:
        file.write(content)
        sync_file(file)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step: whoever reads it sees the old content or the new one."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    write_new_file(temporary, content)
    temporary.replace(path)
    sync_directory(path.parent)


def sync_file(file: Any) -> None:
    """Wait until what was written to an open file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on disk."""
    if os.name != "posix":  # elsewhere a directory cannot be opened, and renaming is durable
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
