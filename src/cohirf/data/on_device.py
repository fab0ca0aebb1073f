"""Data on a device: an array of torch, CuPy or another library. What belongs to its rows stays beside them.

Only what is small comes to this process: distinct codes, survivors, means of clusters. After the fit, the results of
each row are looked up on the device, in a small table with one entry per leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from cohirf.algorithm.arrays import fetch_rows, look_up, namespace, put_beside, to_host
from cohirf.algorithm.batches import EqualBlocks, count_batches
from cohirf.algorithm.engine import Engine, SerialEngine
from cohirf.algorithm.features import take_features
from cohirf.algorithm.first_level import FirstLevel, FirstLevelHere, RowResults, Tree, tree_of_leaves
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import FitState, make_tasks, run_tasks, split_level
from cohirf.algorithm.runs import Survivors, gather_survivors
from cohirf.algorithm.storage import ArrayRows, MemoryStorage
from cohirf.data.data import Setup
from cohirf.data.in_memory import ArrayWeights, InMemory, active_rows, check_array_weights
from cohirf.planning import resolve_memory_limit


@dataclass(frozen=True)
class OnDevice:
    """An array ``X`` of a library other than NumPy; batches are random or local."""

    X: Any

    column_means: ClassVar[None] = None  # missing cells are refused
    reading: ClassVar[str] = "at random"

    @cached_property
    def rows(self) -> ArrayRows:
        """The rows, by number."""
        return ArrayRows(self.X)

    @property
    def device(self) -> Any:
        """An array without rows on the device."""
        return self.X[:0, :]

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> Any:
        """Type of the values as those of NumPy."""
        return fetch_rows(self.X, slice(0, 0)).dtype

    def take(self, rows: IntArray) -> Any:
        """Return the given rows as an array of NumPy."""
        return fetch_rows(self.X, rows)

    def select(self, features: IntArray) -> OnDevice:
        """Return the data with the given features only."""
        return OnDevice(take_features(self.X, features))

    def fingerprint(self) -> str:
        """Raise: a fit on a device is not resumed."""
        raise ValueError(
            "checkpoint is for data in this process and in sources, but X is on a device: leave checkpoint out, or fit "
            "a source with the parameter device."
        )

    def check_weights(self, sample_weight: Any) -> ArrayWeights:
        """Return valid sample weights, in this process."""
        return check_array_weights(to_host(sample_weight), self.rows.n_rows)

    def room(self, memory_limit: Any, n_jobs: int | None) -> dict[str, Any]:
        """Return the memory that batches may use."""
        return {"memory_limit": resolve_memory_limit(memory_limit)}

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels: a device computes one batch after the other."""
        return SerialEngine()

    def contract_first_level(self, weights: ArrayWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows where they are. For several batches, they are copied into this process first.

        Rows of weight 0 count as a batch of their own.
        """
        active = active_rows(self.rows, weights)
        one_batch = count_batches(self.rows.n_rows, setup.contraction.batch_size) == 1 and active.index is None
        if not one_batch:
            found = InMemory(to_host(self.X)).contract_first_level(weights, replace(setup, n_jobs=1))
            return LoadedFromDevice(**vars(found), X=self.X)
        resources = setup.make_resources(SerialEngine(), MemoryStorage())
        tasks = make_tasks(active, 1, *split_level(active, 1, setup.contraction), resources, None)
        ((_, outcome),) = run_tasks(tasks, 1, setup.contraction, resources)
        leaves = gather_survivors([outcome.survivors], MemoryStorage())
        return FirstLevelOnDevice(leaves, outcome.survivor_of, outcome.stability, self.rows)

    def contract_blocks(self, before: Any, start: int, mass: Any, blocks: EqualBlocks, setup: Setup) -> FirstLevelHere:
        """Contract blocks of rows in order, which are copied into this process first."""
        return InMemory(to_host(self.X)).contract_blocks(before, start, mass, blocks, setup)

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to the rows."""
        return function(self.X)


@dataclass(frozen=True)
class LoadedFromDevice(FirstLevelHere):
    """The first level of rows that were copied into this process; results by row go back to the device of ``X``."""

    X: Any = None

    def hand_down(self, state: FitState, labels_of_rows: Any) -> tuple[RowResults, Tree]:
        """Return the results of all rows on the device."""
        found, tree = super().hand_down(state, labels_of_rows)
        vectors = (found.labels, found.parents, found.absorbed_at, found.stability)
        return RowResults(*(put_beside(np.array(vector), self.X) for vector in vectors)), tree


@dataclass(frozen=True)
class FirstLevelOnDevice:
    """A first level of one batch, whose row map is on a device.

    Attributes
    ----------
    leaves : Survivors
        The rows that it left active.
    leaf_of : array of int
        The leaf of each row, on the device.
    stability : array of float32
        Stability of each row, on the device.
    readable : ArrayRows
        The rows of the data.
    """

    leaves: Survivors
    leaf_of: Any
    stability: Any
    readable: ArrayRows

    def find_leaves(self, rows: IntArray) -> IntArray:
        """Return the leaf that each of the given rows belongs to."""
        leaves: IntArray = fetch_rows(self.leaf_of, rows)
        return leaves

    def label(self, labels: IntArray) -> Any:
        """Return the label of each row of the data, given the label of each leaf."""
        return look_up(labels, self.leaf_of)

    def hand_down(self, state: FitState, labels_of_rows: Any) -> tuple[RowResults, Tree]:
        """Return the results of all rows on the device."""
        rows, of_leaves = self.leaves.rows, state.fusions
        xp, leaf_row = namespace(self.leaf_of), look_up(rows, self.leaf_of)
        is_leaf = xp.arange(leaf_row.shape[0], dtype=leaf_row.dtype, device=leaf_row.device) == leaf_row

        def choose(of_leaf: Any, of_others: Any) -> Any:
            return xp.where(is_leaf, look_up(np.asarray(of_leaf), self.leaf_of), of_others)

        return RowResults(
            labels_of_rows,
            choose(rows[of_leaves.parents], leaf_row),
            choose(of_leaves.absorbed_at, xp.asarray(1, dtype=xp.uint8, device=leaf_row.device)),
            choose(of_leaves.stability, self.stability),
        ), tree_of_leaves(state, self.leaves)
