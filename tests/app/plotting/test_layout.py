"""Geometry of the plots."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cohirf import FusionHierarchy
from cohirf.app.explain.table import read_table
from cohirf.app.plotting import canvas, trees
from cohirf.app.plotting.canvas import Subject, find_subject
from cohirf.app.plotting.heatmap import arrange_heatmap
from hierarchy.strategies import hierarchies


def tree_of(hierarchy, max_clusters):
    return trees.merged_tree(find_subject(hierarchy), max_clusters)


def children(tree, node):
    return np.flatnonzero(tree.parent == node)


@given(hierarchies(), st.integers(1, 30))
def test_final_clusters_stand_in_the_order_of_their_numbers(hierarchy, max_clusters):
    tree = tree_of(hierarchy, max_clusters)
    assert (np.diff(tree.cluster[: tree.n_leaves]) >= 0).all()
    assert tree.n_leaves <= max(max_clusters, hierarchy.cluster_counts()[-1])


@given(hierarchies(), st.integers(1, 30))
def test_the_cluster_of_a_leaf_is_that_of_its_row_in_the_whole_hierarchy(hierarchy, max_clusters):
    tree = tree_of(hierarchy, max_clusters)
    final = hierarchy.cut(level=hierarchy.n_levels)
    assert tree.cluster[: tree.n_leaves].tolist() == final[tree.medoid].tolist()


def test_noise_comes_last():
    hierarchy = FusionHierarchy([0, 1, 2, 3], [0, 0, 0, 0])
    tree = trees.merged_tree(Subject(hierarchy, np.array([-1, 0, -1, 1])), 10)
    assert tree.cluster.tolist() == [0, 1, -1, -1]


@given(hierarchies(), st.integers(1, 30))
def test_a_merge_is_between_its_parts_and_not_below_them(hierarchy, max_clusters):
    tree = tree_of(hierarchy, max_clusters)
    x = tree.places
    assert (np.diff(x[: tree.n_leaves]) > 0.99).all()
    for node in range(tree.n_leaves, len(x)):
        left, right = children(tree, node)
        assert min(x[left], x[right]) < x[node] < max(x[left], x[right])
        assert max(tree.height[left], tree.height[right]) <= tree.height[node] <= tree.top


@given(st.lists(st.floats(0, 100), max_size=40), st.floats(0.1, 20))
def test_chosen_labels_are_apart_and_every_other_one_meets_one_of_them(places, gap):
    places = np.array(places)
    chosen = canvas.choose_apart(places, -np.arange(len(places)), gap)
    assert (np.diff(np.sort(places[chosen])) >= gap).all()
    for i in np.setdiff1d(np.arange(len(places)), chosen):
        assert np.abs(places[chosen] - places[i]).min() < gap


def test_the_largest_clusters_keep_the_order_of_their_numbers():
    assert canvas.largest_clusters(np.array([3, 9, 1, 5]), 2).tolist() == [1, 3]


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
    heatmap = arrange_heatmap(
        read_table(np.ones((3, 2)), np.arange(3)), np.full(3, -1), np.empty(0, dtype=int)
    )
    assert heatmap.features == []
