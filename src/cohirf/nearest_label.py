"""Which label has the point that is nearest to a row? An exact search that compares most rows with few points.

Points of one label are divided into cells. The distances between a row and the centres of the cells give bounds of the
distances between the row and all points (triangle inequality). If only cells of one label can contain the nearest
point, the row is decided by this first look; if clusters are well separated, that is nearly every row. The other rows
are compared with points: by a k-d tree if there are few features, and otherwise with the points of the nearest cell,
and then of each other cell that can still contain the nearest point.

Distances are computed from expanded squares, |x|^2 - 2 x.y + |y|^2, which is fast but loses digits. So every comparison
allows for the largest possible rounding error, and what this leaves undecided is compared again by exact differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.faint_values import find_lift, lift_values
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.algorithm.offsets import Offsets, find_offsets

MAX_TREE_FEATURES = 12  # with more features, products with the points are faster than a tree
CELL_COST = 50  # measured: to begin with another cell takes a row about as long as a comparison with so many points
N_TRIED = 200  # points on which a first look is tried out
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

    points: Any
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
        tree = KDTree(_as_array(points)) if points.shape[1] <= MAX_TREE_FEATURES else None
        return cls(points, labels, None, tree, lift, offsets)

    def with_cells(self) -> NearestLabel:
        """Return a search that is faster for many rows, if there are cells that make it so."""
        if sparse.issparse(self.points):
            return self
        # measured: a search in a tree takes about as long as a comparison with so many centres
        tree_cost = None if self.tree is None else 20 * 1.6 ** self.points.shape[1]
        return replace(self, cells=_divide(self.points, self.labels, tree_cost))

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
            return self._search(X)
        look = self.cells.look(X)
        if self.tree is None:
            self.cells.compare(X, look)
        found: IntArray = self.cells.labels[look.lower.argmin(axis=1)]
        undecided = look.undecided(self.cells.labels)
        found[undecided] = self._search(X[undecided])
        return found

    def _search(self, X: Any) -> IntArray:
        """Return the label of the nearest of all points."""
        if self.tree is not None:
            return np.asarray(self.labels[self.tree.query(_as_array(X))[1]])
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for chunk in row_blocks(X.shape[0], BLOCK_VALUES // len(self.labels) + 1):
            found[chunk] = _label_among(X[chunk], self.points, self.labels)
        return found


@dataclass(frozen=True)
class Look:
    """Bounds of the distances between rows and the nearest points of cells."""

    nearest: IntArray  # the cell whose centre is nearest to a row
    lower: Floats  # for each row and cell: no point of the cell is nearer
    upper: Floats  # for each row: some point is not farther away

    def undecided(self, labels: IntArray) -> IntArray:
        """Return the rows whose nearest point may be in cells of several labels."""
        return _find_undecided(self.lower, self.upper, labels)


@dataclass(frozen=True)
class Cells:
    """Points of equal label that are near each other, each cell within a ball around the mean of its points."""

    points: Floats  # cell by cell
    starts: IntArray  # the first point of each cell, and the number of points
    labels: IntArray
    centres: Floats
    spread: Floats  # mean of the squared distances between points and centre
    radius: Floats  # largest distance between a point and the centre

    @classmethod
    def of(cls, points: Floats, labels: IntArray, parts: list[IntArray]) -> Cells:
        """Describe cells, given the numbers of their points."""
        centres = np.stack([_mean(points[part]) for part in parts])
        squares = [_squared_distances(points, part, centre) for part, centre in zip(parts, centres, strict=True)]
        rounded_up = 1 + 4 * np.finfo(points.dtype).eps
        return cls(
            points=points[np.concatenate(parts)],
            starts=np.cumsum([0, *map(len, parts)]),
            labels=labels[[part[0] for part in parts]],
            centres=centres.astype(points.dtype),
            spread=(rounded_up * np.array([of_cell.mean() for of_cell in squares])).astype(points.dtype),
            radius=(rounded_up * np.sqrt([of_cell.max() for of_cell in squares])).astype(points.dtype),
        )

    def look(self, X: Floats) -> Look:
        """Compare rows with the centres of the cells.

        The points of a cell are at a mean squared distance of |x - centre|^2 + spread from a row x, so the nearest one
        is not farther away. None of them is nearer than |x - centre| - radius.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN compare as False: nothing is ruled out
            lower, error = _bound_squares(X, self.centres)
            nearest = lower.argmin(axis=1)
            upper = np.sqrt((lower + (self.spread + error.of_points)).min(axis=1) + error.of_rows)
            np.sqrt(lower, out=lower)
            lower -= self.radius
        return Look(nearest, lower, upper)

    def compare(self, X: Floats, look: Look) -> int:
        """Compare undecided rows with the points of cells that may contain the nearest one; narrow the bounds.

        Returns the cost: about the number of comparisons of a row and a point.
        """
        # the nearest cell first, because it lowers the upper bound most
        undecided = look.undecided(self.labels)
        undecided = undecided[np.argsort(look.nearest[undecided], kind="stable")]
        cells, starts = np.unique(look.nearest[undecided], return_index=True)
        of_cells = zip(cells.tolist(), np.split(undecided, starts[1:]), strict=True) if len(cells) > 0 else ()
        cost = sum(self._compare_with(cell, X, rows, look) for cell, rows in of_cells)
        undecided = look.undecided(self.labels)
        is_due = np.asfortranarray(~(look.lower[undecided] > look.upper[undecided, None]))
        is_due[np.arange(len(undecided)), look.nearest[undecided]] = False
        for cell in np.flatnonzero(is_due.any(axis=0)).tolist():
            rows = undecided[is_due[:, cell]]
            still_due = ~(look.lower[rows, cell] > look.upper[rows])  # other cells have lowered the upper bound
            cost += self._compare_with(cell, X, rows[still_due], look)
        return cost

    def _compare_with(self, cell: int, X: Floats, rows: IntArray, look: Look) -> int:
        """Narrow the bounds of some rows by comparing them with the points of a cell; return the cost."""
        points = self.points[self.starts[cell] : self.starts[cell + 1]]
        for chunk in row_blocks(len(rows), BLOCK_VALUES // len(points) + 1):
            some = rows[chunk]
            with np.errstate(over="ignore", invalid="ignore"):
                lower, error = _bound_squares(X[some], points)
                nearest = lower.argmin(axis=1)
                lowest = lower[np.arange(len(some)), nearest]
                upper = np.sqrt(lowest + error.of_points[nearest] + error.of_rows)
            look.lower[some, cell] = np.sqrt(lowest)
            look.upper[some] = np.fmin(look.upper[some], upper)
        return len(rows) * (len(points) + CELL_COST)


def _divide(points: Floats, labels: IntArray, search_cost: float | None) -> Cells | None:
    """Divide points into cells so that rows are compared with the fewest centres and points.

    At first, each label is a cell; then wide cells are divided, as long as that can pay. ``search_cost`` is the cost
    of a row that the first look leaves undecided; None means the number of points with which it is compared. Returns
    None if cells do not even halve the cost of a search without them.
    """
    n_points = len(labels)
    tried = points[:: n_points // N_TRIED + 1]
    order = np.argsort(labels, kind="stable")
    parts: list[IntArray] = list(np.split(order, np.flatnonzero(np.diff(labels[order])) + 1))
    best, lowest_cost = None, (search_cost or n_points) / 2
    most = max(n_points**0.5, len(parts))
    while len(parts) <= min(most, n_points / 4, lowest_cost):
        cells = Cells.of(points, labels, parts)
        cost = len(parts) + _mean_cost(cells, tried, search_cost)
        if cost < lowest_cost:
            best, lowest_cost = cells, cost
        divided = list(_divide_wide(points, parts, cells.radius))
        if cost < 2 * len(parts) or len(divided) == len(parts):
            break
        parts = divided
    return best


def _mean_cost(cells: Cells, X: Floats, search_cost: float | None) -> float:
    """Return the mean cost of a row after the first look; it is 0 if the row is decided."""
    look = cells.look(X)
    cost = 0 if search_cost is not None else cells.compare(X, look)
    of_undecided = len(cells.points) if search_cost is None else search_cost
    return (cost + len(look.undecided(cells.labels)) * of_undecided) / len(X)


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


def _label_among(X: Any, points: Any, labels: IntArray) -> IntArray:
    """Return the label of the point nearest to each row, by comparison with all points."""
    with np.errstate(over="ignore", invalid="ignore"):
        lower, error = _bound_squares(X, points)
        nearest = lower.argmin(axis=1)
        upper = lower[np.arange(len(nearest)), nearest] + error.of_points[nearest] + error.of_rows
    undecided = _find_undecided(lower, upper, labels)
    rows, close = np.nonzero(~(lower[undecided] > upper[undecided, None]))
    nearest[undecided] = close[_find_minima(rows, _measure_pairs(X[undecided], rows, points, close))]
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


def _find_undecided(lower: Floats, upper: Floats, labels: IntArray) -> IntArray:
    """Return the rows for which columns of several labels are not above the upper bound; infinity and NaN never are."""
    may_be_nearest = ~(lower > upper[:, None])
    several = np.flatnonzero(np.count_nonzero(may_be_nearest, axis=1) > 1)
    may_be_nearest = may_be_nearest[several]
    has_other_label = labels != labels[may_be_nearest.argmax(axis=1)][:, None]
    return np.asarray(several[(may_be_nearest & has_other_label).any(axis=1)])


@dataclass(frozen=True)
class RoundingError:
    """By how much squared distances can be above their lower bound: one part for each point, one for each row."""

    of_points: Floats
    of_rows: Floats


def _bound_squares(X: Any, points: Any) -> tuple[Floats, RoundingError]:
    """Return lower bounds, and their error, of the squared distances of all rows to all points."""
    X = X.astype(points.dtype, copy=False)
    of_points, of_rows = row_norms(points, squared=True), row_norms(X, squared=True)
    error = RoundingError(_rounding_error(of_points, X), _rounding_error(of_rows, X))
    lower: Floats = np.asarray(_as_array(X @ (-2 * points).T))
    lower += of_points - error.of_points / 2
    lower += (of_rows - error.of_rows / 2)[:, None]
    return np.maximum(lower, 0, out=lower), error


def _rounding_error(squares: Floats, X: Any) -> Floats:
    """Return the largest error, down and up, of expanded squares: the part due to rows of these squared norms.

    Rounding changes a value by eps / 2 of its size, or by the smallest number. A scalar product of n features is
    rounded n times, and so are |x|^2 and |y|^2; means are rounded, and values can be converted to a shorter type. The
    factor 2 (n + 32) is more than all of this together, in each direction.
    """
    limits = np.finfo(X.dtype)
    error: Floats = 4 * (X.shape[1] + 32) * (limits.eps * squares + limits.smallest_normal)
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
