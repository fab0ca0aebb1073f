"""Leaves of a partition find the rows around them that make core distances exact."""

import numpy as np
import pytest
from overlapping import leaves
from sklearn.metrics import adjusted_rand_score
from test_label_in_batches import SETTINGS, SHAPES, label_together

from cohirf.spanning.batch_edges import find_edges
from cohirf.spanning.halos import Halos, reach_of
from cohirf.spanning.label_in_batches import label_rows
from cohirf.spanning.settings import Settings


def batches_with_halos(X, size, min_samples):
    homes = list(leaves(X, np.arange(len(X)), size))
    leaf_of_row = np.empty(len(X), dtype=np.int64)
    for leaf, home in enumerate(homes):
        leaf_of_row[home] = leaf
    halos = Halos([reach_of(X[home], min_samples) for home in homes])
    rows, needed_by, _ = halos.find(X, leaf_of_row)
    assert (leaf_of_row[rows] != needed_by).all()
    return homes, [np.concatenate([home, rows[needed_by == leaf]]) for leaf, home in enumerate(homes)]


@pytest.mark.parametrize("size", [40, 250, 2_000])
def test_home_rows_have_their_core_distances_in_the_batch(size):
    homes, batches = batches_with_halos(SHAPES, size, 15)
    expected, _ = find_edges(SHAPES, 15)
    for home, batch in zip(homes, batches, strict=True):
        core, _ = find_edges(SHAPES[batch], 15)
        np.testing.assert_array_equal(core[: len(home)], expected[home])


@pytest.mark.parametrize("size", [250, 2_000])
def test_labels_are_those_of_all_rows(size):
    _, batches = batches_with_halos(SHAPES, size, 15)
    np.testing.assert_array_equal(label_rows(SHAPES, batches, SETTINGS), label_together(SHAPES, SETTINGS))


def test_clusters_without_noise_between_them_have_the_labels_of_all_rows():
    random = np.random.default_rng(1)
    X = random.normal(size=(4_000, 2)) + 9 * random.integers(0, 4, size=(4_000, 2))
    _, batches = batches_with_halos(X, 500, 15)
    np.testing.assert_array_equal(label_rows(X, batches, SETTINGS), label_together(X, SETTINGS))


def test_boxes_that_do_not_reach_out_of_the_cell_of_a_leaf_are_left_out_and_halos_stay_the_same():
    middle = np.median(SHAPES[:, 0])
    sides = SHAPES[:, 0] < middle, SHAPES[:, 0] >= middle
    cells = (-np.inf, -np.inf, middle, np.inf), (middle, -np.inf, np.inf, np.inf)
    reaches = [reach_of(SHAPES[side], 15) for side in sides]
    few = [reach_of(SHAPES[side], 15, np.array(cell)) for side, cell in zip(sides, cells, strict=True)]
    assert all(len(some.boxes) < len(all_.boxes) / 2 for some, all_ in zip(few, reaches, strict=True))
    homes = sides[1].astype(np.int64)
    for found, expected in zip(Halos(few).find(SHAPES, homes), Halos(reaches).find(SHAPES, homes), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_single_leaf_needs_no_rows():
    reach = reach_of(SHAPES, 15, np.array([-np.inf, -np.inf, np.inf, np.inf]))
    rows, needed_by, _ = Halos([reach]).find(SHAPES, np.zeros(len(SHAPES), dtype=np.int64))
    assert len(rows) == len(needed_by) == len(reach.boxes) == 0


def test_labels_are_those_of_all_rows_if_core_distances_are_zero():
    settings = Settings(min_samples=1, min_cluster_size=15)
    _, batches = batches_with_halos(SHAPES, 500, 1)
    assert adjusted_rand_score(label_together(SHAPES, settings), label_rows(SHAPES, batches, settings)) > 0.999


def test_shares_are_distances_from_a_leaf_in_units_of_its_core_distance():
    X = np.r_[np.zeros(8), 1.0, 8.0, 9.0, 20.0].reshape(-1, 1)  # the core distance of the row at 8 is 8
    _, leaves_, shares = Halos([reach_of(X[:10], 9), reach_of(X[10:], 9)]).find(X, np.repeat([0, 1], [10, 2]))
    assert shares[leaves_ == 0].tolist() == [1 / 8]


def test_halos_are_small_where_leaves_are_large():
    X = np.random.default_rng(0).uniform(size=(20_000, 2))
    _, batches = batches_with_halos(X, 5_000, 5)
    assert sum(map(len, batches)) < 1.2 * len(X)


def test_a_leaf_with_fewer_rows_than_neighbours_needs_all_rows():
    X = np.random.default_rng(0).normal(size=(60, 2))
    _, batches = batches_with_halos(X, 10, 15)
    assert [len(batch) for batch in batches] == [60] * len(batches)
