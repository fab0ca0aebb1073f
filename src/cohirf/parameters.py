"""The parameters of CoHiRF as one value: the estimator makes it, and all below it read it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from sklearn.cluster import KMeans

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.problems import Remedies
from cohirf.validation import GRAPH_METRICS, Columns
from cohirf.wording import setting


@dataclass(frozen=True)
class Parameters:
    """The parameters of :class:`cohirf.CoHiRF` as the user wrote them; see there."""

    estimator: Any
    n_clusters: int | str | None
    merge: str
    metric: str
    views: Any
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

    @property
    def methods(self) -> list[Any]:
        """The base methods: that of each view, or the one of all; None means the default."""
        if not isinstance(self.views, list):
            return [self.estimator]
        return [view[0] if isinstance(view, tuple) else view for view in self.views]

    @property
    def base_method(self) -> Any:
        """The base method, or K-Means; of several, one that finds the number of clusters."""
        methods = [KMeans() if method is None else method for method in self.methods]
        return next(
            (each for each in methods if BaseMethod.of(each).number_name is None), methods[0]
        )

    @property
    def n_views(self) -> int:
        """Number of views, which are given as a number or as a list."""
        return validation.count_views(self.views)

    @property
    def take_sparse(self) -> bool:
        """Whether all base methods support CSR matrices."""
        return all(each is None or validation.takes_sparse(each) for each in self.methods)

    @property
    def take_nan(self) -> bool:
        """Whether all base methods support missing values, which the default does not."""
        return all(each is not None and validation.takes_nan(each) for each in self.methods)

    @property
    def is_of_graph(self) -> bool:
        """Whether the data are a graph."""
        return self.metric in GRAPH_METRICS

    @property
    def remedies(self) -> Remedies:
        """Which parameters to change, if the clusters are useless."""
        return Remedies.of(
            BaseMethod.of(self.base_method).clusterer,
            self.batch_size,
            min_cluster_size=self.min_cluster_size,
            may_have_fewer_views=self.n_views > 1 and self.consensus == "strict",
        )

    def view_columns(self, columns: Columns) -> tuple[Any, ...]:
        """Return the columns of each view of a list, or None for all; empty if views are alike."""
        if not isinstance(self.views, list):
            return ()
        return tuple(
            validation.find_columns(view[1], columns) if isinstance(view, tuple) else None
            for view in self.views
        )

    def check_views(self) -> None:
        """Raise for views or a base method that cannot cluster."""
        if isinstance(self.views, Integral):
            if self.estimator is not None:
                validation.check_base_method(self.estimator, on_graph=self.is_of_graph)
            return
        if not self.views:
            raise ValueError("views=[] is empty: give a number, or at least one estimator.")
        if self.estimator is not None:
            raise ValueError(
                "estimator is the method of equal views, but views is a list: leave estimator out."
            )
        for view in self.views:
            if isinstance(view, tuple) and len(view) != 2:
                raise ValueError(f"views: {view!r} is not a pair: give (estimator, columns).")
        for estimator in self.methods:
            validation.check_base_method(estimator, on_graph=self.is_of_graph)

    def refuse_graph(self, what: str, why: str = "the nodes of a graph have no features.") -> None:
        """Raise for what needs features, if the data are a graph."""
        if self.is_of_graph:
            raise TypeError(f"{what} does not work with metric={self.metric!r}: {why}")

    def refuse_limits(self) -> None:
        """Raise if there are limits of sizes: an update keeps all rows in their clusters."""
        if self.size_limits is not None:
            limits = setting("size_limits", self.size_limits)
            raise ValueError(
                f"A model with {limits} cannot be updated: rows would have to leave their "
                "clusters. Fit all rows again, or label new ones by predict."
            )

    def refuse_updates(self) -> None:
        """Raise for a model that cannot be updated."""
        self.refuse_graph(
            "An update",
            "clusters depend on all edges. Fit the graph of all nodes, or label new ones by "
            "predict.",
        )
        self.refuse_limits()

    def by_name(self) -> dict[str, Any]:
        """Return these parameters by name, sorted as scikit-learn sorts them."""
        return {name: getattr(self, name) for name in sorted(each.name for each in fields(self))}

    def nested(self) -> dict[str, Any]:
        """Return these parameters and those of nested estimators, as ``get_params`` names them."""
        found: dict[str, Any] = {}
        for name, value in self.by_name().items():
            if hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params()
                found |= {f"{name}__{key}": inner[key] for key in inner}
            found[name] = value
        return found
