"""prepare: decide what the columns of the training data are, measure and learn how to prepare them, and do it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.error_contexts import warn_caller
from cohirf.preparation.data import Data, Roles, assign_roles, find_column
from cohirf.preparation.decide import AS_ASKED, decide, find_marker, uses_comma
from cohirf.preparation.evidence import DataError, Evidence, Problem, gather
from cohirf.preparation.kinds import Column, LeftOut, Name, Number, Vector
from cohirf.preparation.places import DEGREES, find_coordinates
from cohirf.preparation.preparation import IMPUTES, SCALINGS, Preparation, Prepared
from cohirf.preparation.readings import Floats
from cohirf.sources import Source
from cohirf.sources.tables import Table

MEDIAN_CELLS = 2**25  # 268 MB; for larger data, the median is that of evenly spaced rows


def prepare(
    data: Any,
    *,
    label_column: Name | None = None,
    id_column: Name | None = None,
    drop: Sequence[Name] = (),
    keep: Sequence[Name] = (),
    kinds: Mapping[Any, str] | None = None,
    impute: str = "median",
    scaling: str = "standard",
    vectors: str | None = None,
    places: Sequence[Name] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
) -> Prepared:
    """Prepare a table or array for a fit: decide what each column is, and make features of it.

    All cells of a table are read once, to decide what each column is:

    - numbers, also those written as text: with a decimal comma, grouped digits, a currency, a percent sign or a unit;
    - booleans, such as yes and no: one feature of ones and zeros;
    - categories, whose levels repeat: one feature per level, for up to 50 levels; rarer levels are together;
    - dates and times: elapsed days, and sine and cosine of the hour or weekday where it matters;
    - columns that are left out: ids, free text, constants and columns without values.

    ``print(prepared.preparation)`` shows what was decided, and why; ``drop``, ``keep`` and ``kinds`` overrule it. What
    is learned from the data, such as medians and levels, is kept in ``prepared.preparation``, which prepares other data
    in the same way, and knows the way back to original units.

    Files are read in pieces, so they may be larger than memory. Rows are filled and scaled while they are read. A table
    with other columns than stored numbers is first converted to a temporary file. Arrays have only numbers, and keep
    all of their columns.

    Parameters
    ----------
    data : path or object
        What :func:`cohirf.open_source` opens: a file, a folder, an array, or a pandas, polars or Arrow table.
    label_column : str or int, optional
        The column with known classes: its name, or its number if the data has no column names. It is not a feature.
        :meth:`Prepared.classes` returns it.
    id_column : str or int, optional
        The column with the names of the rows. It is not a feature. :meth:`Prepared.ids` returns it. If it is not given,
        it is the first column whose cells are found to be ids.
    drop : sequence of str or int, default=()
        Columns to leave out.
    keep : sequence of str or int, default=()
        Columns that must become features, even if they look like ids, text or constants.
    kinds : dict of str, optional
        What columns are: ``{"zip": "category"}``. The kinds are "number", "category", "boolean", "date", and "id" and
        "text", which are left out. "date:%d/%m/%Y" also gives the format, and "number:-999" a number that means
        missing. Cells that are not of this kind are taken as missing, with a warning.
    impute : {"median", "mean", "none"}, default="median"
        Fill missing cells of numbers and dates with the median or mean of their feature. In categories they are a level
        of their own. "none" refuses missing cells. For data of more than 33 million cells, the median is computed from
        evenly spaced rows.
    scaling : {"standard", "minmax", "none"}, default="standard"
        "standard" subtracts the mean of each feature and divides by the standard deviation, so that each column has the
        same weight: features of one category, or of one cycle of dates, share one divisor, with which their variances
        add up to 1. "minmax" maps each feature to the range from 0 to 1.
    vectors : str, optional
        A column of vectors, such as embeddings of texts: they are the features, as they are, and all other columns are
        left out.
    places : sequence of two str or int, optional
        The columns with latitude and longitude in degrees. These are the only features then, in radians, for the metric
        "haversine"; they are neither filled nor scaled otherwise, and bad coordinates are refused.
    delimiter, header : optional
        The delimiter of a CSV file, and whether it has column names, as in :func:`cohirf.open_source`.

    Returns
    -------
    prepared : Prepared
        The prepared rows, and the :class:`Preparation` for other data.

    Raises
    ------
    DataError
        If columns cannot be prepared: it lists all of them, with line and text of the cells. A column in which more
        than 1 %, but not most of the cells are not numbers (dates) is such a problem; fewer such cells are taken as
        missing, with a warning that names them.

    See Also
    --------
    Preparation.apply : Prepare other data in the same way.
    cohirf.open_source : Open numeric data without preparation.

    Examples
    --------
    >>> from cohirf.datasets import make_customers
    >>> from cohirf.preparation import prepare
    >>> customers, segments = make_customers(1000, random_state=0)
    >>> prepared = prepare(customers)
    >>> print(prepared.preparation)
    column       kind      features  what was done
    customer_id  id               0  left out: 1,000 different values in 1,000 rows; names the rows
    signed_up    date             1  elapsed days
    age          number           1  35 cells missing, filled with the median, 39
    tenure       number           1
    spend        number           1  in €; 7 cells missing, filled with the median, €73.45
    orders       number           1
    discounted   number           1  in %
    last_order   date             3  elapsed days, hour as sine and cosine
    region       category         6  5 levels; 16 cells missing, which are a level
    channel      category         3  3 levels
    newsletter   boolean          1  yes or no
    country      constant         0  left out: always 'France'
    comment      text             0  left out: 298 different texts in 298 rows, of 10 words on average
    >>> prepared.array().shape
    (1000, 19)

    New rows are prepared with what was learned from the training data:

    >>> prepared.preparation.apply(customers[:10]).array().shape
    (10, 19)
    """
    _refuse_unknown("impute", impute, IMPUTES)
    _refuse_unknown("scaling", scaling, SCALINGS)
    if sparse.issparse(data) and (impute, scaling) != ("none", "none"):
        raise TypeError("A sparse matrix is neither filled nor scaled: give impute='none' and scaling='none'.")
    opened = Data.open(data, delimiter=delimiter, header=header)
    if vectors is not None:
        return _take_vectors(opened, vectors, label_column, id_column)
    given = {"label_column": label_column, "id_column": id_column, "drop": drop, "keep": keep, "kinds": kinds or {}}
    roles = assign_roles(opened.name, opened.columns, **given)  # type: ignore[arg-type]  # one dict, several types
    if places is not None:
        preparation = Preparation(find_coordinates(opened, roles, places), roles.label, roles.id)
        radians = replace(preparation, scale=(DEGREES, DEGREES), scaling="radians")
        return Prepared(opened, radians, radians.prepare(opened).source)
    columns = _look(opened, roles, impute=impute != "none")
    preparation = Preparation(columns, roles.label, _find_id(columns, roles), impute=impute)
    if not preparation.kept:
        raise ValueError(f"{opened.name} has no columns left to cluster: {_say_left_out(columns)}.")
    prepared = preparation.prepare(opened, lenient=[column.name for column in preparation.kept])
    learned = learn(preparation, prepared.source, impute=impute, scaling=scaling)
    return Prepared(opened, learned, learned.scaled(prepared.source))


def _take_vectors(data: Data, vectors: str, label_column: Name | None, id_column: Name | None) -> Prepared:
    """Return vectors as they are; other columns have no features."""
    name = find_column(data.name, data.columns, vectors, f"{vectors=}")
    roles = assign_roles(
        data.name, data.columns, label_column=label_column, id_column=id_column, drop=(), keep=[name], kinds={}
    )
    source = data.open_numbers([name])
    decided: dict[Name, Column] = {
        other: LeftOut(other, f"the features are those of {name!r}") for other in data.columns
    }
    decided[name] = Vector(name, width=source.n_features)
    if roles.label is not None:
        decided[roles.label] = LeftOut(roles.label, "has the known classes", role="label")
    if roles.id is not None:
        decided[roles.id] = LeftOut(roles.id, AS_ASKED, role="id")
    return Prepared(data, Preparation(tuple(decided.values()), roles.label, roles.id), source)


def _look(data: Data, roles: Roles, *, impute: bool) -> tuple[Column, ...]:
    """Return all columns of the data that can be features or have a role, with what each of them is."""
    decided: dict[Name, Column] = {column: LeftOut(column, AS_ASKED) for column in roles.dropped}
    if roles.label is not None:
        decided[roles.label] = LeftOut(roles.label, "has the known classes", role="label")
    if roles.id is not None:
        decided[roles.id] = LeftOut(roles.id, AS_ASKED, role="id")
    wanted = [column for column in data.candidates if column not in decided]
    if data.table is None:
        if roles.wishes:
            raise ValueError(f"{data.name} has no column names: its columns are numbers, and kinds= is for tables.")
        decided |= {column: Number(column) for column in wanted}
    elif wanted:
        decided |= _decide_all(data.table, [str(column) for column in wanted], roles, impute=impute)
    return tuple(decided[column] for column in data.columns if column in decided)


def _decide_all(table: Table, names: Sequence[str], roles: Roles, *, impute: bool) -> dict[Name, Column]:
    """Return what the columns of a table are; raise an error that lists all columns that cannot be prepared."""
    for name in names:
        table.refuse_difference(name, f", or leave it out with drop=[{name!r}]")
    found = gather(table, names, roles.wishes)
    if not found[names[0]].n_rows:
        raise ValueError(f"{table.name} has 0 rows and {len(table.types)} columns: give at least one of each.")
    comma = any(uses_comma(evidence) for evidence in found.values())
    decided: dict[Name, Column] = {}
    problems = []
    for name, evidence in found.items():
        verdict = decide(evidence, comma=comma, wish=roles.wishes.get(name), keep=name in roles.kept)
        if isinstance(verdict, Problem):
            problems.append(verdict)
        else:
            decided[name] = verdict
            if marker := find_marker(evidence, verdict):
                warn_caller(_ask_about(table.name, name, *marker), UserWarning)
            problems += [] if impute else _find_gaps(verdict, evidence)
    if problems:
        raise DataError(table.name, problems, table.find_places)
    return decided


def _ask_about(table: str, column: str, marker: float, n_cells: int) -> str:
    """Return the question whether a number means missing."""
    kind = f"number:{marker:g}"
    return (
        f"{table}: column {column!r} has {n_cells:,} cells of {marker:g}, far from all others: if these are missing, "
        f"give kinds={{{column!r}: {kind!r}}}; they are taken as numbers."
    )


def _find_gaps(column: Column, found: Evidence) -> list[Problem]:
    """Return the problem of a feature with missing cells, if these are not filled."""
    if not column.features or not found.n_missing:
        return []
    cells, them = ("cell", "it") if found.n_missing == 1 else ("cells", "them")
    remedy = f"; fill {them} with impute='median' or impute='mean', or leave the column out with drop=[{column.name!r}]"
    return [Problem(column.name, f"has {found.n_missing:,} missing {cells}", remedy)]


def _find_id(columns: Sequence[Column], roles: Roles) -> Name | None:
    """Return the column that names the rows: the one that the user gives, or the first that looks like it."""
    if roles.id is not None:
        return roles.id
    found = [column for column in columns if isinstance(column, LeftOut) and column.role == "id"]
    return found[0].name if found else None


def _say_left_out(columns: Sequence[Column]) -> str:
    if all(column.reason == AS_ASKED or getattr(column, "role", None) == "label" for column in columns):
        return "drop fewer columns"
    told = [f"{column.name!r} is left out ({column.reason})" for column in columns[:5]]
    more = [f"and {len(columns) - 5:,} more"] if len(columns) > 5 else []
    return ", ".join([*told, *more]) + ": keep some of them with keep=[...]"


def learn(unscaled: Preparation, source: Source, *, impute: str, scaling: str) -> Preparation:
    """Return the preparation with fill values and scaling that are learned from the data."""
    if impute == "none" and scaling == "none":
        return unscaled
    statistics = measure(source, with_median=impute == "median")
    _refuse_unusable(source, statistics)
    fill = {"median": statistics.median, "mean": statistics.mean, "none": None}[impute]
    offset = {"standard": statistics.mean, "minmax": statistics.low}.get(scaling)
    scale = {"standard": _share_weight(unscaled, statistics.std), "minmax": statistics.high - statistics.low}.get(
        scaling
    )
    return replace(
        unscaled,
        fill=None if fill is None else tuple(fill.tolist()),
        offset=None if offset is None else tuple(offset.tolist()),
        scale=None if scale is None else tuple(np.where(scale == 0, 1.0, scale).tolist()),  # constant features become 0
        scaling=scaling,
    )


def _share_weight(preparation: Preparation, std: Floats) -> Floats:
    """Return divisors with which each column has variance 1: features of a category or of a cycle share theirs."""
    groups = [(feature.column, feature.cycle, feature.kind) for feature in preparation.features]
    variance: dict[Any, float] = {}
    for group, one in zip(groups, std.tolist(), strict=True):
        variance[group] = variance.get(group, 0.0) + one**2
    return np.sqrt([variance[group] for group in groups])


def _refuse_unusable(source: Source, statistics: Statistics) -> None:
    for number in range(source.n_features):
        name = source.feature_names[number] if source.feature_names else number
        if statistics.n_present[number] == 0:
            raise ValueError(f"{source.name}: column {name!r} has no values: leave it out with drop=[{name!r}].")
        if not np.isfinite([statistics.low[number], statistics.high[number]]).all():
            raise ValueError(
                f"{source.name}: column {name!r} holds infinite values: replace them, or leave the column out with "
                f"drop=[{name!r}]."
            )
        if not np.isfinite([statistics.mean[number], statistics.std[number]]).all():
            largest = max(abs(statistics.low[number]), abs(statistics.high[number]))
            raise ValueError(
                f"{source.name}: column {name!r} holds values up to {largest:.3g}, whose squares overflow: divide them "
                f"by a constant, or leave the column out with drop=[{name!r}]."
            )


def _refuse_unknown(name: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ValueError(f"{name}={given!r} is not valid: give {' or '.join(map(repr, choices))}.")


@dataclass(frozen=True)
class Statistics:
    """Statistics of each feature, over the cells that are not missing.

    Attributes
    ----------
    n_present : array of int
        Number of cells that are not missing.
    mean, std, low, high : array of float
        Mean, standard deviation, smallest and largest value; NaN if all cells are missing.
    median : array of float or None
        Median, if it was asked for. For large data it is computed from evenly spaced rows.
    """

    n_present: NDArray[np.int64]
    mean: Floats
    std: Floats
    low: Floats
    high: Floats
    median: Floats | None


def measure(source: Source, *, with_median: bool = False) -> Statistics:
    """Return statistics of the features of a source; all rows are read once."""
    p = source.n_features
    n_present = np.zeros(p, dtype=np.int64)
    mean, squares = np.zeros(p), np.zeros(p)  # squares: sum of squared deviations from the mean
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    step = -(-source.n_rows * p // MEDIAN_CELLS)
    kept: list[Floats] = []
    start = 0
    for rows in source.read_all():
        block = rows.astype(np.float64)
        if with_median:
            kept.append(block[-start % step :: step])
        start += len(block)
        present = ~np.isnan(block)
        n_present, mean, squares = _combine((n_present, mean, squares), block, present)
        low = np.minimum(low, np.where(present, block, np.inf).min(axis=0))
        high = np.maximum(high, np.where(present, block, -np.inf).max(axis=0))
    empty = n_present == 0
    return Statistics(
        n_present,
        np.where(empty, np.nan, mean),
        np.where(empty, np.nan, np.sqrt(squares / np.maximum(n_present, 1))),
        np.where(empty, np.nan, low),
        np.where(empty, np.nan, high),
        _median(np.concatenate(kept)) if with_median else None,
    )


def _combine(
    so_far: tuple[NDArray[np.int64], Floats, Floats], block: Floats, present: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Add a block to counts, means and sums of squared deviations, without cancellation for large values."""
    n_before, mean_before, squares_before = so_far
    n_here = present.sum(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values give NaN means
        mean_here = np.where(present, block, 0).sum(axis=0) / np.maximum(n_here, 1)
        squares_here = (np.where(present, block - mean_here, 0) ** 2).sum(axis=0)
        n = n_before + n_here
        shift = mean_here - mean_before
        weight = n_here / np.maximum(n, 1)
        return n, mean_before + shift * weight, squares_before + squares_here + shift**2 * n_before * weight


def _median(rows: Floats) -> Floats:
    median = np.full(rows.shape[1], np.nan)
    for column in range(rows.shape[1]):
        values = rows[:, column]
        values = values[~np.isnan(values)]
        if len(values):
            median[column] = np.median(values)
    return median
