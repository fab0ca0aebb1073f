"""Check what a plot is asked to show: a fitted model or a hierarchy."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.problems import ways_to_less_noise
from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy
from cohirf.hierarchy.outline import final_labels
from cohirf.summary.numbers import cluster_positions


@dataclass(frozen=True)
class Subject:
    """A hierarchy, and the final cluster of each of its leaves: -1 for noise."""

    hierarchy: FusionHierarchy
    labels: IntArray


def find_subject(given: Any) -> Subject:
    """Return the hierarchy of ``given``, a fitted model or a hierarchy, with its final clusters."""
    if isinstance(given, FusionHierarchy):
        return Subject(given, final_labels(given))
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return Subject(given.hierarchy_, cluster_positions(given))
    raise TypeError(f"{_describe(given)} cannot be plotted: pass a fitted CoHiRF or a FusionHierarchy.")


def check_model(given: Any) -> CoHiRF:
    """Return ``given`` if it is a fitted model."""
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return given
    raise TypeError(f"{_describe(given)} cannot be plotted: pass a fitted CoHiRF.")


def refuse_no_clusters(model: CoHiRF) -> None:
    """Raise if a model has no clusters, and say what to change."""
    if model.n_clusters_ == 0:
        raise ValueError(
            f"The model has no clusters to plot: every row is noise. To find some, {ways_to_less_noise(model)}."
        )


def check_image_shape(shape: tuple[int, ...], n_features: int) -> None:
    """Raise unless ``shape`` is that of a grey image or a three-colour image with ``n_features`` values."""
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3) or np.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} does not fit {n_features} features: pass (height, width) or (height, width, 3) "
            f"whose product is {n_features}."
        )


def _describe(given: Any) -> str:
    return f"{' '.join(reprlib.repr(given).split())} of type {type(given).__name__}"
