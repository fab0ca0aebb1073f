"""SCSRGF: what it finds, degenerate input, and what does not change its result."""

import joblib
import numpy as np
import pytest
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


@pytest.mark.parametrize("seed", range(3))
def test_clusters_among_a_hundred_times_as_many_features_of_noise_are_found(seed):
    X, y = hypercube(500, 1000, seed)
    assert adjusted_rand_score(y, SCSRGF(5, random_state=seed).fit_predict(X)) == 1


def test_subspaces_have_the_rounded_share_of_features_without_repetition():
    subspaces = draw_subspaces(11, 4, 0.25, np.random.RandomState(0))
    assert [len(np.unique(subspace)) for subspace in subspaces] == [3] * 4
    assert len({tuple(subspace) for subspace in subspaces}) > 1
    assert [len(subspace) for subspace in draw_subspaces(1, 2, 0.1, np.random.RandomState(0))] == [1, 1]


def test_labels_do_not_depend_on_jobs_backends_and_blas_threads():
    X, _ = hypercube(200, 50)
    model = SCSRGF(5, **QUICK)
    one = model.fit(X)
    with threadpool_limits(2):
        blas = SCSRGF(5, **QUICK).fit(X)
    threads = SCSRGF(5, **QUICK, n_jobs=2).fit(X)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        processes = SCSRGF(5, **QUICK).fit(X)
    for other in (blas, threads, processes):
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


@pytest.mark.parametrize("n_clusters", [2, 3, 8])
def test_no_more_distinct_rows_than_clusters_make_each_a_cluster(n_clusters):
    labels = SCSRGF(n_clusters, **QUICK).fit_predict(np.array([[1.0, 5.0], [0.0, 2.0], [1.0, 5.0], [1.0, 5.0]]))
    assert labels.tolist() == [1, 0, 1, 1]


def test_one_cluster_holds_all_rows():
    assert not SCSRGF(1, **QUICK).fit_predict(hypercube(50, 0)[0]).any()


@pytest.mark.parametrize("consensus", ["strict", "relaxed"])
@pytest.mark.parametrize("batch_size", [None, 100])
def test_it_is_a_base_method_of_cohirf(consensus, batch_size):
    X, y = hypercube(200, 10)
    settings = {"consensus": consensus, "batch_size": batch_size, "n_views": 2, "random_state": 0}
    model = CoHiRF(SCSRGF(5, n_affinities=5, n_fusion_iter=5), **settings).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_cohirf_refuses_weights_for_it():
    with pytest.raises(ValueError, match="SCSRGF does not"):
        CoHiRF(SCSRGF(), medoid_weights=True).fit(np.eye(5))
