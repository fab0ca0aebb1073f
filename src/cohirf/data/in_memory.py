"""Data in memory: an array or a CSR matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from cohirf.algorithm.batches import EqualBlocks, count_batches
from cohirf.algorithm.levels import ActiveRows
from cohirf.data.first_level import FirstLevel, ReadRows, Setup, check_range, contract_rows, contract_together
from cohirf.engines import local_engine
from cohirf.planning import Room, resolve_memory_limit
from cohirf.rows.grouping import IntArray
from cohirf.rows.storage import ArrayRows, ArrayWeights, Engine, MemoryStorage, StackedRows, Storage
from cohirf.scratch import ScratchStorage
from cohirf.sources import ArraySource


@dataclass(frozen=True)
class InMemory:
    """An array or CSR matrix ``X``; batches are random or local."""

    X: Any
    column_means: NDArray[np.floating[Any]] | None = None

    device: ClassVar[None] = None
    reading: ClassVar[str] = "at random"

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

    def take(self, rows: IntArray) -> Any:
        """Return the given rows."""
        return self.X[rows]

    def fingerprint(self) -> str:
        """Return a short text that identifies the values."""
        return ArraySource(self.X).fingerprint()

    def check_weights(self, sample_weight: Any) -> ArrayWeights:
        """Return valid sample weights: none is negative, and at least one is positive."""
        return check_array_weights(sample_weight, self.X.shape[0])

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use: with several jobs, in processes of their own."""
        n_processes = effective_n_jobs(n_jobs)
        leaf_bytes = getattr(self.X, "nbytes", 0) / max(1, self.rows.n_rows)  # those of sparse rows are not known
        return Room(resolve_memory_limit(memory_limit), n_processes, n_processes > 1, leaf_bytes=leaf_bytes)

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels."""
        return local_engine(n_jobs)

    def contract_first_level(self, weights: ArrayWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows in this process or in others, which read them from a file that is written once."""
        engine = setup.engine()
        several = count_batches(self.rows.n_rows, setup.contraction.batch_size) > 1
        storage: Storage = ScratchStorage() if several and not engine.is_serial else MemoryStorage()
        values = engine.share(self.rows) if several else self.rows
        resources = setup.make_resources(engine, storage)
        active = replace(active_rows(values, weights), apart=setup.apart)
        if setup.locality is not None:
            active = setup.make_local(active, self.column_means, storage, engine)
            active = setup.label(active, resources.run_engine, MemoryStorage())
        if not several:
            return contract_together(active, setup.contraction, resources, ReadRows(values, self.column_means))
        return contract_rows(active, setup.contraction, resources)

    def contract_blocks(self, before: Any, start: int, mass: Any, blocks: EqualBlocks, setup: Setup) -> FirstLevel:
        """Contract blocks of rows in order: of the values in ``before``, followed by these rows, from ``start`` on."""
        n_rows = blocks.n_batches * blocks.size if mass is None else len(mass)
        stacked = StackedRows(ArrayRows(before), self.rows, n_rows, start)
        return contract_stacked(stacked, mass, blocks, setup, MemoryStorage())

    def put_vector(self, vector: Any) -> Any:
        """Return a vector in memory, also if it is in a file that processes write to."""
        return np.array(vector) if isinstance(vector, np.memmap) else vector


def active_rows(values: Any, weights: ArrayWeights | None, *, in_order: bool = False) -> ActiveRows:
    """Return the rows that take part in the first level: those of positive weight."""
    if weights is None:
        return ActiveRows(values, in_order=in_order)
    positive = weights.positive
    return ActiveRows(values, positive, weights.values if positive is None else weights.values[positive], in_order)


def contract_stacked(
    stacked: StackedRows, mass: Any, blocks: EqualBlocks, setup: Setup, storage: Storage
) -> FirstLevel:
    """Contract blocks of rows, which are read in order, in this process or in others."""
    resources = setup.make_resources(setup.engine(), storage)
    active = active_rows(stacked, None if mass is None else ArrayWeights(mass), in_order=True)
    active = replace(active, batches=blocks, apart=setup.apart)
    return contract_rows(active, setup.contraction, resources)


def check_array_weights(sample_weight: Any, n_rows: int) -> ArrayWeights:
    """Return valid sample weights in memory."""
    like = np.empty((n_rows, 0))
    weights = np.asarray(_check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True))
    if not weights.any():
        raise ValueError("All sample weights are zero: give at least one row a positive weight.")
    with np.errstate(over="ignore"):
        check_range(weights[weights > 0].min(), weights.sum())
    return ArrayWeights(weights)
