"""ChooseMedoids: the most central row of each consensus cluster (paper, section 2.2.2).

The paper's formula takes the argmin of summed absolute similarities, which is the *least* central
row and contradicts the paper's own text. This file chooses the most central row.

A sum of cosine similarities or squared Euclidean distances over a cluster is an inner product with
one vector: the sum of its rows, or their mean. So these medoids are exact and cost O(n p). Other
similarities are computed between a sample of at most ``max_candidates`` rows of each cluster.

Ties go to the lowest row: scores within ``ROUNDING`` of the best score count as equal, so that
the order of summation does not matter. For the same reason, CSR rows must not lose digits that an
array keeps.

Rows may be on a device; what belongs to them is then computed there, in float64.

To add a rule, write it here, and name it in ``CENTRALITY`` or ``SIMILARITY`` of
``fitting/settings.py``. Other places choose central rows by other criteria: ``Groups.find_central``
in ``beyond/merge_tree.py`` when groups merge after the levels, ``_nearest_candidates`` in
``fitting/merging.py`` for cells, and ``find_central_rows`` in ``fitting/results.py`` for exemplars.
``clusterers/central_rows.py`` has compiled versions of medoids and exemplars.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import cosine_similarity

from cohirf.rows.arrays import as_array, fetch_rows, look_up, to_host
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import ROUNDING, FloatArray, IntArray, best_by_label, rows_by_label
from cohirf.rows.members import (
    Members,
    in_unit,
    manhattan_distances_between,
    members_of,
    relative_mass,
    scale_mass,
    squared_distances_between,
)

Similarity = Callable[[Any, FloatArray], FloatArray]

Centrality = Callable[[Members], Any]


def fill_missing(X: Any, column_means: NDArray[np.floating[Any]] | None) -> Any:
    """Return ``X`` with missing cells replaced by the means of their columns, as distances need
    it.
    """
    if X is None or column_means is None:
        return X
    return container_of(X).fill(X, column_means)


def cluster_means(X: Any, labels: Any, n_clusters: int, mass: Any) -> Any:
    """Return the mean of each cluster's rows, weighted by their mass, in float64.

    A CSR matrix if ``X`` is one.
    """
    return to_host(members_of(X, labels, n_clusters, mass).means(mass))


def choose_central_medoids(
    X: Any,
    labels: Any,
    n_clusters: int,
    mass: Any,
    rng: np.random.Generator,
    *,
    centrality: Centrality,
) -> IntArray:
    """Return the row number of each cluster's exact medoid, for a centrality that costs O(n p)."""
    if mass is not None:
        mass = scale_mass(mass, labels, n_clusters)
    members = members_of(X, labels, n_clusters, mass)
    return best_by_label(centrality(members), labels, n_clusters)


def choose_sampled_medoids(
    X: Any,
    labels: IntArray,
    n_clusters: int,
    mass: FloatArray | None,
    rng: np.random.Generator,
    *,
    similarity: Similarity,
    max_candidates: int,
    share: float = 1.0,
) -> IntArray:
    """Return the medoid of each cluster among a sample of its rows, for any similarity.

    The sample has ``share`` of the rows, but at least one and at most ``max_candidates``.

    ``similarity`` takes the candidates of a cluster, an array or CSR matrix, and their mass, and
    returns the matrix of their similarities. Candidates that are on a device are compared in this
    process.
    """
    labels = to_host(labels)
    mass = to_host(mass)
    starts, candidates = _sample_candidates(labels, n_clusters, rng, max_candidates, share)
    medoids = candidates[starts[:-1]]
    fewest = 2
    # a row is nearest to itself: of two, the heavier one
    if similarity in (
        rbf_similarity,
        laplacian_similarity,
    ):
        fewest = 3
        pairs = np.flatnonzero(np.diff(starts) == 2)
        first = candidates[starts[pairs]]
        second = candidates[starts[pairs] + 1]
        medoids[pairs] = (
            first if mass is None else np.where(mass[second] > mass[first], second, first)
        )
    for cluster in np.flatnonzero(np.diff(starts) >= fewest):
        rows = candidates[starts[cluster] : starts[cluster + 1]]
        if mass is None:
            weights = np.ones(len(rows))
        else:
            weights = relative_mass(mass[rows], mass[rows].max())
        points = fetch_rows(X, rows).astype(np.float64, copy=False)
        scores = similarity(points, weights) @ weights / weights.sum()
        best = scores.max()
        medoids[cluster] = rows[(scores >= best - ROUNDING * abs(best)).argmax()]
    return medoids


def cosine_centrality(members: Members) -> Any:
    """Return the mean cosine similarity of each row to the rows of its cluster.

    A zero row has similarity 0.
    """
    inverse_norm = members.invert_norms()
    directions = members.vectors(members.means(members.weigh(inverse_norm)))
    inverse_norm *= members.map_rows(directions.dots)
    return inverse_norm


def euclidean_centrality(members: Members) -> Any:
    """Return the negative squared distance of each row to its cluster's mean, divided by the
    average over the cluster.

    The sum of squared distances to all rows of the cluster is a linear function of it, so the
    medoid is the same.
    """
    squares = members.squared_distances_to_means()
    unit = look_up(members.mean_by_cluster(squares), members.labels)
    return -members.in_unit(squares, unit)


def rbf_similarity(points: Any, mass: FloatArray) -> FloatArray:
    """Return exp(-gamma d^2) with 1 / gamma the mean squared distance between the candidates of a
    cluster.
    """
    return _decay(squared_distances_between(points), mass)


def laplacian_similarity(points: Any, mass: FloatArray) -> FloatArray:
    """Return exp(-gamma d) with d the Manhattan distance and 1 / gamma its mean in the cluster."""
    return _decay(manhattan_distances_between(points), mass)


@dataclass(frozen=True)
class SampledMedoid:
    """Medoids of samples, as in the paper's analysis of time: pass it as ``medoid`` of
    :class:`CoHiRF`.

    The medoid of a cluster of ``n`` rows is chosen among ``min(share * n, most)`` random rows of
    it, at least one. By default CoHiRF needs no sample: the medoid of all rows takes linear time.

    Parameters
    ----------
    share : float, default=1.0
        Fraction of a cluster's rows, in (0, 1].
    most : int, default=1000
        The largest number of rows.
    similarity : callable, default=sklearn.metrics.pairwise.cosine_similarity
        Takes a matrix of rows and returns the square matrix of their similarities.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF, SampledMedoid
    >>> medoid = SampledMedoid(share=0.5, most=20)
    >>> model = CoHiRF.as_published(KMeans(3), medoid=medoid, random_state=0)
    >>> model.fit(load_iris().data).n_clusters_
    3
    """

    share: float = 1.0
    most: int = 1000
    similarity: Callable[[Any], Any] = field(default_factory=lambda: cosine_similarity)

    def __post_init__(self) -> None:
        """Check the limits."""
        if not 0 < self.share <= 1:
            raise ValueError(f"share={self.share} is not valid: give a fraction in (0, 1].")
        if self.most < 1:
            raise ValueError(f"most={self.most} is not valid: give an int >= 1.")

    def __call__(self, X: Any) -> Any:
        """Return the similarities of rows."""
        return self.similarity(X)


@dataclass(frozen=True)
class CallableSimilarity:
    """A user's ``f(X) -> similarity matrix``."""

    function: Callable[[Any], Any]

    def __call__(self, cluster: Any, mass: FloatArray) -> FloatArray:
        """Return the similarities between the candidates of a cluster."""
        n = cluster.shape[0]
        matrix = self.function(cluster)
        matrix = np.asarray(as_array(matrix), dtype=np.float64)
        if matrix.shape != (n, n):
            raise ValueError(
                f"The medoid similarity returned an array of shape {matrix.shape} for {n} rows: it "
                f"must return the {n} x {n} matrix of similarities between them."
            )
        if not np.isfinite(matrix).all():
            raise ValueError(
                "The medoid similarity returned NaN or infinity: it must be finite for all rows."
            )
        return matrix


def _sample_candidates(
    labels: IntArray, n_clusters: int, rng: np.random.Generator, max_candidates: int, share: float
) -> tuple[IntArray, IntArray]:
    """Draw the candidates of each cluster without replacement.

    The result has the format of ``rows_by_label``.
    """
    starts, rows = rows_by_label(labels, n_clusters)
    sizes = np.diff(starts)
    n_candidates = np.clip(
        (share * sizes).astype(sizes.dtype), np.minimum(sizes, 1), max_candidates
    )
    if (n_candidates == sizes).all():
        return starts, rows
    label_of = np.repeat(np.arange(n_clusters), sizes)
    shuffled = np.lexsort((rng.random(len(rows)), label_of))
    rank = np.arange(len(rows)) - starts[label_of]
    drawn = np.sort(shuffled[rank < n_candidates[label_of]])
    return np.concatenate([[0], np.cumsum(n_candidates)]), rows[drawn]


def _decay(distances: FloatArray, mass: FloatArray) -> FloatArray:
    """Turn distances into similarities that decay to 1/e at the mean distance of the cluster."""
    share = mass / mass.sum()
    similarities: FloatArray = np.exp(-in_unit(distances, share @ distances @ share))
    return similarities
