"""Consensus of several views: strict and relaxed (paper, sections 2.2.1 and 2.3).

The labels of a row in all views form its *code*. Views are folded into codes one by one. All later
steps use the *distinct* codes and the number of rows that have each, never the rows themselves. A
negative label is noise: such a row is a cluster of its own while the view that labelled it takes
part. Noise rows share one label per view all the same, so they do not increase the number of codes.

The stability of a consensus is the mean Jaccard index between each row's group and its cluster in
each view: the number of rows in both, divided by the number of rows in either. Under strict
consensus a group is the intersection of clusters of all views, so a row that one view separates
from the others ends in a small group, and its clusters in the other views have a low index with
that group.

If the rows are on a device, their codes are there, too, unless they are few. The functions of this
file take both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.policy import STEP
from cohirf.rows.arrays import look_up, namespace, to_host
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import (
    IntArray,
    compress,
    count_by_label,
    device_dtype,
    first_rows_beside,
    index_dtype,
    number_apart,
    pair_keys,
    sum_beside,
    sum_by_label,
    table_limit,
)

RELAXED = 0.8  # h of the paper's experiments
NOISE = -1

# the group of each distinct code, where the codes are, and how many groups there may be
Partition = tuple[Any, int]


@dataclass(frozen=True)
class Codes:
    """The distinct codes of a set of rows."""

    # One label per view; ``NOISE`` where the view called the row noise. On the device of the rows,
    # if there are many.
    distinct: Any
    # index in ``distinct`` of the code of each row; on the device of the rows, as the mass is
    of_row: Any
    row_mass: Any = None  # mass of each row; None if every row has mass 1

    @property
    def n_codes(self) -> int:
        """Number of distinct codes."""
        return int(self.distinct.shape[0])

    @property
    def n_views(self) -> int:
        """Number of views."""
        return int(self.distinct.shape[1])

    @cached_property
    def counts(self) -> Any:
        """Number of rows with each code, as floats where the codes are."""
        return self._beside_codes(sum_beside(self.of_row, None, self.n_codes))

    @cached_property
    def mass(self) -> Any:
        """Total mass of the rows with each code, where the codes are."""
        if self.row_mass is None:
            return self.counts
        return self._beside_codes(sum_beside(self.of_row, self.row_mass, self.n_codes))

    @cached_property
    def are_equal(self) -> bool:
        """Whether all views have the same labels, which any consensus then has.

        Not looked at on a device.
        """
        return container_of(self.of_row).are_equal_columns(self.distinct)

    def of_first_rows(self, vector: Any) -> Any:
        """Return the entry of a vector by row at the first row of each code, where the codes
        are.
        """
        return self._beside_codes(look_up(vector, first_rows_beside(self.of_row, self.n_codes)))

    def _beside_codes(self, values: Any) -> Any:
        return container_of(self.distinct).bring(values, self.distinct)

    def partition(self, view: int) -> Partition:
        """Return the partition of the codes by their labels in a view.

        All noise is in one group.
        """
        symbols, label_of_symbol = _as_symbols(self.distinct[:, view])
        return symbols, len(label_of_symbol)

    def noisy(self, views: Sequence[int]) -> NDArray[np.bool_]:
        """Return which codes, which are here, are noise in at least one of ``views``."""
        return np.asarray((self.distinct[:, list(views)] == NOISE).any(axis=1))

    def here(self) -> Codes:
        """Return the codes as arrays of NumPy, wherever the rows are."""
        return replace(self, distinct=to_host(self.distinct))

    def repeated(self, n_times: int) -> Codes:
        """Return the codes of several views that are all like the one that there is."""
        return replace(
            self, distinct=namespace(self.distinct).concat([self.distinct] * n_times, axis=1)
        )

    def divided(self, labels: Any, n_labels: int) -> Codes:
        """Return codes of which each has rows of one label only: a code whose rows have several is
        there repeatedly.
        """
        keys, of_row = compress(
            pair_keys(self.of_row, self.n_codes, labels, n_labels), self.n_codes * n_labels
        )
        code = self._beside_codes(keys) // n_labels
        return Codes(look_up(self.distinct, code), of_row, self.row_mass)


@dataclass(frozen=True)
class Consensus:
    """The partition the kept views agree on: ``labels`` in ``range(n_clusters)``, one per row.

    The last ``n_noise`` labels are those of single rows that the base method called noise. If the
    consensus ``divides_codes``, other rows with the same code can have several labels; otherwise
    they have one.
    """

    labels: Any
    n_clusters: int
    views_kept: tuple[int, ...]
    n_noise: int = 0
    divides_codes: bool = False


def fold_views(labels_of_views: Iterable[Any], n_rows: int, row_mass: Any = None) -> Codes:
    """Fold the labels of several views into codes."""
    folded = FoldedViews(n_rows)
    for labels in labels_of_views:
        folded.add(labels)
    return folded.codes(row_mass)


@dataclass
class FoldedViews:
    """Folds the labels of views into codes, one after the other: only one view's labels are in
    memory at a time.

    A code is an integer whose digits are the labels. Codes are renumbered without gaps at the end,
    and whenever their range would exceed a table of a few entries per row. So a product of label
    counts beyond 2**63 cannot overflow.
    """

    n_rows: int
    of_row: Any = None  # the code of each row
    n_codes: int = 1
    # the label of each code in each view that was renumbered
    columns: list[Any] = field(default_factory=list)
    # for each view after these: the label of each digit
    digits: list[IntArray] = field(default_factory=list)

    def add(self, labels: Any) -> None:
        """Add the labels of a view."""
        symbols, label_of_symbol = _as_symbols(labels)
        n_symbols = len(label_of_symbol)
        if self.digits and self.n_codes * n_symbols > table_limit(self.n_rows):
            self._renumber()
        if self.of_row is None:
            self.of_row = symbols
        else:
            self.of_row = pair_keys(self.of_row, self.n_codes, symbols, n_symbols)
        self.n_codes *= n_symbols
        self.digits.append(label_of_symbol)

    def codes(self, row_mass: Any = None) -> Codes:
        """Return the codes of all views."""
        self._renumber()
        return Codes(namespace(self.columns[0]).stack(self.columns, axis=1), self.of_row, row_mass)

    def _renumber(self) -> None:
        """Give codes numbers without gaps, and look up the label of each in each view."""
        distinct, self.of_row = compress(self.of_row, self.n_codes)
        if distinct.shape[0] > STEP.codes_here:
            codes = distinct
        else:
            codes = to_host(distinct)
        labels: list[Any] = []
        for label_of_symbol in reversed(self.digits):
            labels.append(look_up(label_of_symbol, codes % len(label_of_symbol)))
            codes = codes // len(label_of_symbol)
        self.columns = [look_up(column, codes) for column in self.columns] + labels[::-1]
        self.digits = []
        self.n_codes = distinct.shape[0]


def strict_consensus(codes: Codes) -> Consensus:
    """Put two rows together if and only if every view does.

    Examples
    --------
    >>> import numpy as np
    >>> codes = fold_views([np.array([0, 0, 1, 1]), np.array([5, 5, 5, -1])], n_rows=4)
    >>> strict_consensus(codes).labels
    array([0, 0, 1, 2], dtype=int32)
    """
    return _agree(codes, tuple(range(codes.n_views)))


def relaxed_consensus(codes: Codes, threshold: float) -> Consensus:
    """Drop the view whose removal changes the consensus most, until the removal of any view changes
    it little.

    A view is dropped while the adjusted Rand index between the consensus with and without it is
    below ``threshold``. Of several views with the same index, the first is dropped. At least one
    view stays.
    """
    codes = codes.here()
    return _agree(codes, keep_views(codes, threshold))


def keep_views(codes: Codes, threshold: float) -> tuple[int, ...]:
    """Return the views that a relaxed consensus does not drop."""
    kept = list(range(codes.n_views))
    while len(kept) > 1:
        agreement = leave_one_out_agreement(codes, kept)
        worst = int(np.argmin(agreement))
        if agreement[worst] >= threshold:
            break
        del kept[worst]
    return tuple(kept)


def label_rows(
    codes: Codes, group: Any, n_groups: int, alone: Any, views: tuple[int, ...]
) -> Consensus:
    """Label rows by the ``group`` of their code.

    Each row with a code that is ``alone`` gets a label of its own.
    """
    xp = namespace(group)
    # those that are alone come last
    grouped, number = compress(xp.where(alone, n_groups, group), n_groups + 1)
    n_alone = int(xp.sum(xp.where(alone, codes.counts, 0.0)))
    if not n_alone and container_of(number).is_range(number):
        return Consensus(codes.of_row, codes.n_codes, views)
    labels = look_up(xp.astype(number, device_dtype(number, codes.of_row.shape[0])), codes.of_row)
    if not n_alone:
        return Consensus(labels, grouped.shape[0], views)
    n_grouped = grouped.shape[0] - 1
    return Consensus(
        number_apart(labels, alone, codes.of_row, n_grouped), n_grouped + n_alone, views, n_alone
    )


def leave_one_out_agreement(codes: Codes, views: Sequence[int]) -> NDArray[np.float64]:
    """Return, for each view, the adjusted Rand index between the consensus of ``views`` with and
    without it.

    The full consensus refines each of the others, so the pairs that it puts together are the pairs
    that both put together, and no contingency table is needed. The partition without one view is
    the intersection of two partitions: that of the views before it, and that of the views after it.
    """
    after = _running_partitions(codes, views[::-1])
    noise_votes = (codes.distinct[:, list(views)] == NOISE).sum(axis=1)
    n_pairs = count_pairs(codes.counts.sum())
    together = _pairs_together(*after.pop(), codes.counts * (noise_votes == 0))
    before = after[0]  # the partition by no view: one group
    agreement = np.empty(len(views))
    for i, view in enumerate(views):
        clean = noise_votes == (codes.distinct[:, view] == NOISE)
        together_without = _pairs_in_both(before, after.pop(), codes.counts * clean)
        agreement[i] = adjusted_rand_of(together, together, together_without, n_pairs)
        before = _intersect(before, codes.partition(view))
    return agreement


def mean_agreement(codes: Codes) -> float:
    """Return the mean adjusted Rand index over pairs of views, at most about 50 pairs.

    NaN for a single view.
    """
    views = range(codes.n_views)
    if len(views) == 1:
        return float("nan")
    if codes.are_equal:
        return 1.0
    pairs = list(combinations(views, 2))
    pairs = pairs[:: 1 + len(pairs) // STEP.compared_pairs]
    xp = namespace(codes.distinct)
    counts = [xp.where(codes.distinct[:, view] == NOISE, 0.0, codes.counts) for view in views]
    partitions = [codes.partition(view) for view in views]
    together = [_pairs_together(*partitions[view], counts[view]) for view in views]
    n_pairs = count_pairs(codes.of_row.shape[0])
    agreement = [
        adjusted_rand_of(
            _pairs_in_both(partitions[a], partitions[b], xp.minimum(counts[a], counts[b])),
            together[a],
            together[b],
            n_pairs,
        )
        for a, b in pairs
    ]
    return float(np.mean(agreement))


def _as_symbols(labels: Any) -> tuple[Any, IntArray]:
    """Map labels to symbols 0, 1, ... that are few enough to address a table.

    Returns the symbol of each row, and the label of each symbol. All negative labels are noise.
    """
    xp = namespace(labels)
    lowest = int(xp.min(labels))
    highest = max(int(xp.max(labels)), NOISE)
    label_dtype = np.int32 if highest < 2**31 else np.int64
    if highest > 2 * labels.shape[0]:
        distinct, symbols = xp.unique_inverse(xp.clip(labels, NOISE, None))
        return symbols, to_host(distinct).astype(label_dtype)
    if lowest >= 0:
        return labels, np.arange(highest + 1, dtype=label_dtype)
    return xp.clip(labels, NOISE, None) + 1, np.arange(NOISE, highest + 1, dtype=label_dtype)


def _agree(codes: Codes, views: tuple[int, ...]) -> Consensus:
    """Give rows with the same labels in all of ``views`` the same label, and each noise row a label
    of its own.
    """
    all_views = len(views) == codes.n_views
    # distinct codes are distinct groups
    if all_views and not namespace(codes.distinct).any(codes.distinct == NOISE):
        return Consensus(codes.of_row, codes.n_codes, views)
    codes = codes.here()
    noisy = codes.noisy(views)
    group, n_groups = _running_partitions(codes, views)[-1]
    return label_rows(codes, group, n_groups, noisy, views)


def _running_partitions(codes: Codes, views: Sequence[int]) -> list[Partition]:
    """Partitions of the codes by no view, by the first, by the first two, ..., by all of
    ``views``.
    """
    partitions: list[Partition] = [
        (np.zeros(len(codes.distinct), dtype=index_dtype(codes.of_row.shape[0])), 1)
    ]
    for view in views:
        partitions.append(_intersect(partitions[-1], codes.partition(view)))
    return partitions


def _intersect(left: Partition, right: Partition) -> Partition:
    """Intersect two partitions of the codes."""
    keys = pair_keys(left[0], left[1], right[0], right[1])
    distinct, group = compress(keys, left[1] * right[1])
    return group, distinct.shape[0]


def _pairs_together(group: Any, n_groups: int, counts: Any) -> float:
    """Return the number of pairs of rows in the same group; noise codes must have a count of 0."""
    return float(count_pairs(sum_by_label(group, counts, n_groups)).sum())


def _pairs_in_both(left: Partition, right: Partition, counts: Any) -> float:
    """Return the number of pairs of rows in the same group of both partitions.

    Noise codes must have a count of 0.
    """
    n_keys = left[1] * right[1]
    if n_keys > table_limit(counts.shape[0]):
        return _pairs_together(*_intersect(left, right), counts)
    return _pairs_together(pair_keys(*left, *right), n_keys, counts)


def count_pairs(size: IntArray | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the number of pairs of rows in groups of the given sizes."""
    size = np.asarray(size, dtype=np.float64)
    return size * (size - 1) / 2


def adjusted_rand_of(
    together: float, left: float, right: float, n_pairs: NDArray[np.float64]
) -> float:
    """Return the adjusted Rand index from the numbers of pairs: together in both, in left, in
    right, and all.
    """
    expected = left * right / float(n_pairs) if n_pairs else 0.0
    highest = (left + right) / 2
    if highest == expected:
        return 1.0
    return (together - expected) / (highest - expected)


@dataclass(frozen=True)
class Stability:
    """Mean Jaccard indices between groups of a consensus and clusters of views."""

    of_row: Any  # for each row, the mean over views; on the device of the rows
    of_view: NDArray[np.float64]  # for each view, the mean over rows


def measure_stability(codes: Codes, consensus: Consensus) -> Stability:
    """Return the Jaccard index of each row's group with its cluster in each view, averaged over
    views and over rows.

    Examples
    --------
    The third view separates the fourth row from the first three:

    >>> import numpy as np
    >>> from cohirf.algorithm.consensus import fold_views, strict_consensus
    >>> views = [np.array([0, 0, 0, 0]), np.array([0, 0, 0, 0]), np.array([0, 0, 0, 1])]
    >>> codes = fold_views(views, n_rows=4)
    >>> measure_stability(codes, strict_consensus(codes)).of_row
    array([0.8333333, 0.8333333, 0.8333333, 0.5      ], dtype=float32)
    """
    n_groups = consensus.n_clusters - consensus.n_noise
    if (
        codes.are_equal
        and not consensus.divides_codes
        and n_groups == int((codes.distinct[:, 0] != NOISE).sum())
    ):
        return Stability(np.ones(len(codes.of_row), dtype=np.float32), np.ones(codes.n_views))
    if consensus.divides_codes:
        # noise needs no codes of its own
        labels = namespace(consensus.labels).clip(consensus.labels, None, n_groups)
        codes = codes.divided(labels, n_groups + 1)
    xp = namespace(codes.distinct)
    counts = codes.counts
    group_of_code = codes.of_first_rows(consensus.labels)
    size = look_up(
        count_by_label(consensus.labels, consensus.n_clusters).astype(np.float64), group_of_code
    )
    groups, group = compress(group_of_code, consensus.n_clusters)
    by_itself = size == 1  # includes noise: rows with a noise code are groups of one row each
    overlaps = []
    of_view = np.empty(codes.n_views)
    for view in range(codes.n_views):
        cluster, n_clusters = codes.partition(view)
        is_noise = codes.distinct[:, view] == NOISE
        in_view = xp.where(
            is_noise, 1.0, look_up(sum_by_label(cluster, counts, n_clusters), cluster)
        )
        in_both = (
            counts  # each code is a group, as in a strict consensus without noise; or several are
        )
        if groups.shape[0] < counts.shape[0]:
            keys, pair = compress(
                pair_keys(group, groups.shape[0], cluster, n_clusters), groups.shape[0] * n_clusters
            )
            in_both = look_up(sum_by_label(pair, counts, keys.shape[0]), pair)
        in_both = xp.where(is_noise | by_itself, 1.0, in_both)
        overlap = in_both / (size + in_view - in_both)
        overlaps.append(overlap)
        of_view[view] = (
            sum_by_label(xp.zeros_like(cluster), counts * overlap, 1)[0] / codes.of_row.shape[0]
        )
    of_code = xp.astype(xp.mean(xp.stack(overlaps, axis=1), axis=1), xp.float32)
    return Stability(look_up(of_code, codes.of_row), of_view)
