"""Rows kept for prediction."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.landmarks import Landmarks, sample_landmarks


def test_small_data_is_kept_whole():
    rows = sample_landmarks(np.zeros(50, dtype=np.int32), np.array([3]), np.random.default_rng(0), max_landmarks=50)
    assert rows.tolist() == list(range(50))


def test_every_cluster_has_landmarks_and_their_number_is_bounded():
    labels = np.repeat([0, 1, 2], [100_000, 900, 10]).astype(np.int32)
    medoids = np.array([5, 100_005, 100_905])
    rows = sample_landmarks(labels, medoids, np.random.default_rng(0), max_landmarks=1000)
    assert len(rows) <= 1000
    assert set(medoids) <= set(rows)
    counts = np.bincount(labels[rows])
    assert counts[0] > 500
    assert counts[1] > 100
    assert counts[2] == 10


def test_more_clusters_than_landmarks_keep_their_medoids():
    labels = np.repeat(np.arange(50), 2).astype(np.int32)
    medoids = np.arange(0, 100, 2)
    assert sample_landmarks(labels, medoids, np.random.default_rng(0), max_landmarks=20).tolist() == medoids.tolist()


def test_rows_of_hidden_clusters_are_sampled_as_one_group():
    labels = np.full(10_000, -1, dtype=np.int32)
    labels[:50] = 0
    rows = sample_landmarks(labels, np.array([3]), np.random.default_rng(0), max_landmarks=500)
    assert len(rows) <= 500
    assert (labels[rows] == 0).sum() >= 40
    assert (labels[rows] == -1).sum() > 200


def test_the_nearest_landmark_is_found_exactly_in_every_dimension():
    rng = np.random.default_rng(0)
    for n_features in (2, 15, 16, 100):
        points = rng.normal(size=(300, n_features)) + 1e8
        landmarks = Landmarks.build(points)
        assert (landmarks.tree is not None) == (n_features <= 15)
        assert landmarks.nearest(points).tolist() == list(range(300))


def test_sparse_landmarks_are_found_by_sparse_and_dense_rows():
    points = np.random.default_rng(0).normal(size=(50, 20))
    points[points < 1] = 0
    points = points[points.any(axis=1)]
    landmarks = Landmarks.build(sparse.csr_array(points))
    assert landmarks.nearest(sparse.csr_array(points)).tolist() == list(range(len(points)))
    assert landmarks.nearest(points).tolist() == list(range(len(points)))


@pytest.mark.parametrize("points_in", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("rows_in", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("n_features", [4, 20])
def test_landmarks_with_an_offset_find_themselves(n_features, rows_in, points_in):
    points = 0.1 * np.random.default_rng(0).normal(size=(300, n_features))
    points[:, 0] += 1.7e9 + np.repeat(10 * np.arange(6), 50)
    assert Landmarks.build(points_in(points)).nearest(rows_in(points)).tolist() == list(range(300))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [1, 20])
@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        *((size, "f8") for size in (5e-324, 1e-310, 1e-200, 1e-150, 1e150)),
        *((size, "f4") for size in (2e-45, 1e-30, 1e-15, 1e15)),
    ],
)
def test_landmarks_of_any_size_find_themselves(size, dtype, n_features, container):
    points = np.repeat(np.arange(1, 31)[:, None] * np.dtype(dtype).type(size), n_features, axis=1)
    landmarks = Landmarks.build(container(points))
    assert landmarks.nearest(container(points)).tolist() == list(range(30))
    assert landmarks.nearest(points).tolist() == list(range(30))


@pytest.mark.parametrize("n_features", [1, 20])
def test_rows_far_from_faint_landmarks_find_one(n_features):
    landmarks = Landmarks.build(np.repeat([[1e-200], [2e-200], [-3e-200]], n_features, axis=1))
    rows = np.repeat([[1e150], [1.0], [0.0], [2.2e-200], [-1.0]], n_features, axis=1)
    nearest = landmarks.nearest(rows)
    assert nearest.min() >= 0
    assert nearest[2:4].tolist() == [0, 1]
