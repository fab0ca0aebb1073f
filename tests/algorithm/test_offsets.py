"""Values far from the origin, compared with their differences."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from cohirf.algorithm.offsets import subtract_offsets

CONTAINERS = [np.asarray, sparse.csr_array, sparse.csr_matrix]


def as_array(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("points_in", CONTAINERS)
@pytest.mark.parametrize("rows_in", CONTAINERS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_only_columns_with_an_offset_are_shifted(dtype, rows_in, points_in):
    points = np.array([[1e9, 5.0, 0.0], [1e9 + 128, -5.0, 1.0]], dtype=dtype)
    X = np.vstack([points, [[0.0, 0.0, 0.0]]]).astype(dtype)
    shifted, shifted_points = map(as_array, subtract_offsets(rows_in(X), points_in(points)))
    assert np.abs(shifted_points).max() <= 64
    assert (cdist(shifted, shifted_points) == cdist(X.astype("f8"), points.astype("f8"))).all()
    assert {tuple(column) for column in shifted.T} >= {(5.0, -5.0, 0.0), (0.0, 1.0, 0.0)}


@pytest.mark.parametrize("container", CONTAINERS)
def test_values_without_an_offset_are_not_copied(container):
    X = container(np.random.default_rng(0).normal(size=(30, 3)))
    shifted, shifted_points = subtract_offsets(X, X[:10])
    assert np.shares_memory(shifted.data, X.data)
    assert shifted_points.shape == (10, 3)


def test_sparse_columns_stay_sparse():
    X = sparse.random_array((50, 100_000), density=1e-4, rng=np.random.default_rng(0), format="csr")
    assert subtract_offsets(X, X)[0].nnz == X.nnz
