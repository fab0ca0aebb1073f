"""What a picture is drawn of: a fitted model or a hierarchy, and what is refused."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cohirf.algorithm.grouping import IntArray
from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy


@dataclass(frozen=True)
class Subject:
    """A hierarchy, and the final cluster of each of its leaves: -1 for those that the model calls noise."""

    hierarchy: FusionHierarchy
    labels: IntArray


def find_subject(given: Any) -> Subject:
    """Return the hierarchy of a fitted model, or the hierarchy itself, with its final clusters."""
    if isinstance(given, FusionHierarchy):
        return Subject(given, given.cut(level=given.n_levels))
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return Subject(given.hierarchy_, given.labels_)
    raise TypeError(f"{_describe(given)} has no hierarchy to draw: give a fitted CoHiRF or a FusionHierarchy.")


def check_model(given: Any) -> CoHiRF:
    """Return ``given`` if it is a fitted model."""
    if isinstance(given, CoHiRF):
        check_is_fitted(given)
        return given
    raise TypeError(f"{_describe(given)} does not hold what this picture shows: give a fitted CoHiRF.")


def check_image_shape(shape: tuple[int, ...], n_features: int) -> None:
    """Refuse a shape that is not that of a grey image or one in three colours with so many values."""
    if len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] != 3) or np.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} does not fit {n_features} features: give (height, width) or (height, width, 3) "
            f"whose product is {n_features}."
        )


def _describe(given: Any) -> str:
    return f"{' '.join(reprlib.repr(given).split())} of type {type(given).__name__}"
