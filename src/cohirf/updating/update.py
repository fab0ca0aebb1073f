"""Update a model with new rows: from a model and opened data to fitted attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.data import Data, InMemory
from cohirf.fitting.goal import Goal
from cohirf.summary.model import Model, base_method_of, set_state, state_of
from cohirf.summary.summary import Summary
from cohirf.updating.arrivals import number_arrivals
from cohirf.updating.blocks import add_rows
from cohirf.updating.climb import find_groups
from cohirf.updating.keep_rows import add_all
from cohirf.updating.rerun import Transition, rerun
from cohirf.updating.settings import KEPT_ROWS, Kind, begin_summary, known_landmarks, load_weights


def update_model(model: Model, data: Data, sample_weight: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model after an update with the rows of the data."""
    before = summary_of(model) if hasattr(model, "n_clusters_") else begin_summary(model, data, sample_weight)
    weights = load_weights(model, data, sample_weight)
    kind = Kind.of(model, before.batch_size)
    n_new = data.rows.n_rows
    numbers = number_arrivals(model, before, data, weights) if goes_on(model, before) else None
    now: IntArray
    if before.leaves is None and kind.keeps_all(before.n_rows + n_new):
        after, now = add_all(before, data, weights), np.arange(before.n_rows)
        after = after if numbers is None else replace(after, labels=np.concatenate([before.labels, numbers]))
    elif kind.is_told:
        if before.n_rows:
            rows, landmarks = known_landmarks(model)
            set_state(model, landmark_rows=rows, landmarks=landmarks)
        if not hasattr(model, "n_clusters_"):  # what the first rows say holds for all
            set_state(model, column_means=data.column_means)
        if isinstance(data, InMemory):
            data = replace(data, column_means=state_of(model).column_means)
        after, now = add_rows(model, before, data, weights, kind.block_size, numbers)
        pending = np.arange(before.row_map.n_rows, before.n_rows)  # they keep their numbers, and may be contracted now
        now = np.concatenate([now, find_groups(after, pending)])
    else:
        refuse_rows(model, before.n_rows + n_new)
    after = replace(after, update_rows=(*before.update_rows, n_new))
    change = Transition(after, before.labels, now, before.sizes, n_new, goes_on=numbers is not None)
    return rerun(model, change)


def goes_on(model: Model, before: Summary) -> bool:
    """Return whether the clusters of a model go on in an update, whatever the levels find.

    Those of a density-based method without ``n_clusters``, and of the paper's algorithm, are what the levels find.
    """
    goal = Goal.of(model)
    return before.is_settled and model.n_clusters_ > 0 and (goal.n_clusters is not None or goal.is_chosen)


def find_anew(model: Model) -> dict[str, Any]:
    """Return the fitted attributes of a model after its clusters were found anew, and their number chosen."""
    before = summary_of(model)
    everything = np.arange(len(before.labels))
    return rerun(model, Transition(before, before.labels, everything, before.sizes, 0, verb="recluster"))


def refuse_rows(model: Model, n_rows: int) -> NoReturn:
    """Raise, because a method that depends on the density of rows would have to keep too many of them."""
    raise ValueError(
        f"The model would have {n_rows:,} rows, but updates of {type(base_method_of(model)).__name__}, which finds the "
        f"number of clusters by the density of rows, keep all rows, and at most {KEPT_ROWS:,}: fit a new model to all "
        f"rows, or use a method that is told the number of clusters."
    )


def summary_of(model: Model) -> Summary:
    """Return the summary of a fitted model; raise if it has none."""
    summary: Summary | None = state_of(model).summary
    if summary is None:
        refuse_update(model)
    return summary


def refuse_update(model: Model) -> NoReturn:
    """Raise, because a fit has not kept the rows that an update needs, or its file does not have them."""
    name = type(base_method_of(model)).__name__
    if Kind.of(model, None).is_told:
        raise ValueError(
            "This model cannot be updated: it was saved without what updates need, by an older version of cohirf. Fit "
            "it again."
        )
    raise ValueError(
        f"This model cannot be updated: {name} finds the number of clusters by the density of rows, and a fit keeps "
        f"these only of arrays with at most {KEPT_ROWS:,} rows. Fit a new model to all rows."
    )
