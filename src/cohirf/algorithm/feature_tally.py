"""Agreement of features with the clusters: the mean stability of the views that contained each feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.runs import Survivors


class FeatureTally:
    """Sums up, for each feature, the stability (mean Jaccard index) of the views that contained it."""

    def __init__(self, views: Views, n_features: int) -> None:
        self._views = views
        self._confirmed = np.zeros(n_features)
        self._held = np.zeros(n_features)

    def add(self, place: tuple[int, int], n_rows: int, of_view: NDArray[np.float64]) -> None:
        """Add the views of the batch at ``place``: (level, batch)."""
        for view, confirmed in enumerate(of_view.tolist()):
            features = self._features(place, view)
            self._confirmed[features] += n_rows * confirmed
            self._held[features] += n_rows

    def add_level(self, level: int, survivors: Survivors, first_batch: int = 0) -> None:
        """Add the views of all batches of a level, of which the first has the given number."""
        batches = zip(survivors.batch_sizes.tolist(), survivors.view_stability, strict=True)
        for number, (n_rows, of_view) in enumerate(batches, first_batch):
            self.add((level, number), n_rows, of_view)

    def add_sums(self, sums: NDArray[np.float64]) -> None:
        """Add what another tally of the same features has summed up; see ``sums``."""
        self._confirmed += sums[0]
        self._held += sums[1]

    def sums(self) -> NDArray[np.float64]:
        """Return, for each feature, the sum of the stability of its views, and the number of rows in these views."""
        return np.array([self._confirmed, self._held])

    def mean(self) -> NDArray[np.float64]:
        """Return the mean for each feature, over all rows that were clustered with it; NaN if there were none."""
        means = np.full(len(self._held), np.nan)
        np.divide(self._confirmed, self._held, out=means, where=self._held > 0)
        return means

    def _features(self, place: tuple[int, int], view: int) -> IntArray | slice:
        """Return the features of a view. They depend on its place alone, so they need not be stored."""
        n_features = len(self._held)
        of_place = self._views.at(view)
        if of_place.n_features == n_features:
            return slice(None)
        return of_place.features(generator_at(self._views.entropy, Draw.VIEW, *place, view), n_features)
