"""Rows in arrays of torch, CuPy and other libraries, on the device of the user's data.

Results are the same from run to run: floats are added up as integers where a device would add them
in any order. ``scatter.py`` has what each library does in its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.arrays import (
    in_blocks,
    is_here,
    is_on_device,
    is_torch,
    join_rows,
    look_up,
    namespace,
    put_beside,
    to_host,
)
from cohirf.rows.blocks import FloatArray, IntArray, index_dtype, table_limit
from cohirf.rows.containers import scatter
from cohirf.rows.containers.container import Container
from cohirf.rows.distances import find_nearest
from cohirf.rows.grouping import (
    best_by_label,
    compress,
    count_by_label,
    device_dtype,
    rows_by_label,
    sum_rows_by_label,
)
from cohirf.rows.members import Members, Vectors, relative_mass, squared_distances_to
from cohirf.rows.policy import BLOCK


class DeviceArrays(Container):
    """Arrays of libraries other than NumPy."""

    def holds(self, X: Any) -> bool:
        """Return True: this container is asked after those of this process."""
        return True

    # ---- rows

    def take(self, X: Any, rows: Any) -> Any:
        """Return some rows, given by a slice, or an array of NumPy or beside ``X``."""
        if isinstance(rows, slice):
            return X[rows, ...]
        numbers = put_beside(rows.astype(np.int64) if is_here(rows) else rows, X)
        return namespace(X).take(X, numbers, axis=0)

    def take_columns(self, X: Any, columns: IntArray, out: Any = None) -> Any:
        """Return some columns."""
        return namespace(X).take(X, put_beside(columns, X), axis=1)

    def join(self, blocks: list[Any]) -> Any:
        """Concatenate arrays."""
        return namespace(blocks[0]).concat(blocks)

    def leave_out(self, X: Any, left_out: IntArray) -> Any:
        """Return the rows that are not at the given positions."""
        xp = namespace(X)
        return xp.take(X, xp.nonzero(~_is_left_out(X.shape[0], left_out, X))[0], axis=0)

    def put_back(self, kept: Any, others: Any, left_out: IntArray) -> Any:
        """Return a vector with ``others`` at the positions ``left_out``."""
        xp = namespace(kept)
        n_kept = kept.shape[0]
        n_rows = n_kept + len(left_out)
        is_left_out = _is_left_out(n_rows, left_out, kept)
        n_before = xp.cumulative_sum(xp.astype(is_left_out, xp.int64))
        position = xp.arange(n_rows, dtype=xp.int64, device=kept.device)
        index = xp.where(is_left_out, n_kept - 1 + n_before, position - n_before)
        both = join_rows([kept, xp.astype(put_beside(others, kept), kept.dtype)])
        return xp.take(both, index)

    # ---- from one container to another

    def bring(self, values: Any, X: Any) -> Any:
        """Return values of any kind beside ``X``; those on a device stay there."""
        if is_on_device(values):
            return values
        return put_beside(np.asarray(to_host(values)), X)

    def look_up(self, table: Any, index: Any) -> Any:
        """Return the entry of a table at each index, where the indices are."""
        return namespace(index).take(put_beside(table, index), index, axis=0)

    def cells_at_once(self, n_cells: int) -> int:
        """Return how many cells to compute at once: many, because each call takes long."""
        return BLOCK.device_cells

    # ---- missing cells, which arrays on a device do not have

    def find_complete(self, X: Any) -> Any:
        """Return that all rows are complete."""
        return np.ones(X.shape[0], dtype=bool)

    # ---- values

    def scale(self, X: Any) -> Any:
        """Return the rows minus their mean, over the largest absolute value."""
        xp = namespace(X)
        points = xp.astype(X, xp.float64 if X.dtype == xp.float64 else xp.float32)
        points = points - xp.mean(points, axis=0)
        return points / (float(xp.max(xp.abs(points))) or 1.0)

    def square_lengths(self, X: Any) -> Any:
        """Return the squared length of each row."""
        return namespace(X).sum(X**2, axis=1)

    def say_why_methods_fail(self, name: str) -> str:
        """Return that the rows are on a device."""
        return (
            f"{name} was given rows on a device. If it cannot take these, choose a method that "
            "can, such as cohirf.clusterers.TorchKMeans, or fit rows that are in this process."
        )

    def drawn_at_once(self, n_drawn: int) -> int:
        """Return a sixteenth of those drawn before: a device waits longer for a step than it
        computes.
        """
        return 1 + n_drawn // BLOCK.drawn_per_new

    def find_distinct(self, X: Any) -> tuple[IntArray, IntArray]:
        """Return that all rows are distinct: they are not compared."""
        numbers = np.arange(X.shape[0])
        return numbers, numbers

    def draw_by_chance(self, chances: Any, uniforms: FloatArray) -> Any:
        """Return a row for each number between 0 and 1, without waiting for the device."""
        xp = namespace(chances)
        largest = xp.max(chances)
        relative = chances / xp.where(largest > 0, largest, xp.ones_like(largest))
        unit = BLOCK.chance_unit(chances.shape[0])
        parts = xp.astype(xp.astype(relative, xp.float64) * unit, xp.int64)
        ends = xp.cumulative_sum(parts)
        shares = put_beside(uniforms, chances)
        places = xp.searchsorted(
            ends, xp.astype(xp.astype(ends[-1:], xp.float64) * shares, xp.int64), side="right"
        )
        return xp.minimum(places, xp.full_like(places, chances.shape[0] - 1))

    def find_nearest(
        self, X: Any, points: Any, *, exact: bool, groups: Any, group_of_row: Any
    ) -> Any:
        """Return the number of the point nearest to each row, of its own group if there are groups.

        The squared distance to a point is that to the origin, which does not matter, plus a linear
        function. It is computed in float64 or, unless it is to be ``exact``, in float32; bfloat16
        is multiplied as it is, and added up in float32.
        """
        xp = namespace(X)
        dtype = xp.float64 if exact else xp.float32
        points = np.asarray(to_host(points), dtype=np.float64)
        origin = points.mean(axis=0)  # distances between points near it lose no digits
        is_short = is_torch(X) and X.dtype == xp.bfloat16 and not exact
        weights = xp.astype(put_beside(-2 * (points - origin), X), X.dtype if is_short else dtype)
        rounded = to_host(xp.astype(weights, xp.float64))
        squares = (rounded**2).sum(axis=1) / 4
        if is_short:
            squares = squares - rounded @ origin
        constants = xp.astype(put_beside(squares, X), dtype)
        # offsets are subtracted before digits are cut off
        if X.dtype == xp.float64:
            wide = xp.float64
        else:
            wide = dtype
        shift = xp.astype(put_beside(origin, X), wide)
        found = xp.empty(X.shape[0], dtype=xp.int32, device=X.device)
        if groups is None:
            of_points = None
        else:
            of_points = put_beside(np.asarray(groups, dtype=np.int32), X)

        def multiply(rows: Any) -> Any:
            if is_short:
                return _multiply_short(weights, rows)
            return weights @ xp.astype(xp.astype(rows, wide) - shift, dtype).T

        # A row of distances for each point: a GPU finds the lowest of each column sooner than that
        # of each row.
        def label(block: slice) -> None:
            distances = multiply(X[block, :])
            distances += constants[:, None]
            if of_points is not None:
                is_own = group_of_row[block][None, :] == of_points[:, None]
                distances = xp.where(
                    is_own, distances, xp.asarray(xp.inf, dtype=dtype, device=X.device)
                )
            found[block] = xp.astype(_lowest_of_columns(distances), xp.int32)

        in_blocks(label, X.shape[0], BLOCK.device_distances // max(X.shape[1], len(points)))
        return found

    def label_by_cells(self, X: Any, cells: Any) -> Any:
        """Return the label of the nearest point: rows are compared with all, at once."""
        return look_up(cells.labels, find_nearest(X, cells.points))

    def label_by_nested_cells(self, X: Any, cells: Any) -> Any:
        """Return the number of the point of each row: rows are compared with all, at once."""
        nearest = cells.centres.label(X)
        found = find_nearest(X, cells.points, groups=cells.owner, group_of_row=nearest)
        return look_up(np.arange(len(cells.owner)), found)

    def measure(self, X: Any, points: Any) -> Any:
        """Return distances from differences in float64, which lose no digits."""
        points = to_host(points)
        xp = namespace(X)
        if X.dtype == xp.float64 or points.dtype == np.float64:
            dtype = xp.float64
        else:
            dtype = xp.float32
        measured = xp.empty((X.shape[0], len(points)), dtype=dtype, device=X.device)
        there = put_beside(np.asarray(points, dtype=np.float64), X)

        def measure(block: slice) -> None:
            rows = xp.astype(X[block, :], xp.float64)
            for number in range(len(points)):
                distances = xp.sqrt(xp.sum((rows - there[number, :]) ** 2, axis=1))
                measured[block, number] = xp.astype(distances, dtype)

        in_blocks(measure, X.shape[0], BLOCK.device_distances // X.shape[1])
        return measured

    # ---- labels

    def compress(self, keys: Any, n_keys: int) -> tuple[Any, Any]:
        """Return the sorted distinct keys, and for each key its number among them."""
        xp = namespace(keys)
        n_rows = int(keys.shape[0])
        dtype = device_dtype(keys, n_rows)
        if n_keys > table_limit(n_rows):
            distinct, numbers = xp.unique_inverse(keys)
            return distinct, xp.astype(numbers, dtype)
        is_key = scatter.count_labels(keys, n_keys) > 0
        number_of_key = xp.cumulative_sum(xp.astype(is_key, dtype), dtype=dtype) - 1
        return xp.nonzero(is_key)[0], xp.take(number_of_key, keys)

    def pair_keys(self, left: Any, n_left: int, right: Any, n_right: int) -> Any:
        """Encode each pair (left, right) as one integer."""
        xp = namespace(left)
        dtype = device_dtype(left, n_left * n_right)
        return xp.astype(left, dtype) * n_right + xp.astype(right, dtype)

    def first_rows(self, labels: Any, n_labels: int) -> Any:
        """Return the first row with each label."""
        return scatter.lowest(labels, _row_numbers(labels), n_labels, labels.shape[0])

    def count(self, labels: Any, n_labels: int) -> Any:
        """Return the number of rows with each label."""
        return scatter.count_labels(labels, n_labels)

    def count_with_noise(self, labels: Any, n_labels: int) -> NDArray[np.int64]:
        """Return the number of rows with the label -1, and then with each other label."""
        return count_by_label(labels + 1, n_labels + 1)

    def sum(self, labels: Any, values: Any, n_labels: int) -> Any:
        """Return the sum of ``values`` for each label."""
        return sum_rows_by_label(values[:, None], labels, n_labels)[:, 0]

    def best(self, scores: Any, labels: Any, n_labels: int, tie: float) -> IntArray:
        """Return the first row of each label whose score is near the highest."""
        xp = namespace(scores)
        n_rows = scores.shape[0]
        scores = xp.where(xp.isnan(scores), -xp.inf, scores)
        threshold = scatter.highest(labels, scores, n_labels, -xp.inf) - tie
        rows = xp.where(scores >= xp.take(threshold, labels), _row_numbers(labels), n_rows)
        return np.asarray(
            to_host(scatter.lowest(labels, rows, n_labels, n_rows)), dtype=index_dtype(n_rows)
        )

    def number_apart(self, labels: Any, is_apart: NDArray[np.bool_], codes: Any, first: int) -> Any:
        """Give each row whose code ``is_apart`` a label of its own, from ``first`` on."""
        xp = namespace(labels)
        chosen = look_up(is_apart, codes)
        return xp.where(
            chosen,
            first - 1 + xp.cumulative_sum(xp.astype(chosen, labels.dtype), dtype=labels.dtype),
            labels,
        )

    def sort(self, labels: Any, n_labels: int) -> tuple[IntArray, Any]:
        """Return where the rows of each label start in the order of labels, and this order."""
        starts = np.concatenate([[0], np.cumsum(count_by_label(labels, n_labels))])
        return starts, namespace(labels).argsort(labels, stable=True)

    def scale_mass(self, mass: Any, labels: Any, n_labels: int) -> Any:
        """Return the mass of each row relative to the largest of its label."""
        heaviest = to_host(scatter.highest(labels, mass, n_labels, 0.0))
        return mass * look_up(relative_mass(np.ones(n_labels), heaviest), labels)

    def find_ranked(self, labels: Any, group: IntArray, ranks: IntArray, n_groups: int) -> IntArray:
        """Return the row with each rank among those of a group, sorted as a whole."""
        starts, rows = rows_by_label(labels + 1, n_groups)  # noise comes first
        places = starts[(group + 1) % n_groups] + ranks
        return np.asarray(to_host(self.take(rows, places)), dtype=np.int64)

    # ---- clusters

    def members(self, X: Any, labels: Any, n_clusters: int, mass: Any) -> Members:
        """Return rows with their clusters."""
        return DeviceMembers(X, labels, n_clusters, mass)

    def find_exemplars(self, rows: Any, labels: Any, means: Any) -> IntArray:
        """Return the row of each label that is nearest to its mean; noise is the first label."""
        with_noise = np.concatenate([np.zeros((1, means.shape[1])), means])
        scores = -squared_distances_to(with_noise, rows.X, labels + 1)
        return best_by_label(scores, labels + 1, len(with_noise), tie=0)[1:]

    def move_centres(self, X: Any, mass: Any, centres: FloatArray, n_passes: int) -> FloatArray:
        """Return the centres after passes of K-Means; those of empty clusters are left out."""
        for _ in range(n_passes):
            occupied, label = compress(find_nearest(X, centres, exact=False), centres.shape[0])
            members = self.members(X, label, int(occupied.shape[0]), mass)
            centres = np.asarray(to_host(members.means(mass)))
        return centres


class DeviceMembers(Members):
    """Rows of an array on a device."""

    def map_rows(self, function: Callable[[Any, Any], Any]) -> Any:
        """Apply ``function`` to blocks of rows, in float64, and their labels, where they are."""
        xp = namespace(self.X)
        n_rows = self.X.shape[0]
        found = xp.empty(n_rows, dtype=xp.float64, device=self.X.device)

        def fill(block: slice) -> None:
            found[block] = function(xp.astype(self.X[block, :], xp.float64), self.labels[block])

        in_blocks(fill, n_rows, BLOCK.device_cells // self.X.shape[1])
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


def _row_numbers(labels: Any) -> Any:
    xp = namespace(labels)
    return xp.arange(labels.shape[0], dtype=xp.int64, device=labels.device)


def _is_left_out(n_rows: int, left_out: IntArray, beside: Any) -> Any:
    """Return which positions are left out, on the device of ``beside``."""
    return scatter.count_labels(put_beside(left_out.astype(np.int64), beside), n_rows) > 0


def _lowest_of_columns(distances: Any) -> Any:
    """Return the first row with the lowest value of each column."""
    if is_torch(distances):
        return distances.min(dim=0).indices  # on a CPU, argmin is six times slower
    return namespace(distances).argmin(distances, axis=0)


def _multiply_short(points: Any, rows: Any) -> Any:
    """Return the products of points and rows, tensors of bfloat16, in float32.

    Tensor cores of GPUs are made for it.
    """
    if rows.is_cuda:
        return namespace(rows).mm(points, rows.T, out_dtype=namespace(rows).float32)
    return points.float() @ rows.float().T
