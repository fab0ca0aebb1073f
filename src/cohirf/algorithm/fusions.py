"""The fusions of a fit as vectors, which whoever contracts a run writes to (UpdateParents, section 2.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import to_host
from cohirf.algorithm.grouping import IntArray, index_dtype
from cohirf.algorithm.storage import Storage


@dataclass(frozen=True)
class Recorded:
    """For each row: what absorbed it at the first level, and how stable its group was.

    Attributes
    ----------
    parents : array of int
        Index of the medoid that absorbed the row, or of the row itself.
    stability : array of float32
        Mean over views of the Jaccard index between the row's group and its cluster in each view, at the last level
        that clustered it (see ``stability.py``); NaN if no level did.
    """

    parents: IntArray
    stability: NDArray[np.float32]

    @classmethod
    def unwritten(cls, n_rows: int, storage: Storage) -> Recorded:
        """Return vectors of arbitrary content: each row must be recorded, or kept."""
        return cls(storage.vector(n_rows, index_dtype(n_rows)), storage.vector(n_rows, np.float32))

    def record(self, rows: slice | IntArray, parents: Any, level: int) -> None:
        """Record that active rows now belong to the medoids beside them in ``parents``; a medoid to itself."""
        self.parents[rows] = to_host(parents)

    def keep(self, rows: IntArray) -> None:
        """Record that no level has clustered these rows so far."""
        self.record(rows, rows, 0)
        self.stability[rows] = np.nan


@dataclass(frozen=True)
class Fusions(Recorded):
    """For each leaf of the first level: what absorbed it, when, and how stable its group was.

    All levels update these vectors in place: a consumer that keeps them must copy them. ``absorbed_at`` is the level at
    which a leaf was absorbed, or 0 if it never was.
    """

    absorbed_at: IntArray

    @classmethod
    def none(cls, stability: NDArray[np.float32], max_level: int, storage: Storage) -> Fusions:
        """Return vectors in which every row is its own parent."""
        n_rows = len(stability)
        fusions = cls(
            storage.vector(n_rows, index_dtype(n_rows)),
            storage.vector(n_rows, np.float32),
            storage.vector(n_rows, np.min_scalar_type(max_level)),
        )
        fusions.parents[:] = np.arange(n_rows, dtype=fusions.parents.dtype)
        fusions.absorbed_at[:] = 0
        fusions.stability[:] = stability
        return fusions

    def record(self, rows: slice | IntArray, parents: Any, level: int) -> None:
        """Record that active rows now belong to the medoids beside them in ``parents``; a medoid to itself."""
        parents = to_host(parents)
        super().record(rows, parents, level)
        own = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        self.absorbed_at[rows] = (parents != own) * self.absorbed_at.dtype.type(level)
