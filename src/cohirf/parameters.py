"""The parameters of CoHiRF, for functions below the estimator that resolve or check them."""

from __future__ import annotations

from typing import Any, Protocol

from sklearn.cluster import KMeans

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.problems import Remedies


class Parameters(Protocol):
    """The parameters of a :class:`cohirf.CoHiRF`, see there, and the number of its features."""

    estimator: Any
    n_clusters: int | str | None
    merge: str
    views: Any
    metric: str
    max_features: int | float
    consensus: str | float
    medoid: Any
    medoid_weights: bool
    batch_size: int | str | None
    batches: str
    min_cluster_size: int | float
    size_limits: Any
    max_iter: int
    checkpoint: Any
    n_jobs: int | None
    device: str | None
    random_state: Any
    verbose: int
    n_features_in_: int


def base_method_of(model: Parameters) -> Any:
    """Return the base method of a model, K-Means by default.

    Of several, one that finds the number of clusters.
    """
    methods = [KMeans() if method is None else method for method in validation.list_methods(model)]
    return next((method for method in methods if BaseMethod.of(method).told is None), methods[0])


def remedies_for(model: Parameters) -> Remedies:
    """Return which parameters of a model to change, if its clusters are useless."""
    return Remedies.of(
        BaseMethod.of(base_method_of(model)).clusterer,
        model.batch_size,
        min_cluster_size=model.min_cluster_size,
        may_have_fewer_views=validation.count_views(model.views) > 1
        and model.consensus == "strict",
    )
