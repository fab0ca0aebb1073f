"""Files that are unfinished, or needed only for a while: none of them stays behind when the process is killed.

Where the system has files without a name, as Linux does, these files have none: the system removes them with the
process, however it ends. Elsewhere the name of a file tells which process made it. Whoever makes the next such file in
a directory first removes those whose process has ended.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import re
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil

from cohirf.durable.files import sync_directory, sync_file

# machine, process, when the process started (seconds since 1970), and something random
NAME = re.compile(r"\.cohirf-(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-(?P<started>\d+)-[0-9a-f]{8}")
CLOCK_SECONDS = 3600  # the clock may be set while a process runs, which on Linux moves the time of its start
PRIVATE, SHARED = 0o600, 0o666  # permissions, before the user's mask
DESCRIPTORS = Path("/proc/self/fd")  # where Linux keeps names for open files

_KEPT: set[TemporaryFile] = set()  # files whose path was sent to another process
_LEFT: set[Path] = set()  # files of this process that nobody needs, and that are still there


class TemporaryFile(os.PathLike[str]):
    """A file that exists as long as this object does, and not longer than this process.

    It is a path, too: other processes on this machine can open the file by it. Pickling sends the path alone; the file
    then exists until this process ends, because whoever got the path may still use it.

    Parameters
    ----------
    directory : path, optional
        Where to make the file; by default in the directory for temporary files.
    buffering : int, default=-1
        As for :func:`open`.

    Attributes
    ----------
    file : binary file
        The open file, for reading and writing.

    Examples
    --------
    >>> from pathlib import Path
    >>> from cohirf.durable.temporary import TemporaryFile
    >>> temporary = TemporaryFile()
    >>> n_written = temporary.file.write(b"content")
    >>> temporary.file.flush()
    >>> Path(temporary).read_bytes()
    b'content'
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, buffering: int = -1) -> None:
        place = Path(tempfile.gettempdir() if directory is None else directory)
        descriptor, path = _open(place, PRIVATE)
        if path is not None and DESCRIPTORS.exists():
            path.unlink()  # it is found through its descriptor
            path = None
        self._path = f"/proc/{os.getpid()}/fd/{descriptor}" if path is None else str(path.absolute())
        self.file: IO[bytes] = os.fdopen(descriptor, "w+b", buffering)
        self._finalizer = weakref.finalize(self, _discard, self.file, path, os.getpid())

    def __fspath__(self) -> str:
        return self._path

    def __reduce__(self) -> tuple[Any, ...]:
        _KEPT.add(self)
        return Path, (self._path,)


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes the place of ``path`` when all of it is written, and only then.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from cohirf.durable.temporary import replacing
    >>> path = Path(tempfile.mkdtemp()) / "labels.txt"
    >>> with replacing(path) as file:
    ...     n_written = file.write(b"0 0 1")
    >>> path.read_text()
    '0 0 1'
    """
    unfinished = None
    try:
        descriptor, unfinished = _open(path.parent, SHARED)
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            sync_file(file)
            if unfinished is None and not _link(file, path):
                unfinished = _name_file(file, path.parent)
        if unfinished is not None:  # closed by now: Windows does not move a file that is open
            unfinished.replace(path)
        sync_directory(path.parent)
    except OSError as error:
        if error.errno is not None and (error.filename is None or NAME.fullmatch(Path(error.filename).name)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    finally:
        if unfinished is not None:
            with suppress(OSError):  # what went wrong first is what matters
                unfinished.unlink(missing_ok=True)


def remove_strays(directory: Path) -> None:
    """Remove the files that processes of this machine left in a directory when they were killed."""
    with suppress(OSError):
        with os.scandir(directory) as entries:
            strays = [entry for entry in entries if is_stray(entry.name) and entry.is_file(follow_symlinks=False)]
        for entry in strays:
            with suppress(OSError):  # of another user, or removed by somebody else at this moment
                Path(entry.path).unlink()


def is_stray(name: str) -> bool:
    """Tell whether a file has a name of ours and its process has ended for certain."""
    found = NAME.fullmatch(name)
    if found is None or found["machine"] != _machine():
        return False
    try:
        process = psutil.Process(int(found["process"]))
        if process.status() == psutil.STATUS_ZOMBIE:
            return True
        return bool(abs(process.create_time() - int(found["started"])) > CLOCK_SECONDS)
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False


def _open(directory: Path, permissions: int) -> tuple[int, Path | None]:
    """Return the descriptor of a new file, and its path if it has one."""
    if hasattr(os, "O_TMPFILE") and DESCRIPTORS.exists():
        with suppress(OSError):  # not on this file system; if it is for another reason, the next attempt tells which
            return os.open(directory, os.O_TMPFILE | os.O_RDWR, permissions), None
    path = _new_path(directory)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(path, flags, permissions), path


def _link(file: IO[bytes], path: Path) -> bool:
    """Give a file without a name its name; tell whether that was possible."""
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        # with a directory given, Python asks the system to follow the link that stands for the descriptor
        os.link(DESCRIPTORS / str(file.fileno()), path.name, dst_dir_fd=directory, follow_symlinks=True)
    except OSError:  # the name is taken, or this file system cannot do it
        return False
    finally:
        os.close(directory)
    return True


def _name_file(file: IO[bytes], directory: Path) -> Path:
    """Give a file without a name one of ours, so that it can replace another file; else copy it."""
    path = _new_path(directory)
    if not _link(file, path):
        file.seek(0)
        with path.open("xb") as copy:
            shutil.copyfileobj(file, copy)
            sync_file(copy)
    return path


def _new_path(directory: Path) -> Path:
    """Return a new name of this process in a directory, which is cleared of strays."""
    _remove_left()
    remove_strays(directory)
    started = int(psutil.Process().create_time())
    return directory / f".cohirf-{_machine()}-{os.getpid()}-{started}-{secrets.token_hex(4)}"


def _machine() -> str:
    """Return what stands for this machine; containers count as machines, since they number processes on their own."""
    parts = [platform.node()]
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def _discard(file: IO[bytes], path: Path | None, process: int) -> None:
    with suppress(OSError):  # what is left in the buffer is not needed
        file.close()
    if path is not None and os.getpid() == process:  # not at the end of a fork
        _LEFT.add(path)
        _remove_left()


@atexit.register
def _remove_left() -> None:
    """Remove files of this process that nobody needs; on Windows that is impossible while something has them open."""
    for path in tuple(_LEFT):
        with suppress(OSError):
            path.unlink(missing_ok=True)
            _LEFT.discard(path)
