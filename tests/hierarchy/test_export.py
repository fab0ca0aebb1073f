"""A hierarchy in the formats of others."""

import json
import re
import sys

import networkx as nx
import numpy as np
import pytest
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage

from cohirf import FusionHierarchy
from cohirf.beyond.merge_tree import MergeTree

PAIR = np.array([[0, 1, 3.0, 2]])
NO_LEAVES = MergeTree(np.empty(0, dtype=int), np.empty((0, 4)), level=1)


@pytest.fixture
def hierarchy():
    """Six rows: 1 and 2 join 0, and 4 joins 3, at level 1; 3 joins 0 at level 2; 5 stays alone."""
    return FusionHierarchy(parents=[0, 0, 0, 0, 3, 5], absorbed_at=[0, 1, 1, 2, 1, 0])


@pytest.fixture
def with_tree():
    """Six rows: 1 joins 0 and 3 joins 2 at level 1; the tree merges 0 with 2, then with 4.

    5 is noise.
    """
    tree = MergeTree(np.array([0, 2, 4]), np.array([[0, 1, 1.0, 2], [2, 3, 4.0, 3]]), level=1)
    return FusionHierarchy([0, 0, 2, 2, 4, 5], [0, 1, 0, 1, 0, 0], tree=tree)


# -- scipy ---------------------------------------------------------------------------------------------------------


def test_a_multi_way_fusion_becomes_ties(hierarchy):
    linkage = hierarchy.to_linkage()
    assert linkage[:, 2].tolist() == [1, 1, 1, 2, 3]
    assert linkage[:, 3].tolist() == [2, 3, 2, 5, 6]
    assert len(dendrogram(linkage, no_plot=True)["leaves"]) == 6
    assert is_valid_linkage(hierarchy.condense(3).to_linkage(), throw=True)


def test_levels_are_below_the_lowest_merge_and_noise_joins_last(with_tree):
    below = [[0, 1, 0.5, 2], [2, 3, 0.5, 2]]
    assert with_tree.to_linkage().tolist() == [
        *below,
        [6, 7, 1.0, 4],
        [4, 8, 4.0, 5],
        [5, 9, 4.0, 6],
    ]
    assert with_tree.condense(4).to_linkage().tolist() == [
        [0, 1, 1.0, 2],
        [2, 4, 4.0, 3],
        [3, 5, 4.0, 4],
    ]


@pytest.mark.parametrize(
    ("parents", "absorbed_at", "tree", "linkage"),
    [
        ([0], [0], None, []),
        # rows of noise join one after the other
        (
            [0, 1, 2, 3, 4],
            [0, 0, 0, 0, 0],
            MergeTree(np.array([1, 3]), PAIR, level=1),
            [[1, 3, 3.0, 2], [0, 5, 3.0, 3], [2, 6, 3.0, 4], [4, 7, 3.0, 5]],
        ),
        # even where every row is noise, also if some have fused
        ([0, 1, 2], [0, 0, 0], NO_LEAVES, [[0, 1, 1.0, 2], [2, 3, 1.0, 3]]),
        ([0, 0, 2], [0, 1, 0], NO_LEAVES, [[0, 1, 0.5, 2], [2, 3, 1.0, 3]]),
        # a tree of one leaf
        ([0, 1], [0, 0], MergeTree(np.array([1]), np.empty((0, 4)), level=0), [[0, 1, 1.0, 2]]),
        # levels above the tree do not change its linkage
        (
            [0, 0, 0],
            [0, 1, 2],
            MergeTree(np.array([0, 2]), PAIR, level=1),
            [[0, 1, 1.5, 2], [2, 3, 3.0, 3]],
        ),
        # two levels below the tree have two heights
        (
            [0, 0, 0, 3],
            [0, 1, 2, 0],
            MergeTree(np.array([0, 3]), PAIR, level=2),
            [[0, 1, 1.0, 2], [2, 4, 2.0, 3], [3, 5, 3.0, 4]],
        ),
    ],
)
def test_the_linkage_has_levels_then_the_tree_then_noise(parents, absorbed_at, tree, linkage):
    found = FusionHierarchy(parents, absorbed_at, tree=tree).to_linkage()
    assert found.shape == (len(parents) - 1, 4)
    assert found.tolist() == linkage


# -- tables, graphs, text


def test_tables_have_a_line_per_row(hierarchy):
    frame = hierarchy.to_frame()
    assert frame.parent.tolist() == [0, 0, 0, 0, 3, 5]
    assert frame.absorbed_at.tolist() == [0, 1, 1, 2, 1, 0]
    assert frame.cluster.tolist() == [0, 0, 0, 0, 0, 1]
    assert frame.reset_index().columns.tolist() == ["row", "parent", "absorbed_at", "cluster"]
    assert frame.parent.dtype == frame.cluster.dtype == np.int32


def test_tables_of_a_condensed_hierarchy_have_rows_of_the_data(hierarchy):
    frame = hierarchy.condense(3).to_frame()
    assert frame.index.tolist() == [0, 3, 5]
    assert frame.parent.tolist() == [0, 0, 5]
    assert frame["size"].tolist() == [3, 2, 1]


def test_the_graph_points_from_absorbed_rows_to_medoids(hierarchy):
    graph = hierarchy.to_networkx()
    assert sorted(graph.edges(data="level")) == [(1, 0, 1), (2, 0, 1), (3, 0, 2), (4, 3, 1)]
    assert nx.is_forest(graph)
    assert graph.nodes[4] == {"parent": 3, "absorbed_at": 1, "cluster": 0}


def test_newick_keeps_multi_way_fusions_and_names_the_root_of_a_single_cluster(hierarchy):
    assert hierarchy.to_newick() == "(((0:1,1:1,2:1)0:1,(3:1,4:1)3:1)0:1,5:3);"
    assert hierarchy.condense(3).to_newick() == "((0:1,3:1)0:1,5:2);"  # rows of the data
    assert FusionHierarchy([0, 0], [0, 1]).to_newick() == "(0:1,1:1)0;"
    assert FusionHierarchy([0], [0]).to_newick() == "0;"


def test_newick_lists_final_clusters_by_number_and_not_by_medoid():
    # cluster 0 has row 0, and its medoid is row 3
    hierarchy = FusionHierarchy([3, 1, 1, 3], [1, 0, 1, 0])
    assert hierarchy.cut(level=1).tolist() == [0, 1, 1, 0]
    assert hierarchy.to_newick() == "((3:1,0:1)3:1,(1:1,2:1)1:1);"


@pytest.mark.parametrize(
    ("method", "package", "extra"),
    [("to_frame", "pandas", "frame"), ("to_networkx", "networkx", "networkx")],
)
def test_a_missing_package_is_named_with_its_extra(hierarchy, method, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError,
        match=re.escape(f'{method} needs {package}: install it with pip install "cohirf[{extra}]"'),
    ):
        getattr(hierarchy, method)()


# -- JSON ----------------------------------------------------------------------------------------------------------


def test_json_says_what_it_is(hierarchy):
    content = json.loads(hierarchy.to_json())
    assert content["format"] == "cohirf.FusionHierarchy"
    assert content["parents"] == [0, 0, 0, 0, 3, 5]
    assert set(content) == {"format", "version", "parents", "absorbed_at"}
    assert " " not in hierarchy.to_json()


def test_json_keeps_the_tree(with_tree):
    without_leaves = FusionHierarchy([0, 1], [0, 0], tree=NO_LEAVES)
    for hierarchy in (with_tree, without_leaves):
        assert FusionHierarchy.from_json(hierarchy.to_json()) == hierarchy


OURS = '{"format": "cohirf.FusionHierarchy", "version": '


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "This text is not the JSON of a hierarchy: "),
        ("[" * 100_000, "This text is not the JSON of a hierarchy: "),
        ("[1]", 'it lacks "format": "cohirf.FusionHierarchy"'),
        ('{"format": "other"}', 'it lacks "format": "cohirf.FusionHierarchy"'),
        (OURS + "2}", "has format version 2, but this version of cohirf reads version 1"),
        (OURS + '1, "parents": [0]}', "lacks absorbed_at: it was truncated"),
        (
            OURS + '1, "parents": ["a"], "absorbed_at": [0]}',
            "parents must be a one-dimensional array of integers",
        ),
        (
            OURS + '1, "parents": [], "absorbed_at": []}',
            "parents has 0 rows: a hierarchy needs at least one",
        ),
        (
            OURS + '1, "parents": [1, 0], "absorbed_at": [1, 1]}',
            "parents is not a fusion hierarchy",
        ),
    ],
)
def test_json_that_is_not_a_hierarchy_is_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        FusionHierarchy.from_json(text)


@pytest.mark.parametrize(
    "change",
    [
        {"level": 0.5},
        {"level": None},
        {"medoids": ["a"]},
        {"linkage": [[1.0, 2.0]]},
        {"linkage": {}},
    ],
)
def test_json_with_a_tree_that_cannot_be_read_is_refused(with_tree, change):
    content = json.loads(with_tree.to_json())
    content["tree"] |= change
    with pytest.raises(ValueError, match="has a tree that cannot be read"):
        FusionHierarchy.from_json(json.dumps(content))
