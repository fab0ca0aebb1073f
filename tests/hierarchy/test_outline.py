"""The top of a tree as nested nodes, and what a notebook shows of a hierarchy."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, FusionHierarchy
from cohirf.algorithm.merge_tree import MergeTree
from cohirf.hierarchy.outline import draw_tree, final_labels, make_outline, say_node


@pytest.fixture(scope="module")
def model():
    X, _ = make_blobs(300, centers=6, random_state=0)
    return CoHiRF(n_clusters=6, random_state=0).fit(X)


@pytest.fixture
def with_tree():
    """Six rows: 1 joins 0 and 3 joins 2 at level 1; the tree merges 0 with 2, then with 4; 5 is noise."""
    tree = MergeTree(np.array([0, 2, 4]), np.array([[0, 1, 1.0, 2], [2, 3, 4.0, 3]]), level=1)
    return FusionHierarchy([0, 0, 2, 2, 4, 5], [0, 1, 0, 1, 0, 0], tree=tree)


def leaves_of(outline):
    return [node for node in outline.root.walk() if not node.children]


def test_leaves_are_the_final_clusters_and_sizes_add_up(model):
    outline = make_outline(model.hierarchy_, model.labels_)
    sizes = np.bincount(model.labels_)
    assert sorted((leaf.cluster, leaf.size) for leaf in leaves_of(outline)) == list(enumerate(sizes.tolist()))
    assert outline.root.n_clusters == 6
    for node in outline.root.walk():
        assert node.size == (sum(child.size for child in node.children) or node.size)
        assert all(child.height <= node.height for child in node.children)
        assert [child.size for child in node.children] == sorted((child.size for child in node.children), reverse=True)


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
    assert sorted(leaf.size for leaf in leaves_of(outline)) == sorted(np.bincount(model.labels_).tolist())


def test_parts_of_a_cluster_are_counted_once_and_small_groups_and_noise_not_at_all(with_tree):
    outline = make_outline(with_tree, np.array([7, 7, 7, 7, -1, -1]), n_leaves=3)  # row 4 is a cluster too small
    assert outline.n_noise == 1
    root = outline.root
    assert [(node.size, node.height, node.groups, node.n_clusters, node.cluster) for node in root.walk()] == [
        (5, 4.0, (2, 0, 1), 1, 7),
        (4, 1.0, (0, 1), 1, 7),
        (2, 0.0, (0,), 1, 7),
        (2, 0.0, (1,), 1, 7),
        (1, 0.0, (2,), 0, None),
    ]
    assert [say_node(node) for node in root.children] == ["cluster 7, 4 rows", "1 row"]


def test_there_is_no_outline_without_a_tree_or_without_clusters():
    none = np.full(2, -1)
    no_leaves = MergeTree(np.empty(0, dtype=int), np.empty((0, 4)), level=1)
    noise = FusionHierarchy([0, 1], [0, 0], tree=no_leaves)
    assert make_outline(FusionHierarchy([0, 0], [0, 1]), np.zeros(2, dtype=int)) is None
    assert make_outline(noise, none) is None
    assert final_labels(noise).tolist() == none.tolist()


def test_nodes_are_said_in_words(model):
    assert say_node(make_outline(model.hierarchy_, model.labels_).root) == "6 clusters, 300 rows"


# -- what a notebook shows -----------------------------------------------------------------------------------------


def bars(page):
    """Return name, colour, width in per cent and value of each bar."""
    bar = (
        r"<span>([^<]*)</span><span style='background:([^;]*);[^>]*width:([^%]*)%[^>]*></span><span[^>]*>([^<]*)</span>"
    )
    return [(name, colour, float(width), value) for name, colour, width, value in re.findall(bar, page)]


def texts(page):
    return [text.strip() for text in re.split("<[^>]*>", page) if text.strip()]


def test_levels_and_clusters_have_bars():
    page = FusionHierarchy(parents=[0, 0, 0, 3, 3, 5], absorbed_at=[0, 1, 1, 0, 1, 0])._repr_html_()
    blue, green = "#0072B2", "#009E73"
    assert bars(page) == [
        ("level 0", blue, 100.0, "6 clusters"),
        ("level 1", blue, 71.2, "3 clusters"),  # log(3 + 1) / log(6 + 1)
        ("medoid 0", green, 100.0, "3 rows"),
        ("medoid 3", green, 66.7, "2 rows"),
        ("medoid 5", green, 33.3, "1 rows"),
    ]
    assert texts(page)[:3] == ["Cluster Fusion Hierarchy", "of 6 rows", "level 0"]
    assert len(texts(page)) == 2 + 2 * 5  # nothing beside a title, and name and value of each bar


def test_the_eight_largest_clusters_are_shown_and_the_others_counted():
    n, n_alone = 1200, 40
    parents = np.where(np.arange(n) <= n_alone, np.arange(n), 0)  # medoid 0 stands for all rows but the next forty
    page = FusionHierarchy(parents, (np.arange(n) > n_alone).astype(int))._repr_html_()
    assert "of 1,200 rows" in texts(page)
    clusters = [(name, width, value) for name, _, width, value in bars(page)[2:]]
    assert clusters == [("medoid 0", 100.0, "1,160 rows"), *((f"medoid {k}", 1.0, "1 rows") for k in range(1, 8))]
    assert texts(page)[-1] == "and 33 smaller ones"
    assert page.count("<div") == page.count("</div>")


def test_a_tree_is_drawn_with_its_root_on_the_left_and_a_disc_for_each_leaf(with_tree):
    page = with_tree._repr_html_()
    assert texts(page) == ["Tree of 6 rows", "cluster 0, 2 rows", "cluster 1, 2 rows", "cluster 2, 1 row"]
    discs = re.findall(r"<circle cx='240' cy='([^']*)' r='([^']*)' fill='([^']*)'/>", page)
    assert discs == [("11.0", "6.3", "#0072B2"), ("33.0", "6.3", "#0072B2"), ("55.0", "5.2", "#0072B2")]
    (path,) = re.findall("<path d='([^']*)'", page)  # at a quarter of the height of the root, and the root
    assert path == "M166.0 11.0H240.0M166.0 33.0H240.0M166.0 11.0V33.0M4.0 22.0H166.0M4.0 55.0H240.0M4.0 22.0V55.0"


def test_texts_beside_a_tree_are_escaped_and_shortened_and_parts_too_small_have_another_colour(with_tree):
    outline = make_outline(with_tree, np.full(6, -1), n_leaves=1)
    page = draw_tree(outline, "<b>", lambda node: "<" * 91)
    assert "<b>&lt;b&gt;</b>" in page
    assert f">{'&lt;' * 89}…</text>" in page
    assert "fill='#D55E00'" in page
