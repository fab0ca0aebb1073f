"""Arrays go to a device and come back, and rows are taken where they are."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm.arrays import (
    fetch_rows,
    is_here,
    join_rows,
    look_up,
    put_beside,
    put_on_device,
    take_rows,
    to_host,
)
from places import PLACES

on_every_device = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
X = np.arange(12.0).reshape(6, 2)


@on_every_device
def test_an_array_goes_to_the_device_of_another_and_comes_back(place):
    rows = place.put(X)
    assert not is_here(rows)
    for values in (np.array([1.5, np.nan]), np.array([1, 2], dtype=np.int32), np.array([True])):
        np.testing.assert_array_equal(to_host(put_beside(values, rows)), values)
        assert to_host(put_beside(values, rows)).dtype == values.dtype


@on_every_device
def test_what_is_on_a_device_and_none_stay_as_they_are(place):
    rows = place.put(X)
    assert put_beside(rows, rows) is rows
    assert put_beside(None, rows) is None
    assert put_on_device(rows, rows) is rows
    assert to_host(None) is None


def test_numpy_and_scipy_stay_as_they_are_where_everything_is_here():
    for values in (X, sparse.csr_array(X)):
        assert is_here(values)
        assert to_host(values) is values
        assert put_beside(values, X) is values
        assert put_on_device(values, None) is values
    assert to_host([1, 2]).tolist() == [1, 2]


@on_every_device
@pytest.mark.parametrize("rows", [np.array([4, 0, 4]), np.array([], dtype=np.int64), slice(1, 4), np.array([2], "u1")])
def test_rows_are_taken_where_they_are(place, rows):
    np.testing.assert_array_equal(place.fetch(take_rows(place.put(X), rows)), X[rows])
    np.testing.assert_array_equal(fetch_rows(place.put(X), rows), X[rows])
    np.testing.assert_array_equal(fetch_rows(place.put(X[:, 0].copy()), rows), X[rows, 0])


@on_every_device
def test_entries_of_a_table_are_looked_up_where_the_indices_are(place):
    index = np.array([2, 0, 2, 1], dtype=np.int32)
    for table in (np.array([3, 4, -1], dtype=np.int32), np.array([0.5, 1.5, 2.5], dtype=np.float32)):
        found = place.fetch(look_up(table, place.put(index)))
        np.testing.assert_array_equal(found, table[index])
        assert found.dtype == table.dtype


@on_every_device
def test_blocks_of_rows_are_joined_where_they_are(place):
    np.testing.assert_array_equal(place.fetch(join_rows([place.put(X[:2]), place.put(X[2:])])), X)


def test_a_sparse_matrix_is_refused_on_a_device():
    with pytest.raises(TypeError, match=r"^A sparse matrix cannot be fitted on a device: leave the parameter device"):
        put_on_device(sparse.csr_array(X), "cuda")


def test_a_device_by_name_is_one_of_torch():
    torch = pytest.importorskip("torch")
    assert isinstance(put_on_device(X, "cpu"), torch.Tensor)
    assert put_on_device(X[::-1], "cpu").tolist() == X[::-1].tolist()
