"""Summary: what a model keeps so that it can be updated, merged with others and made to forget.

It is a table of groups of rows with their values and masses, and the group of each row. The upper
levels of a fit need nothing else. A row that no level has contracted yet is a group of its own, of
height 0. The last of these are pending: they are contracted as soon as there are enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.randomness import Entropy
from cohirf.algorithm.runs import Survivors
from cohirf.beyond.merge_tree import Groups
from cohirf.rows import ranges
from cohirf.rows.arrays import alike, join_rows, narrow_indices, to_host
from cohirf.rows.grouping import IntArray, Mass
from cohirf.summary.policy import KEEP
from cohirf.summary.rows import Part, RowMap, RowResults, check_sizes


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Groups of rows, sorted by the number of the row that stands for each."""

    # number of the row that stands for each group: its medoid
    rows: Annotated[IntArray, ranges.numbers(ranges.ANY, below="n_rows", is_sorted=True)]
    # values of that row, with all features
    values: Annotated[Any, ranges.cells("rows", "n_features", filled_by="column_means")]
    # mean of the rows of each group; of a group of height 0 its row, in which cells may be missing
    means: Annotated[Any, ranges.cells("rows", "n_features", filled_by="column_means")]
    # sizes, first_rows: Number of rows in each group, without those of weight 0, and the smallest
    # of their numbers
    sizes: Annotated[IntArray, ranges.counts("rows"), ranges.Holds(check_sizes, "n_rows")]
    first_rows: Annotated[IntArray, ranges.numbers("rows", below="n_rows")]
    # total sample weight of each group; None if all rows have the weight 1
    weights: Annotated[Mass | None, ranges.measures("rows", least=0)]
    # whether a group is a single row that the base method called noise
    is_noise: Annotated[NDArray[np.bool_], ranges.flags("rows")]
    # stability of each row that stands for a group, at the first level; NaN if the level did not
    # cluster it
    stability: Annotated[NDArray[np.float32], ranges.shares("rows")]
    # how often the rows of each group were contracted
    heights: Annotated[IntArray, ranges.counts("rows")]
    # whether the values are not those of the row, which are not known: the row that had them was
    # forgotten
    is_stand_in: Annotated[NDArray[np.bool_], ranges.flags("rows")]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def mass(self) -> Mass:
        """Total weight of each group; without sample weights, its number of rows."""
        if self.weights is None:
            return self.sizes.astype(np.float64)
        return self.weights

    @classmethod
    def of_rows(cls, first_row: int, values: Any, weights: Mass | None) -> RowGroups:
        """Return rows that follow each other as groups of one row each."""
        n_rows = values.shape[0]
        rows = np.arange(first_row, first_row + n_rows)
        return cls(
            rows=rows,
            values=values,
            means=values,
            sizes=np.ones(n_rows, dtype=np.int64),
            first_rows=rows,
            weights=weights,
            is_noise=np.zeros(n_rows, dtype=bool),
            stability=np.full(n_rows, np.nan, dtype=np.float32),
            heights=np.zeros(n_rows, dtype=np.int32),
            is_stand_in=np.zeros(n_rows, dtype=bool),
        )

    @classmethod
    def of_survivors(cls, survivors: Survivors, values: Any, first_row: int) -> RowGroups:
        """Return the survivors of a first level whose row 0 has the number ``first_row`` among all
        rows.
        """
        return cls(
            rows=survivors.rows.astype(np.int64) + first_row,
            values=values,
            means=survivors.means,
            sizes=survivors.sizes,
            first_rows=survivors.first_rows.astype(np.int64) + first_row,
            weights=survivors.weights,
            is_noise=survivors.is_noise,
            stability=survivors.stability,
            heights=np.ones(len(survivors.rows), dtype=np.int32),
            is_stand_in=np.zeros(len(survivors.rows), dtype=bool),
        )

    @classmethod
    def join(cls, parts: Sequence[RowGroups]) -> RowGroups:
        """Concatenate groups."""
        parts = [part for part in parts if len(part)] or list(parts[:1])
        if len(parts) == 1:
            return parts[0]
        weighted = any(part.weights is not None for part in parts)
        names = [part.name for part in fields(cls) if part.name != "weights"]
        return cls(
            **{name: stack([getattr(part, name) for part in parts]) for name in names},
            weights=np.concatenate([part.mass for part in parts]) if weighted else None,
        )

    def take(self, index: IntArray | NDArray[np.bool_] | slice) -> RowGroups:
        """Return some of the groups."""
        columns: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self)}
        some: dict[str, Any] = {
            name: None if each is None else each[index] for name, each in columns.items()
        }
        return RowGroups(**some)

    def joined(self, kept: IntArray, label: IntArray, height: int) -> RowGroups:
        """Return the groups at the positions ``kept``, which all groups with their label have
        joined.
        """
        n_kept = len(kept)
        groups = Groups(self.means, self.mass).merged(label, n_kept)
        first_rows = np.full(n_kept, np.iinfo(np.int64).max)
        np.minimum.at(first_rows, label, self.first_rows)
        return replace(
            self.take(kept),
            means=groups.means,
            sizes=np.bincount(label, weights=self.sizes, minlength=n_kept).astype(np.int64),
            first_rows=first_rows,
            weights=None if self.weights is None else groups.mass,
            is_noise=np.zeros(n_kept, dtype=bool),
            heights=np.full(n_kept, height, dtype=np.int32),
        )

    def shifted(self, n_rows: int) -> RowGroups:
        """Return the groups with row numbers that are higher by ``n_rows``."""
        return replace(self, rows=self.rows + n_rows, first_rows=self.first_rows + n_rows)

    def completed(self, column_means: NDArray[np.floating[Any]] | None) -> RowGroups:
        """Return the groups for the upper levels: no cell of a mean is missing, and no weight is 0.

        Rows of weight 0 join other groups, and count next to nothing there.
        """
        means = fill_missing(self.means, column_means).astype(np.float64, copy=False)
        weights = self.weights
        if weights is not None and (weights == 0).any():
            weights = np.where(
                weights == 0, KEEP.no_weight * weights[weights > 0].min(initial=1.0), weights
            )
        return replace(self, means=means, weights=weights)

    def as_survivors(self, values: Any, mass: Mass | None, batches: ContractedBatches) -> Survivors:
        """Return the groups as the survivors of a first level of the given batches.

        ``mass`` is that of later levels.

        The stability of the views of each batch is not known any more.
        """
        return Survivors(
            rows=self.rows,
            values=values,
            mass=mass,
            sizes=self.sizes.astype(np.int64, copy=False),
            first_rows=self.first_rows,
            weights=self.weights,
            means=self.means,
            is_noise=self.is_noise,
            stability=self.stability,
            batch_sizes=batches.sizes,
            batch_costs=batches.costs,
            view_stability=np.empty((len(batches.sizes), 0)),
        )


def stack(blocks: Sequence[Any]) -> Any:
    """Concatenate arrays or CSR matrices with the same number of columns."""
    return narrow_indices(join_rows(list(alike(*blocks))))


@dataclass(frozen=True, eq=False)
class ContractedBatches:
    """The batches that groups come from."""

    sizes: Annotated[NDArray[np.int64], ranges.counts(ranges.ANY)]  # number of rows of each
    # their figures, as in ``ContractedBatch``
    costs: Annotated[NDArray[np.float64], ranges.cells("sizes", 6)]
    # sums over their views, as in ``tally_features``; without batches, of no feature
    tally: Annotated[NDArray[np.float64], ranges.measures(2, ranges.ANY)]
    # number of batches of groups that were contracted again: of groups of height 1, of height 2,
    # and so on
    n_again: Annotated[tuple[int, ...], ranges.counts()] = ()

    def without(self, n_rows: int) -> ContractedBatches:
        """Return the batches after ``n_rows`` of their rows have left.

        Which of the batches had these is not known.
        """
        total = int(self.sizes.sum())
        if total == 0 or n_rows == 0:
            return self
        bounds = np.append(0, np.cumsum(self.sizes)) * (max(1, total - n_rows) / total)
        return replace(self, sizes=np.diff(np.round(bounds)).astype(np.int64))

    @classmethod
    def none(cls) -> ContractedBatches:
        """Return no batches."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, 6)), np.zeros((2, 0)))


def check_next(next_number: int, labels: IntArray) -> None:
    """Raise ValueError if the number of a new cluster is taken."""
    if next_number <= labels.max(initial=-1):
        raise ValueError(
            f"is {next_number}, which is not above the number {labels.max()} of a cluster"
        )


def check_updates(update_rows: tuple[int, ...], n_rows: int) -> None:
    """Raise ValueError unless all rows came with some update."""
    if sum(update_rows) != n_rows:
        raise ValueError(f"has {sum(update_rows)} rows in all, and there are {n_rows}")


@dataclass(frozen=True, eq=False)
class Summary:
    """What a model keeps of its rows."""

    # entropy of the model, which seeds everything, in words of 32 bits
    entropy: Annotated[Entropy, ranges.counts(most=2**32 - 1)]
    # the batch size that was settled by the first call
    batch_size: Annotated[int | None, ranges.counts(least=1)]
    groups: RowGroups  # groups of rows
    row_map: RowMap  # the group of each row
    batches: ContractedBatches  # where the groups come from; none if all rows are kept as they are
    # number of the cluster of each group; -1 for noise
    labels: Annotated[IntArray, ranges.labels("groups", among="cluster_numbers")]
    # the next number for a new cluster
    next_number: Annotated[
        int, ranges.counts(most=KEEP.numbers), ranges.Holds(check_next, "labels")
    ]
    # number of rows of each update so far; a fit is the first one
    update_rows: Annotated[tuple[int, ...], ranges.counts(), ranges.Holds(check_updates, "n_rows")]
    # whether the clusters go on in updates. Those of ``fit`` do, and others as soon as there are 50
    # rows for each
    is_settled: bool = True

    @classmethod
    def empty(cls, entropy: Entropy, batch_size: int | None, no_rows: Any) -> Summary:
        """Return the summary of a model that has seen no rows, but knows their type."""
        return cls(
            entropy=entropy,
            batch_size=batch_size,
            groups=RowGroups.of_rows(0, no_rows, None),
            row_map=RowMap(),
            batches=ContractedBatches.none(),
            labels=np.empty(0, dtype=np.int64),
            next_number=0,
            update_rows=(),
            is_settled=False,
        )

    @classmethod
    def of_kept_rows(
        cls,
        entropy: Entropy,
        batch_size: int | None,
        values: Any,
        weights: Mass | None,
        found: RowResults,
    ) -> Summary:
        """Return the summary of a fit of which all rows are kept."""
        labels = np.asarray(to_host(found.gathered().look_up_labels()))
        fitted = cls.empty(entropy, batch_size, values[:0]).fitted(
            found.n_rows, int(found.labels.max(initial=-1)) + 1
        )
        return fitted.with_rows(values, weights, labels)

    def fitted(self, n_rows: int, n_clusters: int) -> Summary:
        """Return the summary after a fit of ``n_rows`` rows, of which nothing else is known yet."""
        return replace(self, next_number=n_clusters, update_rows=(n_rows,), is_settled=True)

    def settled(self) -> Summary:
        """Return the summary with clusters that go on, if there are enough rows for that."""
        n_clusters = len(np.unique(self.labels[self.labels >= 0]))
        return replace(
            self,
            is_settled=self.is_settled or self.n_rows >= KEEP.sure_per_cluster * n_clusters > 0,
        )

    @property
    def n_rows(self) -> int:
        """Number of rows of the model."""
        return self.row_map.n_rows

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def keeps_all(self) -> bool:
        """Whether all rows are kept as they are, so that an update is a fit to all of them."""
        return len(self.batches.sizes) == 0

    @property
    def n_pending(self) -> int:
        """Number of rows at the end that no level has contracted."""
        contracted = np.flatnonzero(self.groups.heights)
        return len(self.groups) - int(contracted.max(initial=-1)) - 1

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each group, those of weight 0 included."""
        # the rows of a large model are counted only if the groups, which leave out rows of weight
        # 0, do not know
        is_known = int(self.groups.sizes.sum()) == self.n_rows
        if is_known:
            return self.groups.sizes
        return self.row_map.count(len(self.groups))

    @property
    def unknown_rows(self) -> IntArray:
        """Row number of each group whose values are not those of the row."""
        return self.groups.rows[self.groups.is_stand_in]

    def with_rows(self, values: Any, weights: Mass | None, labels: IntArray) -> Summary:
        """Return the summary with more rows, which are kept as they are, in the clusters
        ``labels``.
        """
        n_new = values.shape[0]
        n_groups = len(self.groups)
        if n_new == 0:
            return self
        everything = np.arange(n_new)
        part = Part(everything, np.full(n_new, np.nan, dtype=np.float32), n_groups + everything)
        return replace(
            self,
            groups=RowGroups.join([self.groups, RowGroups.of_rows(self.n_rows, values, weights)]),
            row_map=self.row_map.followed_by([part]),
            labels=np.append(self.labels[:n_groups], labels),
        )

    def without_pending(self) -> Summary:
        """Return the summary without its pending rows.

        If models that kept all their rows were merged, all rows are pending, and the batches, one
        for each model, leave with them.
        """
        n_left = self.n_rows - self.n_pending
        parts = list(self.row_map.parts)
        while sum(part.n_rows for part in parts) > n_left:
            parts.pop()  # pending rows have parts of their own
        left = slice(len(self.groups) - self.n_pending)
        return replace(
            self,
            groups=self.groups.take(left),
            row_map=RowMap(tuple(parts)),
            labels=self.labels[left],
            batches=self.batches if n_left else ContractedBatches.none(),
        )
