"""GetFinalLabels: from the fusion hierarchy, as two vectors, to clusters (paper, section 2.2.3).

``parents[i]`` is the medoid that absorbed row i, or i itself. ``absorbed_at[i]`` is the level at
which that happened, or 0 if it never did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.arrays import to_host
from cohirf.rows.grouping import (
    IntArray,
    compress,
    count_by_label,
    first_rows,
    index_dtype,
    row_blocks,
    sum_by_label,
)
from cohirf.rows.storage import Storage

CIRCLE = "parents is not a fusion hierarchy: some rows have absorbed each other."


def find_roots(parents: IntArray, absorbed_at: IntArray, level: int) -> IntArray:
    """Return, for each row, the medoid that represents it after ``level`` levels.

    Pointer jumping: every round halves the distance to the root. It works in place, block by block;
    pointers that were already updated in the same round only speed it up. The rounds end also if
    rows have absorbed each other, and so have no root.
    """
    roots = np.empty(len(parents), dtype=parents.dtype)
    for block in row_blocks(len(roots)):
        roots[block] = parents[block]
        still_active = (absorbed_at[block] == 0) | (absorbed_at[block] > level)
        roots[block][still_active] = np.arange(block.start, block.stop, dtype=roots.dtype)[
            still_active
        ]
    for _ in range(len(roots).bit_length() + 1):
        moved = False
        for block in row_blocks(len(roots)):
            further = roots[roots[block]]
            moved = moved or not np.array_equal(further, roots[block])
            roots[block] = further
        if not moved:
            return roots
    raise ValueError(CIRCLE)


def find_roots_of(rows: IntArray, parents: IntArray, absorbed_at: IntArray, level: int) -> IntArray:
    """Return, for each of some rows, the medoid that represents it after ``level`` levels.

    Reads only what it needs.
    """
    roots = rows
    for _ in range(level + 1):  # each step leads to a row that was absorbed at a later level
        absorbed = absorbed_at[roots]
        further = np.where((absorbed > 0) & (absorbed <= level), parents[roots], roots)
        if np.array_equal(further, roots):
            return roots
        roots = further
    raise ValueError(CIRCLE)


def get_final_labels(roots: IntArray) -> tuple[IntArray, IntArray]:
    """Label rows by cluster, with clusters numbered in order of first appearance.

    Also return the medoid of each.
    """
    medoids, labels = compress(roots, len(roots))
    return _renumber(labels, medoids, first_rows(labels, len(medoids)))


def number_by_first_row(
    labels: IntArray, medoids: IntArray, rows: IntArray
) -> tuple[IntArray, IntArray]:
    """Renumber clusters of leaves in the order in which their rows first appear in the data.

    ``rows`` has the smallest row number of each leaf. Returns the new labels, and the medoid of
    each label.
    """
    first = np.full(len(medoids), np.iinfo(np.int64).max)
    np.minimum.at(first, labels, rows)
    return _renumber(labels, medoids, first)


def _renumber(labels: IntArray, medoids: IntArray, first: IntArray) -> tuple[IntArray, IntArray]:
    order = np.argsort(first)
    new_label = np.empty(len(medoids), dtype=labels.dtype)
    new_label[order] = np.arange(len(medoids), dtype=labels.dtype)
    return new_label[labels], medoids[order]


def hide_small_clusters(
    labels: IntArray, medoids: IntArray, weights: NDArray[np.float64] | None, min_size: float
) -> tuple[IntArray, IntArray]:
    """Label the rows of clusters smaller than ``min_size`` as -1, and renumber the others in the
    same order, in place.

    The size of a cluster is the sum of its ``weights``; without weights, its number of rows.
    """
    n_labels = len(medoids)
    if weights is None:
        sizes: NDArray[Any] = count_by_label(labels, n_labels)
    else:
        sizes = sum_by_label(labels, weights, n_labels)
    keep = sizes >= min_size
    if not keep.all():
        new_label = np.where(keep, np.cumsum(keep) - 1, -1).astype(labels.dtype)
        for block in row_blocks(len(labels)):
            labels[block] = new_label[labels[block]]
    return labels, medoids[keep]


@dataclass(frozen=True)
class Recorded:
    """For each row: what absorbed it at the first level, and how stable its group was."""

    parents: IntArray  # index of the medoid that absorbed the row, or of the row itself
    # Mean over views of the Jaccard index between the row's group and its cluster in each view, at
    # the last level that clustered it (see ``consensus.py``); NaN if no level did
    stability: NDArray[np.float32]

    @classmethod
    def unwritten(cls, n_rows: int, storage: Storage) -> Recorded:
        """Return vectors of arbitrary content: each row must be recorded, or kept."""
        return cls(storage.vector(n_rows, index_dtype(n_rows)), storage.vector(n_rows, np.float32))

    def record(self, rows: slice | IntArray, parents: Any, level: int) -> None:
        """Record that active rows now belong to the medoids beside them in ``parents``.

        A medoid to itself.
        """
        self.parents[rows] = to_host(parents)

    def keep(self, rows: IntArray) -> None:
        """Record that no level has clustered these rows so far."""
        self.record(rows, rows, 0)
        self.stability[rows] = np.nan


@dataclass(frozen=True)
class Fusions(Recorded):
    """For each leaf of the first level: what absorbed it, when, and how stable its group was.

    All levels update these vectors in place: a consumer that keeps them must copy them.
    ``absorbed_at`` is the level at which a leaf was absorbed, or 0 if it never was.
    """

    absorbed_at: IntArray

    @classmethod
    def none(cls, stability: NDArray[np.float32], max_level: int, storage: Storage) -> Fusions:
        """Return vectors in which every row is its own parent."""
        n_rows = len(stability)
        fusions = cls(
            storage.vector(n_rows, index_dtype(n_rows)),
            storage.vector(n_rows, np.float32),
            storage.vector(n_rows, np.min_scalar_type(max_level)),
        )
        fusions.parents[:] = np.arange(n_rows, dtype=fusions.parents.dtype)
        fusions.absorbed_at[:] = 0
        fusions.stability[:] = stability
        return fusions

    def record(self, rows: slice | IntArray, parents: Any, level: int) -> None:
        """Record that active rows now belong to the medoids beside them in ``parents``.

        A medoid to itself.
        """
        parents = to_host(parents)
        super().record(rows, parents, level)
        if isinstance(rows, slice):
            own = np.arange(rows.start, rows.stop)
        else:
            own = rows
        self.absorbed_at[rows] = (parents != own) * self.absorbed_at.dtype.type(level)
