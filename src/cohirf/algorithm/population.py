"""The rows that take part in a fit, to draw samples from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import BatchTask
from cohirf.algorithm.storage import Rows, RowsReadOnce


@dataclass(frozen=True)
class Population:
    """The rows of the data that take part in a fit, with their weights.

    Attributes
    ----------
    values : Rows
        The data.
    weights : array of float or None
        Weight of each row of the data; rows of weight 0 do not take part.
    """

    values: Rows
    weights: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that take part."""
        return self.values.n_rows if self.weights is None else int(np.count_nonzero(self.weights))

    def draw(self, n_rows: int, rng: np.random.Generator) -> IntArray:
        """Return the numbers of ``n_rows`` distinct rows in random order; all rows if there are fewer."""
        drawn = rng.choice(self.n_rows, min(self.n_rows, n_rows), replace=False)
        return drawn if self.weights is None else np.flatnonzero(self.weights)[drawn]

    def task(self, rows: IntArray, place: tuple[int, int]) -> BatchTask:
        """Return the task to contract ``rows``, which must be sorted, as one batch, each with its own weight."""
        mass = None if self.weights is None else self.weights[rows]
        return BatchTask(self.values, rows, rows[:0], mass, place, carry_values=False)

    def gather(self, rows: IntArray) -> Population:
        """Return a population of the given rows only, which must be sorted. They are read once and kept in memory."""
        return Population(RowsReadOnce(self.values, rows), None if self.weights is None else self.weights[rows])

    def leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf of the hierarchy for each row (the row itself)."""
        return rows

    def row_numbers(self, leaves: IntArray) -> IntArray:
        """Return the row number for each leaf of the hierarchy (the leaf itself)."""
        return leaves
