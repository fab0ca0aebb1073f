"""The first level sees all rows of the data. Here: what it leaves, and how results of its leaves become those of rows.

The survivors of the first level are the *leaves* of all later levels. Each row belongs to one leaf. So what the fit
finds out about leaves, such as their label, is handed down to the rows in one pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import to_host
from cohirf.algorithm.batches import LocalBatches
from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.engine import Engine, SerialEngine
from cohirf.algorithm.fusions import Fusions
from cohirf.algorithm.grouping import BLOCK_ROWS, IntArray, count_by_label, first_rows, index_dtype, row_blocks
from cohirf.algorithm.levels import ActiveRows, FitState, Resources, contract_level
from cohirf.algorithm.parents import find_roots, get_final_labels, hide_small_clusters, number_by_first_row
from cohirf.algorithm.population import Weights
from cohirf.algorithm.runs import Links, Survivors
from cohirf.algorithm.storage import Rows, Storage

LABEL_ROWS = 2**22  # number of rows of one task
ASSIGNED_ROWS = 2**18  # the same for rows whose values are read
PUT_LEAVES = 2**12  # leaves whose entries are written at a time


@dataclass(frozen=True)
class RowResults:
    """Results by row: NumPy arrays, or Dask arrays if the rows are on Dask."""

    labels: Any
    parents: Any
    absorbed_at: Any
    stability: Any


@dataclass(frozen=True)
class Tree:
    """The fusions in this process: of all rows or, with ``rows`` and ``row_sizes``, of leaves that are clusters.

    ``level_0`` is the level of the fit whose clusters are the leaves; level 0 has all rows.
    """

    parents: IntArray
    absorbed_at: IntArray
    n_levels: int
    rows: IntArray | None = None
    row_sizes: IntArray | None = None
    level_0: int = 0


class LabelsRows(Protocol):
    """Labels rows by their values, such as the cells of a division."""

    def label(self, X: Any) -> Any:
        """Return the label of each row of ``X``, where the rows are."""


@dataclass(frozen=True)
class Assigned:
    """The leaf of each row after all rows were assigned to other leaves.

    Attributes
    ----------
    leaf_of : array of int
        Number of the leaf of each row, where the rows are.
    sizes : array of int
        Number of rows of each leaf, without rows of weight 0.
    weights : array of float or None
        Total weight of these rows; None if each has the weight 1.
    first_rows : array of int
        The first row of each leaf.
    means : array, CSR matrix or None
        Mean of the rows of each leaf; None if the rows were read once.
    """

    leaf_of: Any
    sizes: NDArray[np.int64]
    weights: NDArray[np.float64] | None
    first_rows: IntArray
    means: Any = None

    @classmethod
    def of(cls, leaf_of: Any, n_leaves: int, weights: Weights | None) -> Assigned:
        """Count the rows of each leaf; none is empty."""
        sizes, sums = count_by_label(leaf_of, n_leaves), None
        if weights is not None:
            n_rows = leaf_of.shape[0]
            sums = np.zeros(n_leaves)
            for block in row_blocks(n_rows, max(BLOCK_ROWS, n_leaves)):
                of_block = weights.take(np.arange(block.start, block.stop))
                here = to_host(leaf_of[block])
                sums += np.bincount(here, weights=of_block, minlength=n_leaves)
                sizes -= np.bincount(here[of_block == 0], minlength=n_leaves)
        return cls(leaf_of, sizes, sums, first_rows(leaf_of, n_leaves))


class SettledLevel(Protocol):
    """A first level whose rows belong to its leaves for good, wherever the rows are."""

    @property
    def leaves(self) -> Survivors:
        """The rows that the first level left active."""

    @property
    def readable(self) -> Rows | None:
        """The rows of the data, if any of them can be read again at little cost."""

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf that each of the given rows, which took part in the fit, belongs to."""

    def label(self, labels: IntArray) -> Any:
        """Return the label of each row of the data, given the label of each leaf."""

    def hand_down(self, state: FitState, labels_of_rows: Any) -> tuple[RowResults, Tree]:
        """Return the results of all rows, given the last state and what ``label`` returned. Call this last."""


class FirstLevel(SettledLevel, Protocol):
    """A first level whose rows can be assigned to other leaves."""

    def assign(
        self, cells: LabelsRows, rows: Rows, column_means: Any, n_leaves: int, weights: Weights | None
    ) -> Assigned:
        """Label each row of the data by its values, missing ones replaced, with the number of another leaf."""

    def settle(self, found: Assigned, leaves: Survivors) -> SettledLevel:
        """Return a first level with other leaves, in which each row belongs to the one that it was assigned to."""


@dataclass(frozen=True)
class KnownLeaves:
    """A first level of which only the leaves are known."""

    leaves: Survivors

    readable: ClassVar[None] = None


@dataclass(frozen=True)
class FirstLevelHere:
    """A first level whose results are in this process.

    Attributes
    ----------
    leaves : Survivors
        The rows that it left active.
    fusions : Fusions
        The leaf of each row, by row number, and the level 1 for all rows that are not leaves.
    engine : Engine
        Labels blocks of rows.
    storage : Storage
        Stores the labels.
    readable : Rows or None
        The rows of the data, if any of them can be read again at little cost.
    links : tuple of Links
        What local batches have in common, for each run.
    local : LocalBatches or None
        The local batches, by position among the rows of positive weight.
    known : array of int or None
        The label of each leaf, if the base method was not called on each batch.
    in_memory : bool
        Whether results by row are kept in memory, and not in files.
    """

    leaves: Survivors
    fusions: Fusions
    engine: Engine
    storage: Storage
    readable: Rows | None
    links: tuple[Links, ...] = ()
    local: LocalBatches | None = None
    known: IntArray | None = None
    in_memory: bool = True

    @classmethod
    def contract(
        cls, active: ActiveRows, contraction: Contraction, max_level: int, resources: Resources
    ) -> FirstLevelHere:
        """Contract the active rows; rows of weight 0 are not active."""
        n_rows, storage = active.values.n_rows, resources.storage
        fusions = Fusions.unwritten(n_rows, max_level, storage)
        if active.index is not None:
            fusions.keep(np.setdiff1d(np.arange(n_rows), active.index, assume_unique=True))
        links: list[Links] = []
        leaves = contract_level(active, 1, contraction, resources, fusions, links)
        leaves.batch_costs[0, 3] += active.label_seconds  # labels are the work of the base method
        if not active.in_order:  # random batches, and rows held aside that are in no batch
            fusions.parents[leaves.rows] = leaves.rows
            fusions.absorbed_at[leaves.rows] = 0
            fusions.stability[leaves.rows] = leaves.stability
        can_share = resources.view_engine.writes_here and storage.is_shared
        engine = resources.view_engine if can_share else SerialEngine()
        readable = None if active.in_order else active.values
        return cls(
            leaves,
            fusions,
            engine,
            storage,
            readable,
            links=tuple(links),
            local=active.batches if isinstance(active.batches, LocalBatches) else None,
            known=None if active.labels is None else active.labels[active.find(leaves.rows)],
            in_memory=not active.in_order,
        )

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf that each of the given rows belongs to."""
        return np.searchsorted(self.leaves.rows, self.fusions.parents[rows])

    def label(self, labels: IntArray) -> IntArray:
        """Return the label of each row of the data, given the label of each leaf."""
        parents = self.fusions.parents
        of_rows = self.storage.vector(len(parents), parents.dtype)
        self._put(of_rows, labels)
        tasks = [((of_rows, parents), block) for block in row_blocks(len(parents), LABEL_ROWS)]
        for _ in self.engine.run(label_rows, tasks, len(tasks)):
            self.storage.release()
        return of_rows

    def assign(
        self, cells: LabelsRows, rows: Rows, column_means: Any, n_leaves: int, weights: Weights | None
    ) -> Assigned:
        """Label each row of the data by its values, missing ones replaced, with the number of another leaf."""
        n_rows = len(self.fusions.parents)
        leaf_of = self.storage.vector(n_rows, index_dtype(n_leaves))
        values = self.engine.share(rows if self.readable is None else self.readable)
        tasks = [(leaf_of, values, column_means, cells, block) for block in row_blocks(n_rows, ASSIGNED_ROWS)]
        for _ in self.engine.run(assign_rows, tasks, len(tasks)):
            self.storage.release()
        found = Assigned.of(leaf_of, n_leaves, weights)
        if self.readable is None:
            return found
        filled = fill_missing(self.readable.take(np.arange(n_rows)), column_means)
        mass = None if weights is None else weights.take(np.arange(n_rows))
        return replace(found, means=cluster_means(filled, leaf_of, n_leaves, mass))

    def settle(self, found: Assigned, leaves: Survivors) -> FirstLevelHere:
        """Return a first level with other leaves, in which each row belongs to the one that it was assigned to."""
        of_rows = self.fusions
        for block in row_blocks(len(of_rows.parents), LABEL_ROWS):
            of_rows.parents[block] = leaves.rows[found.leaf_of[block]]
            of_rows.absorbed_at[block] = 1
            self.storage.release()
        of_rows.absorbed_at[leaves.rows] = 0
        stability = np.asarray(of_rows.stability[leaves.rows])
        return replace(self, leaves=replace(leaves, stability=stability), links=(), local=None, known=None)

    def join(self, rows: IntArray, leaves: IntArray) -> None:
        """Let rows that did not take part join the given leaves; the numbering of clusters counts them, too."""
        self.fusions.parents[rows] = self.leaves.rows[leaves]
        self.fusions.absorbed_at[rows] = 1
        np.minimum.at(self.leaves.first_rows, leaves, rows)

    def hand_down(self, state: FitState, labels_of_rows: Any) -> tuple[RowResults, Tree]:
        """Return the results of all rows, given the last state and what ``label`` returned."""
        rows, of_rows = self.leaves.rows, self.fusions
        self._put(of_rows.parents, rows[state.fusions.parents])
        self._put(of_rows.absorbed_at, state.fusions.absorbed_at)
        self._put(of_rows.stability, state.fusions.stability)
        vectors = (labels_of_rows, of_rows.parents, of_rows.absorbed_at, of_rows.stability)
        results = RowResults(*(load_vector(vector) if self.in_memory else vector for vector in vectors))
        first_level_fused = len(rows) < len(of_rows.parents)
        n_levels = max(int(state.fusions.absorbed_at.max()), int(first_level_fused))
        return results, Tree(results.parents, results.absorbed_at, n_levels)

    def _put(self, vector: NDArray[Any], of_leaves: NDArray[Any]) -> None:
        """Write the entries of leaves into a vector of rows; the parts of a file around each of them are let go."""
        for block in row_blocks(len(of_leaves), PUT_LEAVES):
            vector[self.leaves.rows[block]] = of_leaves[block]
            self.storage.release()


def tree_of_leaves(state: FitState, leaves: Survivors) -> Tree:
    """Return the fusions of leaves, where those of rows are elsewhere; its level 0 is the first level of the fit."""
    absorbed_at = np.maximum(state.fusions.absorbed_at, 1) - 1
    n_levels = int(absorbed_at.max())
    return Tree(state.fusions.parents, absorbed_at, n_levels, leaves.rows, leaves.sizes, level_0=1)


def load_vector(vector: NDArray[Any]) -> NDArray[Any]:
    """Return a vector in memory, also if it was in a file."""
    return np.array(vector) if isinstance(vector, np.memmap) else vector


def assign_rows(leaf_of: IntArray, values: Rows, column_means: Any, cells: LabelsRows, rows: slice) -> None:
    """Write the leaf of ``rows``, by their values, into a vector."""
    for block in row_blocks(rows.stop - rows.start):
        numbers = np.arange(rows.start + block.start, rows.start + block.stop)
        leaf_of[numbers[0] : numbers[-1] + 1] = cells.label(fill_missing(values.take(numbers), column_means))


def label_rows(vectors: tuple[IntArray, IntArray], rows: slice) -> None:
    """Give ``rows`` the label of their leaf; leaves, which are their own parents, have their label already."""
    labels, parents = vectors
    labels[rows] = labels[parents[rows]]


def label_leaves(
    state: FitState, leaves: Survivors, is_noise: NDArray[np.bool_], min_cluster_size: float, dtype: Any
) -> tuple[IntArray, IntArray]:
    """Return the final label of each leaf, and the leaf that is the medoid of each label (GetFinalLabels).

    Noise, and the leaves of clusters that are too small, have the label -1.
    """
    roots = find_roots(state.fusions.parents, state.fusions.absorbed_at, state.level).astype(dtype)
    labels, medoids = number_by_first_row(*get_final_labels(roots), leaves.first_rows)
    sizes: NDArray[np.float64] = leaves.sizes.astype(np.float64) if leaves.weights is None else leaves.weights
    return hide_small_clusters(labels, medoids, np.where(is_noise, -1, sizes), min_cluster_size)
