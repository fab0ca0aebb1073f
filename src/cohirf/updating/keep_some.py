"""Which rows of a fit stay, so that a model whose method goes by the density of rows can be updated.

The rows are those that updates with the same rows would keep; see ``thinning``. They are found in one pass over the
data, and the row that each of the others joins in a second one. So little more than these rows is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks, sum_by_label
from cohirf.algorithm.randomness import draw_lots
from cohirf.algorithm.storage import MemoryStorage, Storage
from cohirf.data import Data, InMemory
from cohirf.scratch import ScratchStorage
from cohirf.summary.leaves import Leaves
from cohirf.summary.row_map import Part, RowMap
from cohirf.summary.summary import Summary
from cohirf.updating.thinning import Nearest, cell_keys, find_largest_side, find_lowest, thin_leaves


def keep_some(model: Any, summary: Summary, data: Data, weights: Mass | None, max_kept: int) -> Summary:
    """Return a summary, which has no rows yet, with the rows of the data; some of them stand for all, as leaves."""
    leaves, side = _choose_leaves(model, summary, data, weights, max_kept)
    storage: Storage = MemoryStorage() if isinstance(data, InMemory) else ScratchStorage()
    leaf_of = storage.vector(data.rows.n_rows, index_dtype(len(leaves)))
    stability = storage.vector(data.rows.n_rows, np.float32)
    places = Places(model, leaves, side)
    sizes, mass = np.zeros(len(leaves), dtype=np.int64), np.zeros(len(leaves))
    for rows in row_blocks(data.rows.n_rows):
        found = places.find(data.rows.take(np.arange(rows.start, rows.stop)))
        first, last = np.searchsorted(leaves.rows, [rows.start, rows.stop])
        found[leaves.rows[first:last] - rows.start] = np.arange(first, last)  # also beside rows with the same values
        leaf_of[rows], stability[rows] = found, np.nan
        of_rows = None if weights is None else weights[rows]
        counted = found if of_rows is None else found[of_rows > 0]
        sizes += np.bincount(counted, minlength=len(leaves))
        mass += sum_by_label(found, of_rows, len(leaves))
        storage.release()
    leaves = replace(leaves, sizes=sizes, weights=None if weights is None else mass)
    part = Part(leaf_of, stability, np.arange(len(leaves)))
    return replace(summary, leaves=leaves, row_map=RowMap((part,)), n_seen=data.rows.n_rows, cell_side=side)


def _choose_leaves(
    model: Any, summary: Summary, data: Data, weights: Mass | None, max_kept: int
) -> tuple[Leaves, float]:
    """Return the rows that stay, and the side of their cells; 0 if they are a random sample."""
    leaves, side = None, 0.0
    for block in _candidates(summary, data, weights):
        leaves = block if leaves is None else Leaves.join([leaves, block])
        if find_largest_side(model, leaves.values) > 0:
            leaves, _, side = thin_leaves(model, leaves, side, max_kept)
        else:
            leaves = leaves.take(find_lowest(leaves.lots, max_kept))
    assert leaves is not None
    return leaves, side


def _candidates(summary: Summary, data: Data, weights: Mass | None) -> Iterator[Leaves]:
    """Yield the rows of positive weight, block by block."""
    for rows in row_blocks(data.rows.n_rows):
        numbers = np.arange(rows.start, rows.stop)
        values, lots = data.rows.take(numbers), draw_lots(numbers, summary.entropy)
        of_rows = None if weights is None else weights[rows]
        block = Leaves.of_rows(rows.start, values, None, of_rows, lots)
        yield block if of_rows is None else block.take(of_rows > 0)


class Places:
    """Finds the row that each row of the data joins: that of its cell or, in a sample, the nearest one."""

    def __init__(self, model: Any, leaves: Leaves, side: float) -> None:
        self._side = side
        self._nearest = Nearest(model, leaves.values)
        if side > 0:
            keys = cell_keys(leaves.values, side)
            self._order = np.argsort(keys)
            self._keys = keys[self._order]

    def find(self, values: Any) -> IntArray:
        """Return the position of the leaf that each row joins."""
        if self._side == 0:
            return self._nearest.find(values)
        keys = cell_keys(values, self._side)
        position = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found: IntArray = self._order[position]
        alone = np.flatnonzero(self._keys[position] != keys)  # rows of weight 0 in a cell without other rows
        found[alone] = self._nearest.find(values[alone])
        return found
