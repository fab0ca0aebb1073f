"""Files that are on disk before anything relies on them."""

import errno
import os
import stat

import numpy as np
import pytest

from cohirf.durable.files import replace_file, sync_directory, sync_file, write_all, write_new_file
from systems import posix_only


def failing(number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    return fail


def test_a_new_file_does_not_replace_another_one(tmp_path):
    write_new_file(tmp_path / "a", b"first")
    with pytest.raises(FileExistsError):
        write_new_file(tmp_path / "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"


@posix_only
def test_a_file_is_on_disk_before_it_replaces_another_one_and_its_name_afterwards(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    seen = []

    def record(descriptor, fsync=os.fsync):
        seen.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), os.fstat(descriptor).st_size, path.read_bytes()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    replace_file(path, b"newer")
    assert seen == [(False, 5, b"old"), (True, tmp_path.stat().st_size, b"newer")]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_a_killed_process_left_unfinished_is_replaced(tmp_path):
    (tmp_path / "a.new").write_bytes(b"half")
    replace_file(tmp_path / "a", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"new"}


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        replace_file(tmp_path / "a", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


@pytest.mark.parametrize("content", [b"some bytes", np.arange(6, dtype=np.int16).reshape(2, 3), b"", np.empty((0, 2))])
def test_all_bytes_are_written_however_few_a_call_takes(content, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "write", lambda descriptor, rest, write=os.write: write(descriptor, rest[:3]))
    with (tmp_path / "a").open("wb", buffering=0) as file:
        write_all(file, content)
    assert (tmp_path / "a").read_bytes() == (content if isinstance(content, bytes) else content.tobytes())


def test_a_synced_file_has_no_bytes_left_in_its_buffer(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "a").open("wb") as file:
        file.write(b"content")
        sync_file(file)
        assert (tmp_path / "a").read_bytes() == b"content"
        assert synced == [file.fileno()]


@posix_only
@pytest.mark.parametrize(("number", "is_raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_system_that_cannot_sync_directories_is_not_an_error(number, is_raised, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(os, "open", lambda *args, call=os.open: opened.append(call(*args)) or opened[-1])
    monkeypatch.setattr(os, "fsync", failing(number))
    if is_raised:
        with pytest.raises(OSError, match=os.strerror(number)):
            sync_directory(tmp_path)
    else:
        sync_directory(tmp_path)
    (descriptor,) = opened
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(descriptor)


def test_a_directory_is_not_opened_on_windows(tmp_path, monkeypatch):
    with monkeypatch.context() as windows:  # only here: pytest could not report a failure
        windows.setattr(os, "open", failing(errno.EACCES))
        windows.setattr(os, "name", "nt")
        sync_directory(tmp_path)
