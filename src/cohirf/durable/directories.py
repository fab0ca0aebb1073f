"""Replace a directory atomically, and clean up after processes that were killed while they did so.

A directory is written under a temporary name beside its target and then renamed. Meanwhile a *claim*, a locked file
beside both, shows that its owner is alive. A killed process leaves the claim, which the operating system has unlocked,
and possibly the unfinished directory: the next process that replaces a directory there removes both.
"""

from __future__ import annotations

import ctypes
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from cohirf.durable.files import sync_directory, write_all
from cohirf.durable.locks import try_lock
from cohirf.durable.reading import names_in, open_regular

CLAIM = re.compile(r"\.cohirf-[0-9a-f]{16}\.lock")
MARK = b"cohirf replaces a directory: "  # followed by its name
MAX_NAME_BYTES = 4096


@contextmanager
def replacing_directory(target: Path, names: Set[str]) -> Iterator[Path]:
    """Yield an empty directory to write files to; on success it replaces ``target`` atomically.

    Parameters
    ----------
    target : path
        The directory to create or to replace.
    names : set of str
        Allowed names of files in it. Unfinished directories that killed processes left beside ``target`` are removed
        first, unless they contain files with other names.
    """
    remove_strays(target.parent, names)
    with _claimed(target) as workplace:
        try:
            workplace.mkdir()
            yield workplace
            sync_directory(workplace)
            _publish(workplace, target)
        finally:
            # it holds the files of a failed attempt, or the directory that was replaced
            shutil.rmtree(workplace, ignore_errors=True)


def remove_strays(directory: Path, names: Set[str]) -> None:
    """Remove unfinished directories of killed processes; keep everything that may belong to somebody else."""
    with suppress(OSError):  # the next write to this directory reports the problem
        for path in directory.iterdir():
            if CLAIM.fullmatch(path.name):
                with suppress(OSError, ValueError):  # no permission to remove it, or not a valid claim
                    _remove_stray(path, names)


@contextmanager
def _claimed(target: Path) -> Iterator[Path]:
    """Yield the path of a working directory, while a locked file beside it shows that its owner is alive."""
    while True:
        claim = target.with_name(f".cohirf-{secrets.token_hex(8)}.lock")
        workplace = _workplace(claim)
        with claim.open("xb", buffering=0) as file:
            if not _hold(file, claim):
                continue
            try:
                write_all(file, MARK + os.fsencode(target.name))
                yield workplace
            finally:
                _discard(claim)
        _discard(claim)
        return


def _hold(file: IO[bytes], claim: Path) -> bool:
    """Lock a new claim; return False if another process has removed it as a stray before it was locked."""
    try:
        is_locked = try_lock(file)
    except OSError:  # without file locks, no process removes strays
        return True
    return is_locked and claim.exists()


def _discard(claim: Path) -> None:
    """Remove a claim if its working directory is gone; otherwise the next process tries again.

    It is called while the claim is locked, so that no other process takes it for a stray, and again after the claim is
    closed, because Windows cannot remove an open file.
    """
    workplace = _workplace(claim)
    if not (workplace.exists() or _parked(workplace).exists()):
        with suppress(OSError):
            claim.unlink(missing_ok=True)


def _remove_stray(claim: Path, names: Set[str]) -> None:
    with open_regular(claim, for_writing=True) as file:
        if not try_lock(file):  # its owner is alive
            return
        content = file.read(MAX_NAME_BYTES)
        if content and not content.startswith(MARK):
            return
        workplace = _workplace(claim)
        parked = _parked(workplace)
        if parked.is_dir():
            target = _beside(claim, os.fsdecode(content[len(MARK) :]))
            if not target.exists():  # killed between two renames: the old directory gets its name back
                parked.replace(target)
        for left in (workplace, parked):
            if left.is_dir() and names_in(left, len(names)) <= names:
                shutil.rmtree(left)  # does not follow links
        _discard(claim)
    _discard(claim)


def _beside(claim: Path, name: str) -> Path:
    if name in (".", ".."):  # with_name refuses empty names and names with separators
        raise ValueError(f"{name!r} is not the name of a directory")
    return claim.with_name(name)


def _workplace(claim: Path) -> Path:
    return claim.with_suffix("")


def _parked(workplace: Path) -> Path:
    return workplace.with_name(f"{workplace.name}-parked")


def _publish(workplace: Path, target: Path) -> None:
    """Move the finished directory to ``target``; the replaced directory is then at ``workplace``."""
    swap = _exchange if target.exists() else Path.replace
    swap(workplace, target)
    try:
        sync_directory(target.parent)
    except OSError:
        if workplace.exists():
            _exchange(workplace, target)
        else:
            target.replace(workplace)
        raise


def _exchange(left: Path, right: Path) -> None:
    """Exchange two directories, atomically if the operating system can do it."""
    if not exchange_in_one_step(left, right):
        exchange_by_renames(left, right)


def exchange_in_one_step(left: Path, right: Path) -> bool:
    """Exchange two directories with Linux's renameat2, which Python does not provide; return whether it worked."""
    at_working_directory, rename_exchange = -100, 2
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    paths = os.fsencode(left), os.fsencode(right)
    return bool(rename(at_working_directory, paths[0], at_working_directory, paths[1], rename_exchange) == 0)


def exchange_by_renames(left: Path, right: Path) -> None:
    """Exchange two directories in three renames; after a kill in between, ``remove_strays`` restores the old one."""
    parked = _parked(left)
    right.replace(parked)
    try:
        left.replace(right)
        parked.replace(left)
    except OSError:
        if right.exists():
            right.replace(left)
        parked.replace(right)
        raise
