"""Updates of methods that find the number of clusters themselves: all rows are kept, and an update is a fit to them.

Such methods depend on the density of rows, which groups of rows do not have. The same holds for methods that are told
the number of clusters, while there are few rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cohirf import validation
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray
from cohirf.data import Data, InMemory
from cohirf.fitting import fit_data
from cohirf.summary.leaves import stack
from cohirf.summary.model import Model, set_state
from cohirf.summary.summary import Pending, Summary
from cohirf.updating.settings import settled_of, stack_weights


def add_all(summary: Summary, data: Data, weights: Mass | None) -> Summary:
    """Return the summary with all rows of the data pending."""
    n_new, pending = data.rows.n_rows, summary.pending
    new = data.take(np.arange(n_new))
    values = new if pending.values is None else stack([pending.values, new])
    joined = Pending(values, stack_weights(pending.weights, pending.n_rows, weights, n_new))
    return replace(summary, pending=joined)


def fit_pending(model: Model, summary: Summary, former: IntArray | None) -> dict[str, Any]:
    """Fit a model to its pending rows, which are all its rows, and return its attributes.

    Clusters of rows from before, the ``former`` ones, go on.
    """
    data = open_values(model, summary.pending.values)
    set_state(model, column_means=data.column_means)
    found = fit_data(model, data, summary.pending.weights, settled_of(summary), former).attributes
    return dict(found) if former is None else {**found, "choice_": model.choice_}


def open_values(model: Model, values: Any) -> InMemory:
    """Return values as the data of a fit."""
    data = InMemory(values, None)
    fills = isinstance(values, np.ndarray) and validation.take_nan(model)
    return replace(data, column_means=validation.column_means(values)) if fills else data
