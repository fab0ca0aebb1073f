"""The first level sees all rows of the data. Here: what it leaves, and how rows can be assigned to other groups.

The survivors of the first level are the *leaves* of all later levels. Each row belongs to one leaf, wherever the rows
are. So what a fit finds out about leaves, such as their label, is looked up for each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.arrays import to_host
from cohirf.algorithm.batches import LocalBatches
from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.engine import Engine, SerialEngine
from cohirf.algorithm.fusions import Recorded
from cohirf.algorithm.grouping import BLOCK_ROWS, IntArray, count_by_label, first_rows, index_dtype, row_blocks
from cohirf.algorithm.left_out import all_others, put_back
from cohirf.algorithm.levels import ActiveRows, Resources, contract_level, make_tasks, run_tasks, split_level
from cohirf.algorithm.population import Weights
from cohirf.algorithm.runs import Links, Survivors, gather_survivors
from cohirf.algorithm.storage import ArrayRows, MemoryStorage, Rows, Storage
from cohirf.summary.row_map import Part, fetch, put

NUMBERED_ROWS = 2**22  # number of rows of one task
MAPPED_ROWS = 2**18  # the same for rows whose values are read


class LabelsRows(Protocol):
    """Labels rows by their values, such as the cells of a division."""

    def label(self, X: Any) -> Any:
        """Return the label of each row of ``X``, where the rows are."""


class MapsRows(Protocol):
    """Applies functions to all rows of the data, where they are."""

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to blocks of rows; the result has ``n_columns`` columns, or is a vector if None."""

    def count(self, leaf_of: Any, n_leaves: int, weights: Any) -> Counts:
        """Count the rows of each leaf."""


@dataclass(frozen=True)
class Counts:
    """The rows of each leaf.

    Attributes
    ----------
    sizes : array of int
        Number of rows of each leaf, without rows of weight 0.
    weights : array of float or None
        Total weight of these rows; None if each has the weight 1.
    first_rows : array of int
        The first row of each leaf.
    means : array, CSR matrix or None
        Mean of the rows of each leaf; None if the rows are best read once.
    """

    sizes: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    first_rows: IntArray
    means: Any = None

    @classmethod
    def of_block(cls, leaf_of: Any, start: int, weights: Any, n_leaves: int) -> Counts:
        """Count rows from number ``start`` on; the first row of a leaf without any is huge."""
        n_all = count_by_label(leaf_of, n_leaves)
        first = np.where(n_all > 0, start + first_rows(leaf_of, n_leaves).astype(np.int64), np.iinfo(np.int64).max)
        if weights is None:
            return cls(n_all, None, first)
        here, of_block = to_host(leaf_of), to_host(weights)
        sizes = n_all - np.bincount(here[of_block == 0], minlength=n_leaves)
        return cls(sizes, np.bincount(here, weights=of_block, minlength=n_leaves).astype(np.float64), first)

    def and_of(self, other: Counts) -> Counts:
        """Return the counts of the rows of two blocks."""
        weights = None if self.weights is None or other.weights is None else self.weights + other.weights
        return Counts(self.sizes + other.sizes, weights, np.minimum(self.first_rows, other.first_rows))


@dataclass(frozen=True)
class ReadRows:
    """Rows that tasks on this machine read.

    Attributes
    ----------
    values : Rows
        The rows.
    column_means : array of float or None
        What missing cells are replaced by.
    can_read_again : bool
        Whether any of the rows can be read again at little cost.
    engine : Engine
        Runs tasks that write into vectors of this process.
    storage : Storage
        Keeps these vectors.
    """

    values: Rows
    column_means: Any = None
    can_read_again: bool = True
    engine: Engine = field(default_factory=SerialEngine)
    storage: Storage = field(default_factory=MemoryStorage)

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to blocks of rows, and return a vector of the results."""
        n_rows = self.values.n_rows
        found = self.storage.vector(n_rows, dtype)
        values = self.engine.share(self.values)
        tasks = [(found, values, self.column_means, function, rows) for rows in row_blocks(n_rows, MAPPED_ROWS)]
        for _ in self.engine.run(map_block, tasks, len(tasks)):
            self.storage.release()
        return found

    def count(self, leaf_of: IntArray, n_leaves: int, weights: Weights | None) -> Counts:
        """Count the rows of each leaf, block by block; their means, if they can be read again."""
        counts: Counts | None = None
        for block in row_blocks(len(leaf_of), max(BLOCK_ROWS, n_leaves)):
            of_block = None if weights is None else weights.take(np.arange(block.start, block.stop))
            counted = Counts.of_block(leaf_of[block], block.start, of_block, n_leaves)
            counts = counted if counts is None else counts.and_of(counted)
        assert counts is not None  # there are rows
        if not self.can_read_again:
            return counts
        return replace(counts, means=self._means(leaf_of, n_leaves, weights))

    def _means(self, leaf_of: IntArray, n_leaves: int, weights: Weights | None) -> Any:
        """Return the mean of the rows of each leaf; rows in a file are read block by block."""
        is_array = isinstance(self.values, ArrayRows) and not isinstance(self.values.X, np.memmap)
        total, sums = np.zeros(n_leaves), None
        for block in row_blocks(len(leaf_of), len(leaf_of) if is_array else MAPPED_ROWS):
            numbers = np.arange(block.start, block.stop)
            mass = None if weights is None else weights.take(numbers)
            label, X = leaf_of[block], self.values.take(numbers)
            if mass is not None and not mass.all():  # a leaf may have rows of weight 0 only, in this block
                some = np.flatnonzero(mass)
                label, X, mass = label[some], X[some], mass[some]
            if len(label) == 0:
                continue
            present, number = np.unique(label, return_inverse=True)
            means = cluster_means(fill_missing(X, self.column_means), number, len(present), mass)
            if is_array and len(present) == n_leaves:
                return means
            own = np.bincount(number, weights=mass, minlength=len(present)).astype(np.float64)
            total[present] += own
            spread = sparse.csr_array((own, (present, np.arange(len(present)))), shape=(n_leaves, len(present)))
            sums = spread @ means if sums is None else sums + spread @ means
        found = sparse.diags_array(1 / np.maximum(total, np.finfo(float).tiny)) @ sums
        return type(means)(found) if sparse.issparse(means) else found


def map_block(
    found: NDArray[Any], values: Rows, column_means: Any, function: Callable[[Any], Any], rows: slice
) -> None:
    """Write what ``function`` returns for some rows, missing cells replaced, into a vector."""
    for block in row_blocks(rows.stop - rows.start):
        numbers = np.arange(rows.start + block.start, rows.start + block.stop)
        found[numbers[0] : numbers[-1] + 1] = function(fill_missing(values.take(numbers), column_means))


@dataclass
class FirstLevel:
    """The leaves of the first level, and the leaf of each row, wherever the rows are.

    Attributes
    ----------
    leaves : Survivors
        The rows that it left active.
    part : Part
        The leaf of each row; that of rows of weight 0 is arbitrary until they join one.
    rows : MapsRows or None
        The rows, which can be assigned to other leaves; None if only the leaves are known.
    readable : Rows or None
        The rows of the data, if any of them can be read again at little cost.
    links : tuple of Links
        What local batches have in common, for each run.
    local : LocalBatches or None
        The local batches, by position among the rows of positive weight.
    known : array of int or None
        The label of each leaf, if the base method was not called on each batch.
    """

    leaves: Survivors
    part: Part
    rows: MapsRows | None = None
    readable: Rows | None = None
    links: tuple[Links, ...] = ()
    local: LocalBatches | None = None
    known: IntArray | None = None

    @classmethod
    def of_groups(cls, leaves: Survivors) -> FirstLevel:
        """Return a first level of which only the leaves are known; each is its own row."""
        everything = np.arange(len(leaves.rows))
        return cls(leaves, Part(everything, leaves.stability, everything))

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf that each of the given rows belongs to."""
        return self.part.find_leaves(rows)

    def label(self, labels: IntArray) -> Any:
        """Return the label of each row of the data, given the label of each leaf."""
        engine = self.rows.engine if isinstance(self.rows, ReadRows) else None
        return self.part.look_up(labels, engine)

    def share_out(
        self, cells: LabelsRows, weights: Any, rows: IntArray, make_leaves: Callable[[Counts, Survivors], Survivors]
    ) -> FirstLevel:
        """Return a first level with other leaves, to which each row is assigned by its values.

        ``rows`` are the rows that stand for the new leaves, each of which belongs to its own leaf: on a device, cells
        may be less exact than where these rows were chosen.
        """
        assert self.rows is not None
        n_leaves = len(rows)
        found = self.rows.map_rows(cells.label, None, index_dtype(n_leaves))
        part = Part(put(found, rows, np.arange(n_leaves)), self.part.stability, np.arange(n_leaves))
        leaves = make_leaves(self.rows.count(part.leaf_of, n_leaves, weights), self.leaves)
        leaves = replace(leaves, stability=fetch(part.stability, rows))
        return replace(self, leaves=leaves, part=part, links=(), local=None, known=None)

    def join(self, rows: IntArray, leaves: Any) -> None:
        """Let rows that did not take part join the given leaves; the numbering of clusters counts them, too."""
        self.part = self.part.with_leaves(rows, leaves)
        np.minimum.at(self.leaves.first_rows, to_host(leaves), rows)


def contract_rows(active: ActiveRows, contraction: Contraction, resources: Resources) -> FirstLevel:
    """Contract active rows that are read in this process, or by tasks on this machine or elsewhere."""
    batches, cuts = split_level(active, 1, contraction)
    if len(cuts) == 1 and len(batches.held_aside) == 0 and not active.in_order and active.batches is None:
        return contract_together(active, contraction, resources, ReadRows(active.values, contraction.column_means))
    n_rows, storage = active.values.n_rows, resources.storage
    recorded = Recorded.unwritten(n_rows, storage)
    left_out = np.arange(0) if active.index is None else all_others(n_rows, active.index)
    recorded.keep(left_out)
    links: list[Links] = []
    leaves = contract_level(active, 1, contraction, resources, recorded, links)
    leaves.batch_costs[0, 3] += active.label_seconds  # labels are the work of the base method
    if not active.in_order:  # random batches, and rows held aside that are in no batch
        recorded.parents[leaves.rows] = leaves.rows
        recorded.stability[leaves.rows] = leaves.stability
    can_share = resources.view_engine.writes_here and storage.is_shared
    engine = resources.view_engine if can_share else SerialEngine()
    leaf_of = number_leaves(recorded.parents, leaves.rows, left_out, engine, storage)
    return FirstLevel(
        leaves,
        Part(leaf_of, recorded.stability, np.arange(len(leaves.rows))),
        ReadRows(active.values, contraction.column_means, not active.in_order, engine, storage),
        None if active.in_order else active.values,
        links=tuple(links),
        local=active.batches if isinstance(active.batches, LocalBatches) else None,
        known=None if active.labels is None else active.labels[active.find(leaves.rows)],
    )


def contract_together(active: ActiveRows, contraction: Contraction, resources: Resources, rows: MapsRows) -> FirstLevel:
    """Contract active rows that are one batch, in this process or on a device, where the map of rows stays."""
    tasks = make_tasks(active, 1, *split_level(active, 1, contraction), resources, None)
    ((_, outcome),) = run_tasks(tasks, 1, contraction, resources)
    leaves = gather_survivors([outcome.survivors], MemoryStorage())
    leaf_of, stability = outcome.survivor_of, outcome.stability
    if active.index is not None:
        left_out = all_others(active.values.n_rows, active.index)
        leaf_of = put_back(leaf_of, np.zeros(len(left_out), dtype=np.int64), left_out)
        stability = put_back(stability, np.full(len(left_out), np.nan, dtype=np.float32), left_out)
    return FirstLevel(leaves, Part(leaf_of, stability, np.arange(len(leaves.rows))), rows, active.values)


def number_leaves(parents: IntArray, rows: IntArray, left_out: IntArray, engine: Engine, storage: Storage) -> IntArray:
    """Return the number of each row's leaf, given the row that stands for it; ``rows`` are those of all leaves.

    Rows that are ``left_out``, which stand for themselves, have the number 0.
    """
    leaf_of = storage.vector(len(parents), index_dtype(len(rows)))
    leaf_of[left_out] = 0
    for block in row_blocks(len(rows), 2**12):
        leaf_of[rows[block]] = np.arange(block.start, block.stop)
        storage.release()  # the parts of a file around each of them
    tasks = [(leaf_of, parents, block) for block in row_blocks(len(parents), NUMBERED_ROWS)]
    for _ in engine.run(number_block, tasks, len(tasks)):
        storage.release()
    return leaf_of


def number_block(leaf_of: IntArray, parents: IntArray, rows: slice) -> None:
    """Give rows the number of their leaf; the rows that stand for leaves have it already."""
    leaf_of[rows] = leaf_of[parents[rows]]
