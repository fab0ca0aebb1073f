"""The rows that a diagnosis is based on: a sample of the data or, without it, of the landmarks that the fit stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.features import take_features
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.diagnosis.reading import read_rows

SEED = 0  # the same rows each time
MAX_ROWS = 2000  # all pairwise distances of the sample are computed


@dataclass(frozen=True)
class DiagnosisSample:
    """A sample of the rows of a fit: their numbers, and the features that the model uses for distances."""

    rows: IntArray
    features: Any


def draw_sample(model: Any, data: Any = None) -> DiagnosisSample:
    """Sample rows from the data of a fit or, if ``data`` is None, from the landmarks of the model."""
    rng = np.random.default_rng(SEED)
    if data is not None:
        n_rows = len(model.labels_)
        rows = np.sort(rng.choice(n_rows, min(n_rows, MAX_ROWS), replace=False))
        return DiagnosisSample(rows, relevant_part(model, read_rows(data, rows)))
    drawn = _draw_landmarks(model, rng)
    return DiagnosisSample(model._landmark_rows[drawn], model._landmarks.points[drawn])


def relevant_part(model: Any, features: Any) -> Any:
    """Return the features that a model uses for distances: all, or those that its screen found relevant."""
    return features if model.relevant_features_ is None else take_features(features, model.relevant_features_)


def _draw_landmarks(model: Any, rng: np.random.Generator) -> IntArray:
    """Sample landmarks so that clusters have about the same shares as among all rows."""
    labels = model._landmarks.labels
    if len(labels) == len(model.labels_):
        return np.sort(rng.choice(len(labels), min(len(labels), MAX_ROWS), replace=False))
    n_groups = model.n_clusters_ + 1  # noise is the first one
    among_rows = np.zeros(n_groups)
    for block in row_blocks(len(model.labels_)):
        among_rows += np.bincount(model.labels_[block] + 1, minlength=n_groups)
    odds = (among_rows / np.maximum(np.bincount(labels + 1, minlength=n_groups), 1))[labels + 1]
    n_drawn = min(MAX_ROWS, (len(labels) + 1) // 2)  # at most half of them, so that the odds have an effect
    return np.sort(rng.choice(len(labels), n_drawn, replace=False, p=odds / odds.sum()))
