"""One call of the base clustering method on one view, whatever its interface."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from cohirf.algorithm.grouping import IntArray

# Sizes that cannot exceed the number of rows. They are lowered only for a call that fails without it: a DBSCAN with
# min_samples above the number of rows is no error, and means that every row is noise.
SIZES = ("n_clusters", "n_components", "n_neighbors", "min_samples", "min_cluster_size")
# Switches that allow a method to overwrite its input.
COPIES = ("copy", "copy_x")


def label_rows(
    estimator: Any, view: Any, rng: np.random.Generator, sample_weight: Any = None, *, may_overwrite: bool = False
) -> IntArray:
    """Return the labels a fresh clone of ``estimator`` gives to the rows of ``view``.

    Parameters
    ----------
    estimator : object
        Has ``fit_predict``, or ``fit`` and ``labels_``, or ``fit`` and ``predict``. It is never changed.
    view : array or CSR matrix
        The rows and features to cluster.
    rng : numpy.random.Generator
        Seeds every ``random_state`` of the clone, nested ones included.
    sample_weight : array, optional
        Mass of each row, for methods that take it.
    may_overwrite : bool
        Whether the method may use the memory of ``view`` for itself.
    """
    n_rows = view.shape[0]
    if n_rows == 1:
        return np.zeros(1, dtype=np.int32)
    method = _seeded_clone(estimator, rng, may_overwrite)
    weights = {} if sample_weight is None else {weight_argument(estimator): sample_weight}
    too_large = {
        name: n_rows
        for name, value in _parameters(method).items()
        if name.rsplit("__", 1)[-1] in SIZES and isinstance(value, int | np.integer) and value > n_rows
    }
    try:
        labels = _fit_labels(method, view, weights)
    except Exception:
        if not too_large:
            raise
        labels = _fit_labels(method.set_params(**too_large), view, weights)
    return _check_labels(labels, n_rows, estimator)


def weight_argument(estimator: Any) -> str | None:
    """Return the name under which ``fit`` takes sample weights, or None if it does not take them."""
    if isinstance(estimator, Pipeline):
        step, last = estimator.steps[-1]
        inner = weight_argument(last)
        return None if inner is None else f"{step}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _seeded_clone(estimator: Any, rng: np.random.Generator, may_overwrite: bool) -> Any:
    method = clone(estimator, safe=False)  # without get_params: a deep copy
    settings: dict[str, Any] = {}
    for name, value in sorted(_parameters(method).items()):
        last = name.rsplit("__", 1)[-1]
        if last == "random_state":
            settings[name] = int(rng.integers(2**31 - 1))
        elif last in COPIES and isinstance(value, bool):
            settings[name] = not may_overwrite
    return method.set_params(**settings) if settings else method


def _parameters(method: Any) -> dict[str, Any]:
    return method.get_params() if hasattr(method, "get_params") else {}


def _fit_labels(method: Any, view: Any, weights: dict[Any, Any]) -> Any:
    if hasattr(method, "fit_predict"):
        return method.fit_predict(view, **weights)
    method.fit(view, **weights)
    return method.labels_ if hasattr(method, "labels_") else method.predict(view)


def _check_labels(labels: Any, n_rows: int, estimator: Any) -> IntArray:
    labels = np.asarray(labels)
    name = type(estimator).__name__
    if labels.shape != (n_rows,):
        raise ValueError(
            f"The base method {name} returned labels of shape {labels.shape} for {n_rows} rows: "
            f"it must return one label per row."
        )
    if not np.issubdtype(labels.dtype, np.integer):
        raise TypeError(f"The base method {name} returned labels of type {labels.dtype}: they must be integers.")
    return labels.astype(np.int64) if labels.dtype.kind == "u" else labels
