"""Rows in CSR matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin, pairwise_distances_argmin_min
from sklearn.metrics.pairwise import euclidean_distances, manhattan_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms
from sklearn.utils.sparsefuncs import mean_variance_axis

from cohirf.rows.blocks import FloatArray, IntArray, row_blocks
from cohirf.rows.containers.container import Container
from cohirf.rows.containers.numpy_arrays import NumpyArrays, largest_value
from cohirf.rows.containers.sparse_products import Columns
from cohirf.rows.grouping import best_by_label, count_by_label, sum_by_label
from cohirf.rows.members import Members, Vectors
from cohirf.rows.policy import BLOCK, DIGIT
from cohirf.rows.threads import map_blocks


class CsrMatrices(NumpyArrays):
    """CSR matrices; what belongs to their rows is in arrays of NumPy."""

    is_dense: ClassVar[bool] = False

    def holds(self, X: Any) -> bool:
        """Return whether ``X`` is a sparse matrix: users' data become CSR matrices."""
        return bool(sparse.issparse(X))

    # ---- rows

    def take(self, X: Any, rows: Any) -> Any:
        """Return some rows, with indices of 32 bits if they suffice; all without a copy."""
        if isinstance(rows, slice) and rows == slice(0, X.shape[0]):
            return self.narrow(X)
        return self.narrow(X[rows])

    def take_columns(self, X: Any, columns: IntArray, out: Any = None) -> Any:
        """Return some columns."""
        return X[:, columns]

    def append_columns(self, X: Any, columns: list[Any]) -> Any:
        """Return the rows with more columns."""
        more = [sparse.csr_array(column[:, None]) for column in columns]
        return sparse.hstack([X, *more], format="csr")

    def join(self, blocks: list[Any]) -> Any:
        """Concatenate CSR matrices."""
        return sparse.vstack(blocks, format="csr")

    # ---- from one container to another

    def like(self, X: Any, values: Any) -> Any:
        """Return an array or CSR matrix as a CSR matrix of the same class."""
        if type(values) is type(X):
            return values
        return type(X)(values)

    def dense(self, X: Any) -> Any:
        """Return the rows as an array."""
        return X.toarray()

    def stored(self, X: Any) -> Any:
        """Return the cells that are stored, as a vector."""
        return X.data

    def narrow(self, X: Any) -> Any:
        """Return the rows with indices of 32 bits if they suffice, as most base methods require."""
        if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) >= 2**31:
            return X
        parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
        return type(X)(parts, shape=X.shape)

    # ---- missing cells, which CSR matrices do not have

    def find_complete(self, X: Any) -> Any:
        """Return that all rows are complete."""
        return np.ones(X.shape[0], dtype=bool)

    def fill(self, X: Any, column_means: Any) -> Any:
        """Return the rows as they are."""
        return X

    def locate(self, X: Any, is_wrong: Any) -> tuple[IntArray, IntArray]:
        """Return row and column of each stored cell for which a function is true."""
        cells = X.tocoo()
        wrong = is_wrong(cells.data)
        return cells.row[wrong], cells.col[wrong]

    # ---- values

    def shift(self, X: Any, origin: Any) -> Any:
        """Return the rows where they are, in float64: shifted, they would not be sparse."""
        return X.astype(np.float64)

    def centre(self, X: Any) -> Any:
        """Return the rows as they are."""
        return X

    def to_unit(self, X: Any) -> tuple[Any, Any]:
        """Return the rows with length 1, and which of them are all zeros, and stay."""
        units = normalize(X)
        return units, units.count_nonzero(axis=1) == 0

    def scale(self, X: Any) -> Any:
        """Return the rows over the largest absolute value, in float64."""
        points = X.astype(np.float64)
        return points / largest_value(points.data)

    def standardise(self, X: Any) -> Any:
        """Return the rows minus the means of the columns that are stored in every row."""
        scaled = X.astype(np.float64)
        scaled.data /= largest_value(scaled.data)
        sums = np.asarray(scaled.sum(axis=0)).ravel()
        is_full = np.bincount(scaled.indices, minlength=X.shape[1]) == X.shape[0]
        scaled.data -= np.where(is_full, sums / X.shape[0], 0)[scaled.indices]
        scaled.data /= largest_value(scaled.data)
        return scaled

    def round(self, X: Any, n_digits: int) -> Any:
        """Return the cells in units of the largest one, rounded."""
        scaled = X.copy()
        if scaled.nnz:
            scaled.data = np.round(scaled.data / abs(scaled).max(), n_digits)
        return scaled

    def column_moments(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance of each column."""
        means, variances = mean_variance_axis(X, axis=0)
        return means.astype(np.float64), variances.astype(np.float64)

    def count_distinct(self, X: Any) -> int:
        """Return the number of rows: those of a sparse matrix are not compared."""
        return int(X.shape[0])

    def subtract(self, X: Any, columns: IntArray, means: FloatArray) -> Any:
        """Return the rows with the means subtracted from some columns, which become the last."""
        others = np.delete(np.arange(X.shape[1]), columns)
        shifted = X[:, columns].toarray() - means[columns]
        return sparse.hstack([X[:, others], shifted], format="csr")

    def count_cells(self, X: Any) -> Any:
        """Return how many cells each row stores, in the type of the rows."""
        return np.diff(X.indptr).astype(X.dtype)

    def square_lengths(self, X: Any) -> Any:
        """Return the squared length of each row."""
        return sparse_dots(X, X)

    def row_dots(self, left: Any, right: Any) -> Any:
        """Return the inner product of each row of ``left`` with that of ``right``."""
        return sparse_dots(left, right)

    def multiply_by_rows(self, X: Any, rows: Any) -> Any:
        """Return the inner product of each row with each of some rows, as an array.

        A matrix of one row takes longer to make than the products.
        """
        if len(rows) > 1:
            return (X @ X[rows].T).toarray()
        column = np.zeros(X.shape[1], dtype=X.dtype)
        cells = slice(X.indptr[rows[0]], X.indptr[rows[0] + 1])
        np.add.at(column, X.indices[cells], X.data[cells])
        return (X @ column)[:, None]

    def find_two_valued(self, X: Any) -> Any:
        """Return no column: those of a sparse matrix are not compared."""
        return np.zeros(X.shape[1], dtype=bool)

    def take_filled_columns(self, X: Any, fewest: float) -> tuple[IntArray, Any]:
        """Return the columns with at least ``fewest`` stored cells."""
        columns = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) >= fewest)
        return columns, X[:, columns]

    def merge_repeated(self, X: Any) -> Any:
        """Return the rows with each cell stored once; a copy if some are stored several times."""
        if X.has_canonical_format:
            return X
        X = X.copy()
        X.sum_duplicates()
        return X

    def find_distinct(self, X: Any) -> tuple[IntArray, IntArray]:
        """Return the first of each of the distinct rows, and the number of each row's.

        They are sorted by where their cells are, and then by these.
        """
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        parts = [slice(start, end) for start, end in pairwise(X.indptr.tolist())]
        keys = [(X.indices[part].tobytes(), X.data[part].tobytes()) for part in parts]
        number_of = {key: number for number, key in enumerate(sorted(set(keys)))}
        return super().find_distinct(np.array([[number_of[key]] for key in keys]))

    def sum_taken(self, table: Any, indices: list[Any]) -> Any:
        """Return the sum of the rows of a table at several indices, as an array."""
        cells = np.stack(indices, axis=1)
        starts = np.arange(0, cells.size + 1, len(indices))
        one_hot = sparse.csr_array(
            (np.ones(cells.size), cells.ravel(), starts), (len(cells), table.shape[0])
        )
        return (one_hot @ table).toarray()

    # ---- distances

    def square_pairs(self, X: Any) -> FloatArray:
        """Return the squared distances of all pairs of rows."""
        X = X.astype(np.float64, copy=False)
        lengths = row_norms(X, squared=True)
        squares = -2 * (X @ X.T).toarray()
        squares += lengths[:, None]
        squares += lengths
        np.maximum(squares, 0, out=squares)
        np.fill_diagonal(squares, 0)
        # rounding can make them asymmetric
        return np.asarray(np.minimum(squares, squares.T))

    def square_few(self, points: Any) -> FloatArray:
        """Return the squared distances between a few rows."""
        if points.shape[0] <= DIGIT.dense_candidates:
            return super().square_few(_without_empty_columns(points))
        return np.asarray(euclidean_distances(points, squared=True))

    def manhattan_few(self, points: Any) -> FloatArray:
        """Return the Manhattan distances between a few rows."""
        if points.shape[0] <= DIGIT.dense_candidates:
            return super().manhattan_few(_without_empty_columns(points))
        return np.asarray(manhattan_distances(points))

    def nearest_pair(self, X: Any, others: Any) -> tuple[int, int, float]:
        """Return the nearest pair, without a matrix of all distances."""
        nearest, distance = pairwise_distances_argmin_min(X, others)
        row = int(distance.argmin())
        return row, int(nearest[row]), float(distance[row])

    def find_nearest(
        self, X: Any, points: Any, *, exact: bool, groups: Any, group_of_row: Any
    ) -> Any:
        """Return the number of the point nearest to each row."""
        if exact:
            return pairwise_distances_argmin(X, points)
        return _find_nearest_by_products(X, points)

    # ---- clusters

    def move_centres(self, X: Any, mass: Any, centres: Any, n_passes: int) -> Any:
        """Return the centres after passes of K-Means, a CSR matrix; those without mass stay.

        Products of sparse rows with all centres at once take a fifth of the time of scikit-learn's
        K-Means, which compares a row with one centre after the other.
        """
        moved = sparse.csr_array(centres).astype(np.float64)
        n_centres = moved.shape[0]
        labels: Any = None
        for _ in range(n_passes):
            before = labels
            labels = _find_nearest_by_products(X, moved)
            if before is not None and (labels == before).all():
                break
            members = self.members(X, labels, n_centres, mass)
            with np.errstate(divide="ignore", invalid="ignore"):
                means = members.means(mass)
            number = np.arange(n_centres)
            number[members.cluster_mass() > 0] += n_centres
            moved = sparse.vstack([moved, means], format="csr")[number]
        return moved

    def label_by_some(
        self, X: Any, some: Any, mass: Any, centres: FloatArray, n_passes: int
    ) -> Any:
        """Return the labels that K-Means by products of some rows gives to all."""
        return Container.label_by_some(self, X, some, mass, centres, n_passes)

    def measure_own(self, X: Any, means: Any, labels: IntArray) -> FloatArray:
        """Return the squared distance of each row to the mean of its label.

        The expanded square tells which rows are not the nearest of their label; only those that may
        be are subtracted from the mean, which has the cells of many rows.
        """
        points = X.astype(np.float64, copy=False)
        vectors = SparseVectors.of(means.astype(np.float64, copy=False))
        squares, error = _bound_own(points, vectors, labels)
        near = _find_near(squares, error, labels, means.shape[0])
        mean_cells = means.nnz // max(1, means.shape[0])
        for block in row_blocks(len(near), BLOCK.exemplar_cells // (mean_cells + 1) + 1):
            some = near[block]
            difference = X[some] - means[labels[some]]
            squares[some] = sparse_dots(difference, difference)
        return squares

    def find_near(self, means: Any) -> Callable[[Any, IntArray], Any]:
        """Return a function that excludes rows by expanded squares.

        The difference of a row and a mean has many cells, because a mean has those of all its rows.
        """
        vectors = SparseVectors.of(means)

        def find(points: Any, own: IntArray) -> IntArray:
            points = points.astype(np.float64, copy=False)
            squares, error = _bound_own(points, vectors, own)
            return _find_near(squares, error, own, means.shape[0])

        return find

    def members(self, X: Any, labels: Any, n_clusters: int, mass: Any) -> Members:
        """Return rows with their clusters."""
        return CsrMembers(X, labels, n_clusters, mass)


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
        means = one_hot.T.tocsr() @ self.X.astype(np.float64, copy=False)
        means.data *= np.repeat(1 / self.cluster_mass(), np.diff(means.indptr))
        return means

    def vectors(self, means: Any) -> Vectors:
        """Return vectors of clusters, to compare rows with."""
        return SparseVectors.of(means)

    @staticmethod
    def row_dots(left: Any, right: Any) -> Any:
        """Return the inner product of each row of ``left`` with that of ``right``."""
        return sparse_dots(left, right)

    def squared_distances_to_means(self) -> Any:
        """Return the squared distance of each row to the mean of its cluster.

        Tight clusters far from the origin are shifted there first, so that no digits are lost.
        """
        means = SparseVectors.of(self.means(self.mass))
        squares = self._measure(means)
        is_tight = means.squared_norms > DIGIT.tight * self.mean_by_cluster(squares)
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
        return cls(keys, np.append(vectors.data, 0.0), sparse_dots(vectors, vectors), n_features)

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
            sparse_dots(points, points) - 2 * self.dots(points, labels) + self.squared_norms[labels]
        )
        return squares


def sparse_dots(left: Any, right: Any) -> FloatArray:
    """Return the inner product of each row of ``left`` with that of ``right``."""
    return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()


def _bound_own(points: Any, vectors: SparseVectors, own: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the squared distance of each row to the vector of its label, from the expanded
    square, and its largest error.
    """
    lengths = sparse_dots(points, points)
    squared_norms = vectors.squared_norms[own]
    squares = lengths - 2 * vectors.dots(points, own) + squared_norms
    # each of the sums has at most as many terms as there are features
    n_terms = points.shape[1] + 32
    error: FloatArray = 4 * n_terms * np.finfo(np.float64).eps * (lengths + squared_norms)
    return squares, error


def _find_near(squares: FloatArray, error: FloatArray, labels: IntArray, n_labels: int) -> IntArray:
    """Return the rows that may be the nearest of their label."""
    highest = np.full(n_labels, np.inf)
    np.minimum.at(highest, labels, squares + error)
    return np.flatnonzero(~(squares - error > highest[labels]))


def _without_empty_columns(points: Any) -> FloatArray:
    """Return a few rows as an array of the columns that they have cells in."""
    columns, place = np.unique(points.indices, return_inverse=True)
    dense = np.zeros((points.shape[0], len(columns)))
    rows = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
    np.add.at(dense, (rows, place), points.data)
    return dense


def _find_nearest_by_products(X: Any, points: Any) -> IntArray:
    """Return the number of the point nearest to each row, up to rounding.

    Products are in float32, unless a column is far from zero: they would lose their digits.
    """
    points = sparse.csr_array(points)
    means, variances = mean_variance_axis(points, axis=0)
    is_far = bool((means**2 > DIGIT.far_from_zero * variances).any())
    dtype = np.float64 if is_far else np.float32
    # squares neither overflow nor vanish
    largest = max(largest_value(X.data), largest_value(points.data))
    columns = Columns.of(_scale(points, largest, dtype), BLOCK.centre_cells)
    half_squares = columns.square_lengths() / 2

    def find(block: slice) -> IntArray:
        closeness = columns.products(_scale(X[block], largest, dtype))
        closeness -= half_squares
        nearest: IntArray = closeness.argmax(axis=1)
        return nearest

    block_rows = max(1, BLOCK.product_cells // points.shape[0])
    return np.concatenate(map_blocks(find, X.shape[0], block_rows))


def _scale(X: Any, largest: float, dtype: Any) -> Any:
    """Return rows over a value, in another type; where their cells are is not copied."""
    parts = ((X.data / largest).astype(dtype, copy=False), X.indices, X.indptr)
    return type(X)(parts, shape=X.shape)
