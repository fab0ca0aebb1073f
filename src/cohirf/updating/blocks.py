"""Updates of methods that take the number of clusters: new rows are contracted in blocks, in their
order.

A block has as many rows as a batch. Rows that do not fill a block are pending: they take part in
the upper levels as they are, like the rows that a fit holds aside, and are contracted as soon as
there are enough. So the result depends on the rows and their order, but not on how they were
divided into updates.

Groups of rows are contracted again as soon as there are many. So the number of groups, and with it
the cost of an update, grows with the logarithm of the number of rows at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.batches import Batches, equal_blocks
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.get_clusters import tally_features
from cohirf.algorithm.levels import ActiveRows, Resources, contract_level
from cohirf.algorithm.parents import Recorded
from cohirf.algorithm.runs import PAPER
from cohirf.beyond.batch_steps import WithinBorders
from cohirf.data import Data, InMemory
from cohirf.data.first_level import FirstLevel
from cohirf.engines import engine_of_batches
from cohirf.fitting import Fit
from cohirf.fitting.contraction import make_contraction
from cohirf.fitting.policy import GROUP
from cohirf.fitting.settings import Settings, Settled
from cohirf.rows.grouping import IntArray, Mass
from cohirf.rows.storage import ArrayRows, StackedRows, Storage
from cohirf.summary.summary import ContractedBatches, RowGroups, Summary, stack
from cohirf.updating.rerun import upper_mass


def add_rows(
    settings: Settings,
    before: Summary,
    data: Data,
    weights: Mass | None,
    size: int,
    numbers: IntArray | None,
    column_means: NDArray[np.floating[Any]] | None,
) -> tuple[Summary, IntArray]:
    """Return the summary with the rows of the data: contracted as far as they fill blocks of a
    size, or pending.

    The rows that were pending come first. Missing cells are replaced by the means of columns. If
    the ``numbers`` of the clusters of new rows are known, groups do not reach over the borders of
    clusters. Also returns where each group is now.
    """
    summary = before.without_pending()
    n_before = before.n_pending
    n_new = data.rows.n_rows
    n_groups = len(summary.groups)
    n_contracted_rows = summary.n_rows
    pending = before.groups.take(slice(n_groups, None))
    joined = _join_weights(pending, weights, n_new)
    # rows of weight 0 fill no block
    counted: IntArray = np.arange(n_before + n_new) if joined is None else np.flatnonzero(joined)
    if numbers is None:
        of_rows = None
    else:
        of_rows = np.concatenate([before.labels[n_groups:], numbers])
    start = n_contracted = 0
    for n_section in _sections(len(summary.batches.sizes), len(counted) // size):
        n_contracted += n_section * size
        stop = int(counted[n_contracted - 1]) + 1
        mass = None if joined is None else joined[start:stop]
        apart = None if of_rows is None else of_rows[start:stop]
        summary = _contract(
            settings,
            summary,
            data,
            pending.values,
            start,
            mass,
            equal_blocks(n_section, size),
            apart,
        )
        start = stop
    summary, now = contract_again(
        settings, summary, size, column_means, goes_on=of_rows is not None
    )
    values = stack(
        [
            pending.values[min(start, n_before) :],
            data.take(np.arange(max(start - n_before, 0), n_new)),
        ]
    )
    labels = np.full(n_before + n_new, -1) if of_rows is None else of_rows
    summary = summary.with_rows(values, None if joined is None else joined[start:], labels[start:])
    # pending rows, which may be contracted now
    former = np.arange(n_contracted_rows, n_contracted_rows + n_before)
    return summary, np.concatenate([now[:n_groups], summary.row_map.find_leaves(former)])


def _join_weights(pending: RowGroups, weights: Mass | None, n_new: int) -> Mass | None:
    """Return the weights of pending rows and of new ones; None if all are 1."""
    if pending.weights is None and weights is None:
        return None
    return np.concatenate([pending.mass, np.ones(n_new) if weights is None else weights])


def contract_again(
    settings: Settings,
    summary: Summary,
    size: int,
    column_means: NDArray[np.floating[Any]] | None,
    *,
    goes_on: bool,
) -> tuple[Summary, IntArray]:
    """Contract groups in blocks of a size, while there are many of the same height.

    Return where each group is now.
    """
    now: IntArray = np.arange(len(summary.groups))
    n_many = max(1, GROUP.most // size) * size
    most_often = 20  # groups that were contracted so often stay as they are
    for height in range(1, most_often):
        while True:
            some = np.flatnonzero(summary.groups.heights == height)[:n_many]
            if len(some) < n_many:
                break
            apart = summary.labels[some] if goes_on else None
            summary, moved = _contract_groups(
                settings, summary, some, height, size, apart, column_means
            )
            now = moved[now]
    return summary, now


def _contract_groups(
    settings: Settings,
    summary: Summary,
    some: IntArray,
    height: int,
    size: int,
    apart: IntArray | None,
    column_means: NDArray[np.floating[Any]] | None,
) -> tuple[Summary, IntArray]:
    """Contract some of the groups in blocks of a size; return where each group is now."""
    groups = summary.groups
    batches = summary.batches
    own = groups.take(some)
    n_again = (*batches.n_again, *(0,) * (height - len(batches.n_again)))
    blocks = equal_blocks(len(some) // size, size, n_again[height - 1])
    data = InMemory(own.values, column_means)
    weighted = own.weights is not None or settings.sum_mass
    settled = Settled(summary.entropy, size)
    contraction = make_contraction(
        settings, data, settled, weighted=weighted, n_batches=GROUP.few_batches + 1
    )
    mass = upper_mass(own, sum_mass=settings.sum_mass) if weighted else None
    engine = engine_of_batches(settings.n_jobs)
    storage = Storage()
    fusions = Recorded.unwritten(len(some), storage)
    steps = PAPER if apart is None else WithinBorders(apart)
    active = ActiveRows(data.rows, None, mass, batches=blocks, steps=steps)
    survivors = contract_level(
        active, height + 1, contraction, Resources(engine, engine, storage), fusions
    )
    tally = tally_features(
        contraction.views, data.n_features, height + 1, survivors, n_again[height - 1]
    )
    label = np.searchsorted(survivors.rows, fusions.parents)
    kept = own.joined(survivors.rows, label, height + 1)
    # Groups that were absorbed leave; the others stay where they are, sorted by row.
    position = np.arange(len(groups))
    position[some] = some[survivors.rows[label]]
    stays = np.unique(position)
    changed = RowGroups.join([groups, kept])
    index = np.arange(len(groups))
    index[some[survivors.rows]] = len(groups) + np.arange(len(kept))
    moved = np.searchsorted(stays, position)
    n_again = (*n_again[: height - 1], n_again[height - 1] + blocks.n_batches, *n_again[height:])
    return replace(
        summary,
        groups=changed.take(index[stays]),
        labels=summary.labels if apart is None else summary.labels[stays],
        row_map=summary.row_map.moved(moved),
        batches=replace(batches, tally=batches.tally + tally, n_again=n_again),
    ), moved


def _sections(n_before: int, n_blocks: int) -> Iterator[int]:
    """Yield numbers of blocks that are contracted alike: the first blocks of a model, and all
    others.
    """
    n_few = min(max(GROUP.few_batches - n_before, 0), n_blocks)
    yield from (n_section for n_section in (n_few, n_blocks - n_few) if n_section)


def _contract(
    settings: Settings,
    summary: Summary,
    data: Data,
    before: Any,
    start: int,
    mass: Mass | None,
    blocks: Batches,
    apart: IntArray | None,
) -> Summary:
    """Return the summary with the groups of some blocks: rows from ``start`` on of those before,
    and of the data.
    """
    n_batches = len(summary.batches.sizes)
    size = int(blocks.bounds[1])
    blocks = replace(blocks, first_number=n_batches)
    weighted = mass is not None or settings.sum_mass
    # The number of clusters of the method, and the consensus, depend on the number of the block
    # only.
    several = 2 if n_batches < GROUP.few_batches else GROUP.few_batches + 1
    settled = Settled(summary.entropy, size)
    contraction = make_contraction(settings, data, settled, weighted=weighted, n_batches=several)
    n_rows = int(blocks.bounds[-1])  # without rows of weight 0
    fit = Fit(settings, data, None, n_rows, contraction)
    counted = apart if apart is None or mass is None else apart[mass > 0]
    first_level = data.contract_blocks(before, start, mass, blocks, fit.set_up(None, counted))
    if mass is not None and (mass == 0).any():
        _join_weightless(first_level, data, before, start, mass, size)
    survivors = first_level.leaves
    tally = tally_features(contraction.views, data.n_features, 1, survivors, n_batches)
    values = survivors.values.take(np.arange(len(survivors.rows)))
    groups = RowGroups.of_survivors(survivors, values, summary.n_rows)
    part = replace(first_level.part, position=len(summary.groups) + np.arange(len(groups)))
    batches = ContractedBatches(
        np.concatenate([summary.batches.sizes, survivors.batch_sizes]),
        np.concatenate([summary.batches.costs, survivors.batch_costs]),
        tally + summary.batches.tally if n_batches else tally,
        summary.batches.n_again,
    )
    return replace(
        summary,
        groups=RowGroups.join([summary.groups, groups]),
        labels=summary.labels
        if apart is None
        else np.append(summary.labels, apart[survivors.rows]),
        row_map=summary.row_map.followed_by([part]),
        batches=batches,
    )


def _join_weightless(
    first_level: FirstLevel, data: Data, before: Any, start: int, mass: Mass, size: int
) -> None:
    """Let each row of weight 0 join the nearest leaf of its block."""
    rows = StackedRows(ArrayRows(before), data.rows, len(mass), start)
    leaves = first_level.leaves
    ends = np.flatnonzero(mass)[size - 1 :: size] + 1  # a block ends with a row that counts
    values = fill_missing(leaves.values.take(np.arange(len(leaves.rows))), data.column_means)
    block_of_leaf = np.searchsorted(ends, leaves.rows, side="right")
    left_out = np.flatnonzero(mass == 0)
    block_of_row = np.searchsorted(ends, left_out, side="right")
    for block in np.unique(block_of_row):
        own = left_out[block_of_row == block]
        among = np.flatnonzero(block_of_leaf == block)
        nearest = pairwise_distances_argmin(
            fill_missing(rows.take(own), data.column_means), values[among]
        )
        first_level.join(own, among[nearest])
