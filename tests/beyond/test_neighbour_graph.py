"""The neighbour graph of some rows."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import euclidean_distances

from cohirf import CoHiRF
from cohirf.beyond.neighbour_graph import NeighbourGraph, leaving_shares, normalised_cuts
from cohirf.beyond.policy import GRAPH
from cohirf.engines.local import threads_of_fit

LINE = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])[:, None]


def test_identical_rows_are_one_point_with_their_mass():
    graph = NeighbourGraph(np.array([[2.0], [5.0], [2.0], [9.0]]), np.array([1.0, 2.0, 4.0, 8.0]))
    assert graph.point_of_row.tolist() == [0, 1, 0, 2]
    assert graph.mass.tolist() == [5, 2, 8]
    assert graph.neighbours.shape == (3, 2)


def test_parts_without_an_edge_are_joined_by_their_shortest_connection():
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) + 50, rng.normal(size=(30, 2)) + 200]
    )
    graph = NeighbourGraph(X)
    one, two, lengths = graph.bridges
    between = euclidean_distances(X)
    expected = {between[:30, 30:60].min(), between[30:60, 60:].min()}
    assert {round(length, 6) for length in lengths} == {round(length, 6) for length in expected}
    assert connected_components(graph.affinity)[0] == 1
    inside = graph.affinity[:30, :30].sum() / 2
    assert graph.affinity[one, two].max() < 0.01 * inside


def test_many_parts_are_joined_to_near_ones():
    rng = np.random.default_rng(0)
    places = np.array([[i, j] for i in range(10) for j in range(10)]) * 100.0
    X = np.repeat(places, 12, axis=0) + rng.normal(size=(1200, 2))
    graph = NeighbourGraph(X)
    _, _, lengths = graph.bridges
    assert connected_components(graph.affinity)[0] == 1
    # to a neighbour on the lattice, and not to a diagonal one
    assert 90 < lengths.min() < lengths.max() < 100


@pytest.mark.exact
@pytest.mark.parametrize("n_features", [2, 20], ids=["in a tree", "all compared"])
def test_neighbours_are_those_of_one_thread(n_features):
    """With equally near ones, of which the order must not depend on the number of threads."""
    X = np.random.default_rng(0).integers(0, 40, (5000 if n_features == 2 else 2000, n_features))
    alone = NeighbourGraph(X.astype(np.float64))
    with threads_of_fit(3):
        found = NeighbourGraph(X.astype(np.float64))
    assert (found.neighbours == alone.neighbours).all()
    assert (found.distances == alone.distances).all()
    nearest = np.sort(euclidean_distances(alone.points), axis=1)[:, 1 : 1 + GRAPH.neighbours]
    np.testing.assert_allclose(alone.distances, nearest, atol=1e-6)
    assert (alone.neighbours != np.arange(alone.n_points)[:, None]).all()


def test_the_tree_is_the_minimum_spanning_tree_of_mutual_reachability():
    X = np.random.default_rng(1).normal(size=(200, 3))
    tree = NeighbourGraph(X).tree
    distances = euclidean_distances(X)
    radius = np.sort(distances, axis=1)[:, GRAPH.core_neighbour]
    reach = np.maximum(distances, np.maximum(radius[:, None], radius))
    exact = sparse.csgraph.minimum_spanning_tree(np.triu(reach, 1)).data.sum()
    assert len(tree.one) == 199
    assert tree.lengths.sum(dtype=np.float64) == pytest.approx(exact, rel=1e-3)
    assert (np.diff(tree.lengths) >= 0).all()


def test_modularity_is_the_share_of_edges_inside_less_the_share_by_chance():
    X, y = make_blobs(200, centers=[[0, 0], [30, 0]], random_state=0)
    graph = NeighbourGraph(X)
    weights = graph.affinity.toarray()
    degrees = weights.sum(axis=1)
    same = y[:, None] == y
    expected = (weights * same).sum() / weights.sum() - (
        (degrees[:, None] * degrees) * same
    ).sum() / weights.sum() ** 2
    divisions = np.stack([y, np.zeros(200, dtype=int), np.full(200, -1)])
    assert graph.modularities(divisions) == pytest.approx([expected, 0, 0])


def cuts(divisions, neighbours, mass=None):
    mass = np.ones(divisions.shape[1]) if mass is None else mass
    return normalised_cuts(divisions, leaving_shares(divisions, neighbours, mass), mass)


def test_clusters_count_alike_whatever_their_size():
    neighbours = np.array([[1, 2], [0, 2], [1, 0], [4, 2], [3, 5], [4, 3]])
    divisions = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0], [0, 0, 0, -1, -1, -1]])
    np.testing.assert_allclose(cuts(divisions, neighbours), [(0 + 1 / 6) / 2, 0, 0])


def test_a_small_cluster_far_from_the_others_cuts_nothing():
    X, y = make_blobs([300, 300, 3], centers=[[0, 0], [20, 0], [0, 50]], random_state=0)
    assert NeighbourGraph(X).cut_shares(y[None]) == [0]


def test_a_single_row_is_cut_off():
    assert NeighbourGraph(LINE).cut_shares(np.array([[0, 0, 0, 1, 1, 2]]))[0] > 1 / 3


def test_masses_count_in_the_cut():
    neighbours = np.array([[1, 2], [0, 2], [1, 3], [2, 1]])
    labels = np.array([[0, 0, 1, 1]])
    assert cuts(labels, neighbours, np.full(4, 0.3)) == cuts(labels, neighbours)
    # rows 2 and 3 are next to nothing beside rows 0 and 1, whose neighbours they are, but not to
    # each other
    light = cuts(labels, neighbours, np.array([1, 1, 1e-9, 1e-9]))
    assert light == pytest.approx([(0 + 1) / 2])


def test_sparse_rows_have_the_neighbours_of_dense_ones():
    X = np.random.default_rng(0).poisson(0.7, size=(60, 12)).astype(float)
    X = np.unique(X, axis=0)
    dense = NeighbourGraph(X)
    as_csr = NeighbourGraph(sparse.csr_matrix(X))
    np.testing.assert_allclose(as_csr.distances, dense.distances, atol=1e-7)
    assert as_csr.affinity.shape == dense.affinity.shape


@pytest.mark.parametrize("n_rows", [2, 3, GRAPH.neighbours])
def test_few_rows_have_all_others_as_neighbours(n_rows):
    graph = NeighbourGraph(np.arange(n_rows, dtype=float)[:, None] ** 2)
    assert graph.neighbours.shape == (n_rows, n_rows - 1)
    assert len(graph.tree.one) == n_rows - 1


def test_rows_that_are_all_the_same_are_one_point_without_neighbours():
    graph = NeighbourGraph(np.ones((7, 2)))
    assert (graph.n_points, len(graph.tree.one)) == (1, 0)
    assert graph.modularities(np.zeros((1, 1), dtype=int)) == [0]


def test_a_border_where_rows_are_thin_is_a_valley():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal([5, 0], size=(300, 2))])
    between = (X[:, 0] > 2.5).astype(int)
    through = (X[:, 0] > 0).astype(int)  # the middle of one of the clouds
    whole = np.zeros(600, dtype=int)
    valleys = NeighbourGraph(X).valleys(np.stack([between, through, whole]))
    assert valleys[0] > 0.75 > valleys[1]
    assert valleys[2] == 1


def test_parts_at_a_distance_near_the_last_digit_are_joined():
    rng = np.random.default_rng(22)
    side = rng.normal(size=2)
    side /= np.linalg.norm(side)
    gap = 10.0 ** rng.uniform(-13.5, -12.3)
    one, two = (
        place + rng.normal(size=(size, 2)) * gap * 0.05
        for place, size in ((side, 12), (side * (1 + gap), 100))
    )
    middle = np.linspace(-0.999, 0.999, 30)[:, None] * side
    X = np.vstack([one, -one, middle, two])
    assert len(np.unique(CoHiRF(n_clusters=2, random_state=0).fit_predict(X))) == 2
