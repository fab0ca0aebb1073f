"""Rows kept for prediction."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from cohirf.datasets import make_spheres
from cohirf.landmarks import Landmarks, find_ranked, sample_landmarks


def test_small_data_is_kept_whole():
    rows = sample_landmarks(
        np.zeros(50, dtype=np.int32), np.array([3]), np.random.default_rng(0), max_landmarks=50
    )
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
    assert (
        sample_landmarks(labels, medoids, np.random.default_rng(0), max_landmarks=20).tolist()
        == medoids.tolist()
    )


def test_rows_of_hidden_clusters_are_sampled_as_one_group():
    labels = np.full(10_000, -1, dtype=np.int32)
    labels[:50] = 0
    rows = sample_landmarks(labels, np.array([3]), np.random.default_rng(0), max_landmarks=500)
    assert len(rows) <= 500
    assert (labels[rows] == 0).sum() >= 40
    assert (labels[rows] == -1).sum() > 200


def make_separated_blobs():
    X, y = make_blobs(50_000, n_features=50, centers=10, random_state=0)
    return X.astype(np.float32), y


@pytest.mark.parametrize(
    "make", [make_separated_blobs, partial(make_spheres, 50_000, random_state=0)]
)
def test_many_rows_of_separated_clusters_get_their_own_label(make):
    X, y = make()
    assert (Landmarks(X[:10_000], y[:10_000]).label(X) == y).all()


def test_rows_are_found_by_their_rank_in_a_group():
    labels = np.random.default_rng(0).integers(-1, 3, size=200_000).astype(np.int32)
    groups = np.array([0, 0, 1, 2, 3, 3, 3])
    members = [np.flatnonzero(labels == label) for label in (0, 1, 2, -1)]
    ranks = np.array([0, len(members[0]) - 1, 40_000, 7, 0, 30_000, len(members[3]) - 1])
    expected = [members[group][rank] for group, rank in zip(groups, ranks, strict=True)]
    assert find_ranked(labels, groups, ranks, 4).tolist() == expected
