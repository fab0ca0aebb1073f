"""Rare groups are joined with those near to them if there are too many."""

import numpy as np
import pytest

from cohirf import CoHiRF
from cohirf.algorithm import rare_groups
from cohirf.algorithm.consensus import Consensus
from cohirf.algorithm.rare_groups import join_rare_groups
from places import PLACES


@pytest.fixture(autouse=True)
def few_groups(monkeypatch):
    monkeypatch.setattr(rare_groups, "MAX_GROUPS", 10)
    monkeypatch.setattr(rare_groups, "N_KEPT", 3)
    monkeypatch.setattr(rare_groups, "N_CELLS", 2)


def a_consensus(n_noise=0):
    """Three groups of ten rows at 0, 100 and 200; twenty pairs of rows, half of them near 0 and half near 100."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat([0.0, 100.0, 200.0], 10), np.repeat([0.0, 100.0], 20), np.full(n_noise, 7.0)])
    labels = np.concatenate([np.repeat([20, 21, 22], 10), np.repeat(np.arange(20), 2), 23 + np.arange(n_noise)])
    return (X + rng.normal(size=len(X)))[:, None], Consensus(labels.astype(np.int32), 23 + n_noise, (0, 1), n_noise)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
@pytest.mark.parametrize("n_noise", [0, 4])
def test_the_largest_groups_stay_and_the_others_join_those_near_to_them(place, n_noise):
    X, found = a_consensus(n_noise)
    bounded = join_rare_groups(place.put(X), Consensus(place.put(found.labels), *list(vars(found).values())[1:]))
    expected = np.concatenate([np.repeat([0, 1, 2], 10), np.repeat([3, 4], 20), 5 + np.arange(n_noise)])
    np.testing.assert_array_equal(place.fetch(bounded.labels), expected)
    assert (bounded.n_clusters, bounded.n_noise) == (5 + n_noise, n_noise)


def test_a_consensus_with_few_groups_is_not_changed(monkeypatch):
    monkeypatch.setattr(rare_groups, "MAX_GROUPS", 23)
    X, found = a_consensus()
    assert join_rare_groups(X, found) is found


def test_a_cell_without_rows_is_left_out():
    X, found = a_consensus()
    X[10:20] = X[:10]  # the centres of both cells are at 0
    assert join_rare_groups(X, found).labels.max() + 1 == join_rare_groups(X, found).n_clusters


def test_fits_have_few_leaves_unless_they_are_as_published():
    X = np.random.default_rng(0).normal(size=(300, 6))
    assert CoHiRF(n_clusters=2, n_views=10, random_state=0).fit(X).diagnostics_[0].rows_out <= 5
    assert CoHiRF.as_published(random_state=0).fit(X).diagnostics_[0].rows_out > 10
