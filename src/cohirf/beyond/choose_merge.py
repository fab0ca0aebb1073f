"""Compact or connected? Which of several divisions of the same rows fits them, as their nearest neighbours tell.

Ward's criterion makes compact clusters, merges along the spanning tree make connected ones, and neither is right for
all data. A division that fits keeps near neighbours together. So for each cluster, count the pairs of one of its rows
and one of that row's nearest neighbours, and which share of them leaves the cluster. The mean of these shares is the
normalised cut of the graph of neighbours (Shi and Malik, IEEE PAMI 22, 2000). The division with the lowest one is
taken, unless all cut much. It is a mean over clusters and not over rows: otherwise, to set a few rows apart would
always be best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from cohirf.beyond.connected import SpanningTree, link_connected
from cohirf.beyond.merge_tree import last_clusters
from cohirf.rows.grouping import FloatArray, IntArray

# Bounds of the Gini index of the sizes of connected clusters: from nearly even to quite uneven ones. Chosen on the sets
# of benchmarks/quality/ablation.py, which can change them, the number of neighbours and MOST_CUT.
GINI_BOUNDS = (0.1, 0.2, 0.3, 0.5)
N_NEIGHBOURS = 10
FEWEST_COMPARED, MOST_COMPARED = 1000, 2000  # of a sample whose neighbours are counted
COMPARED_PER_CLUSTER = 20  # in such a sample, unless this is more than MOST_COMPARED
# Clusters that lose more of their neighbours overlap, and then the spanning tree runs through all of them.
MOST_CUT = 0.1
CUT_BY_CHANCE = 0.002  # a few rows of a sample make such a difference
ASIDE_SHARE = 0.1  # share of the mass that may be cut off in parts too small to be clusters
FEWEST_PER_CLUSTER = 5  # with fewer rows of a cluster, their neighbours tell nothing
MOST_AT_ONCE = 200_000  # pairs of a row and its neighbour, in all divisions that are looked at together


def normalised_cuts(divisions: IntArray, neighbours: IntArray, mass: FloatArray | None = None) -> FloatArray:
    """Return, for each division, the mean over clusters of the share of neighbours of their rows in other clusters.

    Rows with the label -1 are in no cluster.

    In a cluster of fewer rows than there are neighbours, only as many of these count as it has other rows, but two at
    least. So a small cluster that is far from the others cuts nothing, and a single row is cut off.

    Parameters
    ----------
    divisions : array of int, shape (n_divisions, n_rows)
        Cluster of each row by each division.
    neighbours : array of int, shape (n_rows, n_neighbours)
        Nearest other rows of each row, the nearest first.
    mass : array of float, shape (n_rows,), or None
        Mass of each row, by which it counts in its cluster and as a neighbour; None if all are the same.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.choose_merge import normalised_cuts
    >>> normalised_cuts(np.array([[0, 0, 1], [0, 0, 0]]), np.array([[1], [0], [1]]))
    array([0.5, 0. ])
    """
    n_divisions, n_names, n_neighbours = len(divisions), int(divisions.max()) + 2, neighbours.shape[1]
    cluster = divisions + 1 + n_names * np.arange(n_divisions)[:, None]  # with a number of its own in each division
    mass = np.ones(divisions.shape[1]) if mass is None else mass / mass.max()

    def add_up(values: FloatArray | float) -> FloatArray:
        weights = np.broadcast_to(values, cluster.shape).ravel()
        return np.bincount(cluster.ravel(), weights, n_divisions * n_names).astype(np.float64)

    n_counted = np.clip(add_up(1.0) - 1, min(2, n_neighbours), n_neighbours)[cluster]
    counts_for = np.where(np.arange(n_neighbours) < n_counted[..., None], mass[neighbours], 0)
    is_leaving = cluster[:, neighbours] != cluster[..., None]
    share_leaving = (counts_for * is_leaving).sum(axis=-1) / counts_for.sum(axis=-1)
    of_all = (add_up(values).reshape(n_divisions, n_names) for values in (mass, mass * share_leaving))
    of_cluster, leaving = (values[:, 1:] for values in of_all)  # not of the label -1
    division, name = np.nonzero(of_cluster)
    shares = leaving[division, name] / of_cluster[division, name]
    n_clusters = np.bincount(division, minlength=n_divisions)
    total = np.bincount(division, shares, n_divisions)
    return np.where(n_clusters > 0, total / np.maximum(n_clusters, 1), np.inf)


@dataclass(frozen=True)
class ComparedMerges:
    """Compact and connected divisions of the same rows into as many clusters."""

    compact_cut: float  # normalised cut of the compact division, and the lowest one of connected divisions
    connected_cut: float
    gini_bound: float  # bound of the Gini index of the latter

    @property
    def is_connected(self) -> bool:
        """Whether connected clusters fit the rows better."""
        return self.connected_cut < min(self.compact_cut - CUT_BY_CHANCE, MOST_CUT)


def centre(points: Any) -> Any:
    """Return points around the origin: far from it, their distances lose digits. Sparse points are near it."""
    if sparse.issparse(points) or len(points) == 0:
        return points
    return points - points.mean(axis=0, dtype=np.float64)


def explain_vanishing(points: Any) -> str | None:
    """Return why points that differ cannot be told apart, if squares of their differences vanish; None otherwise."""
    centred = centre(points)
    largest = float(abs(centred).max()) if centred.shape[0] else 0.0
    if largest == 0 or largest**2 >= np.finfo(points.dtype).tiny:
        return None
    return (
        f"The values of X differ by {largest:.2g} or less, and the squares of such differences vanish, so that all "
        f"rows are in one cluster: multiply X by {1 / max(largest, np.finfo(np.float64).tiny):.0e}."
    )


@dataclass(frozen=True, eq=False)
class SampledRows:
    """At least two rows, with masses if these differ; neighbours and connected merges are found if they are needed.

    Rows of connected clusters of less than ``min_mass`` are in no cluster.
    """

    points: Any
    mass: FloatArray | None = None
    min_mass: float = 0.0

    @cached_property
    def neighbours(self) -> IntArray:
        """The nearest other rows of each row."""
        n_neighbours = min(N_NEIGHBOURS, self.points.shape[0] - 1)
        search = NearestNeighbors(n_neighbors=n_neighbours).fit(centre(self.points))
        found: IntArray = search.kneighbors(return_distance=False)
        return found

    @cached_property
    def linkages(self) -> dict[float, FloatArray]:
        """The connected merges, for each bound of the Gini index."""
        tree = SpanningTree(self.points)
        return {bound: link_connected(tree, self.masses, bound) for bound in GINI_BOUNDS}

    @property
    def masses(self) -> FloatArray:
        """The mass of each row."""
        return np.ones(self.points.shape[0]) if self.mass is None else self.mass

    def divide(self, bound: float, n_clusters: int) -> IntArray:
        """Return the cluster of each row by the connected merges with a bound."""
        return cut_large(self.linkages[bound], self.masses, n_clusters, self.min_mass)

    def cut_shares(self, *divisions: IntArray) -> FloatArray:
        """Return the normalised cut of each division; of several at once, as long as these are few numbers."""
        at_once = max(1, MOST_AT_ONCE // self.neighbours.size)
        parts = (divisions[start : start + at_once] for start in range(0, len(divisions), at_once))
        return np.concatenate([normalised_cuts(np.stack(part), self.neighbours, self.mass) for part in parts])

    def compare(self, compact: IntArray, connect: Callable[[float], IntArray]) -> ComparedMerges:
        """Compare a compact division, with a label for each row, with the connected one of each bound."""
        return self.compare_all([np.stack([compact, *map(connect, GINI_BOUNDS)])])[0]

    def compare_all(self, divisions: list[IntArray]) -> list[ComparedMerges]:
        """Compare a compact division, the first, with the connected one of each bound, for several numbers."""
        cuts = self.cut_shares(*(labels for part in divisions for labels in part)).reshape(len(divisions), -1)
        if self.min_mass > 0:  # with fewer clusters, fewer pairs are cut
            n_clusters = np.array([labels.max(axis=1) for labels in divisions])
            cuts = np.where(n_clusters == n_clusters[:, :1], cuts, np.inf)
        best = cuts[:, 1:].argmin(axis=1).tolist()
        return [
            ComparedMerges(float(of_number[0]), float(of_number[1 + place]), GINI_BOUNDS[place])
            for of_number, place in zip(cuts, best, strict=True)
        ]


def cut_linkage(linkage: FloatArray, n_clusters: int) -> IntArray:
    """Return the cluster of each point after merging to ``n_clusters`` clusters, numbered from 0."""
    n_points = len(linkage) + 1
    return np.unique(last_clusters(linkage[: n_points - n_clusters], n_points), return_inverse=True)[1]


class LargeParts:
    """The parts of all cuts of a linkage, of which those of at least ``min_mass`` count.

    A few far points are not a cluster: they are cut off first, and do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.choose_merge import LargeParts
    >>> from cohirf.beyond.merge_tree import link_groups
    >>> x, mass = np.array([[0.0], [1], [10], [11], [1000]]), np.array([9.0, 9, 9, 9, 1])
    >>> parts = LargeParts(link_groups(x, mass), mass, min_mass=2)
    >>> parts.count(2), parts.label(2).tolist()
    (3, [0, 0, 1, 1, -1])
    """

    def __init__(self, linkage: FloatArray, mass: FloatArray, min_mass: float) -> None:
        n_points, merged = len(mass), linkage[:, :2].astype(np.int64)
        nodes, sizes = np.append(mass, np.zeros(len(linkage))).tolist(), [1] * n_points
        for left, right in merged.tolist():
            nodes[len(sizes)] = nodes[left] + nodes[right]
            sizes.append(sizes[left] + sizes[right])
        starts = [0] * len(sizes)  # in an order of the points in which each part is in one piece
        for node, (left, right) in zip(range(len(sizes) - 1, n_points - 1, -1), merged[::-1].tolist(), strict=True):
            starts[left], starts[right] = starts[node], starts[node] + sizes[left]
        self.mass, self.min_mass = mass, min_mass
        self.position, self.split_at = np.array(starts[:n_points]), np.array(starts)[merged[::-1, 1]]
        self.n_large = self._count_large(np.array(nodes), merged)

    def _count_large(self, nodes: FloatArray, merged: IntArray) -> IntArray:
        """Return how many parts of each cut are large, from the whole on, until too much mass is in small ones."""
        large = np.where(nodes >= self.min_mass, nodes, 0)
        above, below = large[len(self.mass) :], large[merged]
        n_large: IntArray = np.cumsum(np.append(large[-1] > 0, (np.sum(below > 0, axis=1) - (above > 0))[::-1]))
        kept = np.cumsum(np.append(large[-1], (below.sum(axis=1) - above)[::-1]))
        too_few = np.flatnonzero(kept < (1 - ASIDE_SHARE) * nodes[-1])
        return n_large[: too_few[0]] if len(too_few) else n_large

    def count(self, n_clusters: int) -> int:
        """Return into how many parts to cut, so that ``n_clusters`` are large; or as many as possible."""
        n_most = self.n_large.max(initial=0)
        return int(np.argmax(self.n_large >= min(n_clusters, n_most))) + 1 if n_most else 1

    def label(self, n_clusters: int) -> IntArray:
        """Return the cluster of each point, or -1 in parts that are too small."""
        is_first = np.zeros(len(self.mass), dtype=np.int64)
        is_first[self.split_at[: self.count(n_clusters) - 1]] = 1
        part: IntArray = np.cumsum(is_first)[self.position]
        is_large = np.bincount(part, weights=self.mass) >= self.min_mass
        label: IntArray = np.where(is_large, np.cumsum(is_large) - 1, -1)[part]
        return label


def count_parts(linkage: FloatArray, mass: FloatArray, n_clusters: int, min_mass: float) -> int:
    """Return into how many parts to cut, so that ``n_clusters`` of them have at least ``min_mass``."""
    return n_clusters if min_mass <= 0 else LargeParts(linkage, mass, min_mass).count(n_clusters)


def cut_large(linkage: FloatArray, mass: FloatArray, n_clusters: int, min_mass: float) -> IntArray:
    """Return the cluster of each point, of which ``n_clusters`` have at least ``min_mass``; -1 in smaller ones."""
    label = cut_linkage(linkage, count_parts(linkage, mass, n_clusters, min_mass))
    is_large = np.bincount(label, weights=mass) >= min_mass
    return np.where(is_large, np.cumsum(is_large) - 1, -1)[label]


def count_sampled(n_clusters: int) -> int:
    """Return how many rows to sample, if so many clusters are wanted."""
    return min(max(FEWEST_COMPARED, COMPARED_PER_CLUSTER * n_clusters), MOST_COMPARED)
