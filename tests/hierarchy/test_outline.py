"""The top of a tree as nested nodes, and what a notebook shows of a hierarchy."""

import re

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF, FusionHierarchy
from cohirf.hierarchy.outline import final_labels, make_outline, say_node


@pytest.fixture(scope="module")
def model():
    X, _ = make_blobs(300, centers=6, random_state=0)
    return CoHiRF(n_clusters=6, random_state=0).fit(X)


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


def test_noise_is_counted_apart():
    X = np.concatenate([np.random.default_rng(0).normal(size=(100, 2)), [[50.0, 50.0]]])
    model = CoHiRF(DBSCAN(eps=1.5)).fit(X)
    outline = make_outline(model.hierarchy_, model.labels_)
    assert (outline.root.size, outline.n_noise) == (100, 1)


def test_there_is_no_outline_without_a_tree_or_without_clusters():
    assert make_outline(FusionHierarchy([0, 0], [0, 1]), np.zeros(2, dtype=int)) is None
    with pytest.warns(ConvergenceWarning, match="noise"):
        model = CoHiRF(DBSCAN(eps=1e-6)).fit(np.random.default_rng(0).normal(size=(60, 2)))
    assert make_outline(model.hierarchy_, model.labels_) is None


def test_nodes_are_said_in_words(model):
    root = make_outline(model.hierarchy_, model.labels_).root
    assert say_node(root) == "6 clusters, 300 rows"
    leaf = next(node for node in root.walk() if not node.children)
    assert say_node(leaf) == f"cluster {leaf.cluster}, {leaf.size} rows"


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
