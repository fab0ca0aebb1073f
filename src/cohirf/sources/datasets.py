"""Data sets of many files: a folder, or a pattern such as ``year=*/*.parquet``, here or at a URL.

Files are joined in the order of their names. Left out are those whose names begin with a dot or an
underscore, and folders below a folder, except those of partitions: ``year=2026``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path

from cohirf.sources.files import StoredFile
from cohirf.sources.remote import Location, Url, each, list_objects, show, stamp
from cohirf.wording import listed

Parts = tuple[str, ...]  # the names of folders, and that of the file


@dataclass(frozen=True)
class DataSet:
    """Files that are read as one, in this order."""

    name: str
    files: list[StoredFile]
    pinned: str = ""  # its place and version, where data has versions


def is_pattern(place: Location) -> bool:
    """Return whether a place is a pattern of names, and not that of a file: ``rows[1].npy``."""
    if not isinstance(place, Url):
        return has_magic(str(place)) and not place.exists()
    if not has_magic(place.key):
        return False
    try:
        stamp(place)
    except FileNotFoundError:
        return True
    return False


def list_files(place: Location) -> list[Path | StoredFile]:
    """Return the files in a folder or of a pattern, in the order of their names."""
    if not isinstance(place, Url):
        folders = [place]
        if is_pattern(place):  # those of pathlib cannot begin at the root
            folders = [Path(one) for one in glob(str(place), recursive=True)]  # noqa: PTH207
        found = {file.parts: file for path in folders for file in _walk(path)}
        return [found[parts] for parts in sorted(found) if _fits(parts, place.parts)]
    if place.root.startswith("http"):
        raise ValueError(
            f"{place}: the files of a web server cannot be listed: give the URL of one file, or "
            "of an object store, such as s3://."
        )
    wanted = [part for part in place.key.split("/") if part]
    fixed = next((n for n, part in enumerate(wanted) if has_magic(part)), len(wanted))
    objects = list_objects(place.with_key("/".join(wanted[:fixed])))
    there = {tuple(file.url.key.split("/")): file for file in objects}
    # the name of a folder may look like a pattern: rows[1]
    named = [parts for parts in there if parts[: len(wanted)] == tuple(wanted)]
    return [there[parts] for parts in sorted(named or there) if _fits(parts, wanted)]


def open_set(place: Location, files: list[Path | StoredFile]) -> DataSet:
    """Return files as they are now.

    Raise ValueError if some have 0 bytes: whoever wrote them may have been stopped.
    """
    name = show(place)
    found = each(stamp, files)
    empty = [file.name for file in found if not file.size]
    if empty:
        raise ValueError(
            f"{name}: {len(empty):,} of {len(found):,} files have 0 bytes: {listed(empty)}. Write "
            "them again, or move them away if they have no rows."
        )
    return DataSet(name, found)


def _walk(path: Path) -> Iterator[Path]:
    """Yield a file, or the files of a folder and of its partitions."""
    if path.is_file():
        yield path
    elif path.is_dir():
        for entry in path.iterdir():
            if entry.is_file() or (_is_partition(entry.name) and entry.is_dir()):
                yield from _walk(entry)


def _fits(parts: Parts, wanted: Sequence[str]) -> bool:
    """Return whether a file is that of a pattern, or in a folder or a partition of one."""
    rest = _match(parts, wanted)
    return (
        rest is not None
        and not any(_is_hidden(part) for part in parts if part not in wanted)
        and all(_is_partition(folder) for folder in rest[:-1])
    )


def _match(parts: Parts, wanted: Sequence[str]) -> Parts | None:
    """Return what is left of the parts of a key after those of a pattern; None if they differ."""
    if not wanted:
        return parts
    if wanted[0] == "**":
        tails = (_match(parts[skipped:], wanted[1:]) for skipped in range(len(parts)))
        return next((tail for tail in tails if tail is not None), None)
    if parts and (parts[0] == wanted[0] or fnmatchcase(parts[0], wanted[0])):
        return _match(parts[1:], wanted[1:])
    return None


def _is_partition(name: str) -> bool:
    return re.match(r"[^._][^=]*=", name) is not None


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))
