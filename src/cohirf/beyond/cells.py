"""Cells: a partition of space into parts with about as many rows each, and the rows around each
part.

The cells are the leaves of a binary tree. Each split halves the rows of its cell along one axis.
The tree is built on a sample, and all rows are then assigned in blocks: each to its *home*, the
cell that contains it, and to the *halo* of every cell that it is near to. A distance to a cell is
never larger than the distance to a row in it, so a halo of a given width misses no row within that
distance of a row at home. With many features, the axes are principal axes of the sample: distances
along a few of them are lower bounds, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from cohirf.beyond.policy import CELL
from cohirf.rows.arrays import as_array
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import FloatArray, IntArray, index_dtype


class NoRoomError(Exception):
    """A cell and its halo have more rows than allowed."""


@dataclass(frozen=True)
class Axes:
    """The axes that are split: the features themselves, or principal axes."""

    mean: FloatArray
    directions: FloatArray | None  # one column for each axis; None if the features are the axes

    @classmethod
    def of_sample(cls, sample: Any) -> Axes:
        """Return the axes for data like the sample, an array or CSR matrix."""
        mean = np.asarray(sample.mean(axis=0), dtype=np.float64).ravel()
        if sample.shape[1] <= CELL.max_axes:
            return cls(mean, None)
        some = sample[:: -(-sample.shape[0] // CELL.axes_rows)]
        if sample.shape[1] <= CELL.dense_features:
            some = as_array(some)
        some = container_of(some).shift(some, mean)
        _, _, directions = randomized_svd(some, min(CELL.max_axes, some.shape[0]), random_state=0)
        return cls(mean, np.ascontiguousarray(directions.T))

    def measure(self, X: Any) -> FloatArray:
        """Return the coordinates of rows on the axes."""
        if self.directions is None:
            return np.asarray(as_array(X), dtype=np.float64) - self.mean
        return np.asarray(X @ self.directions) - self.mean @ self.directions


@dataclass(frozen=True)
class Split:
    """A node of the tree: rows below the threshold on the axis are in the left part.

    Without parts, it is a cell.
    """

    low: FloatArray  # bounds of the region on each axis
    high: FloatArray
    reach: float  # widest halo of its cells
    cell: int = -1
    axis: int = -1  # the number of axes means: rows are assigned at random, as no axis divides them
    threshold: float = 0.0
    # share of each side's rows that may be in halos of the other
    shares: tuple[float, float] = (
        1.0,
        1.0,
    )
    left: Split | None = None
    right: Split | None = None

    def distance(self, points: FloatArray) -> FloatArray:
        """Return the squared distance of points to the region."""
        outside = np.maximum(self.low - points, points - self.high)
        np.maximum(outside, 0, out=outside)
        return np.asarray(np.einsum("ij,ij->i", outside, outside))


@dataclass(frozen=True)
class CellsOfBlock:
    """A block of rows from ``start`` on: the cell that each is at home in, and pairs of rows and
    cells.

    The first of the ``rows`` is in the halo of the first of the ``cells``, and so on; rows of a
    cell are sorted.
    """

    start: int
    home: IntArray
    rows: IntArray
    cells: IntArray

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.home.nbytes + self.rows.nbytes + self.cells.nbytes


@dataclass(frozen=True)
class Cells:
    """The tree of cells."""

    axes: Axes  # the axes that are split
    root: Split  # the whole space
    n_cells: int  # number of cells

    @classmethod
    def build(
        cls,
        sample: Any,
        keys: FloatArray,
        n_cells: int,
        *,
        overlap: float = 0.0,
        reach: float | None = None,
        most: float = math.inf,
    ) -> Cells:
        """Divide space into ``n_cells`` with about as many rows of the sample each.

        The halo of a cell has the rows within ``reach`` of it; for None, about ``overlap`` times as
        many rows as are at home. ``keys`` has a random number for each row of the sample. If a cell
        and its halo have more than ``most`` rows of it, ``NoRoomError`` is raised.
        """
        axes = Axes.of_sample(sample)
        points = axes.measure(sample)
        n_cells = min(n_cells, len(points))
        n_axes = points.shape[1]
        builder = _Builder(np.c_[points, keys], n_cells, overlap, reach, most)
        root = builder.split(
            np.arange(len(points)),
            np.empty(0, dtype=np.int64),
            (np.full(n_axes, -np.inf), np.full(n_axes, np.inf), (0.0, 1.0)),
            n_cells,
        )
        return cls(axes, root, builder.n_cells)

    def assign(self, X: Any, keys: FloatArray, start: int = 0) -> CellsOfBlock:
        """Assign a block of rows, which begins with row ``start``.

        ``keys`` has a random number for each row, which decides where no axis divides the rows.
        """
        points = self.axes.measure(X)
        home = np.empty(len(points), dtype=np.int32)
        rows = []
        cells = []
        for cell, at_home, near in self._descend(points, keys):
            home[at_home] = cell
            rows.append(np.sort(near))
            cells.append(np.full(len(near), cell, dtype=np.int32))
        return CellsOfBlock(
            start, home, start + np.concatenate(rows, dtype=np.int64), np.concatenate(cells)
        )

    def _descend(
        self, points: FloatArray, keys: FloatArray
    ) -> Iterator[tuple[int, IntArray, IntArray]]:
        """Yield each cell with the rows at home in it, and the rows in its halo."""
        n_axes = points.shape[1]
        kind: Any = index_dtype(len(points))
        stack = [(self.root, np.arange(len(points), dtype=kind), np.empty(0, dtype=kind))]
        while stack:
            node, home, near = stack.pop()
            if node.left is None or node.right is None:
                yield node.cell, home, near
                continue
            if node.axis == n_axes:
                key = keys[home]
                is_left = key < node.threshold
                other = other_keys(key)
                near_left = other < node.shares[1]
                near_right = other < node.shares[0]
            else:
                beyond = points[home, node.axis] - node.threshold
                is_left = beyond < 0
                near_left = beyond <= node.left.reach
                near_right = beyond >= -node.right.reach
            is_right = ~is_left
            for part, of_part, beside in (
                (node.right, is_right, is_left & near_right),
                (node.left, is_left, is_right & near_left),
            ):
                around = np.concatenate([near, home[beside]])
                around = around[part.distance(points[around]) <= part.reach**2]
                own = home[of_part]
                if len(own) or len(around):
                    stack.append((part, own, around))


def other_keys(keys: FloatArray) -> FloatArray:
    """Return random numbers that do not depend on the first digits of the given ones."""
    return (keys * 2**20) % 1


class _Builder:
    """Builds the tree on the points of a sample, whose last column has the keys."""

    def __init__(
        self, points: FloatArray, n_cells: int, overlap: float, reach: float | None, most: float
    ) -> None:
        self._points = points
        self._overlap = overlap
        self._reach = reach
        self._most = most
        self._largest_cell = CELL.largest * len(points) / n_cells + 1
        self.n_cells = 0

    def split(
        self,
        home: IntArray,
        near: IntArray,
        bounds: tuple[FloatArray, FloatArray, tuple[float, float]],
        n_cells: int,
    ) -> Split:
        """Return the tree of a region with the rows ``home``; rows around it are among ``near``."""
        low, high, keys = bounds
        region = Split(low, high, 0.0)
        n_axes = len(low)
        distance = region.distance(self._points[near, :n_axes])
        if n_cells == 1 or len(home) < 2:
            self.n_cells += 1
            width = self._halo_width(distance, len(home))
            if len(home) + int((distance <= width**2).sum()) > self._most:
                raise NoRoomError
            return Split(low, high, width, cell=self.n_cells - 1)
        if self._reach is None:
            n_near = int(CELL.near * self._overlap * len(home)) + 16
            if len(near) > n_near:
                near = near[np.argpartition(distance, n_near)[:n_near]]
        else:
            near = near[distance <= self._reach**2]
        axis, threshold = self._choose_split(home, n_cells, keys)
        is_left = self._points[home, axis] < threshold
        n_left = _share_cells(n_cells, int(is_left.sum()), len(home))
        shares = (1.0, 1.0)
        if axis == n_axes and self._reach is None:
            # each row is as near to each cell on the other side as any other, and would be in all
            # of their halos
            n_most = self._overlap * len(home) / n_cells
            shares = (
                min(1.0, n_most / max(1, is_left.sum())),
                min(1.0, n_most / max(1, (~is_left).sum())),
            )
        is_shared = other_keys(self._points[home, n_axes]) < np.where(is_left, *shares)
        parts = []
        for side, of_part, n_of_part in ((0, is_left, n_left), (1, ~is_left, n_cells - n_left)):
            around = np.concatenate([near, home[~of_part & is_shared]])
            parts.append(
                self.split(
                    home[of_part], around, _cut_cell(bounds, axis, threshold, side), n_of_part
                )
            )
        left, right = parts
        return Split(
            low, high, max(left.reach, right.reach), -1, axis, threshold, shares, left, right
        )

    def _halo_width(self, distance: FloatArray, n_home: int) -> float:
        """Return the width of the halo of a cell, given the squared distances of the sampled rows
        around it.
        """
        if self._reach is not None:
            return self._reach
        n_halo = min(len(distance), int(self._overlap * n_home + 0.5))
        if n_halo == 0:
            return 0.0
        return float(np.sqrt(np.partition(distance, n_halo - 1)[n_halo - 1]))

    def _choose_split(
        self, home: IntArray, n_cells: int, keys: tuple[float, float]
    ) -> tuple[int, float]:
        """Return the axis with most variance that divides the rows evenly, and where to divide
        it.
        """
        points = self._points[home]
        share = n_cells // 2 / n_cells
        n_rows = len(points)
        n_axes = points.shape[1] - 1
        for axis in np.argsort(-points[:, :n_axes].var(axis=0), kind="stable").tolist():
            values = np.sort(points[:, axis])
            middle = min(max(1, round(share * n_rows)), n_rows - 1)
            # rows with the same value stay together: those of the middle are all on the right, or
            # all on the left
            ends = (
                int(np.searchsorted(values, values[middle], side)) for side in ("left", "right")
            )
            for place in sorted(ends, key=lambda end: abs(end - middle)):
                if 0 < place < n_rows and self._is_even(place, n_rows, n_cells):
                    between = float((values[place - 1] + values[place]) / 2)
                    return axis, between if between > values[place - 1] else float(values[place])
        return n_axes, keys[0] + share * (keys[1] - keys[0])

    def _is_even(self, n_left: int, n_rows: int, n_cells: int) -> bool:
        """Return whether no cell is too large if ``n_left`` of the rows are on the left side of
        a split.
        """
        cells_left = _share_cells(n_cells, n_left, n_rows)
        return (
            max(n_left / cells_left, (n_rows - n_left) / (n_cells - cells_left))
            <= self._largest_cell
        )


def _share_cells(n_cells: int, n_left: int, n_rows: int) -> int:
    """Return how many of several cells the left side of a split gets, which has ``n_left`` of
    the rows.
    """
    return min(max(1, round(n_cells * n_left / n_rows)), n_cells - 1)


def _cut_cell(
    bounds: tuple[FloatArray, FloatArray, tuple[float, float]],
    axis: int,
    threshold: float,
    side: int,
) -> tuple[FloatArray, FloatArray, tuple[float, float]]:
    """Return the bounds of one side of a split."""
    low, high, keys = bounds
    if axis == len(low):
        return low, high, (keys[0], threshold) if side == 0 else (threshold, keys[1])
    low = low.copy()
    high = high.copy()
    (high if side == 0 else low)[axis] = threshold
    return low, high, keys
