"""Cuts and queries of the fusion hierarchy, with and without a tree above its levels, and what is
refused.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from cohirf import FusionHierarchy
from cohirf.beyond.merge_tree import MergeTree
from cohirf.rows import blocks

PARENTS = [0, 0, 2, 2, 4, 5]
ABSORBED_AT = [0, 1, 0, 1, 0, 0]
TREE = MergeTree(np.array([0, 2, 4]), np.array([[0, 1, 1.0, 2], [2, 3, 4.0, 3]]), level=1)
NO_LEAVES = MergeTree(np.empty(0, dtype=int), np.empty((0, 4)), level=1)


@pytest.fixture
def hierarchy():
    """Five rows: 1 joins 0 and 3 joins 2 at level 1; 2 joins 0 at level 2; 4 stays alone."""
    return FusionHierarchy(parents=[0, 0, 0, 2, 4], absorbed_at=[0, 1, 2, 1, 0])


@pytest.fixture
def with_tree():
    """Six rows: 1 joins 0 and 3 joins 2 at level 1; the tree merges 0 with 2, then with 4.

    5 is noise.
    """
    return FusionHierarchy(PARENTS, ABSORBED_AT, tree=TREE)


# -- cuts ----------------------------------------------------------------------------------------------------------


def test_medoids_and_sizes_are_in_the_order_of_the_labels(hierarchy):
    assert hierarchy.cut(level=1).tolist() == [0, 0, 1, 1, 2]
    assert hierarchy.medoids(1).tolist() == [0, 2, 4]
    assert hierarchy.sizes(1).tolist() == [2, 2, 1]


def test_without_a_tree_cut_by_number_takes_the_level_with_that_many(hierarchy):
    assert hierarchy.cluster_counts().tolist() == [5, 3, 2]
    for level, n_clusters in enumerate([5, 3, 2]):
        assert hierarchy.cut(n_clusters=n_clusters).tolist() == hierarchy.cut(level=level).tolist()


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
def test_the_tree_is_cut_first_and_levels_give_the_other_numbers(with_tree, n_clusters, labels):
    found = with_tree.cut(n_clusters=n_clusters)
    assert found.tolist() == labels
    assert found.dtype == np.int32


def test_clusters_are_numbered_by_their_first_row_and_not_by_their_medoid():
    tree = MergeTree(np.array([1, 2]), np.array([[0, 1, 1.0, 2]]), level=1)
    assert FusionHierarchy([2, 1, 2], [1, 0, 0], tree=tree).cut(n_clusters=2).tolist() == [0, 1, 0]


def test_the_leaves_of_a_tree_may_be_absorbed_at_later_levels():
    tree = MergeTree(np.array([0, 2]), np.array([[0, 1, 1.0, 2]]), level=1)
    assert FusionHierarchy([0, 0, 0], [0, 1, 2], tree=tree).cut(n_clusters=2).tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("tree", "arguments", "error", "message"),
    [
        (None, {"level": 2}, ValueError, "level=2 does not exist: pass a level from 0 to 1"),
        (None, {"level": 0.5}, TypeError, "'float' object cannot be interpreted as an integer"),
        (None, {"level": -1}, ValueError, "level=-1 does not exist"),
        (
            None,
            {"n_clusters": 1},
            ValueError,
            "n_clusters=1 is not available: pass that of a level (6, 4)",
        ),
        (None, {}, TypeError, "either level or n_clusters: pass exactly one"),
        (None, {"level": 1, "n_clusters": 2}, TypeError, "pass exactly one"),
        (
            TREE,
            {"n_clusters": 5},
            ValueError,
            "pass a number from 1 to 3, or that of a level (6, 4).",
        ),
        (
            NO_LEAVES,
            {"n_clusters": 2},
            ValueError,
            "every row is noise, so there are no clusters to merge",
        ),
    ],
)
def test_an_impossible_cut_is_refused(tree, arguments, error, message):
    with pytest.raises(error, match=re.escape(message)):
        FusionHierarchy(PARENTS, ABSORBED_AT, tree=tree).cut(**arguments)


# -- queries


def test_members_of_an_absorbed_medoid_are_refused(hierarchy):
    assert hierarchy.members(2, 1).tolist() == [2, 3]
    with pytest.raises(
        ValueError, match=r"medoid=3 is not a medoid at level 1: it was absorbed at level 1. line"
    ):
        hierarchy.members(3, 1)


@pytest.mark.parametrize(
    ("condensed", "row", "remedy"),
    [
        (False, -1, "5 rows: pass a row number from 0 to 4"),
        (False, 5, "5 rows: pass a row number from 0 to 4"),
        (True, 1, "3 rows: pass a row number from its attribute rows"),
        (True, 9, "3 rows: pass a row number from its attribute rows"),
    ],
)
def test_a_row_that_is_not_there_is_refused(hierarchy, condensed, row, remedy):
    with pytest.raises(ValueError, match=f"row={row} is not in this hierarchy of {remedy}"):
        (hierarchy.condense(3) if condensed else hierarchy).lineage(row)


def test_a_condensed_hierarchy_speaks_of_rows_of_the_data(hierarchy):
    top = hierarchy.condense(3)
    assert top.medoids(0).tolist() == [0, 2, 4]
    assert top.sizes(0).tolist() == [2, 2, 1]
    assert top.sizes(0).dtype == np.int64
    assert top.members(0, 1).tolist() == [0, 2]
    assert [(step.medoid, step.size) for step in top.lineage(2)] == [(2, 2), (0, 4)]


def test_the_leaves_of_a_condensed_hierarchy_are_those_of_its_tree(with_tree):
    top = with_tree.condense(max_clusters=4)
    assert top.rows.tolist() == [0, 2, 4, 5]
    assert top.tree == replace(TREE, level=0)
    assert top.cut(n_clusters=2).tolist() == [0, 0, 1, -1]
    assert with_tree.condense(max_clusters=6).tree is None  # its leaves are below those of the tree


def test_the_hierarchy_of_a_fit_is_that_of_its_vectors(with_tree):
    found = FusionHierarchy.of_fit(np.array(PARENTS), np.array(ABSORBED_AT), 1, tree=TREE)
    assert found == with_tree
    assert (found.n_rows, found.n_levels) == (6, 1)
    top = with_tree.condense(max_clusters=4)
    assert (
        FusionHierarchy.of_fit(top.parents, top.absorbed_at, 0, top.rows, top.row_sizes, top.tree)
        == top
    )


def test_it_shows_its_levels_and_how_many_rows_it_stands_for(hierarchy):
    assert repr(hierarchy) == "FusionHierarchy(5 rows, clusters by level: 5 > 3 > 2)"
    assert (
        repr(hierarchy.condense(3))
        == "FusionHierarchy(3 clusters of 5 rows, clusters by level: 3 > 2)"
    )


def test_hierarchies_that_differ_in_one_vector_or_in_the_tree_are_different(hierarchy, with_tree):
    top = hierarchy.condense(3)
    vectors = {
        "parents": top.parents,
        "absorbed_at": top.absorbed_at,
        "rows": top.rows,
        "row_sizes": top.row_sizes,
    }
    assert top == FusionHierarchy(**vectors)
    assert top not in (hierarchy, 3)
    for change in (
        {"parents": [0, 2, 2], "absorbed_at": [0, 1, 0]},
        {"absorbed_at": [0, 2, 0]},
        {"rows": [0, 2, 5]},
        {"row_sizes": [2, 2, 2]},
    ):
        assert top != FusionHierarchy(**vectors | change)
    assert with_tree == FusionHierarchy(PARENTS, ABSORBED_AT, tree=replace(TREE))
    assert with_tree != FusionHierarchy(PARENTS, ABSORBED_AT)
    for change in (
        {"level": 0},
        {"medoids": np.array([0, 2, 5])},
        {"linkage": TREE.linkage * [1, 1, 2, 1]},
    ):
        assert with_tree != FusionHierarchy(PARENTS, ABSORBED_AT, tree=replace(TREE, **change))


# -- what is taken and what is refused


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_every_integer_type_is_taken(dtype):
    n = 100
    hierarchy = FusionHierarchy(np.zeros(n, dtype=dtype), np.r_[0, np.ones(n - 1)].astype(dtype))
    assert hierarchy.cut(level=0).tolist() == list(range(n))
    assert hierarchy.to_linkage().shape == (n - 1, 4)


def test_row_numbers_take_four_bytes_levels_as_many_as_they_came_in_and_sizes_eight():
    hierarchy = FusionHierarchy(
        np.array([0, 0]),
        np.array([0, 1], dtype=np.uint8),
        rows=np.array([0, 2**31 - 1]),
        row_sizes=[1, 2],
    )
    assert hierarchy.parents.dtype == hierarchy.rows.dtype == np.int32
    assert hierarchy.absorbed_at.dtype == np.uint8
    assert hierarchy.row_sizes.dtype == np.int64
    assert FusionHierarchy([0], [0], rows=[2**31]).rows.tolist() == [2**31]
    assert FusionHierarchy([0], np.array([0], dtype=np.int64)).absorbed_at.dtype == np.int32


ALREADY_ABSORBED = "absorbed by a row that was itself already absorbed"


@pytest.mark.parametrize(
    ("parents", "absorbed_at", "message"),
    [
        ([0, 1], [0], "parents has 2 rows and absorbed_at has 1: they must have equal length"),
        ([0, 2], [0, 1], "parents must be row numbers from 0 to 1"),
        ([0, 0], [0, -1], "absorbed_at must not be negative"),
        ([1, 0], [1, 1], ALREADY_ABSORBED),
        ([1, 2, 2], [1, 1, 0], ALREADY_ABSORBED),
        ([1, 1], [0, 0], "never absorbed must be its own parent"),
        ([], [], "parents has 0 rows: a hierarchy needs at least one"),
        ([0, 0], [0, 5], "absorbed_at has level 5, but 2 rows have at most 4 levels"),
        ([-(2**63), 1], [0, 0], "parents must be row numbers from 0 to 1"),
        ([[0]], [0], "parents must be a one-dimensional array of integers"),
        ([2**32], [0], "parents must be row numbers from 0 to 0"),
        ([0.5], [0], "parents must be a one-dimensional array of integers, not float64"),
    ],
)
def test_what_is_no_hierarchy_is_refused(parents, absorbed_at, message):
    with pytest.raises(ValueError, match=message):
        FusionHierarchy(parents, absorbed_at)


def test_bounds_of_levels_are_taken():
    assert FusionHierarchy([0, 0], [0, 4]).n_levels == 4  # two levels for each row
    # absorbed one level later
    assert FusionHierarchy([1, 2, 2], [1, 2, 0]).cut(level=2).tolist() == [
        0,
        0,
        0,
    ]


def test_a_fault_is_found_in_every_block_of_rows(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    n = 7
    for row in range(1, n):
        parents = np.arange(n)
        absorbed_at = np.zeros(n, dtype=int)
        parents[row] = 0
        with pytest.raises(ValueError, match="never absorbed must be its own parent"):
            FusionHierarchy(parents, absorbed_at)
        absorbed_at[row] = 1
        assert FusionHierarchy(parents, absorbed_at).n_levels == 1


@pytest.mark.parametrize(
    ("leaves", "message"),
    [
        ({"rows": [0]}, "rows has 1 entries for 3 leaves: pass one for each leaf"),
        ({"row_sizes": [1, 1]}, "row_sizes has 2 entries for 3 leaves: pass one for each leaf"),
        ({"rows": [1, 3, 2]}, "rows must be sorted and distinct"),
        ({"rows": [3, 3, 4]}, "rows must be sorted and distinct"),
        ({"rows": np.array([5, 3, 6], dtype=np.uint32)}, "rows must be sorted and distinct"),
        ({"rows": [-1, 3, 4]}, "rows must be sorted and distinct, and not negative"),
        ({"row_sizes": [0, 1, 1]}, "row_sizes must be 1 or more"),
    ],
)
def test_impossible_leaves_are_refused(leaves, message):
    with pytest.raises(ValueError, match=message):
        FusionHierarchy([0, 1, 2], [0, 0, 0], **leaves)
    with pytest.raises(ValueError, match="not negative"):
        FusionHierarchy([0], [0], rows=[-1])


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
        (
            {"linkage": [[0, 1, 1.0, 2]]},
            r"tree has 3 leaves and linkage \(1, 4\): a tree has n - 1 merges",
        ),
        ({"linkage": [[0, 1, 1.0, 2]] * 4}, r"tree has 3 leaves and linkage \(4, 4\)"),
        ({"linkage": [[0, 1, 1.0], [2, 3, 4.0]]}, r"tree has 3 leaves and linkage \(2, 3\)"),
        (
            {"linkage": [[0, 1, 1.0, 2], [0, 1, 4.0, 3]]},
            "tree must have a valid linkage of its leaves",
        ),
        ({"linkage": [[0, 1, 4.0, 2], [2, 3, 1.0, 3]]}, DECREASING),
        ({"linkage": [[0, 1, 1.0, 2], [2, 3, np.inf, 3]]}, DECREASING),
        ({"medoids": [], "linkage": np.empty((0, 4)), "level": 2}, NOT_OF_ITS_LEVEL),
        ({"medoids": [0, 2], "linkage": np.empty((0, 4))}, "tree has 2 leaves"),
    ],
)
def test_what_is_not_a_tree_of_the_hierarchy_is_refused(change, message):
    change = {name: value if name == "level" else np.array(value) for name, value in change.items()}
    if "medoids" in change:
        change["medoids"] = change["medoids"].astype(int)
    with pytest.raises(ValueError, match=message):
        FusionHierarchy(PARENTS, ABSORBED_AT, tree=replace(TREE, **change))


def test_a_tree_of_one_leaf_and_merges_of_equal_height_are_taken():
    one = MergeTree(np.array([1]), np.empty((0, 4)), level=0)
    assert FusionHierarchy([0, 1], [0, 0], tree=one).cut(n_clusters=1).tolist() == [-1, 0]
    flat = replace(TREE, linkage=TREE.linkage * [1, 1, 0, 1])
    assert FusionHierarchy(PARENTS, ABSORBED_AT, tree=flat).cut(n_clusters=1).max() == 0
