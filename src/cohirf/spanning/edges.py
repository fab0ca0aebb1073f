"""Edges between rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.storage import Storage

FloatArray = NDArray[np.float64]
RowArray = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between rows.

    Attributes
    ----------
    one, two : array of int
        The rows of each edge.
    lengths : array of float
        Euclidean distances of the rows, or weights of the edges: see the function that returns them.
    """

    one: RowArray
    two: RowArray
    lengths: FloatArray

    @classmethod
    def room_for(cls, n_edges: int, storage: Storage) -> Edges:
        """Return unwritten edges."""
        one, two = (storage.vector(n_edges, np.int32) for _ in range(2))
        return cls(one, two, storage.vector(n_edges, np.float64))

    @property
    def count(self) -> int:
        """Number of edges."""
        return len(self.one)

    def take(self, places: slice) -> Edges:
        """Return the edges at the given places."""
        return Edges(self.one[places], self.two[places], self.lengths[places])

    def put(self, places: slice | NDArray[np.int64], edges: Edges) -> None:
        """Write edges to the given places."""
        self.one[places], self.two[places], self.lengths[places] = edges.one, edges.two, edges.lengths
