"""The rows that a report reads: all rows or a sample, with what several sections compute from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray, count_with_noise
from cohirf.description.table import Table
from cohirf.diagnosis.reading import read_rows
from cohirf.diagnosis.sample import SEED
from cohirf.diagnosis.scores import SampleDistances
from cohirf.estimator import CoHiRF
from cohirf.plotting.projection import draw_rows
from cohirf.report.study import Study
from cohirf.summary.numbers import cluster_positions, positions_of

MAX_CELLS = 5_000_000  # cells that are read: 40 MB
MIN_ROWS, MAX_ROWS = 500, 20_000  # rows that are read even if they have more cells; and at most
SCORED_ROWS = 2000  # rows whose pairwise distances are computed
FEWEST_ROWS = 30  # of each final cluster, if it has so many
NO_ROWS: IntArray = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Sample:
    """A sample of the rows of the data: random rows, and more rows of small clusters, with their exemplars.

    Attributes
    ----------
    rows : array of int
        Sorted row numbers.
    features : array or CSR matrix
        Features of these rows as they were fitted, as float64 and without missing values.
    table : Table
        The columns of these rows in their original units.
    weights : array of float
        How many rows of the data each row stands for.
    drawn : array of int
        Positions in the sample of the rows that were drawn at random.
    points : array of int
        Positions in the sample of the rows that are plotted.
    scored : array of int
        Positions in the sample of the rows that scores are computed on.
    distances : SampleDistances
        Pairwise distances of the scored rows, in the features that the model uses for distances.
    """

    rows: IntArray
    features: Any
    table: Table
    weights: NDArray[np.float64]
    drawn: IntArray
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


def draw_sample(study: Study, max_points: int, wanted: IntArray = NO_ROWS) -> Sample:
    """Read all rows, or a sample of about ``MAX_CELLS`` cells if there are more; it contains the wanted rows."""
    n_drawn = min(max(MAX_CELLS // _cells_per_row(study), MIN_ROWS), MAX_ROWS)
    drawn = _draw(study.n_rows, n_drawn)
    rows = np.unique(np.concatenate([drawn, wanted, _rows_of_small_clusters(study.model, drawn)]))
    features = read_rows(study.data, rows)
    among = np.searchsorted(rows, drawn)  # only random rows are plotted and scored
    scored = among[_draw(len(drawn), SCORED_ROWS)]
    return Sample(
        rows=rows,
        features=features,
        table=study.read_table(rows),
        weights=_weigh(study.model, rows),
        drawn=among,
        points=among[_draw(len(drawn), max_points)],
        scored=scored,
        distances=SampleDistances.of(features[scored]),
    )


def _draw(n_rows: int, n_drawn: int) -> IntArray:
    return np.sort(draw_rows(n_rows, n_drawn, SEED))


def _rows_of_small_clusters(model: CoHiRF, drawn: IntArray) -> IntArray:
    """Return the exemplars, and rows that the model stores of clusters with too few of the drawn rows."""
    n_drawn = count_with_noise(cluster_positions(model)[drawn], model.n_clusters_)[1:]
    stored = positions_of(model._landmarks.labels, model.cluster_numbers_)
    few = np.flatnonzero(n_drawn < FEWEST_ROWS).tolist() if len(drawn) < len(model.labels_) else []
    more = [model._landmark_rows[np.flatnonzero(stored == cluster)[:FEWEST_ROWS]] for cluster in few]
    return np.concatenate([model.exemplar_indices_, *more])


def _weigh(model: CoHiRF, rows: IntArray) -> NDArray[np.float64]:
    of_rows = cluster_positions(model)
    counts, sampled = (count_with_noise(labels, model.n_clusters_) for labels in (of_rows, of_rows[rows]))
    weights: NDArray[np.float64] = (counts / np.maximum(sampled, 1))[of_rows[rows] + 1]
    return weights


def _cells_per_row(study: Study) -> int:
    n_cells = study.data.nnz // study.n_rows if sparse.issparse(study.data) else study.model.n_features_in_
    return max(int(n_cells), 1)
