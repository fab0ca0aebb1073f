"""Clusters from before an update go on, unless others are clearly better."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm.consensus import fold_views, strict_consensus
from cohirf.algorithm.merge_tree import Groups
from cohirf.fitting.former import Former, keep_former, split_groups, sum_of_squares

LINE = Groups(np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]), np.ones(6))
APART = np.array([0, 0, 0, 1, 1, 1])


def test_a_place_has_the_number_of_most_of_its_rows():
    former = Former(np.array([7, 3, 3, -1, 7]), np.array([0, 0, 2, 2, 1]), np.array([5, 2, 1, 9, 0]))
    np.testing.assert_array_equal(former.numbers_of(4), [7, -1, 3, -1])


def test_rows_without_clusters_give_no_labels():
    former = Former(np.array([-1]), np.array([0]), np.array([3]))
    np.testing.assert_array_equal(former.numbers_of(2), [-1, -1])


def test_a_new_group_joins_the_cluster_of_the_nearest_group():
    groups = Groups(np.array([[0.0], [6.0], [9.0], [7.0]]), np.ones(4))  # the mean of the last two is nearer to 7
    label = keep_former(groups, np.array([0, 0, 1, -1]), np.array([0, 0, 1, 0]))
    np.testing.assert_array_equal(label, [0, 0, 1, 0])


def test_clusters_that_are_clearly_better_replace_the_former_ones():
    former = np.array([0, 0, 1, 1, 1, -1])
    np.testing.assert_array_equal(keep_former(LINE, former, APART), APART)


def test_clusters_that_are_a_little_better_do_not():
    groups = Groups(np.array([[0.0], [1.0], [2.01], [3.0], [4.0]]), np.ones(5))
    former, fresh = np.array([0, 0, 1, 1, -1]), np.array([0, 0, 0, 1, 1])
    kept = keep_former(groups, former, fresh)
    assert sum_of_squares(groups, fresh) > 0.99 * sum_of_squares(groups, kept)
    np.testing.assert_array_equal(kept, [0, 0, 1, 1, 1])


@pytest.mark.parametrize("former", [[0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 2, 2]])
def test_another_number_of_clusters_replaces_the_former_ones(former):
    np.testing.assert_array_equal(keep_former(LINE, np.array(former), APART), APART)


def test_the_same_clusters_with_other_numbers_are_numbered_by_their_first_group():
    np.testing.assert_array_equal(keep_former(LINE, 1 - APART, APART), APART)


def test_groups_are_divided_where_rows_had_different_labels():
    codes = fold_views([np.array([0, 0, 0, 0, 1, 1, -1])], n_rows=7)
    divided = split_groups(codes, strict_consensus, np.array([3, 3, 2, -1, -1, -1, 2]))
    np.testing.assert_array_equal(divided.labels, [0, 0, 2, 0, 1, 1, 3])  # noise is last
    assert (divided.n_clusters, divided.n_noise) == (4, 1)


def test_groups_of_rows_with_one_label_stay_as_they_are():
    codes = fold_views([np.array([0, 0, 1, 1])], n_rows=4)
    np.testing.assert_array_equal(split_groups(codes, strict_consensus, np.array([1, -1, 0, 0])).labels, [0, 0, 1, 1])


def test_the_sum_of_squares_counts_masses():
    groups = Groups(np.array([[0.0, 0.0], [4.0, 0.0]]), np.array([3.0, 1.0]))
    assert sum_of_squares(groups, np.zeros(2, dtype=int)) == 3 * 1 + 9
    assert sum_of_squares(Groups(sparse.csr_array(groups.means), groups.mass), np.zeros(2, dtype=int)) == 12
