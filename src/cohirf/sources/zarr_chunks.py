"""Detect rewritten chunk files in the folder of a Zarr array.

There may be very many chunk files, so their modification times are not stored one by one: a chunk that is newer than
the newest chunk at opening has changed. A chunk that is replaced by an older file is not detected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Self

from cohirf.sources.files import SourceChangedError, shown


@dataclass(frozen=True)
class ChunkStamp:
    """The chunk files of a folder when it was opened: the newest modification time, and whether all files existed."""

    folder: Path
    newest_ns: int
    is_complete: bool  # chunks that contain only the fill value need not be stored

    @classmethod
    def of(cls, folder: Path, array: Any) -> Self:
        """Return the current stamp of the chunk files."""
        times = [_modified_ns(file) for file in _files(folder, array, 0, array.shape[0])]
        there = [time for time in times if time is not None]
        return cls(folder, max(there, default=0), len(there) == len(times))

    def refuse_changes(self, array: Any, start: int, stop: int) -> None:
        """Raise SourceChangedError if a chunk file of the given rows has changed or was deleted."""
        for file in _files(self.folder, array, start, stop):
            modified_ns = _modified_ns(file)
            is_gone = modified_ns is None and self.is_complete
            if is_gone or (modified_ns or 0) > self.newest_ns:
                raise SourceChangedError(
                    f"{shown(file)} {'was deleted' if is_gone else 'has changed'} since the array was opened: open it "
                    f"again with open_source, and leave it as it is until the fit is done."
                )


def _files(folder: Path, array: Any, start: int, stop: int) -> Iterator[Path]:
    height, width = array.shards or array.chunks
    rows, columns = range(start // height, -(-stop // height)), range(-(-array.shape[1] // width))
    for chunk in product(rows, columns):
        yield folder / array.metadata.encode_chunk_key(chunk)


def _modified_ns(file: Path) -> int | None:
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return None
