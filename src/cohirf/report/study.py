"""What a report is about: a fitted model, the data of its fit, and names for both; and what is refused."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.diagnose import base_method_of
from cohirf.diagnosis.reading import as_data, check_rows, name_features
from cohirf.diagnosis.text import shorten
from cohirf.estimator import CoHiRF


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
        return base_method_of(self.model)

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
    model._check_labels_are_here()
    X = as_data(X)
    names = name_features(model, X, feature_names)
    check_rows(model, X)
    return Study(model, X, names, None if y is None else _name_classes(y, len(model.labels_)))


def _name_classes(y: Any, n_rows: int) -> Classes:
    values = np.asarray(y)
    if values.shape != (n_rows,):
        raise ValueError(f"y has shape {values.shape}, and the data has {n_rows:,} rows: give one class for each row.")
    if values.dtype.kind == "O":  # mixed types have no order
        values = np.array([str(value) for value in values.tolist()])
    distinct, code = np.unique(values, return_inverse=True)
    return Classes([shorten(name) for name in distinct.tolist()], code)
