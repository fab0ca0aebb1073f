"""What a report is about: a fitted model, the data of its fit, and names for both; and what is refused."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _get_feature_names, _num_samples, check_is_fitted

from cohirf import validation
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.grouping import IntArray
from cohirf.estimator import CoHiRF
from cohirf.plotting.projection import draw_rows

SAMPLE_CELLS = 5_000_000  # 40 MB: what a report reads of the data
MIN_SAMPLE_ROWS = 500
SEED = 0  # a report of the same model shows the same rows
MAX_NAME = 120  # characters


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


@dataclass(frozen=True)
class Sample:
    """The rows that a report reads, all or a part: their numbers, in rising order, and their features.

    ``features`` is an array of float64 or a CSR matrix. Missing values are the mean of their column.
    """

    rows: IntArray
    features: Any

    def draw(self, n_rows: int) -> IntArray:
        """Return the positions in the sample of so many of its rows, in rising order."""
        return np.sort(draw_rows(len(self.rows), n_rows, SEED))


def check_study(model: Any, X: Any, y: Any, feature_names: Sequence[str] | None) -> Study:
    """Return what a report is about, or say what does not fit."""
    if not isinstance(model, CoHiRF):
        raise TypeError(
            f"{reprlib.repr(model)} of type {type(model).__name__} is not what a report is about: give a fitted CoHiRF."
        )
    check_is_fitted(model)
    if not _is_source(X):
        validation.refuse_what_is_no_table(X)
        X = sparse.csr_array(X) if sparse.issparse(X) else X if hasattr(X, "shape") else np.asarray(X)
    names = _name_features(model, X, feature_names)
    _check_rows(model, X)
    return Study(model, X, names, None if y is None else _name_classes(y, len(model.labels_)))


def draw_sample(study: Study) -> Sample:
    """Read all rows of small data, and of large data as many as have a limited number of cells."""
    wanted = max(SAMPLE_CELLS // _cells_per_row(study), MIN_SAMPLE_ROWS)
    rows = np.sort(draw_rows(study.n_rows, wanted, SEED))
    return Sample(rows, read_rows(study.data, rows))


def read_rows(data: Any, rows: IntArray) -> Any:
    """Return rows of the data in the given order, as an array of float64 or a CSR matrix without missing values."""
    distinct, place = np.unique(rows, return_inverse=True)
    chosen = data.take(distinct) if _is_source(data) else _safe_indexing(data, distinct)
    checked = check_array(chosen, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    ordered = checked[place]
    return ordered if sparse.issparse(ordered) else fill_missing(ordered, validation.column_means(ordered))


def as_dense(features: Any) -> NDArray[np.float64]:
    """Return an array, whatever holds the features."""
    return np.asarray(features.toarray() if sparse.issparse(features) else features, dtype=np.float64)


def shorten(text: Any, length: int = MAX_NAME) -> str:
    """Return text in one line that is not longer than a page can bear."""
    line = " ".join(str(text).split())
    return line if len(line) <= length else f"{line[: length - 1]}\N{HORIZONTAL ELLIPSIS}"


def _is_source(X: Any) -> bool:
    return hasattr(X, "n_rows") and hasattr(X, "take")


def _cells_per_row(study: Study) -> int:
    n_cells = study.data.nnz // max(study.n_rows, 1) if sparse.issparse(study.data) else study.model.n_features_in_
    return max(int(n_cells), 1)


def _name_features(model: CoHiRF, X: Any, given: Sequence[str] | None) -> list[str]:
    n_features = model.n_features_in_
    names = given
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None and not _is_source(X):
        names = _get_feature_names(X)
    if names is None:
        return [f"feature {i}" for i in range(n_features)]
    if len(names) != n_features:
        raise ValueError(f"feature_names has {len(names)} names for {n_features} features: give one for each.")
    return [shorten(name) for name in names]


def _check_rows(model: CoHiRF, X: Any) -> None:
    """Refuse data that the model was not fitted on: its medoids would not be where they were."""
    n_rows = X.n_rows if _is_source(X) else _num_samples(X)
    if n_rows != len(model.labels_):
        raise ValueError(
            f"X has {n_rows:,} rows, and the model was fitted on {len(model.labels_):,}: give the data of the fit."
        )
    found, medoids = read_rows(X, model.medoid_indices_), as_dense(model.medoids_)
    if found.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {found.shape[1]} features, and the model was fitted on {model.n_features_in_}: "
            f"give the data of the fit."
        )
    differs = ~np.isclose(as_dense(found), medoids, rtol=1e-4) & ~np.isnan(medoids)
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
