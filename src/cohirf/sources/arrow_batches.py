"""Record batches of an Arrow IPC file, in the file or the stream format."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from cohirf.optional import import_optional
from cohirf.sources.files import FileStamp

MAGIC = b"ARROW1"  # files begin with it, streams do not


def open_file(file: FileStamp) -> Any:
    """Open a file for reads that load what they need."""
    arrow = import_optional("pyarrow", "arrow", f"Reading {file.name}")
    return arrow.OSFile(os.fsencode(file.path))  # text would have to be UTF-8, which names of files need not be


def map_file(file: FileStamp) -> Any:
    """Open a file for reads that load nothing, where its values are plain."""
    return import_optional("pyarrow", "arrow", f"Reading {file.name}").memory_map(os.fsencode(file.path))


def has_file_format(file: Any) -> bool:
    """Tell whether batches can be read by number, and not only one after the other."""
    return bool(file.read_at(len(MAGIC), 0) == MAGIC)


def open_batches(file: Any, fields: Sequence[int] = ()) -> Any:
    """Return a reader of the given columns; of all, without a copy if they are mapped and plain, if none are given."""
    ipc = import_optional("pyarrow.ipc", "arrow", "Reading an Arrow file")
    options = ipc.IpcReadOptions(included_fields=list(fields), use_threads=False)
    opener = ipc.open_file if has_file_format(file) else ipc.open_stream
    file.seek(0)
    return opener(file, options=options)


def read_batches(file: Any, fields: Sequence[int], first: int = 0) -> Iterator[Any]:
    """Yield the batches from number ``first`` on; a stream begins with its first."""
    reader = open_batches(file, fields)
    if hasattr(reader, "get_batch"):
        for number in range(first, reader.num_record_batches):
            yield reader.get_batch(number)
    else:
        yield from reader


def are_plain(file: Any) -> bool:
    """Tell whether the values lie in a mapped file as they are, not compressed: then they are views of the map."""
    file.seek(0)
    whole = file.read_buffer()
    batch = next(read_batches(file, []), None)
    buffers = [] if batch is None else [buffer for column in batch.columns for buffer in column.buffers() if buffer]
    return all(whole.address <= buffer.address < whole.address + whole.size for buffer in buffers)
