"""The rows that a report reads: all rows or a sample, with the statistics that several sections use."""

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

MAX_CELLS = 5_000_000  # cells that are read: 40 MB
MIN_ROWS = 500  # rows that are read even if they have more cells
SCORED_ROWS = 2000  # rows whose pairwise distances are computed


@dataclass(frozen=True)
class Sample:
    """A sample of the rows of the data.

    Attributes
    ----------
    rows : array of int
        Sorted row numbers.
    features : array or CSR matrix
        Features of these rows, as float64 and without missing values.
    spread : Spread
        Sum and standard deviation of each feature.
    points : array of int
        Positions in the sample of the rows that are plotted.
    scored : array of int
        Positions in the sample of the rows that scores are computed on.
    distances : SampleDistances
        Pairwise distances of the scored rows, in the features that the model uses for distances.
    """

    rows: IntArray
    features: Any
    spread: Spread
    points: IntArray
    scored: IntArray
    distances: SampleDistances

    @property
    def point_rows(self) -> IntArray:
        """Row numbers of the plotted rows."""
        return self.rows[self.points]

    @property
    def scored_rows(self) -> IntArray:
        """Row numbers of the rows that scores are computed on."""
        return self.rows[self.scored]


def draw_sample(study: Study, max_points: int) -> Sample:
    """Read all rows, or a sample of about ``MAX_CELLS`` cells if there are more."""
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
