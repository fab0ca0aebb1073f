"""Merge points along the edges of their neighbour graph (not part of the paper).

Two clusters are near if they have many edges between them, compared with all edges of the smaller
one, and with the size of both: their distance is ``min(v1, v2) * sqrt(v1 + v2) / e``, where ``v``
is the sum of the weights of a cluster's edges, and ``e`` that of the edges between the two. So
clusters may have any shape, as long as they are not held together by a few edges, and large
clusters are the last to merge.

In each round, all pairs merge that are each other's nearest. Usually these are a third of the
clusters. Where distances grow along a chain they are few, and then clusters also merge with the
nearest one that is left. So rounds are few, and each is a handful of operations on arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.beyond.criterion import Criterion, OneLinkage, ToMerge
from cohirf.beyond.merge_tree import as_linkage
from cohirf.beyond.policy import GRAPH
from cohirf.rows.grouping import FloatArray, IntArray

FEW_PAIRS = (
    32  # if fewer than one of 32 clusters are the first of a nearest pair, others merge, too
)


LARGEST = np.finfo(np.float32).max


def link_along_graph(affinity: sparse.csr_array) -> FloatArray:
    """Return the linkage of the points of a graph.

    Parameters
    ----------
    affinity : CSR array of float, shape (n_points, n_points)
        Symmetric weights of edges. Parts without an edge between them merge last, at the largest
        height of float32.

    Returns
    -------
    linkage : array of float, shape (n_points - 1, 4)
        In the format of :func:`scipy.cluster.hierarchy.linkage`. The height is the distance of the
        two clusters, or that of an earlier merge of one of them if this is larger.

    Examples
    --------
    Of a chain of four points, the weakest edge is the last to merge:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from cohirf.beyond.merges.graph import link_along_graph
    >>> chain = sparse.csr_array(np.diag([3.0, 1.0, 2.0], 1) + np.diag([3.0, 1.0, 2.0], -1))
    >>> link_along_graph(chain)[:, :2].astype(int).tolist()
    [[2, 3], [0, 1], [4, 5]]
    """
    n_points = affinity.shape[0]
    names = np.arange(n_points)  # a point of each cluster
    heights = np.zeros(n_points)
    volumes = np.asarray(affinity.sum(axis=1)).ravel()
    edges = _edges_of(affinity)
    merges: list[IntArray] = []
    merged_at: list[FloatArray] = []
    while len(names) > 1:
        one, two, distance = _nearest_pairs(edges, volumes)
        if len(one) == 0:  # what is left are parts without an edge between them
            merges.append(np.column_stack([np.full(len(names) - 1, names[0]), names[1:]]))
            merged_at.append(np.full(len(names) - 1, float(LARGEST)))
            break
        height = np.maximum(distance, np.maximum(heights[one], heights[two]))
        merges.append(np.column_stack([names[one], names[two]]))
        merged_at.append(height)
        heights[one] = height
        volumes[one] += volumes[two]
        is_left = np.ones(len(names), dtype=bool)
        is_left[two] = False
        edges = edges.merge(one, two, is_left)
        names = names[is_left]
        heights = heights[is_left]
        volumes = volumes[is_left]
    if not merges:
        return np.empty((0, 4))
    return as_linkage(np.concatenate(merges), np.concatenate(merged_at), n_points)


class _Edges(Protocol):
    """Weights of the edges between clusters."""

    def listed(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return both ends of each edge, sorted by the first one, and its weight."""

    def merge(self, one: IntArray, two: IntArray, is_left: NDArray[np.bool_]) -> _Edges:
        """Return the weights after pairs of clusters have merged, each to its first one."""


@dataclass(frozen=True)
class _EdgesOfMany:
    """Edges of many clusters, of which most pairs have none."""

    weights: sparse.csr_array

    def listed(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the stored cells."""
        one = np.repeat(np.arange(self.weights.shape[0]), np.diff(self.weights.indptr))
        return one, self.weights.indices.astype(np.int64), self.weights.data

    def merge(self, one: IntArray, two: IntArray, is_left: NDArray[np.bool_]) -> _Edges:
        """Return the products with a matrix of unions, which may have room as an array."""
        union = np.cumsum(is_left) - 1
        union[two] = union[one]
        members = sparse.csr_array((np.ones(len(union)), (union, np.arange(len(union)))))
        return _edges_of(sparse.csr_array(members @ self.weights @ members.T))


@dataclass(frozen=True)
class _EdgesOfFew:
    """Edges of few clusters: an array takes less time than a sparse matrix."""

    weights: FloatArray

    def listed(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the cells that are not 0."""
        one, two = np.nonzero(self.weights)
        return one, two, self.weights[one, two]

    def merge(self, one: IntArray, two: IntArray, is_left: NDArray[np.bool_]) -> _Edges:
        """Add up rows and columns, in place."""
        self.weights[one] += self.weights[two]
        self.weights[:, one] += self.weights[:, two]
        return _EdgesOfFew(self.weights[np.ix_(is_left, is_left)])


def _edges_of(affinity: sparse.csr_array) -> _Edges:
    if affinity.shape[0] <= GRAPH.compared_rows:
        return _EdgesOfFew(affinity.toarray())
    return _EdgesOfMany(affinity)


def _nearest_pairs(edges: _Edges, volumes: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the pairs of clusters that are each other's nearest, the lower number first, and their
    distances.

    A cluster without an edge to another one has no nearest. Distances that are equal in float32
    count as equal, and then the lowest numbers come first. So rounding does not decide.
    """
    one, two, weights = edges.listed()
    of_one = volumes[one]
    of_two = volumes[two]
    distance = np.minimum(
        np.minimum(of_one, of_two) * np.sqrt(of_one + of_two) / weights, LARGEST
    ).astype(np.float32)
    distance[one == two] = np.inf
    cluster = np.arange(len(volumes))
    least = np.full(len(volumes), np.inf, dtype=np.float32)
    starts = np.flatnonzero(np.diff(one, prepend=-1))
    least[one[starts]] = np.minimum.reduceat(distance, starts)
    tied = np.flatnonzero(distance == least[one])
    starts = np.flatnonzero(np.diff(one[tied], prepend=-1))
    nearest = cluster.copy()
    nearest[one[tied[starts]]] = np.minimum.reduceat(two[tied], starts)
    is_first = (nearest[nearest] == cluster) & (cluster < nearest)
    if FEW_PAIRS * int(is_first.sum()) < int((nearest != cluster).sum()):
        is_first = _match(nearest, least)
    first = np.minimum(cluster, nearest)[is_first]
    second = np.maximum(cluster, nearest)[is_first]
    return first, second, least[is_first].astype(np.float64)


def _match(nearest: IntArray, distance: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which clusters merge with their nearest one, if each merges once at most and near
    pairs go first.
    """
    is_free = [True] * len(nearest)
    merges = np.zeros(len(nearest), dtype=bool)
    partner = nearest.tolist()
    for cluster in np.argsort(distance, kind="stable").tolist():
        if partner[cluster] != cluster and is_free[cluster] and is_free[partner[cluster]]:
            is_free[cluster] = is_free[partner[cluster]] = False
            merges[cluster] = True
    return merges


def merge_rows(rows: ToMerge) -> OneLinkage:
    """Return the merges of the points of the graph of some rows."""
    return OneLinkage(link_along_graph(rows.graph.affinity), rows.graph.mass)


CRITERION = Criterion(
    name="graph",
    kind="merged along the neighbour graph",
    merge_rows=merge_rows,
    follows_graph=True,
    place=2,
)
