"""What the program does by default with data of different sizes, and how much it prints."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DefaultPolicy:
    """What the program does by default; most of it depends on the size of the data."""

    base_method: str = "kmeans"
    seed: int = 0  # the same command gives the same clusters

    # From this number of rows on, the default batch size is auto. Without a base method and with
    # K-Means, which take time in proportion to the rows, also from this number of bytes on: one
    # batch is faster, and its clusters are better.
    batched_rows: int = 50_000
    batched_bytes: int = 2**30
    progress_bytes: int = 10**8  # of files that are read with a message; others take seconds
    # To read a file takes at least so much memory, and for a large one up to so much more.
    reading_bytes: int = 2**25
    most_reading_bytes: int = 5 * 2**25
    # of all rows, for which a limit of memory must have room: otherwise they stay in their file
    copies_in_memory: int = 3
    block_rows: int = 2**17  # of labels that are written at a time
    # curate: more rows are compared within clusters only, of about as many rows
    paired_rows: int = 200_000
    cluster_rows: int = 500
    clusters: int = 1000


@dataclass(frozen=True)
class OutputPolicy:
    """How much is printed."""

    narrowest: int = 40  # columns of a terminal
    widest: int = 10_000  # characters of a line of a file
    columns: int = 20  # lines about columns; more are printed in groups
    names: int = 3  # of columns, in a group
    name: int = 40  # characters
    clusters: int = 12  # lines
    sizes: int = 8  # of clusters, in a line
    sizes_in_document: int = 100
    removed_rows: int = 10


DEFAULT = DefaultPolicy()
OUTPUT = OutputPolicy()
