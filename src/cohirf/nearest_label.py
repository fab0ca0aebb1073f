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
        tree = KDTree(_as_array(points)) if points.shape[1] <= MAX_TREE_FEATURES else None
        return cls(Expanded.of_points(points), labels, None, tree, lift, offsets)

    def with_cells(self) -> NearestLabel:
        """Return a search that is faster for many rows, if there are cells that make it so."""
        if sparse.issparse(self.points.values):
            return self
        # measured: a search in a tree takes about as long as a comparison with so many centres
        tree_cost = None if self.tree is None else 20 * 1.6 ** self.points.values.shape[1]
        return replace(self, cells=_divide(self.points, self.labels, tree_cost))

    def label(self, X: Any) -> IntArray:
        """Return the label of the point nearest to each row, in Euclidean distance."""
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for block in row_blocks(X.shape[0], BLOCK_ROWS):
            found[block] = self._label_block(self._prepare(X[block]))
        return found

    def _prepare(self, X: Any) -> Expanded:
        """Return rows as the points are: in the same container, lifted, and without offsets."""
        X = sparse.csr_array(X) if sparse.issparse(self.points.values) else _as_array(X)
        return Expanded.of_rows(self.offsets.subtract(_lift(X, self.lift)), self.points.values.dtype)

    def _label_block(self, rows: Expanded) -> IntArray:
        if self.cells is None:
            return self._search(rows)
        look = self.cells.look(rows)
        if self.tree is None:
            self.cells.compare(rows, look)
        found: IntArray = self.cells.labels[look.lower.argmin(axis=1)]
        undecided = look.undecided(self.cells.labels)
        found[undecided] = self._search(rows.take(undecided))
        return found

    def _search(self, rows: Expanded) -> IntArray:
        """Return the label of the nearest of all points."""
        if self.tree is not None:
            return np.asarray(self.labels[self.tree.query(_as_array(rows.values))[1]])
        found = np.empty(len(rows.error), dtype=self.labels.dtype)
        for chunk in row_blocks(len(found), BLOCK_VALUES // len(self.labels) + 1):
            found[chunk] = _label_among(rows.take(chunk), self.points, self.labels)
        return found


@dataclass(frozen=True)
class Expanded:
    """Rows or points, and the terms of their expanded squares."""

    values: Any  # an array or a CSR matrix
    terms: Any  # -2 x, 1 and |x|^2 for a row x; y, |y|^2 and 1 for a point y; a CSR matrix has only the first ones
    squares: Floats  # |x|^2 or |y|^2, less half of the error
    error: Floats  # how far a squared distance can be above its lower bound: the part due to this row or point

    @classmethod
    def of_points(cls, points: Any) -> Expanded:
        """Expand points. What overflows becomes infinity or NaN, which rules nothing out."""
        with np.errstate(over="ignore", invalid="ignore"):
            squares = row_norms(points, squared=True)
            error = _rounding_error(squares, points)
            squares -= error / 2
            return cls(points, _join_columns(points, squares, np.ones_like(squares)), squares, error)

    @classmethod
    def of_rows(cls, X: Any, dtype: Any) -> Expanded:
        """Expand rows, in the type of the points."""
        with np.errstate(over="ignore", invalid="ignore"):
            of_points = cls.of_points(X.astype(dtype, copy=False))
            squares = of_points.squares
            return cls(
                X, _join_columns(-2 * of_points.values, np.ones_like(squares), squares), squares, of_points.error
            )

    def take(self, rows: IntArray | slice) -> Expanded:
        """Return some of the rows."""
        return Expanded(self.values[rows], self.terms[rows], self.squares[rows], self.error[rows])

    def bound_squares(self, points: Expanded) -> Floats:
        """Return lower bounds of the squared distances of all rows to all points, which can be negative.

        No squared distance is above its lower bound by more than the errors of its row and of its point.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            lower: Floats = np.asarray(_as_array(self.terms @ points.terms.T))
            return lower + self.squares[:, None] + points.squares if sparse.issparse(self.terms) else lower


def _join_columns(values: Any, *columns: Floats) -> Any:
    return values if sparse.issparse(values) else np.column_stack([values, *columns])


def _rounding_error(squares: Floats, X: Any) -> Floats:
    """Return the largest error, down and up, of expanded squares: the part due to rows of these squared norms.

    Rounding changes a value by eps / 2 of its size, or by the smallest number. A scalar product of n features is
    rounded n times, and so are |x|^2 and |y|^2; means are rounded, and values can be converted to a shorter type. The
    factor 2 (n + 32) is more than all of this together, in each direction.
    """
    limits = np.finfo(X.dtype)
    error: Floats = 4 * (X.shape[1] + 32) * (limits.eps * squares + limits.smallest_normal)
    return error


def _label_among(rows: Expanded, points: Expanded, labels: IntArray) -> IntArray:
    """Return the label of the point nearest to each row, by comparison with all points."""
    lower = rows.bound_squares(points)
    nearest, upper = _find_lowest(lower, rows, points)
    undecided = _find_undecided(lower, upper, labels)
    of_rows, close = np.nonzero(~(lower[undecided] > upper[undecided, None]))
    squares = _measure_pairs(rows.values[undecided], of_rows, points.values, close)
    nearest[undecided] = close[_find_minima(of_rows, squares)]
    return np.asarray(labels[nearest])


def _find_lowest(lower: Floats, rows: Expanded, points: Expanded) -> tuple[IntArray, Floats]:
    """Return the point with the lowest bound for each row, and an upper bound of its squared distance."""
    nearest = lower.argmin(axis=1)
    upper: Floats = lower[np.arange(len(nearest)), nearest] + points.error[nearest] + rows.error
    return nearest, upper


def _find_undecided(lower: Floats, upper: Floats, labels: IntArray) -> IntArray:
    """Return the rows for which columns of several labels are not above the upper bound; infinity and NaN never are."""
    is_above = lower > upper[:, None]
    several = np.flatnonzero(np.count_nonzero(is_above, axis=1) < len(labels) - 1)
    may_be_nearest = ~is_above[several]
    has_other_label = labels != labels[may_be_nearest.argmax(axis=1)][:, None]
    return np.asarray(several[(may_be_nearest & has_other_label).any(axis=1)])


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


@dataclass(frozen=True)
class Look:
    """Bounds of the distances between rows and the nearest points of cells."""

    nearest: IntArray  # the cell whose centre is nearest to a row
    lower: Floats  # for each row and cell: no point of the cell is nearer
    upper: Floats  # for each row: some point is not farther away

    def undecided(self, labels: IntArray) -> IntArray:
        """Return the rows whose nearest point may be in cells of several labels."""
        return _find_undecided(self.lower, self.upper, labels)

    def may_be_nearest(self, rows: IntArray) -> Mask:
        """Return which cells may contain the point nearest to some rows."""
        return ~(self.lower[rows] > self.upper[rows, None])


@dataclass(frozen=True)
class Cells:
    """Points of equal label that are near each other, each cell within a ball around the mean of its points."""

    points: Expanded
    parts: list[IntArray]  # numbers of the points of each cell
    labels: IntArray  # of each cell
    centres: Expanded
    spread: Floats  # mean of the squared distances between points and centre
    radius: Floats  # largest distance between a point and the centre

    @classmethod
    def of(cls, points: Expanded, labels: IntArray, parts: list[IntArray]) -> Cells:
        """Describe cells, given the numbers of their points."""
        centres = np.stack([_mean(points.values[part]) for part in parts])
        squares = [_squared_distances(points.values, part, centre) for part, centre in zip(parts, centres, strict=True)]
        dtype = points.values.dtype
        rounded_up = 1 + 4 * np.finfo(dtype).eps
        return cls(
            points=points,
            parts=parts,
            labels=labels[[part[0] for part in parts]],
            centres=Expanded.of_points(centres.astype(dtype)),
            spread=(rounded_up * np.array([of_cell.mean() for of_cell in squares])).astype(dtype),
            radius=(rounded_up * np.sqrt([of_cell.max() for of_cell in squares])).astype(dtype),
        )

    def look(self, rows: Expanded) -> Look:
        """Compare rows with the centres of the cells.

        The points of a cell are at a mean squared distance of |x - centre|^2 + spread from a row x, so the nearest one
        is not farther away. None of them is nearer than |x - centre| - radius.
        """
        lower = rows.bound_squares(self.centres)
        nearest = lower.argmin(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            upper = _root((lower + (self.spread + self.centres.error)).min(axis=1) + rows.error)
            return Look(nearest, _root(lower) - self.radius, upper)

    def compare(self, rows: Expanded, look: Look) -> None:
        """Compare undecided rows with the points of cells that may contain the nearest one; narrow the bounds."""
        # the nearest cell first, because it lowers the upper bound most
        undecided = look.undecided(self.labels)
        for cell in np.unique(look.nearest[undecided]).tolist():
            self._compare_with(cell, rows, undecided[look.nearest[undecided] == cell], look)
        undecided = look.undecided(self.labels)
        is_due = np.asfortranarray(look.may_be_nearest(undecided))
        is_due[np.arange(len(undecided)), look.nearest[undecided]] = False
        for cell in np.flatnonzero(is_due.any(axis=0)).tolist():
            due = undecided[is_due[:, cell]]
            still_due = ~(look.lower[due, cell] > look.upper[due])  # other cells may have lowered the upper bound
            self._compare_with(cell, rows, due[still_due], look)

    def _compare_with(self, cell: int, rows: Expanded, numbers: IntArray, look: Look) -> None:
        """Narrow the bounds of some rows by comparing them with the points of a cell."""
        points = self.points.take(self.parts[cell])
        for chunk in row_blocks(len(numbers), BLOCK_VALUES // len(points.error) + 1):
            some = rows.take(numbers[chunk])
            lower = some.bound_squares(points)
            _, upper = _find_lowest(lower, some, points)
            look.lower[numbers[chunk], cell] = _root(lower.min(axis=1))
            look.upper[numbers[chunk]] = np.fmin(look.upper[numbers[chunk]], _root(upper))


def _divide(points: Expanded, labels: IntArray, search_cost: float | None) -> Cells | None:
    """Divide points into cells so that rows are compared with the fewest centres and points.

    At first, each label is a cell; then wide cells are divided, as long as that can pay. ``search_cost`` is the cost
    of a row that the first look leaves undecided; None means that it is compared with the points of cells. Returns
    None if cells do not even halve the cost of a search without them.
    """
    n_points = len(labels)
    trial = Trial.of(points, search_cost)
    order = np.argsort(labels, kind="stable")
    parts: list[IntArray] = list(np.split(order, np.flatnonzero(np.diff(labels[order])) + 1))
    best, lowest_cost = None, (search_cost or n_points) / 2
    most = max(n_points**0.5, len(parts))
    while len(parts) <= min(most, n_points / 4, lowest_cost):
        cells = Cells.of(points, labels, parts)
        cost = len(parts) + trial.mean_cost(cells)
        if cost < lowest_cost:
            best, lowest_cost = cells, cost
        divided = list(_divide_wide(points.values, parts, cells.radius))
        if cost < 2 * len(parts) or len(divided) == len(parts):
            break
        parts = divided
    return best


@dataclass(frozen=True)
class Trial:
    """Some of the points, for which a search is tried out as if they were other rows."""

    rows: Expanded
    nearest_other: Floats  # distance to the nearest other point: a new row would find one at about this distance
    search_cost: float | None

    @classmethod
    def of(cls, points: Expanded, search_cost: float | None) -> Trial:
        """Choose points for a trial, evenly from all."""
        chosen = np.arange(0, len(points.error), len(points.error) // N_TRIED + 1)
        rows = Expanded.of_rows(points.values[chosen], points.values.dtype)
        squares = rows.bound_squares(points)
        squares[np.arange(len(chosen)), chosen] = np.inf
        return cls(rows, _root(squares.min(axis=1)), search_cost)

    def mean_cost(self, cells: Cells) -> float:
        """Return the mean cost of a row after the first look; it is 0 if the row is decided."""
        look = cells.look(self.rows)
        undecided = look.undecided(cells.labels)
        if self.search_cost is not None:
            return self.search_cost * len(undecided) / len(look.nearest)
        costs = np.array([len(part) for part in cells.parts]) + CELL_COST
        cost = costs[look.nearest[undecided]].sum()
        later = replace(look, upper=np.fmin(look.upper, self.nearest_other))
        cost += (later.may_be_nearest(later.undecided(cells.labels)) @ costs).sum()
        return float(cost) / len(look.nearest)


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


def _root(squares: Floats) -> Floats:
    """Return distances; bounds of squares can be negative."""
    root: Floats = np.sqrt(np.maximum(squares, 0))
    return root


def _lift(X: Any, lift: float | None) -> Any:
    return X if lift is None else lift_values(X, lift)


def _as_array(X: Any) -> Any:
    return X.toarray() if sparse.issparse(X) else X
