"""Prepared rows as a table in original units: what a preparation made of each column, turned back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.description.table import Feature, Table
from cohirf.diagnosis.text import shorten
from cohirf.preparation import Feature as PreparedFeature
from cohirf.preparation import Prepared

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
TIMES = ("night", "morning", "afternoon", "evening")  # of six hours each, from midnight on
CYCLES = {"hour": TIMES, "weekday": DAYS}
SHARE, DATE = "share", "date"  # units of prepared features

Floats = NDArray[np.float64]


class UnscaledRows:
    """Prepared rows in original units: missing cells are filled, and nothing is scaled."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.n_rows, self.n_features = prepared.source.n_rows, prepared.source.n_features

    def take(self, rows: IntArray) -> Floats:
        """Return rows."""
        return self._prepared.preparation.to_original_units(self._prepared.source.take(rows))


def read_prepared(prepared: Prepared, rows: IntArray) -> Table:
    """Return some rows as a table, whose features are those of the original columns.

    A level of a category is a feature, as it was for the fit; yes and no are two levels. The sine and cosine of an hour
    or weekday become times of the day or days of the week, of which each is a feature.
    """
    values = UnscaledRows(prepared).take(rows)
    features: list[Feature] = []
    columns: list[Floats] = []
    cycles: dict[tuple[Any, str], list[Floats]] = {}
    for feature, numbers in zip(prepared.preparation.features, values.T, strict=True):
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


def find_units(prepared: Prepared) -> dict[str, str]:
    """Return the unit of each column of numbers that has one."""
    named = {SHARE, DATE, ""}
    features = prepared.preparation.features
    return {shorten(feature.column): feature.unit for feature in features if feature.unit not in named}


def tell_columns(prepared: Prepared) -> dict[str, Any]:
    """Return what was done with each column as a table: headings, and cells of each row."""
    notes = prepared.preparation.describe()
    rows = [[shorten(note.column), note.kind, str(note.n_features), shorten(note.note, 400)] for note in notes]
    return {"headings": ["Column", "Kind", "Features", "What was done"], "rows": rows}


def _describe(feature: PreparedFeature) -> Feature:
    name = shorten(feature.column)
    if feature.unit == SHARE:
        return Feature(name, "level", "yes" if feature.level is None else shorten(feature.level))
    return Feature(name, "date" if feature.unit == DATE else "number")
