"""Which label has the point that is nearest to a row? An exact search that compares most rows with few points.

Points of one label are divided into cells. The distances between a row and the centres of the cells are bounds of the
distances between the row and all points (triangle inequality). If only cells of one label can contain the nearest
point, the row is decided by this first look; if clusters are well separated, that is nearly every row. Only the other
rows are compared with points: by a k-d tree if there are few features, and otherwise with all points of those cells
that can contain the nearest point.

Distances are computed from expanded squares, |x|^2 - 2 x.y + |y|^2, which is fast but loses digits. So every comparison
allows for the largest possible rounding error, and what is left open by it is compared again by exact differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.faint_values import find_lift, lift_values
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.algorithm.offsets import Offsets, find_offsets

MAX_TREE_FEATURES = 10  # with more features, a product with all points is faster than a tree
TREE_COST = 200  # a search in the tree takes about as long as a comparison with so many centres
N_TRIED = 1000  # points on which a first look is tried out
BLOCK_ROWS = 2**14
BLOCK_VALUES = 2**21  # of a temporary matrix

Floats = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class NearestLabel:
    """Labelled points, prepared for a search.

    Attributes
    ----------
    points : array or CSR matrix
        The points, lifted if they are faint, and without offsets. Points of one cell are consecutive.
    squares : array of float
        The squared norm of each point.
    labels : array of int
        The label of each point.
    cells : Cells or None
        What a row is compared with first; None if that would decide too few rows.
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

    points: Any
    squares: Floats
    labels: IntArray
    cells: Cells | None
    tree: KDTree | None
    lift: float | None
    offsets: Offsets

    @classmethod
    def build(cls, points: Any, labels: IntArray) -> NearestLabel:
        """Prepare a search for the nearest of ``points``, an array or a CSR matrix of finite values."""
        lift = find_lift(points)
        points = _lift(points, lift)
        offsets = find_offsets(points)
        points = offsets.subtract(points)
        use_tree = points.shape[1] <= MAX_TREE_FEATURES
        cells = None if sparse.issparse(points) else _divide(points, labels, TREE_COST if use_tree else None)
        if cells is not None:
            points, labels = points[cells.members], labels[cells.members]
        tree = KDTree(_as_array(points)) if use_tree else None
        return cls(points, row_norms(points, squared=True), labels, cells, tree, lift, offsets)

    def label(self, X: Any) -> IntArray:
        """Return the label of the point nearest to each row, in Euclidean distance."""
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for block in row_blocks(X.shape[0], BLOCK_ROWS):
            found[block] = self._label_block(self._prepare(X[block]))
        return found

    def _prepare(self, X: Any) -> Any:
        """Return rows as the points are: in the same container, lifted, and without offsets."""
        X = sparse.csr_array(X) if sparse.issparse(self.points) else _as_array(X)
        return self.offsets.subtract(_lift(X, self.lift))

    def _label_block(self, X: Any) -> IntArray:
        if self.cells is None:
            return self._search(X, None)
        nearest, may_be_nearest = self.cells.look(X)
        found = self.cells.labels[nearest]
        undecided = _find_undecided(may_be_nearest, self.cells.labels, nearest)
        if len(undecided) > 0:
            # rows of a chunk have few cells in common unless they are near each other
            undecided = undecided[np.argsort(nearest[undecided], kind="stable")]
            found[undecided] = self._search(X[undecided], may_be_nearest[undecided])
        return found

    def _search(self, X: Any, may_be_nearest: Mask | None) -> IntArray:
        """Return the label of the nearest point, found by the tree or by comparison with all points of some cells."""
        if self.tree is not None:
            return self.labels[self.tree.query(_as_array(X))[1]]
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for chunk in row_blocks(X.shape[0], BLOCK_VALUES // len(self.labels) + 1):
            points, squares, labels = self.points, self.squares, self.labels
            if self.cells is not None and may_be_nearest is not None:
                is_near = np.repeat(may_be_nearest[chunk].any(axis=0), self.cells.sizes)
                points, squares, labels = points[is_near], squares[is_near], labels[is_near]
            found[chunk] = _label_among(X[chunk], points, squares, labels)
        return found


@dataclass(frozen=True)
class Cells:
    """Points of equal label that are near each other, each cell within a ball around the mean of its points."""

    members: IntArray  # numbers of points, cell by cell
    sizes: IntArray
    labels: IntArray
    centres: Floats
    spread: Floats  # mean of the squared distances between points and centre
    radius: Floats  # largest distance between a point and the centre

    @classmethod
    def of(cls, points: Floats, labels: IntArray, cells: list[IntArray]) -> Cells:
        """Describe cells, given the numbers of their points."""
        centres = np.stack([_mean(points[cell]) for cell in cells])
        eps = np.finfo(points.dtype).eps
        squares = [_squared_distances(points, cell, centre) for cell, centre in zip(cells, centres, strict=True)]
        return cls(
            members=np.concatenate(cells),
            sizes=np.array([len(cell) for cell in cells]),
            labels=labels[[cell[0] for cell in cells]],
            centres=centres.astype(points.dtype),
            spread=np.array([of_cell.mean() for of_cell in squares]),
            radius=(np.sqrt([of_cell.max() for of_cell in squares]) * (1 + 4 * eps)).astype(points.dtype),
        )

    def look(self, X: Floats) -> tuple[IntArray, Mask]:
        """Return the cell whose centre is nearest to each row, and which cells may contain the nearest point.

        The points of a cell are at a mean squared distance of |x - centre|^2 + spread from a row x, so the nearest one
        is not farther away. None of them is nearer than |x - centre| - radius.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN compare as False: nothing is ruled out
            X = X.astype(self.centres.dtype, copy=False)
            squares, of_rows = row_norms(self.centres, squared=True), row_norms(X, squared=True)
            error, error_of_rows = _rounding_error(squares, X), _rounding_error(of_rows, X)
            lower = _bound_squares(X, self.centres, squares - error)
            lower += (of_rows - error_of_rows)[:, None]
            np.maximum(lower, 0, out=lower)
            nearest = lower.argmin(axis=1)
            spread = (self.spread + 2 * error).astype(lower.dtype)
            upper = np.sqrt((lower + spread).min(axis=1) + 2 * error_of_rows)
            np.sqrt(lower, out=lower)
            lower -= self.radius
            return nearest, ~(lower > upper[:, None])


def _divide(points: Floats, labels: IntArray, search_cost: int | None) -> Cells | None:
    """Divide points into the cells with which a search compares the fewest centres and points; None without cells.

    At first, each label is a cell; then wide cells are divided, as long as that can pay. ``search_cost`` is the cost
    of a row that the first look leaves undecided; None means the number of points in all cells that may be nearest.
    """
    n_points = len(labels)
    tried = points[:: n_points // N_TRIED + 1]
    order = np.argsort(labels, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    best, lowest_cost = None, float(search_cost or n_points)
    most = max(n_points**0.5, len(parts))
    while len(parts) <= min(most, n_points / 4, lowest_cost):
        cells = Cells.of(points, labels, parts)
        cost = len(parts) + _mean_cost(cells, tried, search_cost)
        if cost < lowest_cost:
            best, lowest_cost = cells, cost
        if cost < 2 * len(parts) or not cells.radius.any():
            break
        parts = list(_divide_wide(points, parts, cells.radius))
    return best


def _mean_cost(cells: Cells, X: Floats, search_cost: int | None) -> float:
    """Return the mean cost of a search after the first look; it is 0 for rows that are decided."""
    nearest, may_be_nearest = cells.look(X)
    undecided = _find_undecided(may_be_nearest, cells.labels, nearest)
    costs = may_be_nearest[undecided] @ cells.sizes if search_cost is None else np.full(len(undecided), search_cost)
    return float(costs.sum() / len(X))


def _divide_wide(points: Floats, parts: list[IntArray], radius: Floats) -> Iterator[IntArray]:
    """Yield the cells, with the wider half of them cut into two, in the middle of the feature that varies most."""
    for part, is_wide in zip(parts, radius >= np.median(radius), strict=True):
        if not is_wide or len(part) == 1:
            yield part
            continue
        low, high = points[part].min(axis=0), points[part].max(axis=0)
        widest = (high - low).argmax()
        is_low = points[part, widest] < low[widest] / 2 + high[widest] / 2
        yield from (half for half in (part[is_low], part[~is_low]) if len(half) > 0)


def _label_among(X: Any, points: Any, squares: Floats, labels: IntArray) -> IntArray:
    """Return the label of the point nearest to each row, by comparison with all points; ``squares`` are theirs."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN compare as False: nothing is ruled out
        near_X = X.astype(points.dtype, copy=False)
        error = _rounding_error(squares, points)
        lower = _bound_squares(near_X, points, squares - error)
        nearest = lower.argmin(axis=1)
        upper = lower[np.arange(len(nearest)), nearest] + 2 * error[nearest]
        upper += 2 * _rounding_error(row_norms(near_X, squared=True), points)
        may_be_nearest = ~(lower > upper[:, None])
    undecided = _find_undecided(may_be_nearest, labels, nearest)
    rows, close = np.nonzero(may_be_nearest[undecided])
    nearest[undecided] = close[_find_minima(rows, _measure_pairs(X[undecided], rows, points, close))]
    return labels[nearest]


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


def _find_undecided(may_be_nearest: Mask, labels: IntArray, nearest: IntArray) -> IntArray:
    """Return the rows for which the nearest may have another label than ``nearest``."""
    several = np.flatnonzero(np.count_nonzero(may_be_nearest, axis=1) > 1)
    has_other_label = labels != labels[nearest[several], None]
    return several[(may_be_nearest[several] & has_other_label).any(axis=1)]


def _bound_squares(X: Any, points: Any, squares: Floats) -> Floats:
    """Return |y|^2 - 2 x.y for all rows x and points y, with ``squares`` in place of |y|^2."""
    bounds: Floats = np.asarray(_as_array((-2 * X) @ points.T))
    bounds += squares
    return bounds


def _rounding_error(squares: Floats, X: Any) -> Floats:
    """Return a bound of the rounding error of expanded squares: the part due to rows of these squared norms.

    Rounding changes a value by eps / 2 of its size, or by the smallest number. A scalar product of n features is
    rounded n times, and so are |x|^2 and |y|^2; means are rounded, and values can be converted to a shorter type. The
    factor 2 (n + 32) is more than all of this together.
    """
    limits = np.finfo(X.dtype)
    error: Floats = 2 * (X.shape[1] + 32) * (limits.eps * squares + limits.smallest_normal)
    return error


def _mean(points: Floats) -> Floats:
    """Return the mean of some points in float64. Along rows, numpy adds in pairs, which rounds a few times only."""
    mean: Floats = np.ascontiguousarray(points.T).mean(axis=1, dtype=np.float64)
    return mean


def _squared_distances(points: Floats, numbers: IntArray, centre: Floats) -> Floats:
    """Return the squared distances of some points to a centre, in float64."""
    squares = np.empty(len(numbers))
    for block in row_blocks(len(numbers), BLOCK_VALUES // points.shape[1] + 1):
        squares[block] = row_norms(points[numbers[block]] - centre, squared=True)
    return squares


def _lift(X: Any, lift: float | None) -> Any:
    return X if lift is None else lift_values(X, lift)


def _as_array(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X
