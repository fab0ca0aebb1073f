"""The rows that a report reads, all or a part of them, and what is measured on them once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.effects import Spread, measure_spread
from cohirf.diagnosis.reading import read_rows
from cohirf.diagnosis.sample import SEED, relevant_part
from cohirf.diagnosis.scores import SampleDistances
from cohirf.plotting.projection import draw_rows
from cohirf.report.study import Study

MAX_CELLS = 5_000_000  # 40 MB
MIN_ROWS = 500  # are read, however wide they are
SCORED_ROWS = 2000  # between which all distances are measured


@dataclass(frozen=True)
class Sample:
    """Rows of the data, and what is measured on them.

    Attributes
    ----------
    rows : array of int
        Their numbers, in rising order.
    features : array or CSR matrix
        Their features, as float64 and without missing values.
    spread : Spread
        Of each feature.
    points : array of int
        Positions in the sample of the rows that are drawn.
    scored : array of int
        Positions in the sample of the rows that scores are computed on.
    distances : SampleDistances
        Of these, by the features that the model measures distances on.
    """

    rows: IntArray
    features: Any
    spread: Spread
    points: IntArray
    scored: IntArray
    distances: SampleDistances

    @property
    def point_rows(self) -> IntArray:
        """Numbers of the rows that are drawn."""
        return self.rows[self.points]

    @property
    def scored_rows(self) -> IntArray:
        """Numbers of the rows that scores are computed on."""
        return self.rows[self.scored]


def draw_sample(study: Study, max_points: int) -> Sample:
    """Read all rows of small data, and of large data as many as have a limited number of cells."""
    rows = _draw(study.n_rows, max(MAX_CELLS // _cells_per_row(study), MIN_ROWS))
    features = read_rows(study.data, rows)
    scored = _draw(len(rows), SCORED_ROWS)
    return Sample(
        rows=rows,
        features=features,
        spread=measure_spread(features),
        points=_draw(len(rows), max_points),
        scored=scored,
        distances=SampleDistances.of(relevant_part(study.model, features[scored])),
    )


def _draw(n_rows: int, n_drawn: int) -> IntArray:
    return np.sort(draw_rows(n_rows, n_drawn, SEED))


def _cells_per_row(study: Study) -> int:
    n_cells = study.data.nnz // study.n_rows if sparse.issparse(study.data) else study.model.n_features_in_
    return max(int(n_cells), 1)
