"""UpdateParents and GetFinalLabels: the fusion hierarchy as two vectors (paper, section 2.2.3).

``parents[i]`` is the medoid that absorbed row i, or i itself. ``absorbed_at[i]`` is the level at which that happened,
or 0 if it never did.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray, compress, first_rows, sum_by_label

JUMP_ROWS = 2**16


def update_parents(parents: IntArray, absorbed_at: IntArray, rows: IntArray, medoids: IntArray, level: int) -> None:
    """Record, in place, that each of ``rows`` now belongs to the medoid beside it in ``medoids``."""
    parents[rows] = medoids
    absorbed_at[rows[rows != medoids]] = level


def find_roots(parents: IntArray, absorbed_at: IntArray, level: int) -> IntArray:
    """Return, for each row, the medoid that stands for it after ``level`` levels.

    Pointer jumping: every round halves the distance to the root. It works in place, block by block; a pointer that
    was moved already only gets there sooner.
    """
    active = (absorbed_at == 0) | (absorbed_at > level)
    roots: IntArray = np.where(active, np.arange(len(parents), dtype=parents.dtype), parents)
    del active
    moved = True
    while moved:
        moved = False
        for start in range(0, len(roots), JUMP_ROWS):
            block = roots[start : start + JUMP_ROWS]
            further = roots[block]
            moved = moved or not np.array_equal(further, block)
            block[:] = further
    return roots


def join_left_out(
    parents: IntArray, absorbed_at: IntArray, taken: IntArray, left_out: IntArray, nearest: IntArray
) -> tuple[IntArray, IntArray]:
    """Extend the vectors of the ``taken`` rows by rows that were left out of the fit.

    Each of those is absorbed at level 1 by the medoid that stands for its ``nearest`` taken row after that level.
    """
    n_rows = len(taken) + len(left_out)
    all_parents = np.empty(n_rows, dtype=parents.dtype)
    all_absorbed_at = np.ones(n_rows, dtype=absorbed_at.dtype)
    all_parents[taken] = taken[parents]
    all_absorbed_at[taken] = absorbed_at
    all_parents[left_out] = taken[find_roots(parents, absorbed_at, level=1)[nearest]]
    return all_parents, all_absorbed_at


def get_final_labels(roots: IntArray) -> tuple[IntArray, IntArray]:
    """Give the clusters numbers in order of first appearance.

    Returns the label of each row, and the medoid of each label.
    """
    medoids, labels = compress(roots, len(roots))
    order = np.argsort(first_rows(labels, len(medoids)))
    new_label = np.empty(len(medoids), dtype=labels.dtype)
    new_label[order] = np.arange(len(medoids), dtype=labels.dtype)
    return new_label[labels], medoids[order]


def hide_small_clusters(
    labels: IntArray, medoids: IntArray, weights: NDArray[np.float64] | None, min_size: float
) -> tuple[IntArray, IntArray]:
    """Label the rows of clusters below ``min_size`` -1, and number the others anew in the same order.

    The size of a cluster is the sum of its ``weights``, or its number of rows without them.
    """
    keep = sum_by_label(labels, weights, len(medoids)) >= min_size
    if keep.all():
        return labels, medoids
    new_label = np.where(keep, np.cumsum(keep) - 1, -1).astype(labels.dtype)
    return new_label[labels], medoids[keep]
