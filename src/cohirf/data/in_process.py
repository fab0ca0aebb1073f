"""Data that this process reads: an array or a CSR matrix in memory, or a source, such as a file, in
order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import count_batches
from cohirf.beyond.local_batches import sort_by_batch
from cohirf.data.first_level import (
    Data,
    FirstLevel,
    RowReader,
    Setup,
    active_rows,
    contract_rows,
    contract_together,
)
from cohirf.engines import count_jobs
from cohirf.planning import Room, resolve_memory_limit
from cohirf.rows.arrays import as_array, take_rows
from cohirf.rows.grouping import IntArray, row_blocks
from cohirf.rows.storage import ArrayRows, ArrayWeights, Engine, Rows, Storage
from cohirf.scratch import ScratchStorage
from cohirf.sources import ArraySource, Source
from cohirf.sources.moved import MovedSource
from cohirf.summary.summary import stack


@dataclass(frozen=True)
class InMemory(Data):
    """An array or CSR matrix ``X``; batches are random or local."""

    X: Any
    column_means: NDArray[np.floating[Any]] | None = None

    can_reassign: ClassVar[bool] = True

    @cached_property
    def rows(self) -> ArrayRows:
        """The rows, by number."""
        return ArrayRows(self.X)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        return self.X.dtype

    @property
    def reading(self) -> str:
        """Rows are assigned to batches at random."""
        return "at random"

    def take(self, rows: IntArray) -> Any:
        """Return the given rows."""
        return self.X[rows]

    def moved(self, rows: IntArray, places: IntArray, values: Any) -> InMemory:
        """Return the data in which some rows (sorted) have the values of their places."""
        n_rows = self.rows.n_rows
        source: IntArray = np.arange(n_rows)
        source[rows] = n_rows + places
        with_values = stack([self.X, values.astype(self.X.dtype)])
        return replace(self, X=take_rows(with_values, source))

    def fingerprint(self) -> str:
        """Return a short text that identifies the values."""
        return ArraySource(self.X).fingerprint()

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use."""
        n_processes = count_jobs(n_jobs)
        # those of sparse rows are not known
        leaf_bytes = getattr(self.X, "nbytes", 0) / max(1, self.rows.n_rows)
        return Room(
            resolve_memory_limit(memory_limit), n_processes, n_processes > 1, leaf_bytes=leaf_bytes
        )

    def contract_first_level(self, weights: ArrayWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows in this process or in others, which read them from a file that is
        written once.
        """
        engine = setup.engine()
        several = count_batches(self.rows.n_rows, setup.contraction.batch_size) > 1
        storage: Storage = ScratchStorage() if several and not engine.is_serial else Storage()
        values = engine.share(self.rows) if several else self.rows
        resources = setup.make_resources(engine, storage)
        active = replace(active_rows(values, weights), steps=setup.steps)
        if setup.locality is not None:
            active = setup.make_local(active, self.column_means, storage, engine)
            active = setup.label(active, resources.run_engine, Storage())
        if not several:
            return contract_together(
                active, setup.contraction, resources, RowReader(values, self.column_means)
            )
        return contract_rows(active, setup.contraction, resources)

    def storage(self) -> Storage:
        """Return where what grows with the data is kept."""
        return Storage()

    def put_vector(self, vector: Any) -> Any:
        """Return a vector in memory, also if it is in a file that processes write to."""
        return np.array(vector) if isinstance(vector, np.memmap) else vector


@dataclass(frozen=True)
class InSource(Data):
    """A source. Batches are blocks of consecutive rows, and arrays that grow with the data are kept
    on disk.
    """

    rows: Source

    can_reassign: ClassVar[bool] = True

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use: arrays that grow with the data are on disk."""
        limit = resolve_memory_limit(memory_limit)
        n_processes = count_jobs(n_jobs)
        row_bytes = self.n_features * self.dtype.itemsize
        return Room(
            limit, n_processes, n_processes > 1, 0, row_bytes=row_bytes, leaf_bytes=row_bytes
        )

    def contract_first_level(self, weights: ArrayWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows in this process or in others, which read them from the source
        themselves.
        """
        # needs all rows in memory anyway
        if count_batches(self.rows.n_rows, setup.contraction.batch_size) == 1:
            in_memory = InMemory(self.rows.take(np.arange(self.rows.n_rows)))
            return in_memory.contract_first_level(weights, setup)
        engine = self.first_engine(setup)
        if setup.locality is not None:
            return contract_local_batches(self.rows, weights, setup, engine, engine)
        active = active_rows(self.rows, weights, in_order=True)
        return contract_rows(
            active, setup.contraction, setup.make_resources(engine, ScratchStorage())
        )

    def moved(self, rows: IntArray, places: IntArray, values: Any) -> InSource:
        """Return the data in which some rows (sorted) have the values of their places."""
        return replace(self, rows=MovedSource(self.rows, rows, places, as_array(values)))

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to blocks of rows, which are read one after the other."""
        blocks = row_blocks(self.rows.n_rows)
        return stack(
            [function(self.rows.take(np.arange(block.start, block.stop))) for block in blocks]
        )


def contract_local_batches(
    rows: Rows, weights: ArrayWeights | None, setup: Setup, reader: Engine, engine: Engine
) -> FirstLevel:
    """Contract local batches of rows that are best read in order: they are written to disk batch
    after batch.

    The ``reader`` runs tasks that read the rows where they are now; ``engine`` runs those that get
    their rows.
    """
    storage = ScratchStorage()
    active = setup.make_local(active_rows(rows, weights), None, storage, reader)
    resources = setup.make_resources(engine, storage)
    active = sort_by_batch(active, storage)
    active = setup.label(active, resources.run_engine, ScratchStorage(mappings=[*storage.mappings]))
    return contract_rows(active, setup.contraction, resources)
