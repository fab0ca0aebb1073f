"""Data: the interface of all kinds of data of a fit.

And the first level, the only one that sees all rows.

The survivors of the first level are the *leaves* of all later levels. Each row belongs to one leaf,
wherever the rows are. So what a fit finds out about leaves, such as their label, is looked up for
each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce
from time import perf_counter
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from cohirf.algorithm.batches import Batches, Run
from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.levels import ActiveRows, Resources, contract_level, split_level
from cohirf.algorithm.parents import Recorded
from cohirf.algorithm.runs import PAPER, ContractedRun, RunTask, Steps, Survivors, contract_run
from cohirf.beyond.batch_steps import KnownLabels, LinkedRun, Links, WithHalos, WithinBorders
from cohirf.beyond.local_batches import LocalBatches, Locality, make_local_batches
from cohirf.data.policy import DATA
from cohirf.engines import engine_of_batches
from cohirf.planning import Room
from cohirf.rows.arrays import take_rows, to_host
from cohirf.rows.grouping import (
    BLOCK_ROWS,
    IntArray,
    all_others,
    compress,
    count_by_label,
    first_rows,
    index_dtype,
    put_back,
    row_blocks,
)
from cohirf.rows.policy import BLOCK
from cohirf.rows.storage import (
    ArrayRows,
    ArrayWeights,
    Engine,
    Rows,
    SerialEngine,
    StackedRows,
    Storage,
    Weights,
    take_in_order,
)
from cohirf.rows.threads import map_blocks, map_in_groups
from cohirf.scratch import ScratchStorage
from cohirf.summary.rows import Part
from cohirf.summary.vectors import place_of


class BlockMapper(Protocol):
    """Applies functions to all rows of the data, where they are."""

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to blocks of rows.

        The result has ``n_columns`` columns, or is a vector if None.
        """

    def count(self, leaf_of: Any, n_leaves: int, weights: Any) -> Counts:
        """Count the rows of each leaf."""


@dataclass(frozen=True)
class Counts:
    """The rows of each leaf."""

    sizes: NDArray[np.int64]  # number of rows of each leaf, without rows of weight 0
    weights: NDArray[np.float64] | None  # total weight of these rows; None if each has the weight 1
    first_rows: IntArray  # the first row of each leaf
    means: Any = None  # mean of the rows of each leaf; None if the rows are best read once

    @classmethod
    def of_block(cls, leaf_of: Any, start: int, weights: Any, n_leaves: int) -> Counts:
        """Count rows from number ``start`` on; the first row of a leaf without any is huge."""
        n_all = count_by_label(leaf_of, n_leaves)
        first = np.where(
            n_all > 0,
            start + first_rows(leaf_of, n_leaves).astype(np.int64),
            np.iinfo(np.int64).max,
        )
        if weights is None:
            return cls(n_all, None, first)
        here = to_host(leaf_of)
        of_block = to_host(weights)
        sizes = n_all - np.bincount(here[of_block == 0], minlength=n_leaves)
        return cls(
            sizes, np.bincount(here, weights=of_block, minlength=n_leaves).astype(np.float64), first
        )

    def and_of(self, other: Counts) -> Counts:
        """Return the counts of the rows of two blocks."""
        if self.weights is None or other.weights is None:
            weights = None
        else:
            weights = self.weights + other.weights
        return Counts(
            self.sizes + other.sizes, weights, np.minimum(self.first_rows, other.first_rows)
        )


@dataclass(frozen=True)
class RowReader:
    """Rows that tasks on this machine read."""

    values: Rows  # the rows
    column_means: Any = None  # what missing cells are replaced by
    can_read_again: bool = True  # whether any of the rows can be read again at little cost
    # runs tasks that write into vectors of this process
    engine: Engine = field(default_factory=SerialEngine)
    storage: Storage = field(default_factory=Storage)  # keeps these vectors
    # runs tasks that read rows and return what they find; None if ``engine`` reads them
    elsewhere: Engine | None = None

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to blocks of rows, and return a vector of the results."""
        n_rows = self.values.n_rows
        found = self.storage.vector(n_rows, dtype)
        if self._are_here:
            self._map_here(found, function)
            return found
        if self.elsewhere is not None:
            self._map_elsewhere(found, function, self.elsewhere)
            return found
        values = self.engine.share(self.values)
        tasks = [
            (found, values, self.column_means, function, rows)
            for rows in row_blocks(n_rows, DATA.mapped_rows)
        ]
        for _ in self.engine.run(map_block, tasks, len(tasks)):
            self.storage.release()
        return found

    def _map_elsewhere(
        self, found: NDArray[Any], function: Callable[[Any], Any], engine: Engine
    ) -> None:
        """Write what tasks return for blocks of rows, which they read."""
        blocks = list(row_blocks(len(found), DATA.mapped_rows))
        tasks = ((self.values, self.column_means, function, found.dtype, rows) for rows in blocks)
        for rows, entries in zip(blocks, engine.run(label_block, tasks, len(blocks)), strict=True):
            found[rows] = entries
            self.storage.release()

    def _map_here(self, found: NDArray[Any], function: Callable[[Any], Any]) -> None:
        """Write what ``function`` returns for rows in memory, which are not copied."""
        assert isinstance(self.values, ArrayRows)
        X = self.values.X

        def map_some(block: slice) -> None:
            found[block] = function(fill_missing(take_rows(X, block), self.column_means))

        # a function divides its rows further if that saves time; copies of rows stay small
        if self.column_means is None:
            block_rows = max(BLOCK.thread_rows, DATA.mapped_cells // X.shape[1])
        else:
            block_rows = BLOCK.thread_rows
        map_blocks(map_some, X.shape[0], block_rows)

    @property
    def _are_here(self) -> bool:
        """Whether all rows are in the memory of this process, where threads read them."""
        return isinstance(self.values, ArrayRows) and not isinstance(self.values.X, np.memmap)

    def count(self, leaf_of: IntArray, n_leaves: int, weights: Weights | None) -> Counts:
        """Count the rows of each leaf, block by block; their means, if they can be read again."""

        def count_some(block: slice) -> Counts:
            if weights is None:
                of_block = None
            else:
                of_block = weights.take(np.arange(block.start, block.stop))
            return Counts.of_block(leaf_of[block], block.start, of_block, n_leaves)

        blocks = row_blocks(len(leaf_of), max(BLOCK_ROWS, n_leaves))
        counts = reduce(Counts.and_of, map_in_groups(count_some, blocks))
        if not self.can_read_again:
            return counts
        return replace(counts, means=self._means(leaf_of, n_leaves, weights))

    def _means(self, leaf_of: IntArray, n_leaves: int, weights: Weights | None) -> Any:
        """Return the mean of the rows of each leaf; rows in a file are read block by block."""
        is_array = self._are_here
        total = np.zeros(n_leaves)
        sums = None
        for block in row_blocks(len(leaf_of), len(leaf_of) if is_array else DATA.mapped_rows):
            numbers = np.arange(block.start, block.stop)
            mass = None if weights is None else weights.take(numbers)
            label = leaf_of[block]
            X = self.values.take(numbers)
            # a leaf may have rows of weight 0 only, in this block
            if mass is not None and not mass.all():
                some = np.flatnonzero(mass)
                label = label[some]
                X = X[some]
                mass = mass[some]
            if len(label) == 0:
                continue
            present, number = compress(label, n_leaves)
            means = cluster_means(fill_missing(X, self.column_means), number, len(present), mass)
            if is_array and len(present) == n_leaves:
                return means
            own = np.bincount(number, weights=mass, minlength=len(present)).astype(np.float64)
            total[present] += own
            spread = sparse.csr_array(
                (own, (present, np.arange(len(present)))), shape=(n_leaves, len(present))
            )
            sums = spread @ means if sums is None else sums + spread @ means
        found = sparse.diags_array(1 / np.maximum(total, np.finfo(float).tiny)) @ sums
        return type(means)(found) if sparse.issparse(means) else found


def map_block(
    found: NDArray[Any],
    values: Rows,
    column_means: Any,
    function: Callable[[Any], Any],
    rows: slice,
) -> None:
    """Write what ``function`` returns for some rows, missing cells replaced, into a vector."""
    for block in row_blocks(rows.stop - rows.start):
        numbers = np.arange(rows.start + block.start, rows.start + block.stop)
        found[numbers[0] : numbers[-1] + 1] = function(
            fill_missing(values.take(numbers), column_means)
        )


def label_block(
    values: Rows, column_means: Any, function: Callable[[Any], Any], dtype: Any, rows: slice
) -> NDArray[Any]:
    """Return what ``function`` returns for some rows, missing cells replaced."""
    found: NDArray[Any] = np.empty(rows.stop - rows.start, dtype)
    for block in row_blocks(len(found)):
        numbers = np.arange(rows.start + block.start, rows.start + block.stop)
        found[block] = function(fill_missing(values.take(numbers), column_means))
    return found


@dataclass
class FirstLevel:
    """The leaves of the first level, and the leaf of each row, wherever the rows are."""

    leaves: Survivors  # the rows that it left active
    part: Part  # the leaf of each row; that of rows of weight 0 is arbitrary until they join one
    rows: BlockMapper | None = (
        None  # the rows, which can be assigned to other leaves; None if only the leaves are known
    )
    readable: Rows | None = (
        None  # the rows of the data, if any of them can be read again at little cost
    )
    links: tuple[Links, ...] = ()  # what local batches have in common, for each run
    local: LocalBatches | None = (
        None  # the local batches, by position among the rows of positive weight
    )
    known: IntArray | None = (
        None  # the label of each leaf, if the base method was not called on each batch
    )

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
        engine = self.rows.engine if isinstance(self.rows, RowReader) else None
        return self.part.look_up(labels, engine)

    def share_out(
        self,
        label: Callable[[Any], Any],
        weights: Any,
        rows: IntArray,
        make_leaves: Callable[[Counts, Survivors], Survivors],
    ) -> FirstLevel:
        """Return a first level with other leaves, to which ``label`` assigns rows by their values,
        where they are.

        ``rows`` are the rows that stand for the new leaves, each of which belongs to its own leaf:
        on a device, cells may be less exact than where these rows were chosen.
        """
        assert self.rows is not None
        n_leaves = len(rows)
        found = self.rows.map_rows(label, None, index_dtype(n_leaves))
        leaf_of = place_of(found).put(found, rows, np.arange(n_leaves))
        part = Part(leaf_of, self.part.stability, np.arange(n_leaves))
        leaves = make_leaves(self.rows.count(part.leaf_of, n_leaves, weights), self.leaves)
        leaves = replace(leaves, stability=place_of(part.stability).fetch(part.stability, rows))
        return replace(self, leaves=leaves, part=part, links=(), local=None, known=None)

    def join(self, rows: IntArray, leaves: Any) -> None:
        """Let rows that did not take part join the given leaves.

        The numbering of clusters counts them, too.
        """
        self.part = self.part.with_leaves(rows, leaves)
        np.minimum.at(self.leaves.first_rows, to_host(leaves), rows)


def contract_rows(active: ActiveRows, contraction: Contraction, resources: Resources) -> FirstLevel:
    """Contract active rows that are read in this process, or by tasks on this machine or
    elsewhere.
    """
    batches, cuts = split_level(active, 1, contraction)
    if (
        len(cuts) == 1
        and len(batches.held_aside) == 0
        and not active.in_order
        and active.batches is None
    ):
        return contract_together(
            active, contraction, resources, RowReader(active.values, contraction.column_means)
        )
    n_rows = active.values.n_rows
    storage = resources.storage
    recorded = Recorded.unwritten(n_rows, storage)
    if active.index is None:
        left_out: IntArray = np.arange(0)
    else:
        left_out = all_others(n_rows, active.index)
    recorded.keep(left_out)
    links: list[Links] = []

    def note_links(run: ContractedRun) -> None:
        if isinstance(run, LinkedRun) and run.links is not None:
            links.append(run.links)

    leaves = contract_level(active, 1, contraction, resources, recorded, note_links)
    known = None
    if isinstance(active.steps, KnownLabels):
        known = active.steps.labels[active.find(leaves.rows)]
        # labels are the work of the base method
        leaves.batch_costs[0, 3] += active.steps.seconds
    if not active.in_order:  # random batches, and rows held aside that are in no batch
        recorded.parents[leaves.rows] = leaves.rows
        recorded.stability[leaves.rows] = leaves.stability
    can_share = resources.view_engine.writes_here and storage.is_shared
    engine = resources.view_engine if can_share else SerialEngine()
    leaf_of = number_leaves(recorded.parents, leaves.rows, left_out, engine, storage)
    return FirstLevel(
        leaves,
        Part(leaf_of, recorded.stability, np.arange(len(leaves.rows))),
        RowReader(active.values, contraction.column_means, not active.in_order, engine, storage),
        None if active.in_order else active.values,
        links=tuple(links),
        local=active.batches if isinstance(active.batches, LocalBatches) else None,
        known=known,
    )


def contract_together(
    active: ActiveRows, contraction: Contraction, resources: Resources, rows: BlockMapper
) -> FirstLevel:
    """Contract active rows that are one batch, in this process or on a device, where the map of
    rows stays.
    """
    n_rows = active.values.n_rows if active.index is None else len(active.index)
    run = Run(np.array([0, n_rows]), np.arange(0), indices=active.index)
    task = RunTask(run, 1, active.values, active.mass, steps=active.steps)
    (outcome,) = resources.run_engine.run(
        contract_run, [(task, contraction, resources.view_engine)], 1
    )
    leaves = outcome.survivors
    leaf_of = outcome.survivor_of
    stability = outcome.stability
    if active.index is not None:
        left_out = all_others(active.values.n_rows, active.index)
        leaf_of = put_back(leaf_of, np.zeros(len(left_out), dtype=np.int64), left_out)
        stability = put_back(stability, np.full(len(left_out), np.nan, dtype=np.float32), left_out)
    return FirstLevel(
        leaves, Part(leaf_of, stability, np.arange(len(leaves.rows))), rows, active.values
    )


def number_leaves(
    parents: IntArray, rows: IntArray, left_out: IntArray, engine: Engine, storage: Storage
) -> IntArray:
    """Return the number of each row's leaf, given the row that stands for it.

    ``rows`` are those of all leaves.

    Rows that are ``left_out``, which stand for themselves, have the number 0.
    """
    leaf_of = storage.vector(len(parents), index_dtype(len(rows)))
    leaf_of[left_out] = 0
    for block in row_blocks(len(rows), 2**12):
        leaf_of[rows[block]] = np.arange(block.start, block.stop)
        storage.release()  # the parts of a file around each of them
    tasks = [(leaf_of, parents, block) for block in row_blocks(len(parents), DATA.numbered_rows)]
    for _ in engine.run(number_block, tasks, len(tasks)):
        storage.release()
    return leaf_of


def number_block(leaf_of: IntArray, parents: IntArray, rows: slice) -> None:
    """Give rows the number of their leaf; the rows that stand for leaves have it already."""
    leaf_of[rows] = leaf_of[parents[rows]]


@dataclass(frozen=True)
class Setup:
    """What the first level needs beside the rows."""

    contraction: Contraction  # how batches are contracted
    n_jobs: int | None  # number of jobs on this machine
    # Returns the resources of the level, given where it runs and where its results are kept
    make_resources: Callable[[Engine, Storage], Resources]
    locality: Locality | None = None  # how local batches are made; None for other batches
    # Labels the rows of local batches in one go, if the base method is not called on each
    label_batches: Callable[[ActiveRows, LocalBatches, Engine, Storage], IntArray] | None = None
    # A number for each row that takes part: rows with different ones do not fuse
    sides: IntArray | None = None

    @property
    def steps(self) -> Steps:
        """How batches are contracted, if they are not local."""
        return PAPER if self.sides is None else WithinBorders(self.sides)

    def engine(self) -> Engine:
        """Return the engine of the first level on this machine.

        Local batches are not streamed to a device: each is put there, with its halo, when it is
        computed.
        """
        device = self.contraction.device
        is_streamed = isinstance(device, str) and self.locality is None
        return engine_of_batches(self.n_jobs, device if is_streamed else None)

    def make_local(
        self, active: ActiveRows, column_means: Any, storage: Storage, engine: Engine
    ) -> ActiveRows:
        """Return the active rows with local batches, which ``engine`` forms."""
        assert self.locality is not None
        batches = make_local_batches(active, self.locality, column_means, storage, engine)
        return replace(active, batches=batches, steps=WithHalos(self.sides, active.mass))

    def label(self, active: ActiveRows, engine: Engine, storage: Storage) -> ActiveRows:
        """Return the active rows with their labels, if the base method is not called on each batch.

        ``storage`` is needed for this alone, and can be discarded then.
        """
        if self.label_batches is None or not isinstance(active.batches, LocalBatches):
            return active
        started = perf_counter()
        labels = self.label_batches(active, active.batches, engine, storage)
        steps = KnownLabels(self.sides, labels, perf_counter() - started)
        return replace(active, steps=steps, batches=active.batches.without_halos())


class DataWeights(Weights, Protocol):
    """Sample weights of the rows."""

    def describe(self) -> Any:
        """Return what identifies the weights: an array, or a text."""


class Data:
    """The data of a fit. The defaults are those of rows that are read in order, in this process."""

    rows: Any  # the rows, by number: see ``Rows``
    column_means: NDArray[np.floating[Any]] | None = (
        None  # fill values for missing cells; None if none can be missing
    )
    # an array without rows on the device that the data is on; None if it is not on a device
    device: Any = None
    # whether any row can be assigned to another cluster after the levels
    can_reassign: ClassVar[bool] = False
    # whether batches are contracted by workers with memory of their own
    is_on_cluster: ClassVar[bool] = False

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.rows.n_features)

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        return self.rows.dtype

    @property
    def reading(self) -> Any:
        """How rows are assigned to the batches of the first level, beyond what the parameters
        say.
        """
        return "in order"

    def take(self, rows: IntArray) -> Any:
        """Return the given rows (distinct, in any order)."""
        return take_in_order(self.rows, rows)

    def moved(self, rows: IntArray, places: IntArray, values: Any) -> Data:
        """Return the data in which some rows (sorted) have the values of their places."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Return a short text that identifies the values."""
        return str(self.rows.fingerprint())

    def check_weights(self, sample_weight: Any) -> DataWeights:
        """Return valid sample weights: none is negative, and at least one is positive."""
        return check_array_weights(sample_weight, self.rows.n_rows)

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use, and what takes some of it.

        With several jobs, in processes.
        """
        raise NotImplementedError

    def first_engine(self, setup: Setup) -> Engine:
        """Return the engine of the first level."""
        return setup.engine()

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels."""
        return engine_of_batches(n_jobs)

    def contract_first_level(self, weights: Any, setup: Setup) -> FirstLevel:
        """Contract the rows where they are; ``weights`` come from ``check_weights``."""
        raise NotImplementedError

    def contract_blocks(
        self, before: Any, start: int, mass: Any, blocks: Batches, setup: Setup
    ) -> FirstLevel:
        """Contract blocks of rows in order: of the values in ``before``, followed by these rows,
        from ``start`` on.

        ``mass`` is the weight of all rows of these blocks, or None.
        """
        n_rows = int(blocks.bounds[-1]) if mass is None else len(mass)
        stacked = StackedRows(ArrayRows(before), self.rows, n_rows, start)
        active = active_rows(stacked, None if mass is None else ArrayWeights(mass), in_order=True)
        active = replace(active, batches=blocks, steps=setup.steps)
        return contract_rows(
            active,
            setup.contraction,
            setup.make_resources(self.first_engine(setup), self.storage()),
        )

    def storage(self) -> Storage:
        """Return where what grows with the data is kept."""
        return ScratchStorage()

    def put_vector(self, vector: Any) -> Any:
        """Return a vector with an entry for each row where the rows are.

        It may be there already.
        """
        return vector


def active_rows(values: Any, weights: ArrayWeights | None, *, in_order: bool = False) -> ActiveRows:
    """Return the rows that take part in the first level: those of positive weight."""
    if weights is None:
        return ActiveRows(values, in_order=in_order)
    positive = weights.positive
    mass = weights.values
    return ActiveRows(
        values, positive, mass if positive is None else take_rows(mass, positive), in_order
    )


def check_array_weights(sample_weight: Any, n_rows: int) -> ArrayWeights:
    """Return valid sample weights in memory."""
    like = np.empty((n_rows, 0))
    weights = np.asarray(
        _check_sample_weight(sample_weight, like, dtype=np.float64, ensure_non_negative=True)
    )
    if not weights.any():
        raise ValueError("All sample weights are zero: give at least one row a positive weight.")
    with np.errstate(over="ignore"):
        check_range(weights[weights > 0].min(), weights.sum())
    return ArrayWeights(weights)


def check_range(smallest: float, total: float) -> None:
    """Raise if sample weights, of which this is the smallest positive one and the sum, cannot be
    computed with.
    """
    if not total <= DATA.largest_total:
        raise ValueError(
            f"sample_weight has sum {total:.3g}, and sums of more than {DATA.largest_total:g} "
            "would overflow: divide all weights by the same number."
        )
    if smallest < DATA.smallest_weight:
        raise ValueError(
            f"sample_weight has positive values down to {smallest:.3g}, and those below "
            f"{DATA.smallest_weight:g} would vanish in products: set them to 0, or multiply all "
            "weights by the same number."
        )
