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

Parts = tuple[str, ...]  # the names of folders, and that of the file


@dataclass(frozen=True)
class DataSet:
    """Files that are read as one, in this order."""

    name: str
    files: list[StoredFile]
    pinned: str = ""  # its place and version, where data has versions


def is_pattern(place: Location) -> bool:
    """Return whether a place is a pattern of names, and not that of a file."""
    if isinstance(place, Url):
        return has_magic(place.key)
    return has_magic(str(place)) and not place.exists()


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
    there = [(tuple(file.url.key.split("/")), file) for file in objects]
    return [file for parts, file in sorted(there, key=lambda one: one[0]) if _fits(parts, wanted)]


def open_set(place: Location, files: list[Path | StoredFile]) -> DataSet:
    """Return files as they are now."""
    return DataSet(show(place), each(stamp, files))


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
    if parts and fnmatchcase(parts[0], wanted[0]):
        return _match(parts[1:], wanted[1:])
    return None


def _is_partition(name: str) -> bool:
    return re.match(r"[^._][^=]*=", name) is not None


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))
