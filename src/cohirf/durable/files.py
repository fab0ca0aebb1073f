"""Durable files: flushed and fsynced before anything relies on them."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Any


def write_new_file(path: Path, content: bytes) -> None:
    """Write a file that must not exist yet."""
    with path.open("xb", buffering=0) as file:
        write_all(file, content)
        sync_file(file)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically: readers see the old content or the new one."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    try:
        write_new_file(temporary, content)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):  # do not hide the original error
            temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_all(file: IO[bytes], content: Any) -> None:
    """Write all bytes to an unbuffered file, however many the system accepts per call."""
    whole = memoryview(content)
    rest = whole.cast("B") if whole.nbytes else whole  # an empty view cannot be cast
    while rest.nbytes:
        rest = rest[os.write(file.fileno(), rest) :]


def sync_file(file: IO[Any]) -> None:
    """Wait until what was written to an open file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on disk."""
    if os.name != "posix":  # on Windows a directory cannot be opened, and renaming is durable
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems do not support it
            raise
    finally:
        os.close(descriptor)
