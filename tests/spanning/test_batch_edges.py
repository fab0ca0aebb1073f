"""Core distances and spanning trees of a batch are those of all pairs of its rows."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from cohirf.spanning.batch_edges import find_edges

RANDOM = np.random.default_rng(0)
DATA = {
    "blobs": RANDOM.normal(size=(600, 2)) + 6 * RANDOM.integers(0, 3, size=(600, 1)),
    "far blobs": np.concatenate([RANDOM.normal(size=(300, 3)), 1e4 + RANDOM.normal(size=(20, 3))]),
    "uniform": RANDOM.uniform(size=(500, 6)),
    "many features": RANDOM.normal(size=(300, 36)),
    "grid": RANDOM.integers(0, 20, size=(600, 2)).astype(float),
    "equal rows": np.repeat(RANDOM.normal(size=(40, 2)), 12, axis=0),
    "one spot": np.zeros((100, 2)),
    "heavy tails": RANDOM.standard_cauchy(size=(500, 2)),
    "float32": RANDOM.normal(size=(300, 4)).astype(np.float32),
    "two rows": np.array([[0.0], [3.0]]),
}


def weights_of(edges, core):
    return np.maximum(edges.lengths, np.maximum(core[edges.one], core[edges.two]))


def reachability(X, min_samples):
    distances = cdist(X.astype(float), X.astype(float))
    core = np.sort(distances, axis=1)[:, min(min_samples, len(X)) - 1]
    return core, np.maximum(distances, np.maximum.outer(core, core))


@pytest.mark.parametrize("min_samples", [1, 2, 15, 40])
@pytest.mark.parametrize("name", DATA)
def test_the_tree_has_the_weights_of_the_minimum_spanning_tree(name, min_samples):
    core, edges = find_edges(DATA[name], min_samples)
    expected_core, weights = reachability(DATA[name], min_samples)
    np.testing.assert_allclose(core, expected_core, atol=1e-6 * core.max())
    expected = minimum_spanning_tree(weights + 1).data - 1  # scipy takes a weight of 0 for a missing edge
    np.testing.assert_allclose(np.sort(weights_of(edges, core)), np.sort(expected), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", DATA)
def test_the_tree_connects_all_rows(name):
    _, edges = find_edges(DATA[name], 5)
    n_rows = len(DATA[name])
    graph = coo_array((np.ones(len(edges.one)), (edges.one, edges.two)), shape=(n_rows, n_rows))
    assert len(edges.one) == n_rows - 1
    assert connected_components(graph)[0] == 1


def test_an_edge_outside_the_lists_of_neighbours_is_found_though_heavier_edges_connect_its_rows():
    # Each group of 20 fills the lists of its rows. A chain of rows with gaps of 1.2 joins the groups, whose gap is 1.
    lump = np.linspace(0, 0.01, 20)
    left, right = np.c_[np.zeros(20), lump], np.c_[np.ones(20), lump]
    angles = np.arange(1, 16) * (2 * np.pi / 16)
    chain = np.c_[0.5 - 3 * np.sin(angles), 3 * np.cos(angles) - 3]
    _, edges = find_edges(np.concatenate([left, right, chain]), 1)
    joins = (edges.one < 20) & (edges.two >= 20) & (edges.two < 40)
    joins |= (edges.two < 20) & (edges.one >= 20) & (edges.one < 40)
    assert edges.lengths[joins].tolist() == [1.0]


def test_a_single_row_has_no_edges():
    core, edges = find_edges(np.ones((1, 2)), 5)
    assert core.tolist() == [0.0]
    assert len(edges.one) == 0


def test_of_edges_of_equal_weight_the_shorter_one_is_in_the_tree():
    # The core distance of row 2, 9, is the weight of its edges to both other rows.
    _, edges = find_edges(np.array([[0.0], [5.0], [9.0]]), 3)
    pairs = {
        (*sorted([one, two]), length) for one, two, length in zip(edges.one, edges.two, edges.lengths, strict=True)
    }
    assert (1, 2, 4.0) in pairs
