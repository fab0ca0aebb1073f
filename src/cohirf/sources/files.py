"""Files behind a source: whether they have changed, what identifies them, and errors that name them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import numpy as np

CHUNK_BYTES = 2**16


class SourceChangedError(OSError):
    """A file is not what it was when it was opened."""


class Origin(Protocol):
    """What data was made from: how errors call it, and what identifies it."""

    @property
    def name(self) -> str:
        """The path as errors show it."""

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield what is the same only for the same data."""


@dataclass(frozen=True)
class FileStamp:
    """A file as it was when it was opened."""

    path: Path
    size: int
    modified_ns: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Self:
        """Return the stamp of a file as it is now."""
        absolute = Path(path).absolute()  # workers may have another working directory
        status = absolute.stat()
        return cls(absolute, status.st_size, status.st_mtime_ns)

    @property
    def name(self) -> str:
        """The path as errors show it."""
        return shown(self.path)

    def refuse_changes(self) -> None:
        """Raise if the file is not the same any more."""
        try:
            now = FileStamp.of(self.path)
        except OSError as error:
            raise SourceChangedError(
                f"{self.name} was there when it was opened and cannot be reached now ({error.strerror}): put it back."
            ) from error
        if now != self:
            raise SourceChangedError(
                f"{self.name} has changed since it was opened: open it again with open_source, "
                f"and leave it as it is until the fit is done."
            )

    def content(self, n_chunks: int) -> Iterator[bytes]:
        """Yield size and time, then some evenly spaced chunks of the file, the first and the last among them."""
        yield f"{self.size} {self.modified_ns}".encode()
        with self.path.open("rb") as file:
            for position in np.unique(np.linspace(0, max(0, self.size - CHUNK_BYTES), n_chunks, dtype=np.int64)):
                file.seek(int(position))
                yield file.read(CHUNK_BYTES)


def shown(path: Path) -> str:
    """Return a path as a user would type it, in one line whatever its characters."""
    here = Path.cwd()
    text = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return text if text.isprintable() else repr(text)


@contextmanager
def naming(name: str, kind: str) -> Iterator[None]:
    """Let an error of reading name the file, and say that it is damaged where it is."""
    try:
        yield
    except (SourceChangedError, ImportError):
        raise
    except MemoryError as error:
        raise MemoryError(f"{name} asks for more memory than there is, or is damaged: {one_line(error)}.") from error
    except Exception as error:  # decoders raise what they like
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not the content's
            raise type(error)(error.errno, os.strerror(error.errno), name) from error
        raise ValueError(
            f"{name} cannot be read as {kind}: {one_line(error)}. "
            f"It is cut short, damaged or of another kind: write it again, or give another file."
        ) from error


def one_line(error: Exception) -> str:
    """Return the message of an error without line breaks and without its last full stop."""
    return " ".join(str(error).split())[:300].rstrip(".")
