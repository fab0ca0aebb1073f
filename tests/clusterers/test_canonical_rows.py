"""Distinct rows in an order that their order in the data does not change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from cohirf.clusterers import canonical_rows
from cohirf.clusterers.canonical_rows import find_distinct_rows

FEW_VALUES = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.sampled_from([0.0, 1.0, -2.5])
)


@given(FEW_VALUES)
def test_dense_rows_are_sorted_and_grouped_as_numpy_does(X):
    rows, group = np.unique(X, axis=0, return_inverse=True)
    distinct = find_distinct_rows(X)
    np.testing.assert_array_equal(X[distinct.first], rows)
    np.testing.assert_array_equal(distinct.group, group.ravel())


@given(FEW_VALUES, st.randoms(use_true_random=False))
def test_sparse_rows_are_grouped_as_dense_ones_in_an_order_of_their_own(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    distinct, shuffled = (find_distinct_rows(sparse.csr_array(part)) for part in (X, X[order]))
    np.testing.assert_array_equal(X[distinct.first][distinct.group], X)
    assert len(distinct.first) == len(np.unique(X, axis=0))
    np.testing.assert_array_equal(X[order][shuffled.first], X[distinct.first])
    np.testing.assert_array_equal(shuffled.group, distinct.group[order])


@pytest.fixture
def useless_key(monkeypatch):
    """A fixed vector of zeros, with which all sparse rows have the same product."""

    class Zeros:
        def normal(self, size):
            return np.zeros(size)

    monkeypatch.setattr(canonical_rows.np.random, "default_rng", lambda seed: Zeros())


def test_sparse_rows_with_equal_keys_are_told_apart(useless_key):
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    order = [3, 5, 0, 2, 4, 1]
    distinct, shuffled = (find_distinct_rows(sparse.csr_array(part)) for part in (X, X[order]))
    assert len(distinct.first) == 4
    np.testing.assert_array_equal(X[distinct.first][distinct.group], X)
    np.testing.assert_array_equal(X[order][shuffled.first], X[distinct.first])
