"""Merge groups of rows pairwise, up to a single cluster, by Ward's criterion with masses (not part of the paper).

Of all pairs of clusters, the two merge whose union raises the sum of squared distances of rows to the mean of their
cluster least. This increase depends on means and masses of the two only: m1 * m2 / (m1 + m2) * |mean1 - mean2|^2. So
groups stand for all of their rows, and the result is that of Ward's method on rows that are already grouped.

Increases and heights that differ by rounding alone count as equal, and the first group goes first. So the merges do not
depend on how a processor rounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.grouping import IntArray

FloatArray = NDArray[np.float64]
ROUNDING = 1e-9  # relative: differences between means have lost digits
MAX_MOVES = 20
MAX_LINKED = 2000  # largest number of groups to link: their matrix takes 32 MB, and linking a third of a second


def link_groups(means: Any, mass: FloatArray, max_linked: int = MAX_LINKED) -> FloatArray:
    """Return the linkage matrix of groups with the given means and masses.

    Of more than ``max_linked`` groups, the heaviest are linked, after each of the others has joined the nearest of
    these. So the cost grows with the square of ``max_linked``, and linearly with the number of groups.

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
        In the format of :func:`scipy.cluster.hierarchy.linkage`. The height is the square root of twice the increase,
        as in scipy's "ward": for two single rows, their distance. The last column has the number of groups.

    Examples
    --------
    The last group is as far from the second as this is from the first, but it is heavy:

    >>> import numpy as np
    >>> link_groups(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 8.0])).round(2)
    array([[0.  , 1.  , 1.  , 2.  ],
           [2.  , 3.  , 2.68, 3.  ]])
    """
    size, heaviest = _power_of_two(abs(means).max()), _power_of_two(mass.max())
    linkage = _link_scaled(means / size, mass / heaviest, max_linked)
    with np.errstate(over="ignore"):
        linkage[:, 2] = np.minimum(linkage[:, 2] * size * np.sqrt(heaviest), np.finfo(np.float64).max)
    return linkage


def raise_merges(linkage: FloatArray, means: Any, mass: FloatArray) -> FloatArray:
    """Return other merges of groups with the heights that they have by Ward's criterion, or that of an earlier one.

    Lengths of edges say little about merges along a spanning tree: with many features, all are about equal. Merges of
    more than ``MAX_LINKED`` groups, whose matrix of products would be large, keep their heights.

    Examples
    --------
    >>> import numpy as np
    >>> merges = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 3]])
    >>> raise_merges(merges, np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 1.0, 8.0]))[:, 2].round(2)
    array([1.  , 2.68])
    """
    if len(mass) > MAX_LINKED:
        return linkage
    size, heaviest = _power_of_two(abs(means).max()), _power_of_two(mass.max())
    points = means / size
    points = points if sparse.issparse(points) else points - points.mean(axis=0)
    products = points @ points.T
    products = products.toarray() if sparse.issparse(products) else products
    weights, place, heights = (mass / heaviest).tolist(), list(range(len(mass))), []
    for one, two in linkage[:, :2].astype(int).tolist():
        a, b = place[one], place[two]
        total = weights[a] + weights[b]
        square = products[a, a] + products[b, b] - 2 * products[a, b]
        heights.append(np.sqrt(max(0.0, 2 * weights[a] * (weights[b] / total) * square)))
        for rows in (products, products.T):  # the mean of both takes the place of the first
            rows[a] = (weights[a] / total) * rows[a] + (weights[b] / total) * rows[b]
        weights[a] = total
        place.append(a)
    risen = linkage.copy()
    with np.errstate(over="ignore"):
        risen[:, 2] = np.maximum.accumulate(heights) * size * np.sqrt(heaviest)
    risen[:, 2] = np.minimum(risen[:, 2], np.finfo(np.float64).max)
    return risen


def _power_of_two(value: float) -> float:
    """Return the power of two next to a value, by which numbers can be divided without rounding; 1 for 0."""
    return float(np.ldexp(1.0, np.frexp(value)[1] - 1)) if value > 0 else 1.0


def _link_scaled(means: Any, mass: FloatArray, max_linked: int) -> FloatArray:
    """Return the linkage matrix of groups whose means and masses are at most 2, so that products do not overflow."""
    n_groups = len(mass)
    if n_groups <= max_linked:
        return as_linkage(*_link_all(means, mass), n_groups)
    order = np.argsort(-mass, kind="stable")
    heavy, light = np.sort(order[:max_linked]), np.sort(order[max_linked:])
    joined, heights = _join_nearest(means, mass, heavy, light)
    total = mass[heavy] + np.bincount(joined, weights=mass[light], minlength=len(heavy))
    sums = sparse.csr_array((mass[light], (joined, np.arange(len(light)))), shape=(len(heavy), len(light)))
    grown = sparse.diags_array(1 / total) @ (sparse.diags_array(mass[heavy]) @ means[heavy] + sums @ means[light])
    merges, later_heights = _link_all(grown, total)
    joins = np.column_stack([heavy[joined], light])[np.argsort(heights, kind="stable")]
    heights = np.sort(heights)
    return as_linkage(
        np.concatenate([joins, heavy[merges]]),
        np.concatenate([heights, np.maximum(later_heights, heights[-1])]),
        n_groups,
    )


def move_groups(means: Any, mass: FloatArray, label: IntArray) -> IntArray:
    """Move each group to the label with the nearest mean, up to ``MAX_MOVES`` times: K-Means of groups.

    It ends early if nothing moves, or before a label would lose its last group.

    Examples
    --------
    >>> import numpy as np
    >>> move_groups(np.array([[0.0], [1.0], [5.0], [6.0]]), np.ones(4), np.array([0, 0, 0, 1]))
    array([0, 0, 1, 1])
    """
    n_labels = int(label.max()) + 1
    for _ in range(MAX_MOVES):
        shares = sparse.csr_array((mass, (label, np.arange(len(label)))), shape=(n_labels, len(label)))
        centres = sparse.diags_array(1 / np.asarray(shares.sum(axis=1)).ravel()) @ (shares @ means)
        moved = pairwise_distances_argmin(means, centres)
        if len(np.unique(moved)) < n_labels or np.array_equal(moved, label):
            break
        label = moved
    return label


def _link_all(means: Any, mass: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the merges of groups, each as the kept and the absorbed one, in any order, and their heights.

    This is the nearest-neighbour chain algorithm: go from a cluster to its nearest neighbour, and on from there, until
    two clusters are each other's nearest neighbours; these merge. By Ward's criterion, a merge never brings a cluster
    nearer to others than the nearer of its two parts was. So the merges are the same as by a search for the best of all
    pairs. Of equally near neighbours, the previous cluster of the chain is preferred, otherwise the first: distances
    along the chain decrease by more than rounding, so it ends. The cost is O(n_groups ** 2).
    """
    increase, mass = _pairwise_increase(means, mass), mass.copy()
    n_groups = len(mass)
    merges = np.empty((n_groups - 1, 2), dtype=np.int64)
    increases = np.empty(n_groups - 1)
    number = np.arange(n_groups)  # of the group that each row of the matrix stands for
    is_merged = np.zeros(n_groups, dtype=bool)
    chain: list[int] = []
    for step in range(n_groups - 1):
        if 2 * (n_groups - step) <= len(number):  # half of the matrix is not needed any more
            left = np.flatnonzero(~is_merged)
            increase, mass, number = increase[np.ix_(left, left)], mass[left], number[left]
            chain = np.searchsorted(left, chain).tolist()
            is_merged = np.zeros(len(left), dtype=bool)
        chain = chain or [int(np.argmin(is_merged))]
        while True:
            of_last = increase[chain[-1]]
            least = of_last.min()
            tied = least + ROUNDING * abs(least)  # rounding can make it negative
            is_mutual = len(chain) > 1 and of_last[chain[-2]] <= tied
            if is_mutual or len(chain) == len(number):  # a chain has each cluster once at most, whatever the rounding
                break
            chain.append(int((of_last <= tied).argmax()))
        kept, absorbed = sorted((chain.pop(), chain.pop()))
        merges[step], increases[step] = number[[kept, absorbed]], increase[kept, absorbed]
        _merge(increase, mass, kept, absorbed)
        is_merged[absorbed] = True
    return merges, np.sqrt(2 * np.maximum(increases, 0))


def _join_nearest(means: Any, mass: FloatArray, heavy: IntArray, light: IntArray) -> tuple[IntArray, FloatArray]:
    """Return, for each light group, the position of the nearest heavy one, and the height of their merge."""
    nearest, distance = pairwise_distances_argmin_min(means[light], means[heavy])
    of_heavy, of_light = mass[heavy[nearest]], mass[light]
    return nearest, distance * np.sqrt(2 * of_heavy * of_light / (of_heavy + of_light))


def _pairwise_increase(means: FloatArray, mass: FloatArray) -> FloatArray:
    """Return by how much a merge of each pair raises the sum of squared distances; infinite on the diagonal."""
    if sparse.issparse(means):
        increase = euclidean_distances(means, squared=True)
        increase = np.minimum(increase, increase.T)  # rounding can make it asymmetric
    else:
        increase = cdist(means, means, "sqeuclidean")
    increase *= mass[:, None]
    increase *= mass
    increase /= mass[:, None] + mass
    np.fill_diagonal(increase, np.inf)
    return np.asarray(increase)


def _merge(increase: FloatArray, mass: FloatArray, kept: int, absorbed: int) -> None:
    """Let ``kept`` become the union of two clusters, by the formula of Lance and Williams; ``absorbed`` is gone."""
    total = mass[kept] + mass[absorbed]
    of_union = (mass[kept] + mass) * increase[kept] + (mass[absorbed] + mass) * increase[absorbed]
    of_union -= mass * increase[kept, absorbed]
    of_union /= total + mass
    of_union[kept] = np.inf
    mass[kept] = total
    increase[absorbed] = np.inf
    increase[:, absorbed] = np.inf
    of_union[absorbed] = np.inf
    increase[kept] = of_union
    increase[:, kept] = of_union


def as_linkage(merges: IntArray, heights: FloatArray, n_groups: int) -> FloatArray:
    """Sort merges by height, and number clusters as scipy does: groups first, then clusters in the order of merges."""
    linkage = np.empty((n_groups - 1, 4))
    number, n_members = list(range(n_groups)), [1] * n_groups
    order = order_by_height(heights)
    linkage[:, 2] = np.maximum.accumulate(heights[order])
    for step, (kept, absorbed) in enumerate(merges[order].tolist()):
        n_members[kept] += n_members[absorbed]
        linkage[step, :2] = sorted((number[kept], number[absorbed]))
        linkage[step, 3] = n_members[kept]
        number[kept] = n_groups + step
    return linkage


def order_by_height(heights: FloatArray) -> IntArray:
    """Return the order of merges by height; those that differ from the next by rounding alone keep their order.

    So a merge stays behind the merges that made its parts also if their heights are equal.
    """
    order = np.argsort(heights, kind="stable")
    in_order = heights[order]
    is_step = in_order[1:] > in_order[:-1] * (1 + ROUNDING)
    rank = np.empty(len(heights), dtype=np.int64)
    rank[order] = np.concatenate([np.zeros(min(len(heights), 1), dtype=np.int64), np.cumsum(is_step)])
    return np.argsort(rank, kind="stable")
