"""The rows that clusters are described by: a sample of a table with any columns, as a matrix of numbers.

A column of numbers is one column of the matrix. A column of categories is one column of zeros and ones for each of its
frequent levels. Dates are counted in days. Columns whose values nearly all differ, such as ids and free text, are left
out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from cohirf import validation
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.reading import count_rows, is_source
from cohirf.diagnosis.text import shorten

MAX_LEVELS = 30  # of a category; rarer levels do not describe a cluster
DISTINCT = 0.5  # a column of text is left out if it has more different values than this share of its rows
ENCODED = re.compile(r"(?P<feature>.+?)=(?P<level>.+)")  # the name of a category that was encoded for the fit
DAY = np.timedelta64(1, "D")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Feature:
    """What a column of the matrix is.

    Attributes
    ----------
    name : str
        Name of the column of the table.
    kind : {"number", "level", "date", "term"}
        A number; a level of a category, which is 1 in the rows that have it; a date, in days since 1970; a column of a
        sparse matrix, which is 0 in most rows.
    level : str
        The level of a category.
    """

    name: str
    kind: str = "number"
    level: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of a table.

    Attributes
    ----------
    rows : array of int
        Row numbers.
    values : array or CSR matrix, shape (n_rows, n_columns)
        The values as float64. Missing numbers are replaced by the mean of their column.
    features : list of Feature
        What each column of ``values`` is.
    """

    rows: IntArray
    values: Any
    features: list[Feature]


def read_table(X: Any, rows: IntArray, names: Sequence[str] | None = None) -> Table:
    """Read rows of an array, table, sparse matrix or source.

    Parameters
    ----------
    X : array, table, sparse matrix or source
        The data. Columns may be numbers, categories, text, dates or truth values.
    rows : array of int
        Sorted row numbers.
    names : sequence of str, optional
        Name of each column; by default those of the table, or numbers.

    Returns
    -------
    table : Table
        These rows.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from cohirf.description.table import read_table
    >>> X = pd.DataFrame({"age": [31, 45, 27, 52], "region": ["north", "south", "north", "north"]})
    >>> table = read_table(X, np.arange(4))
    >>> [(feature.name, feature.level) for feature in table.features]
    [('age', ''), ('region', 'north'), ('region', 'south')]
    >>> table.values[0]
    array([31.,  1.,  0.])
    """
    some = take_rows(X, rows)
    if sparse.issparse(some):
        return Table(rows, sparse.csr_array(some, dtype=np.float64), _terms(_column_names(some, names)))
    values, features = [], []
    for name, column in zip(_column_names(some, names), _columns(some), strict=True):
        for feature, numbers in _read_column(shorten(name), column):
            features.append(feature)
            values.append(numbers)
    matrix = np.column_stack(values) if values else np.empty((len(rows), 0))
    return Table(rows, matrix, features)


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return rows of an array, table, sparse matrix or source, as it stores them."""
    if is_source(X):
        return X.take(rows)
    if hasattr(X, "column_names"):  # Arrow
        return X.take(rows)
    if sparse.issparse(X):
        return sparse.csr_array(X)[rows]
    return _safe_indexing(X if hasattr(X, "shape") else np.asarray(X), rows)


def read_cells(X: Any, rows: IntArray, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the values of each of some rows by the names of their columns, as they are stored.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from cohirf.description.table import read_cells
    >>> read_cells(pd.DataFrame({"age": [31, 45], "region": ["north", "south"]}), np.array([1]))
    [{'age': 45, 'region': 'south'}]
    """
    distinct, place = np.unique(rows, return_inverse=True)
    some = take_rows(X, distinct)
    if sparse.issparse(some):
        some = some.toarray()
    columns = [np.asarray(column).tolist() for column in _columns(some)]
    header = _column_names(some, names)
    return [{name: column[i] for name, column in zip(header, columns, strict=True)} for i in place.tolist()]


def count_table_rows(X: Any) -> int:
    """Return the number of rows."""
    return int(X.num_rows) if hasattr(X, "num_rows") else count_rows(X)


def _column_names(some: Any, names: Sequence[str] | None) -> list[str]:
    n_columns = some.shape[1]
    if names is not None and len(names) == n_columns:
        return [str(name) for name in names]
    if hasattr(some, "column_names"):
        return list(some.column_names)
    if hasattr(some, "columns"):
        return [str(name) for name in some.columns]
    return [f"feature {i}" for i in range(n_columns)]


def _columns(some: Any) -> list[Any]:
    """Return the columns of an array or of a pandas, polars or Arrow table."""
    if hasattr(some, "column_names"):
        return [some.column(name).to_numpy() for name in some.column_names]
    if hasattr(some, "iloc"):
        return [some.iloc[:, i] for i in range(some.shape[1])]
    if hasattr(some, "columns"):
        return [some[name] for name in some.columns]
    return list(np.asarray(some).T)


def _terms(names: Sequence[str]) -> list[Feature]:
    return [_parse(shorten(name), "term") for name in names]


def _parse(name: str, kind: str) -> Feature:
    encoded = ENCODED.fullmatch(name)
    return Feature(encoded["feature"], "level", encoded["level"]) if encoded else Feature(name, kind)


def _read_column(name: str, column: Any) -> list[tuple[Feature, Floats]]:
    """Return the columns of the matrix that a column of the table becomes."""
    cells = np.asarray(column)
    if cells.dtype.kind == "M":
        return [(Feature(name, "date"), _fill(_days(cells)))]
    if cells.dtype.kind == "m":
        return [(Feature(name), _fill((cells / DAY).astype(np.float64)))]
    if cells.dtype.kind == "b":
        return _read_levels(name, np.where(cells, "yes", "no"))
    if cells.dtype.kind in "iuf":
        return _read_numbers(name, cells.astype(np.float64))
    try:
        return _read_numbers(name, cells.astype(np.float64))  # numbers that are stored as objects
    except (TypeError, ValueError):
        return _read_levels(name, cells)


def _read_numbers(name: str, numbers: Floats) -> list[tuple[Feature, Floats]]:
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    present = numbers[~np.isnan(numbers)]
    low, high = present.min(initial=np.inf), present.max(initial=-np.inf)
    has_two = len(present) > 0 and bool(((present == low) | (present == high)).all()) and low < high
    if has_two and ENCODED.fullmatch(name):
        return [(_parse(name, "number"), np.where(numbers == high, 1.0, 0.0))]
    if has_two and (low, high) == (0, 1):
        return _read_levels(name, np.where(numbers == 1, "yes", "no"))
    return [(Feature(name), _fill(numbers))]


def _read_levels(name: str, cells: Any) -> list[tuple[Feature, Floats]]:
    """Return a column of zeros and ones for each frequent level."""
    texts = np.array(["" if _is_missing(cell) else str(cell) for cell in cells.tolist()], dtype=object)
    levels, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    if len(levels) > max(DISTINCT * len(texts), MAX_LEVELS) or len(levels) < 2:
        return []
    if levels.tolist() == ["no", "yes"]:  # one says all
        return [(Feature(name, "level", "yes"), codes.astype(np.float64))]
    frequent = np.sort(np.argsort(-counts, kind="stable")[:MAX_LEVELS])
    return [
        (Feature(name, "level", shorten(levels[code] or "missing")), (codes == code).astype(np.float64))
        for code in frequent.tolist()
    ]


def _is_missing(cell: Any) -> bool:
    return cell is None or cell != cell or str(cell) in ("<NA>", "NaT")


def _days(cells: Any) -> Floats:
    days = (cells.astype("datetime64[ns]") - np.datetime64(0, "ns")) / DAY
    return np.asarray(days, dtype=np.float64)


def _fill(numbers: Floats) -> Floats:
    """Return numbers whose missing values are replaced by the mean."""
    column = numbers.reshape(-1, 1)
    return np.asarray(fill_missing(column, validation.column_means(column))).ravel()
