"""The section with rows to check: the least typical ones, those between two clusters, and those of
which most columns were empty.

``html/odd_rows.js`` writes them, with the names that the reader has given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cohirf.app.explain.columns import Columns, Pictures, round_number
from cohirf.app.explain.effects import measure_effects
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.rows import BadlyFitting
from cohirf.app.explain.sections import Made, Section
from cohirf.app.explain.study import Sample
from cohirf.app.explain.table import as_dense
from cohirf.rows import IntArray


def rows_of(found: BadlyFitting) -> IntArray:
    """Return the numbers of the rows that are shown."""
    shown = [row.row for row in found.loose[: PAGE.odd_rows]] + [
        row.row for row in found.border[: PAGE.odd_rows]
    ]
    return np.array(shown, dtype=np.int64)


def describe_odd_rows(
    sample: Sample, found: BadlyFitting, columns: Columns, pictures: Pictures | None = None
) -> dict[str, Any]:
    """Return the rows that fit their cluster badly, with the values that tell most.

    Images have no values.
    """
    teller = Teller(sample, columns)
    place = {
        number: position
        for position, number in enumerate(sample.study.model.cluster_numbers_.tolist())
    }
    prepared = sample.study.prepared
    filled = [] if prepared is None else prepared.mostly_filled().tolist()
    odd: dict[str, Any] = {
        "n_compared": found.n_compared,
        "n_filled": len(filled),
        "filled": [sample.study.name_row(row) for row in filled[: PAGE.filled_rows]],
        "loose": [
            teller.describe(row.row, [place[row.cluster]]) | {"distance": round(row.distance, 1)}
            for row in found.loose[: PAGE.odd_rows]
        ],
        "border": [
            teller.describe(row.row, [place[row.cluster], place[row.other]])
            | {"other": place[row.other], "closeness": round(row.closeness, 2)}
            for row in found.border[: PAGE.odd_rows]
        ],
    }
    if pictures is not None:
        shown = [*odd["loose"], *odd["border"]]
        for row, image in zip(shown, pictures.show(rows_of(found).tolist()), strict=True):
            row |= {"image": image, "values": []}
    return odd


class Teller:
    """Finds the values of a row that tell why it fits badly."""

    def __init__(self, sample: Sample, columns: Columns) -> None:
        self._sample = sample
        self._columns = columns
        table = sample.table
        clusters = np.arange(sample.study.model.n_clusters_)
        self._mean = measure_effects(table, sample.labels, clusters).mean
        self._is_level = np.array(
            [feature.kind == "level" for feature in table.features], dtype=bool
        )

    def describe(self, row: int, clusters: list[int]) -> dict[str, Any]:
        """Return a row of one cluster, or between two, with the columns that tell most."""
        position = int(np.searchsorted(self._sample.rows, row))
        means = self._mean[clusters]
        # how far it is from its cluster; of levels, if it has them and they are rare
        if len(clusters) == 1:
            cells = as_dense(self._sample.table.values[[position]])[0]
            difference = np.where(
                self._is_level & ((cells < 1) | (means[0] > PAGE.odd_level)), 0, cells - means[0]
            )
        else:  # how far two clusters are from each other
            difference = means[0] - means[1]
        deviation = self._sample.table.deviation
        strength = np.abs(difference) / np.where(deviation > 0, deviation, np.inf)
        if self._sample.table.known is not None:
            strength = np.where(self._sample.table.known[position], strength, 0)
        strength = np.nan_to_num(strength)
        names: dict[str, None] = {}
        for feature in np.argsort(-strength, kind="stable").tolist():
            if len(names) == PAGE.odd_columns or strength[feature] < PAGE.odd_difference:
                break
            names.setdefault(self._sample.table.features[feature].name)
        return {
            "called": self._sample.study.name_row(row),
            "cluster": clusters[0],
            "values": [self._compare(position, name, clusters) for name in names],
            "image": None,
        }

    def _compare(self, position: int, name: str, clusters: list[int]) -> list[Any]:
        """Return column and value, and for each cluster its mean, or the share of its rows with the
        same level.
        """
        found = self._columns.find(name)
        if found.levels:
            feature = found.features[max(int(found.code[position]), 0)]
        else:
            feature = found.features[0]
        means = self._mean[clusters, feature].tolist()
        typical = [None if np.isnan(mean) else round_number(mean) for mean in means]
        return [self._columns.place(name), self._columns.value(name, position), *typical]


def _describe(made: Made) -> dict[str, Any]:
    return describe_odd_rows(made.sample, made.badly_fitting, made.columns, made.pictures)


def _is_shown(odd: dict[str, Any]) -> bool:
    return bool(odd["loose"] or odd["border"] or odd["filled"])


SECTION = Section("odd", "Rows to check", _describe, template="odd.html", is_shown=_is_shown)
