"""Rows in memory."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.rows.storage import (
    ArrayRows,
    NumberedRows,
    SomeRows,
    StackedRows,
    Storage,
    is_in_memory,
    take_in_order,
)

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
    gatherer = Storage().gather()
    gatherer.add(container(X[:1]))
    gatherer.add(container(X[1:]))
    assert dense(gatherer.rows().X).tolist() == X.tolist()
    assert sparse.issparse(gatherer.rows().X) == (container is sparse.csr_array)


def test_a_vector_has_an_entry_of_the_asked_type_for_each_row():
    vector = Storage().vector(5, np.uint8)
    assert vector.shape == (5,)
    assert vector.dtype == np.uint8


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_may_be_some_of_others_and_are_read_from_them(container):
    some = SomeRows(ArrayRows(container(X)), np.array([0, 2, 5]))
    assert some.n_rows == 3
    assert dense(some.take(np.array([1, 2]))).tolist() == [[4, 5], [10, 11]]


def test_rows_may_keep_the_numbers_that_they_had_among_others():
    rows = NumberedRows(X[[1, 4, 5]], np.array([1, 4, 5]))
    assert rows.n_rows == 3
    assert rows.take(np.array([4, 5])).tolist() == [[8, 9], [10, 11]]


def test_rows_are_taken_in_any_order():
    assert take_in_order(ArrayRows(X), np.array([4, 0, 2])).tolist() == X[[4, 0, 2]].tolist()


def test_rows_of_rows_in_memory_are_in_memory():
    rows = ArrayRows(X)
    numbers = np.array([0, 1])
    assert all(map(is_in_memory, (rows, SomeRows(rows, numbers))))
    assert not is_in_memory(NumberedRows(X, np.arange(6)))


def test_a_matrix_in_memory_has_the_shape_and_type_that_were_asked_for():
    matrix = Storage().matrix(3, 2, np.float32)
    assert (matrix.shape, matrix.dtype) == ((3, 2), np.float32)


def test_without_blocks_there_are_no_rows():
    assert Storage().gather().rows() is None


@pytest.mark.parametrize("rows", [[0, 1], [3, 5], [1, 2, 4]], ids=["first", "second", "both"])
def test_stacked_rows_are_those_of_one_set_and_then_of_another(rows):
    X = np.arange(14).reshape(7, 2)
    for kind in (np.asarray, sparse.csr_array):
        stacked = StackedRows(ArrayRows(kind(X[:4])), ArrayRows(kind(X[4:])), 6, start=1)
        assert stacked.n_rows == 6
        assert stacked.in_memory
        found = stacked.take(np.array(rows))
        np.testing.assert_array_equal(
            found.toarray() if sparse.issparse(found) else found, X[np.array(rows) + 1]
        )
