"""Which label has the point that is nearest to a row? An exact search that compares most rows with few points.

Points of one label are divided into cells. The distances between a row and the centres of the cells give bounds of the
distances between the row and all points (triangle inequality). If only cells of one label can contain the nearest
point, the row is decided by this first look; if clusters are well separated, that is nearly every row. The other rows
are compared with points: by a k-d tree if there are few features, and otherwise with the points of the nearest cell,
and then of each other cell that can still contain the nearest point.

Every comparison allows for the largest possible rounding error (see expanded.py). What this leaves undecided is
compared again by exact differences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.faint_values import find_lift, lift_values
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.algorithm.offsets import Offsets, find_offsets
from cohirf.nearest_label.cells import Cells, divide
from cohirf.nearest_label.expanded import (
    BLOCK_VALUES,
    Expanded,
    Floats,
    as_array,
    find_close,
    find_lowest,
    find_undecided,
)

MAX_TREE_FEATURES = 12  # with more features, products with the points are faster than a tree
FEW_POINTS = 500  # of so few, a product with all of them is faster than a tree
BLOCK_ROWS = 2**14
CACHED_VALUES = 2**17  # of a matrix that is read several times: it stays in the cache of a processor


@dataclass(frozen=True)
class NearestLabel:
    """Labelled points, prepared for a search.

    Attributes
    ----------
    points : Expanded
        The points, lifted if they are faint, and without offsets.
    labels : array of int
        The label of each point.
    cells : Cells or None
        What a row is compared with first; None if rows are compared with points at once.
    tree : KDTree or None
        Finds the nearest point if there are few features.
    lift : float or None
        Factor for faint values (see faint_values.py); None if the points are not faint.
    offsets : Offsets
        What is subtracted from rows (see offsets.py).

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.nearest_label import NearestLabel
    >>> search = NearestLabel.build(np.array([[0.0], [1.0], [9.0]]), np.array([4, 4, 7]))
    >>> search.label(np.array([[2.0], [6.0]]))
    array([4, 7])
    """

    points: Expanded
    labels: IntArray
    cells: Cells | None
    tree: KDTree | None
    lift: float | None
    offsets: Offsets

    @classmethod
    def build(cls, points: Any, labels: IntArray) -> NearestLabel:
        """Prepare a search for the nearest of ``points``, an array or a CSR matrix of finite values; without cells."""
        lift = find_lift(points)
        points = _lift(points, lift)
        offsets = find_offsets(points)
        points = offsets.subtract(points)
        uses_tree = points.shape[1] <= MAX_TREE_FEATURES and points.shape[0] > FEW_POINTS
        tree = KDTree(as_array(points)) if uses_tree else None
        return cls(Expanded.of_points(points), labels, None, tree, lift, offsets)

    def with_cells(self) -> NearestLabel:
        """Return a search that is faster for many rows, if there are cells that make it so."""
        if sparse.issparse(self.points.values):
            return self
        # measured: a search in a tree takes about as long as a comparison with so many centres
        tree_cost = None if self.tree is None else 20 * 1.6 ** self.points.values.shape[1]
        return replace(self, cells=divide(self.points, self.labels, tree_cost))

    def label(self, X: Any) -> IntArray:
        """Return the label of the point nearest to each row, in Euclidean distance."""
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for block in row_blocks(X.shape[0], BLOCK_ROWS):
            found[block] = self._label_block(self.prepare(X[block]))
        return found

    def prepare(self, X: Any) -> Any:
        """Return rows as the points are: in the same container, lifted, and without offsets."""
        X = sparse.csr_array(X) if sparse.issparse(self.points.values) else as_array(X)
        return self.offsets.subtract(_lift(X, self.lift))

    def _label_block(self, X: Any) -> IntArray:
        if self.cells is None:
            return self._search(X)
        rows = Expanded.of_rows(X, self.points.values.dtype)
        look = self.cells.look(rows)
        if self.tree is None:
            self.cells.compare(rows, look)
        found: IntArray = self.cells.labels[look.lower.argmin(axis=1)]
        undecided = look.undecided(self.cells.labels)
        found[undecided] = self._search(X[undecided])
        return found

    def _search(self, X: Any) -> IntArray:
        """Return the label of the nearest of all points."""
        if self.tree is not None:
            return np.asarray(self.labels[self.tree.query(as_array(X))[1]])
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for chunk in row_blocks(len(found), CACHED_VALUES // len(self.labels) + 1):
            rows = Expanded.of_rows(X[chunk], self.points.values.dtype)
            found[chunk] = _label_among(rows, self.points, self.labels)
        return found


def _label_among(rows: Expanded, points: Expanded, labels: IntArray) -> IntArray:
    """Return the label of the point nearest to each row, by comparison with all points."""
    lower = rows.bound_squares(points)
    nearest, upper = find_lowest(lower, rows, points)
    several = find_close(lower, nearest, upper)
    undecided = several[find_undecided(lower[several], upper[several], labels)]
    of_rows, close = np.nonzero(~(lower[undecided] > upper[undecided, None]))
    squares = _measure_pairs(rows.values[undecided], of_rows, points.values, close)
    nearest[undecided] = close[_find_minima(of_rows, squares)]
    return np.asarray(labels[nearest])


def _measure_pairs(X: Any, rows: IntArray, points: Any, numbers: IntArray) -> Floats:
    """Return the squared distance of each pair of a row and a point, from exact differences."""
    squares = np.empty(len(rows))
    for block in row_blocks(len(rows), BLOCK_VALUES // points.shape[1] + 1):
        differences = X[rows[block]].astype(np.float64) - points[numbers[block]].astype(np.float64)
        squares[block] = row_norms(differences, squared=True)
    return squares


def _find_minima(rows: IntArray, values: Floats) -> IntArray:
    """Return, for each distinct row, the number of its first lowest value; ``rows`` is sorted."""
    order = np.lexsort((values, rows))  # stable
    return order[np.flatnonzero(np.diff(rows, prepend=-1))]


def _lift(X: Any, lift: float | None) -> Any:
    return X if lift is None else lift_values(X, lift)
