"""Every fault of the file system is survived: the fit says what failed and where, and goes on when
it is called again.

The calls to the system that checkpoints and scratch files make are counted, and the k-th one fails:
for k = 1, 2 and so on, until a fit gets through without a fault.
"""

import contextlib
import errno
import gc
import io
import itertools
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from benchmarks.faults import count_records

from cohirf import open_source
from cohirf.store import checkpoint
from descriptors import open_files
from resumable import Cells, X, fit, make_model, result
from systems import linux_only

fcntl = pytest.importorskip("fcntl", reason="the calls that fail here are those of POSIX")
resource = pytest.importorskip("resource", reason="the calls that fail here are those of POSIX")

# batches are tiny here, so that there are many
pytestmark = pytest.mark.filterwarnings("ignore::cohirf.ThinBatchesWarning")

DATA = X[:60]
OURS = ("cohirf.store", "cohirf.scratch")
SEAM = [
    (io, "open"),
    (fcntl, "flock"),
    (mmap, "mmap"),
    *(
        (os, name)
        for name in (
            "open",
            "read",
            "write",
            "fsync",
            "ftruncate",
            "replace",
            "mkdir",
            "unlink",
            "scandir",
        )
    ),
    # macOS has not all
    *((os, name) for name in ("fstat", "stat", "posix_fallocate", "utime") if hasattr(os, name)),
]
EXIT_CODE = 77


@pytest.fixture(autouse=True)
def sync_after_each_batch(monkeypatch):
    monkeypatch.setitem(vars(checkpoint.CHECKPOINT), "sync_seconds", -1)


@pytest.fixture(scope="module")
def whole():
    found, calls = fit(small_model(), open_source(DATA))
    return result(found), calls


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint"


class Crash(BaseException):
    """The process ends here."""


class Faults:
    """Counts calls to the system and lets one of them fail, or the process end in the middle of
    it.
    """

    def __init__(self, fail_at, end):
        self.fail_at = fail_at
        self.end = end
        self.n_calls = 0

    @contextmanager
    def injected(self):
        with pytest.MonkeyPatch.context() as patch:
            for module, name in SEAM:
                patch.setattr(module, name, self._counting(name, getattr(module, name)))
            yield

    def _counting(self, name, original):
        def call(*args, **kwargs):
            # as the end of a process does
            unlocks = self.end is not None and args[1:] == (fcntl.LOCK_UN,)
            if unlocks or not _is_ours(sys._getframe(1)):
                return original(*args, **kwargs)
            self.n_calls += 1
            if self.n_calls == self.fail_at and self.end is not None:
                _do_half(name, original, args, kwargs)
                self.end()
            if self.n_calls == self.fail_at or (
                self.n_calls > self.fail_at and self.end is not None
            ):
                code = errno.EIO if self.fail_at % 2 else errno.ENOSPC
                raise OSError(code, os.strerror(code))
            return original(*args, **kwargs)

        return call


def _is_ours(frame):
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(OURS):
            return True
        frame = frame.f_back
    return False


def _do_half(name, original, args, kwargs):
    """Write half of what is to be written; do all of other calls."""
    if name == "write":
        file, content = args
        args = file, content[: len(content) // 2]
    with contextlib.suppress(OSError):
        opened = original(*args, **kwargs)
        if hasattr(opened, "close"):
            opened.close()


def crash():
    """End the fit; what it tries to do to files on its way out fails, so that they stay as a kill
    leaves them.
    """
    raise Crash


def leave():
    os._exit(EXIT_CODE)


def small_model(path=None):
    return make_model(path, estimator=Cells(width=2.0), batch_size=20)


def fit_small(path):
    return fit(small_model(path), open_source(DATA))


def fit_with_fault(path, fail_at, end=None):
    """Fit while a call fails; return whether it came to that, and the error that the user sees."""
    faults = Faults(fail_at, end)
    with faults.injected():
        try:
            fit_small(path)
        except (OSError, Crash) as error:
            return True, error
    return faults.n_calls >= fail_at, None


def is_clear(error, path):
    """Tell whether an error says what was not done, and names the path."""
    if isinstance(error, Crash):
        return True
    of_checkpoint = str(error.filename).startswith(
        str(path.parent)
    ) and "The checkpoint was not " in str(error)
    return of_checkpoint or f"{tempfile.gettempdir()}, the directory for temporary files" in str(
        error
    )


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """The checkpoint of a fit that was killed while it wrote its third record."""
    path = tmp_path_factory.mktemp("stopped") / "checkpoint"
    fit(small_model(path), open_source(DATA), stop_at=4)
    journal = path / "journal"
    os.truncate(journal, journal.stat().st_size - 9)
    return path


def check_that_it_goes_on(path, whole, n_before):
    """Resume; return how many batches the checkpoint held before that."""
    n_after = count_records(path / "journal")
    assert n_after >= n_before
    found, calls = fit_small(path)
    assert result(found) == whole[0]
    assert calls == whole[1][n_after:]
    assert sorted(file.name for file in path.iterdir()) == ["journal", "lock"]
    shutil.rmtree(path)
    return n_after


# every fourth call, or all of them
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("resumed", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.parametrize("end", [None, crash])
def test_a_fit_goes_on_after_any_fault(end, resumed, step, stopped, tmp_path, whole, monkeypatch):
    # what a process leaves is removed once it has ended; the one of this test goes on
    if end is crash:
        monkeypatch.setattr(
            "cohirf.store.files.psutil.pid_exists", lambda process: process != os.getpid()
        )
    for fail_at in itertools.count(1 if end is None else 2, step):
        path = tmp_path / str(fail_at)
        if resumed:
            shutil.copytree(stopped, path)
        n_before = count_records(path / "journal")
        happened, error = fit_with_fault(path, fail_at, end)
        assert error is None or is_clear(error, path), (fail_at, error)
        n_after = check_that_it_goes_on(path, whole, n_before)
        went_on = resumed and error is not None and n_after > n_before
        if not happened or went_on:  # from there on a resumed fit is like any other
            break
    assert fail_at > 20


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("fail_at", [13, 33, 45])
def test_a_fit_goes_on_after_its_process_left_in_the_middle_of_a_call(fail_at, tmp_path, whole):
    path = tmp_path / "checkpoint"
    child = os.fork()
    if child == 0:
        fit_with_fault(path, fail_at, leave)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == EXIT_CODE
    check_that_it_goes_on(path, whole, 0)


ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="the benchmarks are not here")
def test_a_fit_goes_on_after_its_process_group_was_killed():
    options = ["--kills", "3", "--in-processes", "0", "--flips", "0", "--rows", "6000"]
    command = [sys.executable, "-m", "benchmarks.faults.checkpoints", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "3 of 3 kills survived" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


# -- full disks


def not_written(path, reason):
    message = (
        f"The checkpoint was not written ({reason}): the batches it already holds are intact, and "
        f"the same fit resumes from there: {str(path / 'journal')!r}"
    )
    return pytest.raises(OSError, match=rf"^\[Errno \d+\] {re.escape(message)}$")


def no_room(directory, reason):
    message = (
        f"{directory}, the directory for temporary files of the fit, {reason}: free some space, or "
        "set the environment variable TMPDIR to another directory"
    )
    return pytest.raises(OSError, match=rf"^\[Errno \d+\] {re.escape(message)}$")


@contextmanager
def largest_file(n_bytes):
    """Let files grow no further than this."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own with room for a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", str(disk)]
    if (
        shutil.which("mount") is None
        or subprocess.run(mount, capture_output=True, check=False).returncode != 0
    ):
        pytest.skip("only a privileged user can mount a file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill(disk, leave):
    """Fill a disk up, but for some bytes, and return the file that does it."""
    room = os.statvfs(disk)
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(room.f_bavail * room.f_frsize - leave))
    return ballast


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_journal_that_cannot_grow_is_named_and_the_fit_goes_on_later(n_jobs, path, whole):
    with largest_file(4500), not_written(path, "File too large"):
        fit(small_model(path).set_params(n_jobs=n_jobs), open_source(DATA))
    n_written = count_records(path / "journal")
    assert n_written > 0
    check_that_it_goes_on(path, whole, n_written)


@linux_only
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_whose_checkpoint_fails_closes_its_scratch_files(n_jobs, path, monkeypatch):
    scratch = path.with_name("scratch")
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    model = small_model(path).set_params(n_jobs=n_jobs)
    gc.disable()  # it would close them later
    try:
        with largest_file(4500), not_written(path, "File too large"):
            fit(model, open_source(DATA))
        assert [name for name in open_files() if name.startswith(str(scratch))] == []
    finally:
        gc.enable()


def test_a_full_disk_under_the_checkpoint_is_named_and_the_fit_goes_on_later(small_disk):
    data = open_source(np.random.default_rng(0).normal(size=(3000, 3)))
    whole, calls = fit(make_model(batch_size=300), data)
    model = make_model(small_disk / "checkpoint", batch_size=300)
    fit(model, data, stop_at=4)
    ballast = fill(small_disk, leave=0)
    with not_written(small_disk / "checkpoint", "No space left on device"):
        fit(model, data)
    n_written = count_records(small_disk / "checkpoint" / "journal")
    assert n_written >= 3
    ballast.unlink()
    resumed, rest = fit(model, data)
    assert rest == calls[n_written:]
    assert result(resumed) == result(whole)


def test_a_disk_that_is_full_from_the_start_is_named(small_disk, whole):
    path = small_disk / "checkpoint"
    path.mkdir()
    ballast = fill(small_disk, leave=0)
    with pytest.raises(
        OSError,
        match=r"The checkpoint was not opened \(No space left on device\): give .*checkpoint",
    ):
        fit_small(path)
    assert sorted(file.name for file in path.iterdir()) == ["lock"]
    ballast.unlink()
    check_that_it_goes_on(path, whole, 0)


def test_scratch_files_that_cannot_grow_name_their_directory(path, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with largest_file(100), no_room(tmp_path, "cannot be written to (File too large)"):
        fit_small(None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("leave", [0, 4096, 8192, 12288])
def test_a_full_disk_under_the_scratch_files_is_named_and_the_fit_goes_on_later(
    leave, small_disk, path, monkeypatch
):
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    ballast = fill(small_disk, leave)
    with no_room(small_disk, "is full"):
        fit(small_model(path), open_source(DATA))
    ballast.unlink()
    assert list(small_disk.iterdir()) == []
    assert result(fit(small_model(path), open_source(DATA))[0]) == result(
        fit(small_model(), open_source(DATA))[0]
    )
