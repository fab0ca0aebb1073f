"""SCSRGF: spectral clustering of a graph fused from nearest-neighbour affinities on random
subspaces.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from cohirf.algorithm.base_method import find_distinct_rows
from cohirf.clusterers.affinity import (
    Affinity,
    FloatMatrix,
    build_local_affinity,
    build_nearest_affinity,
    fuse_affinities,
    symmetrise,
)
from cohirf.clusterers.policy import AFFINITY
from cohirf.engines import threads_of_fit
from cohirf.rows.containers import container_of
from cohirf.rows.threads import map_in_threads

GRAPHS = {
    "local": build_local_affinity,
    "nearest": build_nearest_affinity,
    "published": build_nearest_affinity,
}


class SCSRGF(ClusterMixin, BaseEstimator):
    """Spectral Clustering by Subspace Randomization and Graph Fusion, for data with many features.

    Affinities of rows are computed in several random subsets of the features. They are fused into
    one graph, in which connections that occur in many subsets are strong, and spectral clustering
    partitions this graph.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    n_affinities : int, default=20
        Number of random subspaces, with one affinity matrix each.
    sampling_ratio : float, default=0.5
        Fraction of the features in each subspace; always at least one feature.
    n_neighbors : int, default=5
        Number of nearest neighbours of a row. If there are fewer rows, all of them are used.
    graph : {"nearest", "local", "published"}, default="nearest"
        The affinities. "nearest" has those of the experiments in CoHiRF's paper: similarities to
        nearest neighbours only, with one width for all; a row is its own first neighbour. "local"
        has those of similarity network fusion (Wang et al. 2014): similarities of all pairs, with a
        local width; a row is not its own neighbour. "published" also fuses and partitions as the
        program of CoHiRF's authors does, to compare with the paper. See the notes.
    n_fusion_iter : int, default=20
        Number of iterations of the fusion.
    random_state : int, RandomState instance or None, default=None
        Seed of the subspaces and of the partition. Pass an int for reproducible results.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it. None means 1 unless in a
        :func:`joblib.parallel_config` context.

    Attributes
    ----------
    labels_ : array of int, shape (n_samples,)
        Cluster of each row.
    affinity_matrix_ : array of float32, shape (n_samples, n_samples)
        The fused graph.
    n_features_in_ : int
        Number of features seen by ``fit``.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features seen by ``fit``; defined only if all names are strings.

    See Also
    --------
    sklearn.cluster.SpectralClustering : Spectral clustering of a single affinity.

    Notes
    -----
    With ``graph="local"`` the similarity of two rows is a Gaussian of their distance with a local
    width. The width is half the mean of three numbers: this distance, and the mean distance of each
    of the two rows to its neighbours. With ``graph="nearest"`` it is
    ``exp(-distance / (2 * mean distance))`` for nearest neighbours, and 0 for others. These are
    also the weights of Cai et al. (2020), in whose program a row is not its own neighbour. Neither
    result changes when all features are multiplied by the same number. The fusion is that of Wang
    et al. in both cases, and rows of the embedding are scaled to length 1.

    ``graph="published"`` has the graph "nearest". Its fusion adds the identity matrix to each
    product, where that of Wang et al. scales rows to a sum of 1, and the embedding is that of
    :class:`sklearn.cluster.SpectralClustering`: loops are left out, and eigenvectors are divided by
    the square roots of the degrees. They are found by the iteration that scikit-learn had then: if
    the graph has more connected parts than ``n_clusters``, it groups them by chance. Subspaces have
    ``sampling_ratio`` of the features, rounded down. The authors' program has as many iterations of
    the fusion as affinities: pass ``n_fusion_iter=n_affinities`` for that.

    Time grows as ``n_samples ** 2 * n_neighbors * n_affinities * n_fusion_iter``. Memory is about
    ``4 * n_samples ** 2 * (n_affinities + 2)`` bytes. If that is too much, use it as the base
    method of
    :class:`cohirf.CoHiRF` with ``batch_size``.

    If there are at most ``n_clusters`` distinct rows, each of them is a cluster.

    References
    ----------
    X. Cai, D. Huang, C.-D. Wang and C.-K. Kwoh, "Spectral Clustering by Subspace Randomization and
    Graph Fusion for High-Dimensional Data", PAKDD 2020.

    B. Wang et al., "Similarity network fusion for aggregating data types on a genomic scale",
    Nature Methods 11, 2014.

    Examples
    --------
    Three clusters that differ in 10 of 210 features:

    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from cohirf.clusterers import SCSRGF
    >>> X, y = make_blobs(150, n_features=10, centers=3, random_state=0)
    >>> X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 200))])
    >>> model = SCSRGF(n_clusters=3, random_state=0).fit(X)
    >>> float(adjusted_rand_score(y, model.labels_))
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_affinities": [Interval(Integral, 1, None, closed="left")],
        "sampling_ratio": [Interval(Real, 0, 1, closed="right")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "graph": [StrOptions(set(GRAPHS))],
        "n_fusion_iter": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_affinities: int = 20,
        sampling_ratio: float = 0.5,
        n_neighbors: int = 5,
        graph: str = "nearest",
        n_fusion_iter: int = 20,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_affinities = n_affinities
        self.sampling_ratio = sampling_ratio
        self.n_neighbors = n_neighbors
        self.graph = graph
        self.n_fusion_iter = n_fusion_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of ``X``.

        Parameters
        ----------
        X : array, table or CSR matrix, shape (n_samples, n_features)
            The data. A CSR matrix is not converted to a dense array.
        y : ignored
            Present by convention.

        Returns
        -------
        self : SCSRGF
            The fitted estimator.
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        X = container_of(X).merge_repeated(X)
        rng = check_random_state(self.random_state)
        # with several threads, the order of summation would change the result
        with threads_of_fit(self.n_jobs):
            self.affinity_matrix_ = self._fuse(X, rng)
            self.labels_ = self._partition(X, rng)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: CSR matrices are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fuse(self, X: Any, rng: np.random.RandomState) -> FloatMatrix:
        n_rows, n_features = X.shape
        if n_rows == 1:
            return np.ones((1, 1), dtype=np.float32)
        size = self.sampling_ratio * n_features
        size = max(1, int(size) if self.graph == "published" else round(size))
        subspaces = draw_subspaces(n_features, self.n_affinities, size, rng)
        # of few features there are few subspaces: one that is drawn twice is computed once
        distinct = {subspace.tobytes(): subspace for subspace in subspaces}
        built = map_in_threads(
            lambda subspace: _build_subspace_affinity(X, subspace, self.n_neighbors, self.graph),
            list(distinct.values()),
        )
        affinity_of = dict(zip(distinct, built, strict=True))
        affinities = [affinity_of[subspace.tobytes()] for subspace in subspaces]
        fused = fuse_affinities(affinities, self.n_fusion_iter, rescale=self.graph != "published")
        if self.graph == "published":
            fused /= fused.sum(axis=1, keepdims=True)
            symmetrise(fused, 0.5)
        return fused

    def _partition(self, X: Any, rng: np.random.RandomState) -> NDArray[np.int32]:
        first, group = find_distinct_rows(X)
        if len(first) <= self.n_clusters:
            return group.astype(np.int32)
        return partition_graph(
            self.affinity_matrix_, self.n_clusters, rng, unit=self.graph != "published"
        )


def draw_subspaces(
    n_features: int, n_subspaces: int, size: int, rng: np.random.RandomState
) -> list[NDArray[np.intp]]:
    """Draw random sets of ``size`` distinct features."""
    return [np.sort(rng.choice(n_features, size, replace=False)) for _ in range(n_subspaces)]


def _build_subspace_affinity(
    X: Any, subspace: NDArray[np.intp], n_neighbors: int, graph: str
) -> Affinity:
    return GRAPHS[graph](X[:, subspace], n_neighbors)


def partition_graph(
    affinity: NDArray[Any], n_clusters: int, rng: np.random.RandomState, *, unit: bool = True
) -> NDArray[np.int32]:
    """Partition a graph, a symmetric matrix with positive row sums, into clusters with weak
    connections between them.

    The embedding of a row is the vector of its entries in the leading eigenvectors of the affinity
    matrix, which is normalised by the square roots of its row sums. These vectors, scaled to length
    1, are clustered by K-Means (Ng, Jordan and Weiss, 2001). If not ``unit``, they are those of the
    random walk on the graph without loops, see ``walk_vectors``.

    There are fewer than ``n_clusters`` clusters if fewer rows have distinct embeddings.
    """
    embedding = embed_graph(affinity, n_clusters, None if unit else rng)
    n_distinct = len(find_distinct_rows(embedding)[0])
    method = KMeans(min(n_clusters, n_distinct), n_init=10, random_state=rng)
    labels: NDArray[np.int32] = method.fit(embedding).labels_
    return labels


def embed_graph(
    affinity: NDArray[Any], n_vectors: int, walk: np.random.RandomState | None = None
) -> NDArray[np.float64]:
    """Return the entries of each row in the leading eigenvectors, as a vector of length 1.

    With ``walk``, they are those of the random walk on the graph without loops, not scaled, as an
    iteration from a random vector finds them.
    """
    normalised = affinity.astype(np.float64)
    if walk is None:
        _divide_by_degrees(normalised, _inverse_roots(normalised.sum(axis=1)))
        vectors = leading_eigenvectors(normalised, n_vectors)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    else:
        np.fill_diagonal(normalised, 0)
        vectors = walk_vectors(normalised, n_vectors, walk)
        lengths = np.abs(vectors).max()
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors.round(AFFINITY.decimals)


def walk_vectors(
    graph: NDArray[np.float64], n_vectors: int, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Return leading eigenvectors of the random walk on a graph, as columns.

    Each connected part of the graph has an eigenvector of the eigenvalue 1, which is constant on
    it. An iteration from a random vector finds a random combination of these, others only by
    rounding errors, and then smaller eigenvalues. So it groups more parts than vectors by chance,
    as the iteration of CoHiRF's authors does, which is this one. Where it does not converge, a full
    decomposition takes its place.
    """
    roots = _inverse_roots(graph.sum(axis=1))
    _divide_by_degrees(graph, roots)
    graph.flat[:: len(graph) + 1] = -1  # minus the Laplacian, whose eigenvalues are at most 0
    start = rng.uniform(-1, 1, len(graph))
    try:
        vectors = eigsh(
            graph, n_vectors, sigma=1.0, v0=start, tol=0, maxiter=AFFINITY.most_restarts
        )[1]
    except ArpackNoConvergence:
        vectors = leading_eigenvectors(graph, n_vectors)
    return np.asarray(vectors * roots[:, None])


def _divide_by_degrees(graph: NDArray[np.float64], inverse_roots: NDArray[np.float64]) -> None:
    """Divide the entries of a graph by the square roots of the degrees of both ends, in place."""
    graph *= inverse_roots[:, None]
    graph *= inverse_roots


def _inverse_roots(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(degrees > 0, degrees, 1) ** -0.5


def leading_eigenvectors(matrix: NDArray[np.float64], n_vectors: int) -> NDArray[np.float64]:
    """Return the eigenvectors of a symmetric matrix with the largest eigenvalues, as columns.

    Overwrites the matrix.

    A full decomposition is used: if the graph has more than ``n_vectors`` clusters, many
    eigenvalues are close to 1, and iterative methods take hundreds of times longer to find the
    largest of them.
    """
    n_rows = len(matrix)
    return np.asarray(
        eigh(matrix, subset_by_index=(n_rows - n_vectors, n_rows - 1), overwrite_a=True)[1]
    )
