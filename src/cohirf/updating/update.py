"""Fit a model and keep what updates need.

Add new rows to it: from a model and opened data to fitted attributes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from cohirf.algorithm.randomness import root_entropy
from cohirf.data import Data, InMemory
from cohirf.fitting import FinishedFit
from cohirf.fitting.begin import measure_batches, valid_weights
from cohirf.fitting.settings import Settings
from cohirf.landmarks import MAX_LANDMARKS
from cohirf.rows.grouping import IntArray, Mass
from cohirf.scratch import ScratchStorage
from cohirf.summary.model import Model, base_method_of, set_state, state_of
from cohirf.summary.summary import KEPT_ROWS, ContractedBatches, RowGroups, Summary
from cohirf.updating.arrivals import number_arrivals
from cohirf.updating.blocks import add_rows
from cohirf.updating.rerun import Kind, Transition, known_landmarks, rerun

# ---- fits


def summarize_fit(data: Data, fitted: FinishedFit) -> Summary | None:
    """Return what a fit that has not kept its rows keeps for updates: groups of its first level.

    Returns None for a method that does not take the number of clusters: it would need the rows.
    """
    if not fitted.takes_k:
        return None
    first: Any = fitted.first_level.leaves
    numbers = np.arange(len(first.rows))
    if first.values is None:
        values = data.take(first.rows)
    else:
        values = first.values.take(numbers)
    if isinstance(values, np.memmap):  # what grows with the data is on disk
        first = replace(first, means=ScratchStorage().store(first.means))
    empty = Summary.empty(fitted.settled.entropy, fitted.settled.batch_size, values[:0])
    return replace(
        empty.fitted(data.rows.n_rows, fitted.attributes["n_clusters_"]),
        groups=RowGroups.of_survivors(first, values, 0),
        row_map=fitted.attributes["_rows"].row_map,
        batches=ContractedBatches(first.batch_sizes, first.batch_costs, fitted.tally),
        labels=fitted.leaf_labels.astype(np.int64),
    )


# ---- new rows


def update_model(model: Model, data: Data, sample_weight: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model after an update with the rows of the data."""
    weights = load_weights(model, data, sample_weight)
    is_first = not hasattr(model, "n_clusters_")
    if is_first:
        before = begin_summary(model, data, sample_weight)
    else:
        before = summary_of(model)
    kind = Kind.of(model, before.batch_size)
    n_new = data.rows.n_rows
    if goes_on(model, before):
        numbers = number_arrivals(model, before, data, weights)
    else:
        numbers = None
    now: IntArray = np.arange(before.n_rows)
    if before.keeps_all and kind.keeps_all(before.n_rows + n_new):
        labels = np.full(n_new, -1) if numbers is None else numbers
        after = before.with_rows(data.take(np.arange(n_new)), weights, labels)
    elif kind.takes_k:
        if is_first:  # what the first rows say holds for all
            set_state(model, column_means=data.column_means)
        else:
            rows, landmarks = known_landmarks(model)
            set_state(model, landmark_rows=rows, landmarks=landmarks)
        if type(data) is InMemory:
            data = replace(data, column_means=state_of(model).column_means)
        after, now = add_rows(model, before, data, weights, kind.block_size, numbers)
    else:
        refuse_rows(model, before.n_rows + n_new)
    after = replace(after, update_rows=(*before.update_rows, n_new))
    return rerun(
        model,
        Transition(after, before.labels, now, before.sizes, n_new, goes_on=numbers is not None),
    )


def begin_summary(model: Model, data: Data, sample_weight: Any) -> Summary:
    """Return the summary of a model that has seen no rows.

    The batch size may be measured on the first ones.

    Few rows would fit into a batch that is too small for those that come later. Then blocks have
    their default size.
    """
    entropy = root_entropy(model.random_state)
    settings = Settings.of(model)
    if isinstance(model.batch_size, str) and data.rows.n_rows <= MAX_LANDMARKS:
        return Summary.empty(entropy, None, data.take(np.arange(0)))
    if sample_weight is None:
        weights = None
    else:
        weights = valid_weights(settings, data, sample_weight)
    batch_size = measure_batches(settings, data, entropy, weights).batch_size
    return Summary.empty(entropy, batch_size, data.take(np.arange(0)))


def load_weights(model: Model, data: Data, sample_weight: Any) -> Mass | None:
    """Return the weights of the rows of an update; None without weights."""
    if sample_weight is None:
        return None
    return valid_weights(Settings.of(model), data, sample_weight).take(np.arange(data.rows.n_rows))


def goes_on(model: Model, before: Summary) -> bool:
    """Return whether the clusters of a model go on in an update, whatever the levels find.

    Those of a density-based method without ``n_clusters``, and of the paper's algorithm, are what
    the levels find.
    """
    clusters_last = Settings.of(model).family.clusters_last
    return before.is_settled and model.n_clusters_ > 0 and clusters_last


def find_anew(model: Model) -> dict[str, Any]:
    """Return the fitted attributes of a model after its clusters were found anew, and their number
    chosen.
    """
    before = summary_of(model)
    everything = np.arange(len(before.labels))
    return rerun(
        model, Transition(before, before.labels, everything, before.sizes, 0, verb="recluster")
    )


def refuse_rows(model: Model, n_rows: int) -> NoReturn:
    """Raise, because a method that depends on the density of rows would have to keep too many of
    them.
    """
    raise ValueError(
        f"The model would have {n_rows:,} rows, but updates of "
        f"{type(base_method_of(model)).__name__}, which finds the number of clusters by the "
        f"density of rows, keep all rows, and at most {KEPT_ROWS:,}: fit a new model to all rows, "
        "or use a method that takes the number of clusters."
    )


def summary_of(model: Model) -> Summary:
    """Return the summary of a fitted model.

    Raise if the fit has not kept the rows that an update needs.
    """
    summary: Summary | None = state_of(model).summary
    if summary is None:
        raise ValueError(
            f"This model cannot be updated: {type(base_method_of(model)).__name__} finds the "
            "number of clusters by the density of rows, and a fit keeps these only of arrays with "
            f"at most {KEPT_ROWS:,} rows. Fit a new model to all rows."
        )
    return summary
