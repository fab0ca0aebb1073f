"""Distances between values whose squares vanish."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from cohirf.algorithm.faint_values import find_lift, measure_distances


@pytest.mark.parametrize(("size", "dtype"), [(1e-100, "f8"), (1.0, "f8"), (1e150, "f8"), (1e-10, "f4"), (1e15, "f4")])
def test_ordinary_values_are_left_alone(size, dtype):
    assert find_lift(np.array([[0.0], [size]], dtype=dtype)) is None
    assert find_lift(sparse.csr_array(np.array([[0.0, -size]], dtype=dtype))) is None


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("size", "dtype"), [(5e-324, "f8"), (1e-200, "f8"), (2e-45, "f4"), (1e-25, "f4"), (1.0, "f8")])
def test_distances_are_measured_at_any_size(size, dtype, container):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]).astype(dtype) * np.dtype(dtype).type(size)
    distances = measure_distances(container(X), container(X[:2]))
    assert distances.dtype == dtype
    expected = np.array([[0.0, 5.0], [5.0, 0.0], [10.0, 5.0]]).astype(dtype) * np.dtype(dtype).type(size)
    assert distances == pytest.approx(expected, rel=1e-6, abs=1e-7 * size)


def test_rows_far_from_faint_points_are_measured_as_ever():
    distances = measure_distances(np.array([[1e150], [1.0], [2e-200]]), np.array([[1e-200]]))
    assert distances.ravel() == pytest.approx([1e150, 1.0, 1e-200], rel=1e-12)


def test_all_zeros_are_at_distance_zero():
    assert measure_distances(np.zeros((2, 2)), np.zeros((1, 2))).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("offset", "dtype"), [(1.7e9, "f8"), (1.7e9, "f4")])
def test_distances_between_values_with_an_offset_keep_their_digits(offset, dtype, container):
    X = np.array([[offset, 0.0], [offset, 0.25], [offset + 128, 0.0]], dtype=dtype)
    distances = measure_distances(container(X), container(X))
    assert distances.dtype == dtype
    expected = cdist(X.astype("f8"), X.astype("f8"))
    assert distances == pytest.approx(expected, rel=1e-6, abs=1e-6)
