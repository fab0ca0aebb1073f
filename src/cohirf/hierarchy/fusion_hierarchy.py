"""FusionHierarchy: the partitions of all levels, held as two vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.parents import find_roots, get_final_labels


class FusionHierarchy:
    """The Cluster Fusion Hierarchy of a fit.

    At level 0 every row is a cluster of its own. At each further level clusters fuse: one of their medoids goes on
    to stand for all of them, the others are absorbed. Two vectors hold all of it.

    Parameters
    ----------
    parents : array of int, shape (n_rows,)
        The row that absorbed each row; the row itself if none did.
    absorbed_at : array of int, shape (n_rows,)
        The level at which each row was absorbed; 0 if it never was.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_levels : int
        Number of the last level at which clusters fused.

    Examples
    --------
    Rows 0 and 1 fuse at level 1, and row 2 joins them at level 2:

    >>> from cohirf import FusionHierarchy
    >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 3], absorbed_at=[0, 1, 2, 0])
    >>> hierarchy.cut(level=1)
    array([0, 0, 1, 2], dtype=int32)
    >>> hierarchy.cut(n_clusters=2)
    array([0, 0, 0, 1], dtype=int32)
    >>> hierarchy.sizes(level=2)
    array([3, 1])
    """

    def __init__(self, parents: ArrayLike, absorbed_at: ArrayLike) -> None:
        self.parents: IntArray = _as_integers(parents, "parents")
        self.absorbed_at: IntArray = _as_integers(absorbed_at, "absorbed_at")
        _check_forest(self.parents, self.absorbed_at)
        self.n_rows = len(self.parents)
        self.n_levels = int(self.absorbed_at.max(initial=0))

    def __repr__(self) -> str:
        """Return the size of each level in one line."""
        counts = " > ".join(f"{count:,}" for count in self.cluster_counts())
        return f"FusionHierarchy({self.n_rows:,} rows, clusters by level: {counts})"

    def cluster_counts(self) -> IntArray:
        """Return the number of clusters at each level, from 0 to ``n_levels``."""
        absorbed = np.bincount(self.absorbed_at, minlength=self.n_levels + 1)
        absorbed[0] = 0  # rows that were never absorbed
        return self.n_rows - np.cumsum(absorbed)

    def cut(self, *, level: int | None = None, n_clusters: int | None = None) -> IntArray:
        """Return the label of each row in one partition of the hierarchy.

        Parameters
        ----------
        level : int, optional
            The level to cut at: 0 leaves every row by itself, ``n_levels`` is the final partition.
        n_clusters : int, optional
            Cut at the finest level that has at most this many clusters.

        Returns
        -------
        labels : array of int, shape (n_rows,)
            Labels 0, 1, ... in order of first appearance.
        """
        if (level is None) == (n_clusters is None):
            raise TypeError("cut takes either level or n_clusters: give exactly one of them.")
        if level is None:
            level = self._level_with(n_clusters)
        return self._partition(level)[0]

    def medoids(self, level: int) -> IntArray:
        """Return the row number of each cluster's medoid at ``level``, in the order of ``cut(level=level)``."""
        return self._partition(level)[1]

    def sizes(self, level: int) -> IntArray:
        """Return the number of rows of each cluster at ``level``, in the order of ``cut(level=level)``."""
        return np.bincount(self.cut(level=level))

    def _partition(self, level: int) -> tuple[IntArray, IntArray]:
        if not 0 <= level <= self.n_levels:
            raise ValueError(f"level={level} is not in this hierarchy: give a level from 0 to {self.n_levels}.")
        return get_final_labels(find_roots(self.parents, self.absorbed_at, level))

    def _level_with(self, n_clusters: Any) -> int:
        counts = self.cluster_counts()
        levels = np.flatnonzero(counts <= n_clusters)
        if len(levels) == 0:
            raise ValueError(
                f"n_clusters={n_clusters} is not in this hierarchy: its last level has {counts[-1]} clusters."
            )
        return int(levels[0])


def _as_integers(values: ArrayLike, name: str) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be a one-dimensional array of integers, not {array.dtype} {array.shape}.")
    return array.astype(np.int32) if array.dtype == np.int64 and len(array) < 2**31 else array


def _check_forest(parents: IntArray, absorbed_at: IntArray) -> None:
    """Refuse vectors in which a row was not absorbed by one that outlived it: these alone could hold a cycle."""
    n = len(parents)
    if len(absorbed_at) != n:
        raise ValueError(f"parents has {n} rows and absorbed_at {len(absorbed_at)}: they must be equally long.")
    if n and not (parents.min() >= 0 and parents.max() < n and absorbed_at.min() >= 0):
        raise ValueError(f"parents must be row numbers from 0 to {n - 1}, and absorbed_at must not be negative.")
    absorbed = np.flatnonzero(absorbed_at)
    until = absorbed_at[parents[absorbed]]
    if not ((until == 0) | (until > absorbed_at[absorbed])).all():
        raise ValueError("parents is not a fusion hierarchy: a row was absorbed by one that was not active any more.")
    if (parents[absorbed_at == 0] != np.flatnonzero(absorbed_at == 0)).any():
        raise ValueError("parents is not a fusion hierarchy: a row that was never absorbed has another row as parent.")
