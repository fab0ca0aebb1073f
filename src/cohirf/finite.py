"""Checks that values are finite, and that their squares do not overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

COLUMNS_TOLD = 3


def find_fault(X: Any, *, allow_nan: bool) -> str | None:
    """Describe what is wrong with the values of ``X``, and the remedy; return None if nothing is wrong.

    NaN (unless allowed), infinities, and values whose squares overflow are wrong. Valid data needs a single pass: if
    the sum of all squares does not overflow, no square does. For a source, ``X`` is one block of its rows.
    """
    values = X.data if sparse.issparse(X) else X
    largest_square = np.finfo(values.dtype).max / (4 * X.shape[1])  # differences are up to twice as large
    if _sum_of_squares(values) <= largest_square:
        return None
    if sparse.issparse(X):
        allow_nan = False
    if np.isnan(values).any() and not allow_nan:
        return (
            "contains NaN. Missing values are allowed only in dense arrays and tables in memory, with a base method "
            "that supports them: "
            "impute them, for instance with sklearn.impute.SimpleImputer, or leave their rows out."
        )
    if np.isinf(values).any():
        return "contains infinity: replace infinite values or leave their rows out."
    largest = float(np.nanmax(np.abs(values), initial=0))
    if largest > np.sqrt(largest_square):
        return f"holds values up to {largest:.3g}, whose squares overflow {values.dtype}: scale the data first."
    return None


def locate_fault(X: Any, names: Sequence[str] | None = None) -> str:
    """Describe which columns of ``X`` contain NaN (or, if there is none, infinity), how often, and in which row first.

    Parameters
    ----------
    X : array or CSR matrix
        Values, some of which are not finite.
    names : sequence of str, optional
        Names of the columns. Without them, columns are described by their number.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.finite import locate_fault
    >>> locate_fault(np.array([[1.0, np.nan], [2.0, np.nan]]), names=["size", "age"])
    "Column 'age' has 2 such cells, the first in row 0."
    """
    values = X.data if sparse.issparse(X) else X
    is_wrong = np.isnan if np.isnan(values).any() else np.isinf
    if sparse.issparse(X):
        cells = X.tocoo()
        wrong = is_wrong(cells.data)
        rows, columns = cells.row[wrong], cells.col[wrong]
    else:
        rows, columns = np.nonzero(is_wrong(X))
    faulty, counts = np.unique(columns, return_counts=True)
    told = []
    for column, count in zip(faulty[:COLUMNS_TOLD].tolist(), counts[:COLUMNS_TOLD].tolist(), strict=True):
        name = column if names is None else repr(names[column])
        cells_there = f"{count:,} such cells, the first" if count > 1 else "1 such cell,"
        told.append(f"column {name} has {cells_there} in row {rows[columns == column].min():,}")
    n_more = len(faulty) - len(told)
    if n_more:
        told.append(f"{n_more:,} more {'columns have' if n_more > 1 else 'column has'} some")
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}."


def _sum_of_squares(values: NDArray[Any]) -> Any:
    flat = values.reshape(-1) if values.flags.c_contiguous else values.ravel("K")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.dot(flat, flat)
