"""Metrics as Euclidean distances between other points."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import DBSCAN
from sklearn.metrics.pairwise import cosine_distances, haversine_distances

from cohirf.rows.metric_spaces import SPACES, find_space, to_unit_vectors

PLACES = np.random.default_rng(0).uniform(-1.5, 1.5, size=(20, 2))


@pytest.mark.parametrize(
    ("name", "metric"), [("cosine", cosine_distances), ("haversine", haversine_distances)]
)
def test_distances_are_those_of_the_metric_and_back(name, metric):
    space = SPACES[name]
    points = space.points(PLACES)
    distances = space.distances(cdist(points, points))
    np.testing.assert_allclose(distances, metric(PLACES), atol=1e-7)
    assert space.radius(distances[0, 1]) == pytest.approx(np.linalg.norm(points[0] - points[1]))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_only_rows_of_zeros_have_no_direction(container):
    X = np.array([[3.0, 4.0], [2.0, 0.0], [0.0, 0.0]])
    assert to_unit_vectors(container(X[:2]), np.arange(2)).sum() == pytest.approx(2.4)
    with pytest.raises(ValueError, match=r"all zeros.*: 7\."):
        to_unit_vectors(container(X), np.array([5, 6, 7]))


def test_a_metric_with_parameters_of_its_own_has_no_space():
    assert find_space(DBSCAN(metric="minkowski", p=2)) is SPACES["euclidean"]
    assert find_space(DBSCAN(metric="minkowski", metric_params={"w": [1, 2]})) is None
