"""consensus: one partition out of several given ones, wherever their labels are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cohirf.algorithm.consensus import RELAXED, fold_views
from cohirf.beyond.merge_tree import Groups, MergeTree, link_groups
from cohirf.beyond.votes import (
    NO_OPINION,
    VotedCodes,
    VotedGroups,
    group_by_votes,
    measure_votes,
    move_codes,
)
from cohirf.data.dask_arrays import read_in_order
from cohirf.data.first_level import check_array_weights
from cohirf.data.partitions import Partitions, open_partitions, refuse_other_rows
from cohirf.hierarchy import FusionHierarchy
from cohirf.rows.arrays import as_rows
from cohirf.rows.grouping import (
    FloatArray,
    IntArray,
    first_rows,
    index_dtype,
    row_blocks,
    sum_by_label,
)
from cohirf.rows.storage import Storage
from cohirf.scratch import ScratchStorage
from cohirf.summary.vectors import look_up


@dataclass(frozen=True)
class VotingPolicy:
    """How much of given partitions is read and kept at a time; it changes no label."""

    block_rows: int = 2**18  # of labels that are read at a time
    waiting_codes: int = 2**20  # of blocks whose codes are not compared with each other yet
    rows_in_memory: int = 2**24  # with more rows, vectors are kept in temporary files


POLICY = VotingPolicy()


NEEDED = {"majority": 0.5, "refined": 0.5, "strict": 1.0, "relaxed": 1.0}


@dataclass(frozen=True)
class ConsensusResult:
    """What :func:`consensus` returns.

    Attributes
    ----------
    labels : array of int, shape (n_rows,)
        Cluster of each row, numbered by first appearance; -1 for rows on which no vector has an
        opinion. A memory map for very many rows, as is ``stability``.
    n_clusters : int
        Number of clusters.
    stability : array of float32, shape (n_rows,)
        Mean Jaccard index between the row's cluster and its cluster in each vector: 1 if all
        vectors have the same cluster. NaN for rows on which no vector has an opinion.
    agreement : array of float, shape (n_vectors,)
        Adjusted Rand index between each vector and the result, on the rows on which the vector has
        an opinion.
    views_kept : tuple of int
        The vectors that took part: all of them, unless the consensus is relaxed.
    hierarchy : FusionHierarchy
        Rows fuse into groups, and groups into clusters. Its tree merges groups further, so that
        ``cut`` returns any number of clusters.
    """

    labels: Any
    n_clusters: int
    stability: Any
    agreement: FloatArray
    views_kept: tuple[int, ...]
    hierarchy: FusionHierarchy


def consensus(
    labels: Any,
    *,
    n_clusters: int | None = None,
    consensus: str | float = "majority",
    X: Any = None,
    sample_weight: Any = None,
) -> ConsensusResult:
    """Return the partition on which several given partitions of the same rows agree.

    Rows agree by the share of vectors that put them into the same cluster. Groups of rows merge by
    their mean agreement, as average linkage on the matrix of co-associations does. That matrix is
    never computed: rows with equal labels in all vectors are one code, and codes merge with the
    mass of their rows. With at most 2,000 distinct codes the result is exact. Of more, the heaviest
    are linked, and each of the others joins the group that it agrees with most. So time and memory
    grow linearly with the number of rows.

    Parameters
    ----------
    labels : array, table, source, Dask array or table, shape (n_rows, n_vectors), or list of
    vectors
        A column or a vector for each partition, from any method, with any number of clusters.
        Labels are integers, or text if they are in memory. Negative numbers, NaN and None mean that
        the vector has no opinion on the row: the row is compared with others by the other vectors.
        For files, pass ``open_source(path)``, which is read in blocks, or the path.
    n_clusters : int, default=None
        Number of clusters of the result. None means as many as the vectors agree on.
    consensus : {"majority", "refined", "strict", "relaxed"} or float, default="majority"
        How much groups must agree to merge, if ``n_clusters`` is None: "majority" means one half,
        "strict" means that all vectors agree. "relaxed" means the same after vectors that disagree
        with the others are dropped, as in
        :class:`cohirf.CoHiRF`; a number is the threshold for this, otherwise 0.8. "refined" is
        "majority", after which rows move to the cluster that they agree with most, until none does;
        the hierarchy then begins with the clusters.
    X : array, table, CSR matrix, source or Dask array, shape (n_rows, n_features), default=None
        Values of the rows. With them, the groups on which vectors agree merge by Ward's criterion
        with their means and masses, as after the levels of a fit; without them, by votes.
    sample_weight : array, shape (n_rows,), default=None
        Weight of each row; by default, all are 1.

    Returns
    -------
    result : ConsensusResult
        ``labels``, ``n_clusters``, ``stability``, ``agreement``, ``views_kept`` and ``hierarchy``.

    See Also
    --------
    cohirf.CoHiRF : Makes views itself, and contracts the data level by level.

    Examples
    --------
    Three partitions, of which the last one has no opinion on one row:

    >>> import cohirf
    >>> vectors = [[0, 0, 0, 1, 1], [5, 5, 2, 2, 2], ["a", "a", "a", "b", None]]
    >>> result = cohirf.consensus(vectors)
    >>> result.labels, result.agreement.round(2)
    (array([0, 0, 0, 1, 1], dtype=int32), array([1.  , 0.17, 1.  ]))
    >>> cohirf.consensus(vectors, n_clusters=3).labels
    array([0, 0, 1, 2, 2], dtype=int32)
    """
    needed, threshold = read_consensus(consensus)
    is_number = isinstance(n_clusters, Integral) and not isinstance(n_clusters, bool)
    if n_clusters is not None and not (is_number and n_clusters >= 1):
        raise ValueError(
            f"n_clusters={n_clusters!r} is not valid: give a number of at least 1, or None."
        )
    votes = _Votes(open_partitions(labels, POLICY.block_rows))
    if sample_weight is None:
        weights = None
    else:
        weights = _positive_weights(sample_weight, votes.n_rows)
    folded, number, codes_of_rows = votes.fold(weights)
    is_heard = (folded.distinct != NO_OPINION).any(axis=1)
    if not is_heard.any():
        raise ValueError("No vector has an opinion on any row: give labels of 0 or more.")
    spread = partial(_spread_codes, number[is_heard], len(number))
    heard = VotedCodes.of(folded.distinct[is_heard], folded.counts[is_heard], folded.mass[is_heard])
    if threshold is None:
        views = tuple(range(heard.n_views))
    else:
        views = heard.kept(threshold)
    linked = replace(heard, distinct=heard.distinct[:, list(views)])
    groups = group_by_votes(
        linked, needed, n_clusters, joins_all=n_clusters is not None and X is None
    )
    if X is not None:
        n_groups = min(max(groups.n_agreed, n_clusters or 1), groups.n_groups)
        of_code = groups.merged_to(n_groups)[groups.of_code]
        of_rows = look_up(spread(of_code, n_groups, np.int64), codes_of_rows)
        groups = _merge_by_mass(
            of_code, heard, votes.sum_rows(X, of_rows, n_groups + 1, weights)[:n_groups]
        )
    if n_clusters is None:
        wanted = groups.n_agreed
    else:
        wanted = min(int(n_clusters), groups.n_groups)
    if consensus == "refined":
        groups = move_codes(heard, groups, wanted)
    if n_clusters is not None and wanted < n_clusters:
        warnings.warn(
            f"n_clusters={n_clusters}, but the rows have only {wanted} different combinations of "
            f"labels: there are {wanted} clusters.",
            ConvergenceWarning,
            stacklevel=2,
        )
    clusters = _Clusters.of(heard, groups, wanted, folded.first[is_heard])
    stability, agreement = measure_votes(heard, clusters.of_code)
    return ConsensusResult(
        look_up(spread(clusters.of_code, -1, index_dtype(votes.n_rows)), codes_of_rows),
        wanted,
        look_up(spread(stability, np.nan, np.float32), codes_of_rows),
        agreement,
        views,
        votes.hierarchy(clusters, spread(groups.of_code, -1, np.int64), codes_of_rows),
    )


def read_consensus(consensus: str | float) -> tuple[float, float | None]:
    """Return the agreement that groups need, and the threshold below which vectors are dropped, or
    None.
    """
    if isinstance(consensus, str) and consensus in NEEDED:
        return NEEDED[consensus], RELAXED if consensus == "relaxed" else None
    if isinstance(consensus, Real) and not isinstance(consensus, bool) and 0 <= consensus <= 1:
        return 1.0, float(consensus)
    known = ", ".join(f'"{name}"' for name in NEEDED)
    raise ValueError(f"consensus={consensus!r} is not valid: give {known} or a number from 0 to 1.")


@dataclass(frozen=True)
class _Clusters:
    """Groups, their clusters, and the rows that stand for them."""

    of_code: IntArray  # cluster of each code, numbered by first row
    of_group: IntArray  # cluster of each group
    group_rows: IntArray  # the row that stands for each group: the first one with its heaviest code
    cluster_rows: IntArray  # likewise of each cluster
    linkage: FloatArray  # merges of groups

    @classmethod
    def of(
        cls, codes: VotedCodes, groups: VotedGroups, n_clusters: int, first: IntArray
    ) -> _Clusters:
        """Merge groups to a number of clusters; ``first`` has the first row of each code."""
        of_group = groups.merged_to(n_clusters)
        of_code = of_group[groups.of_code]
        first_of_cluster = np.full(n_clusters, np.iinfo(np.int64).max)
        np.minimum.at(first_of_cluster, of_code, first)
        number = np.argsort(np.argsort(first_of_cluster))
        of_group = number[of_group]
        of_code = number[of_code]
        heaviest_last = np.lexsort((-first, codes.mass))  # of equal ones, the first row is the last
        group_rows = np.empty(groups.n_groups, np.int64)
        cluster_rows = np.empty(n_clusters, np.int64)
        group_rows[groups.of_code[heaviest_last]] = first[heaviest_last]
        cluster_rows[of_code[heaviest_last]] = first[heaviest_last]
        return cls(of_code, of_group, group_rows, cluster_rows, groups.linkage)

    def tree(self) -> MergeTree:
        """Return the merges of groups, which are in the order of their rows."""
        order = np.argsort(self.group_rows)
        number = np.concatenate([np.argsort(order), np.arange(len(order), 2 * len(order) - 1)])
        linkage = self.linkage.copy()
        linkage[:, :2] = np.sort(number[linkage[:, :2].astype(np.int64)], axis=1)
        return MergeTree(self.group_rows[order], linkage, 1)


def _merge_by_mass(of_code: IntArray, codes: VotedCodes, sums: Any) -> VotedGroups:
    """Return groups with merges by Ward's criterion instead of votes, given the sum of the rows of
    each.
    """
    n_groups = sums.shape[0]
    mass = sum_by_label(of_code, codes.mass, n_groups)
    means = sparse.diags_array(1 / mass) @ sums
    means = as_rows(means)
    if n_groups > 1:
        linkage = link_groups(Groups(means, mass).means, mass)
    else:
        linkage = np.empty((0, 4))
    return VotedGroups(of_code, linkage, n_groups)


def _spread_codes(
    number: IntArray, n_codes: int, values: NDArray[Any], missing: float, dtype: Any
) -> NDArray[Any]:
    """Return values of codes with an opinion as values of all codes, by the number that each has in
    the rows.
    """
    spread = np.full(n_codes, missing, dtype=dtype)
    spread[number] = values
    return spread


@dataclass(frozen=True)
class _Folded:
    """Distinct codes of some rows, sorted."""

    distinct: IntArray
    counts: FloatArray  # number and mass of the rows that have each code
    mass: FloatArray
    first: IntArray  # first row of each code, among all rows
    of_row: IntArray  # code of each row

    @classmethod
    def of(cls, block: NDArray[Any], start: int, weights: Any = None) -> _Folded:
        """Return the codes of a block of rows, of which the first has the number ``start``."""
        codes = fold_views(
            (_as_labels(block[:, view]) for view in range(block.shape[1])), len(block), weights
        )
        first = start + first_rows(codes.of_row, codes.n_codes).astype(np.int64)
        return cls(codes.distinct, codes.counts, codes.mass, first, codes.of_row)

    @classmethod
    def joined(cls, blocks: Sequence[_Folded]) -> tuple[_Folded, list[IntArray]]:
        """Return the distinct codes of several blocks without rows, and which of them each block
        has.
        """
        stacked = np.concatenate([block.distinct for block in blocks])
        codes = fold_views(stacked.T, len(stacked))
        counts, mass = (
            sum_by_label(
                codes.of_row,
                np.concatenate([getattr(block, name) for block in blocks]),
                codes.n_codes,
            )
            for name in ("counts", "mass")
        )
        first = np.full(codes.n_codes, np.iinfo(np.int64).max)
        np.minimum.at(first, codes.of_row, np.concatenate([block.first for block in blocks]))
        names = np.split(codes.of_row, np.cumsum([len(block.distinct) for block in blocks])[:-1])
        return cls(codes.distinct, counts, mass, first, np.empty(0, np.int32)), names


def _as_labels(column: NDArray[Any]) -> IntArray:
    """Return a column of numbers as labels; NaN means no opinion."""
    # codes are sums and products
    column = column.astype(np.promote_types(column.dtype, np.int32), copy=False)
    if column.dtype.kind == "i":
        return column
    filled = np.where(column >= 0, column, NO_OPINION)
    labels = np.minimum(filled, 2.0**53 - 1).astype(np.int64)
    different = np.flatnonzero(labels != filled)
    if len(different) > 0:
        raise ValueError(
            f"{filled[different[0]]} is not a label: give integers below 2**53, and NaN or -1 for "
            "no opinion."
        )
    return labels


class _Votes:
    """Labels, wherever they are, and vectors with an entry for each row."""

    def __init__(self, partitions: Partitions) -> None:
        self.n_rows = partitions.n_rows
        self._read = partitions.read
        is_large = self.n_rows > POLICY.rows_in_memory
        self._storage: Storage = ScratchStorage() if is_large else Storage()

    def fold(self, weights: FloatArray | None) -> tuple[_Folded, IntArray, IntArray]:
        """Return the distinct codes, the number that each has in the rows, and the number of the
        code of each row.
        """
        of_row = self._storage.vector(self.n_rows, index_dtype(self.n_rows))
        number: IntArray = np.empty(0, dtype=of_row.dtype)
        blocks = list[_Folded]()
        spans = list[slice]()
        start = 0
        for labels in self._read():
            spans.append(slice(start, start + len(labels)))
            block = _Folded.of(labels, start, None if weights is None else weights[spans[-1]])
            of_row[spans[-1]] = block.of_row
            blocks.append(replace(block, of_row=block.of_row[:0].copy()))
            start += len(labels)
            if sum(len(block.distinct) for block in blocks[1:]) > max(
                POLICY.waiting_codes, len(number)
            ):
                blocks, spans, number = self._join(blocks, spans, number, of_row)
        blocks, _, number = self._join(blocks, spans, number, of_row)
        return blocks[0], number, of_row

    def _join(
        self, blocks: list[_Folded], spans: list[slice], number: IntArray, of_row: IntArray
    ) -> tuple[list[_Folded], list[slice], IntArray]:
        """Join the codes of blocks.

        Those of the first keep their numbers: it may stand for many rows.
        """
        joined, names = _Folded.joined(blocks)
        new = np.full(len(joined.distinct), -1, dtype=of_row.dtype)
        new[names[0]] = number if len(number) else np.arange(len(names[0]))
        new[new < 0] = np.arange(len(names[0]), len(new))
        for span, of_block in zip(spans[1:], names[1:], strict=True):
            of_row[span] = new[of_block][of_row[span]]
        self._storage.release()
        return [joined], [slice(0, 0)], new

    def sum_rows(self, X: Any, groups: IntArray, n_sums: int, weights: Any) -> Any:
        """Return the weighted sum of the rows of ``X`` of each group, given the group of each
        row.
        """
        source, blocks = read_in_order(X, block_cells=2**22)
        refuse_other_rows("X", source.n_rows, self.n_rows)
        total: Any = 0
        for block in blocks:
            values = source.take(np.arange(block.start, block.stop))
            total = total + _sum_block(
                values, groups[block], n_sums, None if weights is None else weights[block]
            )
        return total

    def hierarchy(
        self, clusters: _Clusters, group_of_code: IntArray, codes_of_rows: IntArray
    ) -> FusionHierarchy:
        """Return the hierarchy of all rows."""
        kinds = (index_dtype(self.n_rows), np.uint8)
        parents, absorbed_at = (self._storage.vector(self.n_rows, kind) for kind in kinds)
        for block in row_blocks(self.n_rows, POLICY.block_rows):
            own = np.arange(block.start, block.stop)
            group = group_of_code[codes_of_rows[block]]
            parents[block] = np.where(group < 0, own, clusters.group_rows[group])
            absorbed_at[block] = parents[block] != own
            self._storage.release()
        above = clusters.cluster_rows[clusters.of_group]
        parents[clusters.group_rows] = above
        absorbed_at[clusters.group_rows] = 2 * (above != clusters.group_rows)
        return FusionHierarchy.of_fit(parents, absorbed_at, 2, tree=clusters.tree())


def _positive_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Return valid weights. None is 0, because rows of weight 0 have labels, too.

    They count next to nothing.
    """
    weights = check_array_weights(sample_weight, n_rows).take(np.arange(n_rows))
    positive: FloatArray = np.maximum(weights, weights.max() * np.finfo(np.float64).eps)
    return positive


def _sum_block(values: Any, group: IntArray, n_sums: int, weights: Any) -> Any:
    """Return the weighted sum of the rows of each group."""
    mass = np.ones(len(group)) if weights is None else weights
    return (
        sparse.csr_array((mass, (group, np.arange(len(group)))), shape=(n_sums, len(group)))
        @ values
    )
