"""Read files of unknown origin: only regular files, and no more bytes than expected."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

# If the files together are larger than this, they must take up at least a fiftieth of their size on disk, because the
# reader allocates their full size. Files that cohirf writes have no holes, and file systems that compress files rarely
# reach this ratio with numeric arrays.
CHECKED_FOR_HOLES, MAX_RATIO = 2**26, 50


def regular_status(path: Path) -> os.stat_result:
    """Return the status of a file that is not a link, a directory, a pipe or a device."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise ValueError("the file is missing") from None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is a link, a directory, a pipe or a device, not a regular file")
    return status


def open_regular(path: Path, *, for_writing: bool = False) -> BinaryIO:
    """Open an existing regular file; refuse links and pipes, which could lead elsewhere or never end."""
    regular_status(path)
    if for_writing:
        return os.fdopen(open_now(path, os.O_RDWR), "r+b")
    return os.fdopen(open_now(path, os.O_RDONLY), "rb")


def open_now(path: Path, access: int) -> int:
    """Open a file that another process might just have replaced: never follow a link, never wait for a pipe."""
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
    """Refuse large files that consist mostly of holes: otherwise a small download could fill the memory."""
    claimed = on_disk = 0
    for status in statuses:
        claimed += status.st_size
        on_disk += 512 * getattr(status, "st_blocks", 0)  # 0 if the system does not report it
    if claimed > CHECKED_FOR_HOLES and 0 < on_disk < claimed / MAX_RATIO:
        raise ValueError(
            f"it has {claimed} bytes of data that take up only {on_disk} on disk, less than a fiftieth; if the disk "
            f"compresses files and you trust this one, copy it to a disk that does not, with cp --sparse=never"
        )
