"""Affinities and their fusion, against the formulas written out."""

import numpy as np
import pytest
from literal_fusion import literal_fusion, literal_neighbors, literal_similarity, literal_status
from sklearn.datasets import make_blobs

from cohirf.clusterers.affinity import BLOCK_ROWS, build_affinity
from cohirf.clusterers.fusion import fuse_affinities, symmetrise

N_NEIGHBORS = 5


@pytest.fixture(scope="module", params=[7, BLOCK_ROWS, BLOCK_ROWS + 1, 150], ids=lambda n: f"{n} rows")
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
        affinity = build_affinity(view, N_NEIGHBORS)
        assert affinity.status.dtype == affinity.neighbors.dtype == np.float32
        np.testing.assert_allclose(affinity.status, status, rtol=1e-5)
        np.testing.assert_allclose(affinity.neighbors.toarray(), neighbors, rtol=1e-5)


@pytest.mark.parametrize("n_affinities", [1, 2, 4])
@pytest.mark.parametrize("n_iter", [0, 1, 2])
def test_fusion_is_the_literal_one(views, literals, n_affinities, n_iter):
    status, kernels = zip(*literals[:n_affinities], strict=True)
    fused = fuse_affinities([build_affinity(view, N_NEIGHBORS) for view in views[:n_affinities]], n_iter)
    assert fused.dtype == np.float32
    np.testing.assert_allclose(fused, literal_fusion(list(status), kernels, n_iter), rtol=1e-5)


def test_fused_graph_is_symmetric_and_does_not_depend_on_the_number_of_threads(views):
    one, two = (fuse_affinities([build_affinity(view, N_NEIGHBORS) for view in views], 5, jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one, one.T)
    np.testing.assert_array_equal(one, two)


def test_neighbors_are_sparse_and_leave_out_the_row_itself(views):
    neighbors = build_affinity(views[0], N_NEIGHBORS).neighbors
    assert neighbors.nnz == N_NEIGHBORS * len(views[0])
    assert not neighbors.diagonal().any()
    np.testing.assert_allclose(neighbors.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1e300])
def test_affinity_does_not_depend_on_the_scale_of_the_data(factor):
    view = np.random.default_rng(0).normal(size=(30, 4))
    scaled, plain = (build_affinity(part, 3).status for part in (view * factor, view))
    np.testing.assert_allclose(scaled, plain, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e5])
def test_identical_rows_are_all_equally_similar(value):
    affinity = build_affinity(np.full((10, 3), value), 4)
    expected = np.full((10, 10), 0.5 / 9)
    np.fill_diagonal(expected, 0.5)
    np.testing.assert_allclose(affinity.status, expected, rtol=1e-6)


def test_copies_of_a_row_are_at_distance_zero_whatever_rounding_does():
    rng = np.random.default_rng(0)
    X = rng.normal(loc=100, size=(20, 30)).repeat(6, axis=0)
    affinity = build_affinity(X, 5)
    neighbors = affinity.neighbors.indices.reshape(-1, 5)
    np.testing.assert_array_equal(neighbors // 6, np.arange(120)[:, None] // 6 * np.ones((1, 5)))
    np.testing.assert_allclose(affinity.neighbors.data, 0.2, rtol=1e-6)


@pytest.mark.parametrize("n", [1, BLOCK_ROWS, 2 * BLOCK_ROWS + 3])
def test_symmetrise_adds_the_transpose(n):
    matrix = np.random.default_rng(0).random((n, n), dtype=np.float32)
    expected = (matrix + matrix.T) * np.float32(0.5)
    symmetrise(matrix, 0.5)
    np.testing.assert_array_equal(matrix, expected)
