"""The nearest rows of each row, on a tree of boxes."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cohirf.neighbours.box_tree import build_tree
from cohirf.spanning.neighbour_kernels import nearest


def nearest_rows(X, k):
    tree = build_tree(X, np.arange(len(X)), np.ones(len(X)))
    return tree, *nearest(tree, np.ascontiguousarray(tree.points.T), k)


@pytest.mark.parametrize(("n_rows", "n_features", "k"), [(1, 2, 1), (3, 1, 3), (500, 2, 16), (400, 9, 5)])
def test_neighbours_are_those_of_all_pairs(n_rows, n_features, k):
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    tree, neighbours, distances2 = nearest_rows(X, k)
    pairs = cdist(tree.points, tree.points, "sqeuclidean")
    np.testing.assert_allclose(distances2, np.sort(pairs, axis=1)[:, :k], atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(pairs, neighbours.astype(int), axis=1), distances2, atol=1e-12)


def test_equal_rows_are_neighbours_at_distance_zero():
    X = np.repeat(np.arange(4.0), 100).reshape(-1, 1)
    _, _, distances2 = nearest_rows(X, 100)
    assert (distances2 == 0).all()
