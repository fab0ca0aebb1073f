"""Cuts of a spanning tree into connected clusters."""

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf.beyond.cuts import cut_linkage
from cohirf.beyond.merges.connected import TreeCutter
from cohirf.beyond.neighbour_graph import NeighbourGraph, SpanningTree
from cohirf.beyond.policy import MERGE


def cutter_of(X, mass=None):
    graph = NeighbourGraph(X, mass)
    return TreeCutter(graph.tree, graph.mass)


def chain(lengths):
    """Return the tree of points on a line, given the distances between them."""
    lengths = np.array(lengths, dtype=np.float32)
    order = np.argsort(lengths, kind="stable")
    return SpanningTree(order, order + 1, lengths[order])


def cut_slowly(tree, mass, n_clusters, smallest_part):
    """Cut the longest edge whose sides are large enough, by looking at all edges each time."""
    edges = list(zip(tree.one.tolist(), tree.two.tolist(), tree.lengths.tolist(), strict=True))
    needed = smallest_part * mass.sum() / n_clusters

    def parts_of(kept):
        label = list(range(len(mass)))
        for one, two, _ in kept:
            old = label[two]
            new = label[one]
            label = [new if each == old else each for each in label]
        return np.unique(label, return_inverse=True)[1]

    while len(edges) > len(mass) - n_clusters:
        allowed = []
        for number, (one, two, length) in enumerate(edges):
            part = parts_of(edges[:number] + edges[number + 1 :])
            smaller = min(mass[part == part[one]].sum(), mass[part == part[two]].sum())
            if smaller >= needed:
                allowed.append((length, smaller, -number))
        if not allowed:
            needed /= 2
            continue
        del edges[-max(allowed)[2]]
    return parts_of(edges)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("smallest_part", MERGE.smallest_parts)
def test_cuts_are_those_of_a_search_of_all_edges(seed, smallest_part):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    mass = rng.uniform(0.5, 2, 40)
    graph = NeighbourGraph(X, mass)
    expected = cut_slowly(graph.tree, graph.mass, 4, smallest_part)
    found = TreeCutter(graph.tree, graph.mass).cut(4, smallest_part)
    assert adjusted_rand_score(expected, found) == 1


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_curved_clusters_are_found(make):
    X, y = make(
        400, noise=0.04, random_state=0, **({"factor": 0.4} if make is make_circles else {})
    )
    assert adjusted_rand_score(y, cutter_of(X).cut(2, 0.25)) == 1


def test_an_outlier_on_the_longest_edge_is_no_cluster():
    found = TreeCutter(chain([1, 1, 5, 1, 1, 9]), np.ones(7)).cut(2, 0.4)
    assert found.tolist() == [0, 0, 0, 1, 1, 1, 1]


def test_if_no_part_is_large_enough_smaller_ones_are_cut_off():
    assert len(np.unique(TreeCutter(chain([1, 1, 1]), np.array([1.0, 1, 1, 100])).cut(4, 0.6))) == 4


def test_of_equal_edges_the_one_in_the_middle_is_cut():
    assert TreeCutter(chain([1] * 5), np.ones(6)).cut(2, 0.25).tolist() == [0, 0, 0, 1, 1, 1]


def test_clusters_have_the_least_mass_that_is_asked_for():
    mass = np.ones(7)
    assert TreeCutter(chain([1, 9, 1, 5, 1, 1]), mass).cut(2, 0.25, min_mass=3).tolist() == [
        0,
        0,
        0,
        0,
        1,
        1,
        1,
    ]


def test_edges_of_length_zero_are_not_cut():
    assert np.unique(TreeCutter(chain([0, 0, 3]), np.ones(4)).cut(4, 0.25)).tolist() == [0, 1]


@pytest.mark.parametrize("n_clusters", [1, 2, 7])
def test_the_linkage_has_the_same_cut_and_finer_ones_of_large_parts(n_clusters):
    X = np.random.default_rng(3).normal(size=(300, 2))
    cutter = cutter_of(X)
    linkage = cutter.link(n_clusters, 40, 0.25)
    assert linkage.shape == (299, 4)
    assert (np.diff(linkage[:, 2]) >= 0).all()
    assert adjusted_rand_score(cut_linkage(linkage, n_clusters), cutter.cut(n_clusters, 0.25)) == 1
    sizes = np.bincount(cut_linkage(linkage, 20))
    assert sizes.min() >= 0.25 * 300 / 20


def test_a_single_point_is_a_cluster():
    cutter = cutter_of(np.ones((3, 2)))
    assert cutter.cut(2, 0.25).tolist() == [0]
    assert cutter.link(1, 5, 0.25).shape == (0, 4)
