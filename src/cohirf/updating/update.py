"""Add new rows to a model, or find its clusters anew: from a state to the next one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from cohirf.algorithm.randomness import root_entropy
from cohirf.data import Data, InMemory
from cohirf.fitting.begin import measure_batches, valid_weights
from cohirf.fitting.settings import Settings
from cohirf.landmarks import LANDMARK
from cohirf.rows.grouping import IntArray, Mass
from cohirf.summary.policy import KEEP
from cohirf.summary.state import FittedState
from cohirf.summary.summary import Summary
from cohirf.updating.arrivals import number_arrivals
from cohirf.updating.blocks import add_rows
from cohirf.updating.rerun import Transition, find_block_size, rerun


def update(
    settings: Settings, state: FittedState | None, data: Data, sample_weight: Any
) -> FittedState:
    """Return the state after an update with the rows of the data; the first one has no state."""
    weights = load_weights(settings, data, sample_weight)
    if state is None:
        before = begin_summary(settings, data, sample_weight)
        column_means = data.column_means  # what the first rows say holds for all
    else:
        before = summary_of(settings, state)
        column_means = state.column_means
    block_size = find_block_size(before.batch_size)
    n_new = data.rows.n_rows
    numbers = None
    if state is not None and goes_on(settings, state):
        numbers = number_arrivals(state, before, data, weights)
    now: IntArray = np.arange(before.n_rows)
    if before.keeps_all and settings.family.keeps_rows(before.n_rows + n_new, block_size):
        labels = np.full(n_new, -1) if numbers is None else numbers
        after = before.with_rows(data.take(np.arange(n_new)), weights, labels)
    elif settings.family.contracts_updates:
        if type(data) is InMemory:
            data = replace(data, column_means=column_means)
        after, now = add_rows(settings, before, data, weights, block_size, numbers, column_means)
    else:
        refuse_rows(settings, before.n_rows + n_new)
    transition = Transition(
        replace(after, update_rows=(*before.update_rows, n_new)),
        before.labels,
        now,
        before.sizes,
        n_new,
        known=None if state is None else state.known_rows,
        column_means=column_means,
        goes_on=numbers is not None,
    )
    return rerun(settings, state, transition)


def recluster(settings: Settings, state: FittedState) -> FittedState:
    """Return the state after the clusters were found anew, and their number chosen."""
    before = summary_of(settings, state)
    transition = Transition(
        before,
        before.labels,
        np.arange(len(before.labels)),
        before.sizes,
        0,
        known=state.known_rows,
        column_means=state.column_means,
        verb="recluster",
    )
    return rerun(settings, state, transition)


def begin_summary(settings: Settings, data: Data, sample_weight: Any) -> Summary:
    """Return the summary of a model that has seen no rows.

    The batch size may be measured on the first ones.

    Few rows would fit into a batch that is too small for those that come later. Then blocks have
    their default size.
    """
    entropy = root_entropy(settings.random_state)
    if isinstance(settings.batch_size, str) and data.rows.n_rows <= LANDMARK.landmarks:
        return Summary.empty(entropy, None, data.take(np.arange(0)))
    if sample_weight is None:
        weights = None
    else:
        weights = valid_weights(settings, data, sample_weight)
    batch_size = measure_batches(settings, data, entropy, weights).batch_size
    return Summary.empty(entropy, batch_size, data.take(np.arange(0)))


def load_weights(settings: Settings, data: Data, sample_weight: Any) -> Mass | None:
    """Return the weights of the rows of an update; None without weights."""
    if sample_weight is None:
        return None
    return valid_weights(settings, data, sample_weight).take(np.arange(data.rows.n_rows))


def goes_on(settings: Settings, state: FittedState) -> bool:
    """Return whether the clusters of a model go on in an update, whatever the levels find.

    Those of a density-based method without ``n_clusters``, and of the paper's algorithm, are what
    the levels find.
    """
    return (
        summary_of(settings, state).is_settled
        and state.n_clusters > 0
        and settings.family.clusters_last
    )


def refuse_rows(settings: Settings, n_rows: int) -> NoReturn:
    """Raise, because a method that depends on the density of rows would have to keep too many of
    them.
    """
    raise ValueError(
        f"The model would have {n_rows:,} rows, but updates of {settings.base_name}, which finds "
        f"the number of clusters by the density of rows, keep all rows, and at most {KEEP.rows:,}: "
        "fit a new model to all rows, or use a method that takes the number of clusters."
    )


def summary_of(settings: Settings, state: FittedState) -> Summary:
    """Return the summary of a state.

    Raise if the fit has not kept the rows that an update needs.
    """
    summary = state.summary.value
    if summary is None:
        raise ValueError(
            f"This model cannot be updated: {settings.base_name} finds the number of clusters by "
            "the density of rows, and a fit keeps these only of arrays with at most "
            f"{KEEP.rows:,} rows. Fit a new model to all rows."
        )
    return summary
