"""Updates of methods that find the number of clusters themselves: rows are kept, all or some that stand for all.

Such methods go by the density of rows, which groups of rows do not have. So an update is a fit to the rows that are
kept. If there are too many rows, some of them stay, and each of the others joins one of these; see ``thinning``. A row
that stays has the weight of all rows that joined it, if the base method takes weights. Otherwise the base method is
told to find clusters of fewer rows, in proportion to the share of rows that are kept.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks
from cohirf.algorithm.levels import LevelRecord
from cohirf.algorithm.randomness import draw_lots
from cohirf.data import Data
from cohirf.fitting import fit_data
from cohirf.fitting.former import Former
from cohirf.summary.leaves import Leaves, stack
from cohirf.summary.row_map import Part, RowMap
from cohirf.summary.summary import LeafResults, Pending, Summary
from cohirf.updating.settings import settled_of, stack_weights, takes_weights
from cohirf.updating.thinning import Nearest, join_nearest, open_values, thin_leaves

# Parameters of base methods that are numbers of rows, and values below which they are not lowered: with fewer rows,
# chance would decide about clusters.
COUNTS = {"min_samples": 5, "min_cluster_size": 15}


def add_all(summary: Summary, data: Data, weights: Mass | None) -> Summary:
    """Return the summary with all rows of the data pending."""
    n_new, pending = data.rows.n_rows, summary.pending
    new = data.take(np.arange(n_new))
    values = new if pending.values is None else stack([pending.values, new])
    lots = draw_lots(np.arange(summary.n_seen, summary.n_seen + n_new), summary.entropy)
    joined = Pending(
        values, stack_weights(pending.weights, pending.n_rows, weights, n_new), np.concatenate([pending.lots, lots])
    )
    return replace(summary, pending=joined, n_seen=summary.n_seen + n_new)


def fit_pending(model: Any, summary: Summary, former: Former | None) -> dict[str, Any]:
    """Fit a model to its pending rows, which are all its rows, and return its attributes.

    If the base method is told the number of clusters, the ``former`` clusters of rows may go on.
    """
    data = open_values(model, summary.pending.values)
    model._column_means = data.column_means
    return dict(fit_data(model, data, summary.pending.weights, settled_of(summary), former).attributes)


def thin(model: Any, before: Summary, data: Data, weights: Mass | None, max_kept: int) -> tuple[Summary, IntArray]:
    """Return the summary with the rows of the data, of which some are kept, as leaves.

    Also returns, for each row that was kept before, the position of the row that it is now, or that it has joined.
    """
    leaves, row_map, now = as_leaves(model, before, data.take(np.arange(0)))
    side = before.cell_side
    for block in row_blocks(data.rows.n_rows):
        n_old, n_new = len(leaves), block.stop - block.start
        lots = draw_lots(np.arange(before.n_seen + block.start, before.n_seen + block.stop), before.entropy)
        of_rows = None if weights is None else weights[block]
        values = data.rows.take(np.arange(block.start, block.stop))
        new, counts = Leaves.of_rows(row_map.n_rows, values, None, of_rows, lots), np.ones(n_new, dtype=bool)
        if of_rows is not None:
            counts = of_rows > 0
            new = new.take(counts)
        leaves, joined, side = thin_leaves(model, Leaves.join([leaves, new]), side, max_kept)
        of_new = np.empty(n_new, dtype=np.int64)
        of_new[counts] = joined[n_old:]
        if not counts.all():
            if len(leaves) == 0:
                raise ValueError(
                    f"The first {block.stop:,} rows all have weight 0: begin with rows that take part in the fit."
                )
            of_new[~counts] = Nearest(model, leaves.values).find(values[~counts])
        used, leaf_of = np.unique(of_new, return_inverse=True)
        stability = np.full(n_new, np.nan, dtype=np.float32)
        part = Part(leaf_of.astype(index_dtype(len(used))), stability, used)
        row_map = row_map.moved(joined[:n_old]).followed_by([part])
        now = joined[now]
    n_seen = before.n_seen + data.rows.n_rows
    thinned = replace(before, leaves=leaves, row_map=row_map, pending=Pending(), n_seen=n_seen, cell_side=side)
    return thinned, now


def as_leaves(model: Any, summary: Summary, no_rows: Any) -> tuple[Leaves, RowMap, IntArray]:
    """Return the rows that are kept as leaves, the leaf of each row, and that of each leaf and pending row.

    Pending rows of weight 0 join the nearest other row. The values ``no_rows`` are for a summary without rows.
    """
    if summary.leaves is not None:
        return summary.leaves, summary.row_map, np.arange(len(summary.leaves))
    pending = summary.pending
    if pending.values is None:
        return Leaves.of_rows(0, no_rows, None, None, np.empty(0)), RowMap(), np.arange(0)
    leaves = Leaves.of_rows(0, pending.values, None, pending.weights, pending.lots)
    joined: IntArray = np.arange(pending.n_rows)
    if pending.weights is not None and (pending.weights == 0).any():
        stays = pending.weights > 0
        joined = join_nearest(leaves, stays, Nearest(model, pending.values[stays]))
        leaves = leaves.take(stays)
    part = Part(joined, np.full(len(joined), np.nan, dtype=np.float32), np.arange(len(leaves)))
    return leaves, RowMap((part,)), joined


def fit_sample(model: Any, summary: Summary) -> tuple[dict[str, Any], IntArray, LeafResults]:
    """Fit a model to the rows that are kept; return its attributes, the label of each, and results of all rows."""
    leaves = summary.leaves
    assert leaves is not None
    weights = leaves.mass if takes_weights(model) else None
    inner = model if weights is not None else count_fewer(model, len(leaves) / summary.n_rows)
    data = open_values(inner, leaves.values)
    inner._column_means = data.column_means
    attributes = dict(fit_data(inner, data, weights, settled_of(summary)).attributes)
    model._column_means = data.column_means
    hierarchy, labels = attributes.pop("hierarchy_"), attributes.pop("labels_")
    levels = hierarchy.absorbed_at.astype(np.int64)
    results = LeafResults(
        hierarchy.parents,
        np.where(levels > 0, levels + 1, 0).astype(np.min_scalar_type(int(levels.max()) + 2)),
        attributes.pop("stability_"),
        replace(hierarchy.tree, level=min(hierarchy.tree.level, int(levels.max())) + 1),  # levels without fusions
    )
    del attributes["parents_"]
    for name in ("medoid_indices_", "exemplar_indices_", "_landmark_rows"):
        attributes[name] = leaves.rows[attributes[name]]
    attributes["diagnostics_"] = [sampled_level(summary), *map(_one_level_up, attributes["diagnostics_"])]
    attributes["n_iter_"] += 1
    return attributes, labels, results


def sampled_level(summary: Summary) -> LevelRecord:
    """Return the record of the level at which rows join those that are kept."""
    return LevelRecord(1, 1, summary.n_rows, 0, summary.n_leaves, 0.0, np.nan, np.nan, 0.0, 0.0, 0.0, "sampled")


def _one_level_up(record: LevelRecord) -> LevelRecord:
    return replace(record, level=record.level + 1)


def count_fewer(model: Any, share: float) -> Any:
    """Return a copy of a model in which numbers of rows are lowered to a share of them: kept rows have no weights."""
    lowered = copy(model)
    if isinstance(model.min_cluster_size, int | np.integer):
        lowered.min_cluster_size = max(1, round(int(model.min_cluster_size) * share))
    if not hasattr(model.estimator, "get_params"):
        return lowered
    lowered.estimator = clone(model.estimator)
    counts = {}
    for name, value in model.estimator.get_params().items():
        fewest = COUNTS.get(name.rsplit("__", 1)[-1])
        if fewest is not None and isinstance(value, int | np.integer):
            counts[name] = max(min(fewest, int(value)), round(int(value) * share))
    lowered.estimator.set_params(**counts)
    return lowered
