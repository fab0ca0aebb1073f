"""The fusions of a fit as three vectors, which whoever contracts a run writes to (UpdateParents, section 2.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import is_here, namespace, to_host
from cohirf.algorithm.grouping import IntArray, index_dtype
from cohirf.algorithm.storage import Storage


@dataclass(frozen=True)
class Fusions:
    """For each row: what absorbed it, when, and how stable its group was.

    All levels update these vectors in place: a consumer that keeps them must copy them.

    Attributes
    ----------
    parents : array of int
        Index of the medoid that absorbed the row, or of the row itself.
    absorbed_at : array of int
        The level at which that happened, or 0 if it never did.
    stability : array of float32
        Mean over views of the Jaccard index between the row's group and its cluster in each view, at the last level
        that clustered it (see ``stability.py``); NaN if no level did.
    """

    parents: IntArray
    absorbed_at: IntArray
    stability: NDArray[np.float32]

    @classmethod
    def unwritten(cls, n_rows: int, max_level: int, storage: Storage) -> Fusions:
        """Return vectors of arbitrary content: each row must be recorded, or kept."""
        return cls(
            storage.vector(n_rows, index_dtype(n_rows)),
            storage.vector(n_rows, np.min_scalar_type(max_level)),
            storage.vector(n_rows, np.float32),
        )

    @classmethod
    def none(cls, stability: NDArray[np.float32], max_level: int, storage: Storage) -> Fusions:
        """Return vectors in which every row is its own parent."""
        fusions = cls.unwritten(len(stability), max_level, storage)
        fusions.parents[:] = np.arange(len(stability), dtype=fusions.parents.dtype)
        fusions.absorbed_at[:] = 0
        fusions.stability[:] = stability
        return fusions

    def record(self, rows: slice | IntArray, parents: Any, level: int) -> None:
        """Record that active rows now belong to the medoids beside them in ``parents``; a medoid to itself.

        ``parents`` may be on a device; those of consecutive rows are compared with them there.
        """
        parents = parents if isinstance(rows, slice) else to_host(parents)
        self.parents[rows] = to_host(parents)
        self.absorbed_at[rows] = to_host(parents != _own_numbers(rows, parents)) * self.absorbed_at.dtype.type(level)

    def keep(self, rows: IntArray) -> None:
        """Record that no level has clustered these rows so far."""
        self.record(rows, rows, 0)
        self.stability[rows] = np.nan


def _own_numbers(rows: slice | IntArray, beside: Any) -> Any:
    """Return the numbers of rows; those of consecutive ones where ``beside`` is."""
    if not isinstance(rows, slice):
        return rows
    if is_here(beside):
        return np.arange(rows.start, rows.stop, dtype=beside.dtype)
    return namespace(beside).arange(rows.start, rows.stop, dtype=beside.dtype, device=beside.device)
