"""Parties in other processes or on other machines: a folder in which they exchange small files.

The coordinator writes numbered requests, and each party a reply to each. All files are written as a
whole. The state of the coordinator follows from the replies, so that one that was killed starts
again with the first request, finds the replies there, and goes on where it was. A party answers
requests that have no reply of it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cohirf.parties.coordinator import PartyResult, check_parties, coordinate
from cohirf.parties.party import Party, PartyError, Request
from cohirf.rows.grouping import IntArray
from cohirf.store import schema
from cohirf.store.archive import Archive, Kind
from cohirf.store.files import refusing, replacing, shown

WRITE_ANEW = "Remove the file, and start its writer again: it writes it anew."

PARTIES = Kind("cohirf-parties", version=2)

Paths = str | os.PathLike[str]
Message = TypeVar("Message")


@dataclass(frozen=True)
class Joined:
    """What a party says of itself when it joins."""

    party: str
    n_rows: int
    ids: str | None  # digest of the names of all rows
    n_views: int


@dataclass(frozen=True, eq=False)
class Reply:
    """The answer of a party, and the digest of the request that it answers."""

    party: str
    of: str
    answer: IntArray


def join(folder: Paths, party: Party, *, timeout: float | None = None) -> IntArray:
    """Take part: answer requests in a folder until the coordinator has ended.

    A party that was killed is started again by the same call.

    Parameters
    ----------
    folder : str or path
        A folder that all parties and the coordinator can read and write to. It is created if it
        does not exist.
    party : Party
        The party.
    timeout : float, default=None
        Longest time in seconds to wait for the next request; None means for ever.

    Returns
    -------
    labels : array of int
        The cluster of each row.

    Raises
    ------
    PartyError
        If another party of this name has joined, or a file is damaged.
    TimeoutError
        If no request comes in time.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    about = Joined(party.name, party.n_rows, party.ids_digest, party.n_views)
    path = folder / f"{party.name}.joined"
    if not path.exists():
        _send(party, path, {"kind": "join"}, about)
    elif _read_message(path, Joined) != about:
        raise _error(
            path,
            f"another party named {party.name} has joined: give another name, or another folder.",
        )
    for number in count(1):
        asked = _request_path(folder, number)
        _wait([asked], timeout, "The coordinator")
        request = _read_message(asked, Request)
        path = _reply_path(folder, number, party.name)
        if request.kind == "done":
            return np.asarray(request.clusters)
        if not path.exists():
            reply = Reply(party.name, _request_digest(request), party.answer(request))
            _send(party, path, {"number": number, "kind": request.kind}, reply)
    raise AssertionError("requests are numbered without end")


def run_folder(
    folder: Paths, n_parties: int, *, timeout: float | None = None, **options: Any
) -> PartyResult:
    """Coordinate the parties that join in a folder.

    A coordinator that was killed is started again by the same call.

    Parameters
    ----------
    folder : str or path
        The folder.
    n_parties : int
        How many parties to wait for.
    timeout : float, default=None
        Longest time in seconds to wait for the parties; None means for ever.
    **options
        ``n_clusters``, ``consensus``, ``medoid_weights`` and ``max_iter``, as in
        :func:`cohirf.parties.run`.

    Returns
    -------
    result : PartyResult
        As :func:`cohirf.parties.run` returns it for parties in this process.

    Raises
    ------
    PartyError
        If the parties have different rows, if the folder has another run, or if a file is damaged.
    TimeoutError
        If a party does not answer in time.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return coordinate(_Folder(folder, n_parties, timeout), **options)


class _Folder:
    """Parties that join in a folder."""

    def __init__(self, folder: Path, n_parties: int, timeout: float | None) -> None:
        self._folder = folder
        self._timeout = timeout
        joined = _Waiting(timeout)
        while len(found := sorted(folder.glob("*.joined"))) < n_parties:
            joined.wait(f"{len(found)} of {n_parties} parties have joined in {folder}")
        about = [_read_message(path, Joined) for path in found]
        if len(found) > n_parties:
            names = ", ".join(one.party for one in about)
            raise PartyError(
                f"n_parties={n_parties}, but {names} have joined in {folder}: give {len(found)}."
            )
        check_parties({one.party: (one.n_rows, one.ids) for one in about})
        self.n_rows = about[0].n_rows
        self._views = {one.party: one.n_views for one in about}

    def ask(self, request: Request) -> list[IntArray]:
        """Write a request, unless it is there, and return the answer of each party."""
        path = _request_path(self._folder, request.number)
        content = _to_bytes(request)
        if not path.exists():
            _write_message(path, content)
        elif path.read_bytes() != content:
            raise _error(
                path,
                "it belongs to a run with other parameters or parties: give these, or another "
                "folder.",
            )
        if request.kind == "done":
            return []
        replies = {name: _reply_path(self._folder, request.number, name) for name in self._views}
        _wait(list(replies.values()), self._timeout, "A party")
        return [self._read_reply(path, request, name) for name, path in replies.items()]

    def _read_reply(self, path: Path, request: Request, name: str) -> IntArray:
        reply = _read_message(path, Reply)
        n_rows = len(request.rows)
        if request.kind == "label":
            shape: tuple[int, ...] = (n_rows, self._views[name])
        else:
            shape = (n_rows,)
        if reply.of != _request_digest(request) or reply.party != name:
            raise _error(
                path,
                f"it answers another request than number {request.number} of this run. "
                f"{WRITE_ANEW}",
            )
        if reply.answer.shape != shape or reply.answer.dtype.kind != "i":
            raise _error(path, f"it must have integers of shape {shape}, not {reply.answer.shape}.")
        return reply.answer


def _send(party: Party, path: Path, what: dict[str, Any], message: Any) -> None:
    """Write a file of a party, after its log says so."""
    content = _to_bytes(message)
    party.note({**what, "file": path.name}, content)
    _write_message(path, content)


def _to_bytes(message: Any) -> bytes:
    """Return a message as the bytes of a file."""
    with tempfile.TemporaryFile(buffering=0) as file:  # an archive writes to descriptors
        archive = Archive(file)
        archive.begin(*PARTIES)
        archive.append(*schema.write(type(message), message))
        file.seek(0)
        return file.read()


def _request_digest(request: Request) -> str:
    return hashlib.sha256(_to_bytes(request)).hexdigest()


def _write_message(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def _read_message(path: Path, kind: type[Message]) -> Message:
    """Return the message of a file."""
    with refusing(path, PartyError, WRITE_ANEW), path.open("rb", buffering=0) as file:
        archive = Archive(file)
        archive.open(*PARTIES)
        message: Message = schema.read(kind, *archive.next())
        return message


def _error(path: Path, reason: str) -> PartyError:
    return PartyError(f"{shown(path)}: {reason}")


def _request_path(folder: Path, number: int) -> Path:
    return folder / f"{number:04d}.request"


def _reply_path(folder: Path, number: int, name: str) -> Path:
    return folder / f"{number:04d}.{name}.reply"


def _wait(paths: list[Path], timeout: float | None, who: str) -> None:
    waiting = _Waiting(timeout)
    while missing := [path for path in paths if not path.exists()]:
        waiting.wait(f"{who} has not written {missing[0]}")


class _Waiting:
    """Waits a little longer each time, and not beyond a time limit."""

    def __init__(self, timeout: float | None) -> None:
        self._until = None if timeout is None else time.monotonic() + timeout
        self._seconds = 0.01  # between two looks into the folder

    def wait(self, reason: str) -> None:
        if self._until is not None and time.monotonic() > self._until:
            raise TimeoutError(f"{reason}: start it again, or wait longer.")
        time.sleep(self._seconds)
        longest = 1.0
        self._seconds = min(1.5 * self._seconds, longest)
