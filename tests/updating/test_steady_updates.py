"""Rows keep their cluster in updates, unless the data changes."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF

OVERLAPPING, CLASSES = make_blobs(1600, n_features=4, centers=5, cluster_std=2.2, random_state=3)


def make_model():
    return CoHiRF(KMeans(5, n_init=1), batch_size=100, views=3, random_state=0)


def update_in_parts(model, X, n_parts):
    """Update a model; return the share of older rows that have another number after each update but the first."""
    shares, n_seen = [], 0
    for part in np.array_split(X, n_parts):
        model.partial_fit(part)
        if n_seen:
            shares.append(model.changes_.n_moved / n_seen)
        n_seen += len(part)
    return shares


@pytest.fixture(scope="module")
def steady():
    """A model after 16 updates of a stationary stream whose clusters overlap, and the shares of rows that moved."""
    model = make_model()
    return model, update_in_parts(model, OVERLAPPING, 16)


def test_few_rows_change_their_number_in_a_stationary_stream_with_overlapping_clusters(steady):
    _, shares = steady
    assert np.mean(shares[5:]) < 0.01


def test_its_clusters_are_as_good_as_those_of_one_call(steady):
    model, _ = steady
    at_once = adjusted_rand_score(make_model().partial_fit(OVERLAPPING).labels_, CLASSES)
    assert adjusted_rand_score(model.labels_, CLASSES) > at_once - 0.03


def test_its_groups_are_those_of_one_call(steady):
    model, _ = steady
    leaves, at_once = model._summary.leaves, make_model().partial_fit(OVERLAPPING)._summary.leaves
    for name in ("rows", "values", "means", "sizes", "stability"):
        np.testing.assert_array_equal(getattr(leaves, name), getattr(at_once, name))


def test_its_tree_has_its_clusters(steady):
    model, _ = steady
    assert adjusted_rand_score(model.hierarchy_.cut(n_clusters=5), model.labels_) == 1.0


def test_a_class_that_arrives_later_gets_a_cluster():
    X, y = make_blobs(900, n_features=4, centers=[[0] * 4, [9] * 4, [0, 9, 0, 9]], random_state=0)
    X = X[np.argsort(y, kind="stable")]
    model = CoHiRF(KMeans(3, n_init=1), batch_size=100, views=3, random_state=0)
    update_in_parts(model, X, 9)
    assert adjusted_rand_score(model.labels_, np.sort(y)) == 1.0


@pytest.mark.parametrize("order", [4, 5])
def test_former_clusters_go_on_in_an_update_with_few_rows(order):
    some = np.random.default_rng(order).permutation(len(OVERLAPPING))[:600]
    model = CoHiRF(n_clusters=5, views=2, random_state=order)
    shares = update_in_parts(model, OVERLAPPING[some], 12)
    assert model._summary.leaves is None  # each update is a fit of all rows
    assert np.mean(shares[3:]) < 0.02


def test_the_merge_is_chosen_again_while_there_are_few_rows():
    moons, y = make_moons(1000, noise=0.05, random_state=0)
    model = CoHiRF(n_clusters=2, random_state=0).partial_fit(moons[:50]).partial_fit(moons[50:])
    assert adjusted_rand_score(model.labels_, y) > 0.99
