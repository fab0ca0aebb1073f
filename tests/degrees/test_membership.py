"""Degrees of membership: sums, order, agreement with predict, calibration, containers."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs, make_circles

import cohirf.degrees.methods as module
from cohirf import CoHiRF, load, open_source
from cohirf.degrees.membership import Membership, divide_clusters
from cohirf.landmarks import Landmarks

TWO = [[-2.0, 0.0], [2.0, 0.0]]


def two_normals(n_rows=2000, seed=0, weights=(0.5, 0.5)):
    rng = np.random.default_rng(seed)
    y = rng.choice(2, n_rows, p=weights)
    return np.array(TWO)[y] + rng.normal(size=(n_rows, 2)), y


@pytest.fixture(scope="module")
def model():
    return CoHiRF(n_clusters=2, merge="compact", random_state=0).fit(two_normals()[0])


def test_rows_sum_to_one_and_predict_has_the_largest_degree():
    X, _ = make_blobs(600, centers=5, n_features=3, cluster_std=3, random_state=0)
    model = CoHiRF(KMeans(5, n_init=1), random_state=0).fit(X[:300])
    degrees = model.membership(X)
    assert degrees.shape == (600, 5)
    np.testing.assert_allclose(degrees.sum(axis=1), 1)
    np.testing.assert_array_equal(degrees.argmax(axis=1), model.predict(X))


def test_degrees_of_two_normal_classes_are_their_probabilities(model):
    place = np.linspace(-3, 3, 13)
    degrees = model.membership(np.column_stack([place, np.zeros(13)]))
    right = int(model.predict([[2, 0]])[0])
    true = norm.pdf(place, 2) / (norm.pdf(place, 2) + norm.pdf(place, -2))
    # the partition itself is not cut exactly at 0
    np.testing.assert_allclose(degrees[:, right], true, atol=0.15)


def test_degrees_are_the_shares_of_right_classes(model):
    X, y = two_normals(5000, seed=1)
    degrees = model.membership(X)
    is_right = model.predict(X) == model.predict(TWO)[y]
    largest = degrees.max(axis=1)
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        chosen = (largest >= low) & (largest < high)
        assert abs(is_right[chosen].mean() - largest[chosen].mean()) < 0.08


def test_a_cluster_with_fewer_rows_has_smaller_degrees():
    X, _ = two_normals()
    landmarks = Landmarks(X, (X[:, 0] > 0).astype(np.int64))
    row = np.array([[-0.5, 0.0]])
    equal, few = (
        Membership.of(landmarks, np.arange(2), np.array([900.0, n])).rate(row)[0, 1]
        for n in (900, 100)
    )
    assert few == pytest.approx(equal / 9 / (1 - equal + equal / 9))


def test_rings_are_divided_into_pieces():
    X, _ = make_circles(1000, factor=0.4, noise=0.03, random_state=0)
    model = CoHiRF(DBSCAN(eps=0.15), random_state=0).fit(X)
    np.testing.assert_array_equal(model.membership(X).argmax(axis=1), model.labels_)
    assert model.n_clusters_ == 2
    assert np.mean(model.membership(X).max(axis=1) > 0.9) > 0.9


def test_convex_clusters_are_one_piece_each():
    X, y = make_blobs(500, centers=4, n_features=5, random_state=0)
    assert len(divide_clusters(X, y).cluster) == 4


def test_pieces_cover_their_clusters():
    X, y = make_circles(1000, factor=0.4, noise=0.03, random_state=0)
    pieces = divide_clusters(X, y)
    assert len(pieces.cluster) > 2
    np.testing.assert_array_equal(pieces.cluster[pieces.of_point], y)
    np.testing.assert_array_equal(pieces.cluster, np.sort(pieces.cluster))


def test_noise_has_degrees():
    X, _ = make_blobs(300, centers=2, random_state=0)
    model = CoHiRF(DBSCAN(eps=1), random_state=0).fit(np.vstack([X, [[50.0, 50.0], [80.0, -50.0]]]))
    assert model.predict([[50, 50]]) == [-1]
    np.testing.assert_allclose(model.membership([[50, 50]]).sum(), 1)


@pytest.mark.filterwarnings("ignore:.*noise")
def test_only_noise_has_no_columns():
    model = CoHiRF(DBSCAN(eps=1e-6), random_state=0).fit(two_normals(50)[0])
    assert model.membership(two_normals(7)[0]).shape == (7, 0)


def test_one_cluster_has_all():
    X, _ = two_normals(50)
    np.testing.assert_array_equal(
        CoHiRF(n_clusters=1, random_state=0).fit(X).membership(X), np.ones((50, 1))
    )


def test_identical_rows_of_a_cluster_are_certain():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    degrees = CoHiRF(DBSCAN(eps=0.5), random_state=0).fit(X).membership(X)
    assert degrees.shape == (40, 2)
    np.testing.assert_allclose(degrees.max(axis=1), 1)


def test_many_clusters_have_sparse_degrees(monkeypatch):
    X, _ = make_blobs(600, centers=6, cluster_std=0.5, random_state=0)
    model = CoHiRF(n_clusters=6, random_state=0).fit(X)
    dense = model.membership(X)
    monkeypatch.setitem(vars(module.DEGREE), "dense_clusters", 5)
    found = model.membership(X)
    assert sparse.issparse(found)
    assert found.nnz < dense.size
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found.toarray(), dense, atol=1e-3)
    np.testing.assert_array_equal(model.membership(open_source(X)).toarray(), found.toarray())


def test_containers_agree(model):
    X, _ = two_normals(100, seed=2)
    expected = model.membership(X)
    np.testing.assert_allclose(model.membership(open_source(X)), expected)
    csr = sparse.csr_array(two_normals(200)[0])
    of_sparse = CoHiRF(n_clusters=2, random_state=0).fit(csr)
    np.testing.assert_allclose(of_sparse.membership(sparse.csr_array(X)).sum(axis=1), 1)


def test_dask_arrays_have_lazy_degrees(model):
    da = pytest.importorskip("dask.array")
    X, _ = two_normals(100, seed=2)
    found = model.membership(da.from_array(X, chunks=(30, 2)))
    assert found.chunks[0] == (30, 30, 30, 10)
    np.testing.assert_allclose(found.compute(scheduler="synchronous"), model.membership(X))


def test_an_offset_and_a_scale_change_nothing():
    # both fits have the same clusters
    X, _ = make_blobs(400, centers=[[0, 0], [7, 0]], random_state=0)
    between = np.column_stack([np.linspace(0, 7, 30), np.zeros(30)])
    near, far = (CoHiRF(n_clusters=2, random_state=0).fit(rows) for rows in (X, 1e-3 * X + 1e3))
    np.testing.assert_allclose(
        far.membership(1e-3 * between + 1e3), near.membership(between), atol=1e-5
    )


@pytest.mark.parametrize("power", [400, -400])
def test_very_large_and_very_small_values_have_the_same_degrees(power):
    # fourth powers of such values are infinite, or zero
    X, _ = make_blobs(400, centers=[[0, 0], [5, 0]], random_state=0)
    model = CoHiRF(n_clusters=2, random_state=0).fit(X)
    scaled = CoHiRF(n_clusters=2, random_state=0).fit(X * 2.0**power)
    np.testing.assert_allclose(scaled.membership(X * 2.0**power), model.membership(X), atol=1e-9)


def test_loaded_models_have_the_same_degrees(model, tmp_path):
    X, _ = two_normals(100, seed=2)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").membership(X), model.membership(X))


def test_degrees_follow_an_update():
    X, _ = make_blobs(400, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    order = np.argsort(X[:, 1])
    model = CoHiRF(n_clusters=4, random_state=0).partial_fit(X[order[:200]])
    model.membership(X)
    model.partial_fit(X[order[200:]])
    assert model.membership(X).shape == (400, model.n_clusters_)
    np.testing.assert_array_equal(
        model.cluster_numbers_[model.membership(X).argmax(axis=1)], model.predict(X)
    )
