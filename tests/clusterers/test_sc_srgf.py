"""SCSRGF: its affinities, their fusion, the partition of the fused graph, and what does not change
its result.
"""

import tracemalloc

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, sc_srgf
from cohirf.clusterers.affinity import (
    build_local_affinity,
    build_nearest_affinity,
    fuse_affinities,
    symmetrise,
)
from cohirf.clusterers.policy import AFFINITY
from cohirf.clusterers.sc_srgf import draw_subspaces, embed_graph, partition_graph
from cohirf.rows.threads import on_threads

QUICK = {"n_affinities": 5, "n_fusion_iter": 5, "random_state": 0}
N_NEIGHBORS = 5


# Similarity network fusion as in Wang et al. (2014), dense, in float64 and slowly: what kernels are
# compared with.
def literal_similarity(view, n_neighbors, scale=0.5):
    n = len(view)
    distance = cdist(view, view)
    nearest = [
        [j for j in np.argsort(distance[i], kind="stable") if j != i][:n_neighbors]
        for i in range(n)
    ]
    local = [np.mean(distance[i, nearest[i]]) for i in range(n)]
    similarity = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            width = scale * (local[i] + local[j] + distance[i, j]) / 3
            similarity[i, j] = (
                np.exp(-(distance[i, j] ** 2) / (2 * width**2)) if distance[i, j] > 0 else 1
            )
    return similarity, nearest


def literal_status(similarity):
    n = len(similarity)
    status = np.empty((n, n))
    for i in range(n):
        others = sum(similarity[i, k] for k in range(n) if k != i)
        for j in range(n):
            status[i, j] = 1 / 2 if i == j else similarity[i, j] / (2 * others)
    return status


def literal_neighbors(similarity, nearest):
    kernel = np.zeros_like(similarity)
    for i, neighbors in enumerate(nearest):
        for j in neighbors:
            kernel[i, j] = similarity[i, j] / sum(similarity[i, k] for k in neighbors)
    return kernel


def literal_fusion(status, kernels, n_iter):
    m = len(status)
    for _ in range(n_iter):
        others = [
            sum(status[k] for k in range(m) if k != v) / (m - 1) if m > 1 else status[0]
            for v in range(m)
        ]
        status = [literal_status(kernels[v] @ others[v] @ kernels[v].T) for v in range(m)]
    mean = sum(status) / m
    return (mean + mean.T) / 2


@pytest.fixture(
    scope="module",
    params=[7, AFFINITY.block_rows, AFFINITY.block_rows + 1, 150],
    ids=lambda n: f"{n} rows",
)
def views(request):
    X, _ = make_blobs(request.param, 12, centers=3, cluster_std=4.0, random_state=0)
    return [X[:, start : start + 6] for start in range(4)]


def literal(view):
    similarity, nearest = literal_similarity(view, N_NEIGHBORS)
    return literal_status(similarity), literal_neighbors(similarity, nearest)


@pytest.fixture(scope="module")
def literals(views):
    return [literal(view) for view in views]


def test_affinity_is_the_literal_one(views, literals):
    for view, (status, neighbors) in zip(views, literals, strict=True):
        affinity = build_local_affinity(view, N_NEIGHBORS)
        assert affinity.status.dtype == affinity.neighbors.dtype == np.float32
        np.testing.assert_allclose(affinity.status, status, rtol=1e-5)
        np.testing.assert_allclose(affinity.neighbors.toarray(), neighbors, rtol=1e-5)


# The graph of the authors of CoHiRF, dense, in float64 and slowly.
def literal_nearest(view, n_neighbors):
    n = len(view)
    distance = cdist(view, view)
    weight = np.zeros((n, n))
    for i in range(n):
        for j in np.argsort(distance[i], kind="stable")[:n_neighbors]:
            weight[i, j] = np.exp(-distance[i, j] / (2 * distance.mean()))
    weight /= weight.sum(axis=1, keepdims=True)
    status = (weight + weight.T) / 2
    return status, literal_neighbors(status, np.argsort(-status, axis=1)[:, :n_neighbors])


def test_nearest_affinity_is_the_literal_one(views):
    for view in views:
        affinity = build_nearest_affinity(view, N_NEIGHBORS)
        status, neighbors = literal_nearest(view, N_NEIGHBORS)
        assert affinity.status.dtype == affinity.neighbors.dtype == np.float32
        np.testing.assert_allclose(affinity.status, status, rtol=1e-5)
        np.testing.assert_allclose(affinity.neighbors.toarray(), neighbors, rtol=1e-5)


@pytest.mark.parametrize("n_neighbors", [1, 5, 400])
def test_a_nearest_graph_has_an_edge_for_an_outlier_for_copies_and_for_few_rows(n_neighbors):
    rng = np.random.default_rng(0)
    outlier = np.vstack([rng.normal(size=(200, 3)), np.full((1, 3), 1e9)])
    for view in (outlier, np.full((10, 3), 0.1), rng.normal(size=(2, 3))):
        fused = fuse_affinities([build_nearest_affinity(view, n_neighbors) for _ in range(2)], 3)
        assert np.isfinite(fused).all()
        assert (fused.sum(axis=1) > fused.diagonal()).all()


@pytest.mark.parametrize("n_affinities", [1, 2, 4])
@pytest.mark.parametrize("n_iter", [0, 1, 2])
def test_fusion_is_the_literal_one(views, literals, n_affinities, n_iter):
    status, kernels = zip(*literals[:n_affinities], strict=True)
    fused = fuse_affinities(
        [build_local_affinity(view, N_NEIGHBORS) for view in views[:n_affinities]], n_iter
    )
    assert fused.dtype == np.float32
    np.testing.assert_allclose(fused, literal_fusion(list(status), kernels, n_iter), rtol=1e-5)


def literal_published_fusion(status, kernels, n_iter):
    m = len(status)
    identity = np.eye(len(status[0]))
    for _ in range(n_iter):
        others = [
            sum(status[k] for k in range(m) if k != v) / (m - 1) if m > 1 else status[0]
            for v in range(m)
        ]
        status = [kernels[v] @ others[v] @ kernels[v].T + identity for v in range(m)]
    mean = sum(status) / m
    mean /= mean.sum(axis=1, keepdims=True)
    return (mean + mean.T) / 2


@pytest.mark.parametrize("n_affinities", [1, 3])
@pytest.mark.parametrize("n_iter", [0, 1, 20])
def test_the_published_graph_is_fused_with_the_identity(n_affinities, n_iter):
    X = make_blobs(150, n_features=6, centers=3, random_state=0)[0]
    options = {
        "n_affinities": n_affinities,
        "n_fusion_iter": n_iter,
        "sampling_ratio": 1.0,
        "random_state": 0,
    }
    model = SCSRGF(3, graph="published", n_neighbors=N_NEIGHBORS, **options).fit(X)
    status, kernel = literal_nearest(X, N_NEIGHBORS)
    literal = literal_published_fusion(n_affinities * [status], n_affinities * [kernel], n_iter)
    np.testing.assert_allclose(model.affinity_matrix_, literal, rtol=1e-4)


def test_the_published_partition_is_that_of_scikit_learn():
    X, y = make_blobs(200, n_features=5, centers=4, cluster_std=3, random_state=1)
    model = SCSRGF(4, graph="published", random_state=0).fit(X)
    theirs = SpectralClustering(4, affinity="precomputed", random_state=0).fit_predict(
        model.affinity_matrix_
    )
    assert adjusted_rand_score(model.labels_, theirs) > 0.95
    assert adjusted_rand_score(model.labels_, y) > 0.8


def test_fused_graph_is_symmetric_and_does_not_depend_on_the_number_of_threads(views):
    def fuse():
        return fuse_affinities([build_local_affinity(view, N_NEIGHBORS) for view in views], 5)

    one = fuse()
    with on_threads(2):
        two = fuse()
    np.testing.assert_array_equal(one, one.T)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("rescale", [True, False])
def test_an_affinity_that_is_there_twice_is_fused_as_two_equal_ones(views, rescale):
    first, second = views[0], views[1]
    one = build_local_affinity(first, N_NEIGHBORS)
    shared = fuse_affinities(
        [one, build_local_affinity(second, N_NEIGHBORS), one], 3, rescale=rescale
    )
    apart = fuse_affinities(
        [build_local_affinity(view, N_NEIGHBORS) for view in (first, second, first)],
        3,
        rescale=rescale,
    )
    np.testing.assert_array_equal(shared, apart)


def test_neighbors_are_sparse_and_leave_out_the_row_itself(views):
    neighbors = build_local_affinity(views[0], N_NEIGHBORS).neighbors
    assert neighbors.nnz == N_NEIGHBORS * len(views[0])
    assert not neighbors.diagonal().any()
    np.testing.assert_allclose(neighbors.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1e300])
def test_affinity_does_not_depend_on_the_scale_of_the_data(factor):
    view = np.random.default_rng(0).normal(size=(30, 4))
    scaled, plain = (build_local_affinity(part, 3).status for part in (view * factor, view))
    np.testing.assert_allclose(scaled, plain, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e5])
def test_identical_rows_are_all_equally_similar(value):
    affinity = build_local_affinity(np.full((10, 3), value), 4)
    expected = np.full((10, 10), 0.5 / 9)
    np.fill_diagonal(expected, 0.5)
    np.testing.assert_allclose(affinity.status, expected, rtol=1e-6)


def test_copies_of_a_row_are_at_distance_zero_whatever_rounding_does():
    rng = np.random.default_rng(0)
    X = rng.normal(loc=100, size=(20, 30)).repeat(6, axis=0)
    affinity = build_local_affinity(X, 5)
    neighbors = affinity.neighbors.indices.reshape(-1, 5)
    np.testing.assert_array_equal(neighbors // 6, np.arange(120)[:, None] // 6 * np.ones((1, 5)))
    np.testing.assert_allclose(affinity.neighbors.data, 0.2, rtol=1e-6)


@pytest.mark.parametrize("n", [1, AFFINITY.block_rows, 2 * AFFINITY.block_rows + 3])
def test_symmetrise_adds_the_transpose(n):
    matrix = np.random.default_rng(0).random((n, n), dtype=np.float32)
    expected = (matrix + matrix.T) * np.float32(0.5)
    symmetrise(matrix, 0.5)
    np.testing.assert_array_equal(matrix, expected)


def graph(sizes, between):
    y = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(0).uniform(0.5, 1, (len(y), len(y)))
    return np.where(y[:, None] == y, 1, between) * (noise + noise.T), y


def normalise(affinity):
    root = np.sqrt(affinity.sum(axis=1))
    return affinity / root[:, None] / root


@pytest.mark.parametrize("n", [20, 500])
@pytest.mark.parametrize("between", [0, 0.1])
def test_parts_of_different_size_are_found(n, between):
    affinity, y = graph([n, n // 2, n // 4], between)
    assert adjusted_rand_score(y, partition_graph(affinity, 3, np.random.RandomState(0))) == 1


def test_leading_vectors_are_found_where_more_eigenvalues_are_almost_one():
    """Twenty parts that hardly touch: asked for three of them, an iteration would go on for
    minutes.
    """
    affinity, _ = graph([40] * 20, 1e-7)
    embedding = embed_graph(affinity, 3)
    by_iteration = eigsh(normalise(affinity), 25, which="LA", v0=np.ones(800))
    assert (by_iteration[0] > 0.9999).sum() == 20
    expected = by_iteration[1][:, -3:]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(
        np.abs(embedding @ embedding.T), np.abs(expected @ expected.T), atol=1e-3
    )


def test_rows_that_are_all_alike_to_the_graph_are_labelled_without_a_warning():
    labels = partition_graph(np.ones((6, 6)), 3, np.random.RandomState(0))
    assert labels.shape == (6,)
    assert labels.max() < 3


def hypercube(n, n_noise, seed=0):
    """Clusters around corners of a hypercube of 10 features, and features of noise: the paper's
    synthetic data.
    """
    rng = np.random.default_rng(seed)
    corners = rng.permutation(1024)[:5, None] >> np.arange(10) & 1
    y = rng.integers(0, 5, n)
    X = rng.normal(size=(n, 10 + n_noise))
    X[:, :10] += 6 * np.sqrt(10) * corners[y]
    return X, y


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_clusters_among_a_hundred_times_as_many_features_of_noise_are_found(seed):
    X, y = hypercube(500, 1000, seed)
    assert adjusted_rand_score(y, SCSRGF(5, random_state=seed).fit_predict(X)) == 1


def test_subspaces_have_distinct_features():
    subspaces = draw_subspaces(11, 4, 3, np.random.RandomState(0))
    assert [len(np.unique(subspace)) for subspace in subspaces] == [3] * 4
    assert len({tuple(subspace) for subspace in subspaces}) > 1


@pytest.mark.parametrize(("graph", "size"), [("nearest", 3), ("published", 2)])
def test_shares_of_features_are_rounded_and_as_published_rounded_down(monkeypatch, graph, size):
    sizes = []

    def draw(n_features, n_subspaces, size, rng):
        sizes.append(size)
        return draw_subspaces(n_features, n_subspaces, size, rng)

    monkeypatch.setattr(sc_srgf, "draw_subspaces", draw)
    X = np.random.default_rng(0).normal(size=(30, 4))
    SCSRGF(3, graph=graph, sampling_ratio=0.7, n_affinities=2).fit(X)
    SCSRGF(3, graph=graph, sampling_ratio=0.1, n_affinities=2).fit(X)
    assert sizes == [size, 1]


def test_more_parts_than_clusters_are_grouped_by_chance_as_published():
    """Each part of the graph stays whole, and seeds group the parts in different ways."""
    affinity, part = graph([30] * 7, 0)
    partitions = set()
    for seed in range(20):
        labels, again = (
            partition_graph(affinity, 3, np.random.RandomState(seed), unit=False) for _ in range(2)
        )
        assert (labels == again).all()
        assert (labels == labels[::30][part]).all()
        partitions.add(tuple(labels[::30]))
    assert len(partitions) > 5


def test_where_the_iteration_does_not_converge_a_full_decomposition_is_taken(monkeypatch):
    affinity, y = graph([30, 20, 10], 0)

    def never(*_, **__):
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((60, 0)))

    monkeypatch.setattr(sc_srgf, "eigsh", never)
    labels = partition_graph(affinity, 3, np.random.RandomState(0), unit=False)
    assert adjusted_rand_score(y, labels) == 1


@pytest.mark.parametrize("sizes", [[30, 20, 10, 5], [60]])
def test_leading_vectors_as_published_are_eigenvectors_of_the_random_walk(sizes):
    affinity, _ = graph(sizes, 0)
    np.fill_diagonal(affinity, 0)
    walk = affinity / affinity.sum(axis=1, keepdims=True)
    largest = np.sort(np.linalg.eigvals(walk).real)[::-1]
    for seed in range(3):
        vectors = embed_graph(affinity, 3, np.random.RandomState(seed))
        values = np.sort(np.sum(vectors * (walk @ vectors), axis=0) / (vectors**2).sum(axis=0))
        np.testing.assert_allclose(walk @ vectors, vectors * values, atol=1e-6)
        assert values[-1] == pytest.approx(1)
        assert np.linalg.matrix_rank(vectors) == 3
        if len(sizes) == 1:
            np.testing.assert_allclose(values[::-1], largest[:3], atol=1e-6)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.slow)])
def test_labels_do_not_depend_on_jobs_backends_and_blas_threads(backend):
    X, _ = hypercube(200, 50)
    one = SCSRGF(5, **QUICK).fit(X)
    with threadpool_limits(2):
        blas = SCSRGF(5, **QUICK).fit(X)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        parallel = SCSRGF(5, **QUICK).fit(X)
    for other in (blas, SCSRGF(5, **QUICK, n_jobs=2).fit(X), parallel):
        np.testing.assert_array_equal(other.affinity_matrix_, one.affinity_matrix_)
        np.testing.assert_array_equal(other.labels_, one.labels_)


def test_float32_data_give_the_clusters_of_float64_data():
    X, _ = hypercube(200, 50)
    labels = [SCSRGF(5, **QUICK).fit_predict(X.astype(dtype)) for dtype in (np.float32, np.float64)]
    assert adjusted_rand_score(*labels) == 1


def counts(n, n_features, density, seed=0):
    """Three clusters of rows of small counts, most of them zero: each cluster has features of its
    own.
    """
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rates = rng.permutation(np.arange(3 * n_features) < density * 3 * n_features).reshape(
        3, n_features
    )
    return rng.poisson(rates[y]).astype(float), y


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_csr_rows_give_the_graph_and_the_labels_of_dense_ones(dtype, index_dtype):
    X, y = counts(150, 400, 0.2)
    X = sparse.csr_array(X.astype(dtype))
    X.indices, X.indptr = X.indices.astype(index_dtype), X.indptr.astype(index_dtype)
    dense, csr = (SCSRGF(3, **QUICK).fit(data) for data in (X.toarray(), X))
    np.testing.assert_allclose(csr.affinity_matrix_, dense.affinity_matrix_, rtol=1e-4)
    np.testing.assert_array_equal(csr.labels_, dense.labels_)
    assert adjusted_rand_score(y, csr.labels_) == 1


def test_csr_rows_may_store_zeros_and_columns_twice_and_are_left_as_they_are():
    dense = np.array([[0.0, 3.0], [0.0, 3.1], [5.0, 0.0], [5.1, 0.0], [0.0, 2.9]])
    data = [1.0, 2.0, 0.0, 3.1, 5.0, 5.1, 0.0, 2.9]
    X = sparse.csr_array((data, [1, 1, 0, 1, 0, 0, 1, 1], [0, 2, 4, 5, 7, 8]), shape=(5, 2))
    np.testing.assert_array_equal(X.toarray(), dense)
    labels = SCSRGF(2, **QUICK).fit_predict(X)
    assert adjusted_rand_score(labels, SCSRGF(2, **QUICK).fit_predict(dense)) == 1
    assert X.data.tolist() == data


@pytest.mark.slow
def test_a_csr_matrix_is_never_made_dense():
    X = sparse.random_array(
        (100, 1_000_000), density=1e-4, rng=np.random.default_rng(0), format="csr"
    )
    tracemalloc.start()
    SCSRGF(3, **QUICK).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # half of the features, dense, would take 400 MB


rng = np.random.default_rng(0)
DEGENERATE = {
    "one row": np.ones((1, 3)),
    "two rows": np.eye(2),
    "fewer rows than neighbours": rng.normal(size=(4, 3)),
    "as many rows as clusters": rng.normal(size=(3, 3)),
    "one feature": rng.normal(size=(30, 1)),
    "constant features": np.hstack([rng.normal(size=(30, 1)), np.ones((30, 9))]),
    "identical rows": np.full((30, 4), 0.1),
    "four distinct rows": rng.normal(size=(4, 3)).repeat(10, axis=0),
    "two values": rng.integers(0, 2, size=(40, 6)).astype(float),
    "huge": rng.normal(size=(30, 4)) * 1e300,
    "tiny": rng.normal(size=(30, 4)) * 1e-300,
    "an outlier": np.vstack([rng.normal(size=(30, 4)), np.full((1, 4), 1e12)]),
    "far from the origin": rng.normal(size=(30, 4)) + 1e9,
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize(
    "settings",
    [{}, {"n_affinities": 1}, {"n_fusion_iter": 0}, {"n_neighbors": 1}, {"graph": "published"}],
    ids=str,
)
def test_degenerate_data_have_a_defined_result(name, settings):
    X = DEGENERATE[name]
    model = SCSRGF(3, **(QUICK | settings)).fit(X)
    assert model.labels_.shape == (len(X),)
    assert set(model.labels_) <= {0, 1, 2}
    assert np.isfinite(model.affinity_matrix_).all()


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data_are_the_same_as_a_csr_matrix(name):
    X = DEGENERATE[name]
    dense, csr = (SCSRGF(3, **QUICK).fit(data) for data in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(csr.affinity_matrix_, dense.affinity_matrix_, rtol=1e-4)
    assert adjusted_rand_score(csr.labels_, dense.labels_) == 1


@pytest.mark.parametrize("n_clusters", [2, 3, 8])
def test_no_more_distinct_rows_than_clusters_make_each_a_cluster(n_clusters):
    labels = SCSRGF(n_clusters, **QUICK).fit_predict(
        np.array([[1.0, 5.0], [0.0, 2.0], [1.0, 5.0], [1.0, 5.0]])
    )
    assert labels.tolist() == [1, 0, 1, 1]


def test_one_cluster_holds_all_rows():
    assert not SCSRGF(1, **QUICK).fit_predict(hypercube(50, 0)[0]).any()


@pytest.mark.parametrize("batch_size", [None, 100])
def test_cohirf_hands_it_csr_rows(batch_size):
    X, y = counts(200, 400, 0.2)
    model = CoHiRF.as_published(
        SCSRGF(3, n_affinities=5, n_fusion_iter=5), views=2, batch_size=batch_size, random_state=0
    )
    assert adjusted_rand_score(y, model.fit(sparse.csr_array(X)).labels_) == 1
    assert sparse.issparse(model.medoids_)


@pytest.mark.parametrize("consensus", ["strict", "relaxed"])
@pytest.mark.parametrize("batch_size", [None, 100])
def test_it_is_a_base_method_of_cohirf(consensus, batch_size):
    X, y = hypercube(200, 10)
    settings = {"consensus": consensus, "batch_size": batch_size, "views": 2, "random_state": 0}
    model = CoHiRF.as_published(SCSRGF(5, n_affinities=5, n_fusion_iter=5), **settings).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_cohirf_refuses_weights_for_it():
    with pytest.raises(ValueError, match=r"SCSRGF\.fit does not"):
        CoHiRF.as_published(SCSRGF()).fit(np.eye(5), sample_weight=np.ones(5))
