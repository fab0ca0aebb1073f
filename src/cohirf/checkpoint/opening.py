"""Open the directory of a checkpoint: check that it belongs to this fit, and lock it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cohirf.checkpoint.errors import CheckpointError, naming_operation
from cohirf.checkpoint.journal import Journal
from cohirf.durable.errors import CONTENT_ERRORS
from cohirf.durable.files import replace_file, sync_directory
from cohirf.durable.json_text import require_count, require_keys, seal, unseal
from cohirf.durable.locks import try_lock
from cohirf.durable.reading import read_bytes

FORMAT, FORMAT_VERSION = "cohirf-checkpoint", 4
MANIFEST, JOURNAL, LOCK = "manifest.json", "journal", "lock"
MAX_MANIFEST_BYTES = 2**26  # the parameters of a base method may be long


@dataclass
class Checkpoint:
    """An open checkpoint, held by this process alone.

    Attributes
    ----------
    settled : dict
        Settings that were resolved when the fit began, and are used again when it resumes: ``entropy`` and
        ``batch_size``.
    journal : Journal
        The results of the batches.
    """

    settled: dict[str, Any]
    journal: Journal


@contextmanager
def open_checkpoint(
    directory: str | os.PathLike[str], fit: dict[str, Any], settle: Callable[[], dict[str, Any]]
) -> Iterator[Checkpoint]:
    """Open the checkpoint of a fit, or create it.

    Parameters
    ----------
    directory : path
        The directory of the checkpoint. Its parent must exist.
    fit : dict
        Everything that the result of the fit depends on, by name. A checkpoint with any other value is refused.
    settle : callable
        Resolves the settings that the user left open. It is called only when a checkpoint is created.
    """
    path = Path(directory)
    with ExitStack() as stack:
        with naming_operation(path, "opened"):
            _make_directory(path)
            _refuse_strangers(path)
            stack.enter_context(_locked(path))
            is_new = not (path / MANIFEST).exists()
        settled = settle() if is_new else {}
        with naming_operation(path, "opened"):
            if is_new:
                _begin(path, fit, settled)
            body, digest = _read_manifest(path)
            _refuse_another_fit(path, body["fit"], fit)
            journal = stack.enter_context(Journal(path / JOURNAL, digest))
        yield Checkpoint(body["settled"], journal)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir()
    except FileExistsError as error:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from error
    else:
        sync_directory(path.parent)


def _refuse_strangers(path: Path) -> None:
    """Refuse a directory with files that do not belong to a checkpoint, apart from hidden files."""
    own = {MANIFEST, f"{MANIFEST}.new", JOURNAL, LOCK}
    with os.scandir(path) as entries:
        seen = [entry for entry in entries if not entry.name.startswith(".")]
    strangers = [entry.name for entry in seen if entry.name not in own or not entry.is_file(follow_symlinks=False)]
    if strangers:
        raise CheckpointError(
            f"checkpoint={str(path)!r} contains {min(strangers)!r}, which does not belong to a checkpoint: give an "
            f"empty or new directory."
        )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a checkpoint."""
    with (path / LOCK).open("a") as lock:
        if not try_lock(lock):
            raise CheckpointError(
                f"checkpoint={str(path)!r} is in use by another fit: wait until that ends, or give another directory."
            )
        yield


def _begin(path: Path, fit: dict[str, Any], settled: dict[str, Any]) -> None:
    """Create an empty journal, then the manifest."""
    journal = path / JOURNAL
    if journal.exists() and journal.stat().st_size > 0:
        raise CheckpointError(f"{path} has a journal but no {MANIFEST}: delete the directory to start again.")
    journal.touch()
    replace_file(path / MANIFEST, seal({"format": FORMAT, "version": FORMAT_VERSION, "fit": fit, "settled": settled}))


def _read_manifest(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the content of a manifest and its SHA-256; refuse one that is damaged or of another version."""
    try:
        text = read_bytes(path / MANIFEST, MAX_MANIFEST_BYTES)
        _refuse_another_version(path, json.loads(text))
        body = require_keys(unseal(text), {"format", "version", "fit", "settled"}, "the manifest")
        if (body["format"], body["version"]) != (FORMAT, FORMAT_VERSION) or not isinstance(body["fit"], dict):
            raise ValueError("it is not the manifest of a checkpoint")
        _check_settled(body["settled"])
    except CheckpointError:
        raise
    except (*CONTENT_ERRORS, RecursionError) as error:
        raise CheckpointError(f"{path / MANIFEST} is damaged: delete {path} to start again.") from error
    return body, hashlib.sha256(text).digest()


def _refuse_another_version(path: Path, content: Any) -> None:
    version = content["version"] if content["format"] == FORMAT else None
    if type(version) is int and version != FORMAT_VERSION:
        raise CheckpointError(
            f"{path / MANIFEST} has format version {version}, but this version of cohirf reads version "
            f"{FORMAT_VERSION}: use the version of cohirf that wrote it, or give another directory."
        )


def _check_settled(content: Any) -> None:
    settled = require_keys(content, {"entropy", "batch_size"}, "settled")
    if not isinstance(settled["entropy"], list) or not 0 < len(settled["entropy"]) <= 16:
        raise ValueError("entropy must be a list of a few numbers")
    for word in settled["entropy"]:
        require_count(word, "entropy")
    if settled["batch_size"] is not None and require_count(settled["batch_size"], "batch_size") < 2:
        raise ValueError("batch_size must be null or at least 2")


def _refuse_another_fit(path: Path, was: dict[str, Any], now: dict[str, Any]) -> None:
    for name in dict.fromkeys([*was, *now]):
        if was.get(name) != now.get(name):
            raise CheckpointError(
                f"checkpoint={str(path)!r} belongs to another fit: {name} was {was.get(name, 'not given')} and is "
                f"{now.get(name, 'not given')}. Give another directory, or repeat the fit it belongs to."
            )
