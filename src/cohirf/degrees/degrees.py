"""Figures that membership and outlier scores need: learned from the landmarks at the first call."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from cohirf.degrees.membership import Membership
from cohirf.degrees.outliers import OutlierScores
from cohirf.landmarks import Landmarks
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.spanning.settings import SpanningSettings
from cohirf.summary.numbers import positions_of


@dataclass(frozen=True, eq=False)
class Degrees:
    """Landmarks of a model, and the numbers of rows that they stand for."""

    landmarks: Landmarks
    numbers: IntArray  # of the clusters in the labels of the landmarks
    n_noise: int  # rows of the model that are noise
    masses: FloatArray  # number of rows of each cluster
    # the condensed trees of ``density``
    _densities: dict[SpanningSettings, Any] = field(default_factory=dict)

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

    def density(self, settings: SpanningSettings) -> Any:
        """Return the condensed tree of the landmarks, with their labels.

        None if these are not those of HDBSCAN with the settings.
        """
        if settings not in self._densities:
            self._densities[settings] = self._condense(settings)
        return self._densities[settings]

    def _condense(self, settings: SpanningSettings) -> Any:
        from cohirf.spanning.density_model import DensityModel  # needs numba

        ways = [settings]
        if settings.as_sklearn:  # several batches break ties otherwise
            ways.append(replace(settings, as_sklearn=False))
        for way in ways:
            found = DensityModel.of(self.landmarks.points, way).with_labels(self.landmarks.labels)
            if found is not None:
                return found
        return None

    @property
    def weights(self) -> FloatArray:
        """Number of rows that each landmark stands for."""
        counts = np.bincount(self.clusters + 1, minlength=len(self.masses) + 1)
        rows = np.append(self.n_noise, self.masses)
        return np.asarray((rows / np.maximum(counts, 1))[self.clusters + 1])
