"""Validation of user input, with errors that name the value and the remedy.

scikit-learn's ``validate_data`` does most of it. This file adds checks that it lacks, and clearer
messages.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from datetime import time as clock_time
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.cluster import FeatureAgglomeration
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from cohirf.rows.arrays import stored_cells
from cohirf.rows.containers import container_of
from cohirf.wording import setting

TIME_TYPES = ("date", "time", "duration", "period", "interval")
ENCODE_TIMES = "for instance into the days since a fixed date"
# values of ``metric`` with which X is a graph: distances or similarities between some pairs of rows
GRAPH_METRICS = ("precomputed", "affinity")
ENCODE_TEXT = (
    "for instance with cohirf.app.preparation.prepare(X) or sklearn.preprocessing.OneHotEncoder"
)


def raise_for_cell(X: Any, error: Exception) -> None:
    """Raise an error that says what to do if a cell of ``X``, which caused an ``error``, is text or
    a time.
    """
    if not str(error).startswith(("could not convert string to float", "float() argument")):
        return
    cells = np.asarray(X, dtype=object)
    names = [name for name, _ in _column_types(X)] or range(cells.shape[1])
    for name, column in zip(names, cells.T, strict=True):
        found = next(
            (
                cell
                for cell in column
                if isinstance(cell, str | bytes | date | clock_time | timedelta)
            ),
            None,
        )
        if found is not None:
            is_text = isinstance(found, str | bytes)
            raise ValueError(
                f"Column {name!r} of X holds {'text' if is_text else 'dates or times'}, such as "
                f"{str(found)!r}: turn it into numbers first, "
                f"{ENCODE_TEXT if is_text else ENCODE_TIMES}, or leave it out."
            ) from error


def refuse_what_is_no_table(X: Any) -> None:
    """Raise for input that is not a table of numbers, or whose conversion to one would surprise the
    user.
    """
    if X is None:
        raise TypeError("X is None: give an array or table with one row per sample.")
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X={os.fspath(X)!r} is a path: open it with cohirf.open_source and fit what that "
            "returns."
        )
    if isinstance(X, dict) and not hasattr(X, "shape"):  # scipy's dictionary of keys has one
        raise TypeError(
            "X is a dict: give an array or table with one row per sample, such as "
            "pandas.DataFrame(X)."
        )
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            f"X is a masked array with {int(X.mask.sum())} masked cells: fill them with "
            "X.filled(value) or leave their rows out."
        )
    if isinstance(X, list | tuple):
        X = _as_array(X)
    if isinstance(X, np.ndarray):
        _refuse_array_type(X)
    else:
        _refuse_columns(_column_types(X))


def check_finite(X: Any, names: Sequence[str] | None, *, allow_nan: bool) -> None:
    """Raise for NaN (unless allowed), infinities, and values whose squares overflow."""
    fault = find_fault(X, allow_nan=allow_nan)
    if fault is not None:
        all_finite = np.isfinite(stored_cells(X)).all()
        raise ValueError(
            f"Input X {fault}" if all_finite else f"Input X {fault} {locate_fault(X, names)}"
        )


def find_fault(X: Any, *, allow_nan: bool) -> str | None:
    """Describe what is wrong with the values of ``X``, and the remedy.

    Return None if nothing is wrong.

    NaN (unless allowed), infinities, and values whose squares overflow are wrong. Valid data needs
    a single pass: if the sum of all squares does not overflow, no square does. For a source, ``X``
    is one block of its rows.
    """
    values = stored_cells(X)
    # differences are up to twice as large
    largest_square = np.finfo(values.dtype).max / (4 * X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        if values.flags.c_contiguous:
            flat = values.reshape(-1)
        else:
            flat = values.ravel("K")
        if np.dot(flat, flat) <= largest_square:
            return None
    allow_nan = allow_nan and container_of(X).is_dense
    if np.isnan(values).any() and not allow_nan:
        return (
            "contains NaN. Missing values are allowed only in dense arrays and tables in memory, "
            "with a base method that supports them: impute them, for instance with "
            "cohirf.app.preparation.prepare(X) or sklearn.impute.SimpleImputer, or leave their "
            "rows out."
        )
    if np.isinf(values).any():
        return "contains infinity: replace infinite values or leave their rows out."
    largest = float(np.nanmax(np.abs(values), initial=0))
    if largest > np.sqrt(largest_square):
        return (
            f"holds values up to {largest:.3g}, whose squares overflow {values.dtype}: scale the "
            "data first."
        )
    return None


def locate_fault(X: Any, names: Sequence[str] | None = None) -> str:
    """Describe which columns of ``X`` contain NaN (or, if there is none, infinity), how often, and
    in which row first.

    Parameters
    ----------
    X : array or CSR matrix
        Values, some of which are not finite.
    names : sequence of str, optional
        Names of the columns. Without them, columns are described by their number.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.validation import locate_fault
    >>> locate_fault(np.array([[1.0, np.nan], [2.0, np.nan]]), names=["size", "age"])
    "Column 'age' has 2 such cells, the first in row 0."
    """
    is_wrong = np.isnan if np.isnan(stored_cells(X)).any() else np.isinf
    rows, columns = container_of(X).locate(X, is_wrong)
    faulty, counts = np.unique(columns, return_counts=True)
    faults = []
    n_told = 3
    for column, count in zip(faulty[:n_told].tolist(), counts[:n_told].tolist(), strict=True):
        name = column if names is None else repr(names[column])
        if count > 1:
            cells_there = f"{count:,} such cells, the first"
        else:
            cells_there = "1 such cell,"
        faults.append(f"column {name} has {cells_there} in row {rows[columns == column].min():,}")
    n_more = len(faulty) - len(faults)
    if n_more:
        faults.append(f"{n_more:,} more {'columns have' if n_more > 1 else 'column has'} some")
    text = "; ".join(faults)
    return f"{text[0].upper()}{text[1:]}."


def column_means(X: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Return the mean of each column over the cells that are not missing.

    0 if all cells are missing.
    """
    present = ~np.isnan(X)
    totals = np.where(present, X, 0).sum(axis=0)
    return np.asarray(totals / np.maximum(present.sum(axis=0), 1), dtype=X.dtype)


def takes_sparse(estimator: Any) -> bool:
    """Return whether a base method supports CSR matrices.

    Assumed if it has no scikit-learn tags.
    """
    return not hasattr(estimator, "__sklearn_tags__") or bool(get_tags(estimator).input_tags.sparse)


def takes_nan(estimator: Any) -> bool:
    """Return whether a base method supports missing values.

    For a pipeline, whether its first step does.

    That step may be several transformers side by side, all of which must. What is passed through is
    left to the next step, and a transformer that does not look at its input, such as a function,
    takes anything.
    """
    if isinstance(estimator, Pipeline):
        steps = [step for _, step in estimator.steps if not _is_left_out(step)]
        return len(steps) > 0 and takes_nan(steps[0])
    parts = getattr(estimator, "transformers", None) or getattr(estimator, "transformer_list", None)
    if parts is not None:  # of a ColumnTransformer or a FeatureUnion
        return all(takes_nan(part[1]) for part in parts if not _is_left_out(part[1]))
    if not hasattr(estimator, "__sklearn_tags__"):
        return False
    tags = get_tags(estimator)
    is_unchecked = tags.no_validation and hasattr(estimator, "transform")
    return bool(tags.input_tags.allow_nan or is_unchecked)


def _is_left_out(step: Any) -> bool:
    """Return whether a step of a pipeline, or a part of a transformer, is none."""
    return step is None or step in ("passthrough", "drop")


@dataclass(frozen=True)
class Columns:
    """The features of a fit: their number, and their names if all of these are strings."""

    n_features: int
    names: tuple[str, ...] | None = None

    def attributes(self) -> dict[str, Any]:
        """Return the attributes in which scikit-learn keeps the columns of an estimator."""
        own: dict[str, Any] = {"n_features_in_": self.n_features}
        if self.names is not None:
            own["feature_names_in_"] = np.array(self.names, dtype=object)
        return own

    @classmethod
    def of_source(cls, n_features: int, names: Sequence[str] | None) -> Columns:
        """Return the columns of a source, or of another table whose names are a list."""
        return cls(n_features, None if names is None else tuple(names))

    def check_source(self, source: Columns) -> None:
        """Raise for a source whose columns differ from those of the fit."""
        if source.n_features != self.n_features:
            raise ValueError(
                f"The source has {source.n_features} columns, but the fit had {self.n_features}: "
                "select the same columns with open_source(..., columns=...)."
            )
        if source.names is None or self.names is None or source.names == self.names:
            return
        pairs = zip(source.names, self.names, strict=True)
        other, expected = next(pair for pair in pairs if pair[0] != pair[1])
        raise ValueError(
            f"The source has column {other!r} in the place of column {expected!r} of the fit: "
            "select the same columns in the same order with open_source(..., columns=...)."
        )


class _Known(BaseEstimator):
    """Stands for a model where scikit-learn compares columns with those of an estimator."""

    def __init__(self, columns: Columns | None = None) -> None:
        self.columns = columns
        if columns is not None:
            for name, value in columns.attributes().items():
                setattr(self, name, value)

    @property
    def found(self) -> Columns:
        """The columns that scikit-learn has found, or compared."""
        names = getattr(self, "feature_names_in_", None)
        return Columns(self.n_features_in_, None if names is None else tuple(names.tolist()))


_Known.__name__ = "CoHiRF"  # messages and warnings of scikit-learn name the estimator


def check_columns(X: Any, known: Columns | None, **checks: Any) -> tuple[Any, Columns]:
    """Return a table as scikit-learn's ``validate_data`` does, and its columns.

    Raise if there are ``known`` columns, and the table has others.
    """
    model = _Known(known)
    X = validate_data(model, X, reset=known is None, **checks)
    return X, model.found


def check_base_method(estimator: Any, *, on_graph: bool = False) -> None:
    """Raise for anything that is not an instance with ``fit_predict`` or ``fit``.

    Only a model whose data are a graph can have a method that needs one.
    """
    if isinstance(estimator, type):
        raise TypeError(
            f"estimator={estimator.__name__} is a class: give an instance, such as "
            f"{estimator.__name__}()."
        )
    if not (hasattr(estimator, "fit_predict") or hasattr(estimator, "fit")):
        remedy = "give an instance with fit_predict, or with fit and either labels_ or predict."
        if isinstance(estimator, Integral):
            remedy = f"for {estimator} clusters, give n_clusters={estimator}."
        raise TypeError(f"estimator={estimator!r} is not a clustering estimator: {remedy}")
    kind = _supervised_kind(estimator)
    if kind is not None:
        raise TypeError(
            f"estimator={estimator!r} is a {kind}: it needs labels to learn from, and clustering "
            "has none. Give a clustering estimator, such as KMeans or DBSCAN."
        )
    if isinstance(estimator, FeatureAgglomeration):
        raise TypeError(
            f"estimator={estimator!r} clusters features, not rows: try AgglomerativeClustering."
        )
    if not on_graph and (
        getattr(estimator, "metric", None) == "precomputed"
        or getattr(estimator, "affinity", None) == "precomputed"
    ):
        raise ValueError(
            f"estimator={estimator!r} works on a precomputed matrix: CoHiRF needs a method that "
            'works on features, or metric="precomputed" if X is a graph.'
        )


def find_columns(columns: Any, known: Columns) -> NDArray[np.intp]:
    """Return the numbers of columns that are given by names, numbers, a slice or a mask."""
    wanted = [columns] if isinstance(columns, str | Integral) else columns
    if not isinstance(wanted, slice):
        wanted = np.asarray(list(wanted))
        if wanted.dtype.kind in "UO":
            number_of = {name: number for number, name in enumerate(known.names or ())}
            missing = [name for name in wanted.tolist() if name not in number_of]
            if missing:
                raise ValueError(
                    f"views: X has no column {missing[0]!r}: give names or numbers of its columns."
                )
            wanted = np.array([number_of[name] for name in wanted.tolist()])
    try:
        found = np.arange(known.n_features)[wanted]
    except IndexError as error:
        raise ValueError(
            f"views: columns {columns!r} do not fit the {known.n_features} features of X."
        ) from error
    if found.ndim != 1 or len(found) == 0 or len(np.unique(found)) < len(found):
        raise ValueError(f"views: columns {columns!r} are not one or more different columns of X.")
    return found


def count_views(views: Any) -> int:
    """Return the number of views, which are given as a number or as a list."""
    return int(views) if isinstance(views, Integral) else len(views)


def count_view_features(max_features: int | float, n_features: int) -> int:
    """Return the number of features in a view of data with ``n_features`` features."""
    if isinstance(max_features, int | np.integer):
        if max_features > n_features:
            raise ValueError(
                f"{setting('max_features', max_features)} is above the {n_features} features of X: "
                f"give an int from 1 to {n_features} or a fraction in (0, 1]."
            )
        return int(max_features)
    return max(1, round(max_features * n_features))


def _supervised_kind(estimator: Any) -> str | None:
    """Return the kind of a method that needs labels to learn from; None if it needs no labels."""
    if not hasattr(estimator, "__sklearn_tags__"):
        return None
    if is_classifier(estimator):
        return "classifier"
    if is_regressor(estimator):
        return "regressor"
    if get_tags(estimator).target_tags.required:
        return "supervised method"
    return None


def _as_array(X: Any) -> Any:
    try:
        return np.asarray(X)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            "The rows of X differ in length: give the same number of values in each row."
        ) from error


def _refuse_array_type(X: NDArray[Any]) -> None:
    is_text = X.dtype.kind == "O" and any(isinstance(cell, str | bytes) for cell in X.flat)
    if is_text or X.dtype.kind in "mMSUV":
        raise ValueError(f"X holds values of type {X.dtype}: turn them into numbers first.")


def _column_types(X: Any) -> list[tuple[Any, str]]:
    """Return the name and type of each column of a pandas, polars or Arrow table.

    An empty list for other input.
    """
    if hasattr(X, "column_names"):  # Arrow
        return [(field.name, str(field.type)) for field in X.schema]
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return [(name, str(dtype)) for name, dtype in zip(X.columns, X.dtypes, strict=True)]
    return []


def _refuse_columns(columns: list[tuple[Any, str]]) -> None:
    repeated = [name for name, times in Counter(name for name, _ in columns).items() if times > 1]
    if repeated:
        raise ValueError(
            f"The column name {repeated[0]!r} of X appears more than once: rename the columns."
        )
    for name, dtype in columns:
        text_types = ("str", "string", "large_string", "utf8", "binary")
        if dtype.lower().startswith(TIME_TYPES + text_types):
            if dtype.lower().startswith(TIME_TYPES):
                example = ENCODE_TIMES
            else:
                example = ENCODE_TEXT
            raise ValueError(
                f"Column {name!r} of X has type {dtype}: turn it into numbers first, {example}, or "
                "leave it out."
            )
