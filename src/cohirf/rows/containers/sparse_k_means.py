"""K-Means of sparse rows, by products of rows with centres.

A row belongs to the centre with the largest closeness, x.c - |c|^2 / 2. After a few passes, few
rows move, and the centres of many clusters stay as they are. So each row remembers its closeness to
its own centre, and a bound of that to any other. A pass computes the closeness to those centres
alone that have moved: a row whose own centre has moved, and is not closer than the bound any more,
is compared with all. On 13,000 questions and 308 centres, ten passes took 0.6 times as long as with
all centres in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from cohirf.rows.blocks import IntArray
from cohirf.rows.containers.numpy_arrays import largest_value
from cohirf.rows.containers.sparse_products import Columns
from cohirf.rows.policy import BLOCK, DIGIT
from cohirf.rows.threads import map_blocks

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Closest:
    """The closest of some centres to each row, the first of several."""

    labels: IntArray
    closeness: Floats
    others: Floats  # that of no other centre is above this

    @classmethod
    def of(cls, closeness: Floats) -> Closest:
        """Find them by the closeness of rows and centres, which is overwritten."""
        labels = closeness.argmax(axis=1)
        rows = np.arange(len(labels))
        closest = closeness[rows, labels]
        closeness[rows, labels] = -np.inf
        return cls(labels, closest, closeness.max(axis=1))

    @classmethod
    def join(cls, blocks: list[Closest]) -> Closest:
        """Return those of all blocks of rows."""
        return cls(
            np.concatenate([block.labels for block in blocks]),
            np.concatenate([block.closeness for block in blocks]),
            np.concatenate([block.others for block in blocks]),
        )

    def put(self, rows: IntArray, found: Closest) -> None:
        """Take over what was found for some rows."""
        self.labels[rows] = found.labels
        self.closeness[rows] = found.closeness
        self.others[rows] = found.others


@dataclass(frozen=True)
class Scale:
    """How values are converted for products."""

    unit: float  # in which squares neither overflow nor vanish
    dtype: Any

    @classmethod
    def of(cls, largest: float, centres: Any) -> Scale:
        """Return float32, unless a column is far from zero: its products would lose digits."""
        means, variances = mean_variance_axis(centres, axis=0)
        is_far = bool((means**2 > DIGIT.far_from_zero * variances).any())
        return cls(max(largest, largest_value(centres.data)), np.float64 if is_far else np.float32)

    def apply(self, X: Any) -> Any:
        """Return rows in this scale; where their cells are is not copied."""
        parts = ((X.data / self.unit).astype(self.dtype, copy=False), X.indices, X.indptr)
        return sparse.csr_array(parts, shape=X.shape)


class SparseKMeans:
    """Sparse rows, and centres that move among them."""

    def __init__(self, X: Any, centres: Any) -> None:
        self.centres = sparse.csr_array(centres).astype(np.float64)
        self._X = X
        self._largest = largest_value(X.data)
        self._scale: Scale | None = None
        self._rows: Any = None  # in this scale
        self._found: Closest | None = None  # before the last move
        self._moved: IntArray = np.arange(0)  # the centres of this move

    def run(self, mass: Any, n_passes: int) -> SparseKMeans:
        """Move the centres to the means of their rows until none moves, at most so often."""
        wide = self._X.astype(np.float64, copy=False)
        labels: Any = None
        for _ in range(n_passes):
            before = labels
            labels = self.assign()
            if before is not None and (labels == before).all():
                break
            self._move(wide, before, labels, mass)
        return self

    def assign(self) -> IntArray:
        """Return the number of the centre nearest to each row, up to rounding."""
        scale = Scale.of(self._largest, self.centres)
        if self._found is None or scale != self._scale:
            self._scale = scale
            self._rows = scale.apply(self._X)
            self._found = self._compare(self._rows, slice(None))
        elif len(self._moved):
            self._found = self._compare_with_moved(self._found, self._moved)
        self._moved = np.arange(0)
        return self._found.labels

    def _move(self, X: Any, before: IntArray | None, labels: IntArray, mass: Any) -> None:
        """Let centres whose rows are others than before be the means of these."""
        n_centres = self.centres.shape[0]
        is_changed = np.ones(n_centres, dtype=bool)
        if before is not None:
            moves = labels != before
            is_changed[:] = False
            is_changed[before[moves]] = True
            is_changed[labels[moves]] = True
        # a centre without mass stays
        is_changed &= np.bincount(labels, weights=mass, minlength=n_centres) > 0
        self._moved = np.flatnonzero(is_changed)
        means = _mean_of_each(X, labels, self._moved, n_centres, mass)
        of_centre = np.arange(n_centres)
        of_centre[self._moved] = n_centres + np.arange(len(self._moved))
        self.centres = sparse.vstack([self.centres, means], format="csr")[of_centre]

    def _compare(self, rows: Any, some: IntArray | slice) -> Closest:
        """Compare rows with some centres, whose numbers are those among them."""
        assert self._scale is not None
        points = self._scale.apply(self.centres[some])
        columns = Columns.of(points, BLOCK.centre_cells)
        half_squares = columns.square_lengths() / 2

        def find(block: slice) -> Closest:
            closeness = columns.products(rows[block])
            closeness -= half_squares
            return Closest.of(closeness)

        block_rows = max(1, BLOCK.product_cells // points.shape[0])
        return Closest.join(map_blocks(find, rows.shape[0], block_rows))

    def _compare_with_moved(self, before: Closest, moved: IntArray) -> Closest:
        """Compare rows with the centres that have moved, and with others where these decide."""
        among = self._compare(self._rows, moved)
        nearest = moved[among.labels]
        has_moved = np.zeros(self.centres.shape[0], dtype=bool)
        has_moved[moved] = True
        is_free = has_moved[before.labels]  # its own centre is one of them
        is_first = (among.closeness == before.closeness) & (nearest < before.labels)
        wins = is_free | is_first | (among.closeness > before.closeness)
        lost = np.where(is_free, before.others, before.closeness)
        found = Closest(
            np.where(wins, nearest, before.labels),
            np.where(wins, among.closeness, before.closeness),
            np.where(
                wins,
                np.maximum(lost, among.others),
                np.maximum(before.others, among.closeness),
            ),
        )
        undecided = np.flatnonzero(is_free & ~(found.closeness > before.others))
        if len(undecided):
            found.put(undecided, self._compare(self._rows[undecided], slice(None)))
        return found


def _mean_of_each(
    X: Any, labels: IntArray, some: IntArray, n_labels: int, mass: Any
) -> sparse.csr_array:
    """Return the weighted mean of the rows of some labels, which are in float64."""
    number = np.full(n_labels, -1)
    number[some] = np.arange(len(some))
    of_row = number[labels]
    rows = np.flatnonzero(of_row >= 0)
    rows = rows[np.argsort(of_row[rows], kind="stable")]
    own = of_row[rows]
    if mass is None:
        weights = np.ones(len(rows))
    else:
        weights = mass[rows]
    total = np.bincount(own, weights=weights, minlength=len(some))
    starts = np.searchsorted(own, np.arange(len(some) + 1))
    # indices as wide as those of the rows: others would be converted in each product
    kind = X.indices.dtype
    parts = (weights, rows.astype(kind), starts.astype(kind))
    of_label = sparse.csr_array(parts, shape=(len(some), X.shape[0]))
    means = of_label @ X
    means.data *= np.repeat(1 / total, np.diff(means.indptr))
    return means
