"""The rows that take part in a fit, to draw samples from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import Run
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.runs import RunTask
from cohirf.algorithm.storage import Rows, RowsReadOnce

WEIGHED_ROWS = 2**20  # rows whose weights are compared when rows are drawn by weight; of more rows, a random sample
FEWEST_BY_WEIGHT = 30  # so few rows are all drawn, whatever their weights are


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

    def draw_by_weight(self, n_rows: int, rng: np.random.Generator) -> tuple[IntArray, NDArray[np.float64]]:
        """Return the numbers of about ``n_rows`` rows, sorted, drawn in proportion to their weights, and their masses.

        Equal weights give the same rows as none, with masses of 1.
        """
        if self.weights is not None:
            some = np.sort(self.draw(WEIGHED_ROWS, rng.spawn(1)[0]))  # which leaves the generator as it is
            weights = self.weights.take(some)
            if weights.min() < weights.max():
                drawn, mass = draw_by_mass(weights, n_rows, rng)
                return some[drawn], mass
        rows = np.sort(self.draw(n_rows, rng))
        return rows, np.ones(len(rows))

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


def draw_by_mass(mass: Mass, n_rows: int, rng: np.random.Generator) -> tuple[IntArray, NDArray[np.float64]]:
    """Draw about ``n_rows`` rows, each with a chance in proportion to its mass; return their positions, and new masses.

    Rows of next to no mass are rarely drawn, even if there are few rows: no more are drawn than there would be with the
    same sum of masses, and the same sum of squares, if all had the same mass (Kish's effective size). A row with a
    chance of one third stands for three such rows, and has three times its mass. Masses are relative to the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.algorithm.population import draw_by_mass
    >>> mass = np.r_[np.full(40, 5.0), np.full(1000, 1e-9)]
    >>> some, of_some = draw_by_mass(mass, 500, np.random.default_rng(0))
    >>> some.max(), len(some), of_some.min()
    (np.int64(39), 40, np.float64(1.0))
    """
    mass = mass / mass.max()
    effective = float(mass.sum() ** 2 / (mass**2).sum())
    chance = _chances(mass, min(n_rows, max(effective, FEWEST_BY_WEIGHT)))
    some = np.flatnonzero(rng.random(len(mass)) < chance)
    return some, mass[some] / chance[some]


def _chances(mass: Mass, n_drawn: float) -> NDArray[np.float64]:
    """Return chances in proportion to masses, at most 1, whose sum is ``n_drawn``, or 1 for each of fewer rows."""
    if n_drawn >= len(mass):
        return np.ones(len(mass))
    heaviest_first = np.sort(mass)[::-1]
    factors = (n_drawn - np.arange(len(mass))) / np.cumsum(heaviest_first[::-1])[::-1]  # if so many are drawn for sure
    first = int(np.argmax(factors * heaviest_first <= 1))
    return np.asarray(np.minimum(factors[first] * mass, 1))
