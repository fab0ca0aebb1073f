"""Files that are there as a whole or not at all, and files that are gone when nobody needs them any
more.
"""

import copy
import errno
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from cohirf import CoHiRF, open_source
from cohirf.store import files
from cohirf.store.files import (
    TemporaryFile,
    refuse_irregular,
    replacing,
    sync_directory,
    write_all,
)
from other_systems import OTHER_SYSTEMS, as_on
from systems import linux_only, posix_only


@pytest.fixture(params=["linux", *OTHER_SYSTEMS])
def system(request):
    """Run a test as on each system."""
    with as_on(request.param) if request.param in OTHER_SYSTEMS else nullcontext():
        yield


def of_process(process=None, stem="temporary", machine=None):
    """Return a name that a process gives its files: this process, unless another one is given."""
    return f".{stem}.cohirf-{machine or files._machine()}-{os.getpid() if process is None else process}-0123abcd"


@pytest.fixture
def ended():
    """Return the number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


# -- files that take the place of others


@pytest.mark.parametrize("old", [None, b"old"])
def test_a_finished_file_takes_its_place(old, system, tmp_path):
    target = tmp_path / "a.txt"
    if old is not None:
        target.write_bytes(old)
    with replacing(target) as file:
        file.write(b"new")
        assert (target.read_bytes() if target.exists() else None) == old
    assert target.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [target]


@linux_only
@pytest.mark.parametrize("old", [None, b"old"])
def test_a_finished_file_is_given_its_name_and_not_copied(old, tmp_path):
    target = tmp_path / "a.txt"
    if old is not None:
        target.write_bytes(old)
    with replacing(target) as file:
        number = os.fstat(file.fileno()).st_ino
    assert target.stat().st_ino == number


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, OSError(errno.ENOSPC, "No space left on device")]
)
def test_an_unfinished_file_is_removed(error, system, tmp_path):
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")

    def write_half():
        with replacing(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error if isinstance(error, type) else type(error)):
        write_half()
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_error_of_the_system_names_the_file_that_is_written(system, tmp_path):
    missing = tmp_path / "missing" / "a.txt"
    with (
        pytest.raises(
            FileNotFoundError, match=re.escape(f"No such file or directory: '{missing}'")
        ),
        replacing(missing),
    ):
        pass
    (tmp_path / "folder").mkdir()
    with (
        pytest.raises(IsADirectoryError, match=f"{tmp_path / 'folder'}'$"),
        replacing(tmp_path / "folder"),
    ):
        pass


@pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="this system has no device that is always full"
)
def test_an_error_of_writing_names_the_file_that_is_written(tmp_path):
    def write_to_a_full_disk():
        with replacing(tmp_path / "a.txt") as file:
            with Path("/dev/full").open("r+b", buffering=0) as full:
                os.dup2(full.fileno(), file.fileno())
            file.write(bytes(2**20))

    with pytest.raises(
        OSError, match=re.escape(f"No space left on device: '{tmp_path / 'a.txt'}'")
    ):
        write_to_a_full_disk()


def test_an_error_of_the_caller_is_left_as_it_is(system, tmp_path):
    with pytest.raises(OSError, match="Broken pipe") as caught, replacing(tmp_path / "a.txt"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert caught.value.filename is None


@pytest.mark.skipif(
    sys.platform == "win32", reason="links need privileges and permissions differ on Windows"
)
def test_a_link_keeps_pointing_at_the_file_that_is_replaced(system, tmp_path):
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    dangling = tmp_path / "dangling"
    link.symlink_to(Path("folder") / "a.txt")
    dangling.symlink_to(Path("folder") / "b.txt")
    (tmp_path / "folder" / "a.txt").write_bytes(b"old")
    for path in (link, dangling):
        with replacing(path) as file:
            file.write(b"new")
        assert path.is_symlink()
    assert {path.name: path.read_bytes() for path in (tmp_path / "folder").iterdir()} == {
        "a.txt": b"new",
        "b.txt": b"new",
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_not_a_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "link"):
        with (
            pytest.raises(
                FileExistsError, match="exists and is not a regular file: give another path"
            ),
            replacing(path),
        ):
            pass
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "pipe"]


def test_a_path_that_cannot_be_replaced_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"old")
    refuse_irregular(tmp_path / "a.txt")
    refuse_irregular(tmp_path / "new.txt")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        refuse_irregular(tmp_path)


@pytest.mark.skipif(
    sys.platform == "win32", reason="links need privileges and permissions differ on Windows"
)
@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o666, 0o444])
def test_the_permissions_of_a_file_outlast_its_replacement(permissions, system, tmp_path):
    target = tmp_path / "a.txt"
    target.write_bytes(b"old")
    target.chmod(permissions)
    with replacing(target) as file:
        file.write(b"new")
        for path in tmp_path.iterdir():  # nobody else may read the new content before
            assert stat.S_IMODE(path.stat().st_mode) & ~permissions == 0
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == permissions


def test_an_error_that_names_another_file_is_left_as_it_is(tmp_path):
    with pytest.raises(FileNotFoundError, match="'other'"), replacing(tmp_path / "a.txt"):
        Path("other").read_bytes()


def test_permissions_are_those_of_any_new_file(system, tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with replacing(tmp_path / "a.txt"):
        pass
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def failing(number):
    def fail(*_):
        raise OSError(number, os.strerror(number))

    return fail


@posix_only
def test_a_file_is_on_disk_before_it_replaces_another_one_and_its_name_afterwards(
    system, tmp_path, monkeypatch
):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    seen = []

    def record(descriptor, fsync=os.fsync):
        seen.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), path.read_bytes()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", record)
    with replacing(path) as file:
        file.write(b"newer")
    assert seen == [(False, b"old"), (True, b"newer")]


@pytest.mark.parametrize(
    "content", [b"some bytes", np.arange(6, dtype=np.int16).reshape(2, 3), b"", np.empty((0, 2))]
)
def test_all_bytes_are_written_however_few_a_call_takes(content, tmp_path, monkeypatch):
    monkeypatch.setattr(
        os, "write", lambda descriptor, rest, write=os.write: write(descriptor, rest[:3])
    )
    with (tmp_path / "a").open("wb", buffering=0) as file:
        write_all(file, content)
    assert (tmp_path / "a").read_bytes() == (
        content if isinstance(content, bytes) else content.tobytes()
    )


@posix_only
@pytest.mark.parametrize(("number", "is_raised"), [(errno.EINVAL, False), (errno.EIO, True)])
def test_a_system_that_cannot_sync_directories_is_not_an_error(
    number, is_raised, tmp_path, monkeypatch
):
    opened = []
    monkeypatch.setattr(
        os, "open", lambda *args, call=os.open: opened.append(call(*args)) or opened[-1]
    )
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


# -- files for a while


def test_a_temporary_file_is_found_by_its_path_and_goes_with_its_object(system, tmp_path):
    made = TemporaryFile(tmp_path)
    made.file.write(b"content")
    made.file.flush()
    path = Path(made)
    assert path.read_bytes() == b"content"
    file = made.file
    del made
    assert file.closed
    assert not path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_copy_shares_the_file(system, tmp_path):
    made = TemporaryFile(tmp_path)
    shared = copy.copy({"file": made})
    path = Path(made)
    del made
    assert path.exists()
    assert shared


def test_a_file_whose_path_was_sent_away_stays_until_the_process_ends(system, tmp_path):
    made = TemporaryFile(tmp_path)
    sent = pickle.loads(pickle.dumps(made))
    path = os.fspath(made)
    del made
    assert os.fspath(sent) == path
    assert Path(path).exists()


def test_a_file_that_windows_keeps_while_it_is_open_is_removed_later(tmp_path):
    with as_on("windows"):
        made = TemporaryFile(tmp_path)
        with Path(made).open("rb"):
            del made
            assert len(list(tmp_path.iterdir())) == 1
        TemporaryFile(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_a_directory_the_file_is_in_the_one_for_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with as_on("macos"):
        made = TemporaryFile()
    assert [Path(made)] == list(tmp_path.iterdir())


def test_a_file_without_a_buffer_has_its_content_at_once(tmp_path):
    made = TemporaryFile(tmp_path, buffering=0)
    made.file.write(b"content")
    assert Path(made).read_bytes() == b"content"


# -- strays --------------------------------------------------------------------------------------------------------


def test_what_is_not_clearly_ours_and_dead_stays(ended, tmp_path):
    stray = of_process(ended, "a.txt")
    others = [
        of_process(stem="a.txt"),
        of_process(ended, "b.txt"),
        of_process(ended, "a.txt", machine="0123abcd"),  # where it may be alive
        of_process(10**30, "a.txt"),  # no process can have had this number
        stray.removeprefix("."),
        ".a.txt.cohirf-0123456789abcdef",
    ]
    for name in others:
        (tmp_path / name).write_bytes(b"precious")
    folder = tmp_path / stray.replace("0123abcd", "00000002")
    folder.mkdir()
    (tmp_path / stray).write_bytes(b"")
    with replacing(tmp_path / "a.txt"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {*others, "a.txt", folder.name}


@pytest.mark.parametrize("make", ["a temporary file", "a file that takes the place of another"])
def test_the_next_file_clears_its_directory_of_strays(make, ended, system, tmp_path, monkeypatch):
    stem = "temporary" if make == "a temporary file" else "a.txt"
    (tmp_path / of_process(ended, stem)).write_bytes(b"half")
    (tmp_path / "a.txt").write_bytes(b"old")
    if make == "a temporary file":
        # as where the file system does not have it
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
        TemporaryFile(tmp_path)
    else:
        with replacing(tmp_path / "a.txt"):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


# -- kills ---------------------------------------------------------------------------------------------------------

IN_THE_MIDDLE = """
import sys
from pathlib import Path
if sys.argv[1] == "macos":
    import cohirf.store.files
    cohirf.store.files.DESCRIPTORS = Path("/missing")
from cohirf.store.files import TemporaryFile, replacing
with replacing(Path("a.txt")) as file:
    file.write(b"half")
    file.flush()
    made = TemporaryFile(".")
    print(flush=True)
    sys.stdin.read()
"""


def remove_strays(folder):
    """Do what comes next: write the same file again, and make another temporary one."""
    with replacing(folder / "a.txt"):
        pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "DESCRIPTORS", Path("/missing"))  # where a temporary file has a name
        TemporaryFile(folder)


@linux_only
@pytest.mark.parametrize("system_name", ["linux", "macos"])
@pytest.mark.parametrize("kill", ["SIGKILL", "SIGTERM"])
def test_a_kill_leaves_what_the_next_call_removes(kill, system_name, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", IN_THE_MIDDLE, system_name],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    found = list(tmp_path.iterdir())
    # on Linux, a temporary file has no name
    assert len(found) == (1 if system_name == "linux" else 2)
    remove_strays(tmp_path)
    assert set(tmp_path.iterdir()) == {*found, tmp_path / "a.txt"}  # the process is alive
    process.send_signal(signal.Signals[kill])
    process.communicate()
    assert process.returncode == -signal.Signals[kill]
    remove_strays(tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "a.txt"]


WRITING_EVERYTHING = """
import os, sys, threading, time
if sys.argv[1] != "linux":
    import pytest
    from other_systems import hide
    hide(sys.argv[1], pytest.MonkeyPatch())
from sklearn.cluster import KMeans
from cohirf import CoHiRF, open_source
from cohirf.app.cli import main
from cohirf.app.explain import write_report

everybody = threading.Barrier(4, timeout=200)

def stop(descriptor):
    everybody.wait()
    time.sleep(1000)

source = open_source("data.csv")
X = source.take(range(source.n_rows))
model = CoHiRF.as_published(KMeans(2, n_init=1), views=2, random_state=0).fit(X)
os.fsync = stop  # all is written, and nothing is in its place
for write in (
    lambda: model.save("kept.cohirf"),
    lambda: write_report(model, X, "report.html"),
    lambda: main(["fit", "data.csv", "--param", "n_clusters=2", "--out", "labels.csv", "--quiet"]),
):
    threading.Thread(target=write, daemon=True).start()
everybody.wait()
print("everything is written", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def killed(tmp_path):
    """Return a function that kills a process in the middle of everything it writes, and the folders
    it wrote to.
    """
    here = tmp_path / "here"
    for_a_while = tmp_path / "for a while"
    for folder in (here, for_a_while):
        folder.mkdir()
    (here / "data.csv").write_text(
        "a,b\n" + "".join(f"{i},{i % 2}\n" for i in range(20)), encoding="utf-8"
    )

    def kill_in_the_middle(kill, system_name):
        paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        process = subprocess.Popen(
            [sys.executable, "-c", WRITING_EVERYTHING, system_name],
            cwd=here,
            env=os.environ | {"TMPDIR": str(for_a_while), "PYTHONPATH": paths},
            stdout=subprocess.PIPE,
        )
        assert process.stdout.readline() == b"everything is written\n"
        process.send_signal(signal.Signals[kill])
        process.communicate()
        assert process.returncode == -signal.Signals[kill]
        return here, for_a_while

    return kill_in_the_middle


@linux_only
@pytest.mark.slow
def test_killed_conversions_reports_and_commands_leave_hidden_files(killed):
    here, for_a_while = killed("SIGKILL", "linux")
    assert [path.name for path in here.iterdir() if not path.name.startswith(".")] == ["data.csv"]
    assert list(for_a_while.iterdir()) == []


@linux_only
@pytest.mark.slow
def test_elsewhere_the_next_calls_remove_what_kills_leave(killed, monkeypatch):
    here, for_a_while = killed("SIGKILL", "macos")
    monkeypatch.setattr("tempfile.tempdir", str(for_a_while))
    assert len(list(here.iterdir())) == 1 + 3
    assert len(list(for_a_while.iterdir())) == 2  # the command has converted the file, too
    with as_on("macos"):
        CoHiRF(n_clusters=2).fit([[0.0], [1.0], [9.0], [8.0]]).save(here / "kept.cohirf")
        assert not list(here.glob(".kept.cohirf*"))
        assert len(list(for_a_while.iterdir())) == 2
        source = open_source(here / "data.csv")
        assert len(list(for_a_while.iterdir())) == 1
        del source
    assert list(for_a_while.iterdir()) == []
