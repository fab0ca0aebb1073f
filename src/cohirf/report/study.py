"""The subject of a report: a fitted model, the data of its fit, and names of features and classes; all are checked."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.data.dask_arrays import require_labels_here
from cohirf.diagnosis.reading import as_data, check_rows, name_features
from cohirf.diagnosis.text import shorten
from cohirf.estimator import CoHiRF


@dataclass(frozen=True)
class Classes:
    """Known classes of the rows: names of the classes, and the class number of each row."""

    names: list[str]
    code: IntArray

    def names_of(self, rows: IntArray) -> list[str]:
        """Return the class name of each of the given rows."""
        return [self.names[code] for code in self.code[rows].tolist()]


@dataclass(frozen=True)
class Study:
    """A fitted model, the data of its fit, the names of its features, and the classes of its rows, if known."""

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
        """Number of noise rows."""
        return int((self.model.labels_ < 0).sum())

    @property
    def base_method(self) -> Any:
        """The base method of the model."""
        return self.model._base_method()

    @property
    def class_codes(self) -> IntArray | None:
        """The class number of each row; None if classes are not known."""
        return None if self.classes is None else self.classes.code


def check_study(model: Any, X: Any, y: Any, feature_names: Sequence[str] | None) -> Study:
    """Return the subject of a report; raise if model, data and names do not fit together."""
    if not isinstance(model, CoHiRF):
        raise TypeError(f"{reprlib.repr(model)} of type {type(model).__name__} is not a CoHiRF: pass a fitted CoHiRF.")
    require_labels_here(model)
    X = as_data(X)
    names = name_features(model, X, feature_names)
    check_rows(model, X)
    return Study(model, X, names, None if y is None else _name_classes(y, len(model.labels_)))


def _name_classes(y: Any, n_rows: int) -> Classes:
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise ValueError(f"y has shape {values.shape}, but the data has {n_rows:,} rows: pass one class for each row.")
    if values.dtype.kind == "O":  # values of mixed types cannot be sorted
        values = np.array([str(value) for value in values.tolist()])
    distinct, code = np.unique(values, return_inverse=True)
    return Classes([shorten(name) for name in distinct.tolist()], code)
