"""The spanning trees of the batches of a run."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.spanning.edges import Edges


@dataclass(frozen=True)
class SpannedRun:
    """The spanning trees of the batches of a run.

    Attributes
    ----------
    rows : array of int
        Number of each row of the batches, halos included; a row that is in several batches is there several times.
    core : array of float
        Core distance of each of these rows in its batch.
    one, two : array of int
        Numbers of the two rows of each edge.
    lengths : array of float
        Distance of these two rows.
    batch_sizes : array of int
        Number of rows of each batch, without its halo.
    """

    rows: NDArray[Any]
    core: NDArray[np.float64]
    one: NDArray[Any]
    two: NDArray[Any]
    lengths: NDArray[np.float64]
    batch_sizes: NDArray[np.int64]

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        return object.__sizeof__(self) + sum(sys.getsizeof(getattr(self, field.name)) for field in fields(self))

    @property
    def edges(self) -> Edges:
        """The edges of the trees, with the distances of their rows."""
        return Edges(self.one, self.two, self.lengths)

    @property
    def rows_in(self) -> int:
        """Number of rows of the batches, without halos."""
        return int(self.batch_sizes.sum())

    @property
    def rows_out(self) -> int:
        """The same number: no row is contracted yet."""
        return self.rows_in

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return len(self.batch_sizes)
