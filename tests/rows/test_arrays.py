"""Arrays go to a device and come back, and rows are taken where they are."""

import sys

import numpy as np
import pytest
from scipy import sparse

from cohirf.rows.arrays import (
    fetch_rows,
    is_cupy,
    is_here,
    is_torch,
    join_rows,
    look_up,
    put_beside,
    put_on_device,
    same_kind,
    take_rows,
    to_host,
    to_torch,
)
from places import PLACES
from stand_in_cupy import make_cupy

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
        assert same_kind(values, like=np.zeros(1)) is values
    assert to_host([1, 2]).tolist() == [1, 2]


@on_every_device
@pytest.mark.parametrize(
    "rows", [np.array([4, 0, 4]), np.array([], dtype=np.int64), slice(1, 4), np.array([2], "u1")]
)
def test_rows_are_taken_where_they_are(place, rows):
    np.testing.assert_array_equal(place.fetch(take_rows(place.put(X), rows)), X[rows])
    np.testing.assert_array_equal(fetch_rows(place.put(X), rows), X[rows])
    np.testing.assert_array_equal(fetch_rows(place.put(X[:, 0].copy()), rows), X[rows, 0])


@on_every_device
def test_entries_of_a_table_are_looked_up_where_the_indices_are(place):
    index = np.array([2, 0, 2, 1], dtype=np.int32)
    for table in (
        np.array([3, 4, -1], dtype=np.int32),
        np.array([0.5, 1.5, 2.5], dtype=np.float32),
    ):
        found = place.fetch(look_up(table, place.put(index)))
        np.testing.assert_array_equal(found, table[index])
        assert found.dtype == table.dtype


@on_every_device
def test_blocks_of_rows_are_joined_where_they_are(place):
    np.testing.assert_array_equal(place.fetch(join_rows([place.put(X[:2]), place.put(X[2:])])), X)


def test_a_sparse_matrix_is_refused_on_a_device():
    with pytest.raises(
        TypeError,
        match=r"^A sparse matrix cannot be fitted on a device: leave the parameter device",
    ):
        put_on_device(sparse.csr_array(X), "cuda")


def test_a_device_by_name_is_one_of_torch():
    torch = pytest.importorskip("torch")
    assert isinstance(put_on_device(X, "cpu"), torch.Tensor)
    assert put_on_device(X[::-1], "cpu").tolist() == X[::-1].tolist()


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def cupy(monkeypatch):
    module = make_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_tensors_are_recognised_and_share_memory_with_numpy(torch):
    tensor = torch.arange(3)
    assert is_torch(tensor)
    values = to_host(tensor)
    values[0] = 7
    assert tensor[0] == 7
    assert to_torch(values).data_ptr() == tensor.data_ptr()
    assert to_torch(tensor).data_ptr() == tensor.data_ptr()


# the larger ones are copied in pieces
@pytest.mark.parametrize("shape", [(10,), (3_000_001,), (1_000, 2_003)])
def test_tensors_of_a_gpu_become_arrays_of_numpy(torch, shape):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    tensor = torch.arange(np.prod(shape), device="cuda").reshape(shape)
    np.testing.assert_array_equal(to_host(tensor), np.arange(np.prod(shape)).reshape(shape))
    np.testing.assert_array_equal(
        to_host(tensor[::2]), np.arange(np.prod(shape)).reshape(shape)[::2]
    )


def test_bfloat16_becomes_float32_in_numpy(torch):
    values = to_host(torch.tensor([1.5, -2.0], dtype=torch.bfloat16, requires_grad=True))
    assert values.dtype == np.float32
    assert values.tolist() == [1.5, -2.0]


def test_arrays_that_torch_does_not_take_are_copied(torch):
    values = np.arange(4.0)
    values.flags.writeable = False
    assert to_torch(values).tolist() == [0, 1, 2, 3]
    assert to_torch(np.arange(4)[::-1]).tolist() == [3, 2, 1, 0]
    assert to_torch(3.0).item() == 3


def test_results_get_the_kind_of_the_data(torch, cupy):
    values = np.array([1, 2])
    assert is_torch(same_kind(values, like=torch.zeros(1)))
    assert is_cupy(same_kind(torch.tensor([1, 2]), like=cupy.asarray([0.0])))
    assert type(same_kind(torch.tensor([1, 2]), like=[0.0])) is np.ndarray


def test_cupy_arrays_are_handed_to_torch_without_a_copy(torch, cupy):
    values = np.arange(6.0).reshape(3, 2)
    array = cupy.asarray(values)
    assert is_cupy(array)
    assert not is_torch(array)
    tensor = to_torch(array)
    tensor[0, 0] = 5
    assert values[0, 0] == 5
    assert to_host(array).tolist() == values.tolist()
