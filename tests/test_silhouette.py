"""Silhouettes from kept distances are scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances, silhouette_score

from cohirf.silhouette import COLUMNS, mean_silhouette


@pytest.mark.parametrize("n_clusters", [2, 7, 150])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_it_is_that_of_scikit_learn(n_clusters, dtype):
    rng = np.random.default_rng(n_clusters)
    X = rng.normal(size=(3 * COLUMNS + 5, 4))
    labels = rng.integers(n_clusters, size=len(X)) - 1  # with gaps, clusters of one row, and -1
    assert mean_silhouette(pairwise_distances(X).astype(dtype), labels) == pytest.approx(silhouette_score(X, labels))


def test_rows_that_are_all_equal_have_none():
    labels = np.arange(10) % 2
    assert mean_silhouette(np.zeros((10, 10)), labels) == 0
    assert silhouette_score(np.zeros((10, 2)), labels) == 0
