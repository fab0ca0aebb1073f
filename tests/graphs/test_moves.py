"""Moves of single groups after their merges, and the tree of what they find."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from cohirf import CoHiRF
from cohirf.graphs import fit as module
from cohirf.graphs.merging import rate_cuts
from cohirf.graphs.moves import merge_within, move_groups


def draw_weights(seed: int, n_groups: int = 40, n_edges: int = 120) -> Any:
    rng = np.random.default_rng(seed)
    ends = rng.integers(n_groups, size=(2, n_edges))
    ring = np.array([np.arange(n_groups), np.roll(np.arange(n_groups), 1)])  # none is alone
    one, two = np.c_[ends, ring]
    weights = rng.uniform(0.1, 1, size=n_edges + n_groups)
    half = sparse.coo_array((weights, (one, two)), shape=(n_groups, n_groups)).tocsr()
    return sparse.csr_array(half + half.T)


def draw_labels(seed: int, n_groups: int = 40, n_clusters: int = 5) -> Any:
    rng = np.random.default_rng(seed)
    return rng.permutation(np.arange(n_groups) % n_clusters)


ONES = np.ones(40, dtype=np.int64)  # sizes of the groups that are drawn


def mean_cut(weights: Any, labels: Any) -> float:
    return float(rate_cuts(weights, [labels])[1][0])


@pytest.mark.parametrize("seed", range(20))
def test_no_single_move_lowers_the_cut_any_more(seed: int) -> None:
    weights = draw_weights(seed)
    before = draw_labels(seed)
    given = before.copy()
    after = move_groups(weights, before, ONES)
    assert np.array_equal(before, given)
    assert np.array_equal(np.unique(after), np.arange(5))  # no cluster is lost
    least = mean_cut(weights, after)
    assert least < mean_cut(weights, before)
    for group in range(len(after)):
        for new in range(5):
            moved = after.copy()
            moved[group] = new
            if len(np.unique(moved)) == 5:
                assert mean_cut(weights, moved) > least - 1e-8


@pytest.mark.parametrize("seed", range(10))
def test_as_many_clusters_are_large_enough_after_moves(seed: int) -> None:
    weights = draw_weights(seed)
    before = draw_labels(seed)
    sizes = np.random.default_rng(seed).integers(1, 9, len(before))
    least = float(np.median(np.bincount(before, weights=sizes)))
    after = move_groups(weights, before, sizes, least)
    is_large = np.bincount(before, weights=sizes) >= least
    assert np.array_equal(np.bincount(after, weights=sizes) >= least, is_large)
    assert np.array_equal(after[~is_large[before]], before[~is_large[before]])


def test_clusters_are_a_cut_if_weights_are_farther_apart_than_float32_reaches() -> None:
    rng = np.random.default_rng(64)
    one, two = rng.integers(0, 150, (2, 500))
    weights = 10.0 ** rng.uniform(-25, 25, 500)
    graph = sparse.coo_array((weights, (one, two)), shape=(150, 150)).tocsr()
    graph.setdiag(0)
    model = CoHiRF(metric="affinity", n_clusters=5, random_state=0).fit(graph + graph.T)
    cut = model.hierarchy_.cut(n_clusters=model.n_clusters_)
    assert adjusted_rand_score(cut, model.labels_) == 1.0
    assert len(model.hierarchy_.to_linkage()) == 149


def test_one_cluster_and_single_groups_stay() -> None:
    weights = draw_weights(0)
    for labels in (np.zeros(40, dtype=np.int64), np.arange(40)):
        assert np.array_equal(move_groups(weights, labels, ONES), labels)


@pytest.mark.parametrize("n_clusters", [1, 2, 5, 20, 40])
def test_clusters_are_a_cut_of_the_tree_whatever_they_are(n_clusters: int) -> None:
    weights = draw_weights(n_clusters, n_edges=30)
    labels = draw_labels(n_clusters, n_clusters=n_clusters)  # many are in several pieces
    merges = merge_within(weights, labels)
    assert adjusted_rand_score(merges.cut(n_clusters), labels) == 1
    assert (np.diff(merges.linkage[:, 2]) >= 0).all()
    assert np.isfinite(merges.linkage).all()
    assert np.array_equal(np.sort(merges.linkage[:, :2], axis=None), np.arange(78))
    assert len(np.unique(merges.cut(max(1, n_clusters - 1)))) == max(1, n_clusters - 1)


def test_parts_without_an_edge_between_them_stay_apart() -> None:
    weights = sparse.block_diag([draw_weights(1), draw_weights(2)], format="csr")
    labels = np.r_[draw_labels(1, n_clusters=3), 3 + draw_labels(2, n_clusters=2)]
    merges = merge_within(weights, labels)
    assert merges.n_parts == 2
    assert adjusted_rand_score(merges.cut(1), np.repeat([0, 1], 40)) == 1
    assert adjusted_rand_score(merges.cut(5), labels) == 1


def test_a_cluster_without_an_edge_stays_a_cluster() -> None:
    weights = sparse.csr_array(sparse.block_diag([draw_weights(1), sparse.csr_array((2, 2))]))
    merges = merge_within(weights, np.r_[draw_labels(1), 5, 6])
    assert merges.n_parts == 3
    assert merges.cut(7).tolist()[-2:] != merges.cut(7).tolist()[:2]
    assert len(np.unique(merges.cut(7))) == 7


def test_clusters_inside_which_distances_grow_along_chains_are_a_cut() -> None:
    chain = np.diag(np.logspace(0, 6, 200), 1)  # few pairs a round: pairs that are far merge, too
    weights = sparse.block_diag([chain + chain.T, np.ones((2, 2))] * 4, format="csr")
    labels = np.repeat(np.arange(8), [201, 2] * 4)
    weights += 1e-3 * (sparse.eye_array(812, k=201) + sparse.eye_array(812, k=-201))
    merges = merge_within(weights.tocsr(), labels)
    assert adjusted_rand_score(merges.cut(8), labels) == 1


def test_moves_help_where_clusters_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 200)
    X = rng.normal(size=(800, 20)) + 3.0 * np.eye(20)[y]
    graph = kneighbors_graph(X, 15, mode="distance")
    model = CoHiRF(n_clusters=4, metric="precomputed", random_state=0).fit(graph)
    assert np.array_equal(model.hierarchy_.cut(n_clusters=4), model.labels_)
    monkeypatch.setattr(module, "move_groups", lambda _, labels, *given: labels)
    without = CoHiRF(n_clusters=4, metric="precomputed", random_state=0).fit_predict(graph)
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, without) + 0.1
