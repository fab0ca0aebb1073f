"""Exemplars: the most central of all rows of each final cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.arrays import is_here
from cohirf.algorithm.choose_medoids import fill_missing, squared_distances_to
from cohirf.algorithm.grouping import IntArray, best_by_label, row_blocks
from cohirf.algorithm.metric_spaces import MetricSpace
from cohirf.algorithm.storage import Rows

BLOCK_CELLS = 2**19


@dataclass(frozen=True)
class RowsAsPoints:
    """Rows as points whose Euclidean distances are computed: missing cells are replaced by the means of columns."""

    rows: Rows
    column_means: NDArray[np.floating[Any]] | None
    space: MetricSpace

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def take(self, rows: IntArray) -> Any:
        """Return the points of the given rows."""
        return self.space.points(fill_missing(self.rows.take(rows), self.column_means))


def find_exemplars(rows: Any, labels: Any, means: Any) -> IntArray:
    """Return, for each label, the row with that label that is nearest to the mean of the label.

    This is the row with the smallest sum of squared distances to all rows of its cluster. The cost is linear in the
    number of rows.

    Parameters
    ----------
    rows : Rows
        All rows.
    labels : array of int
        Label of each row, or -1; every label has a row. If they are on a device, so are the rows.
    means : array or CSR matrix
        Mean of the rows of each label.
    """
    n_labels = means.shape[0]
    if not is_here(labels):
        with_noise = np.concatenate([np.zeros((1, means.shape[1])), means])  # noise is the first label
        scores = -squared_distances_to(with_noise, rows.X, labels + 1)
        return best_by_label(scores, labels + 1, n_labels + 1, tie=0)[1:]
    nearest, exemplars = np.full(n_labels, np.inf), np.full(n_labels, -1)
    for block in row_blocks(rows.n_rows, max(1, BLOCK_CELLS // max(1, means.shape[1]))):
        clustered = block.start + np.flatnonzero(labels[block] >= 0)
        if len(clustered) == 0:
            continue
        own = labels[clustered]
        distances = _squared_distances(rows.take(clustered), means, own)
        closer = np.flatnonzero(distances < nearest[own])  # than all rows of the blocks before
        np.minimum.at(nearest, own[closer], distances[closer])
        best = closer[distances[closer] == nearest[own[closer]]][::-1]  # of several, the first row is written last
        exemplars[own[best]] = clustered[best]
    return exemplars


def _squared_distances(X: Any, means: Any, labels: IntArray) -> NDArray[np.float64]:
    """Return the squared distance of each row to the mean of its label."""
    difference = X - means[labels]
    if sparse.issparse(difference):
        return np.asarray(difference.multiply(difference).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", difference, difference, dtype=np.float64))
