"""Points in float32, whose distances tell the nearest point of nearly every row.

Products of float32 take half the time of those of float64. Rows and points are shifted by the mean
of the points and scaled, so that few digits are lost, and values near the points do not overflow.
What rounding leaves undecided is told, and has to be compared again.

A block of distances fits the cache of a processor core: in memory, each of the passes over it would
take longer than the product that made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.blocks import IntArray, row_blocks
from cohirf.rows.threads import count_threads

Float32s = NDArray[np.float32]

FEW_POINTS = 64  # each has a long row of distances: up to twice as fast as a short row for each row
# Distances of a block: 2 MB, about a cache. Twice as many took up to 1.4 times as long.
CACHED_DISTANCES = 2**19
CACHED_ROWS = 2**13  # of a block, at most
# The same for each of several threads. They wait for each other between the steps of a block: with
# 16 threads, and blocks that fit the cache, a fit with 100 clusters took twice as long.
SHARED_DISTANCES = 2**21
SHARED_ROWS = 2**15
BLOCK_CELLS = 2**22  # of a block of rows, at most: 16 MB
LARGE = 2.0**30  # the squares of values up to this, and of their inverse, are normal numbers
LARGEST_EXPONENT = 1023  # of float64
SMALLEST_ERROR = 2.0**-100  # of products of numbers that are almost 0


@dataclass(frozen=True)
class ShortPoints:
    """Labelled points, near the origin and in float32.

    The squared distance of a row x to a point y, less |x|^2, is the product of (x, 1) and a row of
    ``terms``, lowered by half of the error of y. The true value is below the product by no more
    than half the error of x, and above it by no more than that and the error of y.
    """

    labels: IntArray
    origin: NDArray[Any]  # about the mean of the points
    scale: float  # a power of two, so that no digit is lost
    shifted: NDArray[np.float64]  # the points near the origin
    terms: Float32s  # -2 y and |y|^2, less half of the error
    error: Float32s  # how far rounding can change a squared distance: the part due to each point
    rounding: np.float32  # the part due to a row, for each unit of its square

    @classmethod
    def of(cls, points: NDArray[Any], labels: IntArray) -> ShortPoints:
        """Prepare finite points."""
        with np.errstate(over="ignore", invalid="ignore"):
            origin = points.mean(axis=0, dtype=np.float64)
            farthest = np.abs(origin).max()
            if farthest == 0 or 1 / LARGE < farthest < LARGE:
                origin = origin.astype(np.float32)  # so that rows of float32 need no conversion
            shifted = points - origin.astype(np.float64)
            largest = np.abs(shifted).max()
            scale = 1.0
            if not 1 / LARGE < largest < LARGE:
                scale = np.ldexp(1.0, min(LARGEST_EXPONENT, -int(np.frexp(largest)[1])))
            shifted *= scale
            short = shifted.astype(np.float32)
            squares = np.square(short, dtype=np.float64).sum(axis=1)
            rounding = _bound_rounding(points.shape[1])
            error = 2 * rounding * squares + SMALLEST_ERROR
            terms = np.column_stack([-2 * short, squares - error / 2])
        return cls(
            labels,
            origin,
            scale,
            shifted,
            terms.astype(np.float32),
            error.astype(np.float32),
            np.float32(rounding),
        )

    def label(self, X: NDArray[Any]) -> tuple[IntArray, IntArray]:
        """Return the label of the point nearest to each row, and the rows for which it may be
        another one.
        """
        alone = count_threads() == 1
        n_points = len(self.labels)
        most_rows = min(
            len(X),
            CACHED_ROWS if alone else SHARED_ROWS,
            BLOCK_CELLS // X.shape[1] + 1,
        )
        step = min(most_rows, (CACHED_DISTANCES if alone else SHARED_DISTANCES) // n_points + 1)
        compare = self._compare
        if n_points <= FEW_POINTS:
            compare = self._compare_with_few
            step = most_rows
        rows = np.ones((most_rows, X.shape[1] + 1), dtype=np.float32)
        # new memory for each block would be cleared by the system, for one thread at a time
        room = np.empty(step * n_points, dtype=np.float32)
        nearest = np.empty(len(X), dtype=np.intp)
        undecided = [np.empty(0, dtype=np.intp)]
        # what overflows is infinite or NaN, and so undecided
        with np.errstate(over="ignore", invalid="ignore"):
            for block in row_blocks(len(X), max(1, most_rows)):
                short = rows[: block.stop - block.start]
                self._shorten(X[block], short[:, :-1])
                nearest[block], of_block = compare(short, step, room)
                undecided.append(of_block + block.start)
        return self.labels[nearest], np.concatenate(undecided)

    def compare_exactly(self, X: NDArray[Any]) -> IntArray:
        """Return the label of the point nearest to each row, the first of equally near ones.

        Products of float64 tell which points it can be, and differences which it is: the result
        does not depend on the other rows.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self._shift(X)
            squares = np.square(self.shifted).sum(axis=1)
            rounded = _bound_rounding(X.shape[1], np.float64)
            error = 2 * rounded * (np.square(rows).sum(axis=1)[:, None] + squares)
            lower = rows @ (-2 * self.shifted.T) + squares - error
            upper = (lower + 2 * error).min(axis=1)
            row, point = np.nonzero(~(lower > upper[:, None]))  # NaN never is above
            distances = np.empty(len(row))
            for pairs in row_blocks(len(row), BLOCK_CELLS // X.shape[1] + 1):
                difference = rows[row[pairs]] - self.shifted[point[pairs]]
                distances[pairs] = np.einsum("ij,ij->i", difference, difference)
        order = np.lexsort((distances, row))  # stable
        first = order[np.flatnonzero(np.diff(row, prepend=-1))]
        nearest: IntArray = self.labels[point[first]]
        return nearest

    def _shift(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray((X - self.origin.astype(np.float64)) * self.scale)

    def _shorten(self, X: NDArray[Any], out: Float32s) -> None:
        """Write rows in float32, near the origin."""
        if self.scale == 1:
            np.subtract(X, self.origin, out=out, casting="same_kind")
        else:
            out[:] = self._shift(X)

    def _compare(self, rows: Float32s, step: int, room: Float32s) -> tuple[IntArray, IntArray]:
        """Return the nearest point of each row, and the rows for which it is undecided."""
        nearest = np.empty(len(rows), dtype=np.intp)
        lowest = np.empty(len(rows), dtype=np.float32)
        second = np.empty(len(rows), dtype=np.float32)
        numbers = np.arange(step)
        for block in row_blocks(len(rows), step):
            n_rows = block.stop - block.start
            lower = room[: n_rows * len(self.labels)].reshape(n_rows, -1)
            np.matmul(rows[block], self.terms.T, out=lower)
            lower.argmin(axis=1, out=nearest[block])
            of_nearest = numbers[:n_rows], nearest[block]
            lowest[block] = lower[of_nearest]
            lower[of_nearest] = np.inf
            lower.min(axis=1, out=second[block])
        upper = lowest + (self.error[nearest] + self._errors_of(rows))
        return nearest, np.flatnonzero(~(second > upper))  # NaN is never above

    def _compare_with_few(
        self, rows: Float32s, step: int, room: Float32s
    ) -> tuple[IntArray, IntArray]:
        """Return the same where each of few points takes a pass over all rows."""
        lower = room[: len(rows) * len(self.labels)].reshape(-1, len(rows))
        np.matmul(self.terms, rows.T, out=lower)
        upper = lower.min(axis=0) + (self.error.max() + self._errors_of(rows))
        # 1 or 0; NaN is never near
        may_be_nearest = np.less_equal(lower, upper, out=lower)
        # A product has the number of the only near point, and how many are near: in one long step,
        # threads wait less for each other than in a step for each point.
        number, n_near = self._counted @ may_be_nearest
        undecided = np.flatnonzero(n_near != 1)
        number[undecided] = 0
        return number.astype(np.intp), undecided

    @cached_property
    def _counted(self) -> Float32s:
        """The number of each point, and a one for it."""
        n_points = len(self.labels)
        return np.stack([np.arange(n_points), np.ones(n_points)]).astype(np.float32)

    def _errors_of(self, rows: Float32s) -> Float32s:
        values = rows[:, :-1]
        return np.asarray(self.rounding * np.einsum("ij,ij->i", values, values))


def _bound_rounding(n_features: int, dtype: Any = np.float32) -> float:
    """Return how far rounding can change the squared distances of a row, relative to its square.

    With n features, 2 x.y is rounded n times, as |y|^2 is, and x and y are rounded once before. The
    factor n + 32 is more than all of this together, if points have twice as much. The square of the
    row is rounded, too.
    """
    unit = float(np.finfo(dtype).eps)
    return (n_features + 32) * unit / max(0.5, 1 - n_features * unit / 2)
