"""Tests of points in float32: what they decide is right, and they say what they leave undecided."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from cohirf.rows import short_points
from cohirf.rows.containers import container_of
from cohirf.rows.short_points import FEW_POINTS, ShortPoints
from cohirf.rows.threads import on_threads

numbers_of_points = pytest.mark.parametrize("n_points", [1, 5, FEW_POINTS, FEW_POINTS + 1, 300])


several_points = pytest.mark.parametrize("n_points", [5, FEW_POINTS, FEW_POINTS + 1, 300])


def numbered(points):
    return ShortPoints.of(points, np.arange(len(points)))


@several_points
@pytest.mark.parametrize(
    ("dtype", "scale", "offset"),
    [
        (np.float32, 1, 0),
        (np.float32, 1, 1e3),
        (np.float64, 1, 0),
        (np.float64, 1, 1e3),
        (np.float64, 1e-200, 0),
        (np.float64, 1e200, 0),
    ],
)
def test_the_nearest_point_is_found_or_left_undecided(n_points, dtype, scale, offset):
    rng = np.random.default_rng(0)
    points = (rng.normal(size=(n_points, 6)) * scale + offset).astype(dtype)
    X = (rng.normal(size=(1000, 6)) * scale + offset).astype(dtype)
    found, undecided = numbered(points).label(X)
    near = (X.astype(float) - offset) / scale
    nearest = cdist(near, (points.astype(float) - offset) / scale).argmin(axis=1)
    is_decided = np.ones(len(X), dtype=bool)
    is_decided[undecided] = False
    assert_array_equal(found[is_decided], nearest[is_decided])
    assert is_decided.mean() > (0.5 if offset else 0.9)


@numbers_of_points
def test_rows_between_two_points_are_left_undecided(n_points):
    points = np.arange(2.0 * n_points).reshape(-1, 2)
    between = (points[:-1] + points[1:]) / 2
    _, undecided = numbered(points).label(between)
    assert_array_equal(undecided, np.arange(len(between)))


@several_points
def test_a_difference_that_float32_does_not_have_is_left_undecided(n_points):
    points = np.random.default_rng(0).normal(size=(n_points, 4))
    points = np.concatenate([points, points + 1e-9])
    _, undecided = numbered(points).label(points)
    assert_array_equal(undecided, np.arange(len(points)))


def test_points_of_one_label_need_not_be_told_apart_by_the_exact_comparison():
    points = np.repeat(np.eye(3), 2, axis=0)
    search = ShortPoints.of(points, np.repeat([7, 8, 9], 2))
    _, undecided = search.label(np.eye(3))
    assert_array_equal(undecided, [0, 1, 2])
    assert_array_equal(search.compare_exactly(np.eye(3)), [7, 8, 9])


@several_points
@pytest.mark.filterwarnings("error")
def test_rows_far_beyond_the_points_are_left_undecided(n_points):
    points = np.random.default_rng(0).normal(size=(n_points, 4))
    _, undecided = numbered(points).label(np.array([[1e30, 0, 0, 0], [0, 0, 0, 0]]))
    assert 0 in undecided


@numbers_of_points
def test_blocks_and_threads_do_not_change_what_is_found(n_points, monkeypatch):
    rng = np.random.default_rng(0)
    points, X = rng.normal(size=(n_points, 5)), rng.normal(size=(700, 5))
    search = numbered(points)
    found, undecided = search.label(X)
    for rows, distances in ((1, 1), (100, 1000), (256, 2**20)):
        for name in ("CACHED", "SHARED"):
            monkeypatch.setattr(short_points, f"{name}_ROWS", rows)
            monkeypatch.setattr(short_points, f"{name}_DISTANCES", distances)
        with on_threads(1 + rows % 2):
            again, still = search.label(X)
        decided = np.setdiff1d(np.arange(len(X)), np.union1d(undecided, still))
        assert_array_equal(again[decided], found[decided])


@pytest.mark.parametrize("n_points", [20, 200])
def test_of_equal_points_the_first_has_the_rows_whatever_the_block(n_points):
    rng = np.random.default_rng(0)
    points = np.tile(rng.integers(0, 4, (n_points // 2, 3)).astype(float), (2, 1))
    X = rng.integers(0, 4, (500, 3)).astype(float)
    first = cdist(X, points).argmin(axis=1)
    search = numbered(points)
    assert_array_equal(search.compare_exactly(X), first)
    assert [int(search.compare_exactly(row[None])[0]) for row in X] == first.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-310, 1e-300, 1e300])
def test_the_smallest_and_largest_values_find_a_point_without_a_warning(size):
    X = np.random.default_rng(0).normal(size=(300, 3))
    search = numbered(X[:5] * size)
    search.label(X * size)
    search.compare_exactly(X * size)
    search.compare_exactly(X / size if size > 1 else X * 1e300)


def test_a_common_offset_below_float32_loses_no_digits():
    X = 1e-50 + 1e-58 * np.random.default_rng(0).normal(size=(1000, 4))
    found, undecided = numbered(X[:9]).label(X)
    nearest = cdist((X - 1e-50) * 1e58, (X[:9] - 1e-50) * 1e58).argmin(axis=1)
    found[undecided] = numbered(X[:9]).compare_exactly(X[undecided])
    assert_array_equal(found, nearest)


def test_no_rows_have_no_labels():
    found, undecided = numbered(np.eye(3)).label(np.empty((0, 3)))
    assert len(found) == len(undecided) == 0


class TestNumpyRows:
    @numbers_of_points
    def test_the_nearest_point_is_that_of_exact_differences(self, n_points):
        rng = np.random.default_rng(1)
        points = np.round(rng.normal(size=(n_points, 3)) * 3)  # many rows are between two
        points = np.unique(points, axis=0)
        X = np.round(rng.normal(size=(5000, 3)) * 3)
        found = container_of(X).find_nearest(X, points, exact=False, groups=None, group_of_row=None)
        distances = cdist(X, points)
        assert_allclose(distances[np.arange(len(X)), found], distances.min(axis=1))

    def test_many_centres_move_as_those_of_scikit_learn(self):
        X, _ = make_blobs(6000, 5, centers=90, random_state=0)
        weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
        begin = X[: FEW_POINTS + 26]
        moved = container_of(X).move_centres(X, weights, begin, 2)  # then one would lose its rows
        expected = KMeans(len(begin), init=begin, n_init=1, max_iter=2, tol=0).fit(
            X, sample_weight=weights
        )
        assert_allclose(moved, expected.cluster_centers_, atol=1e-9)

    def test_centres_without_mass_stay(self):
        X = np.arange(200.0)[:, None]
        weights = np.ones(200)
        weights[50] = 0
        centres = np.concatenate([np.arange(100.0), [1e6]])[:, None]
        moved = container_of(X).move_centres(X, weights, centres, 1)
        assert moved[50] == 50  # its only row has no weight
        assert moved[100] == 1e6  # no row is near it
        assert moved[99] == 149
