"""Rows keep their cluster in updates, and rows of a new kind get a new one."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans, MeanShift
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF

OVERLAPPING, CLASSES = make_blobs(1600, n_features=4, centers=5, cluster_std=2.2, random_state=3)


def make_model():
    return CoHiRF(KMeans(5, n_init=1), batch_size=100, views=3, random_state=0)


def update_in_parts(model, X, n_parts):
    """Update a model; return the share of older rows that have another number after each update but
    the first.
    """
    shares = []
    n_seen = 0
    for part in np.array_split(X, n_parts):
        model.partial_fit(part)
        if n_seen:
            shares.append(model.changes_.n_moved / n_seen)
        n_seen += len(part)
    return shares


@pytest.fixture(scope="module")
def steady():
    """A model after 16 updates of a stationary stream whose clusters overlap, and the shares of
    rows that moved.
    """
    model = make_model()
    return model, update_in_parts(model, OVERLAPPING, 16)


def test_few_rows_change_their_number_in_a_stationary_stream_with_overlapping_clusters(steady):
    _, shares = steady
    assert np.mean(shares[5:]) < 0.01


def test_its_clusters_are_as_good_as_those_of_one_call(steady):
    model, _ = steady
    at_once = adjusted_rand_score(make_model().partial_fit(OVERLAPPING).labels_, CLASSES)
    assert adjusted_rand_score(model.labels_, CLASSES) > at_once - 0.03


def test_its_tree_has_its_clusters(steady):
    model, _ = steady
    assert adjusted_rand_score(model.hierarchy_.cut(n_clusters=5), model.labels_) == 1.0


@pytest.mark.parametrize("batch_size", [None, 100])
def test_a_class_that_arrives_later_gets_a_cluster(batch_size):
    X, y = make_blobs(900, n_features=4, centers=[[0] * 4, [9] * 4, [0, 9, 0, 9]], random_state=0)
    order = np.argsort(y == 2, kind="stable")
    model = CoHiRF(n_clusters=2, batch_size=batch_size, views=3, random_state=0)
    shares = update_in_parts(model, X[order], 9)
    assert adjusted_rand_score(model.labels_, y[order]) == 1.0
    assert max(shares) == 0


@pytest.mark.parametrize("batch_size", [None, 100])
@pytest.mark.parametrize("fitted", [False, True])
def test_no_row_changes_its_number_as_soon_as_the_clusters_are_settled(batch_size, fitted):
    some = np.random.default_rng(4).permutation(len(OVERLAPPING))[:600]
    model = CoHiRF(n_clusters=5, batch_size=batch_size, views=2, random_state=4)
    # clusters of a fit are settled, those of other first rows with 50 rows for each
    n_first = 100 if fitted else 0
    model = model.fit(OVERLAPPING[some][:n_first]) if fitted else model
    shares = update_in_parts(model, OVERLAPPING[some][n_first:], 12)
    assert max(shares[0 if fitted else 5 :]) == 0


def test_the_merge_is_chosen_again_while_there_are_few_rows():
    moons, y = make_moons(1000, noise=0.05, random_state=0)
    model = CoHiRF(n_clusters=2, random_state=0).partial_fit(moons[:50]).partial_fit(moons[50:])
    assert adjusted_rand_score(model.labels_, y) > 0.99


FINDS_THE_NUMBER = {
    "OPTICS": OPTICS(min_samples=5),
    "Mean Shift": MeanShift(bandwidth=2.0, bin_seeding=True),
    "HDBSCAN": HDBSCAN(),
    "DBSCAN": DBSCAN(2.0),
    "single linkage": AgglomerativeClustering(None, linkage="single", distance_threshold=2.0),
}


@pytest.mark.filterwarnings("ignore:n_clusters=4 cannot be reached")
@pytest.mark.parametrize("name", FINDS_THE_NUMBER)
@pytest.mark.parametrize("seed", [0, 2])
def test_no_row_moves_if_a_method_finds_the_number_and_one_is_given(name, seed):
    X, _ = make_blobs(300, n_features=4, centers=4, cluster_std=1.5, random_state=seed)
    model = CoHiRF(FINDS_THE_NUMBER[name], n_clusters=4, random_state=seed).fit(X[:200])
    before = model.labels_.copy()
    expected = model.predict(X[200:])
    model.partial_fit(X[200:])
    np.testing.assert_array_equal(model.labels_[:200], before)
    np.testing.assert_array_equal(model.labels_[200:], expected)
    assert model.changes_.n_moved == 0


@pytest.mark.filterwarnings("ignore:n_clusters=4 cannot be reached")
@pytest.mark.parametrize(
    "name", ["HDBSCAN", "DBSCAN", pytest.param("Mean Shift", marks=pytest.mark.slow)]
)
def test_no_row_moves_in_local_batches(name):
    X, _ = make_blobs(900, n_features=3, centers=4, cluster_std=1.5, random_state=0)
    model = CoHiRF(FINDS_THE_NUMBER[name], n_clusters=4, batch_size=200, random_state=0).fit(
        X[:600]
    )
    before = model.labels_.copy()
    model.partial_fit(X[600:])
    np.testing.assert_array_equal(model.labels_[:600], before)
    assert model.forget(updates=1).labels_.tolist() == before.tolist()
