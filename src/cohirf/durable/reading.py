"""Files that somebody else may have written: regular files only, and no more bytes than expected."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

# Files above this size, together, must take up at least a fiftieth of it on disk: whoever reads them allocates all of
# it. What we write has no holes; systems that compress seldom reach such a ratio with arrays of numbers.
CHECKED_FOR_HOLES, MAX_RATIO = 2**26, 50


def regular_status(path: Path) -> os.stat_result:
    """Return the status of a file that is not a link, a directory, a pipe or a device."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise ValueError("the file is missing") from None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file but a link, a directory, a pipe or a device")
    return status


def open_regular(path: Path, *, for_writing: bool = False) -> BinaryIO:
    """Open an existing file that is not a link or a pipe, which could lead elsewhere or never end."""
    regular_status(path)
    if for_writing:
        return os.fdopen(open_now(path, os.O_RDWR), "r+b")
    return os.fdopen(open_now(path, os.O_RDONLY), "rb")


def open_now(path: Path, access: int) -> int:
    """Open a file that another process may exchange this moment: never follow a link, never wait for a pipe."""
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    return os.open(path, access | sum(flags))


def read_bytes(path: Path, limit: int) -> bytes:
    """Return the content of a file of at most ``limit`` bytes."""
    with open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it has more than {limit} bytes")
    return content


def names_in(directory: Path, limit: int) -> set[str]:
    """Return the names in a directory, or ``limit`` + 1 of them if there are more."""
    names: set[str] = set()
    with os.scandir(directory) as entries:
        for entry in entries:
            names.add(entry.name)
            if len(names) > limit:
                break
    return names


def refuse_holes(statuses: Iterable[os.stat_result]) -> None:
    """Refuse large files most of which is not on disk: a small download could else fill the memory."""
    claimed = on_disk = 0
    for status in statuses:
        claimed += status.st_size
        on_disk += 512 * getattr(status, "st_blocks", 0)  # 0 where the system does not tell
    if claimed > CHECKED_FOR_HOLES and 0 < on_disk < claimed / MAX_RATIO:
        raise ValueError(
            f"its arrays claim {claimed} bytes and take up {on_disk} on disk, less than a fiftieth; if the disk "
            f"compresses files and you trust this one, copy it to a disk that does not, with cp --sparse=never"
        )
