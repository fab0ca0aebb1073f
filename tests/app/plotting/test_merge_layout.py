"""The tree of pairwise merges as nodes of a dendrogram."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, FusionHierarchy
from cohirf.app.plotting.canvas import find_subject
from cohirf.app.plotting.trees import SEVERAL_CLUSTERS, merged_tree


@pytest.fixture(scope="module")
def grouped():
    """A model whose first level has 30 to 60 clusters, which are merged to four."""
    X, _ = make_blobs(300, 3, centers=4, random_state=1)
    model = CoHiRF(KMeans(16, n_init=1), n_clusters=4, views=3, random_state=0).fit(X)
    assert 10 < model.hierarchy_.tree.n_leaves < 100
    return model


@pytest.fixture(scope="module")
def noisy():
    X, _ = make_blobs(200, 2, centers=[(0, 0), (9, 9), (0, 9)], cluster_std=0.5, random_state=0)
    X[:3] = [(20, 0), (0, 30), (40, 20)]
    return CoHiRF(DBSCAN(eps=0.8), random_state=0).fit(X)


def tree_of(given, max_clusters=50):
    return merged_tree(find_subject(given), max_clusters)


def parts(tree, node):
    return np.flatnonzero(tree.parent == node)


@pytest.mark.parametrize("max_clusters", [4, 7, 500])
def test_every_merge_has_two_parts_below_it_and_the_last_has_all_rows(grouped, max_clusters):
    tree = tree_of(grouped, max_clusters)
    assert tree.n_leaves == min(max_clusters, grouped.hierarchy_.tree.n_leaves)
    assert len(tree.parent) == 2 * tree.n_leaves - 1
    for node in range(tree.n_leaves, len(tree.parent)):
        assert len(parts(tree, node)) == 2
        assert (tree.height[parts(tree, node)] <= tree.height[node]).all()
        assert tree.size[parts(tree, node)].sum() == tree.size[node]
    assert tree.size[-1] == 300


def test_heights_are_those_of_the_linkage(grouped):
    tree = tree_of(grouped, 7)
    assert np.array_equal(tree.height[7:], grouped.hierarchy_.tree.linkage[-6:, 2])


def test_final_clusters_are_nodes_with_their_rows(grouped):
    tree = tree_of(grouped)
    assert sorted(tree.cluster[tree.final]) == [0, 1, 2, 3]
    assert (tree.size[tree.final] == np.bincount(grouped.labels_)[tree.cluster[tree.final]]).all()
    assert (tree.cluster[tree.parent[tree.final]] == SEVERAL_CLUSTERS).all()


def test_the_cut_is_above_the_merges_within_final_clusters_and_below_all_others(grouped):
    tree = tree_of(grouped)
    merges = np.arange(len(tree.parent)) >= tree.n_leaves
    assert (tree.height[merges & (tree.cluster != SEVERAL_CLUSTERS)] < tree.cut_height).all()
    assert (tree.height[merges & (tree.cluster == SEVERAL_CLUSTERS)] > tree.cut_height).all()


def test_a_single_final_cluster_is_cut_above_its_last_merge(blobs):
    model = CoHiRF(KMeans(8, n_init=1), n_clusters=1, views=2, random_state=0).fit(blobs[0])
    tree = tree_of(model)
    assert tree.cut_height > tree.height.max()
    assert tree.final.tolist() == [len(tree.parent) - 1]


def test_lines_of_the_tree_do_not_cross(grouped):
    tree = tree_of(grouped)
    first = np.arange(len(tree.parent))
    last = np.arange(len(tree.parent))
    n_below = (first < tree.n_leaves).astype(int)
    for node in range(tree.n_leaves, len(tree.parent)):
        of_node = parts(tree, node)
        first[node], last[node] = first[of_node].min(), last[of_node].max()
        n_below[node] = n_below[of_node].sum()
        assert last[node] - first[node] + 1 == n_below[node]


def test_a_leaf_has_the_medoid_of_its_cluster_of_a_level(grouped):
    finest = tree_of(grouped, 500)
    last = tree_of(grouped, 4)
    assert sorted(finest.medoid) == sorted(grouped.hierarchy_.tree.medoids)
    assert last.medoid.tolist() == grouped.medoid_indices_[last.cluster[:4]].tolist()


def test_too_many_final_clusters_are_merged(grouped):
    tree = tree_of(grouped, 2)
    merged = grouped.hierarchy_.cut(n_clusters=2)
    assert sorted(tree.size[:2]) == sorted(np.bincount(merged))
    assert (tree.cluster[2], tree.cut_height) == (SEVERAL_CLUSTERS, None)


def test_noise_rows_are_counted_and_not_in_the_tree(noisy):
    tree = tree_of(noisy)
    assert tree.n_noise == (noisy.labels_ < 0).sum() > 0
    assert tree.size[-1] == (noisy.labels_ >= 0).sum()
    assert sorted(tree.cluster[tree.final]) == list(range(noisy.n_clusters_))


def test_a_hierarchy_knows_its_noise_as_its_model_does(noisy):
    assert np.array_equal(find_subject(noisy.hierarchy_).labels, noisy.labels_)


def test_the_leaves_of_a_condensed_hierarchy_are_its_clusters(grouped):
    top = grouped.hierarchy_.condense(10)
    tree = tree_of(top)
    assert sorted(tree.medoid) == sorted(top.rows)
    assert tree.size[-1] == 300


@pytest.mark.filterwarnings("ignore:Nothing fused")
def test_where_nothing_fused_the_rows_are_the_leaves(blobs):
    model = CoHiRF.as_published(DBSCAN(eps=1e-9), random_state=0).fit(blobs[0][:20])
    tree = tree_of(model)
    assert (tree.n_leaves, tree.level, tree.size[-1]) == (20, 0, 20)


def test_levels_are_the_heights_of_a_hierarchy_without_a_tree_and_its_final_clusters_are_apart():
    tree = tree_of(FusionHierarchy([0, 0, 0, 3, 3], [0, 1, 2, 0, 1]))
    assert (tree.height.tolist(), tree.has_levels) == ([0, 0, 0, 0, 0, 1, 1, 2], True)
    assert tree.size[tree.parent < 0].tolist() == [2, 3]
    assert (tree.cluster[:5].tolist(), tree.cut_height) == ([0, 0, 0, 1, 1], None)


def test_all_clusters_of_the_last_level_of_a_hierarchy_without_a_tree_are_drawn(make_hierarchy):
    hierarchy = make_hierarchy(500, 60, 20)
    tree = tree_of(hierarchy, 5)
    assert sorted(tree.size) == sorted(hierarchy.sizes(hierarchy.n_levels))
    assert tree.level == hierarchy.n_levels


def test_a_tree_without_leaves_is_refused(grouped):
    with pytest.raises(ValueError, match="max_clusters=0 is not valid: pass an int >= 1"):
        tree_of(grouped, 0)
