"""Objects of stores that are written: each as a whole, and never in place of another writer's.

A store puts an object at once or not at all, and refuses to put it where there is one already, or
where there is another one than was seen. So models are replaced as a whole, and of two writers one
is refused, as on a disk. What cannot be done with objects is refused: to hold a lock while a model
is changed, and to write to a web server.

What a checkpoint appends is an object of its own, with a number: two fits cannot both put it.
"""

from __future__ import annotations

import errno
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, ClassVar

from cohirf.optional import import_optional
from cohirf.sources.policy import READ
from cohirf.sources.remote import RemoteFile, Url, answering, list_objects, open_store
from cohirf.store.files import CheckpointError, TemporaryFile, write_all
from cohirf.wording import setting


def find(url: Url) -> RemoteFile | None:
    """Return what is at a URL, or None."""
    try:
        return RemoteFile.of(url)
    except FileNotFoundError:
        return None


def put(url: Url, content: bytes, former: RemoteFile | None = None) -> None:
    """Put an object where there is none, or in place of the former one.

    Raise FileExistsError if another writer has been faster.
    """
    obstore = import_optional("obstore", "cloud", "Writing to a URL")
    broken: Exception | None = None
    with answering(str(url), "written to"):
        for _ in range(READ.remote.attempts):
            try:
                obstore.put(
                    open_store(url.root, len(content)),
                    url.key,
                    content,
                    mode="create" if former is None else former.condition,
                    use_multipart=False,  # the only kind that a store puts on a condition
                )
            except (obstore.exceptions.AlreadyExistsError, obstore.exceptions.PreconditionError):
                # or it was put, its answer was lost, and it was put again
                if not _is_there(url, content):
                    raise FileExistsError(
                        errno.EEXIST, "Another writer has put this object meanwhile", str(url)
                    ) from None
                return
            except obstore.exceptions.GenericError as error:  # such as a broken connection
                broken = error
            else:
                return
        if broken is not None:
            raise broken


def _is_there(url: Url, content: bytes) -> bool:
    found = find(url)
    return (
        found is not None
        and found.size == len(content)
        and bytes(found.fetch(0, found.size)) == content
    )


@contextmanager
def writing(url: Url, former: RemoteFile | None = None) -> Iterator[IO[bytes]]:
    """Yield a file to write to; on success it is put in place of the former object, or of none."""
    refuse_web(url)
    temporary = TemporaryFile()
    yield temporary.file
    temporary.file.seek(0)
    put(url, temporary.file.read(), former)


def refuse_web(url: Url) -> None:
    """Raise ValueError for a web server, which cannot put objects on a condition."""
    if url.root.startswith("http"):
        raise ValueError(
            f"{url} is on a web server, which is only read: give an object store, such as s3://, "
            "or a path on a local disk."
        )


def fetch(url: Url) -> TemporaryFile:
    """Return an object as a temporary file, at its beginning."""
    temporary = TemporaryFile(buffering=0)
    with RemoteFile.of(url).open() as there:
        while part := there.read(2**22):
            temporary.file.write(part)
    temporary.file.seek(0)
    return temporary


class Parts:
    """What fits have appended to a checkpoint: numbered objects below a URL.

    A fit that has read ``n`` of them puts the next one where there is none: if two fits go on from
    there, the store refuses one of them.
    """

    # of a random number before what a fit appends, which tells it from what another one does
    id_bytes: ClassVar[int] = 16

    def __init__(self, url: Url) -> None:
        refuse_web(url)
        self.url = url
        self._writer = secrets.token_bytes(self.id_bytes)
        self._n_parts = 0
        self._n_bytes = 0  # of the journal, which are there

    def read(self, journal: IO[bytes]) -> None:
        """Write what is there to a journal."""
        for number, part in enumerate(list_objects(self.url)):
            if part.url != self._place(number):
                raise CheckpointError(
                    f"{setting('checkpoint', str(self.url))} contains {str(part.url)!r}, which "
                    "does not belong to a checkpoint of this version of cohirf, or parts are "
                    "missing before it: give an empty or new place."
                )
            content = part.fetch(self.id_bytes, part.size)
            write_all(journal, content)
            self._n_parts += 1
            self._n_bytes += len(content)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing yet."""
        return self._n_parts == 0

    def append(self, journal: IO[bytes], stop: int) -> None:
        """Put what a journal has beyond what is there, up to a position."""
        if stop <= self._n_bytes:
            return
        at = journal.tell()
        journal.seek(self._n_bytes)
        content: Any = journal.read(stop - self._n_bytes)
        journal.seek(at)
        try:
            put(self._place(self._n_parts), self._writer + content)
        except FileExistsError:
            raise CheckpointError(
                f"{setting('checkpoint', str(self.url))} is in use by another fit, which has "
                "written to it: wait until that ends, or give another place."
            ) from None
        self._n_parts += 1
        self._n_bytes += len(content)

    def _place(self, number: int) -> Url:
        return self.url.with_key(f"{self.url.key.rstrip('/')}/part-{number:08}".lstrip("/"))
