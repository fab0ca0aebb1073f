"""Base methods on a graph: each gets the form that it takes."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import DBSCAN

from cohirf.algorithm.base_method import BaseMethod
from cohirf.graphs.density import DensityLabels, label_dbscan, label_hdbscan
from cohirf.graphs.graph import Graph
from cohirf.optional import is_installed
from cohirf.rows.grouping import IntArray
from cohirf.spanning.settings import SpanningSettings, is_hdbscan, settings_of

NEIGHBOURS = "precomputed_nearest_neighbors"  # of SpectralClustering: distances to neighbours


def label_by_method(graph: Graph, method: BaseMethod, rng: np.random.Generator) -> DensityLabels:
    """Return the labels that a base method gives to the nodes of a graph.

    DBSCAN and HDBSCAN also say how far new nodes may be; other methods have no such limits.
    """
    prototype = told_of_graph(method.prototype)
    if graph.square is None and is_installed("numba"):
        if type(prototype) is DBSCAN:
            return label_dbscan(graph, prototype)
        settings = spanning_settings_of(prototype)
        if settings is not None:
            return label_hdbscan(graph, settings)
    seeds: dict[str, Any] = {name: int(rng.integers(2**31 - 1)) for name in method.seeds}
    copies = dict.fromkeys(method.copies, True)
    called = clone(prototype, safe=False)
    if seeds or copies:
        called.set_params(**seeds, **copies)
    labels = _call(called, matrix_for(graph, called))
    if labels.shape != (graph.n_nodes,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"The base method {method.name} returned labels of shape {labels.shape} and type "
            f"{labels.dtype} for {graph.n_nodes} nodes: it must return an integer for each node."
        )
    nothing = np.empty(0)
    return DensityLabels(np.maximum(labels, -1), nothing, nothing, 0)


def told_of_graph(method: Any) -> Any:
    """Return a copy of a base method whose data are a graph.

    ``metric`` or ``affinity`` becomes "precomputed", if it is the default of the method; another
    value is refused.
    """
    if not hasattr(method, "get_params"):
        return method
    given = method.get_params(deep=False)
    # parameters by which methods ask for a graph
    name = next((name for name in ("metric", "affinity") if name in given), None)
    if name is None or given[name] in ("precomputed", NEIGHBOURS):
        return method
    usual = signature(type(method).__init__).parameters.get(name)
    if usual is None or given[name] != usual.default:
        raise ValueError(
            f"estimator={method!r} has {name}={given[name]!r}, but the data are a graph: leave "
            f'{name} out, or set it to "precomputed".'
        )
    return clone(method).set_params(**{name: "precomputed"})


def spanning_settings_of(method: Any) -> SpanningSettings | None:
    """Return the settings of an HDBSCAN for a graph; None for other methods."""
    if not is_hdbscan(method):
        return None
    return settings_of(clone(method).set_params(metric="euclidean"))


def matrix_for(graph: Graph, method: Any) -> Any:
    """Return the matrix that a base method takes.

    Distances if it asks for them by ``metric``, similarities if it asks for them by ``affinity``,
    and otherwise what the user has given, in both directions.
    """
    given = method.get_params(deep=False) if hasattr(method, "get_params") else {}
    if given.get("affinity") == "precomputed":
        return graph.weights
    if graph.square is not None:
        return np.array(graph.square)
    if graph.is_similar and "metric" not in given and given.get("affinity") != NEIGHBOURS:
        return graph.weights
    return graph.symmetric_distances.copy()  # methods may overwrite it


def _call(method: Any, matrix: Any) -> IntArray:
    if hasattr(method, "fit_predict"):
        return np.asarray(method.fit_predict(matrix))
    method.fit(matrix)
    if hasattr(method, "labels_"):
        return np.asarray(method.labels_)
    return np.asarray(method.predict(matrix))
