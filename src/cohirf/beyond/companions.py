"""A substitute for weights in base methods without them: a sample of the data beside the medoids
(not in the paper).

Such a method sees a medoid as one row, whether it represents three rows or three hundred. A random
sample of the data contains rows of each cluster in proportion to its mass. If the base method
clusters these rows, the *companions*, together with the medoids, heavy medoids have many
neighbours. Only the labels of the medoids are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.beyond.policy import COMPANION
from cohirf.rows.arrays import take_rows
from cohirf.rows.grouping import IntArray
from cohirf.rows.storage import Rows


@dataclass(frozen=True)
class Companions:
    """Samples rows that the base method sees beside the medoids."""

    values: Rows  # the data
    entropy: Entropy  # entropy of the fit, which seeds the samples
    n_shown: int  # number of rows that the base method sees, medoids included
    numbers: IntArray | None = (
        None  # row number in the data of each row of the fit; None if they are the same
    )

    def draw(self, medoids: IntArray, place: tuple[int, int]) -> Any:
        """Return values of rows to show beside the given ``medoids``; None if these are enough."""
        if self.numbers is not None:
            medoids = self.numbers[medoids]
        n_drawn = min(self.n_shown, self.values.n_rows) - len(medoids)
        if n_drawn <= 0:
            return None
        rows, values = self._pool
        rng = generator_at(self.entropy, Draw.COMPANIONS, *place)
        drawn = np.sort(rng.choice(len(rows), n_drawn, replace=False))
        drawn = drawn[~np.isin(rows[drawn], medoids)]
        return take_rows(values, drawn) if len(drawn) else None

    @cached_property
    def _pool(self) -> tuple[IntArray, Any]:
        """Row numbers to sample from, and their values: the data is not read again for each
        batch.
        """
        n_rows = self.values.n_rows
        rng = generator_at(self.entropy, Draw.COMPANIONS)
        rows = np.sort(
            rng.choice(n_rows, min(n_rows, COMPANION.pool * self.n_shown), replace=False)
        )
        return rows, self.values.take(rows)


def count_shown(method: BaseMethod, batch_size: int | None) -> int:
    """Return how many rows the base method should see: some for each of its clusters, but at most a
    batch.
    """
    n_shown = max(COMPANION.fewest, COMPANION.per_cluster * (method.n_clusters or 0))
    return n_shown if batch_size is None else min(n_shown, batch_size)
