"""Makes a process on Linux look like one on Windows or macOS: what only Linux has is hidden from
our code.

psutil, numpy, joblib and the standard library still see the system as it is: on Windows and macOS
they have their own ways, and those are not ours to test. The exception is shutil, which removes
directories in the way it does on Windows, because its other way needs a name that is hidden.
Processes that are started while this lasts are not changed.
"""

import asyncio.selector_events  # noqa: F401 - calls os.sysconf when it is imported: before that is hidden
import builtins
import contextlib
import ctypes
import errno
import io
import mmap
import os
import shutil
import sys
from collections import namedtuple
from contextlib import contextmanager

import psutil
import pytest

MISSING = {  # module: names that it does not have there
    "windows": {
        os: "O_TMPFILE O_NOFOLLOW O_CLOEXEC posix_fallocate posix_fadvise sysconf fork getuid geteuid pread"
        " pwrite chown fchmod",
        mmap: "MADV_DONTNEED",
    },
    "macos": {os: "O_TMPFILE posix_fallocate posix_fadvise"},
}
NO_MODULE = {"windows": ("resource", "pwd", "grp"), "macos": ()}
OTHER_SYSTEMS = tuple(MISSING)

_WindowsMemory = namedtuple("_WindowsMemory", "rss vms peak_wset")


@contextmanager
def as_on(system):
    """Hide from our code what only Linux has; on Windows, too, what POSIX has.

    Skip the test on another system.
    """
    if not sys.platform.startswith("linux"):
        pytest.skip(
            "only a process on Linux can look like one on another system: the other tests run "
            "here as they are"
        )
    with pytest.MonkeyPatch.context() as patch:
        hide(system, patch)
        yield


def hide(system, patch):
    """Do what :func:`as_on` does, until the patch is undone."""
    is_open = _make_is_open()
    for module, names in MISSING[system].items():
        for name in names.split():
            patch.delattr(module, name, raising=False)
    for name in NO_MODULE[system]:
        patch.setitem(sys.modules, name, None)
    for module, name in [
        (builtins, "open"),
        (io, "open"),
        *((os, name) for name in ["open", "stat", "readlink"]),
    ]:
        patch.setattr(module, name, _without_proc(getattr(module, name)))
    patch.setattr(ctypes, "CDLL", _load_library(system, ctypes.CDLL))
    if system == "windows":
        for name in ("unlink", "remove", "replace", "rename"):
            patch.setattr(os, name, _refusing_open_files(getattr(os, name), is_open))
        # as on Windows: with descriptors it needs os.O_NONBLOCK
        patch.setattr(shutil, "_use_fd_functions", False)
        patch.setattr(psutil.Process, "memory_info", _with_peak(psutil.Process.memory_info))


def _is_ours():
    """Tell whether our code makes a call: the nearest frames that are not of the standard library
    are ours.
    """
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.split(".")[0] == "cohirf":
            return True
        if name.split(".")[0] not in ("pathlib", "os", "shutil", "contextlib", "weakref"):
            return False
        frame = frame.f_back
    return False


def _without_proc(call):
    def without_proc(path, *args, **kwargs):
        if (
            isinstance(path, str | os.PathLike)
            and os.fspath(path).startswith(("/proc", "/sys", "/dev"))
            and _is_ours()
        ):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        return call(path, *args, **kwargs)

    return without_proc


def _load_library(system, load):
    def load_library(name, *args, **kwargs):
        if name is None and _is_ours():
            if system == "windows":
                raise TypeError("argument of type 'NoneType' is not iterable")
            return object()  # has neither renameat2 nor malloc_trim
        return load(name, *args, **kwargs)

    return load_library


def _refusing_open_files(call, is_open):
    """Return a call as Windows has it, where a file that is open or mapped can be neither removed
    nor replaced.
    """

    def refuse_open_files(*paths, **kwargs):
        if _is_ours():
            for path in paths:
                if is_open(path):
                    raise PermissionError(
                        errno.EACCES, "The process cannot access the file", os.fspath(path)
                    )
        return call(*paths, **kwargs)

    return refuse_open_files


def _make_is_open():
    stat = os.stat
    list_directory = os.listdir
    open_file = io.open

    def is_open(path):
        """Tell whether this process has a file open, or mapped to memory."""
        try:
            wanted = stat(path)
        except OSError:
            return False
        for descriptor in list_directory("/proc/self/fd"):
            with contextlib.suppress(OSError):
                found = stat(f"/proc/self/fd/{descriptor}")
                if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                    return True
        with open_file("/proc/self/maps", encoding="utf-8") as maps:
            return any(line.split()[4] == str(wanted.st_ino) for line in maps)

    return is_open


def _with_peak(memory_info):
    def memory_info_with_peak(self):
        found = memory_info(self)
        return _WindowsMemory(found.rss, found.vms, max(found.rss, found.vms))

    return memory_info_with_peak
