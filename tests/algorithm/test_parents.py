"""The two vectors of the hierarchy, and labels from them."""

import numpy as np
import pytest

from cohirf.algorithm.parents import (
    find_roots,
    find_roots_of,
    get_final_labels,
    hide_small_clusters,
    number_by_first_row,
)
from cohirf.rows import blocks


def test_roots_follow_parents_only_up_to_the_level():
    parents = np.array([1, 2, 3, 3])
    absorbed_at = np.array([1, 2, 3, 0])
    assert find_roots(parents, absorbed_at, 0).tolist() == [0, 1, 2, 3]
    assert find_roots(parents, absorbed_at, 1).tolist() == [1, 1, 2, 3]
    assert find_roots(parents, absorbed_at, 2).tolist() == [2, 2, 2, 3]
    assert find_roots(parents, absorbed_at, 3).tolist() == [3, 3, 3, 3]


def test_roots_of_some_rows_are_those_of_all():
    parents = np.array([1, 2, 3, 3])
    absorbed_at = np.array([1, 2, 3, 0])
    rows = np.array([2, 0, 2])
    for level in range(4):
        found = find_roots_of(rows, parents, absorbed_at, level)
        assert found.tolist() == find_roots(parents, absorbed_at, level)[rows].tolist()


def test_roots_of_long_chains_are_found_across_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    n = 100
    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    parents = np.empty(n, dtype=np.int32)
    parents[order[:-1]], parents[order[-1]] = order[1:], order[-1]
    absorbed_at = np.empty(n, dtype=np.uint8)
    absorbed_at[order] = np.append(np.arange(1, n), 0)
    assert (find_roots(parents, absorbed_at, n) == order[-1]).all()


@pytest.mark.parametrize("n", [3, 100])
def test_rows_that_absorb_each_other_are_refused(n):
    parents = np.roll(np.arange(n), 1)
    absorbed_at = np.ones(n, dtype=np.uint8)
    with pytest.raises(
        ValueError, match="not a fusion hierarchy: some rows have absorbed each other"
    ):
        find_roots(parents, absorbed_at, 1)
    with pytest.raises(
        ValueError, match="not a fusion hierarchy: some rows have absorbed each other"
    ):
        find_roots_of(np.arange(2), parents, absorbed_at, 1)


def test_labels_are_numbered_in_order_of_first_appearance():
    labels, medoids = get_final_labels(np.array([4, 1, 4, 3, 4, 1, 3]))
    assert labels.tolist() == [0, 1, 0, 2, 0, 1, 2]
    assert medoids.tolist() == [4, 1, 3]


def test_labels_do_not_depend_on_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    roots = rng.integers(0, 40, 300)
    roots[:40] = np.where(np.isin(np.arange(40), roots[40:]), np.arange(40), roots[40])
    expected = {root: number for number, root in enumerate(dict.fromkeys(roots.tolist()))}
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    labels, medoids = get_final_labels(roots.copy())
    assert labels.tolist() == [expected[root] for root in roots.tolist()]
    assert medoids.tolist() == list(expected)


def test_small_clusters_are_hidden_and_the_others_keep_their_order():
    labels, medoids = hide_small_clusters(np.array([0, 1, 1, 2, 2]), np.array([0, 1, 3]), None, 2)
    assert labels.tolist() == [-1, 0, 0, 1, 1]
    assert medoids.tolist() == [1, 3]


def test_the_size_of_a_cluster_is_its_weight():
    weights = np.array([2.0, 0.5, 0.5, 1.0, 1.0])
    labels, _ = hide_small_clusters(np.array([0, 1, 1, 2, 2]), np.array([0, 1, 3]), weights, 2)
    assert labels.tolist() == [0, -1, -1, 1, 1]


def test_clusters_of_leaves_are_numbered_by_the_first_of_their_rows():
    labels = np.array([0, 1, 2, 1, 0], dtype=np.int32)
    found, medoids = number_by_first_row(labels, np.array([10, 11, 12]), np.array([8, 5, 7, 1, 9]))
    assert found.tolist() == [2, 0, 1, 0, 2]
    assert medoids.tolist() == [11, 12, 10]
    assert found.dtype == np.int32


def test_labels_have_the_type_of_the_roots():
    labels, medoids = get_final_labels(np.array([2, 1, 2], dtype=np.int32))
    assert labels.dtype == np.int32
    assert labels.tolist() == [0, 1, 0]
    assert medoids.tolist() == [2, 1]
    hidden, _ = hide_small_clusters(labels, medoids, None, 2)
    assert hidden is labels
    assert hidden.tolist() == [0, -1, 0]


def test_roots_have_the_type_of_the_parents():
    parents = np.array([1, 1, 2], dtype=np.int32)
    assert find_roots(parents, np.array([1, 0, 0]), 1).dtype == np.int32


def test_small_clusters_are_hidden_in_every_block(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    labels, medoids = hide_small_clusters(np.array([0, 1, 1, 2, 2, 1, 3, 2]), np.arange(4), None, 3)
    assert labels.tolist() == [-1, 0, 0, 1, 1, 0, -1, 1]
    assert medoids.tolist() == [1, 2]
