"""Features that are sampled, and the columns that are taken."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm import features
from cohirf.algorithm.features import sample_features, take_features

X = np.random.default_rng(0).normal(size=(50, 6))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_a_view_holds_the_chosen_columns_times_its_scale(container, dtype, monkeypatch):
    monkeypatch.setattr(features, "SCALED_CELLS", 40)  # several blocks
    rows = container(X.astype(dtype))
    before = X.astype(dtype)
    for scale in (1.0, 1.5, 2.0):
        view = take_features(rows, np.array([1, 2, 5]), scale=scale)
        assert view.dtype == dtype
        dense = view.toarray() if sparse.issparse(view) else view
        assert (dense == before[:, [1, 2, 5]] * dtype(scale)).all()
    assert ((rows.toarray() if sparse.issparse(rows) else rows) == before).all()


def test_a_view_of_all_columns_is_the_data_itself():
    assert take_features(X, np.arange(6), scale=1.0) is X


def test_sampled_features_are_distinct_and_sorted():
    sampled = sample_features(np.random.default_rng(0), 50, 40)
    assert len(sampled) == 40
    assert (np.diff(sampled) > 0).all()
    assert 0 <= sampled.min() < sampled.max() < 50


def test_a_view_is_laid_out_in_the_memory_that_is_given():
    memory = np.empty((50, 2))
    assert take_features(X, np.array([0, 3]), memory) is memory
    assert (memory == X[:, [0, 3]]).all()


def test_a_view_of_all_columns_is_not_scaled():
    assert take_features(X, np.arange(6), scale=1.5) is X


def test_the_memory_that_is_given_is_filled_in_blocks_too(monkeypatch):
    monkeypatch.setattr(features, "SCALED_CELLS", 40)
    memory = np.empty((50, 2))
    assert take_features(X, np.array([0, 3]), memory, scale=0.5) is memory
    assert (memory == X[:, [0, 3]] * 0.5).all()
