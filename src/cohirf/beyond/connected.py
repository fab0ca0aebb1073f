"""Merge groups of rows along their spanning tree, with even sizes: connected clusters (not part of the paper).

The lightest edge of the spanning tree merges first, as in single linkage. But as soon as the masses of the clusters are
too uneven, by their Gini index, the lightest edge of a smallest cluster does. This is Genie (Gagolewski, Bartoszuk,
Cena, Information Sciences 363, 2016), with masses in place of counts, and for all numbers of clusters at once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist

from cohirf.beyond.merge_tree import as_linkage
from cohirf.rows.grouping import FloatArray, IntArray

MAX_POINTS = 10_000  # largest number of points to link: in two dimensions, it takes a second
MAX_CELLS = 100_000  # of a matrix of distances: up to this, all at once take less time than each row by itself


class SpanningTree:
    """The minimum spanning tree of points, by the algorithm of Prim.

    Distances that are equal in float32 count as equal, and then the edge of the lowest points comes first. So rounding
    does not decide on points of a lattice.

    Parameters
    ----------
    points : array or CSR matrix of float, shape (n_points, n_features)
        The points.

    Attributes
    ----------
    one, two : array of int, shape (n_points - 1,)
        The points of each edge; the lightest edge is the first.
    lengths : array of float, shape (n_points - 1,)
        Length of each edge. Sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.connected import SpanningTree
    >>> tree = SpanningTree(np.array([[0.0], [5.0], [1.0]]))
    >>> list(zip(tree.one.tolist(), tree.two.tolist(), tree.lengths.round(3).tolist()))
    [(0, 2, 1.0), (1, 2, 4.0)]
    """

    def __init__(self, points: Any) -> None:
        scaled, scale = _scale_points(points)
        one, two, squares = _grow(scaled)
        low, high = np.minimum(one, two), np.maximum(one, two)
        order = np.lexsort((high, low, squares))
        self.one, self.two = low[order], high[order]
        self.lengths: FloatArray = np.sqrt(squares[order].astype(np.float64)) * scale


def _scale_points(points: Any) -> tuple[Any, float]:
    """Return points whose values are at most 1, so that squares are exact enough in float32, and the scale."""
    points = points.astype(np.float64) if sparse.issparse(points) else points - points.mean(axis=0)
    scale = float(abs(points).max()) or 1.0  # abs adds up cells of a sparse matrix that are stored in parts
    return points / scale, scale


def _grow(points: Any) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
    """Return the edges of the spanning tree in the order in which it grows from point 0, and their squared lengths."""
    n_edges = points.shape[0] - 1
    one, two = np.empty(n_edges, dtype=np.int64), np.empty(n_edges, dtype=np.int64)
    squares = np.empty(n_edges, dtype=np.float32)
    left: IntArray = np.arange(1, n_edges + 1)  # points, sorted; those that have joined are left out from time to time
    measure = _measure_from(points, left)
    nearest, lowest = np.zeros(n_edges, dtype=np.int64), np.full(n_edges, np.inf, dtype=np.float32)
    has_joined = np.zeros(n_edges, dtype=bool)
    last = 0
    for step in range(n_edges):
        if 2 * step >= 2 * n_edges - len(left):  # half of them have joined
            left, nearest, lowest = left[~has_joined], nearest[~has_joined], lowest[~has_joined]
            has_joined = np.zeros(len(left), dtype=bool)
            measure = _measure_from(points, left)
        of_last = measure(last)
        is_nearer = (of_last < lowest) & ~has_joined
        lowest[is_nearer], nearest[is_nearer] = of_last[is_nearer], last
        place = int(lowest.argmin())
        one[step], two[step], squares[step] = nearest[place], left[place], lowest[place]
        last = int(left[place])
        lowest[place], has_joined[place] = np.inf, True
    return one, two, squares


def _measure_from(points: Any, others: IntArray) -> Callable[[int], NDArray[np.float32]]:
    """Return a function for the squared distances of a point to others; norms of sparse points are computed once."""
    values = points[others]
    if sparse.issparse(points):
        norms = np.asarray(points.multiply(points).sum(axis=1)).ravel()
        norms_of_others, row = norms[others], np.zeros(points.shape[1])

        def measure(point: int) -> NDArray[np.float32]:
            stored = slice(points.indptr[point], points.indptr[point + 1])
            row[points.indices[stored]] = points.data[stored]
            squares: NDArray[np.float32] = (norms[point] - 2 * (values @ row) + norms_of_others).astype(np.float32)
            row[points.indices[stored]] = 0
            return np.maximum(squares, np.float32(0))

        return measure
    if len(points) * len(values) <= MAX_CELLS:
        measured: NDArray[np.float32] = cdist(points, values, "sqeuclidean").astype(np.float32)
        return lambda point: np.asarray(measured[point])
    return lambda point: cdist(points[point : point + 1], values, "sqeuclidean")[0].astype(np.float32)


def link_connected(tree: SpanningTree, mass: FloatArray, max_gini: float) -> FloatArray:
    """Return the linkage matrix of the points of a spanning tree.

    Parameters
    ----------
    tree : SpanningTree
        The spanning tree of the points.
    mass : array of float, shape (n_points,)
        Mass of each point; all are positive.
    max_gini : float
        As long as the Gini index of the masses of the clusters is above this, a cluster of the smallest mass merges.
        Points at distance 0 merge first.

    Returns
    -------
    linkage : array of float, shape (n_points - 1, 4)
        In the format of :func:`scipy.cluster.hierarchy.linkage`. The height is the length of the edge, or that of an
        earlier merge if this is larger. The last column has the number of points.

    Examples
    --------
    By single linkage, the last point would merge last. With even masses, it merges before the two pairs do:

    >>> import numpy as np
    >>> from cohirf.beyond.connected import SpanningTree, link_connected
    >>> tree = SpanningTree(np.array([[0.0], [1.0], [3.0], [4.0], [7.0]]))
    >>> link_connected(tree, np.ones(5), max_gini=0.1)[:, :2].astype(int).tolist()
    [[0, 1], [2, 3], [4, 6], [5, 7]]
    """
    return _Merging(tree, mass).link(max_gini)


class _Merging:
    """Clusters of points while they merge; a cluster is named by one of its points."""

    def __init__(self, tree: SpanningTree, mass: FloatArray) -> None:
        self.lengths: list[float] = tree.lengths.tolist()
        self.ends = list(zip(tree.one.tolist(), tree.two.tolist(), strict=True))
        self.is_used = [False] * len(self.ends)
        self.lightest = 0
        self.parent = list(range(len(mass)))
        self.mass: list[float] = mass.tolist()
        self.sizes = Sizes(self.mass)
        self.own_edges: list[list[int]] = [[] for _ in self.mass]  # a heap for each cluster; used ones may be in it
        for edge, ends in enumerate(self.ends):
            for point in ends:
                self.own_edges[point].append(edge)
        # mass, lightest edge and name of each cluster, and of clusters that have merged since
        self.smallest = [(self.mass[point], own[0], point) for point, own in enumerate(self.own_edges) if own]
        heapq.heapify(self.smallest)

    def link(self, max_gini: float) -> FloatArray:
        """Merge all clusters, and return the linkage."""
        edges, merges = [], []
        for _ in self.ends:
            edges.append(self._choose_edge(max_gini))
            merges.append(self._merge(edges[-1]))
        lengths = np.array([self.lengths[edge] for edge in edges])
        return as_linkage(np.array(merges).reshape(-1, 2), np.maximum.accumulate(lengths), len(self.mass))

    def _choose_edge(self, max_gini: float) -> int:
        """Return the lightest edge, or that of a smallest cluster if masses are uneven."""
        while self.is_used[self.lightest]:
            self.lightest += 1
        if self.lengths[self.lightest] == 0 or self.sizes.gini() <= max_gini:
            return self.lightest
        while True:
            mass, edge, cluster = self.smallest[0]
            if self.parent[cluster] == cluster and self.mass[cluster] == mass and not self.is_used[edge]:
                return edge
            heapq.heappop(self.smallest)

    def _merge(self, edge: int) -> tuple[int, int]:
        """Merge the two clusters of an edge; return the one that goes on, and the other one."""
        self.is_used[edge] = True
        point, other = self.ends[edge]
        one, two = self._find(point), self._find(other)
        kept, absorbed = (one, two) if len(self.own_edges[one]) >= len(self.own_edges[two]) else (two, one)
        own = self.own_edges[kept]
        for edge in self.own_edges[absorbed]:
            if not self.is_used[edge]:
                heapq.heappush(own, edge)
        while own and self.is_used[own[0]]:
            heapq.heappop(own)
        self.own_edges[absorbed] = []
        self.sizes.merge(self.mass[kept], self.mass[absorbed])
        self.parent[absorbed], self.mass[kept] = kept, self.mass[kept] + self.mass[absorbed]
        if own:
            heapq.heappush(self.smallest, (self.mass[kept], own[0], kept))
        return kept, absorbed

    def _find(self, point: int) -> int:
        """Return the cluster of a point; paths are halved on the way."""
        parent = self.parent
        while parent[point] != point:
            parent[point] = parent[parent[point]]
            point = parent[point]
        return point


class Sizes:
    """Masses of clusters, of which many are equal, and their Gini index: 0 if all are equal, at most 1."""

    def __init__(self, masses: list[float]) -> None:
        values, counts = np.unique(masses, return_counts=True)
        self.values, self.counts = values, counts.astype(np.float64)
        self.place = {value: place for place, value in enumerate(values.tolist())}
        self.n_clusters, self.total = len(masses), float(np.sum(masses))
        self.changed = np.empty((3, 1))  # masses of two clusters and of their union
        below = np.cumsum(self.counts) - self.counts  # number of smaller clusters
        # the sum of the differences of all pairs
        self.differences = float((self.values * self.counts) @ (2 * below + self.counts - self.n_clusters))

    def gini(self) -> float:
        """Return the Gini index."""
        return self.differences / (self.total * (self.n_clusters - 1)) if self.n_clusters > 1 else 0.0

    def merge(self, one: float, two: float) -> None:
        """Replace two clusters by their union."""
        union = one + two
        self.changed[0, 0], self.changed[1, 0], self.changed[2, 0] = one, two, union
        gaps = self.values - self.changed
        lost_one, lost_two, added = (np.absolute(gaps, gaps) @ self.counts).tolist()
        # among these are the difference of the two, twice, and the differences of the union from both
        self.differences += (added - lost_one - lost_two) + abs(one - two) - union
        self.counts[self.place[one]] -= 1
        self.counts[self.place[two]] -= 1
        place = self.place.get(union)
        if place is None:
            place = self._make_place(union)
        self.counts[place] += 1
        self.n_clusters -= 1

    def _make_place(self, mass: float) -> int:
        """Return the place of a new mass: that of a mass which no cluster has any more, or one more."""
        free = int(self.counts.argmin())
        if self.counts[free] > 0:
            free = len(self.counts)
            self.values, self.counts = (np.append(part, 0.0) for part in (self.values, self.counts))
        else:
            del self.place[float(self.values[free])]
        self.values[free], self.place[mass] = mass, free
        return free
