"""FusionHierarchy: the partitions of all levels, stored as two vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cohirf.algorithm.parents import find_roots, get_final_labels
from cohirf.beyond.merge_tree import MergeTree
from cohirf.hierarchy import export, outline
from cohirf.hierarchy.balanced import draw_balanced
from cohirf.hierarchy.export import VECTOR_NAMES
from cohirf.rows.grouping import FloatArray, IntArray, count_by_label, first_rows, row_blocks
from cohirf.wording import count_of, setting


@dataclass(frozen=True)
class LineageStep:
    """The cluster of a row at one level: the row number of its medoid, and its number of rows."""

    level: int
    medoid: int
    size: int


class FusionHierarchy:
    """The Cluster Fusion Hierarchy of a fit.

    At level 0 every row is a cluster of its own. At each further level clusters fuse: one of their
    medoids becomes the medoid of the fused cluster, and the other medoids are absorbed. Two vectors
    describe the whole hierarchy.

    A fitted model has it as ``hierarchy_``. A *condensed* hierarchy, which ``condense`` returns, is
    the top of a larger one: its leaves are clusters instead of rows.

    Parameters
    ----------
    parents : array of int, shape (n_rows,)
        The row that absorbed each row; the row itself if it was never absorbed.
    absorbed_at : array of int, shape (n_rows,)
        The level at which each row was absorbed; 0 if it was never absorbed.
    rows : array of int, shape (n_rows,), default=None
        Only for a condensed hierarchy: row number, in the data, of the medoid of each leaf. Sorted
        and distinct.
    row_sizes : array of int, shape (n_rows,), default=None
        Only for a condensed hierarchy: number of rows in each leaf.
    tree : MergeTree, default=None
        Pairwise merges of the clusters of a level, up to a single cluster, with heights. Its
        medoids are row numbers.

    Attributes
    ----------
    n_rows : int
        Number of leaves. In a condensed hierarchy these are clusters, otherwise rows.
    n_levels : int
        Number of the last level at which clusters fused.
    parents, absorbed_at, rows, row_sizes : array of int
        As given.
    tree : MergeTree or None
        As given. A fit grows it by Ward's criterion, with the number of rows as the mass of a
        cluster; rows that are noise are not in it.

    Raises
    ------
    ValueError
        If the vectors are not those of a hierarchy.

    Examples
    --------
    Rows 0 and 1 fuse at level 1, and row 2 joins them at level 2:

    >>> from cohirf import FusionHierarchy
    >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 3], absorbed_at=[0, 1, 2, 0])
    >>> hierarchy.cluster_counts()
    array([4, 3, 2])
    >>> hierarchy.cut(level=1), hierarchy.cut(n_clusters=2)
    (array([0, 0, 1, 2], dtype=int32), array([0, 0, 0, 1], dtype=int32))
    >>> hierarchy.medoids(level=1), hierarchy.sizes(level=1), hierarchy.members(0, level=2)
    (array([0, 2, 3]), array([2, 1, 1]), array([0, 1, 2]))
    >>> [(step.level, step.medoid, step.size) for step in hierarchy.lineage(1)]
    [(0, 1, 1), (1, 0, 2), (2, 0, 3)]

    Its top, and other formats:

    >>> hierarchy.condense(max_clusters=3)
    FusionHierarchy(3 clusters of 4 rows, clusters by level: 3 > 2)
    >>> hierarchy.to_linkage()
    array([[0., 1., 1., 2.],
           [2., 4., 2., 3.],
           [3., 5., 3., 4.]])
    >>> hierarchy.to_newick()
    '(((0:1,1:1)0:1,2:2)0:1,3:3);'
    >>> hierarchy.to_frame()
         parent  absorbed_at  cluster
    row
    0         0            0        0
    1         0            1        0
    2         0            2        0
    3         3            0        1
    >>> FusionHierarchy.from_json(hierarchy.to_json()) == hierarchy
    True
    """

    def __init__(
        self,
        parents: ArrayLike,
        absorbed_at: ArrayLike,
        *,
        rows: ArrayLike | None = None,
        row_sizes: ArrayLike | None = None,
        tree: MergeTree | None = None,
    ) -> None:
        self.parents: IntArray = _as_integers(parents, "parents")
        self.absorbed_at: IntArray = _as_integers(absorbed_at, "absorbed_at")
        check_forest(self.parents, self.absorbed_at)
        self.n_rows = len(self.parents)
        self.n_levels = int(self.absorbed_at.max())
        self.rows: IntArray | None = None if rows is None else _as_integers(rows, "rows")
        self.row_sizes: IntArray | None = (
            None if row_sizes is None else _as_integers(row_sizes, "row_sizes")
        )
        for name, values in (("rows", self.rows), ("row_sizes", self.row_sizes)):
            if values is not None and len(values) != self.n_rows:
                raise ValueError(
                    f"{name} has {len(values)} entries for {self.n_rows} leaves: pass one for each "
                    "leaf."
                )
        if self.rows is not None and not (
            self.rows[0] >= 0 and (self.rows[1:] > self.rows[:-1]).all()
        ):
            raise ValueError(
                "rows must be sorted and distinct, and not negative: pass row numbers of the data."
            )
        if self.row_sizes is not None and (self.row_sizes < 1).any():
            raise ValueError("row_sizes must be 1 or more: every leaf has at least one row.")
        self.tree = tree
        if tree is not None:
            check_tree(tree, self.find_leaves(tree.medoids), self.absorbed_at)

    @classmethod
    def of_fit(
        cls,
        parents: IntArray,
        absorbed_at: IntArray,
        n_levels: int,
        rows: IntArray | None = None,
        row_sizes: IntArray | None = None,
        tree: MergeTree | None = None,
    ) -> FusionHierarchy:
        """Return the hierarchy of a fit, whose vectors need no check: for a billion rows, that
        takes many seconds.
        """
        hierarchy = cls.__new__(cls)
        hierarchy.parents = parents
        hierarchy.absorbed_at = absorbed_at
        hierarchy.n_rows = len(parents)
        hierarchy.n_levels = n_levels
        hierarchy.rows = rows
        hierarchy.row_sizes = row_sizes
        hierarchy.tree = tree
        return hierarchy

    def __repr__(self) -> str:
        """Return the number of clusters of each level in one line."""
        counts = " > ".join(f"{count:,}" for count in self.cluster_counts())
        leaves = count_of(self.n_rows, "row")
        if self.row_sizes is not None:
            leaves = (
                f"{count_of(self.n_rows, 'cluster')} of {count_of(self.row_sizes.sum(), 'row')}"
            )
        return f"FusionHierarchy({leaves}, clusters by level: {counts})"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        top = outline.make_outline(self, outline.final_labels(self))
        rows = count_of(self.count_rows(), "row")
        if top is None:
            return f"<p>{rows}, all of them noise</p>"
        return "\n".join(
            [f"<pre>{rows}", *outline.write_branches(top.root, outline.say_node), "</pre>"]
        )

    def __eq__(self, other: object) -> bool:
        """Return whether another hierarchy has the same fusions."""
        if not isinstance(other, FusionHierarchy):
            return NotImplemented
        same_fusions = all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in VECTOR_NAMES
        )
        return same_fusions and self.tree == other.tree

    __hash__ = None  # type: ignore[assignment]  # arrays can change

    def cluster_counts(self) -> IntArray:
        """Return the number of clusters at each level: 0, 1, ..., ``n_levels``.

        Returns
        -------
        counts : array of int, shape (n_levels + 1,)
            Number of clusters at each level.
        """
        absorbed = count_by_label(self.absorbed_at, self.n_levels + 1)
        absorbed[0] = 0  # rows that were never absorbed
        return self.n_rows - np.cumsum(absorbed)

    def cut(self, *, level: int | None = None, n_clusters: int | None = None) -> IntArray:
        """Return the label of each row at a level, or after merging to a number of clusters.

        Give one of the two.

        Parameters
        ----------
        level : int, default=None
            The level to cut at, from 0 (every row is a cluster) to ``n_levels`` (the final
            partition).
        n_clusters : int, default=None
            The number of clusters, from 1 to the number of leaves of ``tree``: the leaves are
            merged to this number. Rows that are noise get -1. Also the number of clusters of any
            level.

        Returns
        -------
        labels : array of int, shape (n_rows,)
            Labels 0, 1, ... in order of first appearance.

        Raises
        ------
        TypeError
            If both or neither of the parameters are given.
        ValueError
            If there is no such level, or no such number of clusters.
        """
        if (level is None) == (n_clusters is None):
            raise TypeError("cut takes either level or n_clusters: pass exactly one of them.")
        if level is not None:
            return self._partition(level)[0]
        assert n_clusters is not None
        tree = self.tree
        if tree is None or not 1 <= index(n_clusters) <= tree.n_leaves:
            return self._partition(self._level_with(n_clusters))[0]
        labels = find_roots(self.parents, self.absorbed_at, tree.level)
        leaves = self.find_leaves(tree.medoids)
        by_leaf = np.argsort(leaves)
        cluster = tree.cut(index(n_clusters))[by_leaf] + 1  # 0 is noise
        sorted_leaves = leaves[by_leaf]
        # in place: of many rows, another vector would take as much memory as the result
        for block in row_blocks(len(labels)):
            place = np.searchsorted(sorted_leaves, labels[block])
            place = np.minimum(place, len(leaves) - 1)
            is_leaf = sorted_leaves[place] == labels[block]
            labels[block] = np.where(is_leaf, cluster[place], 0)
        names = np.empty(int(cluster.max()) + 1, dtype=labels.dtype)
        names[0] = -1
        names[1:] = np.argsort(np.argsort(first_rows(labels, len(names))[1:]))
        for block in row_blocks(len(labels)):
            labels[block] = names[labels[block]]
        return labels

    def levels(self, numbers: int | Sequence[int]) -> IntArray:
        """Return nested labels: a column for each number of clusters, all of them cuts of the same
        tree.

        Parameters
        ----------
        numbers : int or sequence of int
            Numbers of clusters that ``cut`` takes, such as ``[200, 40, 8]``; a single one is one
            column.

        Returns
        -------
        labels : array of int, shape (n_rows, len(numbers))
            Column j is ``cut(n_clusters=numbers[j])``. Rows that are together in a column are
            together in every column with fewer clusters.

        Examples
        --------
        >>> from cohirf import FusionHierarchy
        >>> FusionHierarchy(parents=[0, 0, 0, 3], absorbed_at=[0, 1, 2, 0]).levels([3, 2]).tolist()
        [[0, 0], [0, 0], [1, 0], [2, 1]]
        """
        wanted = np.atleast_1d(np.asarray(numbers))
        if wanted.ndim != 1 or len(wanted) == 0 or wanted.dtype.kind not in "iu":
            raise ValueError(
                f"numbers={numbers!r} is not valid: give numbers of clusters, such as [200, 40, 8]."
            )
        return np.stack([self.cut(n_clusters=number) for number in wanted.tolist()], axis=1)

    def sample(
        self,
        n: int,
        *,
        balance: float = 1.0,
        first: str = "random",
        among: ArrayLike | None = None,
        random_state: int | None = 0,
    ) -> IntArray:
        """Return rows that are spread over the tree, so that large clusters do not crowd out small
        ones.

        Parameters
        ----------
        n : int
            Number of rows.
        balance : float from 0 to 1, default=1.0
            0 draws as the data is: each cluster gives its share of the rows. 1 divides them evenly
            over the space that the data takes: from the top of ``tree`` down, a cluster gives its
            share of the sum of squared distances between the clusters that merge, however many rows
            it has. What a small cluster cannot give, the one that it merges with does. Between 0
            and 1, the shares are mixed.
        first : {"random", "exemplars"}, default="random"
            Which rows of a cluster are taken: random ones, or those that lasted longest as medoids,
            which are the most central, and then random ones.
        among : array of int, optional
            Row numbers to draw from; all rows by default.
        random_state : int or None, default=0
            Seed of the draw.

        Returns
        -------
        rows : array of int, shape (n,)
            Sorted row numbers. Noise is left out, unless there is no tree.

        Examples
        --------
        >>> from cohirf import FusionHierarchy
        >>> hierarchy = FusionHierarchy(parents=[0, 0, 0, 0, 4, 4], absorbed_at=[0, 1, 1, 1, 0, 1])
        >>> hierarchy.sample(4).tolist(), hierarchy.sample(2, first="exemplars").tolist()
        ([2, 3, 4, 5], [0, 4])
        """
        return draw_balanced(self, n, balance, first, among, random_state)

    def medoids(self, level: int) -> IntArray:
        """Return the row number of the medoid of each cluster at a level.

        Parameters
        ----------
        level : int
            The level, from 0 to ``n_levels``.

        Returns
        -------
        medoids : array of int, shape (n_clusters,)
            In the order of the labels of ``cut(level=level)``.
        """
        return self._data_rows(self._partition(level)[1])

    def sizes(self, level: int) -> IntArray:
        """Return the number of rows of each cluster at a level.

        Parameters
        ----------
        level : int
            The level, from 0 to ``n_levels``.

        Returns
        -------
        sizes : array of int, shape (n_clusters,)
            In the order of the labels of ``cut(level=level)``.
        """
        labels, medoids = self._partition(level)
        if self.row_sizes is None:
            return count_by_label(labels, len(medoids))
        return np.bincount(labels, weights=self.row_sizes).astype(np.int64)

    def members(self, medoid: int, level: int) -> IntArray:
        """Return the rows of the cluster with a given medoid at one level.

        Parameters
        ----------
        medoid : int
            Row number of the medoid; others are refused, and ``lineage`` tells the medoid of a row
            at each level.
        level : int
            The level, from 0 to ``n_levels``.

        Returns
        -------
        rows : array of int
            Sorted row numbers. In a condensed hierarchy, those of the medoids of the leaves.
        """
        self._check_level(level)
        leaf = self._leaf(medoid)
        if 0 < self.absorbed_at[leaf] <= level:
            raise ValueError(
                f"medoid={medoid} is not a medoid at level {level}: it was absorbed at level "
                f"{self.absorbed_at[leaf]}. lineage({medoid}) returns its medoid at each level."
            )
        return self._data_rows(
            np.flatnonzero(find_roots(self.parents, self.absorbed_at, level) == leaf)
        )

    def lineage(self, row: int) -> list[LineageStep]:
        """Return the cluster of a row at each level, from level 0 to the last.

        Parameters
        ----------
        row : int
            Row number. In a condensed hierarchy, that of the medoid of a leaf.

        Returns
        -------
        steps : list of LineageStep
            One entry per level: ``level``, ``medoid`` and ``size`` of the cluster.
        """
        leaf = self._leaf(row)
        steps = []
        for level in range(self.n_levels + 1):
            roots = find_roots(self.parents, self.absorbed_at, level)
            inside = roots == roots[leaf]
            if self.row_sizes is None:
                size = np.count_nonzero(inside)
            else:
                size = self.row_sizes[inside].sum()
            steps.append(LineageStep(level, int(self._data_rows(roots[leaf])), int(size)))
        return steps

    def condense(self, max_clusters: int = 50) -> FusionHierarchy:
        """Return the top of the hierarchy, with few enough leaves to plot or export.

        The leaves are the clusters of the finest level with at most ``max_clusters`` clusters, or
        of the last level if all have more. That level becomes level 0; ``rows`` are the medoids of
        the leaves, ``row_sizes`` their sizes. The tree is cut back to these leaves.

        Parameters
        ----------
        max_clusters : int, default=50
            Largest number of leaves.

        Returns
        -------
        top : FusionHierarchy
            A hierarchy whose leaves are clusters.
        """
        counts = self.cluster_counts()
        level = min(int(np.count_nonzero(counts > max_clusters)), self.n_levels)
        roots = find_roots(self.parents, self.absorbed_at, level)
        leaves = np.flatnonzero(roots == np.arange(self.n_rows, dtype=roots.dtype))
        sizes = np.bincount(roots, weights=self.row_sizes, minlength=self.n_rows)[leaves].astype(
            np.int64
        )
        levels = self.absorbed_at[leaves].astype(np.int64)
        tree = None
        # otherwise its leaves are coarser than these
        if self.tree is not None and self.tree.level <= level:
            tree = self.tree.prune(self._data_rows(roots[self.find_leaves(self.tree.medoids)]))
        return FusionHierarchy(
            np.searchsorted(leaves, self.parents[leaves]),
            np.maximum(levels - level, 0).astype(self.absorbed_at.dtype),
            rows=self._data_rows(leaves),
            row_sizes=sizes,
            tree=tree,
        )

    def to_frame(self) -> Any:
        """Return the hierarchy as a pandas data frame (extra ``frame``).

        Returns
        -------
        frame : pandas.DataFrame
            Indexed by ``row``; columns ``parent``, ``absorbed_at`` and ``cluster``, the final
            cluster of each row. A condensed hierarchy also has ``size``.
        """
        return export.to_frame(self._columns())

    def to_linkage(self) -> NDArray[np.float64]:
        """Return the linkage matrix of the hierarchy, as used by :mod:`scipy.cluster.hierarchy`.

        If the hierarchy has a ``tree``, heights are those of the tree: the square root of twice the
        increase of the sum of squared distances to means. Fusions below its leaves are lower than
        its lowest merge, level by level, and noise joins last. Without a tree, heights are levels,
        and final clusters are joined one level above the last level. A fusion of more than two
        clusters becomes several steps of equal height. For large data, use
        ``condense().to_linkage()``.

        Returns
        -------
        linkage : array of float, shape (n_rows - 1, 4)
            The two clusters that each step joins, its height, and the number of leaves in the
            result.
        """
        if self.tree is None:
            tree = self.tree
        else:
            tree = replace(self.tree, medoids=self.find_leaves(self.tree.medoids))
        return export.to_linkage(self.parents, self.absorbed_at, tree)

    def to_networkx(self) -> Any:
        """Return the hierarchy as a directed graph (extra ``networkx``).

        Returns
        -------
        graph : networkx.DiGraph
            One node per row, and an edge from each absorbed row to the medoid that absorbed it,
            with the attribute ``level``. Nodes have the columns of ``to_frame`` as attributes.
        """
        return export.to_networkx(self._columns())

    def to_newick(self) -> str:
        """Return the hierarchy in Newick format, for programs that draw trees.

        Returns
        -------
        text : str
            Leaves are named by their row number, and clusters by that of their medoid; several
            final clusters are children of an unnamed root. The length of a branch is its number of
            levels. The merges of ``tree`` are not in it.
        """
        roots = self.find_leaves(self.medoids(self.n_levels))  # in the order of cluster numbers
        return export.to_newick(
            self.parents, self.absorbed_at, self._data_rows(np.arange(self.n_rows)), roots
        )

    def to_json(self) -> str:
        """Return the vectors of the hierarchy, and its tree, as JSON text, which ``from_json``
        reads.

        Returns
        -------
        text : str
            The hierarchy.
        """
        return export.to_json({name: getattr(self, name) for name in VECTOR_NAMES}, self.tree)

    @classmethod
    def from_json(cls, text: str) -> FusionHierarchy:
        """Return the hierarchy that ``to_json`` wrote.

        Parameters
        ----------
        text : str
            The return value of ``to_json``; other text is refused.

        Returns
        -------
        hierarchy : FusionHierarchy
            An equal hierarchy.
        """
        return cls(**export.from_json(text))

    def _columns(self) -> dict[str, IntArray]:
        """Return the columns of tables, with one entry per leaf."""
        numbers = self._data_rows(np.arange(self.n_rows, dtype=self.parents.dtype))
        final = self._partition(self.n_levels)[0]
        columns = {
            "row": numbers,
            "parent": numbers[self.parents],
            "absorbed_at": self.absorbed_at,
            "cluster": final,
        }
        if self.row_sizes is None:
            return columns
        return columns | {"size": self.row_sizes}

    def _partition(self, level: int) -> tuple[IntArray, IntArray]:
        self._check_level(level)
        return get_final_labels(find_roots(self.parents, self.absorbed_at, level))

    def _check_level(self, level: int) -> None:
        if not 0 <= index(level) <= self.n_levels:
            raise ValueError(
                f"level={level} does not exist: pass a level from 0 to {self.n_levels}."
            )

    def _level_with(self, n_clusters: Any) -> int:
        counts = self.cluster_counts()
        levels = np.flatnonzero(counts == n_clusters)
        if len(levels) > 0:
            return int(levels[0])
        asked = setting("n_clusters", n_clusters)
        if self.tree is not None and self.tree.n_leaves == 0:
            raise ValueError(
                f"{asked} is not available: every row is noise, so there are no clusters "
                "to merge. Change the parameters of the fit so that it finds clusters."
            )
        if self.tree is None:
            numbers = ""
        else:
            numbers = f"a number from 1 to {self.tree.n_leaves:,}, or "
        raise ValueError(
            f"{asked} is not available: pass {numbers}that of a level "
            f"({', '.join(f'{count:,}' for count in counts)})."
        )

    def _data_rows(self, leaves: IntArray) -> IntArray:
        """Return the row numbers, in the data, of ``leaves``."""
        return leaves if self.rows is None else self.rows[leaves]

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaves of rows of the data that are medoids of leaves."""
        return rows if self.rows is None else np.searchsorted(self.rows, rows)

    def count_rows(self) -> int:
        """Return the number of rows of the data, also if the leaves are clusters."""
        if self.row_sizes is None:
            return self.n_rows
        return int(self.row_sizes.sum())

    def _leaf(self, row: int) -> int:
        """Return the leaf of a row of the data."""
        if self.rows is None:
            leaf = int(row)
        else:
            leaf = int(np.searchsorted(self.rows, row))
        if not 0 <= leaf < self.n_rows or int(self._data_rows(np.asarray(leaf))) != row:
            remedy = f"from 0 to {self.n_rows - 1}."
            if self.rows is not None:
                remedy = "from its attribute rows, or use the hierarchy that it was condensed from."
            raise ValueError(
                f"row={row} is not in this hierarchy of {self.n_rows} rows: pass a row number "
                f"{remedy}"
            )
        return leaf


def _as_integers(values: ArrayLike, name: str) -> IntArray:
    """Return signed integers.

    Values that are out of range become -1; checks that follow refuse negative values.
    """
    array = np.asarray(values, dtype=None if np.size(values) else np.int64)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, not {array.dtype} {array.shape}."
        )
    highest = int(array.max(initial=0))
    if highest >= 2**63 or int(array.min(initial=0)) < 0:
        return np.full(len(array), -1)
    if name == "absorbed_at" and array.dtype.itemsize <= 4:
        return array
    small = name != "row_sizes" and max(highest, len(array)) < 2**31
    return array.astype(np.int32 if small else np.int64, copy=False)


def check_forest(parents: IntArray, absorbed_at: IntArray) -> None:
    """Raise unless every absorbed row was absorbed by one that stayed active longer.

    Otherwise there may be cycles.
    """
    n = len(parents)
    if len(absorbed_at) != n:
        raise ValueError(
            f"parents has {n} rows and absorbed_at has {len(absorbed_at)}: they must have equal "
            "length."
        )
    if n == 0:
        raise ValueError("parents has 0 rows: a hierarchy needs at least one.")
    if not (parents.min() >= 0 and parents.max() < n and absorbed_at.min() >= 0):
        raise ValueError(
            f"parents must be row numbers from 0 to {n - 1}, and absorbed_at must not be negative."
        )
    # a fit has at most one level without fusions between two levels with fusions
    if absorbed_at.max() > 2 * n:
        raise ValueError(
            f"absorbed_at has level {absorbed_at.max()}, but {n} rows have at most {2 * n} levels."
        )
    for block in row_blocks(n):
        level = absorbed_at[block]
        until = absorbed_at[parents[block]]
        if ((level > 0) & (until > 0) & (until <= level)).any():
            raise ValueError(
                "parents is not a fusion hierarchy: a row was absorbed by a row that was itself "
                "already absorbed."
            )
        if ((level == 0) & (parents[block] != np.arange(block.start, block.stop))).any():
            raise ValueError(
                "parents is not a fusion hierarchy: a row that was never absorbed must be its own "
                "parent."
            )


def check_tree(tree: MergeTree, leaves: IntArray, absorbed_at: IntArray) -> None:
    """Raise unless the linkage merges the leaves pairwise to one cluster, in steps that never
    become lower.
    """
    n_leaves = len(leaves)
    is_leaf = (leaves >= 0) & (leaves < len(absorbed_at))
    if not is_leaf.all() or not (np.diff(leaves) > 0).all():
        raise ValueError("the medoids of a tree must be sorted and distinct rows of the hierarchy.")
    level = absorbed_at[leaves]
    if (
        not 0 <= tree.level <= max(int(absorbed_at.max()), 1)
        or ((level > 0) & (level <= tree.level)).any()
    ):
        raise ValueError(f"the medoids of a tree must be medoids at its level, {tree.level}.")
    if tree.linkage.shape != (max(n_leaves - 1, 0), 4):
        raise ValueError(
            f"tree has {n_leaves} leaves and linkage {tree.linkage.shape}: a tree has n - 1 merges."
        )
    if not np.isfinite(tree.linkage).all() or (np.diff(tree.linkage[:, 2]) < 0).any():
        raise ValueError("tree must have finite heights that never decrease.")
    if not _is_linkage(tree.linkage):
        raise ValueError("tree must have a valid linkage of its leaves.")


def _is_linkage(linkage: FloatArray) -> bool:
    """Return whether each cluster but the last is merged once, after it was made, and has the
    members of its parts.

    SciPy's own check accepts numbers that are not integers, and any number of members.
    """
    n_leaves = len(linkage) + 1
    pairs = linkage[:, :2]
    made = n_leaves + np.arange(len(linkage))  # number of the cluster that each merge makes
    are_merged_once = np.array_equal(np.sort(pairs, axis=None), np.arange(pairs.size))
    if not are_merged_once or (pairs >= made[:, None]).any():
        return False
    members = np.append(np.ones(n_leaves), linkage[:, 3])
    return bool((members[pairs.astype(np.int64)].sum(axis=1) == linkage[:, 3]).all())
