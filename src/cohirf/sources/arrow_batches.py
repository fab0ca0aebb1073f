"""Record batches of an Arrow IPC file, in the file or the stream format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from cohirf.optional import import_optional
from cohirf.sources.files import FileStamp

MAGIC = b"ARROW1"  # the file format begins with it, the stream format does not


def open_file(file: FileStamp) -> Any:
    """Open a file; reads load the bytes that they need."""
    arrow = import_optional("pyarrow", "arrow", f"Reading {file.name}")
    return arrow.OSFile(os.fsencode(file.path))  # bytes, because file names need not be valid UTF-8


def map_file(file: FileStamp) -> Any:
    """Memory-map a file; reads of uncompressed values copy nothing."""
    return import_optional("pyarrow", "arrow", f"Reading {file.name}").memory_map(os.fsencode(file.path))


def has_file_format(file: Any) -> bool:
    """Return whether a file is in the file format, whose batches can be read by number, not only in order."""
    return bool(file.read_at(len(MAGIC), 0) == MAGIC)


def open_batches(file: Any, fields: Sequence[int] = ()) -> Any:
    """Return a reader of the given columns, or of all columns if none are given.

    The reader of all columns of a memory-mapped, uncompressed file makes no copies.
    """
    ipc = import_optional("pyarrow.ipc", "arrow", "Reading an Arrow file")
    options = ipc.IpcReadOptions(included_fields=list(fields), use_threads=False)
    opener = ipc.open_file if has_file_format(file) else ipc.open_stream
    file.seek(0)
    return opener(file, options=options)


def read_batches(file: Any, fields: Sequence[int], first: int = 0) -> Iterator[Any]:
    """Yield the batches from number ``first`` on; a stream always begins with its first batch."""
    reader = open_batches(file, fields)
    if hasattr(reader, "get_batch"):
        for number in range(first, reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        yield from reader


def are_plain(file: Any) -> bool:
    """Return whether the values of a mapped file are not compressed, so that batches are views of the map."""
    file.seek(0)
    whole = file.read_buffer()
    batch = next(read_batches(file, []), None)
    buffers = [] if batch is None else [buffer for column in batch.columns for buffer in column.buffers() if buffer]
    return all(whole.address <= buffer.address < whole.address + whole.size for buffer in buffers)
