"""Neighbours that no batch has are found among the neighbours of neighbours, and what is missing is
measured.
"""

import numpy as np
import pytest
from overlapping import leaves, with_nearest_to_box

from cohirf.rows.storage import Storage
from cohirf.rows.threads import on_threads
from cohirf.spanning import neighbour_lists
from cohirf.spanning.batch_edges import list_rows, span_rows
from cohirf.spanning.neighbour_lists import NeighbourLists, measure_share

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1500, 12)) + 3 * RANDOM.normal(size=(5, 12))[RANDOM.integers(5, size=1500)]
RANK = 8


@pytest.fixture(scope="module")
def spanned():
    """Return the true distances to the neighbours of that rank, and the spanning tree."""
    return span_rows(X, RANK)


def lists_of(batches, homes):
    lists = NeighbourLists.room_for(len(X), 16, Storage(), X.__getitem__)
    for batch, home in zip(batches, homes, strict=True):
        lists.put(list_rows(X[batch], RANK, 16)[1].among(batch, len(home)))
    return lists


def lists_of_batches():
    return lists_of(with_nearest_to_box(X, 200), leaves(X, np.arange(len(X)), 200))


def core_of(lists):
    return np.sqrt(lists.distances2[:, RANK - 1])


def share_right(lists, core):
    return np.isclose(core_of(lists), core, rtol=1e-12).mean()


def improved():
    lists = lists_of_batches()
    lists.improve(Storage())
    return lists


def test_neighbours_of_neighbours_are_found(spanned):
    core, _ = spanned
    assert share_right(lists_of_batches(), core) < 0.6
    lists = improved()
    assert share_right(lists, core) > 0.9
    gaps = np.linalg.norm(X[:, None] - X[lists.neighbours], axis=2)
    np.testing.assert_allclose(gaps**2, lists.distances2, atol=1e-12)
    assert (np.diff(lists.distances2, axis=1) >= 0).all()
    assert all(len(set(row)) == 16 for row in lists.neighbours.tolist())


def test_threads_and_blocks_change_nothing(monkeypatch):
    expected = improved()
    monkeypatch.setitem(vars(neighbour_lists.LISTS), "block_rows", 37)
    with on_threads(2):
        found = improved()
    np.testing.assert_array_equal(found.neighbours, expected.neighbours)


def test_edges_are_those_of_the_spanning_tree_though_some_are_in_no_list(spanned):
    lists, (core, tree) = lists_of(*2 * [[np.arange(len(X))]]), spanned
    lists.improve(Storage())
    is_listed = (lists.neighbours[tree.one] == tree.two[:, None]) | (
        lists.neighbours[tree.two] == tree.one[:, None]
    )
    assert not is_listed.any(axis=1).all()
    found = lists.span(core)
    np.testing.assert_allclose(
        np.sort(found.weigh(core)), np.sort(tree.weigh(core))[: found.count], rtol=1e-9
    )
    assert found.count >= tree.count - 4  # five clusters: lists of some may have no row of another


def test_batches_with_fewer_rows_than_a_list_have_shorter_ones():
    lists = lists_of(*2 * [np.array_split(np.arange(len(X)), 150)])
    assert np.isinf(lists.distances2[:, 10:]).all()
    assert np.isfinite(lists.distances2[:, :10]).all()


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_share_of_right_core_distances_is_measured(share, spanned):
    core, _ = spanned
    wrong = RANDOM.random(len(X)) >= share
    assert measure_share(np.where(wrong, core * 1.01, core), RANK, X.__getitem__) == pytest.approx(
        share, abs=0.12
    )
