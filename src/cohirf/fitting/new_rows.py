"""Label and measure new rows with a fitted model. These functions are sent to the workers of a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import is_here
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.faint_values import measure_distances
from cohirf.algorithm.nearest_rows import measure_to
from cohirf.neighbours.landmarks import Landmarks

Means = NDArray[np.floating[Any]] | None


def label_new_rows(X: Any, landmarks: Landmarks, column_means: Means) -> Any:
    """Return the label of each row's cell, or of the landmark nearest to it, where the rows are.

    Rows on a device have no missing cells.
    """
    if not is_here(X):
        return landmarks.label(X)
    return landmarks.label(fill_missing(X, column_means))


def measure_new_rows(X: Any, medoids: Any, column_means: Means) -> Any:
    """Return the Euclidean distance of each row to each medoid."""
    if is_here(X) and medoids.shape[0] == 0:
        return np.empty((X.shape[0], 0), dtype=X.dtype)
    medoids = fill_missing(medoids, column_means)
    if not is_here(X):
        return measure_to(X, medoids)
    return measure_distances(fill_missing(X, column_means), medoids)
