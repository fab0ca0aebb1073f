"""Directories are replaced in one step, and what killed processes leave is removed by the next one."""

import ctypes
import errno
import os
import random
import signal
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from cohirf.durable import directories
from cohirf.durable.directories import exchange_by_renames, exchange_in_one_step, remove_strays, replacing_directory
from other_systems import OTHER_SYSTEMS, as_on
from systems import posix_only

NAMES = {"a.txt", "b.txt"}
STEM = ".cohirf-0123456789abcdef"


def fill(directory, text):
    directory.mkdir(exist_ok=True)
    (directory / "a.txt").write_text(text, encoding="utf-8")
    return directory


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def stray(tmp_path):
    """What a process leaves that is killed while it writes."""
    (tmp_path / f"{STEM}.lock").write_bytes(directories.MARK + b"target")
    return fill(tmp_path / STEM, "unfinished")


@pytest.mark.parametrize("system", [None, *OTHER_SYSTEMS])
def test_a_filled_directory_takes_the_place_of_the_old_one(system, tmp_path):
    with nullcontext() if system is None else as_on(system):
        for text in ("first", "second"):
            with replacing_directory(tmp_path / "target", NAMES) as unfinished:
                (unfinished / "a.txt").write_text(text, encoding="utf-8")
            assert (tmp_path / "target" / "a.txt").read_text(encoding="utf-8") == text
            assert names(tmp_path) == ["target"]


def test_an_error_leaves_the_old_directory_alone(tmp_path):
    fill(tmp_path / "target", "old")

    def write_half():
        with replacing_directory(tmp_path / "target", NAMES) as unfinished:
            (unfinished / "a.txt").write_text("half", encoding="utf-8")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert (tmp_path / "target" / "a.txt").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["target"]


def test_what_a_killed_process_left_is_removed(stray, tmp_path):
    with replacing_directory(tmp_path / "target", NAMES) as unfinished:
        assert names(tmp_path) == sorted([unfinished.name, f"{unfinished.name}.lock"])
    assert names(tmp_path) == ["target"]


@pytest.mark.parametrize("content", [b"", directories.MARK, directories.MARK + b"target"])
def test_a_claim_without_a_directory_is_removed(content, tmp_path):
    (tmp_path / f"{STEM}.lock").write_bytes(content)
    remove_strays(tmp_path, NAMES)
    assert names(tmp_path) == []


def test_what_a_living_process_is_writing_stays(tmp_path):
    with replacing_directory(tmp_path / "first", NAMES):
        with replacing_directory(tmp_path / "second", NAMES):
            assert len(names(tmp_path)) == 4
        assert len(names(tmp_path)) == 3
    assert names(tmp_path) == ["first", "second"]


@pytest.mark.parametrize(
    "make",
    [
        lambda path: (path / STEM).mkdir(),  # nothing says whose it is
        lambda path: (path / f"{STEM}.lock").write_text("somebody's notes", encoding="utf-8"),
        lambda path: (path / f"{STEM}.lock").mkdir(),
        lambda path: (path / f"{STEM}.lock").symlink_to("elsewhere"),
        pytest.param(lambda path: os.mkfifo(path / f"{STEM}.lock"), marks=posix_only),
        lambda path: (path / ".cohirf-mine.lock").write_bytes(b""),
        lambda path: (path / "notes.lock").write_bytes(b""),
    ],
    ids=["directory", "text", "lock directory", "link", "pipe", "other name", "lock"],
)
def test_what_may_be_somebody_elses_stays(make, tmp_path):
    make(tmp_path)
    before = names(tmp_path)
    remove_strays(tmp_path, NAMES)
    assert names(tmp_path) == before


def test_a_stray_that_holds_anything_else_stays(stray, tmp_path):
    (stray / "thesis.tex").write_text("mine", encoding="utf-8")
    remove_strays(tmp_path, NAMES)
    assert names(tmp_path) == [STEM, f"{STEM}.lock"]
    assert (stray / "a.txt").exists()


def test_a_stray_that_cannot_be_opened_does_not_keep_others(stray, tmp_path, monkeypatch):
    (tmp_path / f"{STEM[:-1]}0.lock").write_bytes(directories.MARK + b"target")
    opened = []

    def open_all_but_the_first(path, open_regular=directories.open_regular, **options):
        opened.append(path)
        if len(opened) == 1:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return open_regular(path, **options)

    monkeypatch.setattr(directories, "open_regular", open_all_but_the_first)
    remove_strays(tmp_path, NAMES)
    assert len(opened) == 2
    assert opened[0].exists()
    assert not opened[1].exists()


def test_a_link_in_the_place_of_a_stray_is_not_followed(tmp_path):
    fill(tmp_path / "mine", "mine")
    (tmp_path / f"{STEM}.lock").write_bytes(directories.MARK + b"target")
    (tmp_path / STEM).symlink_to(tmp_path / "mine")
    remove_strays(tmp_path, NAMES)
    assert (tmp_path / "mine" / "a.txt").read_text(encoding="utf-8") == "mine"


def test_a_directory_that_was_parked_when_its_process_was_killed_gets_its_name_back(stray, tmp_path):
    parked = fill(tmp_path / f"{STEM}-parked", "old")
    remove_strays(tmp_path, NAMES)
    assert names(tmp_path) == ["target"]
    assert (tmp_path / "target" / "a.txt").read_text(encoding="utf-8") == "old"
    (tmp_path / f"{STEM}.lock").write_bytes(directories.MARK + b"target")
    fill(parked, "older")
    remove_strays(tmp_path, NAMES)  # killed a moment later: the new one has its place
    assert names(tmp_path) == ["target"]
    assert (tmp_path / "target" / "a.txt").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize("target", [b"", b"..", b"../target", b"/etc", b"a\0b"])
def test_a_claim_that_names_no_directory_beside_it_moves_nothing(target, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    (place / f"{STEM}.lock").write_bytes(directories.MARK + target)
    fill(place / f"{STEM}-parked", "old")
    remove_strays(place, NAMES)
    assert names(tmp_path) == ["place"]
    assert names(place) == [f"{STEM}-parked", f"{STEM}.lock"]


@pytest.mark.parametrize("exchange", [exchange_in_one_step, exchange_by_renames])
def test_two_directories_change_places(exchange, tmp_path):
    left, right = fill(tmp_path / "left", "left"), fill(tmp_path / "right", "right")
    if exchange(left, right) is False:
        pytest.skip("this system cannot do it in one step")
    assert ((left / "a.txt").read_text(encoding="utf-8"), (right / "a.txt").read_text(encoding="utf-8")) == (
        "right",
        "left",
    )
    assert names(tmp_path) == ["left", "right"]


@pytest.mark.parametrize(("status", "worked"), [(0, True), (-1, False)])
def test_the_system_is_asked_to_exchange_two_paths_in_one_step(status, worked, tmp_path, monkeypatch):
    asked = []
    library = SimpleNamespace(renameat2=lambda *arguments: asked.append(arguments) or status)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library if name is None else pytest.fail("another library"))
    assert exchange_in_one_step(tmp_path / "left", tmp_path / "right") is worked
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    assert asked == [(here, os.fsencode(tmp_path / "left"), here, os.fsencode(tmp_path / "right"), exchange)]


def test_saving_goes_on_where_there_are_no_locks(tmp_path, monkeypatch):
    def no_locks(_):
        raise OSError("not here")

    monkeypatch.setattr(directories, "try_lock", no_locks)
    with replacing_directory(tmp_path / "target", NAMES) as unfinished:
        (unfinished / "a.txt").write_text("new", encoding="utf-8")
    assert names(tmp_path) == ["target"]


def test_a_claim_names_the_directory_that_is_replaced(tmp_path):
    with replacing_directory(tmp_path / "target", NAMES) as unfinished:
        claim = unfinished.with_name(f"{unfinished.name}.lock")
        assert claim.read_bytes() == directories.MARK + b"target"


def test_a_claim_that_another_process_removes_as_a_stray_is_made_again(tmp_path, monkeypatch):
    claims = []

    def lock_too_late(file, try_lock=directories.try_lock):
        (claim,) = (path for path in tmp_path.iterdir() if path.suffix == ".lock")
        claims.append(claim)
        if len(claims) == 1:
            claim.unlink()
        return try_lock(file)

    monkeypatch.setattr(directories, "try_lock", lock_too_late)
    with replacing_directory(tmp_path / "target", NAMES) as unfinished:
        assert names(tmp_path) == [unfinished.name, f"{unfinished.name}.lock"]
    assert len(set(claims)) == 2
    assert names(tmp_path) == ["target"]


@pytest.mark.parametrize("one_step", [True, False])
@pytest.mark.parametrize("old", [None, "old"])
def test_a_directory_whose_new_name_cannot_be_written_to_disk_is_not_replaced(old, one_step, tmp_path, monkeypatch):
    def fail_beside_the_target(directory, sync=directories.sync_directory):
        if directory == tmp_path:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(directory)

    if not one_step:
        monkeypatch.setattr(directories, "exchange_in_one_step", lambda *_: False)
    if old is not None:
        fill(tmp_path / "target", old)
    monkeypatch.setattr(directories, "sync_directory", fail_beside_the_target)
    with (
        pytest.raises(OSError, match=os.strerror(errno.EIO)),
        replacing_directory(tmp_path / "target", NAMES) as unfinished,
    ):
        fill(unfinished, "new")
    assert names(tmp_path) == ([] if old is None else ["target"])
    assert old is None or (tmp_path / "target" / "a.txt").read_text(encoding="utf-8") == old


@pytest.mark.parametrize("failing_rename", [1, 2, 3])
def test_two_directories_keep_their_places_if_a_rename_fails(failing_rename, tmp_path, monkeypatch):
    left, right = fill(tmp_path / "left", "left"), fill(tmp_path / "right", "right")
    calls = []

    def rename(source, target, replace=Path.replace):
        calls.append(source)
        if len(calls) == failing_rename:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(source, target)

    monkeypatch.setattr(Path, "replace", rename)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        exchange_by_renames(left, right)
    assert {path.name: (path / "a.txt").read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "left": "left",
        "right": "right",
    }


def replace_for_ever(target):
    while True:
        with replacing_directory(target, NAMES) as unfinished:
            for name in sorted(NAMES):
                (unfinished / name).write_text("x" * 1000, encoding="utf-8")


@posix_only
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("one_step", [True, False])
def test_nothing_but_the_directory_is_left_after_kills_at_random_moments(one_step, tmp_path, monkeypatch):
    if not one_step:
        monkeypatch.setattr(directories, "exchange_in_one_step", lambda *_: False)
    for number in range(8):
        child = os.fork()
        if child == 0:
            replace_for_ever(tmp_path / "target")
        time.sleep(random.Random(number).uniform(0.005, 0.03))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with replacing_directory(tmp_path / "target", NAMES) as unfinished:
            (unfinished / "a.txt").write_text("new", encoding="utf-8")
        assert names(tmp_path) == ["target"]
