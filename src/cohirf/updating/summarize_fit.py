"""Fit a model, and keep what a later update needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cohirf.algorithm.arrays import to_host
from cohirf.algorithm.runs import Survivors
from cohirf.algorithm.storage import Rows
from cohirf.data import Data, InMemory
from cohirf.fitting import Fitted, fit_data
from cohirf.scratch import ScratchStorage
from cohirf.summary.leaves import Leaves
from cohirf.summary.model import Model
from cohirf.summary.row_map import RowMap
from cohirf.summary.summary import Batches, Pending, Summary
from cohirf.updating.settings import Kind


def fit_model(model: Model, data: Data, sample_weight: Any) -> dict[str, Any]:
    """Fit a model to opened data, and return the fitted attributes."""
    fitted = fit_data(model, data, sample_weight)
    return {**fitted.attributes, "changes_": None, "history_": (), "_summary": summarize_fit(model, data, fitted)}


def summarize_fit(model: Model, data: Data, fitted: Fitted) -> Summary | None:
    """Return what a fit keeps for updates; None if the base method would need rows that are not kept."""
    kind = Kind.of(model, fitted.settled.batch_size)
    if _keeps_all(kind, data, fitted):
        return _keep_all(data, fitted)
    return _keep_groups(data, fitted) if kind.is_told else None


def _keeps_all(kind: Kind, data: Data, fitted: Fitted) -> bool:
    """Return whether the model keeps all rows, as updates with the same rows would."""
    n_rows, first = data.rows.n_rows, fitted.first_level.leaves
    if not kind.keeps_all(n_rows):
        return False
    weights = fitted.weights
    are_landmarks = len(fitted.attributes["_landmark_rows"]) == n_rows and (weights is None or weights.positive is None)
    is_one_batch = len(first.batch_sizes) == 1 and first.rows_in == n_rows
    return (are_landmarks and is_one_batch) if kind.is_told else (are_landmarks or isinstance(data, InMemory))


def _without_rows(data: Data, fitted: Fitted) -> Summary:
    """Return the summary of a fit, in which its rows are still missing."""
    n_rows, settled = data.rows.n_rows, fitted.settled
    return Summary(
        entropy=settled.entropy,
        batch_size=settled.batch_size,
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
    labels = np.asarray(to_host(fitted.attributes["_rows"].gathered().look_up_labels()))
    pending = Pending(_take_all(data, fitted.attributes), _take_mass(data, fitted))
    return replace(_without_rows(data, fitted), pending=pending, labels=labels)


def _keep_groups(data: Data, fitted: Fitted) -> Summary:
    """Return a summary with the groups of the first level, for a method that is told the number of clusters."""
    attributes, first = fitted.attributes, fitted.first_level.leaves
    values = _take_leaves(data, first)
    if isinstance(values, np.memmap):  # what grows with the data is on disk
        first = replace(first, means=ScratchStorage().store(first.means))
    leaves = Leaves.of_survivors(first, values, 0)
    return replace(
        _without_rows(data, fitted),
        leaves=leaves,
        row_map=attributes["_rows"].row_map,
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
