"""The rows that a diagnosis is based on: all rows of a fit, or a sample of the landmarks that it stored.

Every place that shows a verdict looks at these rows, whether it has the data of the fit or not, so that they all agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.algorithm.grouping import IntArray, count_with_noise
from cohirf.summary.numbers import cluster_positions, positions_of

SEED = 0  # the same rows each time
# The base method runs on so many rows, which must not take long; with many features, on fewer.
MAX_ROWS, MIN_ROWS, MAX_CELLS = 1000, 300, 500_000
ROWS_PER_CLUSTER = 10  # that a model keeps at least, unless it was reduced to exemplars


@dataclass(frozen=True)
class DiagnosisSample:
    """Rows of a fit.

    Attributes
    ----------
    rows : array of int
        Row numbers.
    features : array or CSR matrix
        The features that the model uses for distances.
    compared : array of int
        Positions in the sample of the rows on which labels are compared.
    is_part : bool
        Whether the fit had more rows.
    has_density : bool
        Whether the rows are as dense as those of the fit: all rows, or all rows of a region.
    """

    rows: IntArray
    features: Any
    compared: IntArray
    is_part: bool
    has_density: bool


def draw_sample(model: Any, *, keeps_density: bool = False) -> DiagnosisSample:
    """Return all rows of a small fit; of a larger one, random rows or, with ``keeps_density``, a region.

    A region consists of the rows nearest to a random row. Rows at its border lack neighbours, so labels are compared on
    its inner half. It needs all rows of the fit, so a fit that stored only some of them gives random rows.
    """
    rng = np.random.default_rng(SEED)
    n_kept, n_rows = len(model._landmark_rows), len(model.labels_)
    n_drawn = count_sampled(model.n_features_in_)
    if not keeps_enough(model):
        return _take(model, np.arange(n_kept), is_part=True, has_density=False)
    if n_rows <= n_drawn and n_kept == n_rows:
        return _take(model, np.arange(n_rows), is_part=False, has_density=True)
    if keeps_density and n_kept == n_rows:
        points = model._landmarks.points
        distances = euclidean_distances(points[[int(rng.integers(n_rows))]], points)[0]
        nearest = np.argsort(distances, kind="stable")[:n_drawn]
        chosen = np.sort(nearest)
        inner = np.searchsorted(chosen, np.sort(nearest[: n_drawn // 2]))
        return _take(model, chosen, inner, is_part=True, has_density=True)
    return _take(model, _draw_landmarks(model, n_drawn, rng), is_part=True, has_density=False)


def keeps_enough(model: Any) -> bool:
    """Return whether a model keeps enough rows for a sample; one that was reduced to exemplars does not."""
    n_kept, n_needed = len(model._landmark_rows), count_sampled(model.n_features_in_)
    # rows of weight 0 are not kept either, but most others are
    return 2 * n_kept > len(model.labels_) or n_kept >= min(n_needed, ROWS_PER_CLUSTER * model.n_clusters_)


def count_sampled(n_features: int) -> int:
    """Return the largest number of rows to look at, given the number of features."""
    return min(MAX_ROWS, max(MIN_ROWS, MAX_CELLS // n_features))


def _take(
    model: Any, chosen: IntArray, compared: IntArray | None = None, *, is_part: bool, has_density: bool
) -> DiagnosisSample:
    return DiagnosisSample(
        rows=model._landmark_rows[chosen],
        features=model._landmarks.points[chosen],
        compared=np.arange(len(chosen)) if compared is None else compared,
        is_part=is_part,
        has_density=has_density,
    )


def _draw_landmarks(model: Any, n_drawn: int, rng: np.random.Generator) -> IntArray:
    """Sample landmarks so that clusters have about the same shares as among all rows."""
    labels = positions_of(model._landmarks.labels, model.cluster_numbers_)
    if len(labels) == len(model.labels_):
        return np.sort(rng.choice(len(labels), min(len(labels), n_drawn), replace=False))
    among_rows, kept = (count_with_noise(of, model.n_clusters_) for of in (cluster_positions(model), labels))
    odds = (among_rows / np.maximum(kept, 1))[labels + 1]
    n_drawn = min(n_drawn, (len(labels) + 1) // 2)  # at most half of them, so that the odds have an effect
    return np.sort(rng.choice(len(labels), n_drawn, replace=False, p=odds / odds.sum()))
