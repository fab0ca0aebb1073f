"""Which merges fit the data, as near neighbours tell."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.beyond.choose_merge import ComparedMerges, SampledRows, normalised_cuts

LINE = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])[:, None]


def compare(points, compact):
    """Compare two compact clusters with two connected ones."""
    sample = SampledRows(points)
    return sample.compare(compact, lambda bound: sample.divide(bound, 2))


def test_clusters_count_alike_whatever_their_size():
    neighbours = np.array([[1, 2], [0, 2], [1, 0], [4, 2], [3, 5], [4, 3]])
    divisions = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0], [0, 0, 0, -1, -1, -1]])
    np.testing.assert_allclose(normalised_cuts(divisions, neighbours), [(0 + 1 / 6) / 2, 0, 0])


def test_a_small_cluster_far_from_the_others_cuts_nothing():
    X, y = make_blobs([300, 300, 3], centers=[[0, 0], [20, 0], [0, 50]], random_state=0)
    assert SampledRows(X).cut_shares(y) == [0]


def test_a_single_row_is_cut_off():
    assert SampledRows(LINE).cut_shares(np.array([0, 0, 0, 1, 1, 2]))[0] > 1 / 3


def test_connected_clusters_win_on_moons_and_compact_ones_on_a_cloud():
    moons, of_moon = make_moons(300, noise=0.05, random_state=0)
    halves = (moons[:, 0] > 0.5).astype(int)
    found = compare(moons, halves)
    assert found.is_connected
    assert found.connected_cut == pytest.approx(SampledRows(moons).cut_shares(of_moon)[0], abs=1e-3)
    cloud = np.random.default_rng(0).normal(size=(300, 5))
    assert not compare(cloud, (cloud[:, 0] > 0).astype(int)).is_connected


def test_clusters_that_all_cut_much_are_compact():
    assert not ComparedMerges(compact_cut=0.5, connected_cut=0.3, gini_bound=0.1).is_connected


def test_connected_clusters_win_by_more_than_a_few_rows():
    assert not ComparedMerges(compact_cut=0.0013, connected_cut=0.0012, gini_bound=0.1).is_connected
    assert ComparedMerges(compact_cut=0.02, connected_cut=0.0012, gini_bound=0.1).is_connected


def test_the_choice_does_not_depend_on_an_offset():
    rng = np.random.default_rng(0)
    moons, y = make_moons(600, noise=0.04, random_state=0)
    X = moons @ np.linalg.qr(rng.normal(size=(30, 30)))[0][:2] + 0.005 * rng.normal(size=(600, 30))
    assert adjusted_rand_score(CoHiRF(n_clusters=2, random_state=0).fit(X + 1e8).labels_, y) > 0.99


def test_masses_count_in_the_cut():
    neighbours = np.array([[1, 2], [0, 2], [1, 3], [2, 1]])
    labels = np.array([[0, 0, 1, 1]])
    assert normalised_cuts(labels, neighbours, np.full(4, 0.3)) == normalised_cuts(labels, neighbours)
    # rows 2 and 3 are next to nothing beside rows 0 and 1, whose neighbours they are, but not to each other
    light = normalised_cuts(labels, neighbours, np.array([1, 1, 1e-9, 1e-9]))
    assert light == pytest.approx([(0 + 1) / 2])
