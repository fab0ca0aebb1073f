"""How far the clusters of a base method reach: the width of a halo that makes local batches exact.

A method with a radius, such as DBSCAN, decides about a row by the rows within that radius, and by those within the
radius of these. So rows within twice the radius of a batch are all that its own rows depend on.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

RADII = ("eps", "max_eps", "bandwidth", "distance_threshold")
MARGIN = 1 + 1e-6  # on a grid, rows are exactly a radius apart, and rounding must not leave one of them out
# Distances of these metrics are never smaller than Euclidean ones.
WIDE_METRICS = ("euclidean", "l2", "manhattan", "l1", "cityblock")


def find_reach(method: Any) -> float | None:
    """Return twice the radius of a clustering method; None if it has none, or not in the units of the data.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN, HDBSCAN
    >>> round(find_reach(DBSCAN(eps=0.25)), 3)
    0.5
    >>> find_reach(HDBSCAN(copy=True)) is None
    True
    """
    parameters = method.get_params(deep=False) if hasattr(method, "get_params") else {}
    radii = [parameters[name] for name in RADII if isinstance(parameters.get(name), Real)]
    finite = [float(radius) for radius in radii if np.isfinite(radius)]
    return 2 * max(finite) * MARGIN if finite and _is_wide(parameters) else None


def links_every_row(method: Any) -> bool:
    """Return whether any two rows within the radius of a method are in one cluster, as in single linkage."""
    parameters = method.get_params(deep=False) if hasattr(method, "get_params") else {}
    return parameters.get("linkage") == "single" and parameters.get("distance_threshold") is not None


def _is_wide(parameters: dict[str, Any]) -> bool:
    metric, p = parameters.get("metric", "euclidean"), parameters.get("p")
    if parameters.get("metric_params"):  # such as weights of features
        return False
    if metric == "minkowski":
        return p is None or p <= 2
    return metric in WIDE_METRICS
