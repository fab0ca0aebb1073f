"""Locks on files: one holder at a time, released however a process ends."""

import errno
import os
import signal
import time
from types import SimpleNamespace

import pytest

from cohirf.durable import locks
from cohirf.durable.locks import posix_lock, try_lock, windows_lock
from systems import posix_only

fcntl = pytest.importorskip("fcntl", reason="Windows has other locks, for which flock stands in here")


def locking(descriptor, mode, n_bytes):
    """Do what msvcrt.locking does on Windows: lock bytes from the current position on, or fail with EACCES."""
    assert (mode, n_bytes) == ("non-blocking", 1)
    assert os.lseek(descriptor, 0, os.SEEK_CUR) == 0
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES)) from None


@pytest.fixture(params=["posix", "windows"])
def system(request, monkeypatch):
    msvcrt = SimpleNamespace(locking=locking, LK_NBLCK="non-blocking")
    monkeypatch.setattr(locks, "LOCK", posix_lock(fcntl) if request.param == "posix" else windows_lock(msvcrt))


@pytest.mark.usefixtures("system")
def test_a_file_has_one_holder_at_a_time(tmp_path):
    path = tmp_path / "lock"
    with path.open("a", encoding="utf-8") as first:
        first.write("some text")
        first.flush()
        assert try_lock(first)
        with path.open("a", encoding="utf-8") as second:
            assert not try_lock(second)
    with path.open("a", encoding="utf-8") as third:
        assert try_lock(third)


def test_other_errors_are_not_taken_for_another_holder(monkeypatch, tmp_path):
    def no_locks(_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks, "LOCK", no_locks)
    with (tmp_path / "lock").open("a", encoding="utf-8") as file, pytest.raises(OSError, match="No locks available"):
        try_lock(file)


@posix_only
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_killed_process_holds_no_lock(tmp_path):
    ready, tell = os.pipe()
    child = os.fork()
    if child == 0:
        with (tmp_path / "lock").open("a", encoding="utf-8") as file:
            try_lock(file)
            os.write(tell, b"!")
            time.sleep(600)
    os.read(ready, 1)
    with (tmp_path / "lock").open("a", encoding="utf-8") as file:
        assert not try_lock(file)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert try_lock(file)
    os.close(ready)
    os.close(tell)
