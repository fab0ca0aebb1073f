"""The top of a tree as nested nodes, and what a notebook shows of a hierarchy."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, FusionHierarchy
from cohirf.beyond.merge_tree import MergeTree
from cohirf.hierarchy.outline import final_labels, find_siblings, make_outline, say_node


@pytest.fixture(scope="module")
def model():
    X, _ = make_blobs(300, centers=6, random_state=0)
    return CoHiRF(n_clusters=6, random_state=0).fit(X)


@pytest.fixture
def with_tree():
    """Six rows: 1 joins 0 and 3 joins 2 at level 1; the tree merges 0 with 2, then with 4.

    5 is noise.
    """
    tree = MergeTree(np.array([0, 2, 4]), np.array([[0, 1, 1.0, 2], [2, 3, 4.0, 3]]), level=1)
    return FusionHierarchy([0, 0, 2, 2, 4, 5], [0, 1, 0, 1, 0, 0], tree=tree)


def leaves_of(outline):
    return [node for node in outline.root.walk() if not node.children]


def test_leaves_are_the_final_clusters_and_sizes_add_up(model):
    outline = make_outline(model.hierarchy_, model.labels_)
    sizes = np.bincount(model.labels_)
    assert sorted((leaf.cluster, leaf.size) for leaf in leaves_of(outline)) == list(
        enumerate(sizes.tolist())
    )
    assert outline.root.n_clusters == 6
    for node in outline.root.walk():
        assert node.size == (sum(child.size for child in node.children) or node.size)
        assert all(child.height <= node.height for child in node.children)
        assert [child.size for child in node.children] == sorted(
            (child.size for child in node.children), reverse=True
        )


@pytest.mark.parametrize("n_leaves", [1, 2, 10])
def test_any_cut_of_the_tree_has_an_outline(model, n_leaves):
    outline = make_outline(model.hierarchy_, model.labels_, n_leaves)
    leaves = leaves_of(outline)
    assert len(leaves) == n_leaves
    labels = model.hierarchy_.cut(n_clusters=n_leaves)
    for leaf in leaves:
        inside = np.isin(labels, leaf.groups)
        assert leaf.size == inside.sum()
        finals = np.unique(model.labels_[inside]).tolist()
        assert leaf.n_clusters == len(finals)
        assert leaf.cluster == (finals[0] if len(finals) == 1 else None)


def test_a_condensed_hierarchy_counts_rows(model):
    top = model.hierarchy_.condense(20)
    outline = make_outline(top, final_labels(top))
    assert outline.root.size == 300
    assert sorted(leaf.size for leaf in leaves_of(outline)) == sorted(
        np.bincount(model.labels_).tolist()
    )


def test_parts_of_a_cluster_are_counted_once_and_small_groups_and_noise_not_at_all(with_tree):
    # row 4 is a cluster too small
    outline = make_outline(with_tree, np.array([7, 7, 7, 7, -1, -1]), n_leaves=3)
    assert outline.n_noise == 1
    root = outline.root
    assert [
        (node.size, node.height, node.groups, node.n_clusters, node.cluster) for node in root.walk()
    ] == [
        (5, 4.0, (2, 0, 1), 1, 7),
        (4, 1.0, (0, 1), 1, 7),
        (2, 0.0, (0,), 1, 7),
        (2, 0.0, (1,), 1, 7),
        (1, 0.0, (2,), 0, None),
    ]
    assert [say_node(node) for node in root.children] == ["cluster 7, 4 rows", "1 row"]


def test_levels_are_the_merges_of_a_hierarchy_without_a_tree():
    hierarchy = FusionHierarchy([0, 0, 0, 3, 3], [0, 1, 2, 0, 1])
    root = make_outline(hierarchy, final_labels(hierarchy)).root
    assert [(node.size, node.height, node.cluster) for node in root.walk()] == [
        (5, 3, None),
        (3, 0, 0),
        (2, 0, 1),
    ]
    finest = make_outline(hierarchy, final_labels(hierarchy), n_leaves=4).root
    assert [(node.size, node.height) for node in finest.walk() if node.children] == [
        (5, 3),
        (3, 2),
        (2, 1),
    ]


def test_the_sibling_of_a_cluster_is_the_branch_that_it_merges_with():
    linkage = np.array([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 6, 3.0, 3], [5, 7, 4.0, 5]])
    tree = MergeTree(np.arange(5), linkage, level=0)  # ((0 1) (4 (2 3)))
    assert find_siblings(tree, np.arange(5)) == {0: (1,), 1: (0,), 2: (3,), 3: (2,), 4: (2, 3)}
    assert find_siblings(tree, np.array([7, 7, 2, 2, 9])) == {2: (9,), 9: (2,), 7: (2, 9)}
    assert find_siblings(tree, np.array([7, 7, 2, -1, 9])) == {2: (9,), 9: (2,), 7: (2, 9)}
    assert find_siblings(tree, np.array([5, 5, 5, 5, 5])) == {}


def test_there_is_no_outline_without_clusters():
    none = np.full(2, -1)
    no_leaves = MergeTree(np.empty(0, dtype=int), np.empty((0, 4)), level=1)
    noise = FusionHierarchy([0, 1], [0, 0], tree=no_leaves)
    assert make_outline(noise, none) is None
    assert final_labels(noise).tolist() == none.tolist()


def test_nodes_are_said_in_words(model):
    assert say_node(make_outline(model.hierarchy_, model.labels_).root) == "6 clusters, 300 rows"


def test_a_notebook_shows_the_tree_as_text(with_tree):
    assert with_tree._repr_html_().splitlines() == [
        "<pre>6 rows",
        "├─ 2 clusters, 4 rows",
        "│  ├─ cluster 0, 2 rows",
        "│  └─ cluster 1, 2 rows",
        "└─ cluster 2, 1 row",
        "</pre>",
    ]
