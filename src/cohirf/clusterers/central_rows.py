"""Compiled medoids, means, exemplars and ranks, for base methods that are compiled themselves.

GridDBSCAN takes a tenth of a microsecond per row. To find the central rows of its clusters with NumPy, which passes
over all rows many times, would take longer than to find the clusters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cohirf.algorithm.choose_medoids import FAINT_SQUARE, MEDOID_TIE, cluster_means
from cohirf.algorithm.contract_batch import ChooseMedoids
from cohirf.rows.grouping import IntArray


def takes(X: Any) -> bool:
    """Return whether kernels take these rows as they are."""
    return isinstance(X, np.ndarray) and X.flags.c_contiguous and X.flags.writeable and X.dtype.kind == "f"


def choose_cosine_medoids(
    X: Any, labels: Any, n_clusters: int, mass: Any, rng: np.random.Generator, *, otherwise: ChooseMedoids
) -> IntArray:
    """Return the row of each cluster with the highest mean cosine similarity; ``otherwise`` chooses for other data."""
    if mass is None and takes(X):
        sums, counts, is_faint = _sum_rows(X, labels, n_clusters, True)
        if not is_faint:
            medoids: IntArray = _most_similar(X, labels, sums / counts[:, None])
            return medoids
    return otherwise(X, labels, n_clusters, mass, rng)


def find_means(X: Any, labels: Any, n_clusters: int, mass: Any) -> Any:
    """Return the mean of each cluster's rows."""
    if mass is None and takes(X):
        sums, counts, _ = _sum_rows(X, labels, n_clusters, False)
        return sums / counts[:, None]
    return cluster_means(X, labels, n_clusters, mass)


@njit(cache=True, nogil=True)
def _sum_rows(X: Any, labels: Any, n_labels: Any, of_directions: Any) -> Any:
    """Return the sum of the rows of each label, or of rows scaled to length 1; their number; whether a row is faint.

    Squares of faint values have lost digits. A row of zeros stays as it is.
    """
    n, d = X.shape
    sums, counts = np.zeros((n_labels, d)), np.zeros(n_labels)
    for i in range(n):
        scale = 1.0
        if of_directions:
            square = 0.0
            for j in range(d):
                square += np.float64(X[i, j]) * X[i, j]
            if square < FAINT_SQUARE:
                if np.any(X[i] != 0):
                    return sums, counts, True
                square = 1.0
            scale = 1 / np.sqrt(square)
        for j in range(d):
            sums[labels[i], j] += X[i, j] * scale
        counts[labels[i]] += 1
    return sums, counts, False


@njit(cache=True, nogil=True)
def _most_similar(X: Any, labels: Any, vectors: Any) -> Any:
    """Return the first row of each label whose cosine similarity to a vector is the highest, but for rounding."""
    n, d = X.shape
    scores, highest = np.empty(n), np.full(len(vectors), -np.inf)
    for i in range(n):
        square = dot = 0.0
        for j in range(d):
            square += np.float64(X[i, j]) * X[i, j]
            dot += X[i, j] * vectors[labels[i], j]
        scores[i] = dot / np.sqrt(square) if square > 0 else 0.0
        highest[labels[i]] = max(highest[labels[i]], scores[i])
    best = np.full(len(vectors), -1, dtype=np.int64)
    for i in range(n):
        if best[labels[i]] < 0 and scores[i] >= highest[labels[i]] - MEDOID_TIE:
            best[labels[i]] = i
    return best


@njit(cache=True, nogil=True)
def _nearest_to_means(X: Any, labels: Any, means: Any) -> Any:
    """Return the first row of each label that is nearest to its mean; rows with the label -1 are left out."""
    n, d = X.shape
    nearest, found = np.full(len(means), np.inf), np.full(len(means), -1, dtype=np.int64)
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
    """Return the row of each label that is nearest to its mean; None if rows are not such that kernels take them."""
    X = getattr(rows, "X", None)
    return _nearest_to_means(X, labels, means) if takes(X) and isinstance(labels, np.ndarray) else None


def find_ranked(labels: IntArray, group: IntArray, ranks: IntArray, n_groups: int) -> IntArray:
    """Return the row with each rank among the rows of a group: a label or, for the last group, -1."""
    order = np.lexsort((ranks, group))
    found: IntArray = np.empty(len(ranks), dtype=np.int64)
    found[order] = _find_in_order(
        np.asarray(labels), ranks[order], np.searchsorted(group[order], np.arange(n_groups + 1))
    )
    return found


@njit(cache=True, nogil=True)
def _find_in_order(labels: Any, ranks: Any, starts: Any) -> Any:
    """Return the row with each rank; group k has ``ranks[starts[k]:starts[k + 1]]``, sorted."""
    n_groups = len(starts) - 1
    n_before, place = np.zeros(n_groups, dtype=np.int64), starts[:-1].copy()
    found = np.empty(len(ranks), dtype=np.int64)
    for i in range(len(labels)):
        group = labels[i] if labels[i] >= 0 else n_groups - 1
        while place[group] < starts[group + 1] and ranks[place[group]] == n_before[group]:
            found[place[group]] = i
            place[group] += 1
        n_before[group] += 1
    return found
