"""Rows to look at: the least typical rows of the final clusters, and rows between two of them, with telling values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.description.rows import BadlyFitting
from cohirf.diagnosis.effects import measure_effects, measure_spread
from cohirf.diagnosis.reading import as_dense
from cohirf.report.columns import Columns
from cohirf.report.distributions import Floats, round_number
from cohirf.report.sample import Sample
from cohirf.report.study import Study

MAX_EACH = 12
N_VALUES = 3  # columns shown of each row


def rows_of(found: BadlyFitting) -> IntArray:
    """Return the numbers of the rows that are shown."""
    return np.array([row.row for row in (*found.loose[:MAX_EACH], *found.border[:MAX_EACH])], dtype=np.int64)


def describe_odd_rows(study: Study, sample: Sample, found: BadlyFitting, columns: Columns) -> dict[str, Any]:
    """Return the rows that fit their cluster badly.

    Returns
    -------
    odd : dict
        ``loose`` and ``border`` are lists of rows with their name, their cluster, and the values that tell most: for a
        loose row, those that are farthest from its cluster; for a row between two clusters, those in which the two
        clusters differ most. Each value is a list of column, value, and what is typical for each of the clusters.
    """
    means = ClusterMeans.of(study, sample)
    loose, border = found.loose[:MAX_EACH], found.border[:MAX_EACH]
    return {
        "n_compared": found.n_compared,
        "loose": [
            {
                "called": study.name_row(row.row),
                "cluster": row.cluster,
                "distance": round(row.distance, 1),
                "values": _tell(means, columns, _position(sample, row.row), [row.cluster], None),
            }
            for row in loose
        ],
        "border": [
            {
                "called": study.name_row(row.row),
                "cluster": row.cluster,
                "other": row.other,
                "closeness": round(row.closeness, 2),
                "values": _tell(means, columns, _position(sample, row.row), [row.cluster, row.other], row.other),
            }
            for row in border
        ],
    }


@dataclass(frozen=True)
class ClusterMeans:
    """Values of sampled rows, means of the final clusters, and standard deviations of all rows; for each feature."""

    values: Any
    mean: Floats
    deviation: Floats

    @classmethod
    def of(cls, study: Study, sample: Sample) -> ClusterMeans:
        """Compute the means of the final clusters."""
        spread = measure_spread(sample.table.values, sample.weights)
        clusters, labels = np.arange(study.model.n_clusters_), study.model.labels_[sample.rows]
        effects = measure_effects(sample.table.values, spread, labels, clusters, sample.weights)
        return cls(sample.table.values, effects.mean, spread.deviation)


def _tell(
    means: ClusterMeans, columns: Columns, position: int, clusters: list[int], other: int | None
) -> list[list[Any]]:
    """Return the columns of a row that tell most about it, with its values and those of some clusters."""
    row = as_dense(means.values[[position]])[0]
    reference = row if other is None else means.mean[other]
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.where(means.deviation > 0, np.abs(reference - means.mean[clusters[0]]) / means.deviation, 0)
    names: dict[str, None] = {}
    for feature in np.argsort(-strength, kind="stable").tolist():
        if len(names) == N_VALUES or strength[feature] == 0:
            break
        names.setdefault(columns.name_of(feature))
    return [_compare(means, columns, position, name, clusters) for name in names]


def _compare(means: ClusterMeans, columns: Columns, position: int, name: str, clusters: list[int]) -> list[Any]:
    """Return column and value, and for each cluster its mean, or the share of its rows with the same level."""
    found = columns.find(name)
    feature = found.features[max(int(found.code[position]), 0)] if found.levels else found.features[0]
    typical = [round_number(float(means.mean[cluster, feature])) for cluster in clusters]
    return [columns.place(name), columns.value(name, position), *typical]


def _position(sample: Sample, row: int) -> int:
    return int(np.searchsorted(sample.rows, row))
