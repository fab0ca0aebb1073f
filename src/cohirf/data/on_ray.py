"""A source whose rows the workers of a Ray cluster read.

Its batches are those of a source in this process, where all that belongs to the rows is kept: on
disk. Workers return survivors, and for each row its survivor and its stability.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cohirf.data.first_level import FirstLevel, RowReader, Setup
from cohirf.data.in_process import InSource
from cohirf.engines import engine_on_ray
from cohirf.engines.ray import find_smallest_node
from cohirf.planning import Room
from cohirf.rows.storage import ArrayWeights, Engine


@dataclass(frozen=True)
class OnRay(InSource):
    """A source that the workers of Ray read; each has a handle of it."""

    client: Any = None  # Ray's module

    is_on_cluster: ClassVar[bool] = True

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use on the machine with the least for each task."""
        n_bytes, n_tasks = find_smallest_node(self.client)
        row_bytes = self.n_features * self.dtype.itemsize
        return Room(memory_limit or n_bytes, n_tasks, True, 0, 0, row_bytes)

    def first_engine(self, setup: Setup) -> Engine:
        """Return the engine of the first level: the cluster."""
        return engine_on_ray(self.client)

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels: the cluster, to which tasks carry their rows."""
        return engine_on_ray(self.client)

    def contract_first_level(self, weights: ArrayWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows on the workers, which also read them when rows are shared out."""
        level = super().contract_first_level(weights, setup)
        if isinstance(level.rows, RowReader) and level.rows.values is self.rows:
            level.rows = replace(level.rows, elsewhere=engine_on_ray(self.client))
        return level
