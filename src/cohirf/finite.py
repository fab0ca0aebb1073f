"""Which values a fit can compute with: finite ones whose squares do not overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


def find_fault(X: Any, *, allow_nan: bool) -> str | None:
    """Say what is wrong with the values of ``X`` and what to do about it; None if nothing is.

    NaN (unless allowed), infinities, and values whose squares overflow are wrong. One pass over the data in the
    ordinary case: no square is above the sum of all. What is said of a table is said of one of its blocks of rows.
    """
    values = X.data if sparse.issparse(X) else X
    largest_square = np.finfo(values.dtype).max / (4 * X.shape[1])  # differences are up to twice as large
    if _sum_of_squares(values) <= largest_square:
        return None
    if sparse.issparse(X):
        allow_nan = False
    if np.isnan(values).any() and not allow_nan:
        return (
            "contains NaN. CoHiRF passes missing values on only in arrays and tables, to a base method that "
            "takes them: "
            "impute them, for instance with sklearn.impute.SimpleImputer, or leave their rows out."
        )
    if np.isinf(values).any():
        return "contains infinity: replace infinite values or leave their rows out."
    largest = float(np.nanmax(np.abs(values), initial=0))
    if largest > np.sqrt(largest_square):
        return f"holds values up to {largest:.3g}, whose squares overflow {values.dtype}: scale the data first."
    return None


def _sum_of_squares(values: NDArray[Any]) -> Any:
    flat = values.reshape(-1) if values.flags.c_contiguous else values.ravel("K")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.dot(flat, flat)
