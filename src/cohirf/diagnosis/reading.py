"""Read rows by number from an array, a table, a sparse matrix or a source; check that it is the data of the fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _get_feature_names, _num_samples

from cohirf import validation
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.text import shorten

CHECKED_MEDOIDS = 100  # number of medoids that are compared with X, to recognise the data of the fit


def is_source(data: Any) -> bool:
    """Return whether ``data`` is a source, from which rows are read with ``take``."""
    return hasattr(data, "n_rows") and hasattr(data, "take")


def count_rows(data: Any) -> int:
    """Return the number of rows."""
    return int(data.n_rows if is_source(data) else _num_samples(data))


def read_rows(data: Any, rows: IntArray) -> Any:
    """Return rows in the given order, as an array of float64 or a CSR matrix.

    Missing values are replaced by the mean of their column over these rows.
    """
    distinct, place = np.unique(rows, return_inverse=True)
    chosen = data.take(distinct) if is_source(data) else _safe_indexing(data, distinct)
    checked = check_array(chosen, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    ordered = checked[place]
    return ordered if sparse.issparse(ordered) else fill_missing(ordered, validation.column_means(ordered))


def as_data(X: Any) -> Any:
    """Return ``X`` as an array, table, CSR matrix or source; raise if it cannot be one."""
    if is_source(X):
        return X
    validation.refuse_what_is_no_table(X)
    if sparse.issparse(X):
        return sparse.csr_array(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def name_features(model: Any, X: Any, given: Sequence[str] | None = None) -> list[str]:
    """Return the names of the features: those given, or those seen by ``fit``, or those of ``X``, or numbers."""
    n_features = model.n_features_in_
    seen = getattr(model, "feature_names_in_", None)
    in_data = None if is_source(X) else _get_feature_names(X)
    names = next((names for names in (given, seen, in_data) if names is not None), None)
    if names is None:
        return [f"feature {i}" for i in range(n_features)]
    if len(names) != n_features:
        raise ValueError(
            f"feature_names has {len(names)} names, but there are {n_features} features: pass one for each."
        )
    return [shorten(name) for name in names]


def check_rows(model: Any, X: Any) -> None:
    """Raise if ``X`` is not the data of the fit: its size differs, or the medoids are not at their row numbers.

    Of medoids that take the place of forgotten rows, the values can be means; these are not compared.
    """
    n_rows = count_rows(X)
    if n_rows != len(model.labels_):
        raise ValueError(
            f"X has {n_rows:,} rows, but the model was fitted on {len(model.labels_):,}: pass the data of the fit."
        )
    found = as_dense(read_rows(X, model.medoid_indices_[:CHECKED_MEDOIDS]))
    medoids = as_dense(model.medoids_[:CHECKED_MEDOIDS])
    if found.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {found.shape[1]} features, but the model was fitted on {model.n_features_in_}: "
            f"pass the data of the fit."
        )
    differs = ~np.isclose(found, medoids, rtol=1e-4) & ~np.isnan(medoids)
    if model._summary is not None:
        differs[np.isin(model.medoid_indices_[:CHECKED_MEDOIDS], model._summary.unknown_rows)] = False
    if differs.any():
        cluster = int(np.flatnonzero(differs.any(axis=1))[0])
        raise ValueError(
            f"Row {model.medoid_indices_[cluster]} of X differs from the medoid of cluster "
            f"{model.cluster_numbers_[cluster]}: pass the data of the fit, with the same scaling and the same order of "
            f"rows."
        )


def as_dense(features: Any) -> NDArray[np.float64]:
    """Return features as a dense array of float64."""
    return np.asarray(features.toarray() if sparse.issparse(features) else features, dtype=np.float64)
