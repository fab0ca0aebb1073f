"""Balls: which labels can the nearest point of a row have? A first look that decides most rows.

Points of one label that are near each other are in a ball. The distances between a row and the centres of the balls
give bounds of the distances between the row and all points (triangle inequality). If only balls of one label can
contain the nearest point, the row is decided by this first look; if clusters are well separated, that is nearly every
row. The other rows are compared with points: by a k-d tree if there are few features, and otherwise with the points of
the nearest ball, and then of each other ball that can still contain the nearest point.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms

from cohirf.neighbours.landmarks import BLOCK_VALUES, Expanded, find_lowest, find_undecided, split
from cohirf.rows.arrays import Floats
from cohirf.rows.grouping import IntArray, row_blocks

CELL_SIZE = 128  # points of a cell on average; with half of it, errors were twice as large, and time was the same
MAX_ITER = 10  # of K-Means: cells need not be the best ones
BALL_COST = 50  # measured: to begin with another ball takes a row as long as a comparison with 50 points
N_TRIED = 200  # points on which balls are tried out


def divide_points(points: Any) -> KMeans:
    """Divide points into cells."""
    method = KMeans(len(points) // CELL_SIZE + 1, n_init=1, max_iter=MAX_ITER, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # points may be equal, so that cells are empty
        return method.fit(points)


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
    cells = divide_points(points)
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
