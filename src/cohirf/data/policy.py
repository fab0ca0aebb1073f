"""How much data a task of the first level takes, and which weights rows may have."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DataPolicy:
    """Sizes of tasks, which decide on time and memory only, and limits of weights."""

    numbered_rows: int = 2**22  # of one task
    mapped_rows: int = 2**18  # the same for rows whose values are read
    mapped_cells: int = 2**24  # of rows in memory that are assigned to points together
    chunks: int = 64  # of a source with at least as many batches, on Dask: on any cluster the same
    # a pickled source that goes with each task that reads it, on Dask; larger ones are sent to each
    # worker once, but tasks are first given to the worker that has it
    sent_bytes: int = 2**13
    # Within these limits, products of weights and values neither overflow nor vanish: squares of
    # values are finite.
    smallest_weight: float = 1e-150
    largest_total: float = 1e150


DATA = DataPolicy()
