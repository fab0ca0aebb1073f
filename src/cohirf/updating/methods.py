"""The methods of CoHiRF that change a fitted model."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sklearn.base import _fit_context

from cohirf import validation
from cohirf.data.open_data import choosing_client, open_training_data
from cohirf.updating.row_results import BY_ROW, RowResult
from cohirf.updating.update import update_model


class UpdatingMixin:
    """Updates of a fitted model, and its results by row, which are looked up after an update."""

    labels_: Any = RowResult()
    parents_: Any = RowResult()
    stability_: Any = RowResult()
    hierarchy_: Any = RowResult()
    _absorbed_at: Any = RowResult()  # of a model on Dask; gather() needs it

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> Self:
        """TODO."""
        is_first = not hasattr(self, "n_clusters_")
        updated: Any = copy(self)  # if the update fails, or is interrupted, this model stays as it is
        validation.check_base_method(updated._base_method())
        updated._check_resources()
        if is_first:
            updated.relevant_features_ = updated.feature_statistics_ = None
        with choosing_client(updated, client, X):
            data = open_training_data(updated, X, on_cluster=client is not None, is_first=is_first)
            attributes = update_model(updated, data, sample_weight)
        replace_results(self, updated, attributes)
        return self


def replace_results(model: Any, updated: Any, attributes: dict[str, Any]) -> None:
    """Give a model the results of its copy, on which an update has run, and the attributes that the update found."""
    vars(updated).update({name: None for name in BY_ROW if name in vars(updated)})
    now = {name: value for name, value in vars(updated).items() if name not in BY_ROW} | attributes
    vars(model).clear()
    vars(model).update(now)
