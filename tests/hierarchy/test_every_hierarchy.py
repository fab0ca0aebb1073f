"""Properties of every hierarchy: cuts, sizes, lineage, condensing, formats."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, is_valid_linkage
from strategies import hierarchies, slow_roots

from cohirf import FusionHierarchy


def number_by_first_appearance(values):
    names = {value: number for number, value in enumerate(dict.fromkeys(values))}
    return [names[value] for value in values]


@given(hierarchies())
def test_a_cut_follows_parents_up_to_its_level(hierarchy):
    for level in range(hierarchy.n_levels + 1):
        roots = slow_roots(hierarchy, level)
        assert hierarchy.cut(level=level).tolist() == number_by_first_appearance(roots)
        assert hierarchy.medoids(level).tolist() == list(dict.fromkeys(roots))


@given(hierarchies())
def test_cuts_are_nested_and_sizes_add_up(hierarchy):
    finer = np.arange(hierarchy.n_rows)
    for level in range(hierarchy.n_levels + 1):
        labels = hierarchy.cut(level=level)
        assert len(set(zip(finer.tolist(), labels.tolist(), strict=True))) == len(
            set(finer.tolist())
        )
        assert hierarchy.sizes(level).tolist() == np.bincount(labels).tolist()
        assert len(hierarchy.sizes(level)) == hierarchy.cluster_counts()[level]
        finer = labels


@given(hierarchies())
def test_members_are_the_rows_of_a_cluster(hierarchy):
    for level in range(hierarchy.n_levels + 1):
        labels = hierarchy.cut(level=level)
        for label, medoid in enumerate(hierarchy.medoids(level).tolist()):
            assert (
                hierarchy.members(medoid, level).tolist()
                == np.flatnonzero(labels == label).tolist()
            )


@given(hierarchies(), st.integers(0, 29))
def test_lineage_agrees_with_the_cut_at_each_level(hierarchy, row):
    row %= hierarchy.n_rows
    steps = hierarchy.lineage(row)
    assert [step.level for step in steps] == list(range(hierarchy.n_levels + 1))
    for step in steps:
        label = hierarchy.cut(level=step.level)[row]
        assert step.medoid == hierarchy.medoids(step.level)[label]
        assert step.size == hierarchy.sizes(step.level)[label]


@given(hierarchies(), st.integers(1, 30))
def test_a_condensed_hierarchy_has_the_same_upper_levels(hierarchy, max_clusters):
    top = hierarchy.condense(max_clusters)
    counts = hierarchy.cluster_counts()
    first = (
        int(np.argmax(counts <= max_clusters)) if counts[-1] <= max_clusters else hierarchy.n_levels
    )
    assert top.n_rows == counts[first]
    assert top.row_sizes.sum() == hierarchy.n_rows
    for level in range(first, hierarchy.n_levels + 1):
        expected = dict(
            zip(hierarchy.medoids(level).tolist(), hierarchy.sizes(level).tolist(), strict=True)
        )
        above = min(level - first, top.n_levels)
        found = dict(zip(top.medoids(above).tolist(), top.sizes(above).tolist(), strict=True))
        if level - first <= top.n_levels:
            assert found == expected


@given(hierarchies(), st.integers(1, 30))
def test_json_round_trips(hierarchy, max_clusters):
    assert FusionHierarchy.from_json(hierarchy.to_json()) == hierarchy
    top = hierarchy.condense(max_clusters)
    assert FusionHierarchy.from_json(top.to_json()) == top


def same_partition(left, right):
    pairs = set(zip(np.asarray(left).tolist(), np.asarray(right).tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


@given(hierarchies().filter(lambda h: h.n_rows > 1))
def test_cutting_the_linkage_at_a_level_gives_the_cut(hierarchy):
    linkage = hierarchy.to_linkage()
    assert is_valid_linkage(linkage, throw=True)
    for level in range(hierarchy.n_levels + 1):
        assert same_partition(
            fcluster(linkage, level, criterion="distance"), hierarchy.cut(level=level)
        )
    assert linkage[-1, 3] == hierarchy.n_rows


@given(hierarchies())
def test_newick_has_every_row_as_a_leaf_once(hierarchy):
    leaves = re.findall(r"(?<=[(,])\d+|^\d+", hierarchy.to_newick())
    assert sorted(map(int, leaves)) == list(range(hierarchy.n_rows))
