"""Fit a model, and keep what a later update needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cohirf.algorithm.arrays import to_host
from cohirf.algorithm.randomness import draw_lots
from cohirf.algorithm.runs import Survivors
from cohirf.algorithm.storage import Rows
from cohirf.data import Data, InMemory
from cohirf.fitting import Fitted, fit_data
from cohirf.scratch import ScratchStorage
from cohirf.summary.leaves import Leaves
from cohirf.summary.row_map import FittedPart, RowMap
from cohirf.summary.summary import Batches, Pending, Summary
from cohirf.updating.keep_some import keep_some
from cohirf.updating.settings import Kind
from cohirf.updating.thinning import find_largest_side

MOST_ROWS = 2**18  # of a fit with a radius, in memory, that keeps the rows that updates need


def fit_model(model: Any, data: Data, sample_weight: Any) -> dict[str, Any]:
    """Fit a model to opened data, and return the fitted attributes."""
    fitted = fit_data(model, data, sample_weight)
    return {**fitted.attributes, "changes_": None, "history_": (), "_summary": summarize_fit(model, data, fitted)}


def summarize_fit(model: Any, data: Data, fitted: Fitted) -> Summary | None:
    """Return what a fit keeps for updates; None if the base method would need rows that are not kept."""
    kind = Kind.of(model, fitted.settled.batch_size)
    if _keeps_all(kind, data, fitted):
        return _keep_all(data, fitted)
    if kind.is_told:
        return _keep_groups(data, fitted)
    if _is_here(data) and find_largest_side(model, data.take(np.arange(0))) > 0:
        return _keep_some(model, data, fitted, kind.max_kept)
    return None


def _keeps_all(kind: Kind, data: Data, fitted: Fitted) -> bool:
    """Return whether the model keeps all rows, as updates with the same rows would."""
    n_rows, first = data.rows.n_rows, fitted.first_level.leaves
    if not kind.keeps_all(n_rows):
        return False
    weights = fitted.weights
    are_landmarks = len(fitted.attributes["_landmark_rows"]) == n_rows and (weights is None or weights.positive is None)
    is_one_batch = len(first.batch_sizes) == 1 and first.rows_in == n_rows
    return (are_landmarks and is_one_batch) if kind.is_told else (are_landmarks or _is_here(data))


def _is_here(data: Data) -> bool:
    """Return whether rows can be chosen: those of a source would be read again, and for many it would take long."""
    return isinstance(data, InMemory) and data.rows.n_rows <= MOST_ROWS


def _without_rows(data: Data, fitted: Fitted) -> Summary:
    """Return the summary of a fit, in which its rows are still missing."""
    n_rows, settled = data.rows.n_rows, fitted.settled
    return Summary(
        entropy=settled.entropy,
        batch_size=settled.batch_size,
        n_seen=n_rows,
        next_number=fitted.attributes["n_clusters_"],
        update_rows=(n_rows,),
        leaves=None,
        row_map=RowMap(),
        pending=Pending(),
        batches=Batches.none(0),
        labels=np.empty(0, dtype=np.int64),
    )


def _keep_all(data: Data, fitted: Fitted) -> Summary:
    """Return a summary with all rows, as they are."""
    everything, labels = np.arange(data.rows.n_rows), np.asarray(to_host(fitted.attributes["labels_"]))
    pending = Pending(
        _take_all(data, fitted.attributes), _take_mass(data, fitted), draw_lots(everything, fitted.settled.entropy)
    )
    return replace(_without_rows(data, fitted), pending=pending, labels=labels)


def _keep_some(model: Any, data: Data, fitted: Fitted, max_kept: int) -> Summary:
    """Return a summary with some rows that stand for all, for a method that goes by the density of rows."""
    kept = keep_some(model, _without_rows(data, fitted), data, _take_mass(data, fitted), max_kept)
    assert kept.leaves is not None
    return replace(kept, labels=fitted.attributes["labels_"][kept.leaves.rows].astype(np.int64))


def _keep_groups(data: Data, fitted: Fitted) -> Summary:
    """Return a summary with the groups of the first level, for a method that is told the number of clusters."""
    attributes, first = fitted.attributes, fitted.first_level.leaves
    values = _take_leaves(data, first)
    if isinstance(values, np.memmap):  # what grows with the data is on disk
        first = replace(first, means=ScratchStorage().store(first.means))
    leaves = Leaves.of_survivors(first, values, 0, np.zeros(len(first.rows)))
    absorbed_at = attributes.get("_absorbed_at")
    part = FittedPart(
        attributes["parents_"],
        attributes["hierarchy_"].absorbed_at if absorbed_at is None else absorbed_at,
        attributes["stability_"],
        leaves.rows,
        np.arange(len(leaves)),
    )
    return replace(
        _without_rows(data, fitted),
        leaves=leaves,
        row_map=RowMap((part,)),
        batches=Batches(first.batch_sizes, first.batch_costs, fitted.tally),
        labels=fitted.leaf_labels.astype(np.int64),
    )


def _take_mass(data: Data, fitted: Fitted) -> Any:
    """Return the weights of all rows; None if all weigh the same."""
    return None if fitted.weights is None else fitted.weights.take(np.arange(data.rows.n_rows))


def _take_all(data: Data, attributes: dict[str, Any]) -> Any:
    """Return the values of all rows: those of the landmarks, if these are the same."""
    points = attributes["_landmarks"].points
    if points.shape[0] == data.rows.n_rows and data.column_means is None:
        return points
    return data.take(np.arange(data.rows.n_rows))


def _take_leaves(data: Data, leaves: Survivors) -> Any:
    """Return the values of the leaves."""
    carried: Rows | None = leaves.values
    if carried is None:
        return data.take(leaves.rows)
    return carried.take(np.arange(len(leaves.rows)))
