"""A hierarchy in the formats of others."""

import json
import re
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from scipy.cluster.hierarchy import dendrogram, fcluster, is_valid_linkage
from strategies import hierarchies

from cohirf import FusionHierarchy


@pytest.fixture
def hierarchy():
    """Six rows: 1 and 2 join 0, and 4 joins 3, at level 1; 3 joins 0 at level 2; 5 stays alone."""
    return FusionHierarchy(parents=[0, 0, 0, 0, 3, 5], absorbed_at=[0, 1, 1, 2, 1, 0])


def same_partition(left, right):
    pairs = set(zip(np.asarray(left).tolist(), np.asarray(right).tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@given(hierarchies().filter(lambda h: h.n_rows > 1))
def test_cutting_the_linkage_at_a_level_gives_the_cut(hierarchy):
    linkage = hierarchy.to_linkage()
    assert is_valid_linkage(linkage, throw=True)
    for level in range(hierarchy.n_levels + 1):
        assert same_partition(fcluster(linkage, level, criterion="distance"), hierarchy.cut(level=level))
    assert linkage[-1, 3] == hierarchy.n_rows


def test_a_multi_way_fusion_becomes_ties(hierarchy):
    linkage = hierarchy.to_linkage()
    assert linkage[:, 2].tolist() == [1, 1, 1, 2, 3]
    assert linkage[:, 3].tolist() == [2, 3, 2, 5, 6]
    assert len(dendrogram(linkage, no_plot=True)["leaves"]) == 6


def test_the_linkage_of_a_condensed_hierarchy_is_valid(hierarchy):
    assert is_valid_linkage(hierarchy.condense(3).to_linkage(), throw=True)


def test_a_single_row_has_an_empty_linkage():
    assert FusionHierarchy([0], [0]).to_linkage().shape == (0, 4)


def test_tables_have_a_line_per_row(hierarchy):
    frame = hierarchy.to_frame()
    assert frame.parent.tolist() == [0, 0, 0, 0, 3, 5]
    assert frame.absorbed_at.tolist() == [0, 1, 1, 2, 1, 0]
    assert frame.cluster.tolist() == [0, 0, 0, 0, 0, 1]
    table = hierarchy.to_arrow()
    assert table.column_names == ["row", "parent", "absorbed_at", "cluster"]
    assert table["parent"].to_pylist() == frame.parent.tolist()
    assert table["row"].type == table["parent"].type == table["cluster"].type == "int32"


def test_tables_of_a_condensed_hierarchy_have_rows_of_the_data(hierarchy):
    frame = hierarchy.condense(3).to_frame()
    assert frame.index.tolist() == [0, 3, 5]
    assert frame.parent.tolist() == [0, 0, 5]
    assert frame["size"].tolist() == [3, 2, 1]


def test_the_graph_points_from_absorbed_rows_to_medoids(hierarchy):
    graph = hierarchy.to_networkx()
    assert sorted(graph.edges(data="level")) == [(1, 0, 1), (2, 0, 1), (3, 0, 2), (4, 3, 1)]
    assert nx.is_forest(graph)
    assert graph.nodes[4]["cluster"] == 0


def test_newick_keeps_multi_way_fusions(hierarchy):
    assert hierarchy.to_newick() == "(((0:1,1:1,2:1)0:1,(3:1,4:1)3:1)0:1,5:3);"


def test_newick_of_a_condensed_hierarchy_has_rows_of_the_data(hierarchy):
    assert hierarchy.condense(3).to_newick() == "((0:1,3:1)0:1,5:2);"


def test_newick_of_one_cluster_has_a_named_root():
    assert FusionHierarchy([0, 0], [0, 1]).to_newick() == "(0:1,1:1)0;"
    assert FusionHierarchy([0], [0]).to_newick() == "0;"


@given(hierarchies())
def test_newick_has_every_row_as_a_leaf_once(hierarchy):
    leaves = re.findall(r"(?<=[(,])\d+|^\d+", hierarchy.to_newick())
    assert sorted(map(int, leaves)) == list(range(hierarchy.n_rows))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "This text is not the JSON of a hierarchy: "),
        ("[" * 100_000, "This text is not the JSON of a hierarchy: "),
        ("[1]", 'it lacks "format": "cohirf.FusionHierarchy"'),
        ('{"format": "other"}', 'it lacks "format": "cohirf.FusionHierarchy"'),
        (
            '{"format": "cohirf.FusionHierarchy", "version": 2}',
            "has format version 2, but this version of cohirf reads version 1",
        ),
        ('{"format": "cohirf.FusionHierarchy", "version": 1, "parents": [0]}', "lacks absorbed_at: it was truncated"),
        (
            '{"format": "cohirf.FusionHierarchy", "version": 1, "parents": ["a"], "absorbed_at": [0]}',
            "parents must be a one-dimensional array of integers",
        ),
        (
            '{"format": "cohirf.FusionHierarchy", "version": 1, "parents": [], "absorbed_at": []}',
            "parents has 0 rows: a hierarchy needs at least one",
        ),
        (
            '{"format": "cohirf.FusionHierarchy", "version": 1, "parents": [1, 0], "absorbed_at": [1, 1]}',
            "parents is not a fusion hierarchy",
        ),
    ],
)
def test_json_that_is_not_a_hierarchy_is_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        FusionHierarchy.from_json(text)


def test_json_says_what_it_is(hierarchy):
    content = json.loads(hierarchy.to_json())
    assert content["format"] == "cohirf.FusionHierarchy"
    assert content["parents"] == [0, 0, 0, 0, 3, 5]
    assert set(content) == {"format", "version", "parents", "absorbed_at"}
    assert " " not in hierarchy.to_json()


@pytest.mark.parametrize(
    ("method", "package", "extra"),
    [("to_frame", "pandas", "frame"), ("to_arrow", "pyarrow", "arrow"), ("to_networkx", "networkx", "networkx")],
)
def test_a_missing_package_is_named_with_its_extra(hierarchy, method, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=re.escape(f'{method} needs {package}: install it with pip install "cohirf[{extra}]"')
    ):
        getattr(hierarchy, method)()
