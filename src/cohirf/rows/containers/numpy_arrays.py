"""Rows in arrays of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.rows import blocks
from cohirf.rows.arrays import as_array, to_host
from cohirf.rows.blocks import (
    FloatArray,
    IntArray,
    index_dtype,
    is_kept,
    row_blocks,
    table_limit,
)
from cohirf.rows.containers.container import Container, container_of
from cohirf.rows.distances import subtract_offsets
from cohirf.rows.grouping import ROUNDING, first_rows, rows_by_label
from cohirf.rows.members import Members, Vectors, relative_mass
from cohirf.rows.policy import BLOCK
from cohirf.rows.short_points import FEW_POINTS, ShortPoints
from cohirf.rows.storage import is_in_memory
from cohirf.rows.threads import map_blocks, map_in_groups, map_sums, sum_blocks


class NumpyArrays(Container):
    """Arrays of NumPy. What has an entry for each row of a CSR matrix is in one, too."""

    def holds(self, X: Any) -> bool:
        """Return whether ``X`` is an array of NumPy."""
        return isinstance(X, np.ndarray)

    # ---- rows

    def take(self, X: Any, rows: Any) -> Any:
        """Return some rows."""
        return X[rows]

    def take_columns(self, X: Any, columns: IntArray, out: Any = None) -> Any:
        """Return some columns, in ``out`` if given."""
        if out is None:
            out = np.empty((X.shape[0], len(columns)), dtype=X.dtype)
        # with mode="clip", numpy needs no buffer to leave `out` unchanged if an index is out of
        # range
        return np.take(X, columns, axis=1, out=out, mode="clip")

    def append_columns(self, X: Any, columns: list[Any]) -> Any:
        """Return the rows with more columns."""
        return np.column_stack([X, *columns])

    def join(self, blocks: list[Any]) -> Any:
        """Concatenate arrays."""
        return np.concatenate(blocks)

    def leave_out(self, X: Any, left_out: IntArray) -> Any:
        """Return the rows that are not at the given positions."""
        return X[np.flatnonzero(is_kept(X.shape[0], left_out))]

    def put_back(self, kept: Any, others: Any, left_out: IntArray) -> Any:
        """Return a vector with ``others`` at the positions ``left_out``."""
        n_rows = kept.shape[0] + len(left_out)
        vector = np.empty(n_rows, dtype=kept.dtype)
        vector[np.flatnonzero(is_kept(n_rows, left_out))] = kept
        vector[left_out] = others
        return vector

    # ---- from one container to another

    def bring(self, values: Any, X: Any) -> Any:
        """Return an array of any library as one of NumPy."""
        return np.asarray(to_host(values))

    def like(self, X: Any, values: Any) -> Any:
        """Return an array or CSR matrix as an array."""
        return as_array(values)

    def look_up(self, table: Any, index: Any) -> Any:
        """Return the entry of a table at each index."""
        # indices are in range; no check is three times as fast
        if index.ndim != 1 or len(index) <= BLOCK.thread_rows:
            return table.take(index, axis=0, mode="clip")
        found = np.empty((len(index), *table.shape[1:]), dtype=table.dtype)

        def look_up_some(block: slice) -> None:
            table.take(index[block], axis=0, mode="clip", out=found[block])

        map_blocks(look_up_some, len(index))
        return found

    # ---- missing cells

    def find_complete(self, X: Any) -> Any:
        """Return which rows have no NaN."""
        if X.dtype.kind != "f":
            return np.ones(len(X), dtype=bool)
        return ~np.isnan(X).any(axis=1)

    def fill(self, X: Any, column_means: Any) -> Any:
        """Return the rows with means of columns in place of NaN."""
        if not np.isnan(X).any():
            return X
        return np.where(np.isnan(X), column_means, X)

    def locate(self, X: Any, is_wrong: Any) -> tuple[IntArray, IntArray]:
        """Return row and column of each cell for which a function is true."""
        rows, columns = np.nonzero(is_wrong(X))
        return rows, columns

    # ---- values

    def shift(self, X: Any, origin: Any) -> Any:
        """Return the rows minus the origin."""
        return X - origin

    def centre(self, X: Any) -> Any:
        """Return the rows minus their mean, in float64."""
        if len(X) == 0:
            return X
        return X - X.mean(axis=0, dtype=np.float64)

    def to_unit(self, X: Any) -> tuple[Any, Any]:
        """Return the rows with length 1, and which of them are all zeros, and stay."""
        X = np.asarray(X, dtype=np.float64)
        # squares do not overflow
        X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        lengths = np.linalg.norm(X, axis=1, keepdims=True)
        return np.divide(X, lengths, out=X, where=lengths > 0), lengths[:, 0] == 0

    def scale(self, X: Any) -> Any:
        """Return the rows minus their mean, over the largest absolute value."""
        points = X.astype(np.float64 if X.dtype == np.float64 else np.float32, copy=False)
        points = points - points.mean(axis=0)
        return points / largest_value(points)

    def standardise(self, X: Any) -> Any:
        """Return the rows minus their mean, scaled before and after."""
        scaled = X.astype(np.float64)
        scaled /= largest_value(scaled)
        scaled -= scaled.mean(axis=0)
        scaled /= largest_value(scaled)
        return scaled

    def round(self, X: Any, n_digits: int) -> Any:
        """Return the columns in units of their largest values, rounded."""
        largest = np.abs(X).max(axis=0)
        return np.round(X / np.where(largest > 0, largest, 1), n_digits)

    def column_moments(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance of each column."""
        return X.mean(axis=0, dtype=np.float64), X.var(axis=0, dtype=np.float64)

    def subtract(self, X: Any, columns: IntArray, means: FloatArray) -> Any:
        """Return the rows with the means subtracted from some columns."""
        origin = np.zeros_like(means)
        origin[columns] = means[columns]
        return X - origin

    def square_lengths(self, X: Any) -> Any:
        """Return the squared length of each row."""
        lengths: FloatArray = (X**2).sum(axis=1)
        return lengths

    def row_dots(self, left: Any, right: Any) -> Any:
        """Return the inner product of each row of ``left`` with that of ``right``."""
        return row_dots(left, right)

    def find_distinct(self, X: Any) -> tuple[IntArray, IntArray]:
        """Return the first of each of the sorted distinct rows, and the number of each row's."""
        if X.size and X.dtype.kind in "fiub" and not np.isnan(X).any():
            return _find_distinct_numbers(X)
        _, first, number = np.unique(X, axis=0, return_index=True, return_inverse=True)
        return first, number.ravel()

    def count_distinct(self, X: Any) -> int:
        """Return the number of distinct rows."""
        return len(self.find_distinct(X)[0]) if len(X) else 0

    def are_equal_columns(self, X: Any) -> bool:
        """Return whether all columns are equal."""
        return bool((X[:, 0] == X.T).all())

    def find_two_valued(self, X: Any) -> Any:
        """Return which columns have no values but their lowest and their highest."""
        return ((X.min(axis=0) == X) | (X.max(axis=0) == X)).all(axis=0)

    def take_filled_columns(self, X: Any, fewest: float) -> tuple[IntArray, Any]:
        """Return all columns: each cell is stored."""
        return np.arange(X.shape[1]), X

    def is_range(self, vector: Any) -> bool:
        """Return whether a vector counts up from 0."""
        return bool(np.array_equal(vector, np.arange(len(vector))))

    def draw_by_chance(self, chances: Any, uniforms: FloatArray) -> Any:
        """Return a row for each number between 0 and 1, with chances in proportion to a vector."""
        last = len(chances) - 1
        relative = chances / (chances.max() or 1)
        parts = relative.astype(np.float64) * BLOCK.chance_unit(len(chances))
        ends = parts.astype(np.int64).cumsum()
        places = ends.searchsorted((float(ends[-1]) * uniforms).astype(np.int64), side="right")
        return np.minimum(places, last)

    # ---- distances

    def find_nearest(
        self, X: Any, points: Any, *, exact: bool, groups: Any, group_of_row: Any
    ) -> Any:
        """Return the number of the point nearest to each row.

        What products of float32 leave undecided is compared exactly.
        """
        points = as_array(points)
        search = ShortPoints.of(points, np.arange(len(points), dtype=np.int32))
        found = np.empty(X.shape[0], dtype=np.int32)

        def find_in(block: slice) -> None:
            found[block], undecided = search.label(X[block])
            undecided += block.start
            for some in row_blocks(len(undecided), BLOCK.product_cells // len(points) + 1):
                found[undecided[some]] = search.compare_exactly(X[undecided[some]])

        map_blocks(find_in, len(found), BLOCK.compared_rows)
        return found

    def label_by_cells(self, X: Any, cells: Any) -> Any:
        """Return the label of the nearest point, which most rows find without a comparison with
        all.
        """
        return cells.search.label(X)

    def label_by_nested_cells(self, X: Any, cells: Any) -> Any:
        """Return the number of the point of each row, found among those of its centre."""
        return cells.label_in_parts(X)

    def measure(self, X: Any, points: Any) -> Any:
        """Return the distance of each row to each point."""
        if points.shape[0] == 0:
            return np.empty((X.shape[0], 0), dtype=X.dtype)
        distances = euclidean_distances(*subtract_offsets(X, points))
        return distances.astype(np.result_type(X.dtype, points.dtype), copy=False)

    def square_pairs(self, X: Any) -> FloatArray:
        """Return the squared distances of all pairs of rows."""
        return np.asarray(cdist(X, X, "sqeuclidean"))

    def square_few(self, points: Any) -> FloatArray:
        """Return the squared distances between a few rows."""
        shifted = points - points[:1]  # near the origin, the expanded square loses no digits
        # not by scikit-learn, whose checks take longer than a small cluster
        norms = row_dots(shifted, shifted)
        expanded: FloatArray = norms[:, None] + norms - 2 * (shifted @ shifted.T)
        return np.maximum(expanded, 0)

    def nearest_pair(self, X: Any, others: Any) -> tuple[int, int, float]:
        """Return the nearest pair, by bounds that leave few distances to compare."""
        mean = X.mean(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            left = _Squared.of(X - mean)
            right = _Squared.of(others - mean)
            some, near = _within_reach(left, right)
            right = right.take(near)
            found = []
            for block in row_blocks(len(some), BLOCK.paired_cells // len(near) + 1):
                rows, columns = _with_least_squares(left.take(some[block]), right)
                rows = some[block][rows]
                columns = near[columns]
                distances = cdist(X[rows], others[columns])
                row, column = np.unravel_index(distances.argmin(), distances.shape)
                found.append((int(rows[row]), int(columns[column]), float(distances[row, column])))
        return min(found, key=itemgetter(2))

    def manhattan_few(self, points: Any) -> FloatArray:
        """Return the Manhattan distances between a few rows."""
        return np.asarray(cdist(points, points, "cityblock"))

    # ---- labels

    def compress(self, keys: Any, n_keys: int) -> tuple[Any, Any]:
        """Return the sorted distinct keys, and for each key its number among them."""
        if n_keys > table_limit(len(keys)):
            distinct, numbers = np.unique(keys, return_inverse=True)
            return distinct, numbers.astype(index_dtype(len(keys)), copy=False)
        seen = np.zeros(n_keys, dtype=bool)

        def see(block: slice) -> None:
            seen[keys[block].astype(np.intp, copy=False)] = True  # other integers are slow here

        # few keys are often all among the first rows
        see(slice(0, blocks.BLOCK_ROWS))
        if not seen.all():
            map_blocks(see, len(keys))
        distinct = np.flatnonzero(seen)
        if len(distinct) == n_keys:
            return distinct, keys.astype(index_dtype(len(keys)), copy=False)
        number_of_key = np.empty(n_keys, dtype=index_dtype(len(keys)))
        number_of_key[distinct] = np.arange(len(distinct), dtype=number_of_key.dtype)
        return distinct, self.look_up(number_of_key, keys)

    def pair_keys(self, left: Any, n_left: int, right: Any, n_right: int) -> Any:
        """Encode each pair (left, right) as one integer."""
        # labels of a base method can be wider than the keys need to be
        keys: IntArray = np.empty(len(left), dtype=index_dtype(n_left * n_right))

        def pair_some(block: slice) -> None:
            some = keys[block]
            np.multiply(left[block], n_right, out=some, dtype=keys.dtype, casting="unsafe")
            some += right[block].astype(keys.dtype, copy=False)

        map_blocks(pair_some, len(keys))
        return keys

    def first_rows(self, labels: Any, n_labels: int) -> Any:
        """Return the first row with each label."""
        dtype = index_dtype(len(labels))

        def find_in(block: slice) -> IntArray:
            # if an index repeats, numpy keeps the last assignment; in reversed order, that is the
            # first row
            first = np.full(n_labels, -1, dtype=dtype)
            first[labels[block][::-1]] = np.arange(block.stop - 1, block.start - 1, -1, dtype=dtype)
            return first

        # few labels are often all among the first rows
        first = find_in(slice(0, min(blocks.BLOCK_ROWS, len(labels))))
        if len(labels) > blocks.BLOCK_ROWS and (first < 0).any():
            for of_block in map_sums(find_in, len(labels), 8 * n_labels):
                np.copyto(first, of_block, where=first < 0)
        return first

    def count(self, labels: Any, n_labels: int) -> Any:
        """Return the number of rows with each label."""
        return _count(labels, 0, n_labels)

    def count_with_noise(self, labels: Any, n_labels: int) -> NDArray[np.int64]:
        """Return the number of rows with the label -1, and then with each other label."""
        return _count(labels, -1, n_labels)

    def sum(self, labels: Any, values: Any, n_labels: int) -> Any:
        """Return the sum of ``values`` for each label."""
        sums = np.bincount(labels, weights=values, minlength=n_labels)
        return sums.astype(np.float64, copy=False)

    def best(self, scores: Any, labels: Any, n_labels: int, tie: float) -> IntArray:
        """Return the first row of each label whose score is near the highest."""

        def find_highest(block: slice) -> FloatArray:
            highest = np.full(n_labels, -np.inf)
            np.fmax.at(highest, labels[block], scores[block])
            return highest

        threshold: FloatArray = (
            reduce(np.fmax, map_sums(find_highest, len(labels), 8 * n_labels)) - tie
        )

        def find_best(block: slice) -> IntArray:
            found: IntArray = np.flatnonzero(scores[block] >= threshold[labels[block]])
            found += block.start
            return found

        found: IntArray = first_rows(labels, n_labels)
        # if an index repeats, the last assignment stays
        best = np.concatenate(map_sums(find_best, len(labels)))[::-1]
        found[labels[best]] = best
        return found

    def number_apart(self, labels: Any, is_apart: NDArray[np.bool_], codes: Any, first: int) -> Any:
        """Give each row whose code ``is_apart`` a label of its own, from ``first`` on."""
        apart = np.flatnonzero(is_apart.take(codes, mode="clip"))  # indices of 32 bits are slow
        labels[apart] = np.arange(first, first + len(apart))
        return labels

    def sort(self, labels: Any, n_labels: int) -> tuple[IntArray, Any]:
        """Return where the rows of each label start in the order of labels, and this order."""
        n = len(labels)
        one_hot = sparse.csc_array(
            (np.ones(n, dtype=np.int8), labels, np.arange(n + 1, dtype=index_dtype(n + 1))),
            shape=(n_labels, n),
        ).tocsr()
        return one_hot.indptr, one_hot.indices

    def scale_mass(self, mass: Any, labels: Any, n_labels: int) -> Any:
        """Return the mass of each row relative to the largest of its label."""
        heaviest = np.zeros(n_labels)
        np.maximum.at(heaviest, labels, mass)
        return relative_mass(mass, heaviest[labels])

    def find_ranked(self, labels: Any, group: IntArray, ranks: IntArray, n_groups: int) -> IntArray:
        """Return the row with each rank among those of a group, block by block."""
        found = np.empty(len(ranks), dtype=np.int64)
        n_before = np.zeros(n_groups, dtype=np.int64)

        def sort_some(block: slice) -> tuple[slice, IntArray, IntArray]:
            of_block = np.asarray(labels[block])
            return block, *rows_by_label(np.where(of_block < 0, n_groups - 1, of_block), n_groups)

        in_blocks = row_blocks(len(labels), max(blocks.BLOCK_ROWS, n_groups))
        for block, starts, rows in map_in_groups(sort_some, in_blocks):
            place = ranks - n_before[group]
            n_before += np.diff(starts)
            here = np.flatnonzero((place >= 0) & (ranks < n_before[group]))
            found[here] = block.start + rows[starts[group[here]] + place[here]]
        return found

    # ---- clusters

    def members(self, X: Any, labels: Any, n_clusters: int, mass: Any) -> Members:
        """Return rows with their clusters."""
        return ArrayMembers(X, labels, n_clusters, mass)

    def measure_own(self, X: Any, means: Any, labels: Any) -> Any:
        """Return the squared distance of each row to the mean of its label."""
        difference = X - means[labels]
        return self.square_lengths(difference)

    def find_near(self, means: Any) -> Callable[[Any, IntArray], Any]:
        """Return a function that returns all rows: to compare them takes no longer than to look."""
        return lambda points, own: slice(None)

    def find_exemplars(self, rows: Any, labels: Any, means: Any) -> IntArray:
        """Return the row of each label that is nearest to its mean, from blocks of rows."""
        n_labels = means.shape[0]
        find_near = container_of(means).find_near(means)
        row_cells = container_of(means).stored(means).size // max(1, n_labels)
        most_rows = max(1, n_labels, BLOCK.exemplar_cells // max(1, row_cells))

        def measure(block: slice) -> tuple[IntArray, FloatArray]:
            clustered = block.start + np.flatnonzero(labels[block] >= 0)
            points = rows.take(clustered)
            near = find_near(points, labels[clustered])
            clustered = clustered[near]
            points = points[near]
            own = labels[clustered]
            distances = np.empty(len(own))
            for some in row_blocks(len(own), most_rows):
                difference = points[some] - means[own[some]]
                distances[some] = container_of(difference).row_dots(difference, difference)
            shortest = np.full(n_labels, np.inf)
            np.minimum.at(shortest, own, distances)
            found = np.full(n_labels, -1)
            # of several, the first row is written last
            best = np.flatnonzero(distances == shortest[own])[::-1]
            found[own[best]] = clustered[best]
            return found, shortest

        if container_of(means).is_dense:
            block_rows = most_rows
        else:  # of which few are near
            block_rows = max(most_rows, BLOCK.bounded_rows)
        parts = row_blocks(rows.n_rows, block_rows)
        if is_in_memory(rows):
            measured = map_in_groups(measure, parts)
        else:
            measured = map(measure, parts)
        exemplars = np.full(n_labels, -1)
        nearest = np.full(n_labels, np.inf)
        for found, distances in measured:
            is_nearer = distances < nearest  # than all rows of the blocks before
            exemplars[is_nearer] = found[is_nearer]
            nearest[is_nearer] = distances[is_nearer]
        return exemplars

    def move_centres(self, X: Any, mass: Any, centres: FloatArray, n_passes: int) -> FloatArray:
        """Return the centres after passes of K-Means."""
        if len(centres) <= FEW_POINTS:
            return np.asarray(_run_k_means(X, mass, centres, n_passes).cluster_centers_)
        return self._move_many_centres(X, mass, centres, n_passes)

    def label_by_some(
        self, X: Any, some: Any, mass: Any, centres: FloatArray, n_passes: int
    ) -> Any:
        """Return the nearest centre of each row after passes of K-Means over some of the rows.

        With few centres, scikit-learn's is faster: rows need not be converted to float32.
        """
        if len(centres) > FEW_POINTS:
            return super().label_by_some(X, some, mass, centres, n_passes)
        method = _run_k_means(some, mass, centres, n_passes)
        if some is X:
            return method.labels_

        def predict(block: slice) -> Any:
            # a fit has looked at all rows
            with config_context(assume_finite=True, skip_parameter_validation=True):
                return method.predict(X[block])

        # scikit-learn compares 256 rows at a time, which divide blocks: the labels are those of
        # all rows at once, to the last digit
        return np.concatenate(map_blocks(predict, X.shape[0], BLOCK.predicted_rows))

    def _move_many_centres(
        self, X: Any, mass: Any, centres: FloatArray, n_passes: int
    ) -> FloatArray:
        """Return the centres after passes of K-Means; those without mass stay."""
        moved: FloatArray = as_array(centres).astype(np.float64)
        labels: Any = None
        for _ in range(n_passes):
            before = labels
            labels = self.find_nearest(X, moved, exact=False, groups=None, group_of_row=None)
            if before is not None and (labels == before).all():
                break
            members = self.members(X, labels, len(moved), mass)
            with np.errstate(invalid="ignore"):
                means = members.means(mass)
            np.copyto(moved, means, where=members.cluster_mass()[:, None] > 0)
        return moved


def _run_k_means(X: Any, mass: Any, centres: FloatArray, n_passes: int) -> KMeans:
    method = KMeans(len(centres), init=centres, n_init=1, max_iter=n_passes)
    return method.fit(X, sample_weight=mass)


def _count(labels: Any, lowest: int, n_labels: int) -> NDArray[np.int64]:
    """Return the number of rows with each label from ``lowest`` on.

    The counts of all blocks take at most an eighth of the memory of labels of 64 bits.
    """

    def count_some(block: slice) -> NDArray[np.int64]:
        counts = np.zeros(n_labels - lowest, dtype=np.int64)
        # labels are converted, so blocks are small, but not so small that it takes longer to add up
        for rows in row_blocks(block.stop - block.start, max(blocks.BLOCK_ROWS, n_labels)):
            counts += np.bincount(labels[block][rows] - lowest, minlength=len(counts))
        return counts

    counts: NDArray[np.int64] = sum_blocks(count_some, len(labels), 8 * n_labels)
    return counts


class ArrayMembers(Members):
    """Rows of an array of NumPy."""

    def vectors(self, means: Any) -> Vectors:
        """Return vectors of clusters, to compare rows with."""
        return ArrayVectors(means)

    def means(self, weights: Any) -> Any:
        """Return the weighted sum of each cluster's rows over its mass, as an array."""
        shape = (self.n_clusters, self.X.shape[1])

        # each block adds to the sums of all clusters, so it has more rows than there are clusters
        n_cells = max(16 * BLOCK.cached_cells, 2 * shape[0] * shape[1])

        def sum_some(rows: slice) -> FloatArray:
            sums = np.zeros(shape)
            for block, points in self._blocks(n_cells, rows):
                n = points.shape[0]
                pointers = np.arange(n + 1, dtype=index_dtype(n + 1))
                of_block = np.ones(n) if weights is None else weights[block]
                parts = (of_block, self.labels[block], pointers)
                sums += sparse.csc_array(parts, shape=(self.n_clusters, n)) @ points
            return sums

        # the sums of all blocks take at most a 16th of the memory of rows in float64
        sums = sum_blocks(sum_some, len(self.labels), fewest_rows=16 * self.n_clusters)
        return np.divide(sums, self.cluster_mass()[:, None], out=sums)


@dataclass(frozen=True)
class ArrayVectors(Vectors):
    """The rows of an array of NumPy."""

    vectors: Any

    def dots(self, points: Any, labels: Any) -> Any:
        """Return the inner product of each row with the vector of its cluster."""
        own = np.take(self.vectors, labels, axis=0, mode="clip")  # labels are in range
        return row_dots(points, own)

    def squared_distances(self, points: Any, labels: Any) -> Any:
        """Return the squared distance of each row to the vector of its cluster."""
        difference = points - self.vectors[labels]
        return row_dots(difference, difference)


@dataclass(frozen=True)
class _Squared:
    """Rows and the squares of their lengths."""

    rows: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, rows: FloatArray) -> _Squared:
        return cls(rows, row_dots(rows, rows))

    def take(self, some: IntArray) -> _Squared:
        return _Squared(self.rows[some], self.squares[some])


def _within_reach(left: _Squared, right: _Squared) -> tuple[IntArray, IntArray]:
    """Return which rows of both can be the nearest pair, by their distances to the origin, where
    the mean of the left ones is (triangle inequality).

    What overflows rules nothing out.
    """
    radii = np.sqrt(left.squares)
    away = np.sqrt(right.squares)
    to_first = left.rows - right.rows[away.argmin()]
    nearest = np.sqrt(row_dots(to_first, to_first).min())
    nearest += ROUNDING * (nearest + away.min())  # lengths are rounded, too
    return (
        np.flatnonzero(~(radii + nearest < away.min())),
        np.flatnonzero(~(away - nearest > radii.max())),
    )


def _with_least_squares(left: _Squared, right: _Squared) -> tuple[IntArray, IntArray]:
    """Return which rows of both can be the nearest pair, by expanded squares, which lose digits.

    What overflows rules nothing out.
    """
    squares = (-2 * left.rows) @ right.rows.T
    squares += right.squares
    squares += left.squares[:, None]
    row, column = np.unravel_index(squares.argmin(), squares.shape)
    lost = ROUNDING * (left.squares.max() + right.squares[column])
    is_near = ~(squares > squares[row, column] + lost)
    return np.flatnonzero(is_near.any(axis=1)), np.flatnonzero(is_near.any(axis=0))


def largest_value(values: FloatArray) -> float:
    """Return the largest absolute value, or 1 if it is 0."""
    return float(np.abs(values).max(initial=0)) or 1.0


def row_dots(left: Any, right: Any) -> FloatArray:
    """Return the inner product of each row of ``left`` with that of ``right``, in float64."""
    dots: FloatArray = np.einsum("...j,...j->...", left, right, dtype=np.float64)
    return dots


def _find_distinct_numbers(X: Any) -> tuple[IntArray, IntArray]:
    """Return what ``np.unique`` returns along the first axis.

    Rows are sorted by one column after another, and by further columns only where they are tied,
    which few are. ``np.unique`` compares whole rows.
    """
    order = np.argsort(X[:, 0], kind="stable")
    is_first = np.ones(len(X), dtype=bool)  # of its group of rows that are equal so far
    is_first[1:] = X[order[1:], 0] != X[order[:-1], 0]
    for column in X.T[1:]:
        is_tied = ~is_first
        is_tied[:-1] |= is_tied[1:]
        places = np.flatnonzero(is_tied)
        if not len(places):
            break
        group = np.cumsum(is_first)[places]
        rows = order[places]
        by_column = np.lexsort((column[rows], group))
        order[places] = rows = rows[by_column]
        values = column[rows]
        is_first[places[1:]] = (group[1:] != group[:-1]) | (values[1:] != values[:-1])
    number = np.empty(len(X), dtype=np.intp)
    number[order] = np.cumsum(is_first) - 1
    return order[is_first], number
