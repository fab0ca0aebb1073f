"""Rows with their clusters: what consensus clusters need of them.

Each container in ``containers/`` has a class for its rows. Sums are in float64, and on a device
they do not depend on the order of additions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.rows.containers.container import container_of
from cohirf.rows.grouping import FloatArray, IntArray, sum_by_label
from cohirf.rows.policy import BLOCK
from cohirf.rows.threads import map_blocks


def members_of(X: Any, labels: Any, n_clusters: int, mass: Any = None) -> Members:
    """Return rows with their clusters; without a mass, each row has mass 1."""
    return container_of(X).members(X, labels, n_clusters, mass)


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

        def map_some(rows: slice) -> None:
            for block, points in self._blocks(BLOCK.cached_cells, rows):
                found[block] = function(points, self.labels[block])

        map_blocks(map_some, len(self.labels))
        return found

    def means(self, weights: Any) -> Any:
        """Return the weighted sum of each cluster's rows over its mass, in float64.

        Without weights, each row has weight 1.
        """
        raise NotImplementedError

    def vectors(self, means: Any) -> Vectors:
        """Return vectors of clusters, to compare rows with."""
        raise NotImplementedError

    def invert_norms(self) -> Any:
        """Return 1 / norm of each row; 0 for a row of zeros."""

        def invert(points: Any, _: Any) -> Any:
            norms = np.sqrt(self.row_dots(points, points))
            has_inverse = norms >= np.finfo(np.float64).smallest_normal
            return np.divide(1.0, norms, out=np.zeros_like(norms), where=has_inverse)

        return self.map_rows(invert)

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

    def _blocks(self, n_cells: int, rows: slice) -> Iterator[tuple[slice, Any]]:
        """Yield slices of some members with their rows of X, in float64, about ``n_cells`` at a
        time.
        """
        step = self._count_rows(n_cells)
        for start in range(rows.start, rows.stop, step):
            block = slice(start, min(start + step, rows.stop))
            yield block, self.X[block].astype(np.float64, copy=False)

    def _count_rows(self, n_cells: int) -> int:
        """Return the number of rows that have about ``n_cells``."""
        return max(1, n_cells // int(self.X.shape[1]))


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


def squared_distances_to(vectors: Any, X: Any, labels: Any) -> Any:
    """Return the squared distance of each row to the vector of its label."""
    members = members_of(X, labels, vectors.shape[0])
    return members.map_rows(members.vectors(vectors).squared_distances)


def find_exemplars(rows: Any, labels: Any, means: Any) -> IntArray:
    """Return, for each label, the row with that label that is nearest to the mean of the label.

    This is the row with the smallest sum of squared distances to all rows of its cluster. The cost
    is linear in the number of rows.

    Parameters
    ----------
    rows : Rows
        All rows; if they are on a device, those of an array.
    labels : array of int
        Label of each row, or -1, where the rows are; every label has a row.
    means : array or CSR matrix
        Mean of the rows of each label.
    """
    return container_of(labels).find_exemplars(rows, labels, means)


# ---- mass


def scale_mass(mass: Any, labels: Any, n_clusters: int) -> Any:
    """Return the mass of each row relative to the heaviest row of its cluster.

    See ``relative_mass``.
    """
    return container_of(mass).scale_mass(mass, labels, n_clusters)


def relative_mass(mass: FloatArray, heaviest: FloatArray) -> FloatArray:
    """Divide mass by a power of two near the mass of the heaviest row, so that sums neither
    overflow nor underflow.
    """
    return np.ldexp(mass, -np.frexp(heaviest)[1])


# ---- a few rows


def squared_distances_between(points: Any) -> FloatArray:
    """Return the squared Euclidean distances between a few rows."""
    return container_of(points).square_few(points)


def manhattan_distances_between(points: Any) -> FloatArray:
    """Return the Manhattan distances between a few rows."""
    return container_of(points).manhattan_few(points)
