"""SCSRGF: what it finds, degenerate input, and what does not change its result."""

import tracemalloc

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF
from cohirf.clusterers.sc_srgf import draw_subspaces

QUICK = {"n_affinities": 5, "n_fusion_iter": 5, "random_state": 0}


def hypercube(n, n_noise, seed=0):
    """Clusters around corners of a hypercube of 10 features, and features of noise: the paper's synthetic data."""
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


def test_subspaces_have_the_rounded_share_of_features_without_repetition():
    subspaces = draw_subspaces(11, 4, 0.25, np.random.RandomState(0))
    assert [len(np.unique(subspace)) for subspace in subspaces] == [3] * 4
    assert len({tuple(subspace) for subspace in subspaces}) > 1
    assert [len(subspace) for subspace in draw_subspaces(1, 2, 0.1, np.random.RandomState(0))] == [1, 1]


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


def test_fused_graph_is_symmetric_positive_and_float32():
    graph = SCSRGF(5, **QUICK).fit(hypercube(100, 20)[0]).affinity_matrix_
    assert graph.dtype == np.float32
    assert (graph > 0).all()
    np.testing.assert_array_equal(graph, graph.T)


def test_float32_data_give_the_clusters_of_float64_data():
    X, _ = hypercube(200, 50)
    labels = [SCSRGF(5, **QUICK).fit_predict(X.astype(dtype)) for dtype in (np.float32, np.float64)]
    assert adjusted_rand_score(*labels) == 1


def counts(n, n_features, density, seed=0):
    """Three clusters of rows of small counts, most of them zero: each cluster has features of its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    rates = rng.permutation(np.arange(3 * n_features) < density * 3 * n_features).reshape(3, n_features)
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
    X = sparse.random_array((100, 1_000_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
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
@pytest.mark.parametrize("settings", [{}, {"n_affinities": 1}, {"n_fusion_iter": 0}, {"n_neighbors": 1}], ids=str)
def test_degenerate_data_have_a_defined_result(name, settings):
    X = DEGENERATE[name]
    model = SCSRGF(3, **(QUICK | settings)).fit(X)
    assert model.labels_.shape == (len(X),)
    assert set(model.labels_) <= {0, 1, 2}
    assert np.isfinite(model.affinity_matrix_).all()


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_degenerate_data_are_the_same_as_a_csr_matrix(name, container):
    X = DEGENERATE[name]
    dense, csr = (SCSRGF(3, **QUICK).fit(data) for data in (X, container(X)))
    np.testing.assert_allclose(csr.affinity_matrix_, dense.affinity_matrix_, rtol=1e-4)
    assert adjusted_rand_score(csr.labels_, dense.labels_) == 1


@pytest.mark.parametrize("n_clusters", [2, 3, 8])
def test_no_more_distinct_rows_than_clusters_make_each_a_cluster(n_clusters):
    labels = SCSRGF(n_clusters, **QUICK).fit_predict(np.array([[1.0, 5.0], [0.0, 2.0], [1.0, 5.0], [1.0, 5.0]]))
    assert labels.tolist() == [1, 0, 1, 1]


def test_one_cluster_holds_all_rows():
    assert not SCSRGF(1, **QUICK).fit_predict(hypercube(50, 0)[0]).any()


@pytest.mark.parametrize("batch_size", [None, 100])
def test_cohirf_hands_it_csr_rows(batch_size):
    X, y = counts(200, 400, 0.2)
    model = CoHiRF.as_published(
        SCSRGF(3, n_affinities=5, n_fusion_iter=5), n_views=2, batch_size=batch_size, random_state=0
    )
    assert adjusted_rand_score(y, model.fit(sparse.csr_array(X)).labels_) == 1
    assert sparse.issparse(model.medoids_)


@pytest.mark.parametrize("consensus", ["strict", "relaxed"])
@pytest.mark.parametrize("batch_size", [None, 100])
def test_it_is_a_base_method_of_cohirf(consensus, batch_size):
    X, y = hypercube(200, 10)
    settings = {"consensus": consensus, "batch_size": batch_size, "n_views": 2, "random_state": 0}
    model = CoHiRF.as_published(SCSRGF(5, n_affinities=5, n_fusion_iter=5), **settings).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_cohirf_refuses_weights_for_it():
    with pytest.raises(ValueError, match=r"SCSRGF\.fit does not"):
        CoHiRF.as_published(SCSRGF()).fit(np.eye(5), sample_weight=np.ones(5))
