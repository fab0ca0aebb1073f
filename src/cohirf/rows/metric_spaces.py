"""Metrics as Euclidean distances: where rows have to be moved to, and what a distance is there.

On the unit sphere, the distance along the surface and the angle between directions grow with the
length of the chord. So neighbours by haversine or cosine distance are neighbours of unit vectors,
without an edge at the date line, and all that is known about Euclidean distances, such as grids,
trees, local batches and means, is right for them, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.arrays import as_array
from cohirf.rows.containers import container_of
from cohirf.rows.policy import DIGIT

EARTH_KM = 6371.0088  # mean radius of the Earth


@dataclass(frozen=True)
class MetricSpace:
    """A metric as Euclidean distance between other points."""

    name: str  # name of the metric
    # Takes rows and their numbers, which errors name, and returns points; None if rows stay where
    # they are
    embed: Callable[[Any, Any], Any] | None
    # turns a distance of the metric into a distance between points
    radius: Callable[[float], float]
    # Turns distances between points into distances of the metric, as an array
    distances: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def points(self, X: Any, rows: Any = None) -> Any:
        """Return the points of the rows of ``X``; ``rows`` are their numbers.

        Without these, zeros stay zeros.
        """
        return X if self.embed is None else self.embed(X, rows)


def find_space(method: Any) -> MetricSpace | None:
    """Return the space of the metric of a clustering method.

    None if its metric is not known to be Euclidean anywhere.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> from cohirf.rows.metric_spaces import find_space
    >>> find_space(DBSCAN(metric="cosine")).radius(0.5)
    1.0
    >>> find_space(DBSCAN(metric="manhattan")) is None
    True
    """
    metric = getattr(method, "metric", "euclidean")
    p = getattr(method, "p", None)
    if getattr(method, "metric_params", None) or not isinstance(metric, str):
        return None
    return SPACES.get("euclidean" if metric == "minkowski" and p in (None, 2) else metric)


def to_unit_vectors(X: Any, rows: Any) -> Any:
    """Return rows as unit vectors.

    Raise if a row is all zeros and has a number, otherwise it stays.
    """
    units, empty = container_of(X).to_unit(X)
    if rows is not None:
        _refuse_rows(
            empty, rows, "all zeros, and have no direction for the cosine metric: leave them out"
        )
    return units


def to_sphere(X: Any, rows: Any) -> NDArray[np.float64]:
    """Return latitudes and longitudes in radians as points of the unit sphere."""
    if X.shape[1] != 2:
        raise ValueError(
            "The haversine metric needs two features, latitude and longitude, and X has "
            f"{X.shape[1]}."
        )
    latitude, longitude = np.asarray(as_array(X), dtype=np.float64).T
    bad = (np.abs(latitude) > math.pi / 2 + DIGIT.angle) | (
        np.abs(longitude) > 2 * math.pi + DIGIT.angle
    )
    remedy = "give latitude, then longitude, in radians, as np.radians(degrees) does"
    _refuse_rows(
        bad,
        rows,
        f"not on the globe: latitudes are up to 90 degrees. For the haversine metric, {remedy}",
    )
    across = np.cos(latitude)
    return np.column_stack(
        [across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)]
    )


def _refuse_rows(bad: NDArray[np.bool_], rows: Any, why: str) -> None:
    """Raise an error that names the bad rows, if there are any."""
    if bad.any():
        numbers = np.flatnonzero(bad) if rows is None else rows[bad]
        n_named = 5
        first = ", ".join(str(row) for row in numbers[:n_named])
        dots = ", ..." if len(numbers) > n_named else ""
        raise ValueError(f"Rows of X are {why}. Rows (from 0): {first}{dots}.")


def _same(distance: Any) -> Any:
    return distance


def _chord_of_arc(arc: float) -> float:
    return 2 * math.sin(min(arc, math.pi) / 2)


def _arcs_of_chords(chords: NDArray[np.float64]) -> NDArray[np.float64]:
    return 2 * np.arcsin(np.minimum(chords / 2, 1))


def _chord_of_cosine(distance: float) -> float:
    return math.sqrt(2 * distance)


def _cosines_of_chords(chords: NDArray[np.float64]) -> NDArray[np.float64]:
    return chords**2 / 2


EUCLIDEAN = MetricSpace("euclidean", None, _same, _same)
SPACES = {
    "euclidean": EUCLIDEAN,
    "l2": EUCLIDEAN,
    "haversine": MetricSpace("haversine", to_sphere, _chord_of_arc, _arcs_of_chords),
    "cosine": MetricSpace("cosine", to_unit_vectors, _chord_of_cosine, _cosines_of_chords),
}
