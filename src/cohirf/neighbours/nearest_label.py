"""Which label has the point that is nearest to a row? An exact search that compares most rows with few points.

Points of one label that are near each other are in a ball. The distances between a row and the centres of the balls
give bounds of the distances between the row and all points (triangle inequality). If only balls of one label can
contain the nearest point, the row is decided by this first look; if clusters are well separated, that is nearly every
row. The other rows are compared with points: by a k-d tree if there are few features, and otherwise with the points of
the nearest ball, and then of each other ball that can still contain the nearest point.

Every comparison allows for the largest possible rounding error (see bounds.py). What this leaves undecided is compared
again by exact differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.distances import Offsets, find_lift, find_offsets, lift_values
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.neighbours.around import CELL_SIZE, divide, split
from cohirf.neighbours.bounds import Expanded, Floats, as_array, find_close, find_lowest, find_undecided

MAX_TREE_FEATURES = 12  # with more features, products with the points are faster than a tree
FEW_POINTS = 500  # with fewer, a product with all of them is faster than a tree
MANY_ROWS = 1000  # with fewer, to prepare balls takes longer than the search
BLOCK_ROWS = 2**14
BLOCK_VALUES = 2**21  # of a temporary matrix
CACHED_VALUES = 2**17  # of a matrix that is read several times: it stays in the cache of a processor
BALL_COST = 50  # measured: to begin with another ball takes a row as long as a comparison with 50 points
N_TRIED = 200  # points on which balls are tried out


@dataclass(frozen=True)
class NearestLabel:
    """Labelled points, prepared for a search.

    Attributes
    ----------
    points : Expanded
        The points, lifted if they are faint, and without offsets.
    labels : array of int
        The label of each point.
    tree : KDTree or None
        Finds the nearest point if there are few features.
    lift : float or None
        Factor for faint values (see distances.py); None if the points are not faint.
    offsets : Offsets
        What is subtracted from rows (see distances.py).

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.neighbours.nearest_label import NearestLabel
    >>> search = NearestLabel.build(np.array([[0.0], [1.0], [9.0]]), np.array([4, 4, 7]))
    >>> search.label(np.array([[2.0], [6.0]]))
    array([4, 7])
    """

    points: Expanded
    labels: IntArray
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
        uses_tree = points.shape[1] <= MAX_TREE_FEATURES and points.shape[0] > FEW_POINTS
        tree = KDTree(as_array(points)) if uses_tree else None
        return cls(Expanded.of_points(points), labels, tree, lift, offsets)

    @cached_property
    def balls(self) -> Balls | None:
        """What each of many rows is compared with first; None if that does not make the search faster."""
        # measured: a search in a tree takes about as long as a comparison with so many centres
        tree_cost = None if self.tree is None else 20 * 1.6 ** self.points.values.shape[1]
        return choose_balls(self.points, self.labels, tree_cost)

    def label(self, X: Any) -> IntArray:
        """Return the label of the point nearest to each row, in Euclidean distance; the first of equally near ones."""
        find = self._search if X.shape[0] < MANY_ROWS or self.balls is None else self._look_and_search
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for block in row_blocks(X.shape[0], BLOCK_ROWS):
            found[block] = find(self.prepare(X[block]))
        return found

    def prepare(self, X: Any) -> Any:
        """Return rows as the points are: in the same container, lifted, and without offsets."""
        X = sparse.csr_array(X) if sparse.issparse(self.points.values) else as_array(X)
        return self.offsets.subtract(_lift(X, self.lift))

    def _look_and_search(self, X: Any) -> IntArray:
        """Return the label of the nearest point, by a look at balls before."""
        assert self.balls is not None
        rows = Expanded.of_rows(X, self.points.values.dtype)
        look = self.balls.look(rows)
        if self.tree is None:
            self.balls.compare(rows, look)
        found: IntArray = self.balls.labels[look.lower.argmin(axis=1)]
        undecided = self.balls.find_undecided(look)
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
    order = np.lexsort((squares, of_rows))  # stable: the first point of several with the lowest distance
    nearest[undecided] = close[order[np.flatnonzero(np.diff(of_rows, prepend=-1))]]
    return np.asarray(labels[nearest])


def _measure_pairs(X: Any, rows: IntArray, points: Any, numbers: IntArray) -> Floats:
    """Return the squared distance of each pair of a row and a point, from exact differences."""
    squares = np.empty(len(rows))
    for block in row_blocks(len(rows), BLOCK_VALUES // points.shape[1] + 1):
        differences = X[rows[block]].astype(np.float64) - points[numbers[block]].astype(np.float64)
        squares[block] = row_norms(differences, squared=True)
    return squares


def _lift(X: Any, lift: float | None) -> Any:
    return X if lift is None else lift_values(X, lift)


# ---- balls


@dataclass(frozen=True)
class Look:
    """Bounds of the distances between rows and the nearest points of balls."""

    nearest: IntArray  # the ball whose centre is nearest to a row
    lower: Floats  # for each row and ball: no point of the ball is nearer
    upper: Floats  # for each row: some point is not farther away


@dataclass(frozen=True)
class Balls:
    """Points of equal label that are near each other, each part within a ball around the mean of its points."""

    points: Expanded
    parts: list[IntArray]  # numbers of the points in each ball
    labels: IntArray  # of each ball
    centres: Expanded
    spread: Floats  # mean of the squared distances between points and centre
    radius: Floats  # largest distance between a point and the centre

    @classmethod
    def of(cls, points: Expanded, labels: IntArray, parts: list[IntArray]) -> Balls:
        """Return the balls around parts of points, given the numbers of these points."""
        # along rows, numpy adds in pairs, which rounds a few times only
        means = [np.ascontiguousarray(points.values[part].T).mean(axis=1, dtype=np.float64) for part in parts]
        squares = [row_norms(points.values[part] - mean, squared=True) for part, mean in zip(parts, means, strict=True)]
        dtype: Any = points.values.dtype
        rounded_up = 1 + 4 * np.finfo(dtype).eps
        return cls(
            points=points,
            parts=parts,
            labels=labels[[part[0] for part in parts]],
            centres=Expanded.of_points(np.stack(means).astype(dtype)),
            spread=(rounded_up * np.array([of_part.mean() for of_part in squares])).astype(dtype),
            radius=(rounded_up * np.sqrt([of_part.max() for of_part in squares])).astype(dtype),
        )

    def look(self, rows: Expanded) -> Look:
        """Compare rows with the centres of the balls.

        The points of a ball are at a mean squared distance of |x - centre|^2 + spread from a row x, so the nearest one
        is not farther away. None of them is nearer than |x - centre| - radius.
        """
        lower = rows.bound_squares(self.centres)
        nearest = lower.argmin(axis=1)
        with np.errstate(over="ignore", invalid="ignore"):
            upper = _root((lower + (self.spread + self.centres.error)).min(axis=1) + rows.error)
            return Look(nearest, _root(lower) - self.radius, upper)

    def find_undecided(self, look: Look) -> IntArray:
        """Return the rows whose nearest point may be in balls of several labels."""
        return find_undecided(look.lower, look.upper, self.labels)

    def compare(self, rows: Expanded, look: Look) -> None:
        """Compare undecided rows with the points of balls that may contain the nearest one; narrow the bounds."""
        # the nearest ball first, because it lowers the upper bound most
        undecided = self.find_undecided(look)
        for ball in np.unique(look.nearest[undecided]).tolist():
            self._compare_with(ball, rows, undecided[look.nearest[undecided] == ball], look)
        undecided = self.find_undecided(look)
        is_due = np.asfortranarray(~(look.lower[undecided] > look.upper[undecided, None]))
        is_due[np.arange(len(undecided)), look.nearest[undecided]] = False
        for ball in np.flatnonzero(is_due.any(axis=0)).tolist():
            due = undecided[is_due[:, ball]]
            still_due = ~(look.lower[due, ball] > look.upper[due])  # other balls may have lowered the upper bound
            self._compare_with(ball, rows, due[still_due], look)

    def _compare_with(self, ball: int, rows: Expanded, numbers: IntArray, look: Look) -> None:
        """Narrow the bounds of some rows by comparing them with the points of a ball."""
        points = self.points.take(self.parts[ball])
        for chunk in row_blocks(len(numbers), BLOCK_VALUES // len(points.error) + 1):
            some = rows.take(numbers[chunk])
            lower = some.bound_squares(points)
            _, upper = find_lowest(lower, some, points)
            look.lower[numbers[chunk], ball] = _root(lower.min(axis=1))
            look.upper[numbers[chunk]] = np.fmin(look.upper[numbers[chunk]], _root(upper))


def choose_balls(points: Expanded, labels: IntArray, search_cost: float | None) -> Balls | None:
    """Return a ball for each label, or for each label in each cell of points, whichever needs fewer comparisons.

    ``search_cost`` is the cost of a row that the first look leaves undecided, in comparisons; None means that it is
    compared with the points of balls. Returns None if balls do not even halve the cost of a search without them.
    """
    n_points, best, lowest_cost = len(labels), None, (search_cost or len(labels)) / 2
    if sparse.issparse(points.values) or not np.isfinite(points.squares.sum()):
        return None
    for keys in _divisions(points.values, labels):
        parts = split(keys)
        if len(parts) > min(n_points / 4, lowest_cost):
            break
        balls = Balls.of(points, labels, parts)
        cost = len(parts) + _try_out(balls, search_cost)
        if cost < lowest_cost:
            best, lowest_cost = balls, cost
        if cost < 2 * len(parts) or n_points / CELL_SIZE > lowest_cost:  # smaller parts cannot pay
            break
    return best


def _divisions(points: Any, labels: IntArray) -> Iterator[IntArray]:
    """Yield the label of each point as a number from 0, and then numbers for pairs of a label and a cell."""
    number: IntArray = np.unique(labels, return_inverse=True)[1]
    yield number
    cells = divide(points)
    yield number * cells.n_clusters + cells.labels_


def _try_out(balls: Balls, search_cost: float | None) -> float:
    """Return the mean cost of some points after the first look, as if they were other rows; a decided one costs 0."""
    points = balls.points
    chosen = np.arange(0, len(points.error), len(points.error) // N_TRIED + 1)
    rows = Expanded.of_rows(points.values[chosen], points.values.dtype)
    look = balls.look(rows)
    undecided = balls.find_undecided(look)
    if search_cost is not None:
        return search_cost * len(undecided) / len(chosen)
    costs = np.array([len(part) for part in balls.parts]) + BALL_COST
    cost = costs[look.nearest[undecided]].sum()
    squares = rows.bound_squares(points)
    squares[np.arange(len(chosen)), chosen] = np.inf
    np.fmin(look.upper, _root(squares.min(axis=1)), out=look.upper)  # a new row finds a point at about this distance
    undecided = balls.find_undecided(look)
    cost += (~(look.lower[undecided] > look.upper[undecided, None]) @ costs).sum()
    return float(cost) / len(chosen)


def _root(squares: Floats) -> Floats:
    """Return distances; bounds of squares can be negative."""
    root: Floats = np.sqrt(np.maximum(squares, 0))
    return root
