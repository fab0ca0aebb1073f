"""Arrays of NumPy, torch and CuPy are recognised and converted."""

import subprocess
import sys

import numpy as np
import pytest

from cohirf.array_kinds import array_kind, is_cupy, is_torch, same_kind, to_numpy, to_torch
from stand_in_cupy import make_cupy


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def cupy(monkeypatch):
    module = make_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_what_is_of_neither_torch_nor_cupy_is_numpy(cupy):
    assert [array_kind(each) for each in (np.zeros(2), [1, 2], None)] == ["numpy"] * 3


def test_numpy_arrays_are_returned_as_they_are():
    values = np.arange(3)
    assert to_numpy(values) is values
    assert same_kind(values, like=np.zeros(1)) is values


def test_asking_for_the_kind_of_an_array_imports_no_library():
    code = "import sys, cohirf.array_kinds as k; k.array_kind([1]); print({'torch', 'cupy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_tensors_are_recognised_and_share_memory_with_numpy(torch):
    tensor = torch.arange(3)
    assert array_kind(tensor) == "torch"
    assert is_torch(tensor)
    values = to_numpy(tensor)
    values[0] = 7
    assert tensor[0] == 7
    assert to_torch(values).data_ptr() == tensor.data_ptr()
    assert to_torch(tensor).data_ptr() == tensor.data_ptr()


@pytest.mark.parametrize("shape", [(10,), (3_000_001,), (1_000, 2_003)])  # the larger ones are copied in pieces
def test_tensors_of_a_gpu_become_arrays_of_numpy(torch, shape):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    tensor = torch.arange(np.prod(shape), device="cuda").reshape(shape)
    np.testing.assert_array_equal(to_numpy(tensor), np.arange(np.prod(shape)).reshape(shape))
    np.testing.assert_array_equal(to_numpy(tensor[::2]), np.arange(np.prod(shape)).reshape(shape)[::2])


def test_bfloat16_becomes_float32_in_numpy(torch):
    values = to_numpy(torch.tensor([1.5, -2.0], dtype=torch.bfloat16, requires_grad=True))
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
    assert array_kind(array) == "cupy"
    tensor = to_torch(array)
    tensor[0, 0] = 5
    assert values[0, 0] == 5
    assert to_numpy(array).tolist() == values.tolist()
