"""Metrics as Euclidean distances: where rows have to be moved to, and what a radius is there.

On the unit sphere, the distance along the surface and the angle between directions grow with the length of the chord.
So neighbours by haversine or cosine distance are neighbours of unit vectors, without an edge at the date line, and all
that is known about Euclidean distances, such as grids, trees and local batches, is exact for them, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOLERANCE = 1e-6  # of angles: a right angle in single precision is larger than a quarter of the circle
MOST_NAMED = 5  # rows in a message
EARTH_KM = 6371.0088  # mean radius of the Earth


@dataclass(frozen=True)
class MetricSpace:
    """A metric as Euclidean distance between other points.

    Attributes
    ----------
    embed : callable or None
        Takes rows and their numbers, which errors name, and returns points; None if rows stay where they are.
    radius : callable
        Turns a distance of the metric into a distance between points.
    """

    embed: Callable[[NDArray[Any], Any], NDArray[Any]] | None
    radius: Callable[[float], float]

    def points(self, X: NDArray[Any], rows: Any = None) -> NDArray[Any]:
        """Return the points of the rows of ``X``; ``rows`` are their numbers, from 0 if None."""
        return X if self.embed is None else self.embed(X, np.arange(len(X)) if rows is None else rows)


def find_space(method: Any) -> MetricSpace | None:
    """Return the space of the metric of a DBSCAN; None if its metric is not known to be Euclidean anywhere.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from cohirf.clusterers.metric_spaces import find_space
    >>> find_space(DBSCAN(metric="cosine")).radius(0.5)
    1.0
    >>> find_space(DBSCAN(metric="manhattan")) is None
    True
    """
    metric, p = getattr(method, "metric", "euclidean"), getattr(method, "p", None)
    if getattr(method, "metric_params", None) or not isinstance(metric, str):
        return None
    return SPACES.get("euclidean" if metric == "minkowski" and p in (None, 2) else metric)


def to_unit_vectors(X: NDArray[Any], rows: Any) -> NDArray[np.float64]:
    """Return rows as unit vectors; raise if a row is all zeros."""
    X = np.asarray(X, dtype=np.float64)
    X = X / np.maximum(np.abs(X).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)  # squares do not overflow
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    _refuse(lengths[:, 0] == 0, rows, "all zeros, and have no direction for the cosine metric: leave them out")
    units: NDArray[np.float64] = X / lengths
    return units


def to_sphere(X: NDArray[Any], rows: Any) -> NDArray[np.float64]:
    """Return latitudes and longitudes in radians as points of the unit sphere."""
    if X.shape[1] != 2:
        raise ValueError(f"The haversine metric needs two features, latitude and longitude, and X has {X.shape[1]}.")
    latitude, longitude = np.asarray(X, dtype=np.float64).T
    bad = (np.abs(latitude) > math.pi / 2 + TOLERANCE) | (np.abs(longitude) > 2 * math.pi + TOLERANCE)
    remedy = "give latitude, then longitude, in radians, as np.radians(degrees) does"
    _refuse(bad, rows, f"not on the globe: latitudes are between -pi/2 and pi/2. For the haversine metric, {remedy}")
    across = np.cos(latitude)
    return np.column_stack([across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)])


def _refuse(bad: NDArray[np.bool_], rows: Any, why: str) -> None:
    """Raise an error that names the bad rows, if there are any."""
    if bad.any():
        first = ", ".join(str(row) for row in rows[bad][:MOST_NAMED])
        dots = ", ..." if bad.sum() > MOST_NAMED else ""
        raise ValueError(f"Rows of X are {why}. Rows (from 0): {first}{dots}.")


def _same(radius: float) -> float:
    return radius


def _chord_of_arc(arc: float) -> float:
    return 2 * math.sin(min(arc, math.pi) / 2)


def _chord_of_cosine(distance: float) -> float:
    return math.sqrt(2 * distance)


EUCLIDEAN = MetricSpace(None, _same)
SPACES = {
    "euclidean": EUCLIDEAN,
    "l2": EUCLIDEAN,
    "haversine": MetricSpace(to_sphere, _chord_of_arc),
    "cosine": MetricSpace(to_unit_vectors, _chord_of_cosine),
}
