"""Cuts of the fusion hierarchy."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from cohirf import CoHiRF, FusionHierarchy
from cohirf.algorithm import grouping


@pytest.fixture
def hierarchy():
    """Five rows: 1 joins 0 and 3 joins 2 at level 1; 2 joins 0 at level 2; 4 stays alone."""
    return FusionHierarchy(parents=[0, 0, 0, 2, 4], absorbed_at=[0, 1, 2, 1, 0])


def test_level_0_leaves_every_row_by_itself(hierarchy):
    assert hierarchy.cut(level=0).tolist() == [0, 1, 2, 3, 4]


def test_the_last_level_is_the_final_partition(hierarchy):
    assert hierarchy.n_levels == 2
    assert hierarchy.cut(level=2).tolist() == [0, 0, 0, 0, 1]


def test_medoids_and_sizes_are_in_the_order_of_the_labels(hierarchy):
    assert hierarchy.cut(level=1).tolist() == [0, 0, 1, 1, 2]
    assert hierarchy.medoids(1).tolist() == [0, 2, 4]
    assert hierarchy.sizes(1).tolist() == [2, 2, 1]


def test_without_a_tree_cut_by_number_takes_the_level_with_that_many(hierarchy):
    assert hierarchy.cluster_counts().tolist() == [5, 3, 2]
    assert hierarchy.cut(n_clusters=5).tolist() == hierarchy.cut(level=0).tolist()
    assert hierarchy.cut(n_clusters=3).tolist() == hierarchy.cut(level=1).tolist()
    assert hierarchy.cut(n_clusters=2).tolist() == hierarchy.cut(level=2).tolist()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"level": 3}, ValueError, "level=3 does not exist: pass a level from 0 to 2"),
        ({"level": 0.5}, TypeError, "'float' object cannot be interpreted as an integer"),
        ({"level": -1}, ValueError, "level=-1 does not exist"),
        ({"n_clusters": 1}, ValueError, r"n_clusters=1 is not available: pass that of a level \(5, 3, 2\)"),
        ({"n_clusters": 4}, ValueError, r"n_clusters=4 is not available: pass that of a level \(5, 3, 2\)"),
        ({}, TypeError, "either level or n_clusters: pass exactly one"),
        ({"level": 1, "n_clusters": 2}, TypeError, "pass exactly one"),
    ],
)
def test_an_impossible_cut_is_refused(hierarchy, arguments, error, message):
    with pytest.raises(error, match=message):
        hierarchy.cut(**arguments)


@pytest.mark.parametrize(
    ("parents", "absorbed_at", "message"),
    [
        ([0, 1], [0], "parents has 2 rows and absorbed_at has 1: they must have equal length"),
        ([0, 2], [0, 1], "parents must be row numbers from 0 to 1"),
        ([0, 0], [0, -1], "absorbed_at must not be negative"),
        ([1, 0], [1, 1], "absorbed by a row that was itself already absorbed"),
        ([1, 1], [0, 0], "never absorbed must be its own parent"),
        (np.empty(0, dtype=int), np.empty(0, dtype=int), "parents has 0 rows: a hierarchy needs at least one"),
        ([0, 0], [0, 2_000_000_000], "absorbed_at has level 2000000000, but 2 rows have at most 4 levels"),
        ([-(2**63), 1], [0, 0], "parents must be row numbers from 0 to 1"),
        ([[0]], [0], "parents must be a one-dimensional array of integers"),
        ([2**32], [0], "parents must be row numbers from 0 to 0"),
        ([0.5], [0], "parents must be a one-dimensional array of integers, not float64"),
    ],
)
def test_what_is_no_hierarchy_is_refused(parents, absorbed_at, message):
    with pytest.raises(ValueError, match=message):
        FusionHierarchy(parents, absorbed_at)


def test_it_shows_its_levels(hierarchy):
    assert repr(hierarchy) == "FusionHierarchy(5 rows, clusters by level: 5 > 3 > 2)"


def test_a_condensed_hierarchy_shows_how_many_rows_it_stands_for(hierarchy):
    assert repr(hierarchy.condense(3)) == "FusionHierarchy(3 clusters of 5 rows, clusters by level: 3 > 2)"


def test_a_fit_has_at_most_two_levels_for_each_row():
    assert FusionHierarchy([0, 0], [0, 4]).n_levels == 4
    with pytest.raises(ValueError, match="absorbed_at has level 5, but 2 rows have at most 4 levels"):
        FusionHierarchy([0, 0], [0, 5])


def test_row_numbers_take_four_bytes_levels_as_many_as_they_came_in_and_sizes_eight():
    hierarchy = FusionHierarchy(
        np.array([0, 0]), np.array([0, 1], dtype=np.uint8), rows=np.array([0, 2**31 - 1]), row_sizes=[1, 2]
    )
    assert hierarchy.parents.dtype == hierarchy.rows.dtype == np.int32
    assert hierarchy.absorbed_at.dtype == np.uint8
    assert hierarchy.row_sizes.dtype == np.int64
    assert FusionHierarchy([0], [0], rows=[2**31]).rows.tolist() == [2**31]
    assert FusionHierarchy([0], np.array([0], dtype=np.int64)).absorbed_at.dtype == np.int32


def test_a_row_may_be_absorbed_by_one_that_is_absorbed_one_level_later():
    hierarchy = FusionHierarchy([1, 2, 2], [1, 2, 0])
    assert hierarchy.cut(level=2).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="absorbed by a row that was itself already absorbed"):
        FusionHierarchy([1, 2, 2], [1, 1, 0])


def test_a_fault_is_found_in_every_block_of_rows(monkeypatch):
    monkeypatch.setattr(grouping, "BLOCK_ROWS", 2)
    n = 7
    for row in range(1, n):
        parents, absorbed_at = np.arange(n), np.zeros(n, dtype=int)
        parents[row] = 0
        with pytest.raises(ValueError, match="never absorbed must be its own parent"):
            FusionHierarchy(parents, absorbed_at)
        absorbed_at[row] = 1
        assert FusionHierarchy(parents, absorbed_at).n_levels == 1


def test_a_row_alone_has_one_level():
    hierarchy = FusionHierarchy([0], [0])
    assert hierarchy.n_levels == 0
    assert hierarchy.cut(level=0).tolist() == [0]


def test_a_million_rows_are_cut():
    n = 1_000_000
    parents = np.arange(n) // 1000 * 1000
    hierarchy = FusionHierarchy(parents, (parents != np.arange(n)).astype(np.uint8))
    assert (hierarchy.sizes(1) == 1000).all()


def test_members_of_an_absorbed_medoid_are_refused(hierarchy):
    assert hierarchy.members(2, 1).tolist() == [2, 3]
    with pytest.raises(ValueError, match=r"medoid=3 is not a medoid at level 1: it was absorbed at level 1. line"):
        hierarchy.members(3, 1)


@pytest.mark.parametrize("row", [-1, 5])
def test_a_row_that_is_not_there_is_refused(hierarchy, row):
    with pytest.raises(ValueError, match=f"row={row} is not in this hierarchy of 5 rows"):
        hierarchy.lineage(row)


def test_merges_are_a_sequence(hierarchy):
    merges = hierarchy.merges()
    assert len(merges) == 3
    assert merges[-1].level == 2
    assert [merge.medoid for merge in merges[:2]] == [0, 2]
    with pytest.raises(IndexError):
        merges[3]


def test_sizes_of_merges_are_whole_numbers(hierarchy):
    for merges in (hierarchy.merges(), hierarchy.condense(3).merges()):
        assert {array.dtype for array in (merges.medoid_size, merges.size, merges.absorbed_sizes)} == {np.dtype("i8")}


def test_a_condensed_hierarchy_speaks_of_rows_of_the_data(hierarchy):
    top = hierarchy.condense(3)
    assert top.medoids(0).tolist() == [0, 2, 4]
    assert top.sizes(0).tolist() == [2, 2, 1]
    assert top.members(0, 1).tolist() == [0, 2]
    assert [(step.medoid, step.size) for step in top.lineage(2)] == [(2, 2), (0, 4)]
    (merge,) = top.merges()
    assert (merge.absorbed.tolist(), merge.absorbed_sizes.tolist(), merge.medoid_size, merge.size) == ([2], [2], 2, 4)
    assert top.sizes(0).dtype == np.int64
    assert top.persistence().medoid.tolist() == [0]
    with pytest.raises(ValueError, match="row=1 is not in this hierarchy"):
        top.lineage(1)


@pytest.mark.parametrize(
    ("leaves", "message"),
    [
        ({"rows": [0]}, "rows has 1 entries for 2 leaves: pass one for each leaf"),
        ({"row_sizes": [1, 1, 1]}, "row_sizes has 3 entries for 2 leaves: pass one for each leaf"),
        ({"rows": [3, 1]}, "rows must be sorted and distinct"),
        ({"rows": [3, 3]}, "rows must be sorted and distinct"),
        ({"rows": [-1, 3]}, "rows must"),
        ({"row_sizes": [0, 1]}, "row_sizes must be 1 or more"),
    ],
)
def test_impossible_leaves_are_refused(leaves, message):
    with pytest.raises(ValueError, match=message):
        FusionHierarchy([0, 1], [0, 0], **leaves)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint16, np.int64, np.uint64])
def test_every_integer_type_is_taken(dtype):
    n = 100
    hierarchy = FusionHierarchy(np.zeros(n, dtype=dtype), np.r_[0, np.ones(n - 1)].astype(dtype))
    assert hierarchy.cut(level=0).tolist() == list(range(n))
    assert hierarchy.to_linkage().shape == (n - 1, 4)


def test_rows_that_are_not_sorted_behind_the_first_are_refused():
    with pytest.raises(ValueError, match="rows must be sorted and distinct"):
        FusionHierarchy([0, 1, 2], [0, 0, 0], rows=[1, 3, 2])


def test_rows_of_unsigned_type_must_rise_too():
    with pytest.raises(ValueError, match="rows must be sorted and distinct"):
        FusionHierarchy([0, 1], [0, 0], rows=np.array([5, 3], dtype=np.uint32))


def test_merges_are_compared_as_objects_not_as_arrays(hierarchy):
    assert hierarchy.merges()[0] not in hierarchy.merges()


def test_hierarchies_are_compared_by_their_fusions(hierarchy):
    assert hierarchy == FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at)
    assert hierarchy != hierarchy.condense(3)
    assert hierarchy != 3


def test_hierarchies_that_differ_in_one_vector_are_different(hierarchy):
    top = hierarchy.condense(3)
    vectors = {"parents": top.parents, "absorbed_at": top.absorbed_at, "rows": top.rows, "row_sizes": top.row_sizes}
    changes = {"absorbed_at": [0, 2, 0], "rows": [0, 2, 5], "row_sizes": [2, 2, 2]}
    assert top == FusionHierarchy(**vectors)
    assert top != FusionHierarchy(**vectors | {"parents": [0, 2, 2], "absorbed_at": [0, 1, 0]})
    for name, changed in changes.items():
        assert top != FusionHierarchy(**vectors | {name: changed})


def test_a_row_of_a_condensed_hierarchy_beyond_its_last_one_is_refused(hierarchy):
    with pytest.raises(ValueError, match="row=9 is not in this hierarchy of 3 rows: pass a row number from its"):
        hierarchy.condense(3).lineage(9)


def test_a_step_up_leads_to_the_medoid_that_absorbed_a_row_at_that_level(hierarchy):
    rows = np.array([0, 1, 2, 4])
    assert hierarchy.step_up(rows, 1).tolist() == [0, 0, 2, 4]
    assert hierarchy.step_up(rows, 2).tolist() == [0, 1, 0, 4]


@pytest.mark.filterwarnings("ignore:All of the rows are noise")
def test_a_hierarchy_of_noise_says_that_there_is_nothing_to_cut():
    X = np.random.default_rng(0).normal(size=(50, 3))
    hierarchy = CoHiRF(DBSCAN(eps=1e-6), random_state=0).fit(X).hierarchy_
    with pytest.raises(ValueError, match="n_clusters=2 is not available: every row is noise, so there are no clusters"):
        hierarchy.cut(n_clusters=2)
    assert len(np.unique(hierarchy.cut(n_clusters=50))) == 50
