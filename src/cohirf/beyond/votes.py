"""Given partitions vote: average linkage of rows by the share of vectors that put them together
(not in the paper).

The labels of a row in all vectors are its code. Two codes agree by the share of vectors that give
them the same label, among those that have an opinion on both. Groups agree by the mean over all
pairs of their rows. So the result is that of average linkage on the matrix of co-associations of
all rows, but it is computed from distinct codes and masses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cohirf.algorithm.consensus import NOISE, Codes, adjusted_rand_of, count_pairs, keep_views
from cohirf.beyond.majority import (
    GroupLabels,
    count_agreement,
    merge_by_agreement,
)
from cohirf.beyond.merge_tree import MAX_LINKED, MAX_MOVES, MergeTree, as_linkage, as_merges
from cohirf.beyond.policy import MAJORITY
from cohirf.rows.grouping import (
    ROUNDING,
    FloatArray,
    IntArray,
    compress,
    pair_keys,
    row_blocks,
    sum_by_label,
)

NO_OPINION = NOISE
LEAST_AGREEMENT = (
    1e-12  # groups that agree less have no vector in common that puts any of their rows together
)


@dataclass(frozen=True)
class VotedCodes(Codes):
    """Distinct codes with the number of rows that have each: ``of_row`` numbers codes, and
    ``row_mass`` is theirs.
    """

    n_rows: FloatArray = field(default_factory=lambda: np.ones(0))

    @property
    def counts(self) -> FloatArray:
        """Number of rows with each code."""
        return self.n_rows

    @classmethod
    def of(cls, distinct: IntArray, n_rows: FloatArray, mass: FloatArray) -> VotedCodes:
        """Return codes with the number and the total mass of the rows that have each."""
        return cls(distinct, np.arange(len(distinct)), mass, n_rows)

    def kept(self, threshold: float) -> tuple[int, ...]:
        """Return the vectors that a relaxed consensus keeps.

        To have no opinion counts as a label of its own.
        """
        labels = np.where(self.distinct == NO_OPINION, self.distinct.max() + 1, self.distinct)
        return keep_views(VotedCodes.of(labels, self.n_rows, self.row_mass), threshold)


@dataclass(frozen=True, eq=False)
class VotedGroups:
    """Groups of codes, and their merges up to one cluster."""

    of_code: IntArray  # the group of each code
    # The merges of groups, in the format of :func:`scipy.cluster.hierarchy.linkage`. Heights are 1
    # - agreement.
    linkage: FloatArray
    n_agreed: int  # to how many clusters groups merge while their agreement is enough

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.linkage) + 1

    def merged_to(self, n_clusters: int) -> IntArray:
        """Return the cluster of each group after merging to a number of clusters, numbered by their
        first group.
        """
        return MergeTree(np.arange(self.n_groups), self.linkage, 0).cut(n_clusters)


def link_votes(distinct: IntArray, mass: FloatArray) -> FloatArray:
    """Return the linkage of codes by average linkage, with heights 1 - agreement.

    What agrees with nothing merges last, the lightest first.

    Examples
    --------
    The third code agrees with the first two in one of two vectors, and the last one with none:

    >>> import numpy as np
    >>> link_votes(np.array([[0, 0], [0, -1], [0, 1], [2, 3]]), np.ones(4))
    array([[0.  , 1.  , 0.  , 2.  ],
           [2.  , 4.  , 0.25, 3.  ],
           [3.  , 5.  , 1.  , 4.  ]])
    """
    has_opinion = (distinct != NO_OPINION).astype(np.float32)
    agreement = count_agreement(distinct)
    agreement /= np.maximum(has_opinion @ has_opinion.T, 1)
    merges, agreed = merge_by_agreement(agreement, mass, LEAST_AGREEMENT)
    total = mass.copy()
    for kept, absorbed in merges.tolist():
        total[kept] += total[absorbed]
    left = np.setdiff1d(np.arange(len(mass)), merges[:, 1])
    left = left[np.argsort(total[left], kind="stable")]
    # the first of two codes stands for both
    firsts = np.minimum.accumulate(left)
    last = np.column_stack([firsts[1:], np.maximum(firsts[:-1], left[1:])])
    heights = np.concatenate([1 - agreed, np.ones(len(last))])
    return as_linkage(np.concatenate([merges, last]), heights, len(mass))


def group_by_votes(
    codes: VotedCodes, needed: float, n_clusters: int | None, *, joins_all: bool
) -> VotedGroups:
    """Group codes whose agreement is at least ``needed``, but to ``n_clusters`` groups at least.

    Of more than ``MAX_LINKED`` codes, the heaviest are linked. Each of the others joins the group
    with which it agrees most: its vectors against the shares of the group's mass that have its
    labels. Unless it ``joins_all``, a code whose agreement is not enough is a group of its own, and
    in any case as many as are missing to ``n_clusters``.
    """
    linked = np.sort(np.argsort(-codes.mass, kind="stable")[:MAX_LINKED])
    linkage = link_votes(codes.distinct[linked], codes.mass[linked])
    n_agreed = len(linked) - int(
        np.searchsorted(linkage[:, 2], 1 - needed + ROUNDING, side="right")
    )
    if len(linked) == codes.n_codes:
        return VotedGroups(linked, linkage, n_agreed)
    n_groups = min(max(n_agreed, n_clusters or 1), len(linked))
    tree = MergeTree(np.arange(len(linked)), linkage, 0)
    of_linked = tree.cut(n_groups)
    joined, agreement = _join_most_agreeing(codes, linked, of_linked, n_groups)
    first = np.unique(of_linked, return_index=True)[1]
    linkage = tree.prune(first[of_linked]).linkage
    joined[linked] = of_linked
    others = np.setdiff1d(np.arange(codes.n_codes), linked)
    if joins_all:
        n_apart = 0
    else:
        n_apart = int(np.count_nonzero(agreement[others] < needed - ROUNDING))
    n_apart = max(n_apart, (n_clusters or 0) - n_groups)
    apart = np.sort(others[np.argsort(agreement[others], kind="stable")[:n_apart]])
    if len(apart) == 0:
        return VotedGroups(joined, linkage, min(n_agreed, n_groups))
    return _set_apart(joined, linkage, apart, agreement[apart], min(n_agreed, n_groups))


def move_codes(codes: VotedCodes, groups: VotedGroups, n_clusters: int) -> VotedGroups:
    """Merge groups to clusters, and move each code to the cluster with which it agrees most, up to
    ``MAX_MOVES`` times.

    It ends early if nothing moves, or before a cluster would lose its last code. The clusters are
    the new groups.

    Examples
    --------
    The second code was merged with the first, but agrees with the third only:

    >>> import numpy as np
    >>> unique = np.array([[0, 0], [1, 2], [1, 1]])
    >>> codes = VotedCodes.of(unique, np.ones(3), np.array([3.0, 1.0, 3.0]))
    >>> linkage = np.array([[0, 1, 0.9, 2], [2, 3, 1.0, 3]])
    >>> move_codes(codes, VotedGroups(np.arange(3), linkage, 2), 2).of_code
    array([0, 1, 1])
    """
    merged = groups.merged_to(n_clusters)
    label = merged[groups.of_code]
    for _ in range(MAX_MOVES):
        moved, _ = _join_most_agreeing(codes, np.arange(codes.n_codes), label, n_clusters)
        if len(np.unique(moved)) < n_clusters or np.array_equal(moved, label):
            break
        label = moved
    first = np.unique(merged, return_index=True)[1]
    tree = MergeTree(np.arange(groups.n_groups), groups.linkage, 0).prune(first[merged])
    return VotedGroups(label, tree.linkage, n_clusters)


def measure_votes(codes: VotedCodes, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the stability of each code, and the agreement of each vector with the result.

    ``label`` is the cluster of each code. The stability is the mean Jaccard index between the
    cluster and the cluster of each vector, over the vectors with an opinion on the code. The
    agreement is the adjusted Rand index. Both take only rows into account on which the vector has
    an opinion, and count rows without weights.
    """
    n_labels = int(label.max()) + 1
    overlaps = np.zeros(codes.n_codes)
    opinions = np.zeros(codes.n_codes)
    agreement = np.empty(codes.n_views)
    for view in range(codes.n_views):
        some = np.flatnonzero(codes.distinct[:, view] != NO_OPINION)
        symbols, cluster = np.unique(codes.distinct[some, view], return_inverse=True)
        counts = codes.counts[some]
        keys, pair = compress(
            pair_keys(label[some], n_labels, cluster, len(symbols)), n_labels * len(symbols)
        )
        both = sum_by_label(pair, counts, len(keys))
        group = sum_by_label(label[some], counts, n_labels)
        in_view = sum_by_label(cluster, counts, len(symbols))
        union = group[keys // len(symbols)] + in_view[keys % len(symbols)] - both
        overlaps[some] += (both / union)[pair]
        opinions[some] += 1
        in_both, in_result, in_vector = (
            float(count_pairs(sizes).sum()) for sizes in (both, group, in_view)
        )
        agreement[view] = adjusted_rand_of(in_both, in_result, in_vector, count_pairs(counts.sum()))
    return overlaps / np.maximum(opinions, 1), agreement


def _join_most_agreeing(
    codes: VotedCodes, linked: IntArray, group: IntArray, n_groups: int
) -> tuple[IntArray, FloatArray]:
    """Return, for each code, the group of ``linked`` codes with which it agrees most, and how
    much.
    """
    labels = GroupLabels.of(codes, linked, group)
    has_opinion = codes.distinct != NO_OPINION
    mass = np.bincount(group, weights=codes.mass[linked], minlength=n_groups)
    # share of each group's mass on which each vector has an opinion
    comparable = np.stack(
        [
            np.bincount(
                group, weights=codes.mass[linked] * has_opinion[linked, view], minlength=n_groups
            )
            / mass
            for view in range(codes.n_views)
        ]
    )
    joined = np.empty(codes.n_codes, dtype=np.int64)
    agreement = np.empty(codes.n_codes)
    for block in row_blocks(codes.n_codes, MAJORITY.agreement_cells // n_groups + 1):
        shares = labels.agreement(block) / np.maximum(
            has_opinion[block] @ comparable, LEAST_AGREEMENT
        )
        agreement[block] = shares.max(axis=1)
        is_best = shares >= (agreement[block] * (1 - ROUNDING))[:, None]
        joined[block] = is_best.argmax(axis=1)
        # then each has a group, in which it stays unless another one is better
        if len(group) == codes.n_codes:
            joined[block] = np.where(
                is_best[np.arange(len(is_best)), group[block]], group[block], joined[block]
            )
    return joined, agreement


def _set_apart(
    group: IntArray, linkage: FloatArray, apart: IntArray, agreement: FloatArray, n_agreed: int
) -> VotedGroups:
    """Return groups in which some codes are groups of their own, which merge with the others before
    these do.
    """
    n_joined = len(linkage) + 1
    order = np.argsort(-agreement, kind="stable")
    joins = np.column_stack([group[apart], n_joined + np.arange(len(apart))])[order]
    heights = np.concatenate([1 - agreement[order], np.maximum(linkage[:, 2], 1 - agreement.min())])
    group = group.copy()
    group[apart] = n_joined + np.arange(len(apart))
    all_merges = np.concatenate([joins, as_merges(linkage)])
    return VotedGroups(
        group, as_linkage(all_merges, heights, n_joined + len(apart)), n_agreed + len(apart)
    )
