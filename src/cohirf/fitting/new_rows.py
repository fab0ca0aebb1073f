"""Label and measure new rows with a fitted model. These functions are sent to the workers of a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import is_here
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.faint_values import measure_distances
from cohirf.algorithm.features import take_features
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.nearest_rows import measure_to
from cohirf.landmarks import Landmarks

Means = NDArray[np.floating[Any]] | None


def label_new_rows(X: Any, landmarks: Landmarks, relevant: IntArray | None, column_means: Means) -> Any:
    """Return the label of each row's cell, or of the landmark nearest to it, where the rows are.

    Rows on a device have no missing cells.
    """
    if not is_here(X):
        return landmarks.label(select_relevant(X, relevant))
    return landmarks.label(select_relevant(fill_missing(X, column_means), relevant))


def measure_new_rows(X: Any, medoids: Any, relevant: IntArray | None, column_means: Means) -> Any:
    """Return the Euclidean distance of each row to each medoid, on the relevant features."""
    if is_here(X) and medoids.shape[0] == 0:
        return np.empty((X.shape[0], 0), dtype=X.dtype)
    medoids = select_relevant(fill_missing(medoids, column_means), relevant)
    if not is_here(X):
        return measure_to(select_relevant(X, relevant), medoids)
    return measure_distances(select_relevant(fill_missing(X, column_means), relevant), medoids)


def select_relevant(X: Any, relevant: IntArray | None) -> Any:
    """Return the columns of the relevant features; None means all."""
    return X if relevant is None else take_features(X, relevant)
