"""Connected merges: the spanning tree, and merges along it with even masses."""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage, linkage

from cohirf.beyond import connected
from cohirf.beyond.choose_merge import cut_linkage
from cohirf.beyond.connected import Sizes, SpanningTree, link_connected

POINTS = np.random.default_rng(0).normal(size=(120, 3))


def gini(masses):
    differences = np.abs(np.subtract.outer(masses, masses)).sum() / 2
    return differences / ((len(masses) - 1) * np.sum(masses))


def in_halves(X):
    """Return a CSR matrix whose cells are stored as two halves each, which add up."""
    n_rows, n_columns = X.shape
    columns, starts = np.tile(np.arange(n_columns), 2 * n_rows), np.arange(0, 2 * X.size + 1, 2 * n_columns)
    return sparse.csr_array((np.hstack([X / 2, X / 2]).ravel(), columns, starts), shape=X.shape)


@pytest.mark.parametrize("max_cells", [0, connected.MAX_CELLS])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, in_halves])
def test_the_spanning_tree_is_the_lightest(container, max_cells, monkeypatch):
    monkeypatch.setattr(connected, "MAX_CELLS", max_cells)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(120, 6)) * (rng.random((120, 6)) < 0.5)
    tree = SpanningTree(container(points))
    assert tree.lengths.sum() == pytest.approx(linkage(points, "single")[:, 2].sum(), rel=1e-5)
    assert (np.diff(tree.lengths) >= 0).all()
    assert (tree.one < tree.two).all()


def test_without_a_bound_the_merges_are_those_of_single_linkage():
    found = link_connected(SpanningTree(POINTS), np.ones(120), max_gini=1.0)
    assert is_valid_linkage(found)
    np.testing.assert_allclose(found[:, 2], linkage(POINTS, "single")[:, 2], rtol=1e-5)


def test_an_uneven_merge_is_that_of_a_smallest_cluster():
    """Compared with a slow transcription of the rule."""
    tree = SpanningTree(POINTS)
    mass = np.random.default_rng(1).integers(1, 4, 120).astype(float)
    label, left = np.arange(120), list(range(119))
    for n_clusters in range(119, 0, -1):
        masses = np.bincount(label, weights=mass)
        masses = masses[masses > 0]
        edges = left
        if gini(masses) > 0.3:
            of_cluster = np.bincount(label, weights=mass)
            ends = {edge: (of_cluster[label[tree.one[edge]]], of_cluster[label[tree.two[edge]]]) for edge in left}
            edges = [edge for edge in left if min(ends[edge]) == masses.min()]
        edge = min(edges)
        left.remove(edge)
        label = np.where(label == label[tree.two[edge]], label[tree.one[edge]], label)
        if n_clusters in (40, 7, 2):
            found = cut_linkage(link_connected(tree, mass, 0.3), n_clusters)
            assert len(set(zip(found.tolist(), label.tolist(), strict=True))) == n_clusters


def test_equal_points_merge_first():
    points = np.repeat(np.arange(5.0), [20, 1, 1, 1, 1])[:, None]
    found = cut_linkage(link_connected(SpanningTree(points), np.ones(24), max_gini=0.1), 5)
    assert len(set(found[:20].tolist())) == 1


def test_points_of_a_lattice_do_not_depend_on_rounding():
    lattice = np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2)
    noise = 1 + 1e-13 * np.random.default_rng(0).normal(size=lattice.shape)
    one, other = (link_connected(SpanningTree(points), np.ones(36), 0.2) for points in (lattice, lattice * noise))
    np.testing.assert_array_equal(one[:, :2], other[:, :2])


def test_sizes_know_their_gini_index_after_merges():
    rng = np.random.default_rng(0)
    masses = (rng.integers(1, 6, 30) / 6).tolist()
    sizes = Sizes(masses)
    for _ in range(25):
        one, two = (masses.pop(rng.integers(len(masses))) for _ in range(2))
        sizes.merge(one, two)
        masses.append(one + two)
        assert sizes.gini() == pytest.approx(gini(masses))


def test_masses_that_vanish_beside_others_do_not_make_it_run_for_ever():
    tree = SpanningTree(np.array([[18.0], [11.0], [15.0], [12.0]]))
    found = link_connected(tree, np.array([1.0, 4e17, 7e17, 7e17]), 0.1)
    assert is_valid_linkage(found)
