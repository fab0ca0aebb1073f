"""Edges between parts that no batch connects."""

import numpy as np
import pytest

from cohirf.spanning import bridges as module
from cohirf.spanning.batch_edges import find_edges
from cohirf.spanning.bridges import choose_candidates, find_bridges

PARTS = np.repeat(np.array([0, 150], dtype=np.int32), [150, 250])


@pytest.fixture
def two_blobs():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(size=(150, 2)), 30 + random.normal(size=(250, 2))])


def lightest_between(X, core):
    """Return the lightest edge between the two parts, found by comparing all pairs of rows."""
    distances = np.linalg.norm(X[:150, None] - X[None, 150:], axis=2)
    weights = np.maximum(distances, np.maximum(core[:150, None], core[None, 150:]))
    return weights.min()


def test_rows_that_batches_connect_need_no_bridge():
    def read(rows):
        raise AssertionError(f"{rows} are not needed")

    assert find_bridges(np.zeros(9, dtype=np.int32), np.ones(9), read).count == 0


def test_small_parts_are_connected_by_the_lightest_edge_between_them(two_blobs):
    core, _ = find_edges(two_blobs, 4)
    found = find_bridges(PARTS, core, two_blobs.__getitem__)
    assert found.count == 1
    assert {PARTS[found.one[0]], PARTS[found.two[0]]} == {0, 150}
    weight = max(found.lengths[0], core[found.one[0]], core[found.two[0]])
    assert weight == pytest.approx(lightest_between(two_blobs, core))


def test_large_parts_are_connected_by_rows_of_a_sample(two_blobs, monkeypatch):
    monkeypatch.setattr(module, "CANDIDATES", 100)
    core, _ = find_edges(two_blobs, 4)
    asked = []
    found = find_bridges(PARTS, core, lambda some: (asked.append(some), two_blobs[some])[1])
    assert len(asked[0]) < 150
    lightest = lightest_between(two_blobs, core)
    assert lightest <= found.lengths[0] < 1.2 * lightest


def test_candidates_are_all_rows_of_small_parts_and_a_sample_of_large_ones(monkeypatch):
    monkeypatch.setattr(module, "CANDIDATES", 2_000)
    parts = np.repeat(np.array([0, 100_000], dtype=np.int32), [100_000, 50])
    some = choose_candidates(parts)
    assert (some >= 100_000).sum() == 50
    assert 800 < (some < 100_000).sum() < 1_200
