"""Compiled medoids, means and exemplars, for base methods that are compiled themselves.

GridDBSCAN takes a tenth of a microsecond per row. To find the central rows of its clusters with
NumPy, which passes over all rows many times, would take longer than to find the clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cohirf.algorithm.contract_batch import Centres
from cohirf.rows.grouping import ROUNDING, IntArray, index_dtype


def takes(X: Any) -> bool:
    """Return whether kernels take these rows as they are."""
    return (
        isinstance(X, np.ndarray)
        and X.flags.c_contiguous
        and X.flags.writeable
        and X.dtype.kind == "f"
    )


def find_centres(
    X: Any, labels: Any, n_clusters: int, mass: Any, *, by_cosine: bool
) -> Centres | None:
    """Return the means, sizes and first rows of clusters; None if kernels do not take these rows.

    If ``by_cosine``, their medoids are the rows with the highest mean cosine similarity.
    """
    if mass is not None or not takes(X):
        return None
    sums, directions, counts, first, scales = _sum_rows(X, labels, n_clusters, by_cosine)
    if by_cosine:
        medoids = _most_similar(X, labels, directions / counts[:, None], scales)
    else:
        medoids = None
    return Centres(medoids, sums / counts[:, None], counts, first.astype(index_dtype(len(X))))


@njit(cache=True, nogil=True)
def _sum_rows(X: Any, labels: Any, n_labels: Any, of_directions: Any) -> Any:
    """Return, for each label, the sum of its rows and of its rows scaled to length 1, their number
    and the first one.

    Then follows the scale of each row. A row of zeros stays as it is. Without ``of_directions``,
    rows are not scaled.
    """
    n, d = X.shape
    sums = np.zeros((n_labels, d))
    directions = np.zeros((n_labels, d))
    counts = np.zeros(n_labels, dtype=np.int64)
    first = np.empty(n_labels, dtype=np.int64)
    scales = np.empty(n if of_directions else 0)
    for i in range(n):
        label = labels[i]
        if counts[label] == 0:
            first[label] = i
        counts[label] += 1
        if of_directions:
            square = 0.0
            for j in range(d):
                square += np.float64(X[i, j]) * X[i, j]
            if square == 0:
                square = 1.0
            scales[i] = scale = 1 / np.sqrt(square)
            for j in range(d):
                sums[label, j] += X[i, j]
                directions[label, j] += X[i, j] * scale
        else:
            for j in range(d):
                sums[label, j] += X[i, j]
    return sums, directions, counts, first, scales


@njit(cache=True, nogil=True)
def _most_similar(X: Any, labels: Any, vectors: Any, scales: Any) -> Any:
    """Return the first row of each label whose cosine similarity to a vector is the highest, but
    for rounding.

    The scores of rows take the place of their ``scales``.
    """
    n, d = X.shape
    highest = np.full(len(vectors), -np.inf)
    for i in range(n):
        dot = 0.0
        for j in range(d):
            dot += X[i, j] * vectors[labels[i], j]
        scales[i] *= dot
        highest[labels[i]] = max(highest[labels[i]], scales[i])
    best = np.full(len(vectors), -1, dtype=np.int64)
    for i in range(n):
        if scales[i] >= highest[labels[i]] - ROUNDING and best[labels[i]] < 0:
            best[labels[i]] = i
    return best


@njit(cache=True, nogil=True)
def _nearest_to_means(X: Any, labels: Any, means: Any) -> Any:
    """Return the first row of each label that is nearest to its mean.

    Rows with the label -1 are left out.
    """
    n, d = X.shape
    nearest = np.full(len(means), np.inf)
    found = np.full(len(means), -1, dtype=np.int64)
    for i in range(n):
        label = labels[i]
        if label < 0:
            continue
        square = 0.0
        for j in range(d):
            square += (X[i, j] - means[label, j]) * (X[i, j] - means[label, j])
        if square < nearest[label]:
            nearest[label], found[label] = square, i
    return found


def nearest_rows(rows: Any, labels: Any, means: NDArray[np.float64]) -> IntArray | None:
    """Return the row of each label that is nearest to its mean.

    None if rows are not such that kernels take them.
    """
    X = getattr(rows, "X", None)
    if takes(X) and isinstance(labels, np.ndarray):
        nearest: IntArray = _nearest_to_means(X, labels, means)
        return nearest
    return None
