"""Summary: what a model keeps so that it can be updated, merged with others and made to forget.

It has *leaves*, groups of rows with their values and masses, and *pending* rows, which no level has contracted yet. The
upper levels of a fit need nothing else. Row numbers are those of ``labels_``: the rows of all leaves come first, and
the pending rows last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.randomness import Entropy
from cohirf.summary.leaves import Leaves
from cohirf.summary.row_map import Part, RowMap

SURE_PER_CLUSTER = 50  # rows; with fewer, a model that was not fitted finds its clusters anew in each update


@dataclass(frozen=True, eq=False)
class Pending:
    """Rows that are kept as they are.

    Attributes
    ----------
    values : array, CSR matrix or None
        Values of the rows, with all features; None if there have never been any.
    weights : array of float or None
        Their sample weights; None if all have the weight 1.
    """

    values: Any = None
    weights: Mass | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return 0 if self.values is None else int(self.values.shape[0])


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches that the leaves come from.

    Attributes
    ----------
    sizes : array of int
        Number of rows of each.
    costs : array of float
        Their figures, as in ``ContractedBatch``.
    tally : array of float, shape (2, n_features)
        Sums over their views, as in ``FeatureTally``.
    n_again : tuple of int
        Number of batches of groups that were contracted again: of groups of height 1, of height 2, and so on.
    """

    sizes: IntArray
    costs: NDArray[np.float64]
    tally: NDArray[np.float64]
    n_again: tuple[int, ...] = ()

    def without(self, n_rows: int) -> Batches:
        """Return the batches after so many of their rows have left; which of the batches had these is not known."""
        total = int(self.sizes.sum())
        if total == 0 or n_rows == 0:
            return self
        bounds = np.append(0, np.cumsum(self.sizes)) * (max(1, total - n_rows) / total)
        sizes: IntArray = np.diff(np.round(bounds)).astype(np.int64)
        return replace(self, sizes=sizes)

    @classmethod
    def none(cls, n_features: int) -> Batches:
        """Return no batches."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, 6)), np.zeros((2, n_features)))


@dataclass(frozen=True, eq=False)
class Summary:
    """What a model keeps of its rows.

    Attributes
    ----------
    entropy : tuple of int
        Entropy of the model, which seeds everything.
    batch_size : int or None
        The batch size that was settled by the first call.
    leaves : Leaves or None
        Groups of rows; None if all rows are pending.
    row_map : RowMap
        The leaf of each row that is not pending.
    pending : Pending
        Rows that no level has contracted yet.
    batches : Batches
        Where the leaves come from.
    labels : array of int
        Number of the cluster of each leaf, and then of each pending row; -1 for noise.
    next_number : int
        The next number for a new cluster.
    update_rows : tuple of int
        Number of rows of each update so far; a fit is the first one.
    is_settled : bool
        Whether the clusters go on in updates. Those of ``fit`` do, and others as soon as there are 50 rows for each.
    """

    entropy: Entropy
    batch_size: int | None
    leaves: Leaves | None
    row_map: RowMap
    pending: Pending
    batches: Batches
    labels: IntArray
    next_number: int
    update_rows: tuple[int, ...]
    is_settled: bool = True

    def settled(self) -> Summary:
        """Return the summary with clusters that go on, if there are enough rows for that."""
        n_clusters = len(np.unique(self.labels[self.labels >= 0]))
        return replace(self, is_settled=self.is_settled or self.n_rows >= SURE_PER_CLUSTER * n_clusters > 0)

    @property
    def n_rows(self) -> int:
        """Number of rows of the model."""
        return self.row_map.n_rows + self.pending.n_rows

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return 0 if self.leaves is None else len(self.leaves)

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each leaf, those of weight 0 included, and then of each pending row."""
        ones, leaves = np.ones(self.pending.n_rows, dtype=np.int64), self.leaves
        if leaves is None:
            return ones
        # the rows of a large model are counted only if the leaves, which leave out rows of weight 0, do not know
        is_known = leaves.n_rows == self.row_map.n_rows
        return np.concatenate([leaves.sizes if is_known else self.row_map.count(len(leaves)), ones])

    @property
    def rows(self) -> IntArray:
        """Row number of each leaf, and then of each pending row."""
        pending = np.arange(self.row_map.n_rows, self.n_rows)
        return pending if self.leaves is None else np.concatenate([self.leaves.rows, pending])

    @property
    def full_map(self) -> RowMap:
        """The group of each row, in which pending rows are groups of their own, behind the leaves."""
        n_pending = self.pending.n_rows
        if n_pending == 0:
            return self.row_map
        everything = np.arange(n_pending)
        stability = np.full(n_pending, np.nan, dtype=np.float32)
        return self.row_map.followed_by([Part(everything, stability, self.n_leaves + everything)])

    @property
    def unknown_rows(self) -> IntArray:
        """Row number of each leaf whose values are not those of the row."""
        return np.arange(0) if self.leaves is None else self.leaves.rows[self.leaves.is_stand_in]
