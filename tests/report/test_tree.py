"""The hierarchy as nodes that a reader can walk through."""

import numpy as np
import pytest
from cohirf.report.tree import MAX_LEAVES, describe_tree
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.report.study import check_study


def children(tree):
    parts = {}
    for node, parent in enumerate(tree["parent"]):
        parts.setdefault(parent, []).append(node)
    return parts


@pytest.fixture(scope="module")
def batched():
    """A fit whose first level has far more clusters than a picture can show, and its last a few, some of them small."""
    X, _ = make_blobs([3000, 900, 60, 30, 10], 3, cluster_std=0.3, random_state=0)
    model = CoHiRF.as_published(KMeans(5), n_views=2, batch_size=1000, random_state=0).fit(X)
    assert model.hierarchy_.cluster_counts()[1] > 2 * MAX_LEAVES
    return X, model


def test_final_clusters_are_at_the_top_with_their_sizes(iris, iris_study):
    model = iris[2]
    tree = describe_tree(iris_study)
    tops = children(tree)[-1]
    assert sorted(tree["cluster"][node] for node in tops) == list(range(model.n_clusters_))
    for node in tops:
        assert tree["size"][node] == (model.labels_ == tree["cluster"][node]).sum()
        assert tree["medoid"][node] == model.medoid_indices_[tree["cluster"][node]]


def test_parts_add_up_and_were_made_before(iris_study):
    tree = describe_tree(iris_study)
    for node, parts in children(tree).items():
        if node >= 0:
            assert sum(tree["size"][part] for part in parts) == tree["size"][node]
            assert all(tree["level"][part] < tree["level"][node] for part in parts)
            assert all(tree["depth"][part] == tree["depth"][node] + 1 for part in parts)
            assert tree["medoid"][node] in [tree["medoid"][part] for part in parts]


def test_nodes_are_clusters_of_the_hierarchy(iris, iris_study):
    hierarchy = iris[2].hierarchy_
    tree = describe_tree(iris_study)
    for level, medoid, size in zip(tree["level"], tree["medoid"], tree["size"], strict=True):
        assert len(hierarchy.members(medoid, level)) == size


def test_medoids_carry_their_class(iris, iris_study):
    tree = describe_tree(iris_study)
    assert tree["class"] == iris[1][tree["medoid"]].tolist()


def test_noise_is_one_node_without_parts(noisy):
    X, model = noisy
    tree = describe_tree(check_study(model, X, None, None))
    assert (tree["medoid"][-1], tree["level"][-1], tree["cluster"][-1], tree["parent"][-1]) == (None, None, -1, -1)
    assert tree["size"][-1] == (model.labels_ < 0).sum()
    assert all(cluster >= 0 for cluster in tree["cluster"][:-1])
    assert len(tree["parent"]) - 1 not in children(tree)
    assert tree["n_hidden"] == 0


def test_of_a_hierarchy_that_is_wide_at_once_the_largest_parts_are_shown(batched):
    X, model = batched
    tree = describe_tree(check_study(model, X, None, None))
    parts = children(tree)
    leaves = [node for node in range(len(tree["parent"])) if node not in parts]
    assert len(leaves) == MAX_LEAVES
    assert tree["n_hidden"] == model.hierarchy_.cluster_counts()[tree["first_level"]] - MAX_LEAVES
    assert any(node not in parts for node in parts[-1])  # of a small cluster no part is shown
    for node in parts[-1]:
        assert tree["size"][node] == (model.labels_ == tree["cluster"][node]).sum()
        assert tree["level"][node] == model.hierarchy_.n_levels
        assert sum(tree["size"][part] for part in parts.get(node, [])) <= tree["size"][node]
    absorbed = [tree["size"][node] for node in leaves if tree["medoid"][node] not in model.medoid_indices_]
    sizes = np.sort(model.hierarchy_.sizes(tree["first_level"]))[::-1]
    assert min(absorbed) >= sizes[MAX_LEAVES]


def test_single_rows_of_a_large_fit_are_not_shown(blobs):
    X = np.tile(blobs[0], (2, 1))
    model = CoHiRF.as_published(KMeans(4), n_views=1, random_state=0).fit(X)
    assert model.hierarchy_.n_levels == 1
    tree = describe_tree(check_study(model, X, None, None))
    assert tree["parent"] == [-1] * model.n_clusters_
    assert (tree["first_level"], tree["n_hidden"]) == (1, 0)


def test_of_too_many_final_clusters_the_largest_are_shown():
    X = np.random.default_rng(0).uniform(0, 1000, (900, 2))
    model = CoHiRF.as_published(DBSCAN(eps=10, min_samples=2), n_views=1, random_state=0).fit(X)
    assert model.n_clusters_ > MAX_LEAVES
    tree = describe_tree(check_study(model, X, None, None))
    assert len(tree["parent"]) == MAX_LEAVES
    assert tree["n_hidden"] == model.n_clusters_ - MAX_LEAVES


@pytest.mark.filterwarnings("ignore:.*noise")
def test_where_all_is_noise_there_is_one_node(blobs):
    X = blobs[0]
    tree = describe_tree(check_study(CoHiRF(DBSCAN(eps=1e-9)).fit(X), X, None, None))
    assert (tree["parent"], tree["size"], tree["cluster"], tree["n_hidden"]) == ([-1], [len(X)], [-1], 0)


@pytest.mark.filterwarnings("ignore:Nothing fused")
def test_where_nothing_fused_every_row_is_a_node(blobs):
    X = blobs[0][:20]
    model = CoHiRF.as_published(DBSCAN(eps=1e-9), random_state=0).fit(X)
    tree = describe_tree(check_study(model, X, None, None))
    assert tree["parent"] == [-1] * 20
    assert (tree["first_level"], tree["n_hidden"]) == (0, 0)
