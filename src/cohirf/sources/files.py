"""Files of a source: detect changes, identify content, and name files in errors."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from cohirf.error_contexts import replacing_errors
from cohirf.sources.policy import READ
from cohirf.store.files import one_line
from cohirf.store.files import shown as shown


class SourceChangedError(OSError):
    """A file of a source has changed since the source was opened."""


class StoredFile(ABC):
    """A file of a source as it was when it was opened: on a disk, or in an object store.

    It pickles as a small handle, which opens the file again in another process.
    """

    size: int

    @property
    @abstractmethod
    def name(self) -> str:
        """What error messages call it."""

    @property
    @abstractmethod
    def place(self) -> os.PathLike[str]:
        """Where it is: an absolute path, or a URL."""

    @property
    @abstractmethod
    def suffixes(self) -> list[str]:
        """The endings of its name, in small letters: ``[".csv", ".gz"]``."""

    @abstractmethod
    def open(self) -> BinaryIO:
        """Open it for reading; positions can be sought."""

    @abstractmethod
    def refuse_changes(self) -> None:
        """Raise SourceChangedError if it is known to have changed."""

    @abstractmethod
    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield bytes that identify the content: up to ``n_chunks`` chunks."""

    def raise_failure(self) -> None:  # noqa: B027 - errors of a disk reach whoever reads
        """Raise the last error of reading, where decoders make text of errors."""


@dataclass(frozen=True)
class FileStamp(StoredFile):
    """Path, size and modification time of a file when it was opened."""

    path: Path
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Return the current stamp of a file."""
        absolute = Path(path).absolute()  # workers may have another working directory
        status = absolute.stat()
        return cls(absolute, status.st_size, status.st_mtime_ns)

    @property
    def name(self) -> str:
        """The path in error messages."""
        return shown(self.path)

    @property
    def place(self) -> Path:
        """The absolute path."""
        return self.path

    @property
    def suffixes(self) -> list[str]:
        """The endings of the name of the file."""
        return [suffix.lower() for suffix in self.path.suffixes]

    def open(self) -> BinaryIO:
        """Open the file."""
        return self.path.open("rb")

    def refuse_changes(self) -> None:
        """Raise SourceChangedError if the file has changed."""
        try:
            now = FileStamp.of(self.path)
        except OSError as error:
            raise SourceChangedError(
                f"{self.name} can no longer be read ({error.strerror}): restore the file."
            ) from error
        if now != self:
            raise SourceChangedError(
                f"{self.name} has changed since it was opened: open it again, and "
                "leave it as it is until the fit is done."
            )

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield size and modification time, then evenly spaced chunks of the file, including the
        first and the last.
        """
        yield f"{self.size} {self.modified_ns}".encode()
        with self.path.open("rb") as file:
            for position in np.unique(
                np.linspace(0, max(0, self.size - READ.stamp_bytes), n_chunks, dtype=np.int64)
            ):
                file.seek(int(position))
                yield file.read(READ.stamp_bytes)


@replacing_errors
def reading(
    file: StoredFile, kind: str, explain: Callable[[str], str] | None = None
) -> Iterator[None]:
    """Make reading errors name a file, as :func:`naming` does, and do not lose those of a store."""
    with naming(file.name, kind, explain):
        try:
            yield
        except Exception:
            file.raise_failure()
            raise


@replacing_errors
def naming(name: str, kind: str, explain: Callable[[str], str] | None = None) -> Iterator[None]:
    """Make reading errors name the file, and say that its content is damaged unless the system
    caused them.

    Errors that begin with the name stay as they are. ``explain`` is for a format that knows more,
    such as the line or the column: it gets the message of a decoder, and returns the whole message.
    """
    try:
        yield
    except (SourceChangedError, ImportError):
        raise
    except MemoryError as error:
        raise MemoryError(
            f"{name} needs more memory than there is, or is damaged: {one_line(error)}."
        ) from error
    except Exception as error:  # decoders raise exceptions of any type
        # caused by the system, not by the content
        if isinstance(error, OSError) and error.errno is not None:
            raise type(error)(error.errno, os.strerror(error.errno), name) from error
        if str(error).startswith(name):
            raise
        if explain is not None:
            raise ValueError(explain(one_line(error))) from error
        raise ValueError(
            f"{name} cannot be read as {kind}: {one_line(error)}. It is truncated, damaged or in "
            "another format: write it again, or give another file."
        ) from error
