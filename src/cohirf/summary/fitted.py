"""The fitted attributes of a model, which are parts of its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Generic, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cohirf.algorithm.levels import LevelRecord
from cohirf.choice import Choice
from cohirf.hierarchy import FusionHierarchy
from cohirf.parameters import Parameters
from cohirf.rows.grouping import IntArray
from cohirf.summary.numbers import Changes, Step
from cohirf.summary.state import FittedState
from cohirf.validation import Columns

Value = TypeVar("Value")


class LookedUp(Generic[Value]):
    """A fitted attribute that is read from the state of a model, which looks it up when it is first
    asked for.
    """

    def __init__(self, read: Callable[[FittedState], Any]) -> None:
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, kind: type | None = None) -> Value:
        if instance is None:
            return cast("Value", self)
        state = getattr(instance, "_state", None)
        if state is None:
            raise AttributeError(
                f"{type(instance).__name__!r} object has no attribute {self._name!r}"
            )
        return cast("Value", self._read(state))


class FittedModel:
    """The base of :class:`cohirf.CoHiRF`, which explains these attributes, and of its parts."""

    # Labels, parents and stabilities have another type for data on a device or on Dask workers.
    labels_ = LookedUp[IntArray](lambda state: state.labels)
    parents_ = LookedUp[IntArray](lambda state: state.lookups.parents)
    stability_ = LookedUp[NDArray[np.float32]](lambda state: state.lookups.stability)
    hierarchy_ = LookedUp[FusionHierarchy](lambda state: state.lookups.hierarchy)
    stand_in_indices_ = LookedUp[IntArray](lambda state: state.unknown_rows)
    choice_: Choice | None
    n_clusters_: int
    cluster_numbers_: IntArray
    medoid_indices_: IntArray
    medoids_: Any
    exemplar_indices_: IntArray
    exemplars_: Any
    landmark_indices_: IntArray
    landmarks_: Any
    n_iter_: int
    batch_size_: int | None
    diagnostics_: list[LevelRecord]
    feature_agreement_: NDArray[np.float64]
    changes_: Changes | None
    history_: tuple[Step, ...]
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _state: FittedState  # all that was found; the attributes above are its parts

    @property
    def names_(self) -> Mapping[int, str]:
        """The name of each cluster, by its number; CoHiRF explains it."""
        state = getattr(self, "_state", None)
        if state is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'names_'")
        # the state can be shared with copies of the model
        return MappingProxyType(state.names)

    @names_.setter
    def names_(self, names: Mapping[int, str]) -> None:
        check_is_fitted(self, "n_clusters_")
        self._become(self._state.with_names(names))

    @property
    def _parameters(self) -> Parameters:
        """The parameters as they are now; functions below the estimator get them as this value."""
        return Parameters(**{each.name: getattr(self, each.name) for each in fields(Parameters)})

    @property
    def _columns(self) -> Columns:
        """The features of the fit."""
        names = getattr(self, "feature_names_in_", None)
        return Columns.of_source(self.n_features_in_, names)

    def _become(self, state: FittedState, columns: Columns | None = None) -> Self:
        """Take over what a fit or an update has found, and columns of its data that are new.

        This happens in one step, so that an interrupt leaves the model before or after it.
        """
        features = (self._columns if columns is None else columns).attributes()
        own = {
            name: value
            for name, value in vars(self).items()
            if name not in ("n_features_in_", "feature_names_in_")
            and not isinstance(getattr(type(self), name, None), LookedUp)
        }
        self.__dict__ = own | features | state.attributes() | {"_state": state}
        return self
