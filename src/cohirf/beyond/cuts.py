"""Cuts of a linkage into a number of clusters, of which parts that are too small do not count (not
part of the paper).
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import leaves_list

from cohirf.beyond.merge_tree import last_clusters, merged_pairs
from cohirf.beyond.policy import NUMBER
from cohirf.rows.grouping import FloatArray, IntArray


def cut_linkage(linkage: FloatArray, n_clusters: int) -> IntArray:
    """Return the cluster of each point after merging to ``n_clusters`` clusters, numbered from
    0.
    """
    n_points = len(linkage) + 1
    return np.unique(
        last_clusters(linkage[: n_points - n_clusters], n_points), return_inverse=True
    )[1]


class LargeParts:
    """The parts of all cuts of a linkage, of which those of at least ``min_mass`` count.

    A few far points are not a cluster: they are cut off first, and do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.cuts import LargeParts
    >>> from cohirf.beyond.merge_tree import link_groups
    >>> x, mass = np.array([[0.0], [1], [10], [11], [1000]]), np.array([9.0, 9, 9, 9, 1])
    >>> parts = LargeParts(link_groups(x, mass), mass, min_mass=2)
    >>> parts.count(2), parts.label(2).tolist()
    (3, [0, 0, 1, 1, -1])
    """

    def __init__(self, linkage: FloatArray, mass: FloatArray, min_mass: float) -> None:
        n_points = len(mass)
        order = leaves_list(linkage) if n_points > 1 else np.zeros(1, dtype=np.int64)
        nodes = mass.tolist()
        first = list(range(n_points))  # point of each part in this order, which has it in one piece
        for left, right in merged_pairs(linkage):
            nodes.append(nodes[left] + nodes[right])
            first.append(first[left])
        merged = linkage[:, :2].astype(np.int64)
        self.mass = mass
        self.min_mass = min_mass
        self.position = np.empty(n_points, dtype=np.int64)
        self.position[order] = np.arange(n_points)
        self.split_at = self.position[np.array(first)[merged[::-1, 1]]]
        self.n_large = self._count_large(np.array(nodes), merged)

    def _count_large(self, nodes: FloatArray, merged: IntArray) -> IntArray:
        """Return how many parts of each cut are large, from the whole on, until too much mass is in
        small ones.
        """
        large = np.where(nodes >= self.min_mass, nodes, 0)
        above = large[len(self.mass) :]
        below = large[merged]
        n_large: IntArray = np.cumsum(
            np.append(large[-1] > 0, (np.sum(below > 0, axis=1) - (above > 0))[::-1])
        )
        kept = np.cumsum(np.append(large[-1], (below.sum(axis=1) - above)[::-1]))
        too_few = np.flatnonzero(kept < (1 - NUMBER.aside) * nodes[-1])
        return n_large[: too_few[0]] if len(too_few) else n_large

    def count(self, n_clusters: int) -> int:
        """Return into how many parts to cut, so that ``n_clusters`` are large.

        Or as many as possible.
        """
        n_most = self.n_large.max(initial=0)
        if n_most:
            return int(np.argmax(self.n_large >= min(n_clusters, n_most))) + 1
        return 1

    def label(self, n_clusters: int) -> IntArray:
        """Return the cluster of each point, or -1 in parts that are too small."""
        is_first = np.zeros(len(self.mass), dtype=np.int64)
        is_first[self.split_at[: self.count(n_clusters) - 1]] = 1
        part: IntArray = np.cumsum(is_first)[self.position]
        is_large = np.bincount(part, weights=self.mass) >= self.min_mass
        label: IntArray = np.where(is_large, np.cumsum(is_large) - 1, -1)[part]
        return label


def count_parts(linkage: FloatArray, mass: FloatArray, n_clusters: int, min_mass: float) -> int:
    """Return into how many parts to cut, so that ``n_clusters`` of them have at least
    ``min_mass``.
    """
    if min_mass <= 0:
        return n_clusters
    return LargeParts(linkage, mass, min_mass).count(n_clusters)


def cut_large(linkage: FloatArray, mass: FloatArray, n_clusters: int, min_mass: float) -> IntArray:
    """Return the cluster of each point, of which ``n_clusters`` have at least ``min_mass``.

    -1 in smaller ones.
    """
    label = cut_linkage(linkage, count_parts(linkage, mass, n_clusters, min_mass))
    is_large = np.bincount(label, weights=mass) >= min_mass
    return np.where(is_large, np.cumsum(is_large) - 1, -1)[label]
