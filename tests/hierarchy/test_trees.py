"""Hierarchies with a tree of pairwise merges above one of their levels."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cohirf import FusionHierarchy
from cohirf.algorithm.merge_tree import MergeTree

PARENTS, ABSORBED_AT = [0, 0, 2, 2, 4, 5], [0, 1, 0, 1, 0, 0]
TREE = MergeTree(np.array([0, 2, 4]), np.array([[0, 1, 1.0, 2], [2, 3, 4.0, 3]]), level=1)
NO_LEAVES = MergeTree(np.empty(0, dtype=int), np.empty((0, 4)), level=1)


@pytest.fixture
def hierarchy():
    """Six rows: 1 joins 0 and 3 joins 2 at level 1; the tree merges 0 with 2, then with 4; 5 is noise."""
    return FusionHierarchy(PARENTS, ABSORBED_AT, tree=TREE)


@pytest.mark.parametrize(
    ("n_clusters", "labels"),
    [
        (1, [0, 0, 0, 0, 0, -1]),
        (2, [0, 0, 0, 0, 1, -1]),
        (3, [0, 0, 1, 1, 2, -1]),
        (4, [0, 0, 1, 1, 2, 3]),  # of a level
        (6, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_the_tree_is_cut_first_and_levels_give_the_other_numbers(hierarchy, n_clusters, labels):
    found = hierarchy.cut(n_clusters=n_clusters)
    assert found.tolist() == labels
    assert found.dtype == np.int32


def test_a_number_that_neither_has_is_refused(hierarchy):
    message = r"n_clusters=5 is not available: pass a number from 1 to 3, or that of a level \(6, 4\)\."
    with pytest.raises(ValueError, match=message):
        hierarchy.cut(n_clusters=5)


def test_clusters_are_numbered_by_their_first_row_and_not_by_their_medoid():
    tree = MergeTree(np.array([1, 2]), np.array([[0, 1, 1.0, 2]]), level=1)
    hierarchy = FusionHierarchy([2, 1, 2], [1, 0, 0], tree=tree)
    assert hierarchy.cut(n_clusters=2).tolist() == [0, 1, 0]


def test_the_leaves_of_a_tree_may_be_absorbed_at_later_levels():
    tree = MergeTree(np.array([0, 2]), np.array([[0, 1, 1.0, 2]]), level=1)
    hierarchy = FusionHierarchy([0, 0, 0], [0, 1, 2], tree=tree)
    assert hierarchy.cut(n_clusters=2).tolist() == [0, 0, 1]


# -- linkage -------------------------------------------------------------------------------------------------------


def test_levels_are_below_the_lowest_merge_and_noise_joins_last(hierarchy):
    assert hierarchy.to_linkage().tolist() == [
        [0, 1, 0.5, 2],
        [2, 3, 0.5, 2],
        [6, 7, 1.0, 4],
        [4, 8, 4.0, 5],
        [5, 9, 4.0, 6],
    ]


def test_rows_of_noise_join_one_after_the_other():
    tree = MergeTree(np.array([1, 3]), np.array([[0, 1, 2.0, 2]]), level=1)
    linkage = FusionHierarchy([0, 1, 2, 3, 4], [0, 0, 0, 0, 0], tree=tree).to_linkage()
    assert linkage.tolist() == [[1, 3, 2.0, 2], [0, 5, 2.0, 3], [2, 6, 2.0, 4], [4, 7, 2.0, 5]]


def test_where_every_row_is_noise_rows_join_one_after_the_other():
    linkage = FusionHierarchy([0, 1, 2], [0, 0, 0], tree=NO_LEAVES).to_linkage()
    assert linkage.tolist() == [[0, 1, 1.0, 2], [2, 3, 1.0, 3]]


def test_levels_above_the_tree_do_not_change_its_linkage():
    tree = MergeTree(np.array([0, 2]), np.array([[0, 1, 3.0, 2]]), level=1)
    linkage = FusionHierarchy([0, 0, 0], [0, 1, 2], tree=tree).to_linkage()
    assert linkage.tolist() == [[0, 1, 1.5, 2], [2, 3, 3.0, 3]]


def test_two_levels_below_the_tree_have_two_heights():
    tree = MergeTree(np.array([0, 3]), np.array([[0, 1, 3.0, 2]]), level=2)
    linkage = FusionHierarchy([0, 0, 0, 3], [0, 1, 2, 0], tree=tree).to_linkage()
    assert linkage.tolist() == [[0, 1, 1.0, 2], [2, 4, 2.0, 3], [3, 5, 3.0, 4]]


# -- parts and copies ----------------------------------------------------------------------------------------------


def test_the_leaves_of_a_condensed_hierarchy_are_those_of_its_tree(hierarchy):
    top = hierarchy.condense(max_clusters=4)
    assert top.rows.tolist() == [0, 2, 4, 5]
    assert top.tree == replace(TREE, level=0)
    assert top.cut(n_clusters=2).tolist() == [0, 0, 1, -1]
    assert top.to_linkage().tolist() == [[0, 1, 1.0, 2], [2, 4, 4.0, 3], [3, 5, 4.0, 4]]


def test_rows_below_the_leaves_of_a_tree_have_no_tree(hierarchy):
    assert hierarchy.condense(max_clusters=6).tree is None


def test_a_hierarchy_that_starts_at_the_first_level_expands_to_all_rows(hierarchy):
    parents, absorbed_at = hierarchy.parents, hierarchy.absorbed_at
    assert hierarchy.condense(max_clusters=4).expand(parents, absorbed_at) == hierarchy
    assert hierarchy.expand(parents, absorbed_at) == hierarchy
    top = FusionHierarchy([0, 1], [0, 0], rows=[0, 2])
    assert top.expand(parents, absorbed_at) == FusionHierarchy(parents, absorbed_at)


def test_the_hierarchy_of_a_fit_is_that_of_its_vectors(hierarchy):
    vectors = np.array(PARENTS), np.array(ABSORBED_AT)
    found = FusionHierarchy.of_fit(*vectors, 1, tree=TREE)
    assert found == hierarchy
    assert (found.n_rows, found.n_levels) == (6, 1)
    top = hierarchy.condense(max_clusters=4)
    assert FusionHierarchy.of_fit(top.parents, top.absorbed_at, 0, top.rows, top.row_sizes, top.tree) == top


def test_hierarchies_with_other_trees_are_not_equal(hierarchy):
    assert hierarchy == FusionHierarchy(PARENTS, ABSORBED_AT, tree=replace(TREE))
    assert hierarchy != FusionHierarchy(PARENTS, ABSORBED_AT)
    for change in ({"level": 0}, {"medoids": np.array([0, 2, 5])}, {"linkage": TREE.linkage * [1, 1, 2, 1]}):
        assert hierarchy != FusionHierarchy(PARENTS, ABSORBED_AT, tree=replace(TREE, **change))


def test_json_keeps_the_tree(hierarchy):
    assert FusionHierarchy.from_json(hierarchy.to_json()) == hierarchy
    without_leaves = FusionHierarchy([0, 1], [0, 0], tree=NO_LEAVES)
    assert FusionHierarchy.from_json(without_leaves.to_json()) == without_leaves


@pytest.mark.parametrize(
    "change", [{"level": 0.5}, {"level": None}, {"medoids": ["a"]}, {"linkage": [[1.0, 2.0]]}, {"linkage": {}}]
)
def test_json_with_a_tree_that_cannot_be_read_is_refused(hierarchy, change):
    content = json.loads(hierarchy.to_json())
    content["tree"] |= change
    with pytest.raises(ValueError, match="has a tree that cannot be read"):
        FusionHierarchy.from_json(json.dumps(content))


# -- what is refused -----------------------------------------------------------------------------------------------

UNSORTED = "the medoids of a tree must be sorted and distinct rows of the hierarchy"
NOT_OF_ITS_LEVEL = "the medoids of a tree must be medoids at its level"
DECREASING = "tree must have finite heights that never decrease"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"medoids": [2, 0, 4]}, UNSORTED),
        ({"medoids": [0, 0, 4]}, UNSORTED),
        ({"medoids": [-1, 2, 4]}, UNSORTED),
        ({"medoids": [0, 2, 6]}, UNSORTED),
        ({"medoids": [0, 1, 4]}, f"{NOT_OF_ITS_LEVEL}, 1"),
        ({"level": 2}, f"{NOT_OF_ITS_LEVEL}, 2"),
        ({"level": -1}, f"{NOT_OF_ITS_LEVEL}, -1"),
        ({"linkage": [[0, 1, 1.0, 2]]}, r"tree has 3 leaves and linkage \(1, 4\): a tree has n - 1 merges"),
        ({"linkage": [[0, 1, 1.0, 2]] * 4}, r"tree has 3 leaves and linkage \(4, 4\)"),
        ({"linkage": [[0, 1, 1.0], [2, 3, 4.0]]}, r"tree has 3 leaves and linkage \(2, 3\)"),
        ({"linkage": [[0, 1, 1.0, 2], [0, 1, 4.0, 3]]}, "tree must have a valid linkage of its leaves"),
        ({"linkage": [[0, 1, 4.0, 2], [2, 3, 1.0, 3]]}, DECREASING),
        ({"linkage": [[0, 1, 1.0, 2], [2, 3, np.inf, 3]]}, DECREASING),
    ],
)
def test_what_is_not_a_tree_of_the_hierarchy_is_refused(change, message):
    arrays = {name: value if name == "level" else np.array(value) for name, value in change.items()}
    with pytest.raises(ValueError, match=message):
        FusionHierarchy(PARENTS, ABSORBED_AT, tree=replace(TREE, **arrays))


def test_a_tree_without_merges_must_have_at_most_one_leaf():
    one = MergeTree(np.array([1]), np.empty((0, 4)), level=0)
    assert FusionHierarchy([0, 1], [0, 0], tree=one).cut(n_clusters=1).tolist() == [-1, 0]
    with pytest.raises(ValueError, match="tree has 2 leaves"):
        FusionHierarchy([0, 1], [0, 0], tree=replace(one, medoids=np.array([0, 1])))
    with pytest.raises(ValueError, match=NOT_OF_ITS_LEVEL):
        FusionHierarchy([0, 1], [0, 0], tree=replace(NO_LEAVES, level=2))


def test_merges_of_equal_height_are_a_tree():
    linkage = TREE.linkage * [1, 1, 0, 1]
    assert FusionHierarchy(PARENTS, ABSORBED_AT, tree=replace(TREE, linkage=linkage)).cut(n_clusters=1).max() == 0
