"""Tests of the K-Means of a sample, which a model without a base method runs."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cohirf.fitting.quick_k_means import draw_far_rows
from places import PLACES


class TestDrawFarRows:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-25, 0.0), (1.0, 1e4)])
    def test_one_row_of_each_far_group_is_drawn(self, dtype, scale, offset):
        group = np.repeat(np.arange(20), 50)
        X = (
            np.eye(20)[group] + np.random.default_rng(0).normal(scale=1e-3, size=(1000, 20))
        ) * scale + offset
        drawn = draw_far_rows(X.astype(dtype), None, 20, np.random.RandomState(0))
        assert sorted(group[drawn]) == list(range(20))

    @pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
    def test_on_a_device_rows_that_are_drawn_together_are_far_apart_too(self, place):
        X = np.random.default_rng(0).normal(size=(2000, 2))
        drawn = place.fetch(draw_far_rows(place.put(X), None, 200, np.random.RandomState(0)))
        one_by_one = draw_far_rows(X, None, 200, np.random.RandomState(0))
        inertia, expected = (
            (cdist(X, X[rows]).min(axis=1) ** 2).sum() for rows in (drawn, one_by_one)
        )
        assert drawn.shape == (200,)
        assert inertia < 1.15 * expected

    def test_rows_without_weight_are_not_drawn_and_weight_is_a_chance(self):
        X = np.arange(4.0)[:, None]
        weights = np.array([0.0, 1.0, 0.0, 3.0])
        rng = np.random.RandomState(0)
        first = [draw_far_rows(X, weights, 2, rng) for _ in range(400)]
        assert {tuple(sorted(rows)) for rows in first} == {(1, 3)}
        assert np.mean([rows[0] == 3 for rows in first]) == pytest.approx(0.75, abs=0.07)

    def test_fewer_distinct_rows_than_wanted_are_drawn_again(self):
        drawn = draw_far_rows(np.zeros((5, 2)), None, 3, np.random.RandomState(0))
        assert drawn.shape == (3,)
