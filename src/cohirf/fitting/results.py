"""From the last level of a fit to its fitted attributes: labels, medoids, landmarks, hierarchy."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.first_level import FirstLevel, label_leaves
from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.storage import ArrayRows, take_in_order
from cohirf.data import Data
from cohirf.data.data import DataWeights
from cohirf.fitting.ending import Ending, smallest_size
from cohirf.fitting.exemplars import FilledRows, find_exemplars
from cohirf.hierarchy import FusionHierarchy
from cohirf.landmarks import Landmarks, sample_landmarks


def collect_results(
    model: Any,
    data: Data,
    weights: DataWeights | None,
    first_level: FirstLevel,
    ending: Ending,
    contraction: Contraction,
) -> tuple[dict[str, Any], IntArray]:
    """Return the fitted attributes that follow from the last level, and the number of rows of each cluster."""
    state, leaves = ending.state, first_level.leaves
    values = state.active.values
    total = float(leaves.sizes.sum() if leaves.weights is None else leaves.weights.sum())
    label = partial(
        label_leaves,
        state,
        leaves,
        ending.is_noise,
        smallest_size(model, total),
        index_dtype(data.rows.n_rows),
    )
    labels, medoids = label()
    positive = None if weights is None else weights.positive
    rng = generator_at(contraction.views.entropy, Draw.LANDMARKS)
    if first_level.readable is None:
        leaf_of_landmark = sample_landmarks(labels, medoids, rng)
        landmark_rows, points = leaves.rows[leaf_of_landmark], take_in_order(values, leaf_of_landmark)
    else:
        of_rows = first_level.label(labels)
        landmark_rows = sample_landmarks(of_rows, leaves.rows[medoids], rng, candidates=positive)
        leaf_of_landmark, points = first_level.find_leaves(landmark_rows), first_level.readable.take(landmark_rows)
    points = fill_missing(points, data.column_means)
    if positive is not None:
        _join_left_out(data, positive, first_level, Landmarks(points, leaf_of_landmark))
        labels, medoids = label()
    means = ending.means[np.searchsorted(ending.medoids, medoids)]
    by_row, tree = first_level.hand_down(state, labels)
    if first_level.readable is None:
        nearest = find_exemplars(ArrayRows(points), labels[leaf_of_landmark], means)
        exemplars, exemplar_values = landmark_rows[nearest], points[nearest]
    else:
        exemplars = _find_exemplars_among_rows(data, positive, first_level, labels, means)
        exemplar_values = data.take(exemplars)
    elsewhere = {} if isinstance(by_row.labels, np.ndarray) else {"_absorbed_at": by_row.absorbed_at}
    attributes = elsewhere | {
        "labels_": by_row.labels,
        "parents_": by_row.parents,
        "stability_": by_row.stability,
        "n_clusters_": len(medoids),
        "exemplar_indices_": exemplars.astype(np.int64),
        "exemplars_": exemplar_values,
        "medoid_indices_": leaves.rows[medoids].astype(np.int64),
        "medoids_": take_in_order(values, medoids),
        "hierarchy_": FusionHierarchy.of_fit(
            tree.parents,
            tree.absorbed_at,
            tree.n_levels,
            tree.rows,
            tree.row_sizes,
            replace(ending.tree, medoids=leaves.rows[ending.tree.medoids], level=ending.tree.level - tree.level_0),
        ),
        "choice_": ending.choice,
        "_landmarks": Landmarks(points, labels[leaf_of_landmark]),
        "_landmark_rows": landmark_rows,
    }
    clustered = labels >= 0
    sizes = np.bincount(labels[clustered], weights=leaves.sizes[clustered], minlength=len(medoids))
    return attributes, sizes.astype(np.int64)


def spread_out(of_relevant: NDArray[np.float64], relevant: IntArray | None, n_features: int) -> NDArray[np.float64]:
    """Return the values of the relevant features at their indices, with NaN for all other features."""
    if relevant is None:
        return of_relevant
    of_all = np.full(n_features, np.nan)
    of_all[relevant] = of_relevant
    return of_all


def _find_exemplars_among_rows(
    data: Data, positive: IntArray | None, first_level: FirstLevel, labels: IntArray, means: Any
) -> IntArray:
    """Return the exemplars of clusters among all rows that took part in the fit; those of weight 0 did not."""
    assert first_level.readable is not None
    of_rows = first_level.label(labels)
    if positive is not None:
        of_rows = np.where(np.isin(np.arange(len(of_rows)), positive, assume_unique=True), of_rows, -1)
    return find_exemplars(FilledRows(first_level.readable, data.column_means), of_rows, means)


def _join_left_out(data: Data, positive: IntArray, first_level: Any, landmarks: Landmarks) -> None:
    """Let each row of weight 0 join the leaf of its nearest landmark, which is the landmark's label."""
    left_out = np.setdiff1d(np.arange(data.rows.n_rows), positive, assume_unique=True)
    for block in row_blocks(len(left_out)):
        rows = left_out[block]
        first_level.join(rows, landmarks.label(fill_missing(data.rows.take(rows), data.column_means)))
