"""Rows to look at: the least typical rows of the final clusters, and rows between two of them, with telling values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.description.rows import BadlyFitting, BorderRow, LooseRow
from cohirf.diagnosis.effects import measure_effects, measure_spread
from cohirf.diagnosis.reading import as_dense
from cohirf.report.columns import Columns
from cohirf.report.distributions import Floats, round_number
from cohirf.report.pictures import Pictures
from cohirf.report.sample import Sample
from cohirf.report.study import Study
from cohirf.summary.numbers import cluster_positions

MAX_EACH = 12
N_VALUES = 3  # columns shown of each row
WEAK = 0.5  # standard deviations: smaller differences are not shown
RARE = 0.1  # share of the rows of a cluster with a level, from which on it is not unusual


def rows_of(found: BadlyFitting) -> IntArray:
    """Return the numbers of the rows that are shown."""
    shown = [*(row.row for row in found.loose[:MAX_EACH]), *(row.row for row in found.border[:MAX_EACH])]
    return np.array(shown, dtype=np.int64)


def describe_odd_rows(
    study: Study, sample: Sample, found: BadlyFitting, columns: Columns, pictures: Pictures | None = None
) -> dict[str, Any]:
    """Return the rows that fit their cluster badly.

    Returns
    -------
    odd : dict
        ``loose`` and ``border`` are lists of rows with their name, their cluster, and the values that tell most: for a
        loose row, those that are farthest from its cluster; for a row between two clusters, those in which the two
        clusters differ most. Each value is a list of column, value, and what is typical for each of the clusters.
        Images have no values: ``image`` shows the row.
    """
    teller = Teller(ClusterMeans.of(study, sample), sample, columns)
    odd: dict[str, Any] = {
        "n_compared": found.n_compared,
        "loose": [
            {
                "called": study.name_row(row.row),
                "cluster": row.cluster,
                "distance": round(row.distance, 1),
                "values": teller.tell_loose(row),
                "image": None,
            }
            for row in found.loose[:MAX_EACH]
        ],
        "border": [
            {
                "called": study.name_row(row.row),
                "cluster": row.cluster,
                "other": row.other,
                "closeness": round(row.closeness, 2),
                "values": teller.tell_border(row),
                "image": None,
            }
            for row in found.border[:MAX_EACH]
        ],
    }
    if pictures is not None:
        shown = [*odd["loose"], *odd["border"]]
        for row, image in zip(shown, pictures.show(rows_of(found).tolist()), strict=True):
            row |= {"image": image, "values": []}
    return odd


@dataclass(frozen=True)
class ClusterMeans:
    """Values of sampled rows, means of the final clusters, and standard deviations of all rows; for each feature.

    ``is_level`` tells which features are levels of categories: their means are shares of rows.
    """

    values: Any
    mean: Floats
    deviation: Floats
    is_level: NDArray[np.bool_]

    @classmethod
    def of(cls, study: Study, sample: Sample) -> ClusterMeans:
        """Compute the means of the final clusters."""
        spread = measure_spread(sample.table.values, sample.weights)
        clusters, labels = np.arange(study.model.n_clusters_), cluster_positions(study.model)[sample.rows]
        effects = measure_effects(sample.table.values, spread, labels, clusters, sample.weights)
        is_level = np.array([feature.kind == "level" for feature in sample.table.features], dtype=bool)
        return cls(sample.table.values, effects.mean, spread.deviation, is_level)

    def strangeness(self, position: int, cluster: int) -> Floats:
        """Return how far a row is from its cluster in each feature; of levels, if it has them and they are rare."""
        row = as_dense(self.values[[position]])[0]
        is_usual = self.is_level & ((row < 1) | (self.mean[cluster] > RARE))
        return np.where(is_usual, 0, self._in_deviations(row - self.mean[cluster]))

    def contrast(self, one: int, other: int) -> Floats:
        """Return how far two clusters are from each other in each feature."""
        return self._in_deviations(self.mean[one] - self.mean[other])

    def _in_deviations(self, differences: Floats) -> Floats:
        return np.abs(differences) / np.where(self.deviation > 0, self.deviation, np.inf)


@dataclass(frozen=True)
class Teller:
    """Finds the values of a row that tell why it fits badly."""

    means: ClusterMeans
    sample: Sample
    columns: Columns

    def tell_loose(self, row: LooseRow) -> list[list[Any]]:
        """Return the columns in which a row is farthest from its cluster."""
        position = self._find(row.row)
        return self._tell(position, self.means.strangeness(position, row.cluster), [row.cluster])

    def tell_border(self, row: BorderRow) -> list[list[Any]]:
        """Return the columns in which the two clusters of a row differ most."""
        strength = self.means.contrast(row.cluster, row.other)
        return self._tell(self._find(row.row), strength, [row.cluster, row.other])

    def _find(self, row: int) -> int:
        return int(np.searchsorted(self.sample.rows, row))

    def _tell(self, position: int, strength: Floats, clusters: list[int]) -> list[list[Any]]:
        names: dict[str, None] = {}
        for feature in np.argsort(-strength, kind="stable").tolist():
            if len(names) == N_VALUES or strength[feature] < WEAK:
                break
            names.setdefault(self.columns.name_of(feature))
        return [self._compare(position, name, clusters) for name in names]

    def _compare(self, position: int, name: str, clusters: list[int]) -> list[Any]:
        """Return column and value, and for each cluster its mean, or the share of its rows with the same level."""
        found = self.columns.find(name)
        feature = found.features[max(int(found.code[position]), 0)] if found.levels else found.features[0]
        typical = [round_number(float(self.means.mean[cluster, feature])) for cluster in clusters]
        return [self.columns.place(name), self.columns.value(name, position), *typical]
