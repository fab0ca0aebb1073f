"""Figures that membership and outlier scores need: computed from the landmarks at the first call,
and cached.

The cache is dropped when the model is fitted again or updated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.degrees.membership import Membership
from cohirf.degrees.outliers import OutlierScores
from cohirf.engines.dask import dask_array, is_dask
from cohirf.landmarks import Landmarks
from cohirf.optional import is_installed
from cohirf.rows.arrays import to_host
from cohirf.rows.grouping import FloatArray, IntArray, count_with_noise
from cohirf.spanning.settings import SpanningSettings, settings_of
from cohirf.summary.model import Model, base_method_of, state_of
from cohirf.summary.numbers import positions_of


@dataclass(frozen=True, eq=False)
class Degrees:
    """Landmarks of a model, and the numbers of rows that they stand for."""

    landmarks: Landmarks
    numbers: IntArray  # of the clusters in the labels of the landmarks
    n_noise: int  # rows of the model that are noise
    masses: FloatArray  # number of rows of each cluster
    settings: SpanningSettings | None  # of HDBSCAN, if that is the base method

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

    @cached_property
    def density(self) -> Any:
        """The condensed tree of the landmarks, with their labels.

        None if these are not those of HDBSCAN.
        """
        from cohirf.spanning.density_model import DensityModel  # needs numba

        assert self.settings is not None
        # several batches break ties otherwise
        for settings in (
            self.settings,
            replace(self.settings, as_sklearn=False),
        ):
            found = DensityModel.of(self.landmarks.points, settings).with_labels(
                self.landmarks.labels
            )
            if found is not None or not self.settings.as_sklearn:
                return found
        return None

    @property
    def weights(self) -> FloatArray:
        """Number of rows that each landmark stands for."""
        counts = np.bincount(self.clusters + 1, minlength=len(self.masses) + 1)
        rows = np.append(self.n_noise, self.masses)
        return np.asarray((rows / np.maximum(counts, 1))[self.clusters + 1])


def degrees_of(model: Model) -> Degrees:
    """Return the degrees of a fitted model."""
    kept: Degrees | None = vars(model).get("_degrees")
    landmarks = state_of(model).landmarks.in_space
    if kept is None or kept.landmarks is not landmarks:  # an update gives a model other landmarks
        sizes = count_cluster_rows(model)
        masses = sizes[1:].astype(np.float64)
        settings = settings_of(base_method_of(model))
        kept = Degrees(landmarks, model.cluster_numbers_, int(sizes[0]), masses, settings)
        vars(model)["_degrees"] = kept
    return kept


def count_cluster_rows(model: Model) -> IntArray:
    """Return the number of rows of a model that are noise, and then of each cluster."""
    summary = state_of(model).summary
    numbers = model.cluster_numbers_
    if summary is not None:
        positions = positions_of(summary.labels, numbers)
        return np.bincount(positions + 1, weights=summary.sizes, minlength=len(numbers) + 1).astype(
            np.int64
        )
    if is_dask(model.labels_):
        return np.asarray(dask_array().bincount(model.labels_ + 1, minlength=len(numbers) + 1))
    return count_with_noise(positions_of(to_host(model.labels_), numbers), len(numbers))


def score_own_rows(model: Model) -> FloatArray:
    """Return the outlier score of each row of the model, which must have kept them all."""
    n_kept, n_rows = count_kept(model)
    if n_kept < n_rows:
        raise AttributeError(
            f"outlier_scores_ needs all rows, but the model has kept {n_kept:,} of {n_rows:,}: "
            "call score_outliers(X)."
        )
    return degrees_of(model).outliers.of_landmarks


def count_kept(model: Model) -> tuple[int, int]:
    """Return the number of rows that a model has kept, and of all."""
    state = state_of(model)
    summary = state.summary
    n_kept = len(state.landmark_rows)
    if summary is None:
        return n_kept, len(model.labels_)
    return n_kept - int(np.isin(state.landmark_rows, summary.unknown_rows).sum()), summary.n_rows


def density_of(model: Model) -> Any:
    """Return the condensed tree of a model around HDBSCAN that has kept all rows.

    None for other models.

    Models with random batches, and those that end with the levels, predict as the paper's do.
    """
    settings = settings_of(base_method_of(model))
    if (
        settings is None
        or model.n_clusters is not None
        or model.batches == "random"
        or not is_installed("numba")
    ):
        return None
    n_kept, n_rows = count_kept(model)
    landmarks = state_of(model).landmarks
    if n_kept < n_rows or landmarks.metric != "euclidean" or sparse.issparse(landmarks.points):
        return None
    return degrees_of(model).density
