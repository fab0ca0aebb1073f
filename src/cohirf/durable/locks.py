"""File locks: one process holds a lock at a time, and the operating system releases it when the process ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import IO, Any

HELD_BY_ANOTHER = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


def try_lock(file: IO[Any]) -> bool:
    """Lock an open file without waiting; return False if it is already locked.

    The lock is released when the file is closed. Two files opened in one process count as two holders. An OSError means
    that the file system does not support locks.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> with path.open("a") as mine, path.open("a") as yours:
    ...     try_lock(mine), try_lock(yours)
    (True, False)
    """
    try:
        LOCK(file.fileno())
    except OSError as error:
        if error.errno in HELD_BY_ANOTHER:
            return False
        raise
    return True


def posix_lock(fcntl: ModuleType) -> Callable[[int], None]:
    """Return a function that locks an open file on Linux and macOS."""
    return lambda descriptor: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def windows_lock(msvcrt: ModuleType) -> Callable[[int], None]:
    """Return a function that locks an open file on Windows: it locks the first byte, which need not exist."""

    def lock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    return lock


LOCK = windows_lock(import_module("msvcrt")) if os.name == "nt" else posix_lock(import_module("fcntl"))
