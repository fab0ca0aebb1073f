"""What an HDBSCAN estimator of scikit-learn, hdbscan or fast_hdbscan is asked to do, in one
convention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from cohirf.rows.metric_spaces import SPACES


@dataclass(frozen=True)
class SpanningSettings:
    """The parameters of HDBSCAN."""

    # rank of the neighbour at the core distance of a row, which has rank 1 itself, as in
    # scikit-learn
    min_samples: int
    min_cluster_size: int  # at least 2
    leaves: bool = False  # select the leaves of the condensed tree, not the most stable clusters
    epsilon: float = 0.0  # clusters that split off at distances below this are not separated
    max_cluster_size: float = math.inf  # larger clusters are not selected for their stability
    allow_single_cluster: bool = False  # the root of the condensed tree may be selected
    # Treat the root as fast_hdbscan does: ``epsilon`` may select it even if
    # ``allow_single_cluster`` is False; it is never selected where the condensed tree has no split;
    # and its size is ``n_rows - 1``.
    as_fast_hdbscan: bool = False
    as_sklearn: bool = (
        False  # in one batch, edges of equal weight are chosen and ordered as scikit-learn does
    )


def settings_of(estimator: Any) -> SpanningSettings | None:
    """Return the settings of an HDBSCAN estimator.

    None for an estimator that is not the class ``HDBSCAN`` of scikit-learn, hdbscan or fast_hdbscan
    itself, and for parameters that ask for more than a spanning tree of Euclidean distances gives,
    between rows or between unit vectors, or that are not valid.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN, HDBSCAN
    >>> from cohirf.spanning.settings import settings_of
    >>> settings_of(HDBSCAN(min_cluster_size=15)).min_samples
    15
    >>> settings_of(HDBSCAN(metric="manhattan")) is None and settings_of(DBSCAN()) is None
    True
    """
    known = _find_class(estimator)
    if known is None or not _is_valid(estimator) or any(known.obstacles(estimator)):
        return None
    return known.translate(estimator)


def is_hdbscan(estimator: Any) -> bool:
    """Return whether an estimator is the class ``HDBSCAN`` of scikit-learn, hdbscan or
    fast_hdbscan itself.
    """
    return _find_class(estimator) is not None


def find_obstacle(estimator: Any) -> str | None:
    """Return what a spanning tree cannot give an HDBSCAN estimator, such as "alpha=1.3".

    None if there is nothing, and for estimators that are not HDBSCAN, or whose parameters are not
    valid.

    Examples
    --------
    >>> from sklearn.cluster import HDBSCAN
    >>> find_obstacle(HDBSCAN(alpha=1.3))
    'alpha=1.3'
    """
    known = _find_class(estimator)
    if known is None or not _is_valid(estimator):
        return None
    name = next(known.obstacles(estimator), None)
    return None if name is None else f"{name}={getattr(estimator, name)!r}"


@dataclass(frozen=True)
class KnownClass:
    """How a class of HDBSCAN is translated."""

    # names of parameters that ask for more than a spanning tree gives
    obstacles: Callable[[Any], Iterator[str]]
    translate: Callable[[Any], SpanningSettings]  # of an estimator without obstacles


def _find_class(estimator: Any) -> KnownClass | None:
    kind = type(estimator)
    return KNOWN_CLASSES.get(f"{kind.__module__}.{kind.__qualname__}")


def _obstacles_of_sklearn(method: Any) -> Iterator[str]:
    others = dict(method.metric_params or {})
    if not _is_known(method.metric, others.pop("p", 2)):
        yield "metric"
    if others:
        yield "metric_params"
    if method.alpha != 1:
        yield "alpha"


def _of_sklearn(method: Any) -> SpanningSettings:
    if method.max_cluster_size is None:
        most = math.inf
    else:
        most = method.max_cluster_size
    return _translate(method, _min_samples(method), most, as_sklearn=True)


def _obstacles_of_hdbscan(method: Any) -> Iterator[str]:
    if not _is_known(method.metric, method.p):
        yield "metric"
    if method._metric_kwargs:
        yield "_metric_kwargs"
    usual = {
        "alpha": 1,
        "cluster_selection_persistence": 0,
        "cluster_selection_epsilon_max": math.inf,
    }
    usual["match_reference_implementation"] = False
    yield from (name for name, value in usual.items() if getattr(method, name) != value)


def _of_hdbscan(method: Any) -> SpanningSettings:
    return _translate(method, _min_samples(method) + 1, method.max_cluster_size or math.inf)


def _obstacles_of_fast_hdbscan(method: Any) -> Iterator[str]:
    usual = {"metric": "euclidean", "semi_supervised": False, "cluster_selection_persistence": 0}
    yield from (name for name, value in usual.items() if getattr(method, name) != value)
    absent = ("knn_k", "cannot_link", "cannot_link_groups")
    yield from (name for name in absent if getattr(method, name) is not None)


def _of_fast_hdbscan(method: Any) -> SpanningSettings:
    rank = _min_samples(method)
    rank += rank > 1  # core distances are 0 if it is 1, and are those of this neighbour otherwise
    return _translate(method, rank, method.max_cluster_size, as_fast_hdbscan=True)


KNOWN_CLASSES = {  # by name, because the packages may not be installed
    "sklearn.cluster._hdbscan.hdbscan.HDBSCAN": KnownClass(_obstacles_of_sklearn, _of_sklearn),
    # what a fit runs in its place
    "cohirf.spanning.computed.ComputedHDBSCAN": KnownClass(_obstacles_of_sklearn, _of_sklearn),
    "hdbscan.hdbscan_.HDBSCAN": KnownClass(_obstacles_of_hdbscan, _of_hdbscan),
    "fast_hdbscan.hdbscan.HDBSCAN": KnownClass(_obstacles_of_fast_hdbscan, _of_fast_hdbscan),
}


def _min_samples(method: Any) -> Any:
    if method.min_samples is None:
        return method.min_cluster_size
    return method.min_samples


def _is_known(metric: Any, p: Any) -> bool:
    return isinstance(metric, str) and (
        metric in SPACES or (metric in ("minkowski", "p") and p == 2)
    )


def _translate(
    method: Any, min_samples: Any, max_cluster_size: Any, **conventions: bool
) -> SpanningSettings:
    """Return what the three classes call by the same names, and what they do not."""
    return SpanningSettings(
        min_samples=min_samples,
        min_cluster_size=method.min_cluster_size,
        leaves=method.cluster_selection_method == "leaf",
        epsilon=method.cluster_selection_epsilon,
        max_cluster_size=max_cluster_size,
        allow_single_cluster=bool(method.allow_single_cluster),
        **conventions,
    )


def _is_valid(method: Any) -> bool:
    """Return whether parameters are valid; if not, the method itself is to say so."""
    bounds: list[tuple[Any, Any, int]] = [
        (_min_samples(method), Integral, 1),
        (method.min_cluster_size, Integral, 2),
        (method.cluster_selection_epsilon, Real, 0),
    ]
    is_in_bounds = all(
        isinstance(value, kind) and value >= lowest for value, kind, lowest in bounds
    )
    return is_in_bounds and method.cluster_selection_method in ("eom", "leaf")
