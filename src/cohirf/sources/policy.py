"""How much of files is read at a time, and what the beginning of a CSV file decides.

Sizes decide on time and memory only; those with "measured" were. ``benchmarks/notes/files.rst`` has
times of reading.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RemotePolicy:
    """Files in object stores, of which a request gets a range.

    None of these change what is read. A request to a distant store takes 20 to 100 ms before its
    first byte, in which a connection of 1 Gbit/s would send 2 to 12 MB: pieces are of that size,
    and several are on their way.
    """

    piece_bytes: int = 2**22  # of a request
    parallel: int = 8  # requests of one reader at a time
    ahead_bytes: int = 2**26  # of a reader: what was asked for, and what was read ahead
    gap_bytes: int = 2**18  # between ranges that are read together
    attempts: int = 4  # to get a piece whose connection broke
    retries: int = 8  # of a request that the store refused for now, within these
    retry_seconds: int = 60
    connect_seconds: int = 10
    request_seconds: int = 60  # a piece in this time is .07 MB/s


@dataclass(frozen=True)
class ReadPolicy:
    """Rows of files and tables, in blocks."""

    # memory for decoded rows that were not asked for: their size as numbers, not that in the file
    piece_bytes: int = 2**23
    seek_bytes: int = 2**16  # reading this much takes about as long as starting another read
    # of each column of a Parquet file; without buffers, whole columns of a row group would be read
    buffer_bytes: int = 2**16
    # larger pieces are not decoded faster, and temporarily take several times their size
    piece_rows: int = 2**16
    loaded_bytes: int = 2**26  # larger record batches of an Arrow file are memory-mapped
    mapped_bytes: int = 2**24  # that are decoded at a time, of those that are mapped
    vectors: int = 16  # that are read to find the length of vectors
    changed_bytes: int = 2**20  # rows are changed while they are in the cache of the processor
    # rows whose length differs from 1 by at most 16 times the precision of their type are not
    # scaled again
    unit_rounding: int = 16
    # what tells whether data has changed: rows of a source, bytes of a piece of a file
    sampled_rows: int = 16
    stamp_bytes: int = 2**16
    remote: RemotePolicy = RemotePolicy()


@dataclass(frozen=True)
class CsvPolicy:
    """CSV files, of which the beginning tells the delimiter and whether there is a header."""

    block_bytes: int = 2**20  # Arrow reads about thirty blocks ahead
    read_bytes: int = 2**20  # at a time, to find the encoding
    beginning: int = 2**16  # characters
    records: int = 200
    first_year: int = 1500  # whole numbers between the two that rise or fall are names of columns
    last_year: int = 2200
    ragged: int = 5  # lines of another length that a message names


READ = ReadPolicy()
CSV = CsvPolicy()
