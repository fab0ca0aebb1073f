"""Edges are sorted by weight, and by length where weights are equal, in parts."""

import numpy as np
import pytest

from cohirf.algorithm.storage import MemoryStorage
from cohirf.scratch import ScratchStorage
from cohirf.spanning import sort_edges as module
from cohirf.spanning.edges import Edges
from cohirf.spanning.sort_edges import sort_by_weight, weigh


def random_edges(n_edges, n_rows=300):
    random = np.random.default_rng(n_edges)
    one, two = random.integers(0, n_rows, size=(2, n_edges), dtype=np.int32)
    lengths = random.integers(0, 50, size=n_edges) / 7  # many are equal
    return Edges(one, two, lengths), random.integers(0, 60, size=n_rows) / 7


def joined(parts):
    return [np.concatenate(columns) for columns in zip(*((p.one, p.two, p.lengths) for p in parts), strict=True)]


def test_a_weight_is_the_largest_of_a_distance_and_two_core_distances():
    edges = Edges(np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([5.0, 1.0, 1.0]))
    assert weigh(edges, np.array([2.0, 3.0, 4.0])).tolist() == [5, 4, 4]


@pytest.mark.parametrize("storage", [MemoryStorage, ScratchStorage])
@pytest.mark.parametrize("n_edges", [1, 7, 5_000])
def test_parts_are_in_order(monkeypatch, n_edges, storage):
    monkeypatch.setattr(module, "SORTED_EDGES", 600)
    edges, core = random_edges(n_edges)
    parts = list(sort_by_weight(edges, core, storage()))
    weights = weigh(edges, core)
    order = np.lexsort([edges.lengths, weights])
    assert (len(parts) > 5) == (n_edges > 3_000)
    for found, expected in zip(joined(parts), (edges.one[order], edges.two[order], weights[order]), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_equal_weights_are_one_part(monkeypatch):
    monkeypatch.setattr(module, "SORTED_EDGES", 10)
    edges = Edges(np.arange(99, dtype=np.int32), np.arange(1, 100, dtype=np.int32), np.ones(99))
    parts = list(sort_by_weight(edges, np.zeros(100), MemoryStorage()))
    assert [part.count for part in parts if part.count] == [99]
    np.testing.assert_array_equal(joined(parts)[0], np.arange(99))
