"""Geometry of the plots."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohirf import FusionHierarchy
from cohirf.description import read_table
from cohirf.plotting import layout
from cohirf.plotting.curves import limits_with_room, needs_log_scale
from cohirf.plotting.exemplars import arrange_heatmap
from cohirf.plotting.layout import Subject, find_subject
from hierarchy.strategies import hierarchies


def top_of(hierarchy, max_clusters=50, largest_only=False):
    return layout.readable_top(find_subject(hierarchy), max_clusters, largest_only=largest_only)


def children(tree, node):
    return np.flatnonzero(tree.parent == node)


def is_in_runs(labels):
    return 1 + np.count_nonzero(np.diff(labels)) == len(np.unique(labels))


@given(hierarchies(), st.integers(1, 30))
def test_clusters_of_every_level_are_in_one_piece(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters)
    for level in range(top.hierarchy.n_levels + 1):
        assert is_in_runs(top.hierarchy.cut(level=level)[top.order])


@given(hierarchies(), st.integers(1, 30))
def test_final_clusters_stand_in_the_order_of_their_numbers(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters)
    assert (np.diff(top.cluster[top.order]) >= 0).all()


@given(hierarchies(), st.integers(1, 30))
def test_the_cluster_of_a_leaf_is_that_of_its_row_in_the_whole_hierarchy(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters)
    final = hierarchy.cut(level=hierarchy.n_levels)
    assert top.cluster.tolist() == final[top.hierarchy.rows].tolist()
    assert top.last_level == hierarchy.n_levels


def test_parts_of_a_cluster_go_from_large_to_small():
    top = top_of(FusionHierarchy([0, 0, 0, 0], [0, 1, 1, 1], rows=[0, 3, 5, 9], row_sizes=[2, 9, 1, 4]))
    assert top.hierarchy.row_sizes[top.order].tolist() == [9, 4, 2, 1]


def test_noise_comes_last():
    hierarchy = FusionHierarchy([0, 1, 2, 3], [0, 0, 0, 0])
    top = layout.readable_top(Subject(hierarchy, np.array([-1, 0, -1, 1])), 10, largest_only=True)
    assert top.cluster[top.order].tolist() == [0, 1, -1, -1]


@given(hierarchies(), st.integers(1, 10))
def test_no_more_leaves_than_wanted_where_only_the_largest_are_kept(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters, largest_only=True)
    assert top.hierarchy.n_rows <= max_clusters
    assert top.n_clusters == hierarchy.cluster_counts()[-1]


def test_the_largest_final_clusters_are_kept(make_hierarchy):
    hierarchy = make_hierarchy(500, 60, 20)
    top = top_of(hierarchy, 5, largest_only=True)
    sizes = hierarchy.sizes(hierarchy.n_levels)
    assert sorted(top.hierarchy.row_sizes) == sorted(sizes)[-5:]
    assert (top.n_final, top.n_clusters) == (5, 20)


def test_a_top_without_leaves_is_refused():
    with pytest.raises(ValueError, match="max_clusters=0 is not valid"):
        top_of(FusionHierarchy([0, 0], [0, 1]), 0)


@given(hierarchies(), st.integers(1, 30))
def test_the_tree_has_one_node_per_leaf_and_per_fusion(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters)
    tree = layout.fusion_tree(top)
    merges = top.hierarchy.merges()
    assert len(tree.parent) == top.hierarchy.n_rows + len(merges)
    for i, merge in enumerate(merges):
        parts = children(tree, tree.n_leaves + i)
        assert tree.size[parts].sum() == tree.size[tree.n_leaves + i] == merge.size
        assert (tree.height[parts] < tree.height[tree.n_leaves + i]).all()
        assert (tree.cluster[parts] == tree.cluster[tree.n_leaves + i]).all()
    assert np.count_nonzero(tree.parent < 0) == top.n_final


def test_a_fusion_of_many_clusters_is_one_bar():
    hierarchy = FusionHierarchy([0, 0, 0, 0, 0, 5], [0, 1, 1, 1, 1, 0])
    top = top_of(hierarchy)
    lines = layout.dendrogram(layout.fusion_tree(top))
    assert (lines.bar_start.tolist(), lines.bar_end.tolist(), lines.bar_height.tolist()) == ([0], [4], [1])


@given(hierarchies(), st.integers(1, 30))
def test_a_bar_reaches_exactly_over_its_parts(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters)
    tree = layout.fusion_tree(top)
    lines = layout.dendrogram(tree)
    for i in range(len(lines.bar_start)):
        parts = children(tree, tree.n_leaves + i)
        assert (lines.x[parts].min(), lines.x[parts].max()) == (lines.bar_start[i], lines.bar_end[i])
        assert (lines.stem_end[parts] == lines.bar_height[i]).all()
        assert lines.bar_start[i] < lines.x[tree.n_leaves + i] < lines.bar_end[i]
    assert (lines.stem_end > lines.stem_start).all()
    assert (lines.stem_end[tree.parent < 0] == tree.top).all()


@given(hierarchies(), st.integers(1, 30))
def test_bars_of_one_level_do_not_overlap(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters)
    lines = layout.dendrogram(layout.fusion_tree(top))
    for height in np.unique(lines.bar_height):
        here = np.flatnonzero(lines.bar_height == height)
        here = here[np.argsort(lines.bar_start[here])]
        assert (lines.bar_end[here][:-1] < lines.bar_start[here][1:]).all()


@given(hierarchies(), st.integers(1, 10))
def test_wedges_stand_below_leaves_of_several_rows(hierarchy, max_clusters):
    top = top_of(hierarchy, max_clusters)
    tree = layout.fusion_tree(top)
    lines = layout.dendrogram(tree)
    wedges = layout.leaf_wedges(tree, lines)
    assert wedges.leaf.tolist() == np.flatnonzero(tree.size[: tree.n_leaves] > 1).tolist()
    assert (wedges.corners[:, 0, 0] == lines.x[wedges.leaf]).all()
    assert (wedges.corners[:, :, 1] <= top.first_level).all()
    assert (wedges.corners[:, :, 1] >= wedges.bottom).all()


@given(hierarchies(), st.integers(1, 30))
def test_rectangles_of_a_level_tile_the_width_exactly(hierarchy, max_clusters):
    rectangles = layout.icicle(top_of(hierarchy, max_clusters))
    assert rectangles.level.max() == hierarchy.n_levels
    for level in np.unique(rectangles.level):
        here = rectangles.where(rectangles.level == level)
        assert here.start.tolist() == [0, *here.end[:-1].tolist()]
        assert here.end[-1] == hierarchy.n_rows
        assert (here.end - here.start == here.size).all()
        assert sorted(here.medoid) == sorted(hierarchy.medoids(int(level)))
        assert sorted(here.size) == sorted(hierarchy.sizes(int(level)))


@given(hierarchies(), st.integers(1, 30))
def test_what_a_cluster_was_made_of_lies_within_it(hierarchy, max_clusters):
    rectangles = layout.icicle(top_of(hierarchy, max_clusters))
    for level in np.unique(rectangles.level)[:-1]:
        finer = rectangles.where(rectangles.level == level)
        coarser = rectangles.where(rectangles.level == level + 1)
        above = np.searchsorted(coarser.end, finer.end)
        assert (coarser.start[above] <= finer.start).all()
        assert (coarser.cluster[above] == finer.cluster).all()


def test_leaving_rectangles_out_does_not_move_the_others():
    rectangles = layout.icicle(top_of(FusionHierarchy([0, 0, 0, 3], [0, 1, 2, 0])))
    seen = rectangles.where(rectangles.size > 1)
    assert seen.start.tolist() == [0, 0]
    assert seen.end.tolist() == [2, 3]


def test_the_level_of_single_rows_is_left_out_unless_there_is_no_other():
    assert layout.icicle(top_of(FusionHierarchy([0, 0], [0, 1]))).level.tolist() == [1]
    assert layout.icicle(top_of(FusionHierarchy([0, 1], [0, 0]))).level.tolist() == [0, 0]


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_values_take_the_wanted_share_of_an_axis(log, share):
    values = np.array([3, 40, 5000])
    low, high = limits_with_room(values, share, log=log)
    place = np.log(values / low) / np.log(high / low) if log else (values - low) / (high - low)
    assert place.max() == pytest.approx(share)
    assert place.min() >= 0


def test_a_log_scale_is_for_values_that_span_much():
    assert needs_log_scale(np.array([1000, 3]))
    assert not needs_log_scale(np.array([10, 3]))


@given(st.lists(st.floats(0, 100), max_size=40), st.floats(0.1, 20))
def test_chosen_labels_are_apart_and_every_other_one_meets_one_of_them(places, gap):
    places = np.array(places)
    chosen = layout.choose_apart(places, -np.arange(len(places)), gap)
    assert (np.diff(np.sort(places[chosen])) >= gap).all()
    for i in np.setdiff1d(np.arange(len(places)), chosen):
        assert np.abs(places[chosen] - places[i]).min() < gap


def test_the_largest_clusters_keep_the_order_of_their_numbers():
    assert layout.largest_clusters(np.array([3, 9, 1, 5]), 2).tolist() == [1, 3]


def test_similar_clusters_and_similar_features_are_neighbours():
    rng = np.random.default_rng(0)
    centres = np.array([[9, 9, 0, 0], [0, 0, 9, 9], [9, 8, 0, 1], [0, 1, 9, 8]])[:, [0, 2, 1, 3]]
    labels = np.repeat(np.arange(4), 50)
    X = centres[labels] + rng.normal(size=(200, 4)) * 0.1
    heatmap = arrange_heatmap(read_table(X, np.arange(200)), labels, np.arange(4))
    assert {frozenset(heatmap.clusters[:2].tolist()), frozenset(heatmap.clusters[2:].tolist())} == {
        frozenset({0, 2}),
        frozenset({1, 3}),
    }
    names = [feature.name for feature in heatmap.features]
    assert {frozenset(names[:2]), frozenset(names[2:])} == {
        frozenset({"feature 0", "feature 2"}),
        frozenset({"feature 1", "feature 3"}),
    }


def test_features_without_effect_are_left_out():
    X = np.column_stack([np.repeat([0.0, 1.5], 5), np.full(10, 7.0)])
    heatmap = arrange_heatmap(read_table(X, np.arange(10)), np.repeat([0, 1], 5), np.array([0, 1]))
    assert [feature.name for feature in heatmap.features] == ["feature 0"]


def test_nothing_is_arranged_without_clusters():
    heatmap = arrange_heatmap(read_table(np.ones((3, 2)), np.arange(3)), np.full(3, -1), np.empty(0, dtype=int))
    assert heatmap.features == []
