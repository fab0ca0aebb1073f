"""Cells of labelled points: a row is compared with their centres first, and with few of their points after that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.nearest_label.expanded import BLOCK_VALUES, Expanded, Floats, Mask, find_lowest, find_undecided

CELL_COST = 50  # measured: to begin with another cell takes a row about as long as a comparison with so many points
N_TRIED = 200  # points on which cells are tried out


@dataclass(frozen=True)
class Look:
    """Bounds of the distances between rows and the nearest points of cells."""

    nearest: IntArray  # the cell whose centre is nearest to a row
    lower: Floats  # for each row and cell: no point of the cell is nearer
    upper: Floats  # for each row: some point is not farther away

    def undecided(self, labels: IntArray) -> IntArray:
        """Return the rows whose nearest point may be in cells of several labels."""
        return find_undecided(self.lower, self.upper, labels)

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
            _, upper = find_lowest(lower, some, points)
            look.lower[numbers[chunk], cell] = _root(lower.min(axis=1))
            look.upper[numbers[chunk]] = np.fmin(look.upper[numbers[chunk]], _root(upper))


def divide(points: Expanded, labels: IntArray, search_cost: float | None) -> Cells | None:
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
