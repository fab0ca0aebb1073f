"""Locks of files that are read, changed and replaced: one process at a time, and nothing is left
behind.
"""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cohirf.store import files
from cohirf.store.files import locked, replacing
from systems import posix_only

HOLD = """
import sys, time
from pathlib import Path
from cohirf.store.files import locked
with locked(Path(sys.argv[1]), lambda: None):
    print("locked", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"0")
    return path


def add_one(path, n_times, waited):
    for _ in range(n_times):
        with locked(path, lambda: waited.append(True)):
            count = int(path.read_bytes())
            with replacing(path) as file:
                file.write(str(count + 1).encode())


def test_changes_of_several_writers_are_all_done_and_nothing_is_left(path):
    waited = []
    writers = [threading.Thread(target=add_one, args=(path, 25, waited)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_bytes() == b"100"
    assert list(path.parent.iterdir()) == [path]


def test_whoever_waits_is_told_and_gets_the_file_that_has_replaced_the_locked_one(path):
    is_waiting = threading.Event()
    found = []

    def read():
        with locked(path, is_waiting.set):
            found.append(path.read_bytes())

    with locked(path, lambda: pytest.fail("nobody else holds the lock")):
        reader = threading.Thread(target=read)
        reader.start()
        assert is_waiting.wait(60)
        with replacing(path) as file:
            file.write(b"new")
        assert path.read_bytes() == b"new"  # whoever only reads does not wait
    reader.join(60)
    assert found == [b"new"]


@posix_only
def test_the_lock_of_a_killed_process_is_free(path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "locked\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with locked(path, lambda: pytest.fail("the lock is not free")):
        pass
    assert list(path.parent.iterdir()) == [path]


def test_a_link_and_its_file_have_one_lock(path):
    link = path.with_name("link")
    link.symlink_to(path)
    is_waiting = threading.Event()

    def wait():
        with locked(link, is_waiting.set):
            pass

    with locked(path, lambda: None):
        other = threading.Thread(target=wait)
        other.start()
        assert is_waiting.wait(60)
    other.join(60)


@posix_only
@pytest.mark.parametrize("code", sorted(files.NO_LOCKS))
def test_a_file_system_without_locks_is_told(path, monkeypatch, code):
    def refuse(descriptor, operation):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refuse)
    said = "model cannot be locked .*: let no other process change it"
    with pytest.warns(UserWarning, match=said), locked(path, print):
        pass


@posix_only
def test_an_error_of_locking_names_the_file(path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(OSError, match="The file was not locked") as caught, locked(path, print):
        pass
    assert Path(caught.value.filename) == path


def test_without_locks_of_posix_the_lock_is_a_file_beside(path, monkeypatch):
    monkeypatch.setattr(files, "CAN_REPLACE_LOCKED", False)
    is_waiting = threading.Event()

    def wait():
        with locked(path, is_waiting.set):
            pass

    with locked(path, lambda: pytest.fail("nobody else holds the lock")):
        assert (path.parent / ".model.lock").exists()
        other = threading.Thread(target=wait)
        other.start()
        assert is_waiting.wait(60)
    other.join(60)
