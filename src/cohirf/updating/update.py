"""Update a model with new rows: from a model and opened data to fitted attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray
from cohirf.data import Data, InMemory
from cohirf.data.in_memory import ArrayWeights
from cohirf.fitting.begin import Screen
from cohirf.summary.numbers import Overlap
from cohirf.summary.summary import Summary
from cohirf.updating import blocks, keep_rows
from cohirf.updating.climb import climb, find_groups
from cohirf.updating.numbering import number_clusters
from cohirf.updating.settings import Kind, begin_summary, load_weights


def update_model(model: Any, data: Data, sample_weight: Any) -> dict[str, Any]:
    """Return the fitted attributes of a model after an update with the rows of the data."""
    before = vars(model).get("_summary")
    if before is None:
        if hasattr(model, "n_clusters_"):
            refuse_update(model)
        before = begin_summary(model, data, sample_weight)
    weights = load_weights(model, data, sample_weight)
    kind = Kind.of(model, before.batch_size)
    n_new = data.rows.n_rows
    before = replace(before, update_rows=(*before.update_rows, n_new))
    if before.leaves is None and kind.keeps_all(before.n_rows + n_new):
        return refit(model, before, keep_rows.add_all(before, data, weights))
    if not kind.is_told:
        return refit_sample(model, before, keep_rows.thin(model, before, data, weights, kind.max_kept))
    settle_features(model, data, weights, before)
    if isinstance(data, InMemory):
        data = replace(data, column_means=model._column_means)
    return finish(model, before, blocks.add_rows(model, before, data, weights, kind.block_size), kind.block_size)


def refuse_update(model: Any) -> None:
    """Raise, because a fit has not kept the rows that an update needs, or its file does not have them."""
    name = type(model._base_method()).__name__
    if Kind.of(model, None).is_told:
        raise ValueError(
            "This model cannot be updated: it was saved without what updates need, by an older version of cohirf. Fit "
            "it again."
        )
    raise ValueError(
        f"This model cannot be updated: {name} finds the number of clusters by the density of rows, and fit does not "
        f"keep so many rows. Fit a model with partial_fit from the beginning."
    )


def settle_features(model: Any, data: Data, weights: Mass | None, before: Summary) -> None:
    """Choose the relevant features and the means of columns on the first rows of a model; later they stay the same."""
    if not hasattr(model, "n_clusters_"):
        model._column_means = data.column_means
        Screen(model, data, None if weights is None else ArrayWeights(weights))(before.entropy)


def refit(model: Any, before: Summary, after: Summary) -> dict[str, Any]:
    """Return the attributes of a fit to all rows, which are pending."""
    fitted = keep_rows.fit_pending(model, after)
    attributes = fitted.attributes
    labels = np.asarray(attributes["labels_"])
    overlap = Overlap.of(before.labels, labels[: before.n_rows], before.sizes)
    return complete(attributes, before, after, labels, overlap)


def finish(model: Any, before: Summary, after: Summary, size: int) -> dict[str, Any]:
    """Return the attributes of a model whose rows are contracted or pending: run the upper levels."""
    climbed = climb(model, after, size)
    now = climbed.labels[find_now(before, after)]
    overlap = Overlap.of(before.labels, now, before.sizes)
    after = replace(after, results=climbed.results)
    attributes = climbed.attributes | {"_column_means": model._column_means}
    return complete(attributes, before, after, climbed.labels, overlap)


def refit_sample(model: Any, before: Summary, thinned: keep_rows.Thinned) -> dict[str, Any]:
    """Return the attributes of a fit to a sample of the rows, which stands for all rows."""
    attributes, labels, results = keep_rows.fit_sample(model, thinned.summary)
    overlap = Overlap.of(before.labels, labels[thinned.now], before.sizes)
    return complete(attributes, before, replace(thinned.summary, results=results), labels, overlap)


def find_now(before: Summary, after: Summary) -> IntArray:
    """Return the position, after rows were added, of each leaf and pending row from before.

    Leaves have kept their positions. Pending rows have kept their row numbers, and may have been contracted.
    """
    pending = np.arange(before.row_map.n_rows, before.n_rows)
    return np.concatenate([np.arange(before.n_leaves), find_groups(after, pending)])


def complete(
    attributes: dict[str, Any], before: Summary, after: Summary, labels: IntArray, overlap: Overlap
) -> dict[str, Any]:
    """Return the attributes with lasting numbers, what has changed, and the summary."""
    update = len(before.update_rows) - 1
    n_rows = after.n_rows - (before.row_map.n_rows + before.pending.n_rows)
    numbered = number_clusters(attributes, labels, after.sizes, overlap, before.next_number, update, n_rows)
    summary = replace(after, labels=numbered.labels, next_number=numbered.next_number, update_rows=before.update_rows)
    return {**attributes, "changes_": numbered.changes, "_summary": summary}
