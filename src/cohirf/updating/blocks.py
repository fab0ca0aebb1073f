"""Updates of methods that are told the number of clusters: new rows are contracted in blocks, in their order.

A block has as many rows as a batch. Rows that do not fill a block are pending: they take part in the upper levels as
they are, like the rows that a fit holds aside, and are contracted as soon as there are enough. So the result depends on
the rows and their order, but not on how they were divided into updates.

Groups of rows are contracted again as soon as there are many. So the number of groups, and with it the cost of an
update, grows with the logarithm of the number of rows at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.batches import EqualBlocks
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.feature_tally import FeatureTally
from cohirf.algorithm.fusions import Recorded
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import ActiveRows, Resources, contract_level
from cohirf.algorithm.storage import ArrayRows, MemoryStorage, StackedRows
from cohirf.data import Data, InMemory
from cohirf.data.first_level import FirstLevel
from cohirf.engines import LocalEngine
from cohirf.fitting import Fit
from cohirf.fitting.begin import watch_engine
from cohirf.fitting.contraction import FEW_BATCHES, Settled, make_contraction
from cohirf.fitting.goal import MAX_GROUPS
from cohirf.summary.leaves import Leaves, stack
from cohirf.summary.model import Model, state_of
from cohirf.summary.summary import Batches, Pending, Summary
from cohirf.updating.climb import upper_mass
from cohirf.updating.settings import stack_weights

MAX_HEIGHT = 20  # groups that were contracted so often stay as they are


def add_rows(
    model: Model, summary: Summary, data: Data, weights: Mass | None, size: int, numbers: IntArray | None
) -> tuple[Summary, IntArray]:
    """Return the summary with the rows of the data: contracted as far as they fill blocks of a size, or pending.

    The rows that were pending come first. The model must know the means of columns. If the ``numbers`` of the clusters
    of new rows are known, groups do not reach over the borders of clusters. Also returns where each leaf is now.
    """
    n_leaves = summary.n_leaves
    pending, n_new = summary.pending, data.rows.n_rows
    n_before, n_all = pending.n_rows, pending.n_rows + n_new
    values = data.take(np.arange(0)) if pending.values is None else pending.values
    joined = stack_weights(pending.weights, n_before, weights, n_new)
    counted: IntArray = np.arange(n_all) if joined is None else np.flatnonzero(joined)  # rows of weight 0 fill no block
    n_blocks = len(counted) // size
    of_rows = None if numbers is None else np.concatenate([summary.labels[n_leaves:], numbers])
    summary = replace(summary, labels=summary.labels[:n_leaves])
    start = n_contracted = 0
    for n_section in _sections(len(summary.batches.sizes), n_blocks):
        n_contracted += n_section * size
        stop = int(counted[n_contracted - 1]) + 1
        mass = None if joined is None else joined[start:stop]
        apart = None if of_rows is None else of_rows[start:stop]
        summary = _contract(model, summary, data, values, start, mass, EqualBlocks(n_section, size), apart)
        start = stop
    parts = [values[min(start, n_before) :], data.take(np.arange(max(start - n_before, 0), n_new))]
    left = Pending(stack(parts), None if joined is None else joined[start:])
    summary, now = contract_again(model, replace(summary, pending=left), size, goes_on=of_rows is not None)
    if of_rows is not None:
        summary = replace(summary, labels=np.concatenate([summary.labels, of_rows[start:]]))
    return summary, now[:n_leaves]


def contract_again(model: Model, summary: Summary, size: int, *, goes_on: bool) -> tuple[Summary, IntArray]:
    """Contract groups in blocks of a size, while there are many of the same height; return where each leaf is now."""
    now: IntArray = np.arange(summary.n_leaves)
    n_many = max(1, MAX_GROUPS // size) * size
    for height in range(1, MAX_HEIGHT):
        while summary.leaves is not None:
            some = np.flatnonzero(summary.leaves.heights == height)[:n_many]
            if len(some) < n_many:
                break
            apart = summary.labels[some] if goes_on else None
            summary, moved = _contract_groups(model, summary, summary.leaves, some, height, size, apart)
            now = moved[now]
    return summary, now


def _contract_groups(
    model: Model, summary: Summary, leaves: Leaves, some: IntArray, height: int, size: int, apart: IntArray | None
) -> tuple[Summary, IntArray]:
    """Contract some of the leaves in blocks of a size; return where each leaf is now."""
    batches, own = summary.batches, leaves.take(some)
    n_again = (*batches.n_again, *(0,) * (height - len(batches.n_again)))
    blocks = EqualBlocks(len(some) // size, size, n_again[height - 1])
    data = InMemory(own.values, state_of(model).column_means)
    weighted = own.weights is not None or model.medoid_weights
    settled = Settled(summary.entropy, size)
    contraction = make_contraction(model, data, settled, weighted=weighted, n_batches=FEW_BATCHES + 1)
    mass = upper_mass(own, sum_mass=model.medoid_weights) if weighted else None
    engine, storage = LocalEngine(model.n_jobs), MemoryStorage()
    fusions = Recorded.unwritten(len(some), storage)
    active = ActiveRows(data.rows, None, mass, batches=blocks, apart=apart)
    survivors = contract_level(active, height + 1, contraction, Resources(engine, engine, storage), fusions)
    tally = FeatureTally(contraction.views, data.n_features)
    tally.add_level(height + 1, survivors, n_again[height - 1])
    tally.add_sums(batches.tally)
    label = np.searchsorted(survivors.rows, fusions.parents)
    kept = own.joined(survivors.rows, label, height + 1)
    # Groups that were absorbed leave; the others stay where they are, sorted by row.
    position = np.arange(len(leaves))
    position[some] = some[survivors.rows[label]]
    stays = np.unique(position)
    changed = Leaves.join([leaves, kept])
    index = np.arange(len(leaves))
    index[some[survivors.rows]] = len(leaves) + np.arange(len(kept))
    moved = np.searchsorted(stays, position)
    n_again = (*n_again[: height - 1], n_again[height - 1] + blocks.n_batches, *n_again[height:])
    return replace(
        summary,
        leaves=changed.take(index[stays]),
        labels=summary.labels if apart is None else summary.labels[stays],
        row_map=summary.row_map.moved(moved),
        batches=replace(batches, tally=tally.sums(), n_again=n_again),
    ), moved


def _sections(n_before: int, n_blocks: int) -> Iterator[int]:
    """Yield numbers of blocks that are contracted alike: the first blocks of a model, and all others."""
    n_few = min(max(FEW_BATCHES - n_before, 0), n_blocks)
    yield from (n_section for n_section in (n_few, n_blocks - n_few) if n_section)


def _contract(
    model: Model,
    summary: Summary,
    data: Data,
    before: Any,
    start: int,
    mass: Mass | None,
    blocks: EqualBlocks,
    apart: IntArray | None,
) -> Summary:
    """Return the summary with the leaves of some blocks: rows from ``start`` on of those before, and of the data."""
    n_batches = len(summary.batches.sizes)
    blocks = replace(blocks, first_number=n_batches)
    weighted = mass is not None or model.medoid_weights
    # What the method is told, and the consensus, depend on the number of the block only.
    several = 2 if n_batches < FEW_BATCHES else FEW_BATCHES + 1
    settled = Settled(summary.entropy, blocks.size)
    contraction = make_contraction(model, data, settled, weighted=weighted, n_batches=several)
    tally = FeatureTally(contraction.views, data.n_features)
    n_rows = blocks.n_batches * blocks.size  # without rows of weight 0
    fit = Fit(model, data, None, n_rows, contraction, watch_engine(model), tally)
    counted = apart if apart is None or mass is None else apart[mass > 0]
    first_level = data.contract_blocks(before, start, mass, blocks, fit.set_up(apart=counted))
    if mass is not None and (mass == 0).any():
        _join_left_out(first_level, data, before, start, mass, blocks.size)
    survivors = first_level.leaves
    tally.add_level(1, survivors, n_batches)
    if n_batches:
        tally.add_sums(summary.batches.tally)
    values = survivors.values.take(np.arange(len(survivors.rows)))
    leaves = Leaves.of_survivors(survivors, values, summary.row_map.n_rows)
    position = summary.n_leaves + np.arange(len(leaves))
    part = replace(first_level.part, position=position)
    batches = Batches(
        np.concatenate([summary.batches.sizes, survivors.batch_sizes]),
        np.concatenate([summary.batches.costs, survivors.batch_costs]),
        tally.sums(),
        summary.batches.n_again,
    )
    return replace(
        summary,
        leaves=leaves if summary.leaves is None else Leaves.join([summary.leaves, leaves]),
        labels=summary.labels if apart is None else np.append(summary.labels, apart[survivors.rows]),
        row_map=summary.row_map.followed_by([part]),
        batches=batches,
    )


def _join_left_out(first_level: FirstLevel, data: Data, before: Any, start: int, mass: Mass, size: int) -> None:
    """Let each row of weight 0 join the nearest leaf of its block."""
    rows = StackedRows(ArrayRows(before), data.rows, len(mass), start)
    leaves = first_level.leaves
    ends = np.flatnonzero(mass)[size - 1 :: size] + 1  # a block ends with a row that counts
    values = fill_missing(leaves.values.take(np.arange(len(leaves.rows))), data.column_means)
    block_of_leaf = np.searchsorted(ends, leaves.rows, side="right")
    left_out = np.flatnonzero(mass == 0)
    block_of_row = np.searchsorted(ends, left_out, side="right")
    for block in np.unique(block_of_row):
        own, among = left_out[block_of_row == block], np.flatnonzero(block_of_leaf == block)
        nearest = pairwise_distances_argmin(fill_missing(rows.take(own), data.column_means), values[among])
        first_level.join(own, among[nearest])
