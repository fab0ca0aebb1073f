"""DBSCAN and HDBSCAN on graphs find what scikit-learn finds with precomputed distances."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import kneighbors_graph

from cohirf import CoHiRF
from cohirf.graphs.density import find_core, label_hdbscan, span_graph
from cohirf.graphs.graph import open_graph, symmetrise
from cohirf.graphs.policy import EDGE
from cohirf.spanning.settings import SpanningSettings

pytest.importorskip("numba")
FAR = 1e9


def are_same(one: Any, two: Any) -> bool:
    """Return whether two labelings have the same clusters and the same noise."""
    if not np.array_equal(one < 0, two < 0):
        return False
    pairs = set(zip(one.tolist(), two.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(two.tolist()))


def draw_points(rng: np.random.Generator) -> Any:
    n_points = int(rng.integers(20, 160))
    centres = 4 * rng.integers(0, 3, size=(n_points, 1)) * (rng.random() < 0.7)
    return rng.normal(size=(n_points, int(rng.integers(1, 4)))) + centres


def draw_graph(seed: int) -> Any:
    """Return a symmetric graph: of neighbours, of random pairs, or with many equal distances."""
    rng = np.random.default_rng(seed)
    X = draw_points(rng)
    length = int(rng.integers(3, 10))
    if seed % 3 == 1:
        n_nodes = len(X)
        graph = sparse.random(n_nodes, n_nodes, density=length / n_nodes, rng=rng, format="csr")
    else:
        graph = kneighbors_graph(X, length, mode="distance")
    graph = sparse.csr_matrix(graph.maximum(graph.T))
    if seed % 3 == 2:
        graph.data = np.ceil(4 * graph.data) / 4
    graph.setdiag(0)
    graph.eliminate_zeros()
    return graph


def with_bridges(graph: Any) -> Any:
    """Return a graph in one piece: the largest part has far edges to the others."""
    n_parts, part = connected_components(graph, directed=False)
    if n_parts == 1:
        return graph
    first = np.unique(part, return_index=True)[1]
    nodes = first[np.argsort(-np.bincount(part), kind="stable")]
    joined = graph.tolil()
    for step, node in enumerate(nodes[1:]):
        joined[nodes[0], node] = joined[node, nodes[0]] = FAR * (step + 1)
    return joined.tocsr()


BLOCKS = range(4)  # of 50 sparse graphs, of which many have several parts, or 25 dense ones


@pytest.mark.exact
@pytest.mark.parametrize("block", BLOCKS)
def test_dbscan_on_sparse_graphs_is_that_of_scikit_learn(block: int) -> None:
    several_parts = 0
    for seed in range(50 * block, 50 * block + 50):
        graph = draw_graph(seed)
        several_parts += connected_components(graph, directed=False)[0] > 1
        rng = np.random.default_rng(seed)
        eps = float(np.quantile(graph.data, rng.uniform(0.2, 1)))
        method = DBSCAN(eps=eps, min_samples=int(rng.integers(1, 6)), metric="precomputed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn sets the diagonal
            expected = method.fit_predict(graph.copy())
            labels = CoHiRF(method, metric="precomputed").fit(graph).labels_
        assert are_same(expected, labels), seed
    assert several_parts >= 10


@pytest.mark.exact
@pytest.mark.parametrize("block", BLOCKS)
def test_hdbscan_on_sparse_graphs_is_that_of_scikit_learn(block: int) -> None:
    """Graphs that scikit-learn refuses, because they have several parts, get far edges there."""
    compared = several_parts = 0
    for seed in range(65 * block, 65 * block + 65):
        graph = draw_graph(seed)
        rng = np.random.default_rng(seed)
        min_samples = int(rng.integers(1, 6))
        if np.diff(graph.indptr).min() < min_samples:
            continue  # scikit-learn refuses such nodes
        method = HDBSCAN(
            min_cluster_size=int(rng.integers(2, 10)),
            min_samples=min_samples,
            metric="precomputed",
            copy=True,
        )
        joined = with_bridges(graph)
        several_parts += joined is not graph
        compared += 1
        expected = method.fit_predict(joined)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of useless clusters
            labels = CoHiRF(method, metric="precomputed").fit(graph).labels_
        assert are_same(expected, labels), seed
    assert compared >= 50
    assert several_parts >= 5


@pytest.mark.exact
@pytest.mark.parametrize("method", [DBSCAN(min_samples=4), HDBSCAN(min_cluster_size=6, copy=True)])
@pytest.mark.parametrize("block", BLOCKS)
def test_on_dense_distances_labels_are_those_of_scikit_learn(method: Any, block: int) -> None:
    for seed in range(25 * block, 25 * block + 25):
        D = pairwise_distances(draw_points(np.random.default_rng(seed)))
        D = np.minimum(D, D.T)  # differ by rounding, and the order of ties with them
        told = type(method)(**{**method.get_params(), "metric": "precomputed"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of useless clusters
            labels = CoHiRF(method, metric="precomputed").fit(D).labels_
        assert are_same(told.fit_predict(D.copy()), labels), seed


@pytest.mark.exact
def test_dbscan_follows_edges_in_their_direction_as_scikit_learn_does() -> None:
    for seed in range(30):
        X = draw_points(np.random.default_rng(seed))
        graph = kneighbors_graph(X, 5, mode="distance")
        method = DBSCAN(eps=float(np.median(graph.data)), min_samples=4, metric="precomputed")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = method.fit_predict(graph.copy())
            labels = CoHiRF(method, metric="precomputed").fit(graph).labels_
        assert are_same(expected, labels), seed


def test_small_parts_of_a_graph_are_noise_together() -> None:
    pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    clique = 1.0 - np.eye(12)
    blocks = sparse.block_diag([clique, 1.1 * clique, pair, pair, pair], format="csr")
    labels = label_hdbscan(open_graph(blocks, "precomputed"), SpanningSettings(2, 5)).labels
    assert labels.tolist() == [0] * 12 + [1] * 12 + [-1] * 6


def test_nodes_with_fewer_edges_than_min_samples_are_noise() -> None:
    graph = sparse.block_diag([1.0 - np.eye(8), 2.0 * (1.0 - np.eye(8))], format="lil")
    graph[0, 15] = graph[15, 0] = 5.0
    joined = sparse.block_array([[graph, None], [None, sparse.csr_array((1, 1))]], format="lil")
    joined[16, 3] = joined[3, 16] = 1.0
    labels = label_hdbscan(open_graph(joined.tocsr(), "precomputed"), SpanningSettings(3, 4)).labels
    assert labels[16] == -1
    assert (labels[:16] >= 0).all()


def test_many_edges_are_merged_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:

    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 8 * rng.integers(0, 3, size=(300, 1))
    graph = open_graph(kneighbors_graph(X, 10, mode="distance"), "precomputed")
    settings = SpanningSettings(5, 10)
    expected = label_hdbscan(graph, settings).labels
    monkeypatch.setitem(vars(EDGE), "replayed", 10)
    assert are_same(expected, label_hdbscan(graph, settings).labels)


def test_core_distances_are_ranked_among_entries_of_both_directions() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_nodes = int(rng.integers(5, 60))
        graph = sparse.random(n_nodes, n_nodes, density=0.2, rng=rng, format="csr")
        matrix = open_graph(graph, "precomputed").matrix
        rank = int(rng.integers(1, 9))
        both = symmetrise(matrix)
        expected = np.full(n_nodes, np.inf)
        for node, (start, stop) in enumerate(pairwise(both.indptr.tolist())):
            if stop - start >= rank:
                expected[node] = np.sort(both.data[start:stop])[rank - 1]
        assert np.array_equal(find_core(matrix, rank), expected)


def test_the_spanning_tree_is_as_light_as_that_of_scipy_in_each_part() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n_nodes = int(rng.integers(5, 80))
        graph = sparse.random(n_nodes, n_nodes, density=1.5 / n_nodes, rng=rng, format="csr")
        matrix = open_graph(graph, "precomputed").matrix
        edges, part = span_graph(matrix, np.zeros(n_nodes))
        expected = minimum_spanning_tree(symmetrise(matrix))
        assert edges.lengths.sum() == pytest.approx(expected.sum())
        assert (np.diff(edges.lengths) >= 0).all()
        n_parts, of_node = connected_components(matrix, directed=False)
        assert len(np.unique(part)) == n_parts
        assert are_same(part, of_node)
