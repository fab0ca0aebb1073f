"""The type of a fitted model for functions below the estimator: parameters, fitted attributes and
private state.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.levels import LevelRecord
from cohirf.hierarchy import FusionHierarchy
from cohirf.problems import Remedies
from cohirf.rows.grouping import IntArray
from cohirf.summary.numbers import Changes, Step
from cohirf.summary.state import FittedState


class Model(Protocol):
    """A :class:`cohirf.CoHiRF`, for functions in lower layers than the class.

    See there for each attribute.
    """

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
    max_iter: int
    checkpoint: Any
    n_jobs: int | None
    device: str | None
    random_state: Any
    verbose: int

    labels_: Any
    parents_: Any
    stability_: Any
    hierarchy_: FusionHierarchy
    n_clusters_: int
    n_iter_: int
    n_features_in_: int
    batch_size_: int | None
    cluster_numbers_: IntArray
    medoid_indices_: IntArray
    medoids_: Any
    exemplar_indices_: IntArray
    exemplars_: Any
    feature_agreement_: NDArray[np.float64]
    diagnostics_: list[LevelRecord]
    choice_: Any
    changes_: Changes | None
    history_: tuple[Step, ...]
    names_: dict[int, str]
    landmark_indices_: IntArray
    landmarks_: Any
    stand_in_indices_: IntArray
    _state: FittedState

    def _become(self, fitted: Any, state: FittedState) -> Any:
        """Take over what was found."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def gather(self) -> Any:
        """Load results into this process."""

    def predict(self, X: Any) -> Any:
        """Return the cluster of each row."""


def base_method_of(model: Model) -> Any:
    """Return the base method of a model, K-Means by default.

    Of several, one that finds the number of clusters.
    """
    methods = [KMeans() if method is None else method for method in validation.list_methods(model)]
    return next((method for method in methods if BaseMethod.of(method).told is None), methods[0])


def remedies_for(model: Model) -> Remedies:
    """Return which parameters of a model to change, if its clusters are useless."""
    return Remedies.of(
        BaseMethod.of(base_method_of(model)).clusterer,
        model.batch_size,
        min_cluster_size=model.min_cluster_size,
        may_have_fewer_views=validation.count_views(model.views) > 1
        and model.consensus == "strict",
    )
