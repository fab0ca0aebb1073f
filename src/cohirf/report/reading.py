"""Rows of the data by number, whatever holds it: an array, a table, a sparse matrix or a source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import _num_samples

from cohirf import validation
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.grouping import IntArray


def is_source(data: Any) -> bool:
    """Tell whether data is read through ``take``."""
    return hasattr(data, "n_rows") and hasattr(data, "take")


def count_rows(data: Any) -> int:
    """Return the number of rows."""
    return int(data.n_rows if is_source(data) else _num_samples(data))


def read_rows(data: Any, rows: IntArray) -> Any:
    """Return rows in the given order, as an array of float64 or a CSR matrix.

    Missing values are the mean of their column over these rows.
    """
    distinct, place = np.unique(rows, return_inverse=True)
    chosen = data.take(distinct) if is_source(data) else _safe_indexing(data, distinct)
    checked = check_array(chosen, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    ordered = checked[place]
    return ordered if sparse.issparse(ordered) else fill_missing(ordered, validation.column_means(ordered))


def as_dense(features: Any) -> NDArray[np.float64]:
    """Return an array, whatever holds the features."""
    return np.asarray(features.toarray() if sparse.issparse(features) else features, dtype=np.float64)
