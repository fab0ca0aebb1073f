"""Which values are refused, and that blocks of rows are judged as the whole is."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.validation import find_fault


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_large_values_are_taken_if_each_of_them_is(dtype):
    limit = np.sqrt(np.finfo(dtype).max / (4 * 3))
    X = np.full((1_000, 3), 0.9 * limit, dtype)  # the sum of their squares overflows
    assert find_fault(X, allow_nan=False) is None
    X[500, 1] = 1.1 * limit
    assert "whose squares overflow" in find_fault(X, allow_nan=False)


@pytest.mark.parametrize("value", [1.0, 1.05e153, 2e153, np.nan, np.inf])
def test_a_block_is_judged_as_the_whole(value):
    X = np.ones((100, 4))
    X[70, 2] = value
    blocks = [find_fault(X[start : start + 10], allow_nan=False) for start in range(0, 100, 10)]
    assert [fault for fault in blocks if fault] == [
        fault for fault in [find_fault(X, allow_nan=False)] if fault
    ]


def test_nan_may_be_allowed_in_arrays_and_never_in_sparse_matrices():
    X = np.array([[1.0, np.nan]])
    assert find_fault(X, allow_nan=True) is None
    assert find_fault(sparse.csr_array(X), allow_nan=True).startswith("contains NaN")
