"""Rows with their clusters: what consensus clusters need of them, with one class per container.

``members_of`` chooses the class: of arrays of NumPy, of CSR matrices, or of arrays on a device. So
nobody else has to ask which it is. Sums are in float64, and on a device they do not depend on the
order of additions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances

from cohirf.rows import scatter
from cohirf.rows.arrays import in_blocks, is_here, look_up, namespace, put_beside, to_host
from cohirf.rows.grouping import (
    FloatArray,
    IntArray,
    best_by_label,
    count_by_label,
    index_dtype,
    sum_by_label,
    sum_rows_by_label,
)

CACHED_CELLS = 2**17  # of a block of rows that fits the cache
DEVICE_CELLS = 2**26  # of a block of rows on a device
FEW_CANDIDATES = (
    16  # sparse rows that are compared as an array, which keeps the digits of values with an offset
)
# If the squared norm of a CSR cluster's mean, over the mean squared distance to it, is larger than
# this, the cluster is shifted to the origin: the expanded square would lose digits. The shift keeps
# the rows sparse, because such a tight cluster has its large values in the same columns.
TIGHT = 1e4


def members_of(X: Any, labels: Any, n_clusters: int, mass: Any = None) -> Members:
    """Return rows with their clusters; without a mass, each row has mass 1."""
    if sparse.issparse(X):
        return CsrMembers(X, labels, n_clusters, mass)
    if is_here(X):
        return ArrayMembers(X, labels, n_clusters, mass)
    return DeviceMembers(X, labels, n_clusters, mass)


@dataclass(frozen=True)
class Members:
    """The rows of a data matrix, with the cluster and the mass of each."""

    X: Any
    labels: Any
    n_clusters: int
    mass: Any  # None: mass 1 for each row

    def map_rows(self, function: Callable[[Any, Any], Any]) -> Any:
        """Apply ``function`` to blocks of rows, in float64, and their labels.

        It returns a number for each row.
        """
        found = np.empty(len(self.labels))
        for block, points in self._blocks(CACHED_CELLS):
            found[block] = function(points, self.labels[block])
        return found

    def means(self, weights: Any) -> Any:
        """Return the weighted sum of each cluster's rows over its mass, in float64.

        Without weights, each row has weight 1.
        """
        raise NotImplementedError

    def vectors(self, means: Any) -> Vectors:
        """Return vectors of clusters, to compare rows with."""
        return ArrayVectors(means)

    def invert_norms(self) -> Any:
        """Return 1 / norm of each row; 0 for a row of zeros."""
        norms = np.sqrt(self.map_rows(lambda points, _: self.row_dots(points, points)))
        has_inverse = norms >= np.finfo(np.float64).smallest_normal
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=has_inverse)

    @staticmethod
    def row_dots(left: Any, right: Any) -> Any:
        """Return the inner product of each row of ``left`` with that of ``right``."""
        dots: FloatArray = np.einsum("...j,...j->...", left, right)
        return dots

    def squared_distances_to_means(self) -> Any:
        """Return the squared distance of each row to the mean of its cluster."""
        return self._measure(self.vectors(self.means(self.mass)))

    def mean_by_cluster(self, values: Any) -> FloatArray:
        """Return the mean of values over the rows of each cluster, weighted by their mass."""
        sums = sum_by_label(self.labels, self.weigh(values), self.n_clusters)
        return sums / self.cluster_mass()

    def weigh(self, values: Any) -> Any:
        """Return ``values`` times the mass of each member."""
        return values if self.mass is None else values * self.mass

    def cluster_mass(self) -> FloatArray:
        """Return the mass of each cluster."""
        return sum_by_label(self.labels, self.mass, self.n_clusters)

    def in_unit(self, distances: Any, unit: Any) -> Any:
        """Return distances in a unit; see the function."""
        return in_unit(distances, unit)

    def _measure(self, vectors: Vectors) -> Any:
        squares = self.map_rows(vectors.squared_distances)
        return np.maximum(squares, 0, out=squares)

    def _blocks(self, n_cells: int) -> Iterator[tuple[slice, Any]]:
        """Yield slices of the members with their rows of X, in float64, about ``n_cells`` at a
        time.
        """
        step = self._count_rows(n_cells)
        for start in range(0, len(self.labels), step):
            block = slice(start, start + step)
            yield block, self.X[block].astype(np.float64, copy=False)

    def _count_rows(self, n_cells: int) -> int:
        """Return the number of rows that have about so many cells."""
        return max(1, n_cells // int(self.X.shape[1]))


class ArrayMembers(Members):
    """Rows of an array of NumPy."""

    def means(self, weights: Any) -> Any:
        """Return the weighted sum of each cluster's rows over its mass, as an array."""
        if weights is None:
            weights = np.ones(len(self.labels))
        shape = (self.n_clusters, self.X.shape[1])
        # Each block adds to the sums of all clusters. Blocks with more rows than there are clusters
        # keep the cost linear.
        in_place = self.X.dtype == np.float64  # then nothing is copied
        if in_place:
            n_cells = len(self.labels) * shape[1]
        else:
            n_cells = max(16 * CACHED_CELLS, 2 * shape[0] * shape[1])
        sums: FloatArray | None = None
        for block, points in self._blocks(n_cells):
            n = points.shape[0]
            pointers = np.arange(n + 1, dtype=index_dtype(n + 1))
            parts = (weights[block], self.labels[block], pointers)
            product = sparse.csc_array(parts, shape=(self.n_clusters, n)) @ points
            sums = product if sums is None else np.add(sums, product, out=sums)
        assert sums is not None  # a cluster has rows
        return np.divide(sums, self.cluster_mass()[:, None], out=sums)


class CsrMembers(Members):
    """Rows of a CSR matrix."""

    def means(self, weights: Any) -> Any:
        """Return the weighted sum of each cluster's rows over its mass, as a CSR matrix."""
        if weights is None:
            weights = np.ones(len(self.labels))
        one_hot = sparse.csr_array(
            (weights, self.labels, np.arange(len(weights) + 1)),
            shape=(len(weights), self.n_clusters),
        )
        scale = sparse.diags_array(1 / self.cluster_mass())
        return (scale @ (one_hot.T.tocsr() @ self.X.astype(np.float64, copy=False))).tocsr()

    def vectors(self, means: Any) -> Vectors:
        """Return vectors of clusters, to compare rows with."""
        return SparseVectors.of(means)

    @staticmethod
    def row_dots(left: Any, right: Any) -> Any:
        """Return the inner product of each row of ``left`` with that of ``right``."""
        return _sparse_dots(left, right)

    def squared_distances_to_means(self) -> Any:
        """Return the squared distance of each row to the mean of its cluster.

        Tight clusters far from the origin are shifted there first, so that no digits are lost.
        """
        means = SparseVectors.of(self.means(self.mass))
        squares = self._measure(means)
        is_tight = means.squared_norms > TIGHT * self.mean_by_cluster(squares)
        is_tight &= count_by_label(self.labels, self.n_clusters) > 1
        in_tight = np.flatnonzero(is_tight[self.labels])
        if len(in_tight) > 0:
            central = best_by_label(-squares, self.labels, self.n_clusters, tie=0)
            shifted = self._shift(in_tight, central)
            squares[in_tight] = shifted._measure(SparseVectors.of(shifted.means(shifted.mass)))
        return squares

    def _shift(self, some: IntArray, origins: IntArray) -> CsrMembers:
        """Return some members, each minus the row that is the origin of its cluster, and their
        clusters.
        """
        clusters, labels = np.unique(self.labels[some], return_inverse=True)
        X = self.X[some].astype(np.float64, copy=False)
        origin = self.X[origins[self.labels[some]]].astype(np.float64, copy=False)
        mass = None if self.mass is None else self.mass[some]
        return CsrMembers((X - origin).tocsr(), labels, len(clusters), mass)

    def _count_rows(self, n_cells: int) -> int:
        n_rows = self.X.shape[0]
        return max(1, n_cells * int(n_rows) // int(self.X.nnz + n_rows))


class DeviceMembers(Members):
    """Rows of an array on a device."""

    def map_rows(self, function: Callable[[Any, Any], Any]) -> Any:
        """Apply ``function`` to blocks of rows, in float64, and their labels, where they are."""
        xp = namespace(self.X)
        n_rows = self.X.shape[0]
        found = xp.empty(n_rows, dtype=xp.float64, device=self.X.device)

        def fill(block: slice) -> None:
            found[block] = function(xp.astype(self.X[block, :], xp.float64), self.labels[block])

        in_blocks(fill, n_rows, DEVICE_CELLS // self.X.shape[1])
        return found

    def means(self, weights: Any) -> Any:
        """Return the weighted sum of each cluster's rows over its mass, where the rows are."""
        totals = sum_rows_by_label(self.X, self.labels, self.n_clusters, weights)
        return totals / put_beside(self.cluster_mass(), totals)[:, None]

    def vectors(self, means: Any) -> Vectors:
        """Return vectors of clusters, to compare rows with."""
        return DeviceVectors(put_beside(means, self.X))

    def invert_norms(self) -> Any:
        """Return 1 / norm of each row; 0 for a row of zeros."""
        xp = namespace(self.X)
        norms = self.map_rows(lambda points, _: xp.linalg.vector_norm(points, axis=1))
        return xp.where(norms > 0, 1 / xp.where(norms > 0, norms, 1.0), norms)

    def in_unit(self, distances: Any, unit: Any) -> Any:
        """Return distances in a unit, where the rows are."""
        xp = namespace(distances)
        return xp.where(
            unit > 0,
            distances / xp.where(unit > 0, unit, 1.0),
            xp.where(distances > 0, xp.inf, distances),
        )

    def _measure(self, vectors: Vectors) -> Any:
        return self.map_rows(vectors.squared_distances)


def in_unit(distances: FloatArray, unit: Any) -> FloatArray:
    """Return distances in a unit.

    Infinity far from rows that have almost all of the mass, where the unit vanishes.
    """
    scaled: FloatArray = np.where(distances > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        np.divide(distances, unit, out=scaled, where=unit > 0)
    return scaled


# ---- a vector for each cluster


class Vectors:
    """A vector for each cluster, to compare rows with."""

    def dots(self, points: Any, labels: Any) -> Any:
        """Return the inner product of each row with the vector of its cluster."""
        raise NotImplementedError

    def squared_distances(self, points: Any, labels: Any) -> Any:
        """Return the squared distance of each row to the vector of its cluster."""
        raise NotImplementedError


@dataclass(frozen=True)
class ArrayVectors(Vectors):
    """The rows of an array of NumPy."""

    vectors: Any

    def dots(self, points: Any, labels: Any) -> Any:
        """Return the inner product of each row with the vector of its cluster."""
        own = np.take(self.vectors, labels, axis=0, mode="clip")  # labels are in range
        return ArrayMembers.row_dots(points, own)

    def squared_distances(self, points: Any, labels: Any) -> Any:
        """Return the squared distance of each row to the vector of its cluster."""
        difference = points - self.vectors[labels]
        return ArrayMembers.row_dots(difference, difference)


@dataclass(frozen=True)
class DeviceVectors(Vectors):
    """The rows of an array on a device."""

    vectors: Any

    def dots(self, points: Any, labels: Any) -> Any:
        """Return the inner product of each row with the vector of its cluster."""
        # torch's vecdot is a product of matrices for each row
        return namespace(points).sum(points * self._of_rows(labels), axis=1)

    def squared_distances(self, points: Any, labels: Any) -> Any:
        """Return the squared distance of each row to the vector of its cluster."""
        difference = points - self._of_rows(labels)
        return namespace(points).sum(difference * difference, axis=1)

    def _of_rows(self, labels: Any) -> Any:
        return namespace(labels).take(self.vectors, labels, axis=0)


@dataclass(frozen=True)
class SparseVectors(Vectors):
    """A sparse vector for each cluster, as cells sorted by (cluster, feature) that are found by
    bisection.

    The last cell is a sentinel behind all others, so that every search ends at a cell.
    """

    keys: NDArray[np.int64]
    values: FloatArray
    squared_norms: FloatArray
    n_features: int

    @classmethod
    def of(cls, vectors: Any) -> SparseVectors:
        """Sort the cells of a CSR matrix."""
        vectors.sort_indices()
        n_clusters, n_features = vectors.shape
        cluster_of = np.repeat(np.arange(n_clusters, dtype=np.int64), np.diff(vectors.indptr))
        keys = np.append(cluster_of * n_features + vectors.indices, n_clusters * n_features)
        return cls(keys, np.append(vectors.data, 0.0), _sparse_dots(vectors, vectors), n_features)

    def dots(self, points: Any, labels: IntArray) -> FloatArray:
        """Return the inner product of each CSR row with the vector of its cluster."""
        row_of = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
        wanted = labels[row_of] * np.int64(self.n_features) + points.indices
        cell = np.searchsorted(self.keys, wanted)
        # A sum has no cell for a feature in which the entries of its rows cancel.
        values = np.where(self.keys[cell] == wanted, self.values[cell], 0.0)
        return sum_by_label(row_of, points.data * values, points.shape[0])

    def squared_distances(self, points: Any, labels: IntArray) -> FloatArray:
        """Return the squared distance of each CSR row to the vector of its cluster, from the
        expanded square.
        """
        squares: FloatArray = (
            _sparse_dots(points, points)
            - 2 * self.dots(points, labels)
            + self.squared_norms[labels]
        )
        return squares


def _sparse_dots(left: Any, right: Any) -> FloatArray:
    return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()


def squared_distances_to(vectors: Any, X: Any, labels: Any) -> Any:
    """Return the squared distance of each row on a device to the vector of its label."""
    members = DeviceMembers(X, labels, vectors.shape[0], None)
    return members.map_rows(members.vectors(vectors).squared_distances)


# ---- mass


def scale_mass(mass: Any, labels: Any, n_clusters: int) -> Any:
    """Return the mass of each row relative to the heaviest row of its cluster.

    See ``relative_mass``.
    """
    if is_here(mass):
        heaviest = np.zeros(n_clusters)
        np.maximum.at(heaviest, labels, mass)
        return relative_mass(mass, heaviest[labels])
    heaviest = to_host(scatter.highest(labels, mass, n_clusters, 0.0))
    return mass * look_up(relative_mass(np.ones(n_clusters), heaviest), labels)


def relative_mass(mass: FloatArray, heaviest: FloatArray) -> FloatArray:
    """Divide mass by a power of two near the mass of the heaviest row, so that sums neither
    overflow nor underflow.
    """
    return np.ldexp(mass, -np.frexp(heaviest)[1])


# ---- a few rows


def squared_distances_between(points: Any) -> FloatArray:
    """Return the squared Euclidean distances between a few rows."""
    points = _without_empty_columns(points)
    if sparse.issparse(points):
        squares: FloatArray = euclidean_distances(points, squared=True)
        return squares
    shifted = points - points[:1]  # near the origin, the expanded square loses no digits
    # not by scikit-learn, whose checks take longer than a small cluster
    norms = ArrayMembers.row_dots(shifted, shifted)
    expanded: FloatArray = norms[:, None] + norms - 2 * (shifted @ shifted.T)
    return np.maximum(expanded, 0)


def manhattan_distances_between(points: Any) -> FloatArray:
    """Return the Manhattan distances between a few rows."""
    points = _without_empty_columns(points)
    if sparse.issparse(points):
        distances: FloatArray = manhattan_distances(points)
        return distances
    return np.asarray(cdist(points, points, "cityblock"))


def _without_empty_columns(points: Any) -> Any:
    """Return a few sparse candidates as an array of the columns that they have cells in.

    Others stay as they are.
    """
    if not sparse.issparse(points) or points.shape[0] > FEW_CANDIDATES:
        return points
    columns, place = np.unique(points.indices, return_inverse=True)
    dense = np.zeros((points.shape[0], len(columns)))
    np.add.at(
        dense, (np.repeat(np.arange(points.shape[0]), np.diff(points.indptr)), place), points.data
    )
    return dense
