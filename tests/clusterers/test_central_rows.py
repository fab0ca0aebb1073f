"""Compiled central rows are those that NumPy finds."""

from functools import partial

import numpy as np
import pytest

from cohirf import CoHiRF
from cohirf.algorithm.choose_medoids import choose_central_medoids, cluster_means, cosine_centrality
from cohirf.clusterers import GridDBSCAN, central_rows
from cohirf.datasets import make_spheres
from cohirf.rows.grouping import count_by_label, first_rows
from cohirf.rows.members import find_exemplars
from cohirf.rows.storage import ArrayRows

CHOOSE = partial(choose_central_medoids, centrality=cosine_centrality)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_medoids_means_and_exemplars_are_those_of_numpy(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).astype(dtype)
    X[7] = 0
    labels = rng.integers(0, 9, 3000).astype(np.int32)
    centres = central_rows.find_centres(X, labels, 9, None, by_cosine=True)
    np.testing.assert_array_equal(centres.medoids, CHOOSE(X, labels, 9, None, rng))
    np.testing.assert_array_equal(centres.sizes, count_by_label(labels, 9))
    np.testing.assert_array_equal(centres.first_rows, first_rows(labels, 9))
    means = central_rows.find_centres(X, labels, 9, None, by_cosine=False).means
    np.testing.assert_array_equal(means, centres.means)
    np.testing.assert_allclose(means, cluster_means(X, labels, 9, None), rtol=1e-9, atol=1e-12)
    labels[::50] = -1
    found = central_rows.nearest_rows(ArrayRows(X), labels, means)
    np.testing.assert_array_equal(found, find_exemplars(ArrayRows(X), labels, means))


def test_a_fit_with_compiled_central_rows_equals_one_without(monkeypatch):
    X, _ = make_spheres(4000, random_state=0)
    compiled = CoHiRF(GridDBSCAN(0.4)).fit(X)
    monkeypatch.setattr(central_rows, "takes", lambda X: False)
    plain = CoHiRF(GridDBSCAN(0.4)).fit(X)
    for name in ("labels_", "medoid_indices_", "exemplar_indices_"):
        np.testing.assert_array_equal(getattr(compiled, name), getattr(plain, name))
