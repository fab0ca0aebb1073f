"""Core distances and spanning trees of a batch are those of all pairs of its rows."""

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.rows.threads import on_threads
from cohirf.spanning import batch_kernels
from cohirf.spanning.batch_edges import Edges, span_rows
from cohirf.spanning.policy import LISTS, TREE, ListPolicy

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


def reachability(X, min_samples):
    distances = cdist(X.astype(float), X.astype(float))
    core = np.sort(distances, axis=1)[:, min(min_samples, len(X)) - 1]
    return core, np.maximum(distances, np.maximum.outer(core, core))


@pytest.mark.parametrize("min_samples", [1, 2, 15, 40, 100])
@pytest.mark.parametrize("name", DATA)
def test_the_tree_connects_all_rows_and_has_the_weights_of_the_minimum_spanning_tree(
    name, min_samples
):
    core, edges = span_rows(DATA[name], min_samples)
    expected_core, weights = reachability(DATA[name], min_samples)
    np.testing.assert_allclose(core, expected_core, atol=1e-6 * core.max())
    # scipy takes a weight of 0 for a missing edge
    expected = minimum_spanning_tree(weights + 1).data - 1
    np.testing.assert_allclose(np.sort(edges.weigh(core)), np.sort(expected), rtol=1e-6, atol=1e-9)
    n_rows = len(core)
    graph = coo_array((np.ones(edges.count), (edges.one, edges.two)), shape=(n_rows, n_rows))
    assert (edges.count, connected_components(graph)[0]) == (n_rows - 1, 1)


def test_a_weight_is_the_largest_of_a_distance_and_two_core_distances():
    edges = Edges(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([5.0, 1.0, 1.0]))
    assert edges.weigh(np.array([2.0, 3.0, 4.0])).tolist() == [5, 4, 4]


def test_an_edge_outside_the_lists_of_neighbours_is_found_though_heavier_edges_connect_its_rows():
    # Each group of 20 fills the lists of its rows. A chain of rows with gaps of 1.2 joins the
    # groups, whose gap is 1.
    lump = np.linspace(0, 0.01, 20)
    left = np.c_[np.zeros(20), lump]
    right = np.c_[np.ones(20), lump]
    angles = np.arange(1, 16) * (2 * np.pi / 16)
    chain = np.c_[0.5 - 3 * np.sin(angles), 3 * np.cos(angles) - 3]
    _, edges = span_rows(np.concatenate([left, right, chain]), 1)
    joins = (edges.one < 20) & (edges.two >= 20) & (edges.two < 40)
    joins |= (edges.two < 20) & (edges.one >= 20) & (edges.one < 40)
    assert edges.lengths[joins].tolist() == [1.0]


def test_a_single_row_has_no_edges():
    core, edges = span_rows(np.ones((1, 2)), 5)
    assert core.tolist() == [0.0]
    assert len(edges.one) == 0


def test_of_edges_of_equal_weight_the_shorter_one_is_in_the_tree():
    # The core distance of row 2, 9, is the weight of its edges to both other rows.
    _, edges = span_rows(np.array([[0.0], [5.0], [9.0]]), 3)
    pairs = {
        (*sorted([one, two]), length)
        for one, two, length in zip(edges.one, edges.two, edges.lengths, strict=True)
    }
    assert (1, 2, 4.0) in pairs


# -- ties as in scikit-learn


def fit(method, X):
    """Fit in one batch, whose spanning tree is computed, because batches of HDBSCAN are never as
    small as asked for.
    """
    return CoHiRF(method, batch_size=100, random_state=0).fit(X)


def in_order(labels):
    """Number clusters in the order of their first rows."""
    clusters, first = np.unique(labels[labels >= 0], return_index=True)
    numbers = dict(zip(clusters[np.argsort(first)].tolist(), range(len(clusters)), strict=True))
    return [numbers.get(label, -1) for label in labels.tolist()]


@pytest.mark.filterwarnings("ignore:All of the rows are noise")
@pytest.mark.parametrize("min_samples", [1, 2, 5, 15])
@pytest.mark.parametrize("min_cluster_size", [2, 5, 19])
def test_labels_are_those_of_scikit_learn_whatever_the_order_of_rows(min_cluster_size, min_samples):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = make_blobs(150, 2 + seed % 4, centers=4, cluster_std=2.0, random_state=seed)[0]
        X[:40] = rng.uniform(X.min(axis=0), X.max(axis=0), (40, X.shape[1]))
        X = X[rng.permutation(150)]
        method = HDBSCAN(
            min_cluster_size,
            min_samples=min_samples,
            cluster_selection_method=["eom", "leaf"][seed % 2],
            copy=True,
        )
        assert in_order(fit(method, X).labels_) == in_order(method.fit_predict(X))


def test_with_many_neighbours_the_labels_do_not_depend_on_the_order_of_rows(monkeypatch):
    X = make_blobs(150, 2, centers=3, cluster_std=0.5, random_state=0)[0]
    order = np.random.default_rng(0).permutation(150)
    monkeypatch.setitem(vars(LISTS), "neighbours", 0)
    model = fit(HDBSCAN(copy=True), X)
    assert model.diagnostics_[0].kind == "spanning"
    assert in_order(model.labels_[order]) == in_order(fit(HDBSCAN(copy=True), X[order]).labels_)


@pytest.mark.parametrize("min_samples", [5, 100])
def test_signals_are_seen_between_steps_which_change_nothing(monkeypatch, min_samples):
    core, edges = span_rows(DATA["blobs"], min_samples)
    steps = []
    search = batch_kernels._search_leaves
    monkeypatch.setattr(batch_kernels, "LISTS", ListPolicy(rows_in_step=50))
    monkeypatch.setattr(
        batch_kernels, "_search_leaves", lambda *given: steps.append(given[2]) or search(*given)
    )
    again, same_edges = span_rows(DATA["blobs"], min_samples)
    assert len(steps) > 5
    np.testing.assert_array_equal(core, again)
    np.testing.assert_array_equal(edges.lengths, same_edges.lengths)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(batch_kernels, "_search_leaves", stop)
    with pytest.raises(KeyboardInterrupt):
        span_rows(DATA["blobs"], min_samples)


@pytest.mark.parametrize("n_equal", [0, 1000, 3000])
def test_blocks_of_rows_and_threads_find_the_same_tree(n_equal, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3)) + rng.integers(3, size=(3000, 1)) * 4.0
    X[:n_equal] = 0.0  # one leaf, of more rows than a block
    core, edges = span_rows(X, 5)
    monkeypatch.setitem(vars(TREE), "fewest_searched", 100)
    with on_threads(3):
        core_of_blocks, of_blocks = span_rows(X, 5)
    assert (core_of_blocks == core).all()
    assert np.sort(of_blocks.lengths).tolist() == np.sort(edges.lengths).tolist()
    if n_equal == 0:
        assert named(of_blocks) == named(edges)


def named(edges):
    pairs = np.sort(np.column_stack([edges.one, edges.two]), axis=1)
    return set(map(tuple, pairs.tolist()))
