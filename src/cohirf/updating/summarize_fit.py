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
    n_rows = data.rows.n_rows
    attributes, settled, weights = fitted.attributes, fitted.settled, fitted.weights
    leaves = fitted.first_level.leaves
    kind = Kind.of(model, settled.batch_size)
    all_kept = len(attributes["_landmark_rows"]) == n_rows and (weights is None or weights.positive is None)
    one_batch = len(leaves.batch_sizes) == 1 and leaves.rows_in == n_rows
    common = {
        "entropy": settled.entropy,
        "batch_size": settled.batch_size,
        "n_seen": n_rows,
        "next_number": attributes["n_clusters_"],
        "update_rows": (n_rows,),
    }
    # rows of a source would be read again, and to find the rows of many takes longer than some fits
    is_here = isinstance(data, InMemory) and n_rows <= MOST_ROWS
    if kind.keeps_all(n_rows) and ((all_kept and one_batch) if kind.is_told else (all_kept or is_here)):
        pending = Pending(
            _take_all(data, attributes),
            None if weights is None else weights.take(np.arange(n_rows)),
            draw_lots(np.arange(n_rows), settled.entropy),
        )
        labels = np.asarray(to_host(attributes["labels_"]))
        return Summary(**common, leaves=None, row_map=RowMap(), pending=pending, batches=Batches.none(0), labels=labels)
    if not kind.is_told:
        if not is_here or find_largest_side(model, data.take(np.arange(0))) == 0:
            return None
        mass = None if weights is None else weights.take(np.arange(n_rows))
        kept = keep_some(model, Summary(**common, **_nothing()), data, mass, kind.max_kept)
        assert kept.leaves is not None
        return replace(kept, labels=attributes["labels_"][kept.leaves.rows].astype(np.int64))
    values = _take_leaves(model, data, leaves)
    if isinstance(values, np.memmap):  # what grows with the data is on disk
        leaves = replace(leaves, means=ScratchStorage().store(leaves.means))
    own = Leaves.of_survivors(leaves, values, 0, np.zeros(len(leaves.rows)))
    absorbed_at = attributes.get("_absorbed_at")
    part = FittedPart(
        attributes["parents_"],
        attributes["hierarchy_"].absorbed_at if absorbed_at is None else absorbed_at,
        attributes["stability_"],
        own.rows,
        np.arange(len(own)),
    )
    batches = Batches(leaves.batch_sizes, leaves.batch_costs, fitted.tally)
    labels = fitted.leaf_labels.astype(np.int64)
    return Summary(**common, leaves=own, row_map=RowMap((part,)), pending=Pending(), batches=batches, labels=labels)


def _nothing() -> dict[str, Any]:
    """Return the parts of a summary without rows."""
    labels = np.empty(0, dtype=np.int64)
    return {"leaves": None, "row_map": RowMap(), "pending": Pending(), "batches": Batches.none(0), "labels": labels}


def _take_all(data: Data, attributes: dict[str, Any]) -> Any:
    """Return the values of all rows: those of the landmarks, if these are the same."""
    points = attributes["_landmarks"].points
    if points.shape[0] == data.rows.n_rows and data.column_means is None and points.shape[1] == data.n_features:
        return points
    return data.take(np.arange(data.rows.n_rows))


def _take_leaves(model: Any, data: Data, leaves: Survivors) -> Any:
    """Return the values of the leaves, with all features."""
    carried: Rows | None = leaves.values
    if carried is None or model.relevant_features_ is not None:
        return data.take(leaves.rows)
    return carried.take(np.arange(len(leaves.rows)))
