"""Distances of rows on a device to a few points, compared with SciPy's."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cohirf.algorithm import nearest_rows
from cohirf.algorithm.nearest_rows import find_nearest, measure_to
from places import PLACES

on_every_device = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


def some_rows(n_rows, dtype, offset=0.0):
    return (np.random.default_rng(n_rows).normal(size=(n_rows, 5)) + offset).astype(dtype)


@on_every_device
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("block_cells", [1, 64, 2**27])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_nearest_point_of_each_row_is_found(place, dtype, block_cells, exact, monkeypatch):
    monkeypatch.setattr(nearest_rows, "BLOCK_CELLS", block_cells)
    X, points = some_rows(50, dtype), some_rows(7, dtype)
    found = place.fetch(find_nearest(place.put(X), points, exact=exact))
    np.testing.assert_array_equal(found, cdist(X, points).argmin(axis=1))


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
    monkeypatch.setattr(nearest_rows, "BLOCK_CELLS", block_cells)
    X, points = some_rows(30, np.float64, offset=1e6), some_rows(4, np.float64, offset=1e6)
    np.testing.assert_allclose(place.fetch(measure_to(place.put(X), points)), cdist(X, points), rtol=1e-13)
    assert measure_to(place.put(X), points[:0]).shape == (30, 0)
