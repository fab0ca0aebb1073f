"""ChooseMedoids: the most central row of each consensus cluster (paper, section 2.2.2).

The paper's formula takes the argmin of summed absolute similarities, which is the *least* central
row and contradicts the paper's own text. This file chooses the most central row.

A sum of cosine similarities or squared Euclidean distances over a cluster is an inner product with
one vector: the sum of its rows, or their mean. So these medoids are exact and cost O(n p). Other
similarities are computed between a sample of at most ``max_candidates`` rows of each cluster.

Ties go to the lowest row: scores within ``MEDOID_TIE`` of the best score count as equal, so that
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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances, manhattan_distances

from cohirf.rows import scatter
from cohirf.rows.arrays import (
    fetch_rows,
    in_blocks,
    is_here,
    look_up,
    namespace,
    put_beside,
    to_host,
)
from cohirf.rows.grouping import (
    FloatArray,
    IntArray,
    best_by_label,
    count_by_label,
    index_dtype,
    rows_by_label,
    sum_by_label,
    sum_rows_by_label,
)

Similarity = Callable[[Any, FloatArray], FloatArray]

FEW_CANDIDATES = (
    16  # sparse rows that are compared as an array, which keeps the digits of values with an offset
)
MEDOID_TIE = 1e-9
CACHED_CELLS = 2**17  # of a block of rows that fits the cache
DEVICE_CELLS = 2**26  # of a block of rows on a device
# If the squared norm of a CSR cluster's mean, over the mean squared distance to it, is larger than
# this, the cluster is shifted to the origin: the expanded square would lose digits. The shift keeps
# the rows sparse, because such a tight cluster has its large values in the same columns.
TIGHT = 1e4


@dataclass(frozen=True)
class Members:
    """The rows of a data matrix, with the cluster and the mass of each."""

    X: Any
    labels: Any
    n_clusters: int
    mass: Any  # None: mass 1 for each row

    def blocks(self, n_cells: int) -> Iterator[tuple[slice, Any]]:
        """Yield slices of the members with their rows of X, in float64, about ``n_cells`` at a
        time.
        """
        n_rows, n_features = self.X.shape
        step = max(
            1,
            n_cells * n_rows // (self.X.nnz + n_rows)
            if sparse.issparse(self.X)
            else n_cells // n_features,
        )
        for start in range(0, len(self.labels), step):
            block = slice(start, start + step)
            yield block, self.X[block].astype(np.float64, copy=False)

    def map_rows(self, function: Callable[[Any, Any], Any]) -> Any:
        """Apply ``function`` to blocks of rows, in float64, and their labels.

        It returns a number for each row.
        """
        if is_here(self.X):
            found: Any = np.empty(len(self.labels))
            for block, points in self.blocks(CACHED_CELLS):
                found[block] = function(points, self.labels[block])
            return found
        xp = namespace(self.X)
        n_rows = self.X.shape[0]
        found = xp.empty(n_rows, dtype=xp.float64, device=self.X.device)

        def fill(block: slice) -> None:
            found[block] = function(xp.astype(self.X[block, :], xp.float64), self.labels[block])

        in_blocks(fill, n_rows, DEVICE_CELLS // self.X.shape[1])
        return found

    def weigh(self, values: Any) -> Any:
        """Return ``values`` times the mass of each member."""
        return values if self.mass is None else values * self.mass

    def cluster_mass(self) -> FloatArray:
        """Return the mass of each cluster."""
        return sum_by_label(self.labels, self.mass, self.n_clusters)


Centrality = Callable[[Members], Any]


def fill_missing(X: Any, column_means: NDArray[np.floating[Any]] | None) -> Any:
    """Return ``X`` with missing cells replaced by the means of their columns, as distances need
    it.
    """
    if X is None or column_means is None or not np.isnan(X).any():
        return X
    return np.where(np.isnan(X), column_means, X)


def cluster_means(X: Any, labels: Any, n_clusters: int, mass: Any) -> Any:
    """Return the mean of each cluster's rows, weighted by their mass, in float64.

    A CSR matrix if ``X`` is one.
    """
    members = Members(X, labels, n_clusters, mass)
    return to_host(_cluster_means(members, mass))


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
    members = Members(X, labels, n_clusters, mass)
    return best_by_label(centrality(members), labels, n_clusters, MEDOID_TIE)


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
            weights = _relative(mass[rows], mass[rows].max())
        points = fetch_rows(X, rows).astype(np.float64, copy=False)
        scores = similarity(points, weights) @ weights / weights.sum()
        best = scores.max()
        medoids[cluster] = rows[(scores >= best - MEDOID_TIE * abs(best)).argmax()]
    return medoids


def cosine_centrality(members: Members) -> Any:
    """Return the mean cosine similarity of each row to the rows of its cluster.

    A zero row has similarity 0.
    """
    inverse_norm = _invert_norms(members)
    directions = _cluster_vectors(_cluster_means(members, members.weigh(inverse_norm)))
    inverse_norm *= members.map_rows(directions.dots)
    return inverse_norm


def euclidean_centrality(members: Members) -> Any:
    """Return the negative squared distance of each row to its cluster's mean, divided by the
    average over the cluster.

    The sum of squared distances to all rows of the cluster is a linear function of it, so the
    medoid is the same.
    """
    squares = _squared_distances_to_means(members)
    return -_in_unit(squares, look_up(_mean_square(members, squares), members.labels))


def rbf_similarity(points: Any, mass: FloatArray) -> FloatArray:
    """Return exp(-gamma d^2) with 1 / gamma the mean squared distance between the candidates of a
    cluster.
    """
    points = _without_empty_columns(points)
    if sparse.issparse(points):
        return _decay(euclidean_distances(points, squared=True), mass)
    shifted = points - points[:1]  # near the origin, the expanded square loses no digits
    # not by scikit-learn, whose checks take longer than a small cluster
    norms = _row_dots(shifted, shifted)
    return _decay(np.maximum(norms[:, None] + norms - 2 * (shifted @ shifted.T), 0), mass)


def laplacian_similarity(points: Any, mass: FloatArray) -> FloatArray:
    """Return exp(-gamma d) with d the Manhattan distance and 1 / gamma its mean in the cluster."""
    points = _without_empty_columns(points)
    is_array = isinstance(points, np.ndarray)
    return _decay(
        cdist(points, points, "cityblock") if is_array else manhattan_distances(points), mass
    )


def _without_empty_columns(points: Any) -> Any:
    """Return a few sparse candidates as an array of the columns that they have cells in.

    Others stay as they are.
    """
    if not sparse.issparse(points) or points.shape[0] > FEW_CANDIDATES:
        return points
    columns, place = np.unique(points.indices, return_inverse=True)
    dense = np.zeros((points.shape[0], len(columns)))
    np.add.at(
        dense, (np.repeat(np.arange(points.shape[0]), np.diff(points.indptr)), place), points.data
    )
    return dense


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
        matrix = np.asarray(
            matrix.toarray() if sparse.issparse(matrix) else matrix, dtype=np.float64
        )
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


def _cluster_means(members: Members, weights: Any) -> Any:
    """Return the weighted sum of each cluster's rows over its mass, in float64.

    A CSR matrix if the rows are CSR.

    Without weights, each row has weight 1.
    """
    if not is_here(members.X):
        totals = sum_rows_by_label(members.X, members.labels, members.n_clusters, weights)
        return totals / put_beside(members.cluster_mass(), totals)[:, None]
    if weights is None:
        weights = np.ones(len(members.labels))
    if sparse.issparse(members.X):
        one_hot = sparse.csr_array(
            (weights, members.labels, np.arange(len(weights) + 1)),
            shape=(len(weights), members.n_clusters),
        )
        scale = sparse.diags_array(1 / members.cluster_mass())
        return (scale @ (one_hot.T.tocsr() @ members.X.astype(np.float64, copy=False))).tocsr()
    shape = (members.n_clusters, members.X.shape[1])
    # Each block adds to the sums of all clusters. Blocks with more rows than there are clusters
    # keep the cost linear.
    in_place = members.X.dtype == np.float64  # then nothing is copied
    if in_place:
        n_cells = len(members.labels) * shape[1]
    else:
        n_cells = max(16 * CACHED_CELLS, 2 * shape[0] * shape[1])
    sums: FloatArray | None = None
    for block, points in members.blocks(n_cells):
        n = points.shape[0]
        parts = (weights[block], members.labels[block], np.arange(n + 1, dtype=index_dtype(n + 1)))
        product = sparse.csc_array(parts, shape=(members.n_clusters, n)) @ points
        sums = product if sums is None else np.add(sums, product, out=sums)
    assert sums is not None  # a cluster has rows
    return np.divide(sums, members.cluster_mass()[:, None], out=sums)


@dataclass(frozen=True)
class _ArrayVectors:
    """A vector for each cluster, as the rows of an array, which may be on a device."""

    vectors: Any

    def _of_rows(self, labels: Any) -> Any:
        return namespace(labels).take(self.vectors, labels, axis=0)

    def dots(self, points: Any, labels: Any) -> Any:
        """Return the inner product of each row with the vector of its cluster."""
        if is_here(labels):
            own = np.take(self.vectors, labels, axis=0, mode="clip")
        else:
            own = self._of_rows(labels)
        return _row_dots(points, own)  # labels are in range

    def squared_distances(self, points: Any, labels: Any) -> Any:
        """Return the squared distance of each row to the vector of its cluster."""
        difference = points - (self.vectors[labels] if is_here(labels) else self._of_rows(labels))
        return _row_dots(difference, difference)


@dataclass(frozen=True)
class _SparseVectors:
    """A sparse vector for each cluster, as cells sorted by (cluster, feature) that are found by
    bisection.

    The last cell is a sentinel behind all others, so that every search ends at a cell.
    """

    keys: NDArray[np.int64]
    values: FloatArray
    squared_norms: FloatArray
    n_features: int

    @classmethod
    def of(cls, vectors: Any) -> _SparseVectors:
        """Sort the cells of a CSR matrix."""
        vectors.sort_indices()
        n_clusters, n_features = vectors.shape
        cluster_of = np.repeat(np.arange(n_clusters, dtype=np.int64), np.diff(vectors.indptr))
        keys = np.append(cluster_of * n_features + vectors.indices, n_clusters * n_features)
        return cls(keys, np.append(vectors.data, 0.0), _row_dots(vectors, vectors), n_features)

    def dots(self, points: Any, labels: IntArray) -> FloatArray:
        """Return the inner product of each CSR row with the vector of its cluster."""
        row_of = np.repeat(np.arange(points.shape[0]), np.diff(points.indptr))
        wanted = labels[row_of] * np.int64(self.n_features) + points.indices
        cell = np.searchsorted(self.keys, wanted)
        # A sum has no cell for a feature in which the entries of its rows cancel.
        values = np.where(self.keys[cell] == wanted, self.values[cell], 0.0)
        return sum_by_label(row_of, points.data * values, points.shape[0])

    def squared_distances(self, points: Any, labels: IntArray) -> FloatArray:
        """Return the squared distance of each CSR row to the vector of its cluster, from the
        expanded square.
        """
        squares: FloatArray = (
            _row_dots(points, points) - 2 * self.dots(points, labels) + self.squared_norms[labels]
        )
        return squares


def squared_distances_to(vectors: Any, X: Any, labels: Any) -> Any:
    """Return the squared distance of each row on a device to the vector of its label."""
    members = Members(X, labels, vectors.shape[0], None)
    return members.map_rows(_ArrayVectors(put_beside(vectors, X)).squared_distances)


def _cluster_vectors(vectors: Any) -> _ArrayVectors | _SparseVectors:
    if sparse.issparse(vectors):
        return _SparseVectors.of(vectors)
    return _ArrayVectors(vectors)


def _squared_distances_to_means(members: Members) -> Any:
    """Return the squared distance of each row to the mean of its cluster."""
    means = _cluster_vectors(_cluster_means(members, members.mass))
    squares = _squared_distances(members, means)
    if isinstance(means, _ArrayVectors):
        return squares
    is_tight = means.squared_norms > TIGHT * _mean_square(members, squares)
    is_tight &= count_by_label(members.labels, members.n_clusters) > 1
    in_tight = np.flatnonzero(is_tight[members.labels])
    if len(in_tight) > 0:
        central = best_by_label(-squares, members.labels, members.n_clusters, tie=0)
        shifted = _shift_members(members, in_tight, central)
        means = _SparseVectors.of(_cluster_means(shifted, shifted.mass))
        squares[in_tight] = _squared_distances(shifted, means)
    return squares


def _squared_distances(members: Members, means: _ArrayVectors | _SparseVectors) -> Any:
    squares = members.map_rows(means.squared_distances)
    if is_here(members.X):
        return np.maximum(squares, 0, out=squares)
    return squares


def _shift_members(members: Members, some: IntArray, origins: IntArray) -> Members:
    """Return some members of a CSR matrix, each minus the row that is the origin of its cluster,
    and their clusters.
    """
    clusters, labels = np.unique(members.labels[some], return_inverse=True)
    X, origin = (
        members.X[rows].astype(np.float64, copy=False)
        for rows in (some, origins[members.labels[some]])
    )
    return Members(
        (X - origin).tocsr(),
        labels,
        len(clusters),
        None if members.mass is None else members.mass[some],
    )


def _mean_square(members: Members, squares: Any) -> FloatArray:
    """Return the mean squared distance of each cluster's rows to their mean."""
    return (
        sum_by_label(members.labels, members.weigh(squares), members.n_clusters)
        / members.cluster_mass()
    )


def scale_mass(mass: Any, labels: Any, n_clusters: int) -> Any:
    """Return the mass of each row relative to the heaviest row of its cluster.

    See ``_relative``.
    """
    if is_here(mass):
        heaviest = np.zeros(n_clusters)
        np.maximum.at(heaviest, labels, mass)
        return _relative(mass, heaviest[labels])
    heaviest = to_host(scatter.highest(labels, mass, n_clusters, 0.0))
    return mass * look_up(_relative(np.ones(n_clusters), heaviest), labels)


def _relative(mass: FloatArray, heaviest: FloatArray) -> FloatArray:
    """Divide mass by a power of two near the mass of the heaviest row, so that sums neither
    overflow nor underflow.
    """
    return np.ldexp(mass, -np.frexp(heaviest)[1])


def _invert_norms(members: Members) -> Any:
    """Return 1 / norm of each row; 0 for a row of zeros."""
    if is_here(members.X):
        norms = np.sqrt(members.map_rows(lambda points, _: _row_dots(points, points)))
        has_inverse = norms >= np.finfo(np.float64).smallest_normal
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=has_inverse)
    xp = namespace(members.X)
    norms = members.map_rows(lambda points, _: xp.linalg.vector_norm(points, axis=1))
    return xp.where(norms > 0, 1 / xp.where(norms > 0, norms, 1.0), norms)


def _row_dots(left: Any, right: Any) -> Any:
    if not is_here(left):
        # torch's vecdot is a product of matrices for each row
        return namespace(left).sum(left * right, axis=1)
    if sparse.issparse(left):
        return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
    dots: FloatArray = np.einsum("...j,...j->...", left, right)
    return dots


def _decay(distances: FloatArray, mass: FloatArray) -> FloatArray:
    """Turn distances into similarities that decay to 1/e at the mean distance of the cluster."""
    share = mass / mass.sum()
    similarities: FloatArray = np.exp(-_in_unit(distances, share @ distances @ share))
    return similarities


def _in_unit(distances: Any, unit: Any) -> Any:
    """Return distances in a unit.

    Infinity far from rows that have almost all of the mass, where the unit vanishes.
    """
    if not is_here(distances):
        xp = namespace(distances)
        return xp.where(
            unit > 0,
            distances / xp.where(unit > 0, unit, 1.0),
            xp.where(distances > 0, xp.inf, distances),
        )
    with np.errstate(over="ignore"):
        return np.divide(distances, unit, out=np.where(distances > 0, np.inf, 0.0), where=unit > 0)
