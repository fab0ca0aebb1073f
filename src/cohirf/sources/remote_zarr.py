"""Folders of Zarr at URLs: zarr reads their objects as they were when the folder was opened.

An object store lists names, sizes and ETags, of a thousand objects in a request. Each answer for an
object is compared with them, as it is for single files: a chunk that is replaced or deleted during
a fit ends it with an error, and one that is added is not read.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator, Iterator
from functools import lru_cache
from typing import Any

from cohirf.optional import import_optional
from cohirf.sources.files import SourceChangedError, naming
from cohirf.sources.policy import READ
from cohirf.sources.remote import RemoteFile, Url, list_objects

METADATA = (".zarray", "zarr.json", ".zgroup")  # every Zarr folder contains one of them


class RemoteFolder:
    """The objects below a key, as they were when it was opened."""

    def __init__(self, url: Url) -> None:
        self.url = url.with_key(url.key.rstrip("/"))
        if url.root.startswith("http"):
            raise ValueError(
                f"{self.url} cannot be read: web servers do not list the objects of a Zarr folder, "
                "so nobody knows whether they change. Copy it to a disk or to an object store "
                "(s3://, gs://, az://)."
            )
        # size and ETag by the name in the folder
        self._known: dict[str, tuple[int, str]] = {}
        for file in list_objects(self.url):
            self._known[file.url.key[len(self.url.key) + 1 :]] = (file.size, file.version)

    def open(self) -> Any:
        """Return the array or the group of zarr in it."""
        zarr = import_optional("zarr", "zarr", "Reading a Zarr array")
        if not any(map(self.has, METADATA)):
            raise FileNotFoundError(
                errno.ENOENT,
                "There is no such array or group of Zarr: check the URL",
                str(self.url),
            )
        with naming(str(self.url), "a Zarr array or group"):
            return zarr.open(make_store(self), mode="r")

    def names(self) -> list[str]:
        """Return the names of all objects."""
        return list(self._known)

    def has(self, name: str) -> bool:
        """Return whether there is an object."""
        return self._find(name) is not None

    def content(self) -> Iterator[bytes]:
        """Yield what changes with the content of any object."""
        for name, about in sorted(self._known.items()):
            yield f"{name} {about}".encode()

    def read(self, name: str, wanted: Any = None) -> memoryview | None:
        """Return an object, or what zarr wants of it; None if there is no such object."""
        file = self._find(name)
        if file is None:
            return None
        start, stop = _bounds(wanted, file.size)
        try:
            if stop - start <= READ.remote.piece_bytes:
                return file.fetch(start, stop)
            with file.open() as opened:  # several requests at a time
                opened.seek(start)
                return memoryview(opened.read(stop - start))
        except FileNotFoundError as error:
            raise SourceChangedError(
                f"{file.name} was deleted since the array was opened: open it again, and leave it "
                "as it is until the fit is done."
            ) from error

    def _find(self, name: str) -> RemoteFile | None:
        about = self._known.get(name)
        if about is None:
            return None
        return RemoteFile(self.url.with_key(f"{self.url.key}/{name}"), *about)


def _bounds(wanted: Any, size: int) -> tuple[int, int]:
    """Return the first byte that zarr wants, and the one after the last."""
    if wanted is None:
        return 0, size
    if hasattr(wanted, "suffix"):
        return max(0, size - wanted.suffix), size
    if hasattr(wanted, "offset"):
        return wanted.offset, size
    return wanted.start, min(wanted.end, size)


def make_store(folder: RemoteFolder) -> Any:
    """Return a folder as a store of zarr, which is only read."""
    return _store_class()(folder)


@lru_cache(maxsize=1)
def _store_class() -> Any:
    base = import_optional("zarr.abc.store", "zarr", "Reading a Zarr array").Store
    return type("FolderStore", (_FolderStore, base), {})


class _FolderStore:
    """A store of zarr that reads a folder at a URL; zarr's own class is its other base."""

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, folder: RemoteFolder) -> None:
        super().__init__(read_only=True)  # type: ignore[call-arg]
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return make_store, (self.folder,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _FolderStore) and other.folder is self.folder

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return str(self.folder.url)

    def with_read_only(self, read_only: bool = False) -> Any:
        if not read_only:
            raise ValueError(f"{self} is only read.")
        return self

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        # in a thread: several chunks are on their way at a time
        content = await asyncio.to_thread(self.folder.read, key, byte_range)
        return None if content is None else prototype.buffer.from_bytes(content)

    async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
        return await asyncio.gather(*(self.get(key, prototype, part) for key, part in key_ranges))

    async def exists(self, key: str) -> bool:
        return await asyncio.to_thread(self.folder.has, key)

    async def set(self, key: str, value: Any) -> None:
        raise ValueError(f"{self} is only read.")

    async def delete(self, key: str) -> None:
        raise ValueError(f"{self} is only read.")

    def list(self) -> AsyncIterator[str]:
        return _each(self.folder.names())

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        return _each([name for name in self.folder.names() if name.startswith(prefix)])

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        start = f"{prefix.rstrip('/')}/" if prefix else ""
        below = [name[len(start) :] for name in self.folder.names() if name.startswith(start)]
        return _each(list(dict.fromkeys(name.partition("/")[0] for name in below)))


async def _each(names: list[str]) -> AsyncIterator[str]:
    for name in names:
        yield name
