"""Prepared values as a table in original units: what a preparation made of each column, turned back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.description.table import Feature, Table
from cohirf.diagnosis.text import shorten

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TIMES = ("night", "morning", "afternoon", "evening")  # of six hours each, from midnight on
CYCLES = {"hour": TIMES, "weekday": DAYS}
SHARE, DATE = "share", "date"  # units of prepared features

Floats = NDArray[np.float64]


def is_prepared(X: Any) -> bool:
    """Return whether data is what ``prepare`` returned: prepared rows with their preparation."""
    return hasattr(X, "preparation") and hasattr(X, "source")


def read_prepared(preparation: Any, values: Any, rows: IntArray) -> Table:
    """Return prepared values as a table, whose features are those of the original columns.

    A level of a category is a feature, as it was for the fit; yes and no are two levels. The sine and cosine of an hour
    or weekday become times of the day or days of the week, of which each is a feature.

    Parameters
    ----------
    preparation : Preparation
        What made the values.
    values : array of float, shape (n_rows, n_features)
        Prepared rows.
    rows : array of int, shape (n_rows,)
        Their numbers.
    """
    original: Floats = preparation.to_original_units(values)
    features: list[Feature] = []
    columns: list[Floats] = []
    cycles: dict[tuple[Any, str], list[Floats]] = {}
    for feature, numbers in zip(preparation.features, original.T, strict=True):
        if feature.cycle is not None:
            cycles.setdefault((feature.column, feature.cycle), []).append(numbers)
            continue
        features.append(_describe(feature))
        columns.append(numbers)
        if feature.kind == "boolean":
            features.append(Feature(shorten(feature.column), "level", "no"))
            columns.append(1 - numbers)
    for (column, cycle), (sine, cosine) in cycles.items():
        names = CYCLES[cycle]
        part = np.floor(np.arctan2(sine, cosine) / (2 * np.pi) % 1 * len(names) + 1e-6).astype(np.int64) % len(names)
        features += [Feature(shorten(f"{column} {cycle}"), "level", name) for name in names]
        columns += list((part == np.arange(len(names))[:, None]).astype(np.float64))
    return Table(rows, np.column_stack(columns) if columns else np.empty((len(rows), 0)), features)


def _describe(feature: Any) -> Feature:
    name = f"feature {feature.column}" if isinstance(feature.column, int) else shorten(feature.column)
    if feature.unit == SHARE:
        return Feature(name, "level", "yes" if feature.level is None else shorten(feature.level))
    return Feature(name, "date" if feature.unit == DATE else "number")
