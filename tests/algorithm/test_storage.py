"""Rows in memory."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm.storage import ArrayRows, MemoryStorage, RowsReadOnce, RowsWithFeatures

X = np.arange(12.0).reshape(6, 2)


def dense(values):
    return values.toarray() if sparse.issparse(values) else values


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_are_taken_by_number(container):
    rows = ArrayRows(container(X))
    assert rows.n_rows == 6
    assert dense(rows.take(np.array([1, 4]))).tolist() == [[2, 3], [8, 9]]
    assert rows.take(np.arange(6)) is rows.X


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_blocks_of_rows_are_put_together_in_order(container):
    gatherer = MemoryStorage().gather()
    gatherer.add(container(X[:1]))
    gatherer.add(container(X[1:]))
    assert dense(gatherer.rows().X).tolist() == X.tolist()
    assert sparse.issparse(gatherer.rows().X) == (container is sparse.csr_array)


def test_a_vector_has_an_entry_of_the_asked_type_for_each_row():
    vector = MemoryStorage().vector(5, np.uint8)
    assert vector.shape == (5,)
    assert vector.dtype == np.uint8


def test_rows_that_are_read_once_have_their_own_numbers():
    some = RowsReadOnce(ArrayRows(X), np.array([0, 2, 5]))
    assert some.n_rows == 3
    assert some.take(np.array([1, 2])).tolist() == [[4, 5], [10, 11]]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_may_have_some_of_their_features(container):
    rows = RowsWithFeatures(ArrayRows(container(X)), np.array([1]))
    assert rows.n_rows == 6
    assert dense(rows.take(np.array([0, 4]))).tolist() == [[1], [9]]
