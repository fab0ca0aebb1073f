"""What parties and their coordinator exchange: requests and replies, as files of JSON and arrays of integers."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.store.archive import Archive
from cohirf.store.errors import refusing, shown
from cohirf.store.files import replacing

KIND, VERSION = "cohirf-parties", 1
NOT_HELD = -2  # label and rank of a row that the party does not have
KINDS = ("label", "rank", "done")


class PartyError(ValueError):
    """Parties do not fit together, or a file that they exchange is damaged or of another run."""


@dataclass(frozen=True, eq=False)
class Request:
    """What the coordinator asks all parties.

    Attributes
    ----------
    number : int
        Number of the request, from 1.
    kind : {"label", "rank", "done"}
        Label rows; rank the rows of clusters by how central they are; or the end, with the result.
    level : int
        Number of the level, which seeds base methods.
    rows : array of int
        Row numbers. Sorted.
    clusters : array of int or None
        The cluster of each of these rows, if they are to be ranked, or at the end.
    mass : array of int or None
        How many rows each of them stands for; None if that does not matter.
    """

    number: int
    kind: str
    level: int
    rows: IntArray
    clusters: IntArray | None = None
    mass: IntArray | None = None

    def content(self) -> tuple[dict[str, Any], list[IntArray]]:
        """Return JSON and arrays."""
        arrays = {"rows": self.rows, "clusters": self.clusters, "mass": self.mass}
        given = {name: np.asarray(array, dtype=np.int64) for name, array in arrays.items() if array is not None}
        about = {"number": self.number, "kind": self.kind, "level": self.level, "arrays": list(given)}
        return about, list(given.values())

    @classmethod
    def of(cls, about: Any, arrays: list[IntArray]) -> Request:
        """Return the request that a file has; raise ValueError if it is not one."""
        found = cls(about["number"], about["kind"], about["level"], **dict(zip(about["arrays"], arrays, strict=True)))
        lengths = {len(array) for array in arrays}
        is_whole = all(array.ndim == 1 and array.dtype.kind == "i" for array in arrays) and len(lengths) == 1
        if found.kind not in KINDS or not is_whole or (found.rows[1:] <= found.rows[:-1]).any():
            raise ValueError("it is not a request")
        return found

    def digest(self) -> str:
        """Return a text that identifies the request."""
        return hashlib.sha256(pack(*self.content())).hexdigest()


class Channel(Protocol):
    """How the coordinator reaches the parties."""

    n_rows: int

    def ask(self, request: Request) -> list[IntArray]:
        """Return the answer of each party, in the order of their names."""


def pack(about: Any, arrays: list[IntArray]) -> bytes:
    """Return JSON and arrays as the bytes of a file."""
    with tempfile.TemporaryFile(buffering=0) as file:  # an archive writes to descriptors
        archive = Archive(file)
        archive.begin(KIND, VERSION)
        archive.append(about, arrays)
        file.seek(0)
        return file.read()


def write(path: Path, content: bytes) -> None:
    """Write a file as a whole: it is there completely, or not at all."""
    with replacing(path) as file:
        file.write(content)


def read(path: Path, remedy: str) -> tuple[Any, list[IntArray]]:
    """Return JSON and arrays of a file."""
    with refusing(path, PartyError, remedy), path.open("rb", buffering=0) as file:
        archive = Archive(file)
        if archive.open() != (KIND, VERSION):
            raise ValueError("another kind or version of cohirf has written it")
        record = archive.read()
        if record is None:
            raise ValueError("it is cut short")
        return record


def refuse(path: Path, reason: str) -> PartyError:
    """Return the error for a file whose content does not fit."""
    return PartyError(f"{shown(path)}: {reason}")
