"""Rows of a table with any columns, as a matrix of numbers; and rows of the data of a fit.

A column of numbers is one column of the matrix. A column of categories is one column of zeros and
ones for each of its frequent levels. Dates are counted in days. Columns whose values nearly all
differ, such as ids and free text, are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.extmath import row_norms
from sklearn.utils.sparsefuncs import min_max_axis
from sklearn.utils.validation import _get_feature_names, _num_samples

from cohirf import CoHiRF
from cohirf.app.explain.policy import LEVEL, SAMPLE, TRAIT
from cohirf.app.explain.words import plain_name, say_value, shorten
from cohirf.app.preparation.kinds import Boolean, LeftOut
from cohirf.app.preparation.policy import SCALE
from cohirf.inspection import column_means, fill_missing, refuse_what_is_no_table
from cohirf.rows import FloatArray, IntArray
from cohirf.sources import ScaledSource, unit_rows

Sets = Sequence[Sequence[int]]  # clusters, or unions of them
CYCLE_PARTS = {
    "hour": ("night", "morning", "afternoon", "evening"),  # of six hours each, from midnight on
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}


def is_source(data: Any) -> bool:
    """Return whether ``data`` is a source, from which rows are read with ``take``."""
    return hasattr(data, "n_rows") and hasattr(data, "take")


def count_rows(data: Any) -> int:
    """Return the number of rows of an array, table, sparse matrix or source."""
    if hasattr(data, "num_rows"):  # Arrow
        return int(data.num_rows)
    return int(data.n_rows if is_source(data) else _num_samples(data))


def read_rows(data: Any, rows: IntArray) -> Any:
    """Return rows in the given order as float64, without missing values: these are the mean of
    their column over these very rows.

    So compare only rows that were read together.
    """
    distinct, place = np.unique(rows, return_inverse=True)
    return to_numbers(take_rows(data, distinct), place)


def to_numbers(some: Any, order: Any = slice(None)) -> Any:
    """Return rows as float64, in the given order.

    Missing values are replaced by the mean of their column.
    """
    checked = check_array(
        some, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0
    )
    ordered = checked[order]
    if sparse.issparse(ordered):
        return ordered
    return fill_missing(ordered, column_means(ordered))


def to_known_matrix(some: Any) -> Any:
    """Return rows for packages that know no sparse arrays, but matrices."""
    if sparse.issparse(some):
        return sparse.csr_matrix(some)
    return to_numbers(some)


def number_rows(points: Any) -> IntArray:
    """Return a number for each row, the same for rows that are equal."""
    if sparse.issparse(points):
        return np.arange(points.shape[0])
    # -0.0 and 0.0 are equal, and differ in their bits
    return np.unique(points + 0.0, axis=0, return_inverse=True)[1].ravel()


@dataclass(frozen=True)
class Transformed:
    """Rows of some data after a transformation: only those that are asked for are transformed."""

    transform: Callable[[Any], Any]
    data: Any
    n_features: int | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return count_rows(self.data)

    def take(self, rows: IntArray) -> Any:
        """Return transformed rows."""
        return self.transform(take_rows(self.data, np.asarray(rows)))


def as_data(X: Any, metric: str) -> Any:
    """Return ``X`` as a model with this metric sees it: for cosine, rows have length 1.

    Raise if it is no data.
    """
    if metric == "cosine":
        data = as_data(X, "euclidean")
        n_features = data.n_features if is_source(data) else data.shape[1]
        return Transformed(lambda some: unit_rows(to_numbers(some)), data, n_features)
    if is_source(X):
        return X
    refuse_what_is_no_table(X)
    if sparse.issparse(X):
        return sparse.csr_array(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def name_features(model: CoHiRF, X: Any, given: Sequence[str] | None = None) -> list[str]:
    """Return the names of the features: those given, or those seen by ``fit``, or those of ``X``,
    or numbers.
    """
    n_features = model.n_features_in_
    seen = getattr(model, "feature_names_in_", None)
    in_data = None if is_source(X) else _get_feature_names(X)
    names = next((names for names in (given, seen, in_data) if names is not None), None)
    if names is None:
        return [f"feature {i}" for i in range(n_features)]
    if len(names) != n_features:
        raise ValueError(
            f"feature_names has {len(names)} names, but there are {n_features} features: pass one "
            "for each."
        )
    return [shorten(name) for name in names]


def names_of(model: CoHiRF, X: Any, given: Sequence[str] | None) -> list[str] | None:
    """Return the names of the columns of data without names; None if the data has names."""
    if given is not None:
        return [str(name) for name in given]
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return None
    seen = getattr(X, "feature_names", None) or getattr(model, "feature_names_in_", None)
    return None if seen is None else [str(name) for name in seen]


def check_n_rows(model: CoHiRF, X: Any, wanted: str = "the data of the fit") -> None:
    """Raise if ``X`` does not have as many rows as the model."""
    n_rows = count_rows(X)
    n_own = len(model.labels_)
    if n_rows == n_own:
        return
    if model.changes_ is not None:
        raise ValueError(
            f"X has {n_rows:,} rows, but the model has {n_own:,} after its updates: pass all rows "
            "of the fit and of the updates, in order, without those that were forgotten."
        )
    raise ValueError(
        f"X has {n_rows:,} rows, but the model was fitted on {n_own:,}: pass {wanted}."
    )


def check_rows(model: CoHiRF, X: Any) -> None:
    """Raise if ``X`` is not the data of the fit: its size differs, or the medoids are not at their
    row numbers.

    Of medoids that take the place of forgotten rows, the values can be means; these are not
    compared.
    """
    check_n_rows(model, X)
    found = as_dense(read_rows(X, model.medoid_indices_[: SAMPLE.checked_medoids]))
    medoids = as_dense(model.medoids_[: SAMPLE.checked_medoids])
    if found.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {found.shape[1]} features, but the model was fitted on {model.n_features_in_}: "
            "pass the data of the fit."
        )
    differs = ~np.isclose(found, medoids, rtol=1e-4) & ~np.isnan(medoids)
    differs[np.isin(model.medoid_indices_[: SAMPLE.checked_medoids], model.stand_in_indices_)] = (
        False
    )
    if differs.any():
        cluster = int(np.flatnonzero(differs.any(axis=1))[0])
        raise ValueError(
            f"Row {model.medoid_indices_[cluster]} of X differs from the medoid of cluster "
            f"{model.cluster_numbers_[cluster]}: pass the data of the fit, with the same scaling "
            "and the same order of rows."
        )


def stack_rows(parts: Sequence[Any]) -> Any:
    """Return blocks of rows, all arrays or all sparse, below each other."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.vstack(parts)


def cells_per_row(data: Any) -> int | None:
    """Return how many cells of a row are stored, on average; None if nobody has counted them."""
    if sparse.issparse(data):
        return int(data.nnz // data.shape[0])
    return int(data.shape[1]) if hasattr(data, "shape") else None


def most_central(features: Any) -> int:
    """Return the row of an array or CSR matrix that is nearest to the mean of all rows."""
    mean = np.asarray(features.mean(axis=0)).ravel()
    if sparse.issparse(features):  # the difference to the mean would not be sparse
        return int((row_norms(features, squared=True) - 2 * (features @ mean)).argmin())
    return int(((features - mean) ** 2).sum(axis=1).argmin())


def as_dense(features: Any) -> NDArray[np.float64]:
    """Return features as a dense array of float64."""
    return np.asarray(
        features.toarray() if sparse.issparse(features) else features, dtype=np.float64
    )


@dataclass(frozen=True)
class Feature:
    """What a column of the matrix is."""

    name: str  # of the column of the table
    # "number"; "level" of a category, 1 in the rows that have it; "date", in days since 1970;
    # "term", a column of a sparse matrix, which is 0 in most rows
    kind: str = "number"
    level: str = ""  # the level of a category
    noun: str = ""  # what the numbers of a column are whose name is a number itself, such as a year
    opposite: str = ""  # the level that all other rows have, if there are two
    joined: tuple[str, ...] = ()  # the levels, if several are said as one

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that the feature marks; none if it is no level."""
        return self.joined or ((self.level,) if self.kind == "level" else ())

    @property
    def plain(self) -> str:
        """The name without underscores and units."""
        return f"{self.noun} {plain_name(self.name)}".strip()

    def say(self, value: float) -> str:
        """Return a value of the feature, or a mean."""
        return say_value(value, self.kind, self.plain)


@dataclass(frozen=True)
class Sums:
    """Sums over some rows of a table, from its origin: one line for each set of clusters."""

    n_rows: IntArray
    weight: FloatArray  # of the rows, in a column
    mass: FloatArray  # of the rows whose cell is known: of each feature, or the same for all
    total: FloatArray
    squares: FloatArray

    def each(self, function: Callable[[Any], Any]) -> Sums:
        """Return the result of a function of each of the sums."""
        sums = (self.n_rows, self.weight, self.mass, self.total, self.squares)
        return Sums(*map(function, sums))

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Whether a mean speaks for the rows: most of them have a cell."""
        return np.asarray((self.mass > 0) & (self.mass >= TRAIT.known * self.weight))

    def mean(self) -> FloatArray:
        """Return the means, from the origin; 0 without rows."""
        return np.asarray(self.total / np.where(self.mass > 0, self.mass, 1))

    def deviation(self) -> FloatArray:
        """Return the standard deviations."""
        squares = self.squares / np.where(self.mass > 0, self.mass, 1)
        return np.sqrt(np.maximum(squares - self.mean() ** 2, 0))


@dataclass(frozen=True)
class Table:
    """Rows of a table."""

    rows: IntArray  # row numbers
    # array or CSR matrix of float64; missing numbers are replaced by the mean of their column
    values: Any
    features: list[Feature]  # what each column of ``values`` is
    # how many rows of the data each row stands for; None if each is one
    weights: FloatArray | None = None
    # which cells are in the data; the others were filled, and say nothing. None: all of them
    known: NDArray[np.bool_] | None = None

    def choose(self, columns: list[int]) -> Table:
        """Return a table of some of the features."""
        features = [self.features[column] for column in columns]
        known = None if self.known is None else self.known[:, columns]
        return replace(
            self, values=as_dense(self.values[:, columns]), features=features, known=known
        )

    @cached_property
    def origin(self) -> Any:
        """Subtracted before values are summed, so that large ones lose no precision: the mean.

        0 of sparse data.
        """
        if self.weights is None:
            weights = np.ones(len(self.rows))
        else:
            weights = self.weights
        if sparse.issparse(self.values):
            return 0.0
        return weights @ self.values / weights.sum()

    @cached_property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """The lowest and the highest value of each feature."""
        if sparse.issparse(self.values):
            low, high = min_max_axis(self.values, axis=0)
            return low, high
        return self.values.min(axis=0), self.values.max(axis=0)

    def sum_up(self, labels: IntArray, sets: Sets) -> Sums:
        """Sum up the rows of each of ``sets`` of clusters, given the cluster of each row."""
        present, label = np.unique(labels, return_inverse=True)
        place_of = {value: place for place, value in enumerate(present.tolist())}
        pairs = [
            (number, place_of[one])
            for number, some in enumerate(sets)
            for one in some
            if one in place_of
        ]
        number, place = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        of_sets = sparse.csr_array(
            (np.ones(len(number)), (number, place)), shape=(len(sets), len(present))
        )
        shape = len(present), len(label)
        members = of_sets @ sparse.csr_array(
            (np.ones(len(label)), (label, np.arange(len(label)))), shape=shape
        )
        counts = np.asarray(members.sum(axis=1)).ravel().astype(np.int64)
        members = members if self.weights is None else members * self.weights
        is_sparse = sparse.issparse(self.values)
        shifted = self.values if is_sparse else self.values - self.origin
        weight = np.asarray(members.sum(axis=1)).reshape(-1, 1)
        if self.known is None:
            mass = weight
        else:
            shifted = np.where(self.known, shifted, 0.0)
            mass = as_dense(members @ self.known.astype(np.float64))
        squares = shifted.multiply(shifted) if is_sparse else shifted**2
        totals = as_dense(members @ shifted)
        return Sums(counts, weight, mass, totals, as_dense(members @ squares))

    @cached_property
    def whole(self) -> Sums:
        """Sums over all rows, in one line."""
        return self.sum_up(np.zeros(len(self.rows), dtype=np.int64), [[0]])

    @property
    def mean(self) -> FloatArray:
        """Mean of each feature."""
        return np.asarray(self.origin + self.whole.mean()[0])

    @cached_property
    def deviation(self) -> FloatArray:
        """Standard deviation of each feature.

        0 for a constant, of which rounding may leave more.
        """
        return np.where(self.limits[1] > self.limits[0], self.whole.deviation()[0], 0)


def read_table(X: Any, rows: IntArray, names: Sequence[str] | None = None) -> Table:
    """Read some rows, whose numbers are sorted.

    The names of columns are those of the table, unless they are given.
    """
    some = take_rows(X, rows)
    header = [shorten(name) for name in _column_names(some, names)]
    if sparse.issparse(some):
        return Table(
            rows,
            sparse.csr_array(some, dtype=np.float64),
            [_parse_name(name, "term") for name in header],
        )
    return _stack(
        rows,
        [made for pair in zip(header, _columns(some), strict=True) for made in _to_features(*pair)],
    )


def _stack(rows: IntArray, made: list[tuple[Feature, FloatArray]]) -> Table:
    """Return columns as a table, in which the mean takes the place of missing cells."""
    if not made:
        return Table(rows, np.empty((len(rows), 0)), [])
    matrix = np.column_stack([numbers for _, numbers in made])
    features = [feature for feature, _ in made]
    is_known = ~np.isnan(matrix)
    if is_known.all():
        return Table(rows, matrix, features)
    return Table(rows, to_numbers(matrix), features, known=is_known)


def set_far_aside(table: Table, labels: IntArray) -> Table:
    """Return a table without the numbers of rows in no cluster that are far from those of all rows
    in clusters, as of a total line: it takes them as missing.

    One such number would be most of the mean of all other rows, and of the deviation. It is what
    sets a single cluster apart.
    """
    columns = [at for at, one in enumerate(table.features) if one.kind in ("number", "date")]
    is_noise = labels < 0
    n_clusters = len(np.unique(labels[~is_noise]))
    if not columns or not is_noise.any() or n_clusters < 2 or sparse.issparse(table.values):
        return table
    known = np.ones(table.values.shape, dtype=bool) if table.known is None else table.known.copy()
    values = table.values.copy()
    of_clusters = np.where(known & ~is_noise[:, None], values, np.nan)
    for column in columns:
        inside = of_clusters[~np.isnan(of_clusters[:, column]), column]
        if len(inside) == 0:
            continue
        reach = SCALE.far * (inside.max() - inside.min())
        cells = values[:, column]
        is_far = (cells < inside.min() - reach) | (cells > inside.max() + reach)
        is_far &= is_noise & (reach > 0)
        values[is_far, column] = inside.mean()
        known[is_far, column] = False
    return table if known.all() else replace(table, values=values, known=known)


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return rows of an array, table, sparse matrix or source, as it stores them."""
    if is_source(X) or hasattr(X, "column_names"):  # of Arrow
        return X.take(rows)
    if sparse.issparse(X):
        return sparse.csr_array(X)[rows]
    return _safe_indexing(X if hasattr(X, "shape") else np.asarray(X), rows)


def read_cells(X: Any, rows: IntArray, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the values of each of some rows by the names of their columns, as they are stored."""
    distinct, place = np.unique(rows, return_inverse=True)
    some = take_rows(X, distinct)
    some = some.toarray() if sparse.issparse(some) else some
    cells = dict(
        zip(
            _column_names(some, names),
            (np.asarray(column).tolist() for column in _columns(some)),
            strict=True,
        )
    )
    return [{name: column[i] for name, column in cells.items()} for i in place.tolist()]


def _column_names(some: Any, names: Sequence[str] | None) -> list[str]:
    if names is None or len(names) != some.shape[1]:
        names = getattr(some, "column_names", getattr(some, "columns", None))
    if names is None:
        return [f"feature {i}" for i in range(some.shape[1])]
    return [str(name) for name in names]


def _columns(some: Any) -> list[Any]:
    """Return the columns of an array or of a pandas, polars or Arrow table."""
    if hasattr(some, "column_names"):
        return [some.column(name).to_numpy() for name in some.column_names]
    if hasattr(some, "iloc"):
        return [some.iloc[:, i] for i in range(some.shape[1])]
    if hasattr(some, "columns"):
        return [some[name] for name in some.columns]
    return list(np.asarray(some).T)


def _parse_name(name: str, kind: str) -> Feature:
    # the name of a category that was encoded for the fit
    encoded = re.fullmatch(r"(?P<feature>.+?)=(?P<level>.+)", name)
    if encoded:
        return Feature(encoded["feature"], "level", encoded["level"])
    return Feature(name, kind)


def _to_features(name: str, column: Any) -> list[tuple[Feature, FloatArray]]:
    """Return the columns of the matrix that a column of the table becomes."""
    cells = np.asarray(column)
    if cells.dtype.kind in "mM":
        is_date = cells.dtype.kind == "M"
        days = (
            cells.astype("datetime64[ns]") - np.datetime64(0, "ns") if is_date else cells
        ) / np.timedelta64(1, "D")
        return [(Feature(name, "date" if is_date else "number"), days.astype(np.float64))]
    if cells.dtype.kind == "b":
        return _read_levels(name, np.where(cells, "yes", "no"))
    try:
        # also numbers that are stored as objects
        return _read_numbers(name, cells.astype(np.float64))
    except (TypeError, ValueError):
        return _read_levels(name, cells)


def _read_numbers(name: str, numbers: FloatArray) -> list[tuple[Feature, FloatArray]]:
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    present = numbers[~np.isnan(numbers)]
    low = present.min(initial=np.inf)
    high = present.max(initial=-np.inf)
    has_two = len(present) > 0 and bool(((present == low) | (present == high)).all()) and low < high
    feature = _parse_name(name, "number")
    if has_two and feature.kind == "level":
        return [(feature, np.where(numbers == high, 1.0, 0.0))]
    if has_two and (low, high) == (0, 1):
        return _read_levels(name, np.where(numbers == 1, "yes", "no"))
    return [(Feature(name), numbers)]


def _read_levels(name: str, cells: Any) -> list[tuple[Feature, FloatArray]]:
    """Return a column of zeros and ones for each frequent level."""
    texts = np.array(
        [
            "" if cell is None or cell != cell or str(cell) in ("<NA>", "NaT") else str(cell)
            for cell in cells.tolist()
        ],
        dtype=object,
    )
    levels, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    if len(levels) > max(LEVEL.distinct * len(texts), LEVEL.most) or len(levels) < 2:
        return []
    if levels.tolist() == ["no", "yes"]:  # one says all
        return [(Feature(name, "level", "yes", opposite="no"), codes.astype(np.float64))]
    frequent = np.sort(np.argsort(-counts, kind="stable")[: LEVEL.most]).tolist()
    named = (
        (code, Feature(name, "level", shorten(levels[code] or "missing"))) for code in frequent
    )
    return [(feature, (codes == code).astype(np.float64)) for code, feature in named]


def is_prepared(X: Any) -> bool:
    """Return whether data is what ``prepare`` returned: prepared rows with their preparation."""
    return hasattr(X, "preparation") and hasattr(X, "source")


def read_original(prepared: Any, rows: IntArray) -> FloatArray:
    """Return rows of prepared data in original units, with NaN for cells that were filled."""
    values: FloatArray = prepared.preparation.to_original_units(prepared.source.take(rows))
    if not isinstance(prepared.source, ScaledSource):
        return values
    return np.where(prepared.source.find_filled(rows), np.nan, values)


def read_prepared(prepared: Any, rows: IntArray) -> Table:
    """Return rows of prepared data as a table, whose features are those of the original columns.

    A level of a category is a feature, as it was for the fit; the two words of a boolean are two
    levels. The sine and cosine of an hour or weekday become times of the day or days of the week,
    of which each is a feature.
    """
    made: list[tuple[Feature, FloatArray]] = []
    preparation = prepared.preparation
    values = read_original(prepared, rows)
    booleans = {column.name: column for column in preparation.kept if isinstance(column, Boolean)}
    constants = (
        plain_name(column.text) for column in preparation.columns if isinstance(column, LeftOut)
    )
    # of columns whose names are numbers, as of years
    noun = next((text for text in constants if " " in text), "value")
    cycles: dict[tuple[Any, str], list[FloatArray]] = {}
    for feature, numbers in zip(preparation.features, values.T, strict=True):
        if isinstance(feature.column, int):
            name = f"feature {feature.column}"
        else:
            name = shorten(feature.column)
        if feature.cycle is not None:
            cycles.setdefault((feature.column, feature.cycle), []).append(numbers)
        elif feature.kind == "boolean":
            boolean = booleans[feature.column]
            pair = boolean.true, boolean.false
            made.append((Feature(name, "level", pair[0], opposite=pair[1]), numbers))
            made.append((Feature(name, "level", pair[1], opposite=pair[0]), 1 - numbers))
        elif feature.unit == "share":
            made.append((Feature(name, "level", shorten(feature.level)), numbers))
        else:
            kind = "date" if feature.unit == "date" else "number"
            of = noun if name.isdecimal() else ""
            made.append((Feature(name, kind, noun=of), numbers))
    for (column, cycle), (sine, cosine) in cycles.items():
        parts = CYCLE_PARTS[cycle]
        place = np.arctan2(sine, cosine) / (2 * np.pi) % 1
        part = np.floor(place * len(parts) + 1e-6) % len(parts)  # NaN where the date is missing
        name = shorten(f"{column} {cycle}")
        made += [
            (Feature(name, "level", one), np.where(np.isnan(part), np.nan, part == i))
            for i, one in enumerate(parts)
        ]
    return _stack(rows, made)
