"""Distances of rows to points, and the nearest of a few points, compared with SciPy's."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from cohirf.rows.containers import device_arrays as module
from cohirf.rows.distances import find_nearest, measure_distances, subtract_offsets
from places import PLACES

CONTAINERS = [np.asarray, sparse.csr_array, sparse.csr_matrix]
on_every_device = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


def some_rows(n_rows, dtype, offset=0.0):
    return (np.random.default_rng(n_rows).normal(size=(n_rows, 5)) + offset).astype(dtype)


@on_every_device
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("block_cells", [1, 64, 2**27])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_nearest_point_of_each_row_is_found(place, dtype, block_cells, exact, monkeypatch):
    monkeypatch.setitem(vars(module.BLOCK), "device_distances", block_cells)
    X = some_rows(50, dtype)
    points = some_rows(7, dtype)
    found = place.fetch(find_nearest(place.put(X), points, exact=exact))
    np.testing.assert_array_equal(found, cdist(X, points).argmin(axis=1))


@pytest.mark.parametrize(
    "place", [place for place in PLACES if place.name.startswith("torch")], ids=lambda p: p.name
)
@pytest.mark.parametrize("offset", [0.0, 4.0])
def test_rows_in_bfloat16_find_points_that_are_clearly_nearest(place, offset):
    torch = pytest.importorskip("torch")
    X = some_rows(400, np.float32, offset)
    points = some_rows(7, np.float32, offset)
    distances = np.sort(cdist(X, points))
    is_clear = distances[:, 0] < 0.9 * distances[:, 1]
    found = place.fetch(find_nearest(place.put(X).to(torch.bfloat16), points, exact=False))
    np.testing.assert_array_equal(found[is_clear], cdist(X, points).argmin(axis=1)[is_clear])


@on_every_device
def test_points_far_from_the_origin_are_told_apart(place):
    points = some_rows(40, np.float64, offset=1e6)
    assert place.fetch(find_nearest(place.put(points), points)).tolist() == list(range(40))


@on_every_device
def test_of_equal_points_the_first_is_the_nearest(place):
    points = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
    assert place.fetch(find_nearest(place.put(points), points)).tolist() == [0, 1, 0]


@on_every_device
@pytest.mark.parametrize("block_cells", [1, 2**27])
def test_distances_to_all_points_are_measured(place, block_cells, monkeypatch):
    monkeypatch.setitem(vars(module.BLOCK), "device_distances", block_cells)
    X = some_rows(30, np.float64, offset=1e6)
    points = some_rows(4, np.float64, offset=1e6)
    np.testing.assert_allclose(
        place.fetch(measure_distances(place.put(X), points)), cdist(X, points), rtol=1e-13
    )
    assert measure_distances(place.put(X), points[:0]).shape == (30, 0)


# ---- offsets


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


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("size", "dtype"), [(1e-140, "f8"), (1e-15, "f4"), (1.0, "f8")])
def test_distances_are_measured_at_any_size(size, dtype, container):
    X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]).astype(dtype) * np.dtype(dtype).type(size)
    distances = measure_distances(container(X), container(X[:2]))
    assert distances.dtype == dtype
    expected = np.array([[0.0, 5.0], [5.0, 0.0], [10.0, 5.0]]).astype(dtype) * np.dtype(dtype).type(
        size
    )
    assert distances == pytest.approx(expected, rel=1e-6, abs=1e-7 * size)


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
