"""One spanning tree from the edges of batches."""

import numpy as np
import pytest

from cohirf.spanning import join_edges as module
from cohirf.spanning.batch_edges import Edges, find_edges
from cohirf.spanning.join_edges import choose_candidates, connect_parts, join_edges


@pytest.fixture
def two_blobs():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(size=(150, 2)), 30 + random.normal(size=(250, 2))])


def edges_of_rows(X, rows):
    _, edges = find_edges(X[rows], 4)
    return Edges(rows[edges.one], rows[edges.two], edges.lengths)


def join(X, batches):
    core, _ = find_edges(X, 4)
    found = [edges_of_rows(X, rows) for rows in batches]
    parts = zip(*((edges.one, edges.two, edges.lengths) for edges in found), strict=True)
    return *join_edges(Edges(*map(np.concatenate, parts)), core), core


def test_batches_that_hold_all_edges_give_the_tree_of_all_rows(two_blobs):
    rows = np.arange(400, dtype=np.int32)
    whole, parts, _ = join(two_blobs, [rows])
    joined, _, _ = join(two_blobs, [rows[:300], rows[100:], rows[::2]])
    assert (parts == 0).all()
    np.testing.assert_array_equal(joined.lengths, whole.lengths)
    assert {frozenset(pair) for pair in zip(joined.one, joined.two, strict=True)} == {
        frozenset(pair) for pair in zip(whole.one, whole.two, strict=True)
    }


def test_weights_are_sorted_and_not_below_core_distances(two_blobs):
    forest, _, core = join(two_blobs, [np.arange(300, dtype=np.int32), np.arange(100, 400, dtype=np.int32)])
    assert (np.diff(forest.lengths) >= 0).all()
    assert (forest.lengths >= np.maximum(core[forest.one], core[forest.two])).all()


def test_batches_that_share_no_row_stay_parts(two_blobs):
    forest, parts, _ = join(two_blobs, [np.arange(150, dtype=np.int32), np.arange(150, 400, dtype=np.int32)])
    assert len(forest.one) == 398
    assert parts.tolist() == [0] * 150 + [150] * 250


def test_small_parts_are_connected_by_the_lightest_edge_between_them(two_blobs):
    rows = np.arange(400, dtype=np.int32)
    forest, parts, core = join(two_blobs, [rows[:150], rows[150:]])
    tree = connect_parts(forest, parts, core, two_blobs.__getitem__)
    whole, _, _ = join(two_blobs, [rows])
    np.testing.assert_array_equal(tree.lengths, whole.lengths)


def test_large_parts_are_connected_by_rows_of_a_sample(two_blobs, monkeypatch):
    monkeypatch.setattr(module, "CANDIDATES", 100)
    rows = np.arange(400, dtype=np.int32)
    forest, parts, core = join(two_blobs, [rows[:150], rows[150:]])
    asked = []
    tree = connect_parts(forest, parts, core, lambda some: (asked.append(some), two_blobs[some])[1])
    whole, _, _ = join(two_blobs, [rows])
    assert len(tree.one) == 399
    assert len(asked[0]) < 150
    assert whole.lengths[-1] <= tree.lengths[-1] < 1.2 * whole.lengths[-1]
    np.testing.assert_array_equal(tree.lengths[:-1], whole.lengths[:-1])


def test_candidates_are_all_rows_of_small_parts_and_a_sample_of_large_ones(monkeypatch):
    monkeypatch.setattr(module, "CANDIDATES", 2_000)
    parts = np.repeat(np.array([0, 100_000], dtype=np.int32), [100_000, 50])
    some = choose_candidates(parts)
    assert (some >= 100_000).sum() == 50
    assert 800 < (some < 100_000).sum() < 1_200
