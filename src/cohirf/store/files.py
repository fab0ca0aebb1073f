"""Files that are replaced as a whole, temporary files that do not stay behind, and errors that name
a file.

On Linux a temporary file has no name, so the operating system removes it when the process ends,
even if it is killed. The name of every other unfinished file tells what it is for and which process
created it: before another one is created for the same, the files of processes that have ended are
removed.

A file that is read, changed and replaced is locked meanwhile. The operating system releases the
lock when the process ends, even if it is killed. Whoever only reads a file needs no lock.
"""

from __future__ import annotations

import atexit
import errno
import hashlib
import io
import os
import platform
import re
import secrets
import stat
import tempfile
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import IntEnum
from glob import escape
from pathlib import Path
from typing import IO, Any

import psutil

from cohirf.error_contexts import replacing_errors

# permissions, before the user's mask


class Permissions(IntEnum):
    """Who may read and write a new file, before the process takes away what its umask says."""

    OWNER = 0o600
    ALL = 0o666


NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
DESCRIPTORS = Path("/proc/self/fd")  # Linux lists open files here
CAN_REPLACE_LOCKED = os.name == "posix"  # Windows cannot replace a file that is locked
NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # of file systems that have none

_kept: set[TemporaryFile] = set()  # files whose path was sent to another process
# files of this process that are no longer needed but could not be removed yet
_left: set[Path] = set()


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


class TemporaryFile(os.PathLike[str]):
    """A file that is removed with this object, and at the latest when this process ends.

    The object is also a path by which other processes on this machine can open the file. Pickling
    it pickles only the path; the file then exists until this process ends, because the receiver of
    the path may still use it.
    """

    def __init__(
        self, directory: str | os.PathLike[str] | None = None, *, buffering: int = -1
    ) -> None:
        descriptor, named = _open_temporary(
            Path(tempfile.gettempdir() if directory is None else directory)
        )
        if named is None:
            self._path = f"/proc/{os.getpid()}/fd/{descriptor}"
        else:
            self._path = str(named.absolute())
        self.file: IO[bytes] = os.fdopen(descriptor, "w+b", buffering)
        self._finalizer = weakref.finalize(self, _discard, self.file, named, os.getpid())

    def __fspath__(self) -> str:
        return self._path

    def __reduce__(self) -> tuple[Any, ...]:
        _kept.add(self)
        return Path, (self._path,)


@contextmanager
def replacing(path: Path, *, is_new: bool = False) -> Iterator[IO[bytes]]:
    """Yield a binary file to write to; on success it replaces ``path`` atomically.

    Raise FileExistsError if it ``is_new``, and another writer has been faster.

    If ``path`` is a symbolic link, the file it points to is replaced. The new file has the
    permissions of the file that it replaces. Anything that exists and is not a regular file is
    refused.
    """
    target = Path(os.path.realpath(path))
    with naming_file(path, "{}"):
        permissions = _replaced_permissions(target)
        unfinished = _new_path(target.parent, target.name)
        descriptor = os.open(
            unfinished, NEW_FILE, Permissions.ALL if permissions is None else permissions
        )
    try:
        with io.BufferedRandom(_NamedFile(descriptor, path)) as file:
            yield file
            with naming_file(path, "{}"):
                sync_file(file)
        with naming_file(path, "{}"):  # closed before this: Windows cannot move an open file
            if permissions is not None:
                unfinished.chmod(permissions)  # the user's mask may have removed some of them
            if is_new:
                _name_new(unfinished, target)
            else:
                unfinished.replace(target)
            sync_directory(target.parent)
    finally:
        with suppress(OSError):  # do not hide the original error
            unfinished.unlink(missing_ok=True)


def _name_new(file: Path, target: Path) -> None:
    """Give a file its name, unless there is one of that name."""
    taken = FileExistsError(errno.EEXIST, "Another writer has put this file meanwhile", str(target))
    try:
        os.link(file, target)
    except FileExistsError:
        raise taken from None
    except OSError:  # the file system has no links
        if target.exists():
            raise taken from None
        file.replace(target)


class _NamedFile(io.FileIO):
    """A file whose errors of writing, such as a full disk, name the path that it will have."""

    def __init__(self, descriptor: int, path: Path) -> None:
        super().__init__(descriptor, "r+")
        self._path = path

    def write(self, content: Any) -> int:
        with naming_file(self._path, "{}"):
            return super().write(content)


@contextmanager
def locked(path: Path, say_waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a file that is read, changed and replaced.

    Wait while another process holds it.

    The file itself is locked, so that nothing is left beside it. On Windows, the lock is a file of
    its own, which is removed with the lock. ``say_waiting`` is called before a wait.
    """
    target = Path(os.path.realpath(path))
    if not CAN_REPLACE_LOCKED:
        with _beside(target, say_waiting):
            yield
        return
    with naming_file(path, "The file was not locked: {}"):
        descriptor = _open_locked(target, say_waiting)
    try:
        yield
    finally:
        os.close(descriptor)  # which releases the lock


def _open_locked(path: Path, say_waiting: Callable[[], None]) -> int:
    """Return a descriptor of the file at a path, which is locked."""
    import fcntl  # only POSIX has it

    while True:
        # network file systems lock only what can be written to
        descriptor = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say_waiting()
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        except OSError as error:
            if error.errno in NO_LOCKS:
                warnings.warn(
                    f"{shown(path)} cannot be locked ({error.strerror}): let no other process "
                    "change it until this one is done.",
                    stacklevel=4,
                )
                return descriptor
            os.close(descriptor)
            raise
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # the one that held the lock has replaced the file: lock the new one


def _beside(path: Path, say_waiting: Callable[[], None]) -> AbstractContextManager[Any]:
    """Return the lock of a file beside a path, after a wait if another process holds it."""
    from filelock import FileLock, Timeout

    lock = FileLock(path.with_name(f".{path.name}.lock"))
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        say_waiting()
        return lock.acquire()


def refuse_url(path: str | os.PathLike[str], what: str) -> None:
    """Raise ValueError if a path is a URL: ``what`` is read and written on a local disk.

    Stores differ in what they promise: to replace a whole object, to hold a lock, and to append.
    """
    text = os.fspath(path)
    if re.match(r"(s3|gs|az|https?|file):/{1,2}[^/]", text) and not Path(text).exists():
        url = re.sub(":/+", "://", text)  # pathlib makes one slash of two
        raise ValueError(
            f"{url} is a URL, and {what} on a local disk only, where files are locked and replaced "
            "as a whole: give a path there, and copy it when it is done."
        )


def check_writable(folder: Path) -> None:
    """Raise OSError unless files can be made in a folder: permissions alone do not tell, for
    instance below /proc.
    """
    descriptor, path = _open_temporary(folder)
    os.close(descriptor)
    if path is not None:
        path.unlink()


def refuse_irregular(path: Path) -> None:
    """Raise if ``path`` exists and is not a regular file: such a path cannot be replaced."""
    _replaced_permissions(Path(os.path.realpath(path)))


def _replaced_permissions(path: Path) -> int | None:
    """Return the permissions of a file that will be replaced; None if it does not exist."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise FileExistsError(
            errno.EEXIST, "It exists and is not a regular file: give another path", str(path)
        )
    return stat.S_IMODE(mode)


def _open_temporary(directory: Path) -> tuple[int, Path | None]:
    """Return the descriptor of a new file, and its path.

    None if it can be opened through its descriptor alone.
    """
    if hasattr(os, "O_TMPFILE") and DESCRIPTORS.exists():
        # not supported by this file system; any other problem shows up again below
        with suppress(OSError):
            return os.open(directory, os.O_TMPFILE | os.O_RDWR, Permissions.OWNER), None
    path = _new_path(directory, "temporary")
    descriptor = os.open(path, NEW_FILE, Permissions.OWNER)
    if not DESCRIPTORS.exists():
        return descriptor, path
    path.unlink()
    return descriptor, None


def _new_path(directory: Path, stem: str) -> Path:
    """Return a new hidden name.

    Files of the same stem whose process has ended, such as a killed one, are removed.
    """
    _remove_left()
    stem = f".{stem[:50]}.cohirf-{_machine()}"  # the length of names is limited
    for stray in directory.glob(f"{escape(stem)}-*-*"):
        process = stray.name.split("-")[-2]
        # of another user, or removed meanwhile; or of no process
        with suppress(OSError, OverflowError):
            if process.isdecimal() and not psutil.pid_exists(int(process)):
                stray.unlink()
    return directory / f"{stem}-{os.getpid()}-{secrets.token_hex(4)}"


def _machine() -> str:
    """Return an identifier of this machine.

    Containers count as machines, because they number their own processes.
    """
    parts = [platform.node().encode()]
    with suppress(OSError):  # only Linux has it, and the next
        parts.append(os.fsencode(Path("/proc/self/ns/pid").readlink()))
    with suppress(OSError):  # hosts that were cloned may have the same name
        parts.append(Path("/etc/machine-id").read_bytes())
    return hashlib.sha256(b"\n".join(parts)).hexdigest()[:8]


def _discard(file: IO[bytes], path: Path | None, process: int) -> None:
    with suppress(OSError):  # the rest of the buffer is not needed
        file.close()
    if path is not None and os.getpid() == process:  # a forked process must not remove it
        _left.add(path)
        _remove_left()


@atexit.register
def _remove_left() -> None:
    """Remove files of this process that are no longer needed.

    Windows cannot remove files that are open somewhere.
    """
    for path in tuple(_left):
        with suppress(OSError):
            path.unlink(missing_ok=True)
            _left.discard(path)


CONTENT_ERRORS = (
    ValueError,
    TypeError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
)
# of a saved model
REMEDY = (
    "Get an undamaged copy, use the version of cohirf that wrote it, or fit and save the model "
    "again."
)


class ModelFileError(ValueError):
    """A saved model is damaged or of another format, or the file is not a saved model."""


class CheckpointError(ValueError):
    """A checkpoint is damaged, in use by another process, or belongs to another fit."""


class CheckpointWarning(UserWarning):
    """A part of a checkpoint is damaged, and its batches are computed again."""


@replacing_errors
def refusing(path: os.PathLike[str], refusal: type[Exception], remedy: str) -> Iterator[None]:
    """Turn any error caused by the content of a file into a one-line ``refusal`` that names the
    file and a remedy.
    """
    try:
        yield
    except refusal:
        raise
    except MemoryError as error:
        raise refusal(
            f"{shown(path)} does not fit into memory: use a machine with more memory."
        ) from error
    except CONTENT_ERRORS as error:
        raise refusal(f"{shown(path)} cannot be used: {one_line(error)}. {remedy}") from error


@replacing_errors
def naming_file(
    path: os.PathLike[str], message: str, *, keep_inner: bool = False
) -> Iterator[None]:
    """Make an error of the operating system name a file, and say what failed.

    ``{}`` in the message is the reason.

    A FileExistsError passes unchanged, because its message already says what to do. With
    ``keep_inner``, an error that names a file keeps that name.
    """
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        named = error.filename if keep_inner and error.filename else os.fspath(path)
        raise OSError(error.errno, message.format(error.strerror or error), str(named)) from error


def shown(path: os.PathLike[str]) -> str:
    """Return a path for messages: relative to the working directory if it is inside it, and always
    in one line. URLs stay as they are.
    """
    if not isinstance(path, Path):
        return str(path)
    here = Path.cwd()
    text = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return text if text.isprintable() else repr(text)


def one_line(text: Any) -> str:
    """Return text without line breaks and without its last full stop, of reasonable length."""
    return " ".join(str(text).split())[:400].rstrip(".")
