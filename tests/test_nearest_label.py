"""The label of the nearest of some points."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.nearest_label import NearestLabel


def build_numbered(points):
    """Each point is its own label, so that the nearest point itself is found."""
    return NearestLabel.build(points, np.arange(points.shape[0]))


def test_the_nearest_point_is_found_exactly_in_every_dimension():
    rng = np.random.default_rng(0)
    for n_features in (2, 12, 13, 100):
        points = rng.normal(size=(300, n_features)) + 1e8
        search = build_numbered(points)
        assert (search.tree is not None) == (n_features <= 12)
        assert search.label(points).tolist() == list(range(300))


def test_sparse_points_are_found_by_sparse_and_dense_rows():
    points = np.random.default_rng(0).normal(size=(50, 20))
    points[points < 1] = 0
    points = points[points.any(axis=1)]
    search = build_numbered(sparse.csr_array(points))
    assert search.label(sparse.csr_array(points)).tolist() == list(range(len(points)))
    assert search.label(points).tolist() == list(range(len(points)))


@pytest.mark.parametrize("points_in", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("rows_in", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("n_features", [4, 20])
def test_points_with_an_offset_find_themselves(n_features, rows_in, points_in):
    points = 0.1 * np.random.default_rng(0).normal(size=(300, n_features))
    points[:, 0] += 1.7e9 + np.repeat(10 * np.arange(6), 50)
    assert build_numbered(points_in(points)).label(rows_in(points)).tolist() == list(range(300))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [1, 20])
@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        *((size, "f8") for size in (5e-324, 1e-310, 1e-200, 1e-150, 1e150)),
        *((size, "f4") for size in (2e-45, 1e-30, 1e-15, 1e15)),
    ],
)
def test_points_of_any_size_find_themselves(size, dtype, n_features, container):
    points = np.repeat(np.arange(1, 31)[:, None] * np.dtype(dtype).type(size), n_features, axis=1)
    search = build_numbered(container(points))
    assert search.label(container(points)).tolist() == list(range(30))
    assert search.label(points).tolist() == list(range(30))


@pytest.mark.parametrize("n_features", [1, 20])
def test_rows_far_from_faint_points_find_one(n_features):
    search = build_numbered(np.repeat([[1e-200], [2e-200], [-3e-200]], n_features, axis=1))
    rows = np.repeat([[1e150], [1.0], [0.0], [2.2e-200], [-1.0]], n_features, axis=1)
    numbers = search.label(rows)
    assert numbers.min() >= 0
    assert numbers[2:4].tolist() == [0, 1]
