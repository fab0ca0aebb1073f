"""A local batch to measure: the rows around one row of the data.

Local batches have the density of the data. A random sample is thinner, so that a method with a radius would find fewer
neighbours in it, and take less time and memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.grouping import row_blocks
from cohirf.algorithm.randomness import Entropy
from cohirf.algorithm.storage import MemoryGatherer, Rows
from cohirf.planning.probe import draw_rows

MOST_ROWS, MOST_CELLS = 2**17, 2**23  # that are kept


class Neighbourhood:
    """The rows that are nearest to one row, drawn at random. All rows are read once, when the first are asked for.

    Parameters
    ----------
    rows : Rows
        All rows.
    column_means : array or None
        What distances take for missing values.
    entropy : Entropy
        Entropy of the fit, which seeds the choice of the row.
    """

    def __init__(self, rows: Rows, column_means: NDArray[np.floating[Any]] | None, entropy: Entropy) -> None:
        self._rows, self._column_means = rows, column_means
        self._centre = self._fill(rows.take(draw_rows(rows.n_rows, 1, entropy)))

    @property
    def n_rows(self) -> int:
        """Number of rows: at most 131,072, and fewer if they have more than 64 features."""
        return max(1, min(self._rows.n_rows, MOST_ROWS, MOST_CELLS // int(self._centre.shape[1])))

    def take(self, size: int) -> Any:
        """Return the nearest rows, so many, in the order of their distance."""
        return self._nearest[:size]

    @cached_property
    def _nearest(self) -> Any:
        near, distances = self._rows.take(np.arange(0)), np.empty(0)
        for block in row_blocks(self._rows.n_rows, self.n_rows):
            new = self._rows.take(np.arange(block.start, block.stop))
            of_new = euclidean_distances(self._fill(new), self._centre, squared=True).ravel()
            if len(distances) == self.n_rows:
                closer = np.flatnonzero(of_new < distances[-1])
                new, of_new = new[closer], of_new[closer]
            distances = np.concatenate([distances, of_new])
            order = np.argsort(distances, kind="stable")[: self.n_rows]
            both = MemoryGatherer([near, new]).rows()
            assert both is not None
            near, distances = both.X[order], distances[order]
        return near

    def _fill(self, X: Any) -> Any:
        return fill_missing(X, self._column_means)
