"""Tests of the K-Means of a sample, which a model without a base method runs."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.fitting.quick_k_means import QuickKMeans, draw_far_rows
from cohirf.rows.containers import container_of
from cohirf.rows.policy import BLOCK
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

    def test_sparse_rows_are_drawn_as_those_of_an_array(self):
        group = np.repeat(np.arange(20), 50)
        X = np.eye(20)[group] * 1e-25
        drawn = draw_far_rows(sparse.csr_matrix(X), None, 20, np.random.RandomState(0))
        assert sorted(group[drawn]) == list(range(20))


class TestSparseRows:
    def test_far_groups_of_sparse_rows_are_found_and_a_row_of_each_is_enough(self):
        group = np.repeat(np.arange(6), 40)
        noise = np.random.default_rng(0).random((240, 30)) * 0.1
        X = np.repeat(np.eye(6), 5, axis=1)[group] + noise
        for scale in (1.0, 1e30, 1e-30):  # squares of float32 would overflow, or vanish
            labels = QuickKMeans(6, random_state=0).fit(sparse.csr_matrix(X * scale)).labels_
            assert adjusted_rand_score(group, labels) == 1.0

    def test_rows_without_weight_do_not_move_centres(self):
        X = sparse.csr_matrix(np.array([[0.0], [1.0], [10.0], [13.0], [16.0]]))
        weights = np.array([1.0, 1.0, 1.0, 0.0, 1.0])
        moved = container_of(X).move_centres(X, weights, np.array([[0.0], [10.0], [99.0]]), 5)
        np.testing.assert_allclose(
            moved.toarray().ravel(), [0.5, 13.0, 99.0]
        )  # nothing is near the last

    @pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
    def test_columns_that_are_far_from_zero_do_not_hide_groups(self, offset):
        X, y = make_blobs(600, 5, centers=6, cluster_std=0.5, random_state=0)
        labels = QuickKMeans(6, random_state=0).fit(sparse.csr_matrix(X + offset)).labels_
        assert adjusted_rand_score(y, labels) == 1.0

    def test_labels_do_not_depend_on_the_number_of_threads(self, monkeypatch):
        monkeypatch.setitem(vars(BLOCK), "product_cells", 2**12)
        rng = np.random.default_rng(0)
        X = sparse.random(1_000, 100, density=0.1, format="csr", random_state=rng)
        alone = CoHiRF(n_clusters=10, random_state=0).fit(X)
        for n_jobs in (2, 5):
            model = CoHiRF(n_clusters=10, random_state=0, n_jobs=n_jobs).fit(X)
            np.testing.assert_array_equal(model.labels_, alone.labels_)
