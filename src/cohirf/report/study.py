"""What a report is about: a fitted model, the data of its fit, and names for both; and what is refused."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils.validation import _get_feature_names, check_is_fitted

from cohirf import validation
from cohirf.algorithm.grouping import IntArray
from cohirf.estimator import CoHiRF
from cohirf.report.reading import as_dense, count_rows, is_source, read_rows
from cohirf.report.text import shorten

CHECKED_MEDOIDS = 100  # by which the data of the fit is known again


@dataclass(frozen=True)
class Classes:
    """Known classes of the rows: their names, and the number of each row's class."""

    names: list[str]
    code: IntArray

    def names_of(self, rows: IntArray) -> list[str]:
        """Return the name of the class of each of some rows."""
        return [self.names[code] for code in self.code[rows].tolist()]


@dataclass(frozen=True)
class Study:
    """A fitted model, the data of its fit, and what its columns and rows are called."""

    model: CoHiRF
    data: Any
    feature_names: list[str]
    classes: Classes | None

    @property
    def n_rows(self) -> int:
        """Number of rows of the data."""
        return len(self.model.labels_)

    @property
    def n_noise(self) -> int:
        """Number of rows that are in no cluster."""
        return int((self.model.labels_ < 0).sum())

    @property
    def base_method(self) -> Any:
        """The base method of the model."""
        return KMeans() if self.model.estimator is None else self.model.estimator

    @property
    def class_codes(self) -> IntArray | None:
        """The number of each row's class, if classes are known."""
        return None if self.classes is None else self.classes.code


def check_study(model: Any, X: Any, y: Any, feature_names: Sequence[str] | None) -> Study:
    """Return what a report is about, or say what does not fit."""
    if not isinstance(model, CoHiRF):
        raise TypeError(
            f"{reprlib.repr(model)} of type {type(model).__name__} is not what a report is about: give a fitted CoHiRF."
        )
    check_is_fitted(model)
    X = _as_data(X)
    names = _name_features(model, X, feature_names)
    _check_rows(model, X)
    return Study(model, X, names, None if y is None else _name_classes(y, len(model.labels_)))


def _as_data(X: Any) -> Any:
    if is_source(X):
        return X
    validation.refuse_what_is_no_table(X)
    if sparse.issparse(X):
        return sparse.csr_array(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _name_features(model: CoHiRF, X: Any, given: Sequence[str] | None) -> list[str]:
    n_features = model.n_features_in_
    seen = getattr(model, "feature_names_in_", None)
    in_data = None if is_source(X) else _get_feature_names(X)
    names = next((names for names in (given, seen, in_data) if names is not None), None)
    if names is None:
        return [f"feature {i}" for i in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names for {n_features} features: give one for each.")
    return [shorten(name) for name in names]


def _check_rows(model: CoHiRF, X: Any) -> None:
    """Refuse data that the model was not fitted on: its medoids would not be where they were."""
    n_rows = count_rows(X)
    if n_rows != len(model.labels_):
        raise ValueError(
            f"X has {n_rows:,} rows, and the model was fitted on {len(model.labels_):,}: give the data of the fit."
        )
    found = as_dense(read_rows(X, model.medoid_indices_[:CHECKED_MEDOIDS]))
    medoids = as_dense(model.medoids_[:CHECKED_MEDOIDS])
    if found.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {found.shape[1]} features, and the model was fitted on {model.n_features_in_}: "
            f"give the data of the fit."
        )
    differs = ~np.isclose(found, medoids, rtol=1e-4) & ~np.isnan(medoids)
    if differs.any():
        cluster = int(np.flatnonzero(differs.any(axis=1))[0])
        raise ValueError(
            f"Row {model.medoid_indices_[cluster]} of X is not the medoid of cluster {cluster} any more: give the data "
            f"of the fit, scaled alike and with its rows in the same order."
        )


def _name_classes(y: Any, n_rows: int) -> Classes:
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise ValueError(f"y has shape {values.shape}, and the data has {n_rows:,} rows: give one class for each row.")
    if values.dtype.kind == "O":  # mixed types have no order
        values = np.array([str(value) for value in values.tolist()])
    distinct, code = np.unique(values, return_inverse=True)
    return Classes([shorten(name) for name in distinct.tolist()], code)
