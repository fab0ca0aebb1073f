"""What an HDBSCAN estimator of scikit-learn, hdbscan or fast_hdbscan is asked to do, in one convention."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from cohirf.rows.metric_spaces import SPACES


@dataclass(frozen=True)
class SpanningSettings:
    """The parameters of HDBSCAN."""

    min_samples: int  # rank of the neighbour at the core distance of a row, which has rank 1 itself, as in scikit-learn
    min_cluster_size: int  # at least 2
    leaves: bool = False  # select the leaves of the condensed tree, not the most stable clusters
    epsilon: float = 0.0  # clusters that split off at distances below this are not separated
    max_cluster_size: float = math.inf  # larger clusters are not selected for their stability
    allow_single_cluster: bool = False  # the root of the condensed tree may be selected
    # Treat the root as fast_hdbscan does: ``epsilon`` may select it even if ``allow_single_cluster`` is False; it is
    # never selected where the condensed tree has no split; and its size is ``n_rows - 1``.
    as_fast_hdbscan: bool = False
    as_sklearn: bool = False  # in one batch, edges of equal weight are chosen and ordered as scikit-learn does


def settings_of(estimator: Any) -> SpanningSettings | None:
    """Return the settings of an HDBSCAN estimator.

    None for an estimator that is not the class ``HDBSCAN`` of scikit-learn, hdbscan or fast_hdbscan itself, and for
    parameters that ask for more than a spanning tree of Euclidean distances gives, between rows or between unit
    vectors, or that are not valid.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN, HDBSCAN
    >>> from cohirf.spanning.settings import settings_of
    >>> settings_of(HDBSCAN(min_cluster_size=15)).min_samples
    15
    >>> settings_of(HDBSCAN(metric="manhattan")) is None and settings_of(DBSCAN()) is None
    True
    """
    kind = type(estimator)
    translate = TRANSLATIONS.get(f"{kind.__module__}.{kind.__qualname__}")
    return translate(estimator) if translate is not None and _is_valid(estimator) else None


def _of_sklearn(method: Any) -> SpanningSettings | None:
    others = dict(method.metric_params or {})
    if not _is_known(method.metric, others.pop("p", 2)) or others or method.alpha != 1:
        return None
    most = math.inf if method.max_cluster_size is None else method.max_cluster_size
    return _translate(method, _min_samples(method), most, as_sklearn=True)


def _of_hdbscan(method: Any) -> SpanningSettings | None:
    if not _is_known(method.metric, method.p) or method.alpha != 1 or method._metric_kwargs:
        return None
    if method.cluster_selection_persistence != 0 or method.cluster_selection_epsilon_max != math.inf:
        return None
    if method.match_reference_implementation:
        return None
    return _translate(method, _min_samples(method) + 1, method.max_cluster_size or math.inf)


def _of_fast_hdbscan(method: Any) -> SpanningSettings | None:
    if method.metric != "euclidean" or method.semi_supervised or method.cluster_selection_persistence != 0:
        return None
    if any(given is not None for given in (method.knn_k, method.cannot_link, method.cannot_link_groups)):
        return None
    rank = _min_samples(method)
    rank += rank > 1  # core distances are 0 if it is 1, and are those of this neighbour otherwise
    return _translate(method, rank, method.max_cluster_size, as_fast_hdbscan=True)


TRANSLATIONS: dict[
    str, Callable[[Any], SpanningSettings | None]
] = {  # names, because the packages may not be installed
    "sklearn.cluster._hdbscan.hdbscan.HDBSCAN": _of_sklearn,
    "hdbscan.hdbscan_.HDBSCAN": _of_hdbscan,
    "fast_hdbscan.hdbscan.HDBSCAN": _of_fast_hdbscan,
}


def _min_samples(method: Any) -> Any:
    return method.min_cluster_size if method.min_samples is None else method.min_samples


def _is_known(metric: Any, p: Any) -> bool:
    return isinstance(metric, str) and (metric in SPACES or (metric in ("minkowski", "p") and p == 2))


def _translate(method: Any, min_samples: Any, max_cluster_size: Any, **conventions: bool) -> SpanningSettings:
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
    is_in_bounds = all(isinstance(value, kind) and value >= lowest for value, kind, lowest in bounds)
    return is_in_bounds and method.cluster_selection_method in ("eom", "leaf")
