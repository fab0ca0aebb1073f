"""Data in a source, such as a file, which is read once, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from cohirf.algorithm.batches import EqualBlocks, count_batches
from cohirf.beyond.local_batches import sort_by_batch
from cohirf.data.first_level import FirstLevel, Setup, contract_rows
from cohirf.data.in_memory import (
    InMemory,
    active_rows,
    check_array_weights,
    contract_stacked,
)
from cohirf.engines import local_engine
from cohirf.planning import Room, resolve_memory_limit
from cohirf.rows.grouping import IntArray, row_blocks
from cohirf.rows.storage import ArrayRows, ArrayWeights, Engine, Rows, StackedRows, take_in_order
from cohirf.scratch import ScratchStorage
from cohirf.sources import Source
from cohirf.summary.summary import stack


@dataclass(frozen=True)
class InSource:
    """A source. Batches are blocks of consecutive rows, and arrays that grow with the data are kept on disk."""

    source: Source

    reading: ClassVar[str] = "in order"
    column_means: ClassVar[None] = None  # sources have no missing cells
    device: ClassVar[None] = None

    @property
    def rows(self) -> Rows:
        """The rows, by number."""
        return self.source

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.source.n_features)

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        return self.source.dtype

    def take(self, rows: IntArray) -> Any:
        """Return the given rows."""
        return take_in_order(self.rows, rows)

    def fingerprint(self) -> str:
        """Return a short text that identifies the values."""
        return self.source.fingerprint()

    def check_weights(self, sample_weight: Any) -> ArrayWeights:
        """Return valid sample weights: none is negative, and at least one is positive."""
        return check_array_weights(sample_weight, self.source.n_rows)

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use: arrays that grow with the data are on disk."""
        limit, n_processes = resolve_memory_limit(memory_limit), effective_n_jobs(n_jobs)
        row_bytes = self.source.n_features * self.source.dtype.itemsize
        return Room(limit, n_processes, n_processes > 1, 0, row_bytes=row_bytes, leaf_bytes=row_bytes)

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels."""
        return local_engine(n_jobs)

    def contract_first_level(self, weights: ArrayWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows in this process or in others, which read them from the source themselves."""
        if count_batches(self.source.n_rows, setup.contraction.batch_size) == 1:  # needs all rows in memory anyway
            in_memory = InMemory(self.rows.take(np.arange(self.source.n_rows)))
            return in_memory.contract_first_level(weights, setup)
        engine = setup.engine()
        if setup.locality is not None:
            return contract_local_batches(self.rows, weights, setup, engine, engine)
        active = active_rows(self.rows, weights, in_order=True)
        resources = setup.make_resources(engine, ScratchStorage())
        return contract_rows(active, setup.contraction, resources)

    def contract_blocks(self, before: Any, start: int, mass: Any, blocks: EqualBlocks, setup: Setup) -> FirstLevel:
        """Contract blocks of rows in order: of the values in ``before``, followed by these rows, from ``start`` on."""
        n_rows = blocks.n_batches * blocks.size if mass is None else len(mass)
        stacked = StackedRows(ArrayRows(before), self.rows, n_rows, start)
        return contract_stacked(stacked, mass, blocks, setup, ScratchStorage())

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to blocks of rows, which are read one after the other."""
        return stack([function(block) for block in self._blocks()])

    def put_vector(self, vector: Any) -> Any:
        """Return a vector as it is: what grows with the data is in a file, unless all rows are one batch."""
        return vector

    def _blocks(self) -> Iterator[Any]:
        for block in row_blocks(self.source.n_rows):
            yield self.rows.take(np.arange(block.start, block.stop))


def contract_local_batches(
    rows: Rows, weights: ArrayWeights | None, setup: Setup, reader: Engine, engine: Engine
) -> FirstLevel:
    """Contract local batches of rows that are best read in order: they are written to disk batch after batch.

    The ``reader`` runs tasks that read the rows where they are now; ``engine`` runs those that get their rows.
    """
    storage = ScratchStorage()
    active = setup.make_local(active_rows(rows, weights), None, storage, reader)
    resources = setup.make_resources(engine, storage)
    active = sort_by_batch(active, storage)
    active = setup.label(active, resources.run_engine, ScratchStorage(mappings=[*storage.mappings]))
    return contract_rows(active, setup.contraction, resources)
