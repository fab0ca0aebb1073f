"""How far the clusters of a base method reach: the width of a halo that makes local batches exact.

A method with a radius, such as DBSCAN, decides about a row by the rows within that radius, and by
those within the radius of these. So rows within twice the radius of a batch are all that its own
rows depend on.

Random batches have no halo. A radius or a number of neighbours that is right for the data can be
wrong for a random batch, which has a small share of the rows: the base method then leaves most rows
as noise or in tiny clusters, and later levels cannot repair that. So the record of the first level
is checked.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.levels import LevelRecord

RADIUS_NAMES = ("eps", "max_eps", "bandwidth", "distance_threshold")
LISTING = ("max_eps", "eps", "bandwidth")  # of methods that list all neighbours within a radius
# on a grid, rows are exactly a radius apart, and rounding must not leave one of them out
REACH_MARGIN = 1 + 1e-6
# the p of Minkowski distances, by the names that methods have for them
NORMS = {
    "euclidean": 2.0,
    "l2": 2.0,
    "chebyshev": np.inf,
    "infinity": np.inf,
    "manhattan": 1.0,
    "l1": 1.0,
    "cityblock": 1.0,
}


def find_reach(method: Any, n_features: int) -> float | None:
    """Return twice the radius of a clustering method as a Euclidean distance between rows of so
    many features.

    None if it has no radius, or not in the units of the data.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN, HDBSCAN
    >>> round(find_reach(DBSCAN(eps=0.25), 3), 3)
    0.5
    >>> round(find_reach(DBSCAN(eps=0.25, metric="chebyshev"), 4), 3)
    1.0
    >>> find_reach(HDBSCAN(copy=True), 3) is None
    True
    """
    parameters = _method_parameters(method)
    norm = _find_norm(parameters)
    radii = [parameters[name] for name in RADIUS_NAMES if isinstance(parameters.get(name), Real)]
    finite = [float(radius) for radius in radii if np.isfinite(radius)]
    if norm is None or not finite:
        return None
    # a diagonal is longer than a side: a Euclidean distance can be larger by this factor
    wider = n_features ** max(0.0, 1 / 2 - 1 / norm)
    return float(2 * max(finite) * wider * REACH_MARGIN)


def lists_neighbours(method: Any) -> bool:
    """Return whether a method has a radius within which it lists all neighbours, by a norm."""
    parameters = _method_parameters(method)
    return _find_norm(parameters) is not None and any(
        isinstance(parameters.get(name), Real) for name in LISTING
    )


def count_neighbours(
    method: Any, sample: NDArray[Any], n_rows: int
) -> tuple[str, float, float] | None:
    """Return the name of a method's radius, the radius, and how many of ``n_rows`` rows it finds
    around each of them.

    The rows are like those of the sample. None if the method has no radius, or its metric is not a
    norm.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import OPTICS
    >>> count_neighbours(OPTICS(max_eps=1.0), np.array([[0.0], [1.0], [9.0], [9.5]]), 1000)
    ('max_eps', 1.0, 500.0)
    """
    parameters = _method_parameters(method)
    norm = _find_norm(parameters)
    if norm is None or not lists_neighbours(method):
        return None
    name, radius = next(
        (name, parameters[name]) for name in LISTING if isinstance(parameters.get(name), Real)
    )
    is_near = np.isinf(radius) or cdist(sample, sample, **_as_metric(norm)) <= radius
    return name, float(radius), n_rows * float(np.mean(is_near))


def _as_metric(norm: float) -> dict[str, Any]:
    """Return a norm as arguments of SciPy."""
    if np.isinf(norm):
        return {"metric": "chebyshev"}
    return {"metric": "minkowski", "p": norm}


def can_be_local(method: Any, n_features: int) -> bool:
    """Return whether rows that are near each other by the metric of a method are near by Euclidean
    distance, too.
    """
    return (
        _find_norm(_method_parameters(method)) == NORMS["euclidean"]
        or find_reach(method, n_features) is not None
    )


def links_every_row(method: Any) -> bool:
    """Return whether any two rows within the radius of a method are in one cluster, as in single
    linkage.
    """
    parameters = _method_parameters(method)
    return (
        parameters.get("linkage") == "single" and parameters.get("distance_threshold") is not None
    )


def _method_parameters(method: Any) -> dict[str, Any]:
    if hasattr(method, "get_params"):
        return dict(method.get_params(deep=False))
    return {}


def _find_norm(parameters: dict[str, Any]) -> float | None:
    """Return the p of the Minkowski distances that a method uses; None if it uses others."""
    metric = parameters.get("metric", "euclidean")
    p = parameters.get("p")
    # such as weights of features
    if parameters.get("metric_params") or not isinstance(metric, str):
        return None
    if metric in ("minkowski", "p"):
        return NORMS["euclidean"] if p is None else float(p)
    return NORMS.get(metric)


# if the first level left more than this share of the rows active, no setting that was tried found
# clusters
MOST_LEFT_ACTIVE = 0.5


class ThinBatchesWarning(ConvergenceWarning):
    """Batches hold too few rows for the base method."""


def explain_thin_batches(record: LevelRecord, method: BaseMethod) -> str | None:
    """Return a warning if random batches seem to be too thin, given the record of the first level.

    Otherwise None.

    Methods that take the number of clusters hardly leave rows alone, and are not checked.
    """
    if record.rows_held_aside == 0 or method.number_name is not None:
        return None
    share_left = (record.rows_out - record.rows_held_aside) / (
        record.rows_in - record.rows_held_aside
    )
    if share_left <= MOST_LEFT_ACTIVE:
        return None
    return (
        f"The first level fused few of the rows in its {record.n_batches} random batches: it left "
        f"{share_left:.0%} of them active. A random batch is thinner than the data, so that a "
        "radius or a number of neighbours means "
        f'something else in it. Use batches="local", or a larger batch_size.'
    )
