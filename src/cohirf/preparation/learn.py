"""prepare: learn a preparation from the training data, and apply it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from cohirf.preparation.categories import find_categories
from cohirf.preparation.columns import Column, assign_roles, find_categorical
from cohirf.preparation.data import Data
from cohirf.preparation.preparation import SCALINGS, Preparation, Prepared
from cohirf.preparation.statistics import Statistics, measure
from cohirf.sources import Source

CATEGORICAL = ("onehot",)
IMPUTES = ("median", "mean")


def prepare(
    data: Any,
    *,
    label_column: Column | None = None,
    id_column: Column | None = None,
    drop: Sequence[Column] = (),
    categorical: str | None = None,
    impute: str | None = None,
    scaling: str = "none",
    **csv: Any,
) -> Prepared:
    """Prepare a table or array for a fit: choose features, encode text, fill missing cells and scale.

    Nothing is done unless an option asks for it. What is learned from the data, such as medians and categories, is kept
    in ``prepared.preparation``, which prepares other data in the same way.

    Files are read in pieces, so they may be larger than memory. Rows are filled and scaled while they are read. A CSV
    file, or a table with encoded text columns, is first converted to a temporary file.

    Parameters
    ----------
    data : path or object
        What :func:`cohirf.open_source` opens: a file, a folder, an array, or a pandas, polars or Arrow table.
    label_column : str or int, optional
        The column with known classes: its name, or its number if the data has no column names. It is not a feature.
        :meth:`Prepared.classes` returns it.
    id_column : str or int, optional
        The column with the names of the rows. It is not a feature. :meth:`Prepared.ids` returns it.
    drop : sequence of str or int, default=()
        Columns to leave out.
    categorical : {"onehot"}, optional
        Encode each text column as one feature of zeros and ones per category, for up to 200 categories. If None, text
        columns are refused.
    impute : {"median", "mean"}, optional
        Fill missing cells with the median or mean of their column; in text columns, with the most frequent category.
        If None, missing cells are refused when rows are read. For data of more than 33 million cells, the median is
        computed from evenly spaced rows.
    scaling : {"none", "standard", "minmax"}, default="none"
        "standard" scales each feature to mean 0 and standard deviation 1, "minmax" to the range from 0 to 1. Encoded
        text is scaled, too.
    **csv
        ``delimiter`` and ``header`` of a CSV file, as in :func:`cohirf.open_source`.

    Returns
    -------
    prepared : Prepared
        The prepared rows, and the :class:`Preparation` for other data.

    See Also
    --------
    Preparation.apply : Prepare other data in the same way.
    cohirf.open_source : Open numeric data without preparation.

    Examples
    --------
    >>> import pandas as pd
    >>> from cohirf import CoHiRF
    >>> from cohirf.preparation import prepare
    >>> plants = pd.DataFrame({"plant": ["p1", "p2", "p3", "p4"], "height": [1.0, None, 8.0, 9.0],
    ...                        "colour": ["red", "red", "blue", "blue"]})
    >>> prepared = prepare(plants, id_column="plant", categorical="onehot", impute="mean", scaling="minmax")
    >>> prepared.feature_names
    ['height', 'colour=blue', 'colour=red']
    >>> prepared.array().round(3)
    array([[0.   , 0.   , 1.   ],
           [0.625, 0.   , 1.   ],
           [0.875, 1.   , 0.   ],
           [1.   , 1.   , 0.   ]])

    New rows are prepared with the mean, categories and range of the training data:

    >>> new = pd.DataFrame({"height": [5.0], "colour": ["red"]})
    >>> prepared.preparation.apply(new).array()
    array([[0.5, 0. , 1. ]])
    """
    _refuse_unknown("categorical", categorical, (None, *CATEGORICAL))
    _refuse_unknown("impute", impute, (None, *IMPUTES))
    _refuse_unknown("scaling", scaling, SCALINGS)
    opened = Data.open(data, **csv)
    roles = assign_roles(
        opened.name, opened.columns, opened.candidates, label_column=label_column, id_column=id_column, drop=drop
    )
    unscaled = Preparation(tuple(roles.features), roles.label, roles.id)
    if opened.table is not None:
        text = find_categorical(opened.table, roles.features, allowed=categorical is not None)
        if text:
            unscaled = replace(unscaled, categories=find_categories(opened.table, text, impute=impute is not None))
    prepared = unscaled.prepare(opened)
    preparation = learn(unscaled, prepared.source, impute=impute, scaling=scaling)
    return Prepared(opened, preparation, preparation.scaled(prepared.source))


def learn(unscaled: Preparation, source: Source, *, impute: str | None, scaling: str) -> Preparation:
    """Return the preparation with fill values and scaling that are learned from the data."""
    if impute is None and scaling == "none":
        return unscaled
    statistics = measure(source, with_median=impute == "median")
    _refuse_unusable(source, statistics)
    fill = None
    if impute is not None:
        fill = statistics.median if impute == "median" else statistics.mean
    offset = {"standard": statistics.mean, "minmax": statistics.low}.get(scaling)
    scale = {"standard": statistics.std, "minmax": statistics.high - statistics.low}.get(scaling)
    return replace(
        unscaled,
        fill=None if fill is None else tuple(fill.tolist()),
        offset=None if offset is None else tuple(offset.tolist()),
        scale=None if scale is None else tuple(np.where(scale == 0, 1.0, scale).tolist()),  # constant features become 0
        scaling=scaling,
    )


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


def _refuse_unknown(name: str, given: str | None, choices: tuple[str | None, ...]) -> None:
    if given not in choices:
        raise ValueError(f"{name}={given!r} is not valid: give {' or '.join(map(repr, choices))}.")
