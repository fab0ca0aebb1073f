"""Features that are sampled, and the columns that are taken."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm.get_clusters import sample_features, take_features

X = np.random.default_rng(0).normal(size=(50, 6))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_view_holds_the_chosen_columns(container, dtype):
    view = take_features(container(X.astype(dtype)), np.array([1, 2, 5]))
    assert view.dtype == dtype
    assert (
        (view.toarray() if sparse.issparse(view) else view) == X.astype(dtype)[:, [1, 2, 5]]
    ).all()


def test_a_view_of_all_columns_is_the_data_itself():
    assert take_features(X, np.arange(6)) is X


def test_sampled_features_are_distinct_and_sorted():
    sampled = sample_features(np.random.default_rng(0), 50, 40)
    assert len(sampled) == 40
    assert (np.diff(sampled) > 0).all()
    assert 0 <= sampled.min() < sampled.max() < 50


def test_a_view_is_laid_out_in_the_memory_that_is_given():
    memory = np.empty((50, 2))
    assert take_features(X, np.array([0, 3]), memory) is memory
    assert (memory == X[:, [0, 3]]).all()
