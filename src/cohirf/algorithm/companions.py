"""Weights for base methods that take none: other rows of the data beside the medoids (not part of the paper).

To such a method a medoid is one row, whether it stands for three rows or for three hundred. Rows that are drawn from
all of the data come from clusters in proportion to their mass. Where the base method sees some of them beside the
medoids, heavy medoids stand among many. Only the labels of the medoids count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.algorithm.storage import Rows

MIN_SHOWN = 300
SHOWN_PER_CLUSTER = 10


@dataclass(frozen=True)
class Companions:
    """Where rows are drawn from, and how many the base method is to see in all.

    Attributes
    ----------
    values : Rows
        The data.
    entropy : Entropy
        What the draws depend on, besides their place.
    n_shown : int
        Number of rows that the base method sees, medoids included.
    numbers : array of int or None
        Row number in the data of each row of the fit; None if they are the same.
    """

    values: Rows
    entropy: Entropy
    n_shown: int
    numbers: IntArray | None = None

    def draw(self, medoids: IntArray, place: tuple[int, int]) -> Any:
        """Return values of rows to show beside those with the given numbers; None where these are enough."""
        if self.numbers is not None:
            medoids = self.numbers[medoids]
        n_rows = self.values.n_rows
        n_drawn = min(self.n_shown, n_rows) - len(medoids)
        if n_drawn <= 0:
            return None
        rows = generator_at(self.entropy, Draw.COMPANIONS, *place).choice(n_rows, n_drawn, replace=False)
        rows = np.setdiff1d(rows, medoids)
        return self.values.take(rows) if len(rows) else None


def count_shown(method: BaseMethod) -> int:
    """Return how many rows a base method is to see, so that each of its clusters can have some."""
    return max(MIN_SHOWN, SHOWN_PER_CLUSTER * (method.n_clusters or 0))
