"""Rare groups are joined with those near to them if there are too many."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import DBSCAN

from cohirf import CoHiRF
from cohirf.algorithm.consensus import Consensus
from cohirf.beyond.majority import join_rare_groups
from cohirf.beyond.policy import MAJORITY
from cohirf.data import InMemory
from cohirf.fitting.contraction import make_contraction
from cohirf.fitting.settings import Settings, Settled
from cohirf.validation import Columns
from places import PLACES


@pytest.fixture(autouse=True)
def few_groups(monkeypatch):
    monkeypatch.setitem(vars(MAJORITY), "most_left", 10)
    monkeypatch.setitem(vars(MAJORITY), "n_kept", 3)
    monkeypatch.setitem(vars(MAJORITY), "n_cells", 2)


def a_consensus(n_noise=0):
    """Three groups of ten rows at 0, 100 and 200.

    Twenty pairs of rows, half of them near 0 and half near 100.
    """
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [np.repeat([0.0, 100.0, 200.0], 10), np.repeat([0.0, 100.0], 20), np.full(n_noise, 7.0)]
    )
    labels = np.concatenate(
        [np.repeat([20, 21, 22], 10), np.repeat(np.arange(20), 2), 23 + np.arange(n_noise)]
    )
    return (X + rng.normal(size=len(X)))[:, None], Consensus(
        labels.astype(np.int32), 23 + n_noise, (0, 1), n_noise
    )


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
@pytest.mark.parametrize("n_noise", [0, 4])
def test_the_largest_groups_stay_and_the_others_join_those_near_to_them(place, n_noise):
    X, found = a_consensus(n_noise)
    there = replace(found, labels=place.put(found.labels))
    with pytest.warns(UserWarning, match="of 23 groups of rows, the 3 largest stay"):
        bounded = join_rare_groups(place.put(X), there)
    expected = np.concatenate(
        [np.repeat([0, 1, 2], 10), np.repeat([3, 4], 20), 5 + np.arange(n_noise)]
    )
    np.testing.assert_array_equal(place.fetch(bounded.labels), expected)
    assert (bounded.n_clusters, bounded.n_noise) == (5 + n_noise, n_noise)


def test_a_consensus_with_few_groups_is_not_changed(monkeypatch):
    monkeypatch.setitem(vars(MAJORITY), "most_left", 23)
    X, found = a_consensus()
    assert join_rare_groups(X, found) is found


@pytest.mark.filterwarnings("ignore:The views agree on little")
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_the_heaviest_groups_stay_if_rows_have_a_mass(place):
    X, found = a_consensus()
    mass = np.where(found.labels < 3, 1e3, 1.0)  # three of the pairs
    bounded = join_rare_groups(
        place.put(X), replace(found, labels=place.put(found.labels)), place.put(mass)
    )
    for label in range(3):
        assert (place.fetch(bounded.labels) == label).sum() == 2


@pytest.mark.filterwarnings("ignore:The views agree on little")
def test_a_cell_without_rows_is_left_out():
    X, found = a_consensus()
    X[10:20] = X[:10]  # the centres of both cells are at 0
    assert join_rare_groups(X, found).labels.max() + 1 == join_rare_groups(X, found).n_clusters


@pytest.mark.filterwarnings("ignore:The views agree on little")
def test_fits_have_few_leaves_unless_they_are_as_published():
    X = np.random.default_rng(0).normal(size=(300, 6))
    assert CoHiRF(n_clusters=2, views=10, random_state=0).fit(X).diagnostics_[0].rows_out <= 5
    assert CoHiRF.as_published(random_state=0).fit(X).diagnostics_[0].rows_out > 10


def test_batches_that_join_groups_warn_once():
    X = np.random.default_rng(0).normal(size=(600, 6))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CoHiRF(n_clusters=2, views=10, batch_size=100, random_state=0).fit(X)
    assert (
        len([warning for warning in caught if "views agree on little" in str(warning.message)]) == 1
    )


def bound_of(n_clusters):
    model = CoHiRF(n_clusters=n_clusters)
    data = InMemory(np.zeros((10, 6)))
    settings = Settings.of(model._parameters, Columns(6))
    return make_contraction(settings, data, Settled((0,), None), weighted=False).bound_groups


def test_a_fit_to_many_clusters_does_not_bound_groups():
    assert bound_of(MAJORITY.n_cells) is join_rare_groups
    assert bound_of(MAJORITY.n_cells + 1) is None


@pytest.mark.parametrize("batch_size", [None, 1_000])
def test_clusters_that_a_density_method_finds_are_never_joined(batch_size):
    centres = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 1, 2)
    X = (centres + np.random.default_rng(0).normal(0, 0.02, size=(400, 10, 2))).reshape(-1, 2)
    assert (
        CoHiRF(DBSCAN(eps=0.2, min_samples=3), batch_size=batch_size, random_state=0)
        .fit(X)
        .n_clusters_
        == 400
    )
