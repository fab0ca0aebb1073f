"""Pieces of clusters: groups of landmarks that are nearer to their own centre than to centres of other clusters.

A convex cluster is one piece. A ring around another cluster is divided until the nearest centre of a piece tells the
cluster of nearly every landmark.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.grouping import IntArray, row_blocks, rows_by_label

Floats = NDArray[np.float64]

BLOCK_VALUES = 2**19  # distances that are in memory at a time; several arrays of this size are
MAX_DIVIDED = 256  # pieces beyond one for each cluster
MAX_CENTRE_VALUES = 2**24  # values of all centres beyond those of one piece for each cluster
MAX_WRONG = 0.1  # a piece is divided if the nearest centre is wrong for more than this share of its landmarks
FEWEST_DIVIDED = 20  # landmarks; the spread of smaller pieces is not known well enough
MAX_ROUNDS = 10  # each can double the number of pieces


@dataclass(frozen=True, eq=False)
class Pieces:
    """Landmarks by piece; the pieces are sorted by cluster.

    Attributes
    ----------
    of_point : array of int
        Piece of each landmark.
    cluster : array of int
        Cluster of each piece, as a position from 0.
    centres : array of float
        Mean of the landmarks of each piece.
    """

    of_point: IntArray
    cluster: IntArray
    centres: Floats

    @property
    def sizes(self) -> IntArray:
        """Number of landmarks of each piece."""
        return np.bincount(self.of_point, minlength=len(self.cluster))

    @property
    def starts(self) -> IntArray:
        """First piece of each cluster."""
        return np.flatnonzero(np.diff(self.cluster, prepend=-1))

    def measure(self, X: Any) -> Floats:
        """Return the squared distance of each row to each centre."""
        return np.asarray(euclidean_distances(X, self.centres, squared=True), dtype=np.float64)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Yield blocks of rows whose distances to all centres are not too many."""
        return row_blocks(n_rows, BLOCK_VALUES // len(self.cluster) + 1)

    def find_nearest(self, X: Any) -> IntArray:
        """Return the piece whose centre is nearest to each row."""
        return np.concatenate([self.measure(X[block]).argmin(axis=1) for block in self.blocks(X.shape[0])])


def divide_clusters(points: Any, clusters: IntArray) -> Pieces:
    """Divide clusters into pieces.

    Parameters
    ----------
    points : array or CSR matrix
        Landmarks.
    clusters : array of int
        Cluster of each landmark, from 0; each has at least one.
    """
    n_clusters = int(clusters.max()) + 1
    most = n_clusters + min(MAX_DIVIDED, MAX_CENTRE_VALUES // points.shape[1])
    whole = pieces = _describe(points, clusters, np.arange(n_clusters))
    errors = first = Errors.of(points, pieces)
    for _ in range(MAX_ROUNDS):
        is_mixed = errors.find_mixed(pieces.sizes)
        if not is_mixed.any() or len(is_mixed) + is_mixed.sum() > most:
            break
        pieces = _divide(points, pieces, is_mixed)
        errors = Errors.of(points, pieces)
    # clusters that overlap are not told apart by pieces either, and pieces would hide how wide they are
    return pieces if errors.n_wrong <= first.n_wrong / 2 else whole


@dataclass(frozen=True, eq=False)
class Errors:
    """Landmarks whose nearest centre is that of another cluster.

    Attributes
    ----------
    lost : array of int
        Their number in each piece.
    attracted : array of int
        The number of those whose nearest centre is that of each piece.
    """

    lost: IntArray
    attracted: IntArray

    @classmethod
    def of(cls, points: Any, pieces: Pieces) -> Errors:
        """Compare landmarks with the centres."""
        nearest = pieces.find_nearest(points)
        is_wrong = pieces.cluster[nearest] != pieces.cluster[pieces.of_point]
        count = partial(np.bincount, minlength=len(pieces.cluster))
        return cls(count(pieces.of_point[is_wrong]), count(nearest[is_wrong]))

    @property
    def n_wrong(self) -> int:
        """Number of such landmarks."""
        return int(self.lost.sum())

    def find_mixed(self, sizes: IntArray) -> NDArray[np.bool_]:
        """Return which pieces have, or attract, too many of them."""
        return np.asarray((sizes >= FEWEST_DIVIDED) & (np.maximum(self.lost, self.attracted) > MAX_WRONG * sizes))


def mean_by(points: Any, groups: IntArray, n_groups: int) -> Floats:
    """Return the mean of the rows of each group, as an array; every group has a row."""
    n_points = len(groups)
    belongs = sparse.csr_array((np.ones(n_points), (groups, np.arange(n_points))), shape=(n_groups, n_points))
    sums = belongs @ points
    sums = sums.toarray() if sparse.issparse(sums) else sums
    return np.asarray(sums, dtype=np.float64) / np.bincount(groups, minlength=n_groups)[:, None]


def _describe(points: Any, of_point: IntArray, cluster: IntArray) -> Pieces:
    return Pieces(of_point, cluster, mean_by(points, of_point, len(cluster)))


def _divide(points: Any, pieces: Pieces, is_mixed: NDArray[np.bool_]) -> Pieces:
    """Return the pieces with the mixed ones cut into two."""
    parts = list(_halve(points, pieces, is_mixed))
    of_point = np.empty_like(pieces.of_point)
    for number, (members, _) in enumerate(parts):
        of_point[members] = number
    return _describe(points, of_point, np.array([cluster for _, cluster in parts]))


def _halve(points: Any, pieces: Pieces, is_mixed: NDArray[np.bool_]) -> Iterator[tuple[IntArray, int]]:
    starts, order = rows_by_label(pieces.of_point, len(pieces.cluster))
    for piece, cluster in enumerate(pieces.cluster.tolist()):
        members = order[starts[piece] : starts[piece + 1]]
        if not is_mixed[piece] or _are_equal(points[members]):
            yield members, cluster
            continue
        half = KMeans(2, n_init=1, random_state=0).fit_predict(points[members])
        yield members[half == 0], cluster
        yield members[half == 1], cluster


def _are_equal(points: Any) -> bool:
    low, high = points.min(axis=0), points.max(axis=0)
    return bool(abs(high - low).max() == 0)
