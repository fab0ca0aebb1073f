"""Merges along the edges of a graph."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.beyond.cuts import cut_linkage
from cohirf.beyond.merges import graph as merges_along_graph
from cohirf.beyond.merges.graph import link_along_graph
from cohirf.beyond.neighbour_graph import NeighbourGraph
from cohirf.beyond.policy import GRAPH


def distance(weights, one, two):
    """Return how far two sets of points are apart, by the formula."""
    volumes = [weights[part].sum() for part in (one, two)]
    return min(volumes) * np.sqrt(sum(volumes)) / weights[np.ix_(one, two)].sum()


@pytest.mark.parametrize("n_rows", [50, GRAPH.compared_rows + 100])
def test_the_height_of_a_merge_is_the_distance_or_that_of_an_earlier_merge(n_rows):
    graph = NeighbourGraph(np.random.default_rng(0).normal(size=(n_rows, 2)))
    linkage = link_along_graph(graph.affinity)
    weights = graph.affinity.toarray()
    members = [[point] for point in range(n_rows)]
    heights = [0.0] * n_rows
    for left, right, height, size in linkage:
        one = members[int(left)]
        two = members[int(right)]
        expected = max(distance(weights, one, two), heights[int(left)], heights[int(right)])
        assert height == pytest.approx(expected, rel=1e-5)
        members.append(one + two)
        heights.append(height)
        assert size == len(members[-1])
    assert (np.diff(linkage[:, 2]) >= 0).all()


@pytest.mark.parametrize("n_rows", [200, 800])
def test_moons_and_blobs_are_found(n_rows):
    for X, y in (
        make_moons(n_rows, noise=0.05, random_state=0),
        make_blobs(n_rows, centers=4, random_state=3),
    ):
        graph = NeighbourGraph(X)
        found = cut_linkage(link_along_graph(graph.affinity), len(np.unique(y)))
        assert adjusted_rand_score(y, found[graph.point_of_row]) > 0.98


def test_of_equal_distances_the_first_points_merge_first():
    ring = sparse.csr_array(np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0))
    assert link_along_graph(ring)[0, :2].tolist() == [0, 1]


def test_a_single_point_has_no_merges():
    assert link_along_graph(sparse.csr_array((1, 1))).shape == (0, 4)


@pytest.mark.parametrize("n_rows", [200, 3000])
def test_distances_that_grow_along_a_chain_take_few_rounds(n_rows, monkeypatch):
    rounds = []
    find = merges_along_graph._nearest_pairs
    monkeypatch.setattr(
        merges_along_graph, "_nearest_pairs", lambda *found: rounds.append(1) or find(*found)
    )
    graph = NeighbourGraph(np.logspace(0, 6, n_rows)[:, None])
    assert link_along_graph(graph.affinity).shape == (n_rows - 1, 4)
    assert len(rounds) < 300


def test_parts_without_an_edge_between_them_merge_last():
    chain = np.diag(np.logspace(6, 0, 39), 1)  # distances grow along it: few pairs a round
    parts = sparse.block_diag([chain + chain.T, [[0.0]], chain + chain.T, chain + chain.T])
    linkage = link_along_graph(sparse.csr_array(parts))
    y = [0] * 40 + [1] + [2] * 40 + [3] * 40
    assert adjusted_rand_score(cut_linkage(linkage, 4), y) == 1
    is_last = linkage[:, 2] == np.finfo(np.float32).max
    assert is_last.tolist() == [False] * 117 + [True] * 3


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_rows_that_are_repeated_often_are_merged(container):
    rows = container(np.repeat(np.eye(3), 50, axis=0))
    model = CoHiRF(n_clusters=2, random_state=0).fit(rows)
    assert model.n_clusters_ == 2
    assert all(len(np.unique(model.labels_[part])) == 1 for part in np.split(np.arange(150), 3))
