"""Which rows a model is judged by: a sample of its data or, without that, of the rows the fit has kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.get_clusters import take_features
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.diagnosis.reading import read_rows

SEED = 0  # a model is judged by the same rows each time
MAX_ROWS = 2000  # between which all distances are measured


@dataclass(frozen=True)
class Witnesses:
    """Some rows of the data of a fit: their numbers, and the features that the model measures distances on."""

    rows: IntArray
    features: Any


def draw_witnesses(model: Any, data: Any = None) -> Witnesses:
    """Draw rows from the data of a fit, or from the landmarks of the model."""
    rng = np.random.default_rng(SEED)
    if data is not None:
        n_rows = len(model.labels_)
        rows = np.sort(rng.choice(n_rows, min(n_rows, MAX_ROWS), replace=False))
        return Witnesses(rows, relevant_part(model, read_rows(data, rows)))
    drawn = _draw_landmarks(model, rng)
    return Witnesses(model._landmark_rows[drawn], model._landmarks.points[drawn])


def relevant_part(model: Any, features: Any) -> Any:
    """Return the features that a model measures distances on."""
    return features if model.relevant_features_ is None else take_features(features, model.relevant_features_)


def _draw_landmarks(model: Any, rng: np.random.Generator) -> IntArray:
    """Draw landmarks so that clusters have about the shares that they have among all rows."""
    labels = model._landmark_labels
    if len(labels) == len(model.labels_):
        return np.sort(rng.choice(len(labels), min(len(labels), MAX_ROWS), replace=False))
    n_groups = model.n_clusters_ + 1  # noise is the first one
    among_rows = np.zeros(n_groups)
    for block in row_blocks(len(model.labels_)):
        among_rows += np.bincount(model.labels_[block] + 1, minlength=n_groups)
    odds = (among_rows / np.maximum(np.bincount(labels + 1, minlength=n_groups), 1))[labels + 1]
    n_drawn = min(MAX_ROWS, (len(labels) + 1) // 2)  # some are left, so that odds make a difference
    return np.sort(rng.choice(len(labels), n_drawn, replace=False, p=odds / odds.sum()))
