"""Chunk files in the folder of a Zarr array: whether they were rewritten since it was opened.

There may be very many, so their times are not kept one by one: a file that is newer than all were at first has
changed. This misses a chunk that is replaced by an older file.
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
    """The chunk files of a folder when it was opened: the time of the newest, and whether all were there."""

    folder: Path
    newest_ns: int
    is_complete: bool  # chunks that hold nothing but the fill value need not be stored

    @classmethod
    def of(cls, folder: Path, array: Any) -> Self:
        """Return the stamp of the chunk files as they are now."""
        times = [_modified_ns(file) for file in _files(folder, array, 0, array.shape[0])]
        there = [time for time in times if time is not None]
        return cls(folder, max(there, default=0), len(there) == len(times))

    def refuse_changes(self, array: Any, start: int, stop: int) -> None:
        """Raise if a file that holds some of the given rows is newer than all were, or is gone."""
        for file in _files(self.folder, array, start, stop):
            modified_ns = _modified_ns(file)
            is_gone = modified_ns is None and self.is_complete
            if is_gone or (modified_ns or 0) > self.newest_ns:
                raise SourceChangedError(
                    f"{shown(file)} {'is gone' if is_gone else 'has changed'} since the array was opened: open it "
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
