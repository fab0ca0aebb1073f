"""Prepared rows as a table in original units: what a preparation made of each column, turned back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.description.prepared import DATE, SHARE
from cohirf.diagnosis.text import shorten
from cohirf.preparation import Prepared

Floats = NDArray[np.float64]


class UnscaledRows:
    """Prepared rows in original units: missing cells are filled, and nothing is scaled."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self.n_rows, self.n_features = prepared.source.n_rows, prepared.source.n_features

    def take(self, rows: IntArray) -> Floats:
        """Return rows."""
        return self._prepared.preparation.to_original_units(self._prepared.source.take(rows))


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
