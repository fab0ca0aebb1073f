"""Updates of methods that find the number of clusters themselves: rows are kept, all of them or a random sample.

Such methods go by the density of rows, which groups of rows do not have. So an update is a fit to the rows that are
kept. If there are too many rows, those with the lowest random numbers stay, and each of the others joins the nearest of
these. A row that stays has the weight of all rows that joined it, if the base method takes weights. Otherwise the base
method is told to find clusters of fewer rows, in proportion to the share of rows that are kept.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from cohirf import validation
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks, sum_by_label
from cohirf.algorithm.levels import LevelRecord
from cohirf.algorithm.randomness import draw_lots
from cohirf.data import Data, InMemory
from cohirf.fitting import fit_data
from cohirf.summary.leaves import Leaves, stack
from cohirf.summary.row_map import Part, RowMap
from cohirf.summary.summary import LeafResults, Pending, Summary
from cohirf.updating.settings import settled_of, stack_weights, takes_weights

COUNTS = ("min_samples", "min_cluster_size")  # parameters of base methods that are numbers of rows
FEWEST = 2  # below this value, they have no meaning


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


def fit_pending(model: Any, summary: Summary) -> dict[str, Any]:
    """Fit a model to its pending rows, which are all its rows, and return its attributes."""
    data = open_values(model, summary.pending.values)
    model._column_means = data.column_means
    return dict(fit_data(model, data, summary.pending.weights, settled_of(summary)).attributes)


def open_values(model: Any, values: Any) -> InMemory:
    """Return values as the data of a fit."""
    data = InMemory(values, None)
    fills = isinstance(values, np.ndarray) and validation.takes_nan(model._base_method())
    return replace(data, column_means=validation.column_means(values)) if fills else data


def thin(model: Any, before: Summary, data: Data, weights: Mass | None, max_kept: int) -> tuple[Summary, IntArray]:
    """Return the summary with the rows of the data, of which a random sample is kept, as leaves.

    Also returns, for each row that was kept before, the position of the row that it is now, or that it has joined.
    """
    old, row_map = as_leaves(before, data.take(np.arange(0)))
    n_new, n_old = data.rows.n_rows, len(old)
    lots = draw_lots(np.arange(before.n_seen, before.n_seen + n_new), before.entropy)
    stays = find_lowest(np.concatenate([old.lots, lots]), max_kept)
    new = np.flatnonzero(stays[n_old:])
    of_new = Leaves.of_rows(0, data.take(new), None, None if weights is None else weights[new], lots[new])
    numbers = row_map.n_rows + new
    kept = Leaves.join([old.take(stays[:n_old]), replace(of_new, rows=numbers, first_rows=numbers)])
    search = Nearest(model, kept.values)
    now = join_nearest(old, stays[:n_old], search)
    leaf_of = _assign(data, search, new, len(kept) - len(new))
    given = stack_weights(old.weights, n_old, weights, n_new)
    sizes = np.concatenate([old.sizes, np.ones(n_new, dtype=np.int64)])
    kept = weigh(kept, np.concatenate([now, leaf_of]), sizes, given)
    used, leaf_of_part = np.unique(leaf_of, return_inverse=True)
    stability = np.full(n_new, np.nan, dtype=np.float32)
    part = Part(leaf_of_part.astype(index_dtype(len(used))), stability, used)
    row_map, n_seen = row_map.moved(now).followed_by([part]), before.n_seen + n_new
    return replace(before, leaves=kept, row_map=row_map, pending=Pending(), n_seen=n_seen), now


def join_nearest(old: Leaves, stays: NDArray[np.bool_], search: Nearest) -> IntArray:
    """Return the position among the rows that stay of each row that was kept; others join the nearest one."""
    now = np.empty(len(old), dtype=np.int64)
    now[stays] = np.arange(stays.sum())
    now[~stays] = search.find(old.values[~stays])
    return now


def find_lowest(lots: NDArray[np.float64], n_lowest: int) -> NDArray[np.bool_]:
    """Return which of the numbers are among the lowest ones; of equal numbers, the first."""
    is_lowest = np.zeros(len(lots), dtype=bool)
    is_lowest[np.argsort(lots, kind="stable")[:n_lowest]] = True
    return is_lowest


class Nearest:
    """Finds the nearest of some rows, on the relevant features."""

    def __init__(self, model: Any, values: Any) -> None:
        self._means = open_values(model, values).column_means
        self._search = NearestNeighbors(n_neighbors=1).fit(fill_missing(values, self._means))

    def find(self, X: Any) -> IntArray:
        """Return the position of the row that is nearest to each row of ``X``."""
        if X.shape[0] == 0:
            return np.empty(0, dtype=np.int64)
        found = self._search.kneighbors(fill_missing(X, self._means), return_distance=False)
        return np.asarray(found[:, 0])


def as_leaves(summary: Summary, no_rows: Any) -> tuple[Leaves, RowMap]:
    """Return the rows that are kept as leaves, and the leaf of each row; ``no_rows`` are values if there are none."""
    if summary.leaves is not None:
        return summary.leaves, summary.row_map
    pending = summary.pending
    everything = np.arange(pending.n_rows)
    part = Part(everything, np.full(len(everything), np.nan, dtype=np.float32), everything)
    values = no_rows if pending.values is None else pending.values
    return Leaves.of_rows(0, values, None, pending.weights, pending.lots), RowMap((part,))


def _assign(data: Data, search: Nearest, kept: IntArray, first: int) -> IntArray:
    """Return the position of the kept row that each row of the data joins; those in ``kept`` stay themselves.

    The first of these is at position ``first``.
    """
    n_rows = data.rows.n_rows
    leaf_of = np.empty(n_rows, dtype=np.int64)
    for block in row_blocks(n_rows):
        leaf_of[block] = search.find(data.rows.take(np.arange(block.start, block.stop)))
    leaf_of[kept] = first + np.arange(len(kept))
    return leaf_of


def weigh(kept: Leaves, joined: IntArray, sizes: IntArray, weights: Mass | None) -> Leaves:
    """Return the kept rows with the sizes and weights of all that have joined them."""
    rows = np.bincount(joined, weights=sizes, minlength=len(kept)).astype(np.int64)
    return replace(kept, sizes=rows, weights=None if weights is None else sum_by_label(joined, weights, len(kept)))


def fit_sample(model: Any, summary: Summary) -> tuple[dict[str, Any], IntArray, LeafResults]:
    """Fit a model to the rows that are kept; return its attributes, the label of each, and results of all rows."""
    leaves = summary.leaves
    assert leaves is not None
    weights = leaves.mass if takes_weights(model) else None
    inner = model if weights is not None else count_fewer(model, len(leaves) / summary.n_rows)
    data = open_values(inner, leaves.values)
    inner._column_means = data.column_means
    attributes = dict(fit_data(inner, data, weights, settled_of(summary)).attributes)
    for name in ("relevant_features_", "feature_statistics_", "_column_means"):
        setattr(model, name, getattr(inner, name))
    hierarchy, labels = attributes.pop("hierarchy_"), attributes.pop("labels_")
    levels = hierarchy.absorbed_at.astype(np.int64)
    results = LeafResults(
        hierarchy.parents,
        np.where(levels > 0, levels + 1, 0).astype(np.min_scalar_type(int(levels.max()) + 2)),
        attributes.pop("stability_"),
        replace(hierarchy.tree, level=hierarchy.tree.level + 1),
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
    counts = {
        name: max(FEWEST, round(int(value) * share))
        for name, value in model.estimator.get_params().items()
        if name.rsplit("__", 1)[-1] in COUNTS and isinstance(value, int | np.integer) and value > FEWEST
    }
    lowered.estimator.set_params(**counts)
    return lowered
