"""The tree above the levels: the clusters of a fit merge pairwise, up to a single one (not part of
the paper).

Its leaves are the clusters of the finest level that has few enough of them. Within the clusters of
the next level they merge first, and so on: every level is a cut of the tree. Above the last level,
all that is left merges.

By Ward's criterion with masses, the two clusters merge whose union raises the sum of squared
distances of rows to the mean of their cluster least. This increase depends on means and masses of
the two only: m1 * m2 / (m1 + m2) * |mean1 - mean2|^2. So groups stand for all of their rows, and
the result is that of Ward's method on rows that are already grouped. Increases and heights that
differ by rounding alone count as equal, and the first group goes first. So the merges do not depend
on how a processor rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin_min

from cohirf.algorithm.parents import Fusions, find_roots
from cohirf.rows.arrays import as_array, as_rows
from cohirf.rows.containers import container_of
from cohirf.rows.distances import find_nearest
from cohirf.rows.grouping import (
    ROUNDING,
    FloatArray,
    IntArray,
    best_by_label,
    row_blocks,
    rows_by_label,
)
from cohirf.rows.policy import BLOCK

# From means, masses and the most groups to link to a linkage. A link sees means and masses only; a
# criterion that needs more of the rows has it in ``Criterion.merge_rows``.
Link = Callable[[Any, FloatArray, int], FloatArray]
# From distances, masses, and the numbers of two clusters to the distances of their union.
Unite = Callable[[FloatArray, FloatArray, int, int], FloatArray]
MAX_MOVES = 20
GOLDEN = 0.6180339887498949  # whose multiples, less their whole part, are evenly spread
# largest number of groups to link: their matrix takes 32 MB, and linking a third of a second
MAX_LINKED = 2000


def link_groups(means: Any, mass: FloatArray, max_linked: int = MAX_LINKED) -> FloatArray:
    """Return the linkage matrix of groups with the given means and masses.

    Of more than ``max_linked`` groups, the heaviest are linked, after each of the others has joined
    the nearest of these. So the cost grows with the square of ``max_linked``, and linearly with the
    number of groups.

    Parameters
    ----------
    means : array or CSR matrix of float, shape (n_groups, n_features)
        Mean of each group.
    mass : array of float, shape (n_groups,)
        Mass of each group; all are positive.
    max_linked : int
        Largest number of groups to link.

    Returns
    -------
    linkage : array of float, shape (n_groups - 1, 4)
        In the format of :func:`scipy.cluster.hierarchy.linkage`. The height is the square root of
        twice the increase, as in scipy's "ward": for two single rows, their distance. The last
        column has the number of groups.

    Examples
    --------
    The last group is as far from the second as this is from the first, but it is heavy:

    >>> import numpy as np
    >>> link_groups(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 8.0])).round(2)
    array([[0.  , 1.  , 1.  , 2.  ],
           [2.  , 3.  , 2.68, 3.  ]])
    """
    size = _power_of_two(abs(means).max())
    heaviest = _power_of_two(mass.max())
    linkage = _link_scaled(means / size, mass / heaviest, max_linked)
    with np.errstate(over="ignore"):
        linkage[:, 2] = np.minimum(
            linkage[:, 2] * size * np.sqrt(heaviest), np.finfo(np.float64).max
        )
    return linkage


def link_directions(means: Any, mass: FloatArray, max_linked: int = MAX_LINKED) -> FloatArray:
    """Return the linkage matrix of clusters of unit vectors, which merge by the directions of their
    means.

    The two clusters merge whose union lowers the sum of cosines between rows and the mean of their
    cluster least. For a cluster, this sum is the length of the sum of its rows. By Ward's
    criterion, broad clusters would merge first, whatever their directions are: the means of unit
    vectors that differ much are short, and so near each other. Heights are those of the means. More
    than ``MAX_LINKED`` clusters merge by Ward's criterion.

    Examples
    --------
    The second and the third cluster are broad; the direction of the second is that of the first:

    >>> import numpy as np
    >>> means = np.array([[0.9, 0.0], [0.3, 0.1], [0.0, 0.1], [-0.8, -0.2]])
    >>> link_groups(means, np.ones(4))[0, :2], link_directions(means, np.ones(4))[0, :2]
    (array([1., 2.]), array([0., 1.]))
    """
    n_groups = len(mass)
    if not 1 < n_groups <= MAX_LINKED:
        return link_groups(means, mass, max_linked)
    sums = sparse.diags_array(mass / mass.max()) @ means
    products = sums @ sums.T
    products = np.asarray(as_array(products), dtype=np.float64)
    merges = _link_sums(products)
    rank = np.arange(1.0, n_groups)  # losses can fall, and heights must not
    return raise_merges(as_linkage(merges, rank, n_groups), means, mass)


def _link_sums(products: FloatArray) -> IntArray:
    """Return the merges of clusters by the products of their sums, each as the kept and the
    absorbed one, in order.
    """
    squared = np.diag(products).copy()
    lengths = np.sqrt(squared)

    def lost(row: int) -> FloatArray:
        squares = products[row, row] + squared + 2 * products[row]
        loss: FloatArray = lengths[row] + lengths - np.sqrt(np.maximum(squares, 0))
        return loss

    def join(kept: int, absorbed: int) -> FloatArray:
        products[kept] += products[absorbed]
        products[:, kept] += products[:, absorbed]
        squared[kept] = products[kept, kept]
        lengths[kept] = np.sqrt(max(squared[kept], 0))
        return lost(kept)

    losses = np.array([lost(row) for row in range(len(products))])
    np.fill_diagonal(losses, np.inf)
    return merge_greedily(losses, join, lambda: ROUNDING * float(lengths.max()))


def merge_greedily(
    distances: FloatArray, join: Callable[[int, int], FloatArray], rounding: Callable[[], float]
) -> IntArray:
    """Merge the nearest two clusters, again and again; of pairs that are equally near, the first.

    Parameters
    ----------
    distances : array of float, shape (n_clusters, n_clusters)
        Symmetric, and infinite on the diagonal. It always has the distances of the clusters that
        are left: those of a union take the place of the kept cluster's, and the absorbed one is
        infinitely far from all.
    join : callable
        Returns the distances of the union of two clusters, the kept and the absorbed one, to each
        cluster. Those to clusters that are gone do not count.
    rounding : callable
        Returns by how much distances differ at most if they differ by rounding alone.

    Returns
    -------
    merges : array of int, shape (n_clusters - 1, 2)
        The kept and the absorbed cluster of each merge, in order.

    Examples
    --------
    The distance of a union is that of its farther part:

    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.5, 4.5])
    >>> distances = np.abs(x[:, None] - x)
    >>> np.fill_diagonal(distances, np.inf)
    >>> def join(kept, absorbed):
    ...     return np.maximum(distances[kept], distances[absorbed])
    >>> merge_greedily(distances, join, lambda: 1e-12).tolist()
    [[0, 1], [2, 3], [0, 2]]
    """
    n_clusters = len(distances)
    is_merged = np.zeros(n_clusters, dtype=bool)
    least = distances.min(axis=1)
    merges = np.empty((n_clusters - 1, 2), dtype=np.int64)
    for step in range(n_clusters - 1):
        tied = least.min() + rounding()
        one = int((least <= tied).argmax())
        kept, absorbed = merges[step] = sorted((one, int((distances[one] <= tied).argmax())))
        # the nearest is not there any more
        is_stale = (distances[:, [kept, absorbed]] <= least[:, None]).any(axis=1)
        is_merged[absorbed] = True
        of_union = np.where(is_merged, np.inf, join(kept, absorbed))
        of_union[kept] = np.inf
        distances[absorbed] = distances[:, absorbed] = np.inf
        distances[kept] = distances[:, kept] = of_union
        least = np.minimum(least, of_union)
        is_stale[[kept, absorbed]] = True
        least[is_stale] = distances[is_stale].min(axis=1)
    return merges


def raise_merges(linkage: FloatArray, means: Any, mass: FloatArray) -> FloatArray:
    """Return other merges of groups with the heights that they have by Ward's criterion, or that of
    an earlier one.

    Lengths of edges say little about merges along a spanning tree: with many features, all are
    about equal. Merges of more than ``MAX_LINKED`` groups, whose matrix of products would be large,
    keep their heights.

    Examples
    --------
    >>> import numpy as np
    >>> merges = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 3]])
    >>> means = np.array([[0.0], [1.0], [2.0]])
    >>> raise_merges(merges, means, np.array([1.0, 1.0, 8.0]))[:, 2].round(2)
    array([1.  , 2.68])
    """
    if len(mass) > MAX_LINKED:
        return linkage
    size = _power_of_two(abs(means).max())
    heaviest = _power_of_two(mass.max())
    points = means / size
    points = container_of(points).centre(points)
    tables = _tables_of_products(points)
    weights = (mass / heaviest).tolist()
    place = list(range(len(mass)))
    heights = []
    for one, two in merged_pairs(linkage):
        a = place[one]
        b = place[two]
        total = weights[a] + weights[b]
        differences = [rows[a] - rows[b] for rows in tables]
        square = differences[0] @ differences[-1]
        heights.append(np.sqrt(max(0.0, 2 * weights[a] * (weights[b] / total) * square)))
        for rows in tables:  # the mean of both takes the place of the first
            rows[a] = (weights[a] / total) * rows[a] + (weights[b] / total) * rows[b]
        weights[a] = total
        place.append(a)
    risen = linkage.copy()
    with np.errstate(over="ignore"):
        risen[:, 2] = np.maximum.accumulate(heights) * size * np.sqrt(heaviest)
    risen[:, 2] = np.minimum(risen[:, 2], np.finfo(np.float64).max)
    return risen


def _tables_of_products(points: Any) -> list[FloatArray]:
    """Return one or two arrays with a row for each point: the inner product of two points is that
    of their rows, of the first array and of the last one.

    Of few features, points themselves; otherwise, products of all points, and shares of points.
    """
    if container_of(points).is_dense and points.shape[1] <= points.shape[0]:
        return [points]
    return [as_array(points @ points.T), np.eye(points.shape[0])]


def _power_of_two(value: float) -> float:
    """Return the power of two next to a value, by which numbers can be divided without rounding.

    1 for 0.
    """
    return float(np.ldexp(1.0, np.frexp(value)[1] - 1)) if value > 0 else 1.0


def _link_scaled(means: Any, mass: FloatArray, max_linked: int) -> FloatArray:
    """Return the linkage matrix of groups whose means and masses are at most 2, so that products do
    not overflow.
    """
    n_groups = len(mass)
    if n_groups <= max_linked:
        return as_linkage(*_link_all(means, mass), n_groups)
    # of equal masses, groups that are spread over all: neighbouring ones may be of one cluster
    spread = np.arange(n_groups) * GOLDEN % 1
    order = np.lexsort((spread, -mass))
    heavy = np.sort(order[:max_linked])
    light = np.sort(order[max_linked:])
    joined, heights = _join_nearest(means, mass, heavy, light)
    total = mass[heavy] + np.bincount(joined, weights=mass[light], minlength=len(heavy))
    sums = sparse.csr_array(
        (mass[light], (joined, np.arange(len(light)))), shape=(len(heavy), len(light))
    )
    grown = sparse.diags_array(1 / total) @ (
        sparse.diags_array(mass[heavy]) @ means[heavy] + sums @ means[light]
    )
    merges, later_heights = _link_all(grown, total)
    joins = np.column_stack([heavy[joined], light])[np.argsort(heights, kind="stable")]
    heights = np.sort(heights)
    return as_linkage(
        np.concatenate([joins, heavy[merges]]),
        np.concatenate([heights, np.maximum(later_heights, heights[-1])]),
        n_groups,
    )


def merge_last(linkage: FloatArray, late: IntArray) -> FloatArray:
    """Return the linkage in which some points join one after the other, when all others have
    merged.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.merge_tree import link_groups, merge_last
    >>> linkage = link_groups(np.array([[0.0], [1], [5]]), np.ones(3))
    >>> merge_last(linkage, np.array([1]))[:, :2].astype(int).tolist()
    [[0, 2], [1, 3]]
    """
    n_points = len(linkage) + 1
    rank: IntArray = np.arange(n_points)
    rank[late] += n_points
    merges = as_merges(linkage, rank)
    among_others = rank[merges[:, 1]] < n_points
    last = np.column_stack([np.full(len(late), rank.argmin()), late])
    heights = np.append(linkage[among_others, 2], np.full(len(late), linkage[-1, 2]))
    return as_linkage(np.concatenate([merges[among_others], last]), heights, n_points)


def move_groups(means: Any, mass: FloatArray, label: IntArray) -> IntArray:
    """Move each group to the label with the nearest mean, up to ``MAX_MOVES`` times: K-Means of
    groups.

    It ends early if nothing moves, or before a label would lose its last group.

    Examples
    --------
    >>> import numpy as np
    >>> move_groups(np.array([[0.0], [1.0], [5.0], [6.0]]), np.ones(4), np.array([0, 0, 0, 1]))
    array([0, 0, 1, 1])
    """
    n_labels = int(label.max()) + 1
    groups = Groups(means, mass)
    for _ in range(MAX_MOVES):
        centres = groups.merged(label, n_labels).means
        moved = find_nearest(means, centres).astype(label.dtype)
        sizes = np.bincount(moved, minlength=n_labels)
        if sizes.min() == 0 or np.array_equal(moved, label):
            break
        label = moved
    return label


def _link_all(means: Any, mass: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the merges of groups, each as the kept and the absorbed one, in any order, and their
    heights.
    """
    merges, increases = merge_in_chains(_pairwise_increase(means, mass), mass, _unite)
    return merges, np.sqrt(2 * np.maximum(increases, 0))


def merge_in_chains(
    distances: FloatArray, mass: FloatArray, unite: Unite, farthest: float = np.inf
) -> tuple[IntArray, FloatArray]:
    """Merge clusters that are each other's nearest, again and again.

    This is the nearest-neighbour chain algorithm: go from a cluster to its nearest neighbour, and
    on from there, until two clusters are each other's nearest neighbours; these merge. It is for
    criteria by which a merge never brings a cluster nearer to others than the nearer of its two
    parts was. So the merges are the same as by a search for the best of all pairs, and a cluster
    without a neighbour that is near enough will never have one. Of equally near neighbours, the
    previous cluster of the chain is preferred, otherwise the first: distances along the chain
    decrease by more than rounding, so it ends. The cost is O(n_clusters ** 2).

    Parameters
    ----------
    distances : array of float, shape (n_clusters, n_clusters)
        Symmetric, and overwritten; the diagonal does not count.
    mass : array of float, shape (n_clusters,)
        Mass of each cluster.
    unite : callable
        From distances, masses, and the numbers of two clusters to the distances of their union.
        Those to clusters that are gone, and to itself, do not count.
    farthest : float
        Clusters that are farther apart do not merge.

    Returns
    -------
    merges : array of int, shape (n_merges, 2)
        The kept and the absorbed cluster of each merge.
    merged_at : array of float, shape (n_merges,)
        The distance of the two.

    Examples
    --------
    The distance of a union is that of its farther part:

    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.5, 4.5])
    >>> def unite(distances, mass, kept, absorbed):
    ...     return np.maximum(distances[kept], distances[absorbed])
    >>> merges, merged_at = merge_in_chains(np.abs(x[:, None] - x), np.ones(4), unite, farthest=3)
    >>> merges.tolist(), merged_at.tolist()
    ([[0, 1], [2, 3]], [1.0, 2.0])
    """
    mass = mass.copy()
    number = np.arange(len(mass))  # of the cluster that each row of the matrix stands for
    gone = np.zeros(len(mass))  # infinite for clusters that are gone: columns would take long
    n_left = len(mass)
    merges: list[tuple[int, int]] = []
    merged_at: list[float] = []
    chain: list[int] = []
    while n_left > 1:
        if 2 * n_left <= len(number):  # half of the matrix is not needed any more
            left = np.flatnonzero(gone == 0)
            distances = distances[np.ix_(left, left)]
            mass = mass[left]
            number = number[left]
            gone = gone[left]
            chain = np.searchsorted(left, chain).tolist()
        chain = chain or [int(gone.argmin())]
        gone[chain[-1]] = np.inf  # it is not its own neighbour
        of_last = distances[chain[-1]] + gone
        gone[chain[-1]] = 0
        least = of_last.item(of_last.argmin())
        tied = least + ROUNDING * abs(least)  # rounding can make it negative
        if least > farthest:
            gone[chain.pop()] = np.inf
            n_left -= 1
        # a chain has each cluster once at most, whatever the rounding
        elif len(chain) > 1 and (of_last.item(chain[-2]) <= tied or len(chain) == n_left):
            kept, absorbed = sorted((chain.pop(), chain.pop()))
            merges.append((number.item(kept), number.item(absorbed)))
            merged_at.append(distances.item(kept, absorbed))
            of_union = unite(distances, mass, kept, absorbed)
            distances[kept] = of_union
            distances[:, kept] = of_union
            mass[kept] += mass[absorbed]
            gone[absorbed] = np.inf
            n_left -= 1
        else:
            chain.append(int((of_last <= tied).argmax()))
    return np.array(merges, dtype=np.int64).reshape(-1, 2), np.array(merged_at)


def _join_nearest(
    means: Any, mass: FloatArray, heavy: IntArray, light: IntArray
) -> tuple[IntArray, FloatArray]:
    """Return, for each light group, the position of the nearest heavy one, and the height of their
    merge.
    """
    nearest, distance = pairwise_distances_argmin_min(means[light], means[heavy])
    of_heavy = mass[heavy[nearest]]
    of_light = mass[light]
    return nearest, distance * np.sqrt(2 * of_heavy * of_light / (of_heavy + of_light))


def _pairwise_increase(means: FloatArray, mass: FloatArray) -> FloatArray:
    """Return by how much a merge of each pair raises the sum of squared distances."""
    increase = container_of(means).square_pairs(means)
    for rows in row_blocks(len(mass), BLOCK.cached_cells // len(mass) + 1):
        increase[rows] *= mass[rows, None]
        increase[rows] *= mass
        increase[rows] /= mass[rows, None] + mass
    return increase


def _unite(increase: FloatArray, mass: FloatArray, kept: int, absorbed: int) -> FloatArray:
    """Return the increases of the union of two clusters, by the formula of Lance and Williams."""
    of_union: FloatArray = (mass[kept] + mass) * increase[kept]
    of_union += (mass[absorbed] + mass) * increase[absorbed]
    of_union -= mass * increase[kept, absorbed]
    of_union /= mass[kept] + mass[absorbed] + mass
    return of_union


def as_linkage(merges: IntArray, heights: FloatArray, n_groups: int) -> FloatArray:
    """Sort merges by height, and number clusters as scipy does: groups first, then clusters in the
    order of merges.

    No merge may be lower than the merges that made its parts. If it may be, pass the rank of the
    merges as heights, and let ``raise_merges`` find heights.
    """
    order = order_by_height(heights)
    merges = merges[order]
    kept = merges[:, 0]
    absorbed = merges[:, 1]
    steps = np.arange(len(merges))
    # the step that has made either cluster: the last one before in which its group kept another
    by_group = np.argsort(kept, kind="stable")
    is_same = kept[by_group[1:]] == kept[by_group[:-1]]
    made_at = np.full((len(merges), 2), -1)
    made_at[by_group[1:][is_same], 0] = by_group[:-1][is_same]
    last = np.full(n_groups, -1)
    last[kept] = steps  # of several, the last one stays; what is absorbed keeps nothing afterwards
    made_at[:, 1] = last[absorbed]
    numbers = np.where(made_at < 0, merges, n_groups + made_at)
    sizes = [1] * n_groups
    n_members = []
    for one, other in zip(kept.tolist(), absorbed.tolist(), strict=True):
        sizes[one] += sizes[other]
        n_members.append(sizes[one])
    highest = np.maximum.accumulate(heights[order])
    return np.column_stack([np.sort(numbers, axis=1), highest, n_members]).astype(np.float64)


def as_merges(linkage: FloatArray, rank: IntArray | None = None) -> IntArray:
    """Return the merges of a linkage as groups that stand for clusters, the kept and the absorbed
    one, in order.

    A cluster is named by the first of its groups or, if groups have a ``rank``, by the one with the
    lowest.

    Examples
    --------
    >>> import numpy as np
    >>> as_merges(np.array([[1, 2, 1.0, 2], [0, 3, 2.0, 3]])).tolist()
    [[1, 2], [0, 1]]
    """
    names = list(range(len(linkage) + 1))
    ranks = names if rank is None else rank.tolist()
    kept = []
    absorbed = []
    for left, right in merged_pairs(linkage):
        first, second = names[left], names[right]
        if ranks[second] < ranks[first]:
            first, second = second, first
        kept.append(first)
        absorbed.append(second)
        names.append(first)
    return np.array([kept, absorbed], dtype=np.int64).T


def merged_pairs(linkage: FloatArray) -> Iterator[tuple[int, int]]:
    """Return the numbers of both clusters of each merge, in order.

    They come from two lists: a list for each merge would take several times as long.
    """
    left, right = linkage[:, :2].T.astype(np.int64).tolist()
    return zip(left, right, strict=True)


def order_by_height(heights: FloatArray) -> IntArray:
    """Return the order of merges by height.

    Those that differ from the next by rounding alone keep their order.

    So a merge stays behind the merges that made its parts also if their heights are equal.
    """
    order = np.argsort(heights, kind="stable")
    in_order = heights[order]
    is_step = in_order[1:] > in_order[:-1] * (1 + ROUNDING)
    rank = np.empty(len(heights), dtype=np.int64)
    rank[order] = np.concatenate(
        [np.zeros(min(len(heights), 1), dtype=np.int64), np.cumsum(is_step)]
    )
    return np.argsort(rank, kind="stable")


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Pairwise merges of clusters.

    Attributes
    ----------
    medoids : array of int
        Medoid of each leaf of the tree. Sorted and distinct.
    linkage : array of float, shape (n_leaves - 1, 4)
        The merges, in the format of :func:`scipy.cluster.hierarchy.linkage`.
    level : int
        The level whose clusters are the leaves.
    """

    medoids: IntArray
    linkage: FloatArray
    level: int

    def __eq__(self, other: object) -> bool:
        """Return whether another tree has the same merges."""
        if not isinstance(other, MergeTree):
            return NotImplemented
        same = np.array_equal(self.medoids, other.medoids) and np.array_equal(
            self.linkage, other.linkage
        )
        return bool(same and self.level == other.level)

    __hash__ = None  # type: ignore[assignment]  # arrays can change

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.medoids)

    def cut(self, n_clusters: int) -> IntArray:
        """Return the cluster of each leaf after merging to ``n_clusters`` clusters, numbered by
        their first leaf.
        """
        cluster = last_clusters(self.linkage[: self.n_leaves - n_clusters], self.n_leaves)
        _, first, label = np.unique(cluster, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[label]

    def prune(self, medoid_of_leaf: IntArray) -> MergeTree:
        """Return the tree whose leaves are unions of leaves, with the medoid of each given.

        It has the level 0.
        """
        medoids, union = np.unique(medoid_of_leaf, return_inverse=True)
        merges = union[as_merges(self.linkage)]
        differ = merges[:, 0] != merges[:, 1]
        return MergeTree(
            medoids, as_linkage(merges[differ], self.linkage[differ, 2], len(medoids)), 0
        )


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows: their means, as an array or CSR matrix, and their masses."""

    means: Any
    mass: FloatArray

    def merged(self, label: IntArray, n_labels: int) -> Groups:
        """Return the groups after those with the same label have merged."""
        if n_labels == len(self.mass):  # then they are only put into another order
            order = np.argsort(label)
            return Groups(self.means[order], self.mass[order])
        starts, members = rows_by_label(label, n_labels)
        shares = sparse.csr_array(
            (self.mass[members], members, starts), shape=(n_labels, len(label))
        )
        mass = np.bincount(label, weights=self.mass, minlength=n_labels).astype(np.float64)
        means = sparse.diags_array(1 / mass) @ (shares @ self.means)
        return Groups(as_rows(means), mass)

    def find_central(self, label: IntArray, n_labels: int) -> IntArray:
        """Return, for each label, the first group whose mean is nearest to the mean of all groups
        with this label.

        Two groups of the same mass are equally near to their mean, and rounding must not decide
        which one is taken.
        """
        merged = self.merged(label, n_labels).means
        distance = np.sqrt(container_of(merged).measure_own(self.means, merged, label))
        farthest = np.zeros(n_labels)
        np.maximum.at(farthest, label, distance)
        scores = -np.divide(
            distance, farthest[label], out=np.zeros_like(distance), where=distance > 0
        )
        return best_by_label(scores, label, n_labels)


def grow_tree(
    groups: Groups,
    fusions: Fusions,
    n_levels: int,
    is_noise: NDArray[np.bool_],
    max_linked: int = MAX_LINKED,
    last_stage: IntArray | None = None,
    link: Link = link_groups,
    link_last: Link | None = None,
) -> tuple[MergeTree, IntArray]:
    """Return the tree of a fit, and the position of each group's leaf in it, or -1 for noise.

    Parameters
    ----------
    groups : Groups
        The clusters of the first level.
    fusions : Fusions
        How later levels have fused them.
    n_levels : int
        Number of the last level.
    is_noise : array of bool
        Which groups are noise, and not in the tree.
    max_linked : int
        Of more leaves, light ones join heavy ones before the others merge; see ``link_groups``.
    last_stage : array of int or None
        A cluster for each group, coarser than the last level, within which groups merge before all
        others do.
    link : callable
        Links groups, given their means and masses.
    link_last : callable or None
        Links the clusters of the last stage; None means ``link``.
    """
    finest = _finest_level(fusions.absorbed_at, n_levels, int(is_noise.sum()))
    roots = find_roots(fusions.parents, fusions.absorbed_at, finest)
    medoids = np.flatnonzero((roots == np.arange(len(roots))) & ~is_noise)
    clustered = np.flatnonzero(~is_noise)
    label = np.searchsorted(medoids, roots[clustered])
    leaves = Groups(groups.means[clustered], groups.mass[clustered]).merged(label, len(medoids))
    stages: list[IntArray] = [
        np.searchsorted(medoids, find_roots(fusions.parents, fusions.absorbed_at, level)[medoids])
        for level in range(finest + 1, n_levels + 1)
    ]
    if last_stage is not None:
        stages.append(last_stage[medoids])
    position = np.full(len(roots), -1)
    position[clustered] = label
    return MergeTree(
        medoids, link_stages(leaves, stages, max_linked, link, link_last), finest
    ), position


def link_stages(
    groups: Groups,
    stages: Sequence[IntArray],
    max_linked: int = MAX_LINKED,
    link: Link = link_groups,
    link_last: Link | None = None,
) -> FloatArray:
    """Return the linkage of groups that merge within given clusters first.

    Each of the ``stages`` has a cluster for each group, and is coarser than the one before. A stage
    merges all groups of a cluster; after the last one, all clusters merge, by ``link_last`` if it
    is given. Heights never decrease.
    """
    n_groups = len(groups.mass)
    number = np.arange(n_groups)  # number of the current cluster of each group in the linkage
    parts: list[FloatArray] = []
    n_merges = 0
    lowest = 0.0
    together = np.zeros(n_groups, dtype=np.int64)
    for stage in [*stages, together]:
        nodes, first = np.unique(number, return_index=True)
        if len(nodes) == 1:
            break
        node_of_group = np.searchsorted(nodes, number)
        current = groups.merged(node_of_group, len(nodes))
        merges = []
        if stage is together and link_last is not None:
            link_some = link_last
        else:
            link_some = link
        names, cluster = np.unique(stage[first], return_inverse=True)
        starts, members = rows_by_label(cluster, len(names))
        for start, end in pairwise(starts.tolist()):
            some = members[start:end]
            if len(some) > 1:
                linkage = link_some(current.means[some], current.mass[some], max_linked)
                merges.append((some, linkage))
        if not merges:
            continue
        joined, step_of = _interleave(merges, nodes, n_groups + n_merges)
        joined[:, 2] = np.maximum(joined[:, 2], lowest)
        lowest = joined[-1, 2]
        parts.append(joined)
        for (some, _), last in zip(merges, step_of, strict=True):
            number[np.isin(node_of_group, some)] = last
        n_merges += len(joined)
    linkage = np.concatenate(parts) if parts else np.empty((0, 4))
    count_members(linkage, n_groups)
    return linkage


def _interleave(
    merges: list[tuple[IntArray, FloatArray]], nodes: IntArray, first_number: int
) -> tuple[FloatArray, list[int]]:
    """Sort the merges of several linkages by height, and number their clusters from
    ``first_number``.

    Returns the merges, and the number of the last cluster of each linkage.
    """
    heights = np.concatenate([linkage[:, 2] for _, linkage in merges])
    offsets = np.cumsum([0, *(len(linkage) for _, linkage in merges)])
    rank = np.empty(len(heights), dtype=np.int64)
    rank[order_by_height(heights)] = np.arange(len(heights))
    joined = np.empty((len(heights), 4))
    last = []
    for (some, linkage), offset in zip(merges, offsets, strict=False):
        numbers = np.concatenate([nodes[some], first_number + rank[offset : offset + len(linkage)]])
        pairs = np.sort(numbers[linkage[:, :2].astype(np.int64)], axis=1)
        joined[rank[offset : offset + len(linkage)]] = np.column_stack([pairs, linkage[:, 2:]])
        last.append(int(numbers[-1]))
    np.maximum.accumulate(joined[:, 2], out=joined[:, 2])
    return joined, last


def last_clusters(linkage: FloatArray, n_groups: int) -> IntArray:
    """Return, for each group, the number of the cluster that it is in after the merges of a
    linkage.
    """
    cluster = list(range(n_groups + len(linkage)))
    for merge, (left, right) in enumerate(merged_pairs(linkage)):
        cluster[left] = cluster[right] = n_groups + merge
    for node in range(len(cluster) - 1, -1, -1):  # a cluster comes after its parts
        cluster[node] = cluster[cluster[node]]
    return np.array(cluster[:n_groups], dtype=np.int64)


def count_members(linkage: FloatArray, n_groups: int) -> None:
    """Fill the last column of a linkage: the number of groups in each cluster."""
    counts = np.concatenate([np.ones(n_groups), np.empty(len(linkage))])
    for merge, (left, right) in enumerate(merged_pairs(linkage)):
        linkage[merge, 3] = counts[n_groups + merge] = counts[left] + counts[right]


def _finest_level(absorbed_at: IntArray, n_levels: int, n_noise: int) -> int:
    """Return the first level with at most ``MAX_LINKED`` clusters.

    The last level if there is none.
    """
    for level in range(1, n_levels):
        active = np.count_nonzero((absorbed_at == 0) | (absorbed_at > level))
        if active - n_noise <= MAX_LINKED:
            return level
    return max(1, min(n_levels, int(absorbed_at.max())))  # levels without fusions do not count
