"""Run the upper levels of a model again, on its leaves and pending rows: from a summary to fitted attributes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.feature_tally import FeatureTally
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.repeated_warnings import showing_warnings_once
from cohirf.data import InMemory
from cohirf.data.first_level import FirstLevel
from cohirf.engines.local import one_thread
from cohirf.fitting import Fit
from cohirf.fitting.begin import watch_engine
from cohirf.fitting.contraction import Settled, make_contraction
from cohirf.fitting.results import Clusters, KeptRows, describe_clusters
from cohirf.neighbours.landmarks import Landmarks, sample_landmarks
from cohirf.summary.leaves import Leaves, stack
from cohirf.summary.model import Model, state_of
from cohirf.summary.row_results import RowResults
from cohirf.summary.summary import Summary

NEXT_TO_NOTHING = 1e-9  # weight of a pending row of weight 0, as a share of the smallest weight


@dataclass(frozen=True)
class Climbed:
    """What the upper levels found: fitted attributes, and the label of each leaf and pending row."""

    attributes: dict[str, Any]
    labels: IntArray


def climb(model: Model, summary: Summary, size: int, former: IntArray | None) -> Climbed:
    """Run the upper levels on the leaves and pending rows of a summary, in batches of about a size.

    Clusters of these from before, the ``former`` ones, go on.
    """
    with ExitStack() as stack_:
        stack_.enter_context(one_thread())
        stack_.enter_context(showing_warnings_once())
        groups = all_groups(model, summary)
        data = InMemory(groups.values, state_of(model).column_means)
        weighted = groups.weights is not None or model.medoid_weights
        settled = Settled(summary.entropy, size)
        n_batches = len(summary.batches.sizes) + 1
        contraction = make_contraction(model, data, settled, weighted=weighted, n_batches=n_batches)
        tally = FeatureTally(contraction.views, data.n_features)
        tally.add_sums(summary.batches.tally)
        mass = upper_mass(groups, sum_mass=model.medoid_weights) if weighted else None
        leaves = groups.as_survivors(data.rows, mass, summary.batches.sizes, summary.batches.costs)
        first_level = FirstLevel.of_groups(leaves)
        fit = Fit(model, data, None, summary.n_rows, contraction, watch_engine(model), tally)
        state, records = fit.climb(first_level, None, stays=former is not None)
        ending = fit.end(first_level, state, former)
        clusters = Clusters.of(model, data, first_level, ending)
        fit.warn_of_problem(clusters.sizes)
        kept = keep_rows(model, summary, data, clusters)
        attributes = {
            **describe_clusters(data, None, clusters, ending, kept),
            "choice_": ending.choice if former is None else model.choice_,
            "_landmarks": Landmarks(kept.points, clusters.labels[kept.leaves], metric=fit.contraction.space.name),
            "_landmark_rows": kept.rows,
            "diagnostics_": records,
            "n_iter_": state.level,
            "batch_size_": summary.batch_size,
            "feature_agreement_": tally.mean(),
            "_rows": RowResults.of(
                summary.full_map, summary.rows, clusters.labels, summary.sizes, ending.state.fusions, ending.tree
            ),
        }
        return Climbed(attributes, clusters.labels)


def all_groups(model: Model, summary: Summary) -> Leaves:
    """Return the leaves of a summary, and each pending row as a group of its own."""
    pending = summary.pending
    parts = [] if summary.leaves is None else [summary.leaves]
    if pending.n_rows:
        means = fill_missing(pending.values, state_of(model).column_means).astype(np.float64)
        weights = pending.weights
        if weights is not None and (weights == 0).any():  # these join other groups, and count next to nothing there
            weights = np.where(weights == 0, NEXT_TO_NOTHING * weights[weights > 0].min(initial=1.0), weights)
        parts.append(Leaves.of_rows(summary.row_map.n_rows, pending.values, means, weights))
    return Leaves.join(parts)


def upper_mass(groups: Leaves, *, sum_mass: bool) -> Mass:
    """Return the mass of groups in the upper levels: their total weight or, without ``sum_mass``, 1 for each medoid.

    Rows that the first level has not clustered are not medoids, and keep their weight.
    """
    return groups.mass if sum_mass else np.where(np.isnan(groups.stability), groups.mass, 1.0)


def keep_rows(model: Model, summary: Summary, data: InMemory, clusters: Clusters) -> KeptRows:
    """Choose rows to keep for ``predict``: among the leaves, the pending rows and the rows that were kept before."""
    own = clusters.first_level.leaves.rows
    rows, leaves = own, np.arange(len(own))
    points = fill_missing(data.X, data.column_means)
    before = getattr(model, "_landmark_rows", np.empty(0, dtype=np.int64))
    is_new = ~np.isin(before, own)
    if is_new.any():
        rows = np.concatenate([own, before[is_new]])
        leaves = np.concatenate([leaves, find_groups(summary, before[is_new])])
        points = stack([points, state_of(model).landmarks.points[is_new]])
    order = np.argsort(rows)
    medoids = np.searchsorted(rows[order], own[clusters.medoids])
    rng = generator_at(summary.entropy, Draw.LANDMARKS)
    some = order[sample_landmarks(clusters.labels[leaves[order]], medoids, rng)]
    return KeptRows(rows[some], leaves[some], points[some])


def find_groups(summary: Summary, rows: IntArray) -> IntArray:
    """Return the position of each row's leaf; for a pending row, its own position, which is behind all leaves."""
    n_contracted = summary.row_map.n_rows
    cut = int(np.searchsorted(rows, n_contracted))
    return np.concatenate([summary.row_map.find_leaves(rows[:cut]), rows[cut:] - n_contracted + summary.n_leaves])
