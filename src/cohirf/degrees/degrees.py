"""What a model knows of degrees: learned from its landmarks when it is first asked for, and kept until it changes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import to_host
from cohirf.algorithm.grouping import IntArray, count_with_noise
from cohirf.data.dask_arrays import is_dask
from cohirf.degrees.membership import Membership
from cohirf.degrees.outliers import OutlierScores
from cohirf.engines.dask import dask_array
from cohirf.neighbours.landmarks import Landmarks
from cohirf.summary.numbers import positions_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Degrees:
    """Landmarks of a model, and the numbers of rows that they stand for."""

    landmarks: Landmarks
    numbers: IntArray  # of the clusters in the labels of the landmarks
    n_noise: int  # rows of the model that are noise
    masses: Floats  # number of rows of each cluster

    @cached_property
    def clusters(self) -> IntArray:
        """Cluster of each landmark, as a position from 0; -1 is noise."""
        return np.asarray(positions_of(self.landmarks.labels, self.numbers))

    @cached_property
    def membership(self) -> Membership:
        """Degrees of membership of rows; there must be a cluster."""
        return Membership.of(self.landmarks, self.numbers, self.masses)

    @cached_property
    def outliers(self) -> OutlierScores:
        """Outlier scores of rows."""
        return OutlierScores.of(self.landmarks.search, self.clusters, self.masses)

    @property
    def weights(self) -> Floats:
        """Number of rows that each landmark stands for."""
        counts = np.bincount(self.clusters + 1, minlength=len(self.masses) + 1)
        rows = np.append(self.n_noise, self.masses)
        return np.asarray((rows / np.maximum(counts, 1))[self.clusters + 1])


def degrees_of(model: Any) -> Degrees:
    """Return the degrees of a fitted model."""
    kept: Degrees | None = vars(model).get("_degrees")
    landmarks = model._landmarks.in_space
    if kept is None or kept.landmarks is not landmarks:  # an update gives a model other landmarks
        sizes = count_rows(model)
        kept = Degrees(landmarks, model.cluster_numbers_, int(sizes[0]), sizes[1:].astype(np.float64))
        model._degrees = kept
    return kept


def count_rows(model: Any) -> IntArray:
    """Return the number of rows of a model that are noise, and then of each cluster."""
    summary, numbers = model._summary, model.cluster_numbers_
    if summary is not None:
        positions = positions_of(summary.labels, numbers)
        return np.bincount(positions + 1, weights=summary.sizes, minlength=len(numbers) + 1).astype(np.int64)
    if is_dask(model.labels_):
        return np.asarray(dask_array().bincount(model.labels_ + 1, minlength=len(numbers) + 1))
    return count_with_noise(positions_of(to_host(model.labels_), numbers), len(numbers))


def score_own_rows(model: Any) -> Floats:
    """Return the outlier score of each row of the model, which must have kept them all."""
    summary, n_kept = model._summary, len(model._landmark_rows)
    n_rows = len(model.labels_) if summary is None else summary.n_rows
    if summary is not None:
        n_kept -= np.isin(model._landmark_rows, summary.unknown_rows).sum()
    if n_kept < n_rows:
        raise AttributeError(
            f"outlier_scores_ needs all rows, but the model has kept {n_kept:,} of {n_rows:,}: call score_outliers(X)."
        )
    return degrees_of(model).outliers.of_landmarks
