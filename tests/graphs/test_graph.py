"""Entries of graphs: looked up, summed in both directions, and left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from cohirf.graphs.graph import blocks_of_edges, find_reverse, open_graph
from cohirf.graphs.merging import contract, group_nodes, sum_weights
from cohirf.graphs.policy import EDGE


def draw_matrix(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    n_nodes = int(rng.integers(5, 80))
    return sparse.random(n_nodes, n_nodes, density=0.15, rng=rng, format="csr")


@pytest.mark.parametrize("compiled", [False, True])
def test_an_entry_in_the_other_direction_is_found(
    compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if compiled:
        pytest.importorskip("numba")
    monkeypatch.setitem(vars(EDGE), "compiled", 0 if compiled else 2**60)
    monkeypatch.setitem(vars(EDGE), "block", 50)
    for seed in range(20):
        matrix = sparse.csr_array(draw_matrix(seed))
        dense = matrix.toarray()
        n_seen = 0
        for edges in blocks_of_edges(matrix):
            back = find_reverse(matrix, edges)
            found = np.where(back >= 0, matrix.data[back], 0)
            assert np.array_equal(found, dense[edges.two, edges.one])
            assert np.array_equal(matrix.data[edges.part], dense[edges.one, edges.two])
            n_seen += len(edges.one)
        assert n_seen == matrix.nnz


@pytest.mark.parametrize("metric", ["precomputed", "affinity"])
def test_weights_are_the_same_in_both_directions(metric: str) -> None:
    for seed in range(20):
        graph = open_graph(draw_matrix(seed), metric)
        weights = graph.weights.toarray()
        assert np.array_equal(weights, weights.T)
        assert not weights.diagonal().any()
        if metric == "affinity":
            given = graph.matrix.toarray()
            np.fill_diagonal(given, 0)
            assert weights == pytest.approx(np.maximum(given, given.T))
        assert sum_weights(graph.halves) == pytest.approx(weights.sum(axis=1))


def test_weights_between_groups_are_sums_and_nodes_without_a_group_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(vars(EDGE), "block", 50)
    for seed in range(20):
        halves = open_graph(draw_matrix(seed), "precomputed").halves
        n_nodes = halves.shape[0]
        group = np.random.default_rng(seed).integers(-1, 4, size=n_nodes).astype(np.int32)
        members = (group == np.arange(4)[:, None]).astype(float)
        expected = members @ (halves + halves.T).toarray() @ members.T
        found = contract(halves, group, 4)
        assert (found + found.T).toarray() == pytest.approx(expected, rel=1e-5)
        assert found.has_canonical_format


def test_few_groups_have_the_weights_of_their_nodes() -> None:
    for seed in range(20):
        graph = open_graph(draw_matrix(seed), "precomputed")
        groups = group_nodes(graph.halves, most=6)
        weights = graph.weights.toarray()
        alone = np.flatnonzero(weights.sum(axis=1) == 0)
        assert np.array_equal(np.flatnonzero(groups.of_node < 0), alone)
        members = (groups.of_node == np.arange(groups.n_groups)[:, None]).astype(float)
        expected = members @ weights @ members.T
        assert groups.weights.toarray() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("form", "last"), [("csr", 5), ("csc", 5), ("bsr", 2)])
def test_an_index_that_a_matrix_does_not_have_is_refused_in_each_form(form: str, last: int) -> None:
    damaged = sparse.csr_array(np.ones((6, 6)))
    damaged = damaged.tobsr((2, 2)) if form == "bsr" else damaged.asformat(form)
    damaged.indices[1] = 10**9
    with pytest.raises(ValueError, match=f"must be from 0 to {last}"):
        open_graph(damaged, "precomputed")
