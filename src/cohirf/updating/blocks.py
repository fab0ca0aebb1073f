"""Updates of methods that are told the number of clusters: new rows are contracted in blocks, in their order.

A block has as many rows as a batch. Rows that do not fill a block are pending: they take part in the upper levels as
they are, like the rows that a fit holds aside, and are contracted as soon as there are enough. So the result depends on
the rows and their order, but not on how they were divided into updates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from cohirf.algorithm.batches import EqualBlocks
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.feature_tally import FeatureTally
from cohirf.algorithm.first_level import FirstLevelHere
from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks
from cohirf.algorithm.storage import MemoryStorage, Storage
from cohirf.data import Data
from cohirf.fitting import Fit
from cohirf.fitting.begin import watch_engine
from cohirf.fitting.contraction import FEW_BATCHES, Settled, make_contraction
from cohirf.fitting.new_rows import select_relevant
from cohirf.scratch import ScratchStorage
from cohirf.summary.leaves import Leaves, stack
from cohirf.summary.row_map import LOOKED_UP, Part
from cohirf.summary.summary import Batches, Pending, Summary
from cohirf.updating.settings import stack_weights


def add_rows(model: Any, summary: Summary, data: Data, weights: Mass | None, size: int) -> Summary:
    """Return the summary with the rows of the data: contracted as far as they fill blocks of a size, or pending.

    The rows that were pending come first. The model must know the relevant features and the means of columns.
    """
    pending, n_new = summary.pending, data.rows.n_rows
    n_before, n_all = pending.n_rows, pending.n_rows + n_new
    values = data.take(np.arange(0)) if pending.values is None else pending.values
    joined = stack_weights(pending.weights, n_before, weights, n_new)
    n_blocks = n_all // size
    start = 0
    for n_section in _sections(len(summary.batches.sizes), n_blocks):
        mass = None if joined is None else joined[start : start + n_section * size]
        summary = _contract(model, summary, data, values, start, mass, EqualBlocks(n_section, size))
        start += n_section * size
    parts = [values[min(start, n_before) :], data.take(np.arange(max(start - n_before, 0), n_new))]
    left = Pending(stack(parts), None if joined is None else joined[start:], np.zeros(n_all - start))
    return replace(summary, pending=left, n_seen=summary.n_seen + n_new)


def _sections(n_before: int, n_blocks: int) -> Iterator[int]:
    """Yield numbers of blocks that are contracted alike: the first blocks of a model, and all others."""
    n_few = min(max(FEW_BATCHES - n_before, 0), n_blocks)
    yield from (n_section for n_section in (n_few, n_blocks - n_few) if n_section)


def _contract(
    model: Any, summary: Summary, data: Data, before: Any, start: int, mass: Mass | None, blocks: EqualBlocks
) -> Summary:
    """Return the summary with the leaves of some blocks: rows from ``start`` on of those before, and of the data."""
    n_batches = len(summary.batches.sizes)
    blocks = replace(blocks, first_number=n_batches)
    relevant = data if model.relevant_features_ is None else data.select(model.relevant_features_)
    weighted = mass is not None or model.medoid_weights
    # What the method is told, and the consensus, depend on the number of the block only.
    several = 2 if n_batches < FEW_BATCHES else FEW_BATCHES + 1
    settled = Settled(summary.entropy, blocks.size)
    contraction = make_contraction(model, relevant, settled, weighted=weighted, n_batches=several)
    tally = FeatureTally(contraction.views, relevant.n_features)
    n_rows = blocks.n_batches * blocks.size
    fit = Fit(model, relevant, None, n_rows, contraction, watch_engine(model), tally)
    own = select_relevant(before, model.relevant_features_)
    first_level = relevant.contract_blocks(own, start, mass, blocks, fit.set_up())
    survivors = first_level.leaves
    tally.add_level(1, survivors, n_batches)
    if n_batches:
        tally.add_sums(summary.batches.tally)
    values = _take_survivors(first_level, data, before, start)
    leaves = Leaves.of_survivors(survivors, values, summary.row_map.n_rows, np.zeros(len(survivors.rows)))
    position = summary.n_leaves + np.arange(len(leaves))
    part = Part(_find_leaf(first_level), first_level.fusions.stability, position)
    batches = Batches(
        np.concatenate([summary.batches.sizes, survivors.batch_sizes]),
        np.concatenate([summary.batches.costs, survivors.batch_costs]),
        tally.sums(),
    )
    return replace(
        summary,
        leaves=leaves if summary.leaves is None else Leaves.join([summary.leaves, leaves]),
        row_map=summary.row_map.followed_by([part]),
        batches=batches,
    )


def _find_leaf(first_level: FirstLevelHere) -> IntArray:
    """Return the number of the leaf of each row of a first level."""
    parents, leaf_rows = first_level.fusions.parents, first_level.leaves.rows
    storage: Storage = ScratchStorage() if isinstance(parents, np.memmap) else MemoryStorage()
    found = storage.vector(len(parents), index_dtype(len(leaf_rows)))
    for block in row_blocks(len(parents), LOOKED_UP):
        found[block] = np.searchsorted(leaf_rows, parents[block])
    storage.release()
    return found


def _take_survivors(first_level: FirstLevelHere, data: Data, before: Any, start: int) -> Any:
    """Return the values of the survivors, with all features."""
    rows = first_level.leaves.rows
    carried = first_level.leaves.values.take(np.arange(len(rows)))
    if carried.shape[1] == before.shape[1]:
        return carried
    numbers = rows + start
    cut = int(np.searchsorted(numbers, before.shape[0]))
    return stack([before[numbers[:cut]], data.take(numbers[cut:] - before.shape[0])])
