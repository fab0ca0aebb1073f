"""scikit-learn's HDBSCAN of all rows together, computed from their spanning tree."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN

from cohirf.optional import is_installed
from cohirf.rows.containers import container_of
from cohirf.rows.metric_spaces import find_space, to_unit_vectors
from cohirf.rows.storage import Storage
from cohirf.spanning.policy import LISTS, TREE
from cohirf.spanning.settings import SpanningSettings, settings_of


class ComputedHDBSCAN(HDBSCAN):
    """What CoHiRF runs in the place of scikit-learn's HDBSCAN: the same clusters in less time.

    scikit-learn compares each row with all others, so its time grows with the square of their
    number. Clusters have other numbers here, and can differ in a few rows where many edges have
    equal weights, as on a lattice of rounded coordinates.
    """

    _shown_as = "HDBSCAN"  # in messages: users do not know this class

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of ``X``: many complete ones here, others as scikit-learn does."""
        settings = settings_of(self)
        if settings is None or not self._is_computed(X, settings):
            super().fit(X)
            return self
        self.labels_ = self._compute(X, settings)
        return self

    def _is_computed(self, X: Any, settings: SpanningSettings) -> bool:
        """Return whether the spanning tree of the rows has the clusters of scikit-learn, in less
        time.
        """
        container = container_of(X)
        is_large = X.shape[0] >= max(TREE.computed_rows, settings.min_samples)
        if not (is_large and is_installed("numba") and container.is_dense):
            return False
        space = find_space(self)
        if space is None or not np.isfinite(X).all():
            return False
        # scikit-learn puts rows of zeros apart
        return space.embed is not to_unit_vectors or bool(X.any(axis=1).all())

    def _compute(self, X: Any, settings: SpanningSettings) -> NDArray[np.int32]:
        from cohirf.spanning.batch_edges import span_rows
        from cohirf.spanning.join_batches import condense, sort_by_weight

        space = find_space(self)
        assert space is not None  # or it is not computed
        replays = len(X) * settings.min_samples <= LISTS.neighbours
        core, edges = span_rows(space.points(X), settings.min_samples, as_sklearn=replays)
        parts = sort_by_weight(edges, core, Storage(), replays)
        return condense(len(X), parts, settings, space.distances).label()


def computed_hdbscan(estimator: Any) -> Any:
    """Return an estimator with the same clusters that is faster, if it is scikit-learn's HDBSCAN.

    Else the same.
    """
    if type(estimator) is HDBSCAN:
        return ComputedHDBSCAN(**estimator.get_params(deep=False))
    return estimator
