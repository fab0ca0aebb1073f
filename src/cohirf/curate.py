"""Curation of data sets: near duplicates among vectors, and which rows to keep.

Vectors are compared by the cosine of the angle between them, block by block. Only the first few
principal components are multiplied for all pairs: with the length of the rest as one more
component, the product is an upper bound of the cosine, so no pair is missed, and the cosine of the
few pairs above the threshold is computed from all features.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from cohirf.rows.arrays import (
    Floats,
    is_on_device,
    join_rows,
    namespace,
    put_beside,
    take_rows,
    to_host,
)
from cohirf.rows.grouping import IntArray, row_blocks, rows_by_label
from cohirf.sources import ScaledSource, Source, open_source
from cohirf.sources.scaled import unit_rows


@dataclass(frozen=True)
class CuratePolicy:
    """What near duplicates are found by: it decides on time and memory, not on which are found."""

    pairs: int = 50_000_000  # 1.2 GB; more pairs than that are no list to look at
    read_rows: int = 4096  # at a time
    # products of two blocks, 1 MB, stay in the cache of a core: measured, six times as fast as
    # blocks of 4,096
    block_rows: int = 512
    device_rows: int = 16_384  # of a block on a device
    learned_rows: int = 2048  # from which principal components are learned, and their number
    components: tuple[int, ...] = (16, 32, 64, 128, 256)
    # measured: computing a cosine from all features takes as long as this many components of a
    # bound
    pair_cost: int = 50
    slack: float = 2e-5  # bounds are products of float32


POLICY = CuratePolicy()


__all__ = ["NearDuplicates", "Vectors", "near_duplicates"]


@dataclass(frozen=True, eq=False)
class NearDuplicates:
    """Rows that are nearly the same.

    Attributes
    ----------
    pairs : array of int, shape (n_pairs, 2)
        Row numbers of each pair, the smaller one first; sorted. Of rows that are equal, each is
        paired with the first of them only.
    similarity : array of float, shape (n_pairs,)
        Cosine of the angle between the two rows.
    group : array of int, shape (n_rows,)
        The first row that each row is connected with by pairs; its own number if it has no near
        duplicate.
    kept_for : array of int, shape (n_rows,)
        The row that is kept in place of each row, which is its near duplicate; its own number if it
        is kept. Rows are kept in their order, unless a kept row is a near duplicate: no two kept
        rows are near duplicates of each other.
    """

    pairs: IntArray
    similarity: Floats
    group: IntArray
    kept_for: IntArray

    @property
    def kept(self) -> IntArray:
        """Sorted numbers of the rows to keep."""
        return np.flatnonzero(self.kept_for == np.arange(len(self.kept_for)))

    def __repr__(self) -> str:
        n_rows = len(self.group)
        n_kept = len(self.kept)
        return f"NearDuplicates({len(self.pairs):,} pairs; {n_kept:,} of {n_rows:,} rows are kept)"


def near_duplicates(
    X: Any, threshold: float = 0.95, *, groups: ArrayLike | None = None
) -> NearDuplicates:
    """Find all pairs of rows whose cosine similarity is at least ``threshold``.

    Parameters
    ----------
    X : array, table or source, shape (n_samples, n_features)
        Vectors, of any length but 0. What is not on a device is read in blocks: only a few
        components of each row are kept in memory. Pairs of rows on a device are found there.
    threshold : float, default=0.95
        Smallest cosine similarity of near duplicates, above 0 and at most 1.
    groups : array of int, shape (n_samples,), optional
        Only rows of the same group are compared, such as ``model.labels_``; rows that are equal are
        found anyway. This takes less time for millions of rows, and misses pairs across groups.

    Returns
    -------
    found : NearDuplicates
        The pairs, groups of connected rows, and which rows to keep.

    Raises
    ------
    ValueError
        If there are more than 50 million pairs, or a row is all zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.curate import near_duplicates
    >>> found = near_duplicates(np.array([[1.0, 0.0], [0.0, 2.0], [9.0, 0.1], [1.0, 0.0]]))
    >>> found.pairs.tolist(), found.similarity.round(3).tolist()
    ([[0, 2], [0, 3]], [1.0, 1.0])
    >>> found.kept.tolist(), found.kept_for.tolist()
    ([0, 1], [0, 1, 0, 0])
    """
    if not 0 < threshold <= 1:
        raise ValueError(
            f"threshold={threshold} is not valid: give a cosine similarity above 0 and at most 1."
        )
    vectors = Vectors.of(X)
    n_rows = vectors.n_rows
    members = list(_compared_rows(groups, n_rows))
    first_equal = vectors.find_equal()
    bounds = vectors.bound(threshold)
    repeated = np.flatnonzero(first_equal != np.arange(n_rows))
    found = [np.column_stack([first_equal[repeated], repeated])]
    for some in members:
        distinct = some[first_equal[some] == some]
        found.append(distinct[find_pairs(take_rows(bounds, distinct), threshold)])
    candidates = np.concatenate(found)
    similarity = vectors.measure(candidates)
    is_near = similarity >= threshold
    is_near[: len(repeated)] = True  # equal rows are near, whatever rounding does to their cosine
    order = np.lexsort((candidates[is_near, 1], candidates[is_near, 0]))
    pairs = candidates[is_near][order]
    similarity = np.minimum(similarity[is_near][order], 1.0)
    return NearDuplicates(pairs, similarity, connect(pairs, n_rows), keep_first(pairs, first_equal))


def connect(pairs: IntArray, n_rows: int) -> IntArray:
    """Return the first row of those that each row is connected with by pairs."""
    links = sparse.coo_array(
        (np.ones(len(pairs), dtype=bool), tuple(pairs.T)), shape=(n_rows, n_rows)
    )
    _, label = sparse.csgraph.connected_components(links, directed=False)
    _, first, place = np.unique(label, return_index=True, return_inverse=True)
    return np.asarray(first[place])


def keep_first(pairs: IntArray, first_equal: IntArray) -> IntArray:
    """Return the row that stands for each row: itself, or the first kept row that it is paired
    with.

    What stands for a row stands for all rows that are equal to it, which are paired with the first
    of them only.
    """
    stands_for = np.arange(len(first_equal))
    for (
        first,
        second,
    ) in pairs.tolist():  # sorted: when its own turn comes, a row has met all kept rows before it
        if stands_for[second] == second and (
            stands_for[first] == first or first_equal[second] == first
        ):
            stands_for[second] = stands_for[first]
    return stands_for


@dataclass(frozen=True)
class Vectors:
    """Rows of length 1: in a source, or on a device."""

    source: Source | None
    there: Any = None

    @classmethod
    def of(cls, X: Any) -> Vectors:
        """Open rows of any length but 0."""
        if sparse.issparse(X):
            raise TypeError("X is a sparse matrix: give a dense array, such as X.toarray().")
        if is_on_device(X):
            return cls(None, unit_rows(X))
        return cls(ScaledSource(open_source(X), unit=True))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.source is None:
            return int(self.there.shape[0])
        return self.source.n_rows

    def take(self, rows: IntArray) -> Any:
        """Return sorted rows where they are; half precision becomes single precision."""
        if self.source is not None:
            return self.source.take(rows)
        xp = namespace(self.there)
        values = take_rows(self.there, rows)
        if values.dtype in (xp.float32, xp.float64):
            return values
        return xp.astype(values, xp.float32)

    def blocks(self) -> Iterator[Any]:
        """Yield all rows in blocks."""
        for block in row_blocks(self.n_rows, POLICY.read_rows):
            yield self.take(np.arange(block.start, block.stop))

    def find_equal(self) -> IntArray:
        """Return the first row that is equal to each row, by 64-bit fingerprints."""
        prints = (hash(row.tobytes()) for block in self.blocks() for row in to_host(block))
        numbers = np.fromiter(prints, np.int64, self.n_rows)
        _, first, place = np.unique(numbers, return_index=True, return_inverse=True)
        return np.asarray(first[place])

    def bound(self, threshold: float) -> Any:
        """Return components of each row, and the length of the rest: their products are not below
        the cosines.
        """
        rows = np.unique(np.linspace(0, self.n_rows - 1, POLICY.learned_rows).astype(np.int64))
        sample = np.asarray(to_host(self.take(rows)), dtype=np.float32)
        most = min(POLICY.components[-1], *sample.shape)
        _, _, directions = randomized_svd(sample, most, random_state=0)
        sizes = [size for size in POLICY.components if size < most] + [most]
        costs = [
            _cost(_bound_rows(sample, directions[:size].T), threshold, sample.shape[1])
            for size in sizes
        ]
        axes = directions[: sizes[int(np.argmin(costs))]].T.astype(np.float32)
        return join_rows([_bound_rows(block, put_beside(axes, block)) for block in self.blocks()])

    def measure(self, pairs: IntArray) -> Floats:
        """Return the cosines of pairs of rows, from all features."""
        rows, places = np.unique(pairs, return_inverse=True)
        values = self.take(rows)
        places = places.reshape(pairs.shape)
        found = np.empty(len(pairs))
        for block in row_blocks(len(pairs), 2**16):
            one, two = (
                to_host(take_rows(values, places[block, side])).astype(np.float64)
                for side in (0, 1)
            )
            found[block] = np.einsum("ij,ij->i", one, two) / np.sqrt(
                np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", two, two)
            )
        return found


def _bound_rows(rows: Any, axes: Any) -> Any:
    """Return the components of rows of length 1, and the length of what is left of each."""
    xp = namespace(rows)
    parts = xp.astype(rows, xp.float32) @ xp.astype(axes, xp.float32)
    rest = xp.sqrt(xp.clip(1 - xp.sum(parts * parts, axis=1, keepdims=True), 0.0, None))
    return xp.concat([parts, rest], axis=1)


def _cost(bounds: Floats, threshold: float, n_features: int) -> float:
    """Return the time that a pair takes on average: its bound, and its cosine if the bound is above
    the threshold.
    """
    # without rows with themselves
    share = np.mean(bounds @ bounds.T >= threshold - POLICY.slack) - 1 / len(bounds)
    return float(bounds.shape[1] + POLICY.pair_cost * n_features * share)


def find_pairs(bounds: Any, threshold: float) -> IntArray:
    """Return all pairs of rows of which the product is at least the threshold, block by block."""
    step = POLICY.block_rows if isinstance(bounds, np.ndarray) else POLICY.device_rows
    n_rows = int(bounds.shape[0])
    n_pairs = 0
    found = [np.empty((0, 2), dtype=np.int64)]
    for left in row_blocks(n_rows, step):
        for right in row_blocks(n_rows - left.start, step):
            start = left.start + right.start
            products = bounds[left, :] @ bounds[start : left.start + right.stop, :].T
            is_near = products >= threshold - POLICY.slack
            xp = namespace(is_near)
            if xp is np:
                cells = np.flatnonzero(is_near)
            else:
                cells = to_host(xp.nonzero(xp.reshape(is_near, (-1,)))[0])
            cells = np.asarray(cells, dtype=np.int64)  # row by row
            pairs = np.stack(np.divmod(cells, products.shape[1]), axis=1) + np.array(
                [left.start, start]
            )
            found.append(pairs[pairs[:, 0] < pairs[:, 1]])
            n_pairs += len(found[-1])
            if n_pairs > POLICY.pairs:
                raise ValueError(
                    f"threshold={threshold} gives more than {POLICY.pairs:,} pairs: give a higher "
                    "threshold, or groups=."
                )
    return np.concatenate(found)


def _compared_rows(groups: ArrayLike | None, n_rows: int) -> Iterator[IntArray]:
    """Yield the rows that are compared with each other."""
    if groups is None:
        yield np.arange(n_rows)
        return
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"groups has shape {labels.shape}, but X has {n_rows:,} rows: give one for each row."
        )
    _, label = np.unique(labels, return_inverse=True)
    starts, members = rows_by_label(label, int(label.max()) + 1)
    for start, end in itertools.pairwise(starts):
        yield members[start:end]
