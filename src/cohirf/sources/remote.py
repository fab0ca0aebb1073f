"""Files at URLs: in object stores and on web servers, read by ranges through obstore.

obstore finds credentials itself, in the environment and at the machine's identity. None are kept
here: a URL that has some is refused, and a :class:`RemoteFile` holds the URL, size and ETag only.
"""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Self, TypeVar, cast
from urllib.parse import unquote, urlsplit

from cohirf.error_contexts import replacing_errors
from cohirf.optional import import_optional
from cohirf.sources.files import FileStamp, SourceChangedError, StoredFile
from cohirf.sources.policy import READ
from cohirf.sources.read_ahead import RemoteReader
from cohirf.store.files import one_line, shown

T = TypeVar("T")
R = TypeVar("R")


SCHEMES = ("s3", "gs", "az", "https", "http")


@dataclass(frozen=True)
class Url(os.PathLike[str]):
    """The place of an object: its store and its key there."""

    root: str  # such as s3://bucket, or https://host
    key: str

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Return a text as a URL; None if it is a path.

        pathlib makes one slash of the two in ``s3://``: such a path is a URL, too.
        """
        found = re.fullmatch(r"([A-Za-z][A-Za-z\d+.-]+):/{1,2}([^/]+)/*(.*)", text, re.DOTALL)
        if found is None or Path(text).exists():
            return None
        scheme, host, key = found.groups()
        scheme = scheme.lower()
        if scheme not in SCHEMES:
            raise ValueError(
                f"URLs of {scheme}:// are not read: give one of "
                f"{', '.join(f'{one}://' for one in SCHEMES)} or file://, or a path."
            )
        if "@" in host:
            raise ValueError(
                f"A URL of {scheme}:// has a user or a password in it: leave them out, and give "
                "credentials in the environment."
            )
        if scheme in ("http", "https"):
            parts = urlsplit(f"//{host}/{key}")
            if parts.query or parts.fragment:
                raise ValueError(
                    f"{scheme}://{host}{parts.path} has a query, which may be a signature: give "
                    "a URL without one, such as s3://bucket/key with credentials in the "
                    "environment."
                )
            key = unquote(key)
        elif re.search(r"\?[\w-]+=", key):
            raise ValueError(
                f"A URL of {scheme}:// has a query, which may be a signature: leave it out, and "
                "give credentials in the environment."
            )
        return cls(f"{scheme}://{host}", key)

    @property
    def name(self) -> str:
        """The last part of the key."""
        return PurePosixPath(self.key).name

    def __fspath__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        text = f"{self.root}/{self.key}"
        return text if text.isprintable() else repr(text)

    def with_key(self, key: str) -> Url:
        """Return the place of another object in the same store."""
        return Url(self.root, key)


Location = Path | Url


def locate(data: str | os.PathLike[str]) -> Location:
    """Return where a path or a URL leads; ``file://`` leads to a path."""
    if isinstance(data, Url):
        return data
    text = os.fspath(data)
    found = re.fullmatch(r"file:(?://(?:localhost)?)?(/.*)", text, re.DOTALL)  # one slash: pathlib
    if found is not None:
        return Path(unquote(found[1]))
    return Url.of(text) or Path(data).expanduser()


def show(place: Location) -> str:
    """Return how messages call a place."""
    return str(place) if isinstance(place, Url) else shown(place.absolute())


def stamp(place: str | os.PathLike[str] | StoredFile) -> StoredFile:
    """Return a file as it is now; one that was found before stays as it was."""
    if isinstance(place, StoredFile):
        return place
    return RemoteFile.of(place) if isinstance(place, Url) else FileStamp.of(place)


def each(ask: Callable[[T], R], files: Iterable[T]) -> list[R]:
    """Return what a function returns for each file; those of a store are asked for several at a
    time.
    """
    files = list(files)
    if not any(isinstance(file, RemoteFile) for file in files):
        return [ask(file) for file in files]
    with ThreadPoolExecutor(READ.remote.parallel) as pool:
        return list(pool.map(ask, files))


@dataclass(frozen=True)
class RemoteFile(StoredFile):
    """URL, size and ETag of an object when it was opened.

    Each answer of the store says which object it is of, and an answer of another one is refused: a
    change needs no requests of its own to be noticed.
    """

    url: Url
    size: int
    version: str  # its ETag, or the time of its last modification where there is none
    # what the store wants to know if the object is to be replaced, as it said it
    condition: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _failures: list[Exception] = field(default_factory=list, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteFile, (self.url, self.size, self.version, self.condition)

    @classmethod
    def of(cls, url: Url) -> Self:
        """Ask the store for an object."""
        with answering(str(url)):
            obstore = _library()
            return cls.found(url, obstore.head(open_store(url.root), url.key))

    @classmethod
    def found(cls, url: Url, about: Any) -> Self:
        """Return an object as the answer of a store describes it."""
        condition = {name: about[name] for name in ("e_tag", "version") if about.get(name)}
        return cls(url, int(about["size"]), _version(about), condition)

    @property
    def name(self) -> str:
        """The URL in error messages."""
        return str(self.url)

    @property
    def place(self) -> Url:
        """The URL."""
        return self.url

    @property
    def suffixes(self) -> list[str]:
        """The endings of the key."""
        return [suffix.lower() for suffix in PurePosixPath(self.url.key).suffixes]

    def open(self) -> BinaryIO:
        """Open the object; what follows is read ahead where it is read in order."""
        return cast("BinaryIO", RemoteReader(self.size, self.fetch))

    def refuse_changes(self) -> None:
        """Do nothing: each answer of the store is checked."""

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield size and ETag, which the store changes with the content."""
        yield f"{self.size} {self.version}".encode()

    def fetch(self, start: int, stop: int) -> memoryview:
        """Return a range of bytes, in one request unless the connection breaks."""
        if stop <= start:
            return memoryview(b"")
        try:
            return self._fetch(start, stop)
        except OSError as error:
            self._failures[:] = [error]
            raise

    def raise_failure(self) -> None:
        """Raise the last error of the store, which Arrow makes a text of in some readers."""
        if self._failures:
            raise self._failures.pop()

    def _fetch(self, start: int, stop: int) -> memoryview:
        obstore = _library()
        broken: Exception | None = None
        with answering(self.name):
            for _ in range(READ.remote.attempts):
                try:
                    answer = obstore.get(
                        open_store(self.url.root), self.url.key, options={"range": (start, stop)}
                    )
                    self._refuse_other(answer.meta)
                    content = memoryview(answer.bytes())
                except obstore.exceptions.GenericError as error:
                    broken = error
                else:
                    if len(content) == stop - start:
                        return content
            if broken is not None:
                raise broken
            raise OSError(
                f"{self.name} was cut off between byte {start:,} and {stop:,} "
                f"{READ.remote.attempts} times: try again later."
            )

    def _refuse_other(self, about: Any) -> None:
        if int(about["size"]) != self.size or _version(about) != self.version:
            raise SourceChangedError(
                f"{self.name} has changed since it was opened: open it again, and leave it as it "
                "is until the fit is done."
            )


def list_objects(folder: Url) -> list[RemoteFile]:
    """Return all objects below a key, in the order of their keys."""
    prefix = folder.key.rstrip("/")
    obstore = _library()
    with answering(str(folder)):
        for attempt in range(READ.remote.attempts):
            try:
                found = [
                    RemoteFile.found(folder.with_key(one["path"]), one)
                    for block in obstore.list(open_store(folder.root), prefix=prefix or None)
                    for one in block
                ]
                break
            except obstore.exceptions.GenericError:  # a list that broke off is not sent again
                if attempt == READ.remote.attempts - 1:
                    raise
    return sorted(found, key=lambda file: file.url.key)


def _version(about: Any) -> str:
    # Azure has no quotation marks around it in lists, and some in answers
    return str(about.get("e_tag") or about["last_modified"]).replace('"', "")


@replacing_errors
def answering(name: str, done: str = "read from") -> Iterator[None]:
    """Make errors of a store name the object in one line, and say what to do.

    ``done`` is what was to be done with it.
    """
    try:
        yield
    except (SourceChangedError, FileExistsError):
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, "There is no such object: check the URL", name) from (
            error
        )
    except Exception as error:
        if not type(error).__module__.startswith("obstore"):
            raise
        kind = type(error).__name__
        said = one_line(str(error).partition("Debug source")[0])
        said = re.sub(r"://[^/@\s]*@", "://", said)  # a user and a password of the endpoint
        remedy = "check the URL, the network and the settings of the store in the environment"
        if kind in ("PermissionDeniedError", "UnauthenticatedError"):
            raise PermissionError(
                errno.EACCES,
                "The store refuses access: give credentials in the environment",
                name,
            ) from error
        raise OSError(f"{name} cannot be {done} its store: {said}: {remedy}.") from error


def _library() -> Any:
    return import_optional("obstore", "cloud", "Reading from a URL")


def open_store(root: str, n_bytes: int = 0) -> Any:
    """Return the client of a store, with the settings in the environment as they are now.

    ``n_bytes`` are sent in one request, which has as much time for each piece as one that reads.
    """
    settings = tuple(
        (name, value)
        for name, value in sorted(os.environ.items())
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_"))
    )
    n_pieces = max(1, -(-n_bytes // READ.remote.piece_bytes))
    seconds = READ.remote.request_seconds << (n_pieces - 1).bit_length()  # few different clients
    with _opening:
        return _open_store(root, settings, os.getpid(), seconds)


_opening = threading.Lock()


@lru_cache(maxsize=16)
def _open_store(root: str, settings: Any, process: int, seconds: int) -> Any:
    """Return the client of a store: one for each process and environment, with its connections."""
    store = import_optional("obstore.store", "cloud", "Reading from a URL")
    policy = READ.remote
    client: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=policy.connect_seconds),
        "timeout": timedelta(seconds=seconds),
        # stores of the clouds are asked by https: this is for http:// and for AWS_ENDPOINT_URL
        "allow_http": not root.startswith("https://"),
    }
    return store.from_url(
        root,
        client_options=client,
        retry_config={
            "max_retries": policy.retries,
            "retry_timeout": timedelta(seconds=policy.retry_seconds),
        },
    )
