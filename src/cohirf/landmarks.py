"""Points from which rows take their label: centres of cells, or landmarks, which are rows of the
data.

If groups of rows are cells, each row of a fit belongs to the group of the nearest point, and so
does a new row. Other methods have groups of any shape, which a medoid represents poorly: the
medoids of two concentric spheres are just two points. So a fit keeps a bounded number of its rows,
sampled so that every final cluster has some.

The search for the nearest point is exact. Expanded squares, |x|^2 - 2 x.y + |y|^2, are fast,
because a product of matrices has them all, but they lose digits. So they are lowered by the largest
possible rounding error, which makes them lower bounds. What these leave undecided is compared again
by exact differences.

Many rows are compared with *balls* first: points of one label that are near each other are in a
ball. The distances between a row and the centres of the balls give bounds of the distances between
the row and all points (triangle inequality). If only balls of one label can contain the nearest
point, the row is decided by this first look; if clusters are well separated, that is nearly every
row. The other rows are compared with points: by a k-d tree if there are few features, and otherwise
with the points of the nearest ball, and then of each other ball that can still contain the nearest
point.

What balls do not decide, or all rows if there are few points, is compared in float32 before; dense
rows by ``rows/short_points.py``, so that the bounds of this file are those of few of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.rows import ranges
from cohirf.rows.arrays import Floats, as_array, take_rows, to_host
from cohirf.rows.containers import container_of
from cohirf.rows.containers.sparse_products import Columns
from cohirf.rows.distances import DifferenceOffsets, find_offsets, measure_distances
from cohirf.rows.grouping import IntArray, count_with_noise, row_blocks, rows_by_label
from cohirf.rows.metric_spaces import SPACES
from cohirf.rows.policy import BLOCK
from cohirf.rows.short_points import FEW_POINTS, ShortPoints
from cohirf.rows.threads import map_blocks, map_in_threads


@dataclass(frozen=True)
class LandmarkPolicy:
    """How many landmarks there are, and how the nearest is found.

    The first two change results; ``benchmarks/notes/predict.rst`` has times of the search.
    """

    landmarks: int = 10_000  # of a fit, at most
    neighbours: int = 20  # landmarks that a row is compared with, to say whether it is an outlier
    # with more features, products with the points are faster than a tree; with fewer points, too
    tree_features: int = 6
    tree_points: int = 500
    ball_rows: int = 1000  # with fewer, to prepare balls takes longer than the search
    searched_rows: int = 2**14  # at a time
    block_values: int = 2**21  # of a temporary matrix
    compared_values: int = 2**20  # bounds of rows that are left undecided
    # points of a cell on average; with half of it, errors were twice as large, and time was the
    # same
    cell_points: int = 128
    cell_iterations: int = 10  # of K-Means: cells need not be the best ones
    # measured: to begin with another ball takes a row as long as a comparison with 50 points
    ball_cost: int = 50
    tried_points: int = 200  # on which balls are tried out


LANDMARK = LandmarkPolicy()


def sample_landmarks(
    labels: Any,
    medoids: IntArray,
    rng: np.random.Generator,
    *,
    candidates: IntArray | None = None,
    max_landmarks: int = LANDMARK.landmarks,
    sizes: IntArray | None = None,
) -> IntArray:
    """Return sorted row numbers: all ``candidates``, or a sample of them that contains rows of
    every cluster.

    One half of the sample is divided equally among clusters, the other half in proportion to their
    size; rows labelled -1 count as one cluster. Every medoid is in the sample, even if there are
    more clusters than ``max_landmarks``. Without ``candidates``, all rows are candidates.
    The ``sizes`` of clusters, among candidates, are counted unless they are known.
    """
    if candidates is not None:
        labels = take_rows(labels, candidates)
        medoids = np.searchsorted(candidates, medoids)
    n_rows = labels.shape[0]
    n_groups = len(medoids) + 1
    if n_rows <= max_landmarks:
        return np.arange(n_rows) if candidates is None else candidates
    if sizes is None:
        sizes = count_with_noise(labels, len(medoids))[1:]
    sizes = np.append(sizes, n_rows - sizes.sum())  # noise is the last group
    budget = max(0, max_landmarks - len(medoids))
    share = (budget * (0.5 / n_groups + 0.5 * sizes / n_rows)).astype(np.int64) * (sizes > 0)
    cluster = np.repeat(np.arange(n_groups), share)
    ranks = (rng.random(len(cluster)) * sizes[cluster]).astype(np.int64)
    found = np.unique(np.concatenate([find_ranked(labels, cluster, ranks, n_groups), medoids]))
    return found if candidates is None else candidates[found]


def find_ranked(labels: Any, group: IntArray, ranks: IntArray, n_groups: int) -> IntArray:
    """Return the row with each rank among the rows of a group: a label or, for the last group,
    -1.
    """
    return container_of(labels).find_ranked(labels, group, ranks, n_groups)


def choose_evenly(clusters: IntArray, masses: NDArray[np.float64]) -> IntArray:
    """Return sorted numbers of landmarks, each of which stands for about the same number of rows.

    A cluster with few rows keeps as many as its rows are compared with. Noise is left out, unless
    all rows are noise.
    """
    if len(masses) == 0:
        return np.arange(len(clusters))
    clustered = np.flatnonzero(clusters >= 0)
    counts = np.bincount(clusters[clustered], minlength=len(masses))
    rows_of_each = masses / counts
    kept = np.ceil(counts * rows_of_each / rows_of_each.max()).astype(np.int64)
    kept = np.minimum(counts, np.maximum(kept, LANDMARK.neighbours + 1))
    starts, order = rows_by_label(clusters[clustered], len(masses))
    parts = [
        order[start + (np.arange(n_kept) * n_all) // n_kept]
        for start, n_all, n_kept in zip(
            starts[:-1].tolist(), counts.tolist(), kept.tolist(), strict=True
        )
    ]
    return np.sort(clustered[np.concatenate(parts)])


def split(keys: IntArray) -> list[IntArray]:
    """Return the sorted numbers of the rows with each key, which is not negative, in the order of
    the keys.
    """
    if len(keys) == 0:
        return []
    # NumPy sorts 16 bits in linear time
    if keys.max() < 2**16:
        short: NDArray[Any] = keys.astype(np.uint16)
    else:
        short = keys
    order = np.argsort(short, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


# ---- the nearest point


@dataclass(frozen=True)
class Expanded:
    """Rows or points, and the terms of their expanded squares.

    What overflows becomes infinity or NaN. These are never above another number, so they rule
    nothing out.
    """

    values: Any  # an array or a CSR matrix
    # -2 x, 1 and |x|^2 for a row x; y, |y|^2 and 1 for a point y. Of CSR matrices, x alone, and
    # -2 y as columns: a sparse product would take longer for the two that all have.
    terms: Any
    squares: Floats  # |x|^2 or |y|^2, less half of the error
    # how far a squared distance can be above its lower bound: the part due to this row or point
    error: Floats

    @property
    def has_all_cells(self) -> bool:
        """Whether each cell is stored, as in arrays; a CSR matrix stores some."""
        return container_of(self.values).is_dense

    @classmethod
    def of_points(cls, points: Any, dtype: Any = None) -> Expanded:
        """Expand points, in their type or in another one."""
        with np.errstate(over="ignore", invalid="ignore"):
            converted = points if dtype is None else points.astype(dtype, copy=False)
            squares, error = _square(converted)
            if not container_of(points).is_dense:
                return cls(points, Columns.of(-2 * converted), squares, error)
            return cls(
                points, _join_terms(converted, squares, np.ones_like(squares)), squares, error
            )

    @classmethod
    def of_rows(cls, X: Any, dtype: Any) -> Expanded:
        """Expand rows, in the type of the points."""
        with np.errstate(over="ignore", invalid="ignore"):
            converted = X.astype(dtype, copy=False)
            squares, error = _square(converted)
            if not container_of(X).is_dense:
                return cls(X, converted, squares, error)
            return cls(
                X, _join_terms(-2 * converted, np.ones_like(squares), squares), squares, error
            )

    @property
    def dtype(self) -> Any:
        """The type of the terms."""
        return self.terms.dtype

    def take(self, rows: IntArray | slice) -> Expanded:
        """Return some of the rows."""
        return Expanded(self.values[rows], self.terms[rows], self.squares[rows], self.error[rows])

    def bound_squares(self, points: Expanded) -> Floats:
        """Return lower bounds of the squared distances of all rows to all points, which can be
        negative.

        No squared distance is above its lower bound by more than the errors of its row and of its
        point. Bounds of sparse rows lack |x|^2, which is the same for all points of a row.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            if not self.has_all_cells:
                lower: Floats = points.terms.products(self.terms)
                lower += points.squares
                return lower
            return np.asarray(self.terms @ points.terms.T)


def find_lowest(lower: Floats, rows: Expanded, points: Expanded) -> tuple[IntArray, Floats]:
    """Return the point with the lowest bound for each row, and an upper bound of its squared
    distance.
    """
    nearest = lower.argmin(axis=1)
    upper: Floats = lower[np.arange(len(nearest)), nearest] + points.error[nearest] + rows.error
    return nearest, upper


def find_close(lower: Floats, nearest: IntArray, upper: Floats) -> IntArray:
    """Return the rows for which another point than the nearest one is not above the upper bound.

    NaN never is.
    """
    rows = np.arange(len(nearest))
    of_nearest = lower[rows, nearest]
    lower[rows, nearest] = np.inf
    second = lower.min(axis=1)  # NaN if there is one
    lower[rows, nearest] = of_nearest
    return np.flatnonzero(~(second > upper))


def find_undecided(lower: Floats, upper: Floats, labels: IntArray) -> IntArray:
    """Return the rows for which columns of several labels are not above the upper bound.

    Infinity and NaN never are.
    """
    is_above = lower > upper[:, None]
    several = np.flatnonzero(np.count_nonzero(is_above, axis=1) < len(labels) - 1)
    may_be_nearest = ~is_above[several]
    has_other_label = labels != labels[may_be_nearest.argmax(axis=1)][:, None]
    return np.asarray(several[(may_be_nearest & has_other_label).any(axis=1)])


def _square(X: Any) -> tuple[Floats, Floats]:
    """Return |x|^2, less half of the error, and the error, which is the part due to x in all
    squared distances.

    Rounding changes a value by eps / 2 of its size, or by the smallest number. A scalar product of
    n features is rounded n times, and so are |x|^2 and |y|^2; means are rounded, and values can be
    converted to a shorter type. The factor 2 (n + 32) is more than all of this together, in each
    direction. Features that are not stored are not rounded: of a sparse row and a sparse point,
    each may count its own.
    """
    limits = np.finfo(X.dtype)
    squares: Floats = row_norms(X, squared=True)
    # a product with such a row or point may overflow, and its bound would be infinite
    squares[squares > limits.max / 8] = np.inf
    n_terms = container_of(X).count_cells(X)
    error: Floats = 4 * (n_terms + 32) * (limits.eps * squares + limits.smallest_normal)
    return squares - error / 2, error


def _join_terms(values: Any, *columns: Floats) -> Any:
    return container_of(values).append_columns(values, list(columns))


@dataclass(frozen=True)
class NearestLabel:
    """Labelled points, prepared for a search."""

    points: Expanded  # the points, without offsets
    labels: IntArray  # the label of each point
    tree: KDTree | None  # finds the nearest point if there are few features
    offsets: DifferenceOffsets  # what is subtracted from rows (see distances.py)

    @classmethod
    def build(cls, points: Any, labels: IntArray) -> NearestLabel:
        """Prepare a search for the nearest of ``points``, an array or a CSR matrix of finite
        values.
        """
        offsets = find_offsets(points)
        points = offsets.subtract(points)
        uses_tree = (
            points.shape[1] <= LANDMARK.tree_features and points.shape[0] > LANDMARK.tree_points
        )
        tree = KDTree(as_array(points)) if uses_tree else None
        # bounds of sparse points are in float32, which decide nearly all rows in half of the time
        dtype = None if container_of(points).is_dense else np.float32
        return cls(Expanded.of_points(points, dtype), labels, tree, offsets)

    @cached_property
    def _short(self) -> ShortPoints | None:
        """The points in float32; None if they are sparse."""
        if not self.points.has_all_cells:
            return None
        return ShortPoints.of(self.points.values, self.labels)

    @cached_property
    def _long(self) -> Expanded:
        """Sparse points with terms in float64, for rows that float32 leaves undecided."""
        return Expanded.of_points(self.points.values, np.float64)

    @cached_property
    def balls(self) -> Balls | None:
        """What each of many rows is compared with first.

        None if that does not make the search faster.
        """
        # measured: a search in a tree takes about as long as a comparison with this many centres
        if self.tree is None:
            tree_cost = None
        else:
            tree_cost = 20 * 1.6 ** self.points.values.shape[1]
        return choose_balls(self.points, self.labels, tree_cost)

    def label(self, X: Any) -> IntArray:
        """Return the label of the point nearest to each row, in Euclidean distance.

        The first of equally near ones.
        """
        if X.shape[0] < LANDMARK.ball_rows or self.balls is None:
            find = self._search
        else:
            find = self._look_and_search
        found = np.empty(X.shape[0], dtype=self.labels.dtype)

        def label_some(block: slice) -> None:
            found[block] = find(self.prepare(take_rows(X, block)))

        has_few = len(self.labels) <= FEW_POINTS
        map_blocks(label_some, X.shape[0], BLOCK.thread_rows if has_few else LANDMARK.searched_rows)
        return found

    def prepare(self, X: Any) -> Any:
        """Return rows as the points are: in the same container, and without offsets."""
        points = self.points.values
        return self.offsets.subtract(container_of(points).like(points, X))

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
        if self._short is None:
            return self._search_sparse(X)
        found, undecided = self._short.label(X)
        found[undecided] = self._compare_with_all(X[undecided])
        return found

    def _compare_with_all(self, X: Any) -> IntArray:
        """Return the label of the nearest point, from bounds in the type of the points."""
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        step = LANDMARK.compared_values // len(self.labels) + 1
        for start in range(0, len(found), step):
            chunk = slice(start, start + step)
            rows = Expanded.of_rows(X[chunk], self.points.dtype)
            found[chunk] = _label_among(rows, self.points, self.labels)
        return found

    def _search_sparse(self, X: Any) -> IntArray:
        """Return the label of the nearest of all sparse points."""
        found = np.empty(X.shape[0], dtype=self.labels.dtype)
        for chunk in row_blocks(len(found), LANDMARK.compared_values // len(self.labels) + 1):
            some = take_rows(X, chunk)
            rows = Expanded.of_rows(some, self.points.dtype)
            lower = rows.bound_squares(self.points)
            nearest, upper = find_lowest(lower, rows, self.points)
            several = find_close(lower, nearest, upper)
            undecided = several[find_undecided(lower[several], upper[several], self.labels)]
            labels = self.labels[nearest]
            if len(undecided):
                rows = Expanded.of_rows(some[undecided], np.float64)
                labels[undecided] = _label_among(rows, self._long, self.labels)
            found[chunk] = labels
        return found


def _label_among(rows: Expanded, points: Expanded, labels: IntArray) -> IntArray:
    """Return the label of the point nearest to each row, by comparison with all points."""
    lower = rows.bound_squares(points)
    nearest, upper = find_lowest(lower, rows, points)
    several = find_close(lower, nearest, upper)
    undecided = several[find_undecided(lower[several], upper[several], labels)]
    of_rows, close = np.nonzero(~(lower[undecided] > upper[undecided, None]))
    squares = _measure_pairs(rows.values[undecided], of_rows, points.values, close)
    # stable: the first point of several with the lowest distance
    order = np.lexsort((squares, of_rows))
    nearest[undecided] = close[order[np.flatnonzero(np.diff(of_rows, prepend=-1))]]
    return np.asarray(labels[nearest])


def _measure_pairs(X: Any, rows: IntArray, points: Any, numbers: IntArray) -> Floats:
    """Return the squared distance of each pair of a row and a point, from exact differences."""
    squares = np.empty(len(rows))
    n_cells = max(
        container_of(some).stored(some).size // max(1, some.shape[0]) for some in (X, points)
    )
    step = LANDMARK.block_values // (n_cells + 1) + 1
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        differences = X[rows[block]].astype(np.float64) - points[numbers[block]].astype(np.float64)
        squares[block] = row_norms(differences, squared=True)
    return squares


# ---- a first look at balls


def divide_points(points: Any) -> KMeans:
    """Divide points into cells."""
    method = KMeans(
        len(points) // LANDMARK.cell_points + 1,
        n_init=1,
        max_iter=LANDMARK.cell_iterations,
        random_state=0,
    )
    with warnings.catch_warnings():
        # points may be equal, so that cells are empty
        warnings.simplefilter("ignore", ConvergenceWarning)
        return method.fit(points)


@dataclass(frozen=True)
class Look:
    """Bounds of the distances between rows and the nearest points of balls."""

    nearest: IntArray  # the ball whose centre is nearest to a row
    lower: Floats  # for each row and ball: no point of the ball is nearer
    upper: Floats  # for each row: some point is not farther away


@dataclass(frozen=True)
class Balls:
    """Points of equal label that are near each other, each part within a ball around the mean of
    its points.
    """

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
        means = [
            np.ascontiguousarray(points.values[part].T).mean(axis=1, dtype=np.float64)
            for part in parts
        ]
        squares = [
            row_norms(points.values[part] - mean, squared=True)
            for part, mean in zip(parts, means, strict=True)
        ]
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

        The points of a ball are at a mean squared distance of |x - centre|^2 + spread from a row x,
        so the nearest one is not farther away. None of them is nearer than |x - centre| - radius.
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
        """Compare undecided rows with the points of balls that may contain the nearest one.

        Narrow the bounds.
        """
        # the nearest ball first, because it lowers the upper bound most
        undecided = self.find_undecided(look)
        for ball in np.unique(look.nearest[undecided]).tolist():
            self._compare_with(ball, rows, undecided[look.nearest[undecided] == ball], look)
        undecided = self.find_undecided(look)
        is_due = np.asfortranarray(~(look.lower[undecided] > look.upper[undecided, None]))
        is_due[np.arange(len(undecided)), look.nearest[undecided]] = False
        for ball in np.flatnonzero(is_due.any(axis=0)).tolist():
            due = undecided[is_due[:, ball]]
            # other balls may have lowered the upper bound
            still_due = ~(look.lower[due, ball] > look.upper[due])
            self._compare_with(ball, rows, due[still_due], look)

    def _compare_with(self, ball: int, rows: Expanded, numbers: IntArray, look: Look) -> None:
        """Narrow the bounds of some rows by comparing them with the points of a ball."""
        points = self.points.take(self.parts[ball])
        for chunk in row_blocks(len(numbers), LANDMARK.block_values // len(points.error) + 1):
            some = rows.take(numbers[chunk])
            lower = some.bound_squares(points)
            _, upper = find_lowest(lower, some, points)
            look.lower[numbers[chunk], ball] = _root(lower.min(axis=1))
            look.upper[numbers[chunk]] = np.fmin(look.upper[numbers[chunk]], _root(upper))


def choose_balls(points: Expanded, labels: IntArray, search_cost: float | None) -> Balls | None:
    """Return a ball for each label, or for each label in each cell of points, whichever needs fewer
    comparisons.

    ``search_cost`` is the cost of a row that the first look leaves undecided, in comparisons; None
    means that it is compared with the points of balls. Returns None if balls do not even halve the
    cost of a search without them.
    """
    n_points = len(labels)
    best = None
    lowest_cost = (search_cost or len(labels)) / 2
    if not points.has_all_cells or not np.isfinite(points.squares.sum()):
        return None
    for keys in _divisions(points.values, labels):
        parts = split(keys)
        if len(parts) > min(n_points / 4, lowest_cost):
            break
        balls = Balls.of(points, labels, parts)
        cost = len(parts) + _try_out(balls, search_cost)
        if cost < lowest_cost:
            best = balls
            lowest_cost = cost
        if (
            cost < 2 * len(parts) or n_points / LANDMARK.cell_points > lowest_cost
        ):  # smaller parts cannot pay
            break
    return best


def _divisions(points: Any, labels: IntArray) -> Iterator[IntArray]:
    """Yield the label of each point as a number from 0, and then numbers for pairs of a label and a
    cell.
    """
    number: IntArray = np.unique(labels, return_inverse=True)[1]
    yield number
    cells = divide_points(points)
    yield number * cells.n_clusters + cells.labels_


def _try_out(balls: Balls, search_cost: float | None) -> float:
    """Return the mean cost of some points after the first look, as if they were other rows.

    A decided one costs 0.
    """
    points = balls.points
    chosen = np.arange(0, len(points.error), len(points.error) // LANDMARK.tried_points + 1)
    rows = Expanded.of_rows(points.values[chosen], points.values.dtype)
    look = balls.look(rows)
    undecided = balls.find_undecided(look)
    if search_cost is not None:
        return search_cost * len(undecided) / len(chosen)
    costs = np.array([len(part) for part in balls.parts]) + LANDMARK.ball_cost
    cost = costs[look.nearest[undecided]].sum()
    squares = rows.bound_squares(points)
    squares[np.arange(len(chosen)), chosen] = np.inf
    # a new row finds a point at about this distance
    np.fmin(look.upper, _root(squares.min(axis=1)), out=look.upper)
    undecided = balls.find_undecided(look)
    cost += (~(look.lower[undecided] > look.upper[undecided, None]) @ costs).sum()
    return float(cost) / len(chosen)


def _root(squares: Floats) -> Floats:
    """Return distances; bounds of squares can be negative."""
    root: Floats = np.sqrt(np.maximum(squares, 0))
    return root


# ---- points with labels


@dataclass(frozen=True)
class Cells:
    """Points that divide space: a row belongs to the nearest one, and has its label.

    Ties go to the first point. Which point is nearest does not depend on the other rows, nor on
    rounding. So rows get the same label in a fit and afterwards, in blocks of any size.
    """

    points: Annotated[Any, ranges.measures("labels", "n_features")]
    labels: Annotated[IntArray, ranges.labels(ranges.ANY, among="cluster_numbers")]
    # of each point, added to the squared distance of a row; None if all are 0
    prices: Annotated[NDArray[np.float64] | None, ranges.measures("labels")] = field(
        default=None, kw_only=True
    )

    def renamed(self, names: IntArray) -> Self:
        """Return the same with another name for each label; -1 stays."""
        labels = np.where(self.labels < 0, self.labels, names[self.labels]).astype(
            self.labels.dtype
        )
        return replace(self, labels=labels)

    @cached_property
    def search(self) -> NearestLabel:
        """Finds the label of the point nearest to a row."""
        if self.prices is None:
            return NearestLabel.build(self.points, self.labels)
        # a price is the square of a distance in one more direction, in which rows are at 0
        roots = np.sqrt(self.prices - self.prices.min())
        points = container_of(self.points).append_columns(self.points, [roots])
        return NearestLabel.build(points, self.labels)

    def label(self, X: Any) -> Any:
        """Return the label of the point nearest to each row, in Euclidean distance, where the rows
        are.
        """
        if self.prices is not None:
            here = to_host(X)
            zeros = np.zeros(here.shape[0], dtype=here.dtype)
            return self.search.label(container_of(here).append_columns(here, [zeros]))
        return container_of(X).label_by_cells(X, self)


@dataclass(frozen=True)
class NestedCells:
    """Cells within cells: a row belongs to the nearest centre, and then to the nearest of the
    points of this one.
    """

    centres: Cells  # the centres; their numbers are their labels
    points: Any  # the points; their numbers are the labels of rows
    owner: IntArray  # the centre of each point; every centre has points

    @cached_property
    def parts(self) -> list[Cells]:
        """The points of each centre."""
        return [Cells(self.points[own], own) for own in split(self.owner)]

    def label(self, X: Any) -> Any:
        """Return the number of the point of each row, where the rows are."""
        return container_of(X).label_by_nested_cells(X, self)

    def label_in_parts(self, X: Any) -> IntArray:
        """Return the number of the point of each row of this process, centre by centre."""
        nearest = self.centres.label(X)
        found = np.empty(X.shape[0], dtype=np.int64)

        def find_points(rows: IntArray) -> None:
            part = self.parts[nearest[rows[0]]]
            if len(part.labels) == 1:
                found[rows] = part.labels[0]
            else:
                found[rows] = part.label(X[rows])

        of_centres = split(nearest)
        map_in_threads(
            find_points,
            [
                rows[block]
                for rows in of_centres
                for block in row_blocks(len(rows), BLOCK.thread_rows)
            ],
        )
        return found


@dataclass(frozen=True)
class Landmarks(Cells):
    """Rows of a fit and their labels.

    And cells, if rows have the label of their cell, and not of a landmark.
    """

    cells: Cells | None = None
    metric: Annotated[str, ranges.OneOf(tuple(SPACES))] = (
        "euclidean"  # by which the nearest landmark is found
    )

    @property
    def in_space(self) -> Landmarks:
        """The same as points whose Euclidean distances are compared."""
        return self if SPACES[self.metric].embed is None else self._moved

    @cached_property
    def _moved(self) -> Landmarks:
        return Landmarks(self.move(self.points), self.labels)

    @property
    def move(self) -> Callable[[Any], Any]:
        """Returns the points of rows, as those of landmarks in ``in_space``."""
        return SPACES[self.metric].points

    def renamed(self, names: IntArray) -> Self:
        """Return the same with another name for each label; -1 stays."""
        return replace(
            super().renamed(names), cells=None if self.cells is None else self.cells.renamed(names)
        )

    def label(self, X: Any) -> Any:
        """Return the label of each row's cell, or of the landmark nearest to it, where the rows
        are.
        """
        if self.in_space is not self:
            return self.in_space.label(self.move(X))
        return super().label(X) if self.cells is None else self.cells.label(X)


# ---- tasks that may be sent to the workers of a cluster


def label_new_rows(X: Any, landmarks: Landmarks, column_means: Any) -> Any:
    """Return the label of each row's cell, or of the landmark nearest to it.

    Rows on a device have no missing cells.
    """
    return landmarks.label(fill_missing(X, column_means))


def measure_new_rows(X: Any, medoids: Any, column_means: Any) -> Any:
    """Return the Euclidean distance of each row to each medoid, where the rows are."""
    return measure_distances(fill_missing(X, column_means), fill_missing(medoids, column_means))
