"""Scores of partitions."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score

from cohirf.diagnosis.scores import SampleDistances, agreement_with_classes, calinski_harabasz


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_silhouette_is_that_of_scikit_learn_without_noise(blobs, container):
    X, y = blobs
    noisy = np.where(np.arange(len(y)) % 10 == 0, -1, y)
    kept = noisy >= 0
    distances = SampleDistances.of(container(X))
    assert distances.silhouette(y) == pytest.approx(silhouette_score(X, y))
    assert distances.silhouette(noisy) == pytest.approx(silhouette_score(X[kept], y[kept]))


@pytest.mark.parametrize("labels", [np.zeros(300, dtype=int), np.arange(300), np.full(300, -1)])
def test_silhouette_of_one_cluster_single_rows_or_noise_is_not_defined(blobs, labels):
    assert SampleDistances.of(blobs[0]).silhouette(labels) is None


def test_neighbours_are_together_in_separated_clusters_and_by_chance_in_random_ones(blobs):
    X, y = blobs
    distances = SampleDistances.of(X)
    assert distances.neighbours_together(y) == 1
    shuffled = np.random.default_rng(0).permutation(y)
    assert distances.neighbours_together(shuffled) == pytest.approx(0.25, abs=0.1)


def test_of_equally_near_neighbours_one_in_the_same_cluster_is_enough():
    distances = SampleDistances.of(np.zeros((4, 2)))
    assert distances.neighbours_together(np.array([0, 0, 1, 1])) == 1


def test_a_row_has_no_neighbours_where_all_others_are_noise(blobs):
    labels = np.full(300, -1)
    labels[0] = 0
    assert SampleDistances.of(blobs[0]).neighbours_together(labels) is None


def test_calinski_harabasz_is_that_of_scikit_learn(blobs):
    X, y = blobs
    assert calinski_harabasz(X, y) == calinski_harabasz_score(X, y)
    assert calinski_harabasz(X, np.zeros(300, dtype=int)) is None
    assert calinski_harabasz(sparse.csr_array(X), y) is None


def test_agreement_is_the_adjusted_rand_index(blobs):
    _, y = blobs
    assert agreement_with_classes(y // 2, y) == adjusted_rand_score(y, y // 2)
    assert agreement_with_classes(y, None) is None
