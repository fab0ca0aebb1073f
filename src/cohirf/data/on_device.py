"""Data on a device: an array of torch, CuPy or another library.

What belongs to its rows stays beside them.

Only what is small comes to this process: distinct codes, survivors, means of clusters. After the
fit, the results of each row are looked up on the device, in a small table with one entry per leaf.
If some sample weights are 0, the numbers of the rows come to this process, too, but not their
values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np

from cohirf.algorithm.batches import Batches, count_batches
from cohirf.algorithm.choose_medoids import cluster_means
from cohirf.data.first_level import (
    Counts,
    FirstLevel,
    Setup,
    active_rows,
    check_range,
    contract_together,
)
from cohirf.data.in_process import InMemory
from cohirf.engines import engine_on_device
from cohirf.planning import Room, resolve_memory_limit
from cohirf.rows.arrays import (
    fetch_rows,
    is_on_device,
    is_torch,
    namespace,
    put_beside,
    to_host,
)
from cohirf.rows.grouping import IntArray, count_by_label, first_rows, sum_by_label
from cohirf.rows.policy import DIGIT
from cohirf.rows.storage import ArrayWeights, Engine, Storage


@dataclass(frozen=True)
class OnDevice(InMemory):
    """An array ``X`` of a library other than NumPy; batches are random or local."""

    @cached_property
    def device(self) -> Any:
        """An array without rows on the device."""
        return self.X[:0, :]

    @property
    def dtype(self) -> Any:
        """Type of the values as those of NumPy."""
        return fetch_rows(self.X, slice(0, 0)).dtype

    def take(self, rows: IntArray) -> Any:
        """Return the given rows as an array of NumPy."""
        return fetch_rows(self.X, rows)

    def fingerprint(self) -> str:
        """Raise: a fit on a device is not resumed."""
        raise ValueError(
            "checkpoint is for data in this process and in sources, but X is on a device: leave "
            "checkpoint out, or fit a source with the parameter device."
        )

    def check_weights(self, sample_weight: Any) -> ArrayWeights:
        """Return valid sample weights, on the device: none is negative, and at least one is
        positive.
        """
        return check_device_weights(sample_weight, self.X)

    def room(self, memory_limit: int | None, n_jobs: int | None) -> Room:
        """Return the memory that a fit may use."""
        return Room(resolve_memory_limit(memory_limit))

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels: a device computes one batch after the other."""
        return engine_on_device()

    def contract_first_level(self, weights: ArrayWeights | None, setup: Setup) -> FirstLevel:
        """Contract the rows where they are.

        For several batches, they are copied into this process first.
        """
        if count_batches(self.rows.n_rows, setup.contraction.batch_size) > 1:
            here = None if weights is None else ArrayWeights(weights.describe())
            return InMemory(to_host(self.X)).contract_first_level(here, replace(setup, n_jobs=1))
        active = active_rows(self.rows, weights)
        resources = setup.make_resources(engine_on_device(), Storage())
        return contract_together(active, setup.contraction, resources, self)

    def contract_blocks(
        self, before: Any, start: int, mass: Any, blocks: Batches, setup: Setup
    ) -> FirstLevel:
        """Contract blocks of rows in order, which are copied into this process first."""
        return InMemory(to_host(self.X)).contract_blocks(before, start, mass, blocks, setup)

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to the rows."""
        return function(self.X)

    def count(self, leaf_of: Any, n_leaves: int, weights: ArrayWeights | None) -> Counts:
        """Count the rows of each leaf, and return the means of their values."""
        first = first_rows(leaf_of, n_leaves)
        means = cluster_means(
            self.X, leaf_of, n_leaves, None if weights is None else weights.values
        )
        if weights is None:
            return Counts(count_by_label(leaf_of, n_leaves), None, first, means)
        is_counted = namespace(leaf_of).astype(weights.values > 0, weights.values.dtype)
        sizes = np.rint(sum_by_label(leaf_of, is_counted, n_leaves)).astype(np.int64)
        return Counts(sizes, sum_by_label(leaf_of, weights.values, n_leaves), first, means)

    def put_vector(self, vector: Any) -> Any:
        """Return a vector on the device."""
        return put_beside(np.array(vector) if isinstance(vector, np.ndarray) else vector, self.X)


def check_device_weights(sample_weight: Any, X: Any) -> ArrayWeights:
    """Return valid sample weights in float64 beside ``X``.

    Only a few numbers come from there to be compared.
    """
    xp = namespace(X)
    n_rows = int(X.shape[0])
    if isinstance(sample_weight, Number):
        sample_weight = np.full(n_rows, sample_weight)
    is_there = (
        is_on_device(sample_weight)
        and sample_weight.device == X.device
        and namespace(sample_weight) is xp
    )
    if is_there:
        given = sample_weight
    else:
        given = put_beside(np.asarray(to_host(sample_weight), dtype=np.float64), X)
    if tuple(given.shape) != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {tuple(given.shape)}, but X has {n_rows} rows: pass one per "
            "row."
        )
    weights = xp.astype(given.detach() if is_torch(given) else given, xp.float64, copy=False)
    # NaN if there is one
    lowest, highest = (float(to_host(extreme(weights))) for extreme in (xp.min, xp.max))
    if not np.isfinite([lowest, highest]).all():
        raise ValueError("Input sample_weight contains NaN or infinity: give finite weights.")
    if lowest < 0:
        raise ValueError(
            f"Negative values in data passed to `sample_weight`, down to {lowest:g}: give weights "
            ">= 0."
        )
    if highest == 0:
        raise ValueError("All sample weights are zero: give at least one row a positive weight.")
    smallest = lowest or float(to_host(xp.min(xp.where(weights > 0, weights, xp.inf))))
    with np.errstate(over="ignore"):
        check_range(smallest, float(to_host(xp.sum(weights))))
    if smallest < highest * 2.0 ** (int(n_rows).bit_length() - DIGIT.fixed_point_bits):
        raise ValueError(
            f"sample_weight has positive values from {smallest:g} to {highest:g}: on a device, the "
            "smallest would not count in sums. Set them to 0, or raise them."
        )
    return ArrayWeights(weights)
