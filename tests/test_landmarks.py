"""Rows kept for prediction."""

import time

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from cohirf.datasets import make_spheres
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


def test_few_rows_and_many_rows_get_the_same_labels():
    X, y = make_blobs(2000, n_features=20, centers=5, random_state=0)
    landmarks = Landmarks(X[:1200], y[:1200])
    one_by_one = [landmarks.label(X[[row]])[0] for row in range(1200, 1300)]
    assert "search_of_many" not in vars(landmarks)  # preparing it would take longer than the search
    assert landmarks.label(X)[1200:1300].tolist() == one_by_one
    assert "search_of_many" in vars(landmarks)


def processor_seconds(function):
    started = time.process_time()
    function()
    return time.process_time() - started


@pytest.mark.slow
@threadpool_limits.wrap(limits=1)
def test_rows_of_separated_clusters_take_at_most_20_times_as_long_as_with_k_means():
    X, y = make_blobs(200_000, n_features=50, centers=10, random_state=0)
    X = X.astype(np.float32)
    k_means = KMeans(10, n_init=1, random_state=0).fit(X[:10_000])
    landmarks = Landmarks(X[:10_000], y[:10_000])
    assert (landmarks.label(X) == y).all()
    of_k_means = min(processor_seconds(lambda: k_means.predict(X)) for _ in range(3))
    assert min(processor_seconds(lambda: landmarks.label(X)) for _ in range(3)) < 20 * of_k_means


@pytest.mark.slow
@threadpool_limits.wrap(limits=1)
def test_a_million_rows_of_spheres_take_a_few_seconds_on_one_core():
    X, y = make_spheres(1_000_000, random_state=0)
    landmarks = Landmarks(X[:10_000], y[:10_000])
    assert processor_seconds(lambda: landmarks.label(X)) < 5
