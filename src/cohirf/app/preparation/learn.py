"""prepare: decide what the columns of the training data are, measure and learn how to prepare them,
and do it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from cohirf.app.preparation.data import (
    Data,
    assign_roles,
    find_column,
    find_coordinates,
    find_role,
)
from cohirf.app.preparation.decide import (
    AS_ASKED,
    BLOCKS,
    NAMED,
    decide_all,
    find_doubt,
    grant,
    take_codes_back,
    uses_comma,
)
from cohirf.app.preparation.evidence import BadColumn, DataError, gather, reading
from cohirf.app.preparation.kinds import Column, LeftOut, Name, Number, Vector
from cohirf.app.preparation.policy import SCALE
from cohirf.app.preparation.preparation import IMPUTES, SCALINGS, Preparation, Prepared
from cohirf.error_contexts import warn_caller
from cohirf.inspection import count_crumbs
from cohirf.rows import FloatArray, IntArray, row_blocks
from cohirf.sources import NumberColumn, Source, Table, rows_within
from cohirf.wording import setting


def prepare(
    data: Any,
    *,
    label_column: Name | None = None,
    id_column: Name | None = None,
    drop: Sequence[Name] = (),
    kinds: Mapping[Any, str] | None = None,
    impute: str = "median",
    scaling: str = "standard",
    vectors: str | None = None,
    places: Sequence[Name] | None = None,
    delimiter: str | None = None,
    header: bool | None = None,
    sheet: str | None = None,
) -> Prepared:
    """Prepare a table or array for a fit: decide what each column is, and make features of it.

    All cells of a table are read once, to decide what each column is:

    - numbers, also those written as text: with a decimal comma, grouped digits, a currency, a
      percent sign or a unit;
    - booleans, such as yes and no: one feature of ones and zeros;
    - categories, whose levels repeat: one feature per level, for up to 50 levels; rows of rarer
      levels have none;
    - dates and times: elapsed days, and sine and cosine of the hour or weekday where it matters;
    - columns that are left out: ids, free text, constants and columns without values.

    ``print(prepared.preparation)`` shows what was decided, and why; ``drop`` and ``kinds`` overrule
    it. What is learned from the data, such as medians and levels, is kept in
    ``prepared.preparation``, which prepares other data in the same way, and knows the way back to
    original units.

    Files are read in pieces, so they may be larger than memory. Rows are filled and scaled while
    they are read. A table with other columns than stored numbers is first converted to a temporary
    file. Arrays have only numbers, and keep all of their columns.

    Parameters
    ----------
    data : path or object
        What :func:`cohirf.open_source` opens: a file, a folder, an array, or a pandas, polars or
        Arrow table.
    label_column : str or int, optional
        The column with known classes: its name, or its number if the data has no column names. It
        is not a feature.
        :meth:`Prepared.classes` returns it.
    id_column : str or int, optional
        The column with the names of the rows. It is not a feature. :meth:`Prepared.ids` returns it.
        If it is not given, it is the first column whose cells are found to be ids, and not only
        called so; of several, the first that has words or dates.
    drop : sequence of str or int, default=()
        Columns to leave out.
    kinds : dict of str, optional
        What columns are, also of some that would be left out: ``{"zip": "category"}``. The kinds
        are "number", "category", "boolean", "date", and "id" and "text", which are left out.
        "date:%d/%m/%Y" also gives the format, and "number:-999" a number that means missing. Cells
        that are not of this kind are taken as missing, with a warning.
    impute : {"median", "mean", "none"}, default="median"
        Fill missing cells of numbers and dates with the median or mean of their feature. In
        categories they are a level of their own. "none" refuses missing cells. For data of more
        than 4 million cells, the median is computed from evenly spaced rows.
    scaling : {"standard", "minmax", "none"}, default="standard"
        "standard" subtracts the mean of each feature and divides by the standard deviation, so that
        each number has the same weight, and each category or boolean half of it: features of one
        category share one divisor, with which their variances add up to 1/2, and those of one cycle
        of dates to 1. A column of which more than a fifth is missing has less weight, because
        filled cells are all alike. "minmax" maps each feature to the range from 0 to 1.
    vectors : str, optional
        A column of vectors, such as embeddings of texts: they are the features, as they are, and
        all other columns are left out.
    places : sequence of two str or int, optional
        The columns with latitude and longitude in degrees. These are the only features then, in
        radians, for the metric "haversine"; they are neither filled nor scaled otherwise, and bad
        coordinates are refused.
    delimiter, header, sheet : optional
        The delimiter of a CSV file, whether it has column names, and the sheet of a
        spreadsheet, as in
        :func:`cohirf.open_source`.

    Returns
    -------
    prepared : Prepared
        The prepared rows, and the :class:`Preparation` for other data.

    Raises
    ------
    DataError
        If columns cannot be what ``kinds`` says, or cells are missing with ``impute="none"``: it
        lists all of them. Nothing else in a column refuses a table: a few cells that are not
        numbers (dates) are taken as missing, and a column with more different texts than numbers
        is a category, or text, with a warning that names some of these cells.

    See Also
    --------
    Preparation.apply : Prepare other data in the same way.
    cohirf.open_source : Open numeric data without preparation.

    Examples
    --------
    >>> import pandas as pd
    >>> from cohirf.app.preparation import prepare
    >>> customers = pd.DataFrame({
    ...     "name": ["Ann", "Bo", "Cy", "Di", "Ed", "Flo"],
    ...     "age": [31, None, 52, 27, 44, 61],
    ...     "spend": ["€1,204.50", "€73.45", "€80.00", "€912.10", "€64.99", "€45.00"],
    ...     "channel": ["app", "web", "web", "app", "web", "web"],
    ...     "country": ["France"] * 6,
    ... })
    >>> prepared = prepare(customers)
    >>> print(prepared.preparation)
    column   kind      features  what was done
    name     id               0  left out: 6 different values in 6 rows; names the rows
    age      number           1  1 cell missing, filled with the median, 44
    spend    number           1  in €
    channel  category         2  2 levels
    country  constant         0  left out: always 'France'
    >>> prepared.array().shape
    (6, 4)

    New rows are prepared with what was learned from the training data:

    >>> prepared.preparation.apply(customers[:2]).array().shape
    (2, 4)
    """
    _refuse_unknown("impute", impute, IMPUTES)
    _refuse_unknown("scaling", scaling, SCALINGS)
    if sparse.issparse(data) and (impute, scaling) != ("none", "none"):
        raise TypeError(
            "A sparse matrix is neither filled nor scaled: give impute='none' and scaling='none'."
        )
    opened = Data.open(data, delimiter=delimiter, header=header, sheet=sheet)
    if vectors is not None:
        return _take_vectors(opened, vectors, label_column, id_column)
    given: Any = {
        "label_column": label_column,
        "id_column": id_column,
        "drop": drop,
        "kinds": kinds,
    }
    roles = assign_roles(opened.name, opened.columns, **given)
    label = find_role(roles, "label")
    row_id = find_role(roles, "id")
    if places is not None:
        preparation = Preparation(find_coordinates(opened, roles, places), label, row_id)
        degrees = 180 / math.pi  # of a radian
        radians = replace(preparation, scale=(degrees, degrees), scaling="radians")
        return Prepared(opened, radians, radians.prepare(opened).source)
    columns = _look(opened, roles, impute=impute != "none")
    if row_id is None:
        row_id = _find_names(columns)
    preparation = Preparation(columns, label, row_id, impute=impute)
    if not preparation.kept:
        raise ValueError(f"{opened.name} has no columns left to cluster: {_say_left_out(columns)}.")
    prepared = preparation.prepare(opened)
    learned = learn(preparation, prepared.source, impute=impute, scaling=scaling)
    return Prepared(opened, learned, learned.scaled(prepared.source))


def _find_names(columns: Sequence[Column]) -> Name | None:
    """Return the column that names the rows: the first with words, or else the first id."""
    ids = [
        column
        for column in columns
        # such cells repeat
        if isinstance(column, LeftOut)
        and column.role == "id"
        and column.reason not in (NAMED, BLOCKS)
    ]
    return min(ids, key=lambda column: not column.is_word).name if ids else None


def _take_vectors(
    data: Data, vectors: str, label_column: Name | None, id_column: Name | None
) -> Prepared:
    """Return vectors as they are; other columns have no features."""
    name = find_column(data.name, data.columns, vectors, setting("vectors", vectors))
    roles = assign_roles(data.name, data.columns, label_column=label_column, id_column=id_column)
    if name in roles:
        raise ValueError(
            f"{setting('vectors', vectors)} is not valid: this is the {roles[name]} column: "
            "give it one role."
        )
    if data.table is None:
        found = None
    else:
        found = NumberColumn.of(str(name), data.table.types[str(name)])
    if found is None or found.width is None:
        if data.table is None:
            stored = "numbers"
        else:
            stored = data.table.types[str(name)]
        raise ValueError(
            f"{setting('vectors', vectors)}: this column of {data.name} has type {stored}: give a "
            "column of lists of numbers, all of one length, in a Parquet or Arrow file or a data "
            "frame. Texts must become vectors first."
        )
    source = data.open_numbers([name])
    decided: dict[Name, Column] = {
        other: LeftOut(other, f"the features are those of {name!r}") for other in data.columns
    }
    decided |= _leave_out(roles) | {name: Vector(name, width=source.n_features)}
    label = find_role(roles, "label")
    row_id = find_role(roles, "id")
    return Prepared(data, Preparation(tuple(decided.values()), label, row_id), source)


def _leave_out(roles: Mapping[Name, str]) -> dict[Name, Column]:
    """Return the columns that are left out because of their role."""
    reasons = {
        "label": "has the known classes",
        "id": AS_ASKED,
        "text": AS_ASKED,
        "dropped": AS_ASKED,
    }
    return {
        name: LeftOut(name, reasons[role], role=role)
        for name, role in roles.items()
        if role in reasons
    }


def _look(data: Data, roles: Mapping[Name, str], *, impute: bool) -> tuple[Column, ...]:
    """Return all columns of the data that can be features or have a role, with what each of them
    is.
    """
    decided = _leave_out(roles)
    wanted = [column for column in data.candidates if column not in decided]
    if data.table is not None and wanted:
        decided |= _decide_all(data.table, [str(column) for column in wanted], roles, impute=impute)
    elif roles.keys() - decided.keys():
        raise ValueError(
            f"{data.name} has no column names: its columns are numbers, and {setting('kinds')} is "
            "for tables."
        )
    else:
        decided |= {column: Number(column) for column in wanted}
    return tuple(decided[column] for column in data.columns if column in decided)


def _decide_all(
    table: Table, names: Sequence[str], roles: Mapping[Name, str], *, impute: bool
) -> dict[Name, Column]:
    """Return what the columns of a table are.

    Raise an error that lists all columns that cannot be prepared.
    """
    for name in names:
        table.refuse_difference(name, f", or leave it out with {setting('drop', [name])}")
    found = gather(table, names, roles)
    if not found[names[0]].n_rows:
        raise ValueError(
            f"{table.name} has 0 rows and {len(table.types)} columns: give at least one of each."
        )
    comma = any(map(uses_comma, found.values()))
    left = [evidence for evidence in found.values() if evidence.wish is None]
    alone = decide_all(left)
    if len(left) == len(found) and not any(one.features for one in alone):
        alone += take_codes_back(left)  # in place of those of the same name
    verdicts: dict[Name, Column | BadColumn] = {one.name: one for one in alone}
    decided: dict[Name, Column] = {}
    problems = []
    for name, evidence in found.items():
        if evidence.wish is None:
            verdict = verdicts[name]
        else:
            verdict = grant(evidence, evidence.wish, comma=comma)
        if isinstance(verdict, BadColumn):
            problems.append(verdict)
        else:
            decided[name] = verdict
            if doubt := find_doubt(evidence, verdict):
                warn_caller(f"{table.name}: column {name!r} {doubt}.", UserWarning)
            if not impute and verdict.features and evidence.n_missing:
                cells, them = ("cell", "it") if evidence.n_missing == 1 else ("cells", "them")
                ways = f"{setting('impute', 'median')} or {setting('impute', 'mean')}"
                drop = setting("drop", [name])
                remedy = f"; fill {them} with {ways}, or leave the column out with {drop}"
                problems.append(
                    BadColumn(name, f"has {evidence.n_missing:,} missing {cells}", remedy)
                )
    if problems:
        raise DataError(table.name, problems, table.find_places)
    return decided


def _say_left_out(columns: Sequence[Column]) -> str:
    if all(
        column.reason == AS_ASKED or getattr(column, "role", None) == "label" for column in columns
    ):
        return "drop fewer columns"
    told = [f"{column.name!r} is left out ({column.reason})" for column in columns[:5]]
    more = [f"and {len(columns) - 5:,} more"] if len(columns) > 5 else []
    return ", ".join([*told, *more]) + f": say what some of them are with {setting('kinds', ...)}"


def learn(unscaled: Preparation, source: Source, *, impute: str, scaling: str) -> Preparation:
    """Return the preparation with fill values and scaling that are learned from the data."""
    if impute == "none" and scaling == "none":
        return unscaled
    found = _measure(source, with_median=impute == "median", leaves_far_out=scaling == "standard")
    # filled cells are all alike, whatever they were
    weight = np.minimum(found.known / SCALE.known, 1.0) ** 2
    scale = {
        "standard": _share_weight(unscaled, found.std) / weight,
        "minmax": found.high - found.low,
    }.get(scaling)
    offset = {"standard": found.mean, "minmax": found.low}.get(scaling)
    fill = {"median": found.median, "mean": found.mean}.get(impute)
    # constant features become 0
    if scale is None:
        scale = None
    else:
        scale = np.where(scale == 0, 1.0, scale)
    learned: dict[str, Any] = {"fill": fill, "offset": offset, "scale": scale}
    learned = {
        name: None if values is None else tuple(values.tolist()) for name, values in learned.items()
    }
    return replace(unscaled, scaling=scaling, **learned)


def _share_weight(preparation: Preparation, std: FloatArray) -> FloatArray:
    """Return divisors with which each column has variance 1, or less if it has levels: its features
    share theirs.
    """
    groups = [(feature.column, feature.cycle, feature.kind) for feature in preparation.features]
    number = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    place = np.array([number[group] for group in groups], dtype=np.int64)
    has_levels = np.array(
        [feature.kind in ("boolean", "category") for feature in preparation.features], dtype=bool
    )
    return np.asarray(
        np.sqrt(np.bincount(place, weights=std**2)[place] / np.where(has_levels, SCALE.levels, 1.0))
    )


def _refuse_unknown(name: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ValueError(f"{name}={given!r} is not valid: give {' or '.join(map(repr, choices))}.")


class _Statistics(NamedTuple):
    """Statistics of each feature, over the cells that are not missing; NaN if all are."""

    mean: FloatArray
    std: FloatArray
    low: FloatArray
    high: FloatArray
    median: FloatArray | None  # of evenly spaced rows, if there are very many
    known: FloatArray  # share of cells that are not missing


def _measure(source: Source, *, with_median: bool, leaves_far_out: bool) -> _Statistics:
    """Read all rows once, and once more if a few cells are so far from all others that they would
    decide the scale.

    Columns that cannot be used are refused.
    """
    extremes = _Extremes(source.n_features, n_far=count_crumbs(source.n_rows) - 1)
    found = _measure_within(source, None, extremes, with_median=with_median)
    _refuse_unusable(source, found)
    bounds = extremes.find_bounds() if leaves_far_out else None
    if bounds is None:
        return found
    within = _measure_within(source, bounds, extremes, with_median=False)
    return within._replace(median=found.median, known=found.known)


class _Extremes:
    """The lowest and the highest cells of each column."""

    def __init__(self, n_features: int, n_far: int) -> None:
        self.n_kept = n_far + 1
        self.known: IntArray = np.zeros(n_features, dtype=np.int64)  # number of cells
        self.lowest = np.full((self.n_kept, n_features), np.inf)
        self.highest = np.full((self.n_kept, n_features), -np.inf)

    def add(self, block: FloatArray) -> None:
        """Add some rows; missing cells do not count."""
        is_missing = np.isnan(block)
        self.known += np.sum(~is_missing, axis=0)
        low = np.concatenate([self.lowest, np.where(is_missing, np.inf, block)])
        high = np.concatenate([self.highest, np.where(is_missing, -np.inf, block)])
        self.lowest = np.sort(np.partition(low, self.n_kept - 1, axis=0)[: self.n_kept], axis=0)
        self.highest = -np.sort(np.partition(-high, self.n_kept - 1, axis=0)[: self.n_kept], axis=0)

    def find_bounds(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the lowest and the highest cell of each column without those that are far.

        None if none are.

        The cells at one end are far if the gap before them is several times the range of all cells
        between both ends. A column with few known cells can have fewer far ones.
        """
        with np.errstate(all="ignore"):
            return self._find_bounds()

    def _find_bounds(self) -> tuple[FloatArray, FloatArray] | None:
        n_far = np.array([count_crumbs(int(known)) - 1 for known in self.known])
        inner = n_far, np.arange(len(n_far))
        spread = self.highest[inner] - self.lowest[inner]
        is_spread = np.isfinite(spread) & (spread > 0)
        low = self.lowest[0]
        high = self.highest[0]
        for place in range(self.n_kept - 1):
            can_be_far = is_spread & (place < n_far)
            gap = self.lowest[place + 1] - self.lowest[place]
            is_far = can_be_far & (gap > SCALE.far * spread) & np.isfinite(gap)
            low = np.where(is_far, self.lowest[place + 1], low)
            gap = self.highest[place] - self.highest[place + 1]
            is_far = can_be_far & (gap > SCALE.far * spread) & np.isfinite(gap)
            high = np.where(is_far, self.highest[place + 1], high)
        has_far = (low > self.lowest[0]) | (high < self.highest[0])
        return (low, high) if has_far.any() else None


def _measure_within(
    source: Source,
    bounds: tuple[FloatArray, FloatArray] | None,
    extremes: _Extremes,
    *,
    with_median: bool,
) -> _Statistics:
    """Read all rows; cells beyond bounds do not count."""
    moments = _Moments(source.n_features)
    low = np.full(source.n_features, np.nan)
    high = np.full(source.n_features, np.nan)
    step = -(-source.n_rows * source.n_features // SCALE.median_cells)
    sample = np.empty((-(-source.n_rows // step) if with_median else 0, source.n_features))
    n_kept = 0
    start = 0
    # empty columns and large values give NaN, and are refused
    with np.errstate(all="ignore"), reading(source.n_rows, "computing means") as advance:
        for block in _small_blocks(source):
            if with_median:
                some = block[-start % step :: step]
                sample[n_kept : n_kept + len(some)] = some
                n_kept += len(some)
            start += len(block)
            advance(len(block))
            if bounds is None:
                extremes.add(block)
            else:
                block = np.where((block < bounds[0]) | (block > bounds[1]), np.nan, block)
            low = np.fmin(low, np.fmin.reduce(block))
            high = np.fmax(high, np.fmax.reduce(block))
            moments.add(block)
    present = [column[~np.isnan(column)] for column in sample.T]
    if with_median:
        median = np.array([np.median(column) if len(column) else np.nan for column in present])
    else:
        median = None
    known = np.maximum(moments.n_known, 1) / source.n_rows
    return _Statistics(moments.mean, moments.deviation(), low, high, median, known)


class _Moments:
    """Mean and standard deviation of each column, from one block of rows after the other.

    Missing cells do not count: a column may have none but these in some blocks. StandardScaler
    would return NaN for it.
    """

    def __init__(self, n_features: int) -> None:
        self.n_known: IntArray = np.zeros(n_features, dtype=np.int64)
        self.mean: FloatArray = np.zeros(n_features)
        self.squares: FloatArray = np.zeros(n_features)  # of the differences to the mean

    def add(self, block: FloatArray) -> None:
        """Add some rows (Chan, Golub and LeVeque, 1983)."""
        n_new = np.sum(~np.isnan(block), axis=0)
        n_known = self.n_known + n_new
        mean = np.nansum(block, axis=0) / np.maximum(n_new, 1)
        away = block - mean
        # what rounding left of the mean
        rest = np.nansum(away, axis=0) ** 2 / np.maximum(n_new, 1)
        shift = mean - self.mean
        between = shift**2 * (self.n_known * n_new / np.maximum(n_known, 1))
        self.squares += np.nansum(away**2, axis=0) - rest + between
        self.mean += shift * (n_new / np.maximum(n_known, 1))
        self.n_known = n_known

    def deviation(self) -> FloatArray:
        """Return the standard deviation of each column."""
        return np.sqrt(self.squares / np.maximum(self.n_known, 1))


def _small_blocks(source: Source) -> Iterator[FloatArray]:
    """Yield all rows in blocks that are small, because statistics of a block take several times its
    memory.
    """
    for rows in source.read_all():
        for part in row_blocks(len(rows), rows_within(SCALE.block_bytes, 8 * source.n_features)):
            yield rows[part].astype(np.float64)


def _refuse_unusable(source: Source, found: _Statistics) -> None:
    for number in range(source.n_features):
        name = source.feature_names[number] if source.feature_names else number
        largest = max(abs(found.low[number]), abs(found.high[number]))
        drop = f"with {setting('drop', [name])}"
        problem = None
        if np.isnan(largest):
            problem = f"has no values: leave it out {drop}"
        elif np.isinf(largest):
            problem = f"holds infinite values: replace them, or leave the column out {drop}"
        elif not np.isfinite([found.mean[number], found.std[number]]).all():
            overflow = f"holds values up to {largest:.3g}, whose squares overflow"
            problem = f"{overflow}: divide them by a constant, or leave the column out {drop}"
        if problem is not None:
            raise ValueError(f"{source.name}: column {name!r} {problem}.")
