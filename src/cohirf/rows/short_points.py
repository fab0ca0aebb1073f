"""Points in float32, whose distances tell the nearest point of nearly every row.

Products of float32 take half the time of those of float64. Rows and points are shifted by the mean
of the points and scaled, so that few digits are lost and nothing overflows near the points. What
rounding leaves undecided is told, and has to be compared again.

A block of distances fits the cache of a processor core: in memory, each of the passes over it would
take longer than the product that made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.blocks import IntArray, row_blocks

Float32s = NDArray[np.float32]

FEW_POINTS = 64  # each has a long row of distances: up to twice as fast as a short row for each row
# distances of a block: 2 MB. Twice as many took up to 1.4 times as long; with fewer, threads would
# wait for each other between short steps.
BLOCK_DISTANCES = 2**19
BLOCK_ROWS = 2**13  # at most
LARGE = 2.0**30  # the squares of values up to this, and of their inverse, are normal numbers
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
    terms: Float32s  # -2 y and |y|^2, less half of the error
    error: Float32s  # how far rounding can change a squared distance: the part due to each point
    rounding: np.float32  # the part due to a row, for each unit of its square

    @classmethod
    def of(cls, points: NDArray[Any], labels: IntArray) -> ShortPoints:
        """Prepare finite points."""
        with np.errstate(over="ignore", invalid="ignore"):
            origin = points.mean(axis=0, dtype=np.float64)
            if np.abs(origin).max() < LARGE:  # so that rows of float32 need not be converted
                origin = origin.astype(np.float32)
            shifted = points.astype(np.float64) - origin
            largest = np.abs(shifted).max()
            scale = 1.0
            if not 1 / LARGE < largest < LARGE:
                scale = np.ldexp(1.0, -np.frexp(largest)[1])
            short = (shifted * scale).astype(np.float32)
            squares = np.square(short, dtype=np.float64).sum(axis=1)
            rounding = _bound_rounding(points.shape[1])
            error = 2 * rounding * squares + SMALLEST_ERROR
            terms = np.column_stack([-2 * short, squares - error / 2])
        return cls(
            labels,
            origin,
            scale,
            terms.astype(np.float32),
            error.astype(np.float32),
            np.float32(rounding),
        )

    def label(self, X: NDArray[Any]) -> tuple[IntArray, IntArray]:
        """Return the label of the point nearest to each row, and the rows for which it may be
        another one.
        """
        found = np.empty(len(X), dtype=self.labels.dtype)
        undecided = [np.empty(0, dtype=np.intp)]
        for block, rows, room in self._shorten(X):
            if len(self.labels) <= FEW_POINTS:
                nearest, of_block = self._compare_with_few(rows, room)
            else:
                nearest, of_block = self._compare(rows, room)
            found[block] = self.labels[nearest]
            undecided.append(of_block + block.start)
        return found, np.concatenate(undecided)

    def _shorten(self, X: NDArray[Any]) -> Iterator[tuple[slice, Float32s, Float32s]]:
        """Yield blocks of rows in float32 with a column of ones, and room for their distances.

        They are overwritten by the next block: new memory for each would be cleared by the system,
        for one thread at a time.
        """
        n_points = len(self.labels)
        most = min(len(X), BLOCK_ROWS, BLOCK_DISTANCES // n_points + 1)
        rows = np.ones((most, X.shape[1] + 1), dtype=np.float32)
        room = np.empty(most * n_points, dtype=np.float32)
        for block in row_blocks(len(X), max(1, most)):
            short = rows[: block.stop - block.start]
            # rows far from all points may become infinite: they are undecided
            with np.errstate(over="ignore", invalid="ignore"):
                if self.scale == 1:
                    np.subtract(X[block], self.origin, out=short[:, :-1], casting="same_kind")
                else:
                    short[:, :-1] = (X[block] - self.origin.astype(np.float64)) * self.scale
            yield block, short, room[: len(short) * n_points]

    def _compare(self, rows: Float32s, room: Float32s) -> tuple[IntArray, IntArray]:
        """Return the nearest point of each row, and the rows for which it is undecided."""
        with np.errstate(over="ignore", invalid="ignore"):
            lower = np.matmul(rows, self.terms.T, out=room.reshape(len(rows), -1))
            nearest = lower.argmin(axis=1)
            of_nearest = np.arange(len(rows)), nearest
            lowest = lower[of_nearest]
            upper = lowest + (self.error[nearest] + self._errors_of(rows))
            lower[of_nearest] = np.inf
            # NaN is never above
            several = np.flatnonzero(~(lower.min(axis=1) > upper))
            lower[several, nearest[several]] = lowest[several]
            undecided = find_undecided(lower[several], upper[several], self.labels)
        return nearest, several[undecided]

    def _compare_with_few(self, rows: Float32s, room: Float32s) -> tuple[IntArray, IntArray]:
        """Return the same where each of few points takes a pass over all rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            lower = np.matmul(self.terms, rows.T, out=room.reshape(-1, len(rows)))
            upper = lower.min(axis=0) + (self.error.max() + self._errors_of(rows))
            # 1 or 0; NaN is never near
            may_be_nearest = np.less_equal(lower, upper, out=lower)
        # A product has the number of the only near point, and how many are near: in one long step,
        # threads wait less for each other than in a step for each point.
        n_points = len(self.labels)
        counted = np.stack([np.arange(n_points), np.ones(n_points)]).astype(np.float32)
        number, n_near = counted @ may_be_nearest
        undecided = np.flatnonzero(n_near != 1)
        number[undecided] = 0
        return number.astype(np.intp), undecided

    def _errors_of(self, rows: Float32s) -> Float32s:
        values = rows[:, :-1]
        return np.asarray(self.rounding * np.einsum("ij,ij->i", values, values))


def _bound_rounding(n_features: int) -> float:
    """Return how far rounding can change the squared distances of a row, relative to its square.

    With n features, 2 x.y is rounded n times, as |y|^2 is, and x and y are rounded once before. The
    factor n + 32 is more than all of this together, if points have twice as much.
    """
    return float((n_features + 32) * np.finfo(np.float32).eps)


def find_undecided(lower: NDArray[Any], upper: NDArray[Any], labels: IntArray) -> IntArray:
    """Return the rows for which columns of several labels are not above the upper bound.

    Infinity and NaN never are.
    """
    is_above = lower > upper[:, None]
    several = np.flatnonzero(np.count_nonzero(is_above, axis=1) < len(labels) - 1)
    may_be_nearest = ~is_above[several]
    has_other_label = labels != labels[may_be_nearest.argmax(axis=1)][:, None]
    return np.asarray(several[(may_be_nearest & has_other_label).any(axis=1)])
