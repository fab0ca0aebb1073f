"""FusionHierarchy: the partitions of all levels, held as two vectors."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cohirf.algorithm.grouping import IntArray, count_by_label, row_blocks
from cohirf.algorithm.parents import find_roots, get_final_labels
from cohirf.hierarchy import export, html
from cohirf.hierarchy.merges import Merges, find_merges, lifetimes, subtree_sizes


@dataclass(frozen=True)
class LineageStep:
    """The cluster a row is in at one level: its medoid and its number of rows."""

    level: int
    medoid: int
    size: int


@dataclass(frozen=True, eq=False)
class Persistence:
    """How long each fused cluster lasted: one entry per fusion, in the order of ``FusionHierarchy.merges``.

    Attributes
    ----------
    medoid, level, size : array of int
        The cluster: its medoid, the level at which it was made, and its number of rows.
    lifetime : array of int
        For how many levels it stayed as it was, until it grew, was absorbed, or the levels ended.
    """

    medoid: IntArray
    level: IntArray
    size: IntArray
    lifetime: IntArray


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
    rows : array of int, shape (n_rows,), optional
        For the top of a larger hierarchy: the row of the data that stands for each leaf, in rising order.
    row_sizes : array of int, shape (n_rows,), optional
        For the top of a larger hierarchy: how many rows of the data each leaf stands for.

    Attributes
    ----------
    n_rows : int
        Number of leaves: of rows, unless this is the top of a larger hierarchy.
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
    >>> [(step.level, step.medoid, step.size) for step in hierarchy.lineage(1)]
    [(0, 1, 1), (1, 0, 2), (2, 0, 3)]
    >>> hierarchy.merges()[1].absorbed
    array([2], dtype=int32)
    """

    def __init__(
        self,
        parents: ArrayLike,
        absorbed_at: ArrayLike,
        *,
        rows: ArrayLike | None = None,
        row_sizes: ArrayLike | None = None,
    ) -> None:
        self.parents: IntArray = _as_integers(parents, "parents")
        self.absorbed_at: IntArray = _as_integers(absorbed_at, "absorbed_at")
        _check_forest(self.parents, self.absorbed_at)
        self.n_rows = len(self.parents)
        self.n_levels = int(self.absorbed_at.max())
        self.rows: IntArray | None = None if rows is None else _as_integers(rows, "rows")
        self.row_sizes: IntArray | None = None if row_sizes is None else _as_integers(row_sizes, "row_sizes")
        _check_leaves(self.n_rows, self.rows, self.row_sizes)

    def __repr__(self) -> str:
        """Return the number of clusters of each level in one line."""
        counts = " > ".join(f"{count:,}" for count in self.cluster_counts())
        leaves = f"{self.n_rows:,} rows"
        if self.row_sizes is not None:
            leaves = f"{self.n_rows:,} clusters of {self.row_sizes.sum():,} rows"
        return f"FusionHierarchy({leaves}, clusters by level: {counts})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        sizes = self.sizes(self.n_levels)
        return html.summarize(self.cluster_counts(), sizes, self.medoids(self.n_levels), int(sizes.sum()))

    def __eq__(self, other: object) -> bool:
        """Tell whether another hierarchy has the same fusions."""
        if not isinstance(other, FusionHierarchy):
            return NotImplemented
        names = ("parents", "absorbed_at", "rows", "row_sizes")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]  # it holds arrays, which can change

    def cluster_counts(self) -> IntArray:
        """Return the number of clusters at each level, from 0 to ``n_levels``."""
        absorbed = count_by_label(self.absorbed_at, self.n_levels + 1)
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
        return self._partition(self._level_with(n_clusters) if level is None else level)[0]

    def medoids(self, level: int) -> IntArray:
        """Return the row number of each cluster's medoid at ``level``, in the order of ``cut(level=level)``."""
        return self._data_rows(self._partition(level)[1])

    def sizes(self, level: int) -> IntArray:
        """Return the number of rows of each cluster at ``level``, in the order of ``cut(level=level)``."""
        labels, medoids = self._partition(level)
        if self.row_sizes is None:
            return count_by_label(labels, len(medoids))
        return np.bincount(labels, weights=self.row_sizes).astype(np.int64)

    def members(self, medoid: int, level: int) -> IntArray:
        """Return the rows of the cluster for which ``medoid`` stands at ``level``, in rising order."""
        self._check_level(level)
        leaf = self._leaf(medoid)
        if 0 < self.absorbed_at[leaf] <= level:
            raise ValueError(
                f"medoid={medoid} stands for no cluster at level {level}: it was absorbed at level "
                f"{self.absorbed_at[leaf]}. lineage({medoid}) says by which medoid."
            )
        return self._data_rows(np.flatnonzero(find_roots(self.parents, self.absorbed_at, level) == leaf))

    def lineage(self, row: int) -> list[LineageStep]:
        """Return the cluster of ``row`` at each level: why it is where it is."""
        leaf = self._leaf(row)
        sizes = subtree_sizes(self.parents, self.absorbed_at, self.row_sizes)
        steps = []
        for level in range(self.n_levels + 1):
            while 0 < self.absorbed_at[leaf] <= level:
                leaf = int(self.parents[leaf])
            # all rows it ever stands for, less those it absorbs later
            later = np.flatnonzero((self.parents == leaf) & (self.absorbed_at > level))
            size = int(sizes[leaf] - sizes[later].sum())
            steps.append(LineageStep(level, self._data_row(leaf), size))
        return steps

    def step_up(self, rows: IntArray, level: int) -> IntArray:
        """Return the row that stands for each of ``rows`` after ``level``, if these stood for something before it."""
        return np.where(self.absorbed_at[rows] == level, self.parents[rows], rows)

    def merges(self) -> Merges:
        """Return all fusions: level, surviving medoid, absorbed medoids, and sizes.

        A fusion of many clusters is one entry. The result is a sequence of ``Merge`` that is held as arrays.
        """
        merges = find_merges(self.parents, self.absorbed_at, self.row_sizes)
        if self.rows is None:
            return merges
        parts = vars(merges) | {"medoid": self.rows[merges.medoid], "absorbed": self.rows[merges.absorbed]}
        return Merges(**parts)

    def persistence(self) -> Persistence:
        """Return for how many levels each fused cluster stayed as it was."""
        merges = find_merges(self.parents, self.absorbed_at, self.row_sizes)
        lifetime = lifetimes(merges, self.absorbed_at, self.n_levels)
        return Persistence(self._data_rows(merges.medoid), merges.level, merges.size, lifetime)

    def condense(self, max_clusters: int = 50) -> FusionHierarchy:
        """Return the readable top of the hierarchy.

        Its leaves are the clusters of the finest level with at most ``max_clusters`` of them, or of the last level
        if all have more. Its level 0 is that level; ``rows`` are the medoids of its leaves, ``row_sizes`` their sizes.

        Parameters
        ----------
        max_clusters : int, default=50
            Largest number of leaves.

        Returns
        -------
        top : FusionHierarchy
            A hierarchy with one leaf per cluster.

        Examples
        --------
        >>> from cohirf import FusionHierarchy
        >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 2, 4], absorbed_at=[0, 1, 2, 1, 0])
        >>> top = hierarchy.condense(max_clusters=3)
        >>> top
        FusionHierarchy(3 clusters of 5 rows, clusters by level: 3 > 2)
        >>> top.rows, top.row_sizes
        (array([0, 2, 4], dtype=int32), array([2, 2, 1]))
        """
        counts = self.cluster_counts()
        level = min(int(np.count_nonzero(counts > max_clusters)), self.n_levels)
        roots = find_roots(self.parents, self.absorbed_at, level)
        leaves = np.flatnonzero(roots == np.arange(self.n_rows, dtype=roots.dtype))
        sizes = np.bincount(roots, weights=self.row_sizes, minlength=self.n_rows)[leaves].astype(np.int64)
        levels = self.absorbed_at[leaves].astype(np.int64)
        return FusionHierarchy(
            np.searchsorted(leaves, self.parents[leaves]),
            np.maximum(levels - level, 0).astype(self.absorbed_at.dtype),
            rows=self._data_rows(leaves),
            row_sizes=sizes,
        )

    def to_frame(self) -> Any:
        """Return a pandas table with the parent, level of absorption and final cluster of each row."""
        return export.to_frame(self._columns())

    def to_arrow(self) -> Any:
        """Return an Arrow table with the row, parent, level of absorption and final cluster of each row."""
        return export.to_arrow(self._columns())

    def to_linkage(self) -> NDArray[np.float64]:
        """Return the linkage matrix that scipy's hierarchical clustering works with.

        Heights are levels: cutting it at the height of a level gives the partition of that level. The steps of a
        multi-way fusion are ties. Final clusters are joined one level above the last. For large data, take that of
        ``condense()``.
        """
        return export.to_linkage(self.parents, self.absorbed_at)

    def to_networkx(self) -> Any:
        """Return a directed graph in which each absorbed row points to the medoid that absorbed it."""
        return export.to_networkx(self._columns())

    def to_newick(self) -> str:
        """Return the tree in Newick's notation, for programs that draw trees; multi-way fusions stay multi-way."""
        rows = np.arange(self.n_rows) if self.rows is None else self.rows
        return export.to_newick(self.merges(), rows, self.medoids(self.n_levels), self.n_levels)

    def to_json(self) -> str:
        """Return the hierarchy as JSON text, from which ``from_json`` makes it again."""
        names = ("parents", "absorbed_at", "rows", "row_sizes")
        return export.to_json({name: getattr(self, name) for name in names})

    @classmethod
    def from_json(cls, text: str) -> FusionHierarchy:
        """Return the hierarchy that ``to_json`` wrote."""
        return cls(**export.from_json(text))

    def _columns(self) -> dict[str, IntArray]:
        return export.table_columns(self.parents, self.absorbed_at, self.rows, self.row_sizes)

    def _partition(self, level: int) -> tuple[IntArray, IntArray]:
        self._check_level(level)
        return get_final_labels(find_roots(self.parents, self.absorbed_at, level))

    def _check_level(self, level: int) -> None:
        if not 0 <= index(level) <= self.n_levels:
            raise ValueError(f"level={level} is not in this hierarchy: give a level from 0 to {self.n_levels}.")

    def _level_with(self, n_clusters: Any) -> int:
        counts = self.cluster_counts()
        levels = np.flatnonzero(counts <= n_clusters)
        if len(levels) == 0:
            raise ValueError(
                f"n_clusters={n_clusters} is not in this hierarchy: its last level has {counts[-1]} clusters. "
                f"Ask for at least as many, or make the base method merge more."
            )
        return int(levels[0])

    def _data_rows(self, leaves: IntArray) -> IntArray:
        """Return the rows of the data that stand for ``leaves``."""
        return leaves if self.rows is None else self.rows[leaves]

    def _data_row(self, leaf: int) -> int:
        return leaf if self.rows is None else int(self.rows[leaf])

    def _leaf(self, row: int) -> int:
        """Return the leaf for which a row of the data stands."""
        leaf = int(row) if self.rows is None else int(np.searchsorted(self.rows, row))
        if not 0 <= leaf < self.n_rows or self._data_row(leaf) != row:
            raise ValueError(
                f"row={row} is not in this hierarchy of {self.n_rows} rows: give one of them"
                f"{'.' if self.rows is None else ', as rows lists them, or ask the whole hierarchy.'}"
            )
        return leaf


def _as_integers(values: ArrayLike, name: str) -> IntArray:
    """Return signed row numbers, or levels in as few bytes as they have; what is out of range becomes negative."""
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be a one-dimensional array of integers, not {array.dtype} {array.shape}.")
    highest = int(array.max(initial=0))
    if highest >= 2**63 or int(array.min(initial=0)) < 0:
        return np.full(len(array), -1)
    if name == "absorbed_at" and array.dtype.itemsize <= 4:
        return array
    small = name != "row_sizes" and max(highest, len(array)) < 2**31
    return array.astype(np.int32 if small else np.int64, copy=False)


def _check_forest(parents: IntArray, absorbed_at: IntArray) -> None:
    """Refuse vectors in which a row was not absorbed by one that outlived it: these alone could hold a cycle."""
    n = len(parents)
    if len(absorbed_at) != n:
        raise ValueError(f"parents has {n} rows and absorbed_at {len(absorbed_at)}: they must be equally long.")
    if n == 0:
        raise ValueError("parents has 0 rows: a hierarchy has at least one.")
    if not (parents.min() >= 0 and parents.max() < n and absorbed_at.min() >= 0):
        raise ValueError(f"parents must be row numbers from 0 to {n - 1}, and absorbed_at must not be negative.")
    if absorbed_at.max() > 2 * n:  # a fit has at most one level without a fusion between two that have some
        raise ValueError(f"absorbed_at goes up to {absorbed_at.max()}: {n} rows cannot have so many levels.")
    for block in row_blocks(n):
        level, until = absorbed_at[block], absorbed_at[parents[block]]
        if ((level > 0) & (until > 0) & (until <= level)).any():
            raise ValueError(
                "parents is not a fusion hierarchy: a row was absorbed by one that was not active any more."
            )
        if ((level == 0) & (parents[block] != np.arange(block.start, block.stop))).any():
            raise ValueError("parents is not a fusion hierarchy: a row that was never absorbed has another as parent.")


def _check_leaves(n_rows: int, rows: IntArray | None, row_sizes: IntArray | None) -> None:
    for name, values in (("rows", rows), ("row_sizes", row_sizes)):
        if values is not None and len(values) != n_rows:
            raise ValueError(f"{name} has {len(values)} entries for {n_rows} leaves: give one for each leaf.")
    if rows is not None and (rows[1:] <= rows[:-1]).any():
        raise ValueError("rows must be in rising order, without repetition.")
    if rows is not None and (rows < 0).any():
        raise ValueError("rows must not be negative: give row numbers of the data.")
    if row_sizes is not None and (row_sizes < 1).any():
        raise ValueError("row_sizes must be 1 or more: a leaf stands for itself at least.")
