"""The rows that take part in a fit, to draw samples from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from cohirf.algorithm.batches import Run
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.runs import RunTask
from cohirf.algorithm.storage import Rows, RowsReadOnce


class Weights(Protocol):
    """Sample weights, wherever they are."""

    @property
    def positive(self) -> IntArray | None:
        """Sorted numbers of the rows with a positive weight; None if these are all rows."""

    def take(self, rows: IntArray) -> Mass:
        """Return the weights of the given rows (sorted, distinct)."""


@dataclass(frozen=True)
class Population:
    """The rows of the data that take part in a fit, with their weights.

    Attributes
    ----------
    values : Rows
        The data.
    weights : Weights or None
        Weight of each row of the data; rows of weight 0 do not take part.
    """

    values: Rows
    weights: Weights | None = None

    @property
    def taking_part(self) -> IntArray | None:
        """Sorted numbers of the rows that take part; None if these are all rows."""
        return None if self.weights is None else self.weights.positive

    @property
    def n_rows(self) -> int:
        """Number of rows that take part."""
        return self.values.n_rows if self.taking_part is None else len(self.taking_part)

    def draw(self, n_rows: int, rng: np.random.Generator) -> IntArray:
        """Return the numbers of ``n_rows`` distinct rows in random order; all rows if there are fewer."""
        drawn = rng.choice(self.n_rows, min(self.n_rows, n_rows), replace=False)
        return drawn if self.taking_part is None else self.taking_part[drawn]

    def task(self, rows: IntArray, place: tuple[int, int]) -> RunTask:
        """Return the task to contract ``rows``, which must be sorted, as one batch, each with its own weight."""
        level, batch = place
        mass = None if self.weights is None else self.weights.take(rows)
        return RunTask(Run.of_rows(rows, batch), level, self.values, mass)

    def gather(self, rows: IntArray) -> Population:
        """Return a population of the given rows only, which must be sorted. They are read once and kept in memory."""
        weights = None if self.weights is None else ArrayWeights(self.weights.take(rows))
        return Population(RowsReadOnce(self.values, rows), weights)


@dataclass(frozen=True)
class ArrayWeights:
    """Sample weights in memory."""

    values: Mass

    @cached_property
    def positive(self) -> IntArray | None:
        """Sorted numbers of the rows with a positive weight; None if these are all rows."""
        return None if self.values.all() else np.flatnonzero(self.values)

    def take(self, rows: IntArray) -> Mass:
        """Return the weights of the given rows."""
        return self.values[rows]
