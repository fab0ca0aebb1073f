"""Fits with links between rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import cohirf
from cohirf import CoHiRF
from drawn_tables import draw_rows, draw_weights, store

FEW_CASES = [*range(18), 26, 31]  # the two: sparse rows, and files, with different weights
ALL_CASES = range(1000)
METHODS = [None, None, KMeans(5), AgglomerativeClustering(5)]


def draw_links(truth, n_pairs, rng):
    """Return random pairs of different rows with their sign by a known division."""
    pairs = rng.integers(0, len(truth), (n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    signs = np.where(truth[pairs[:, 0]] == truth[pairs[:, 1]], 1, -1)
    return np.column_stack([pairs, signs])


def count_broken(labels, links):
    """Return how many links labels break."""
    together = labels[links[:, 0]] == labels[links[:, 1]]
    return int(np.count_nonzero(together != (links[:, 2] == 1)))


def draw_case(seed, folder):
    """Return a model, its data, weights and links, which a random division keeps."""
    rng = np.random.default_rng(seed)
    X = draw_rows(rng, seed)
    n_rows = len(X)
    n_clusters = int(rng.integers(2, min(n_rows, 9) + 1))
    # the division has nothing to do with the rows, or is the order of the first column
    truth = rng.integers(0, n_clusters, n_rows)
    if seed % 2:
        truth = np.argsort(np.argsort(X[:, 0])) * n_clusters // n_rows
    links = draw_links(truth, int(n_rows * rng.uniform(0.05, 4)), rng)
    estimator = METHODS[seed % len(METHODS)]
    is_linkage = isinstance(estimator, AgglomerativeClustering)
    weights = None if is_linkage else draw_weights(rng, seed, n_rows)
    data = store(X, seed, folder, takes_sparse=not is_linkage)
    model = CoHiRF(
        estimator,
        n_clusters=n_clusters,
        random_state=seed,
        batch_size=None if seed % 2 else max(2, n_rows // 3),
        merge=["auto", "compact", "connected", "graph"][seed % 11 % 4],
    )
    return model, data, weights, links


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::cohirf.beyond.reach.ThinBatchesWarning")
@pytest.mark.parametrize("seeds", [FEW_CASES, pytest.param(ALL_CASES, marks=pytest.mark.slow)])
def test_links_are_kept(seeds, tmp_path):
    for seed in seeds:
        model, data, weights, links = draw_case(seed, tmp_path)
        model.fit(data, sample_weight=weights, links=links)
        assert count_broken(model.labels_, links) == 0, seed
        assert model.labels_.min() == 0, seed
        assert len(np.unique(model.labels_)) == model.n_clusters_ <= model.n_clusters, seed


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([300, 60, 40], random_state=0, cluster_std=2.0)


@pytest.fixture(scope="module")
def links(blobs):
    return draw_links(blobs[1], 200, np.random.default_rng(0))


@pytest.fixture(scope="module")
def linked(blobs, links):
    return CoHiRF(n_clusters=3, random_state=0).fit(blobs[0], links=links)


def test_both_forms_of_links_are_the_same(blobs, links, linked):
    is_together = links[:, 2] == 1
    pair = (links[is_together, :2], links[~is_together, :2].tolist())
    other = CoHiRF(n_clusters=3, random_state=0).fit(blobs[0], links=pair)
    np.testing.assert_array_equal(other.labels_, linked.labels_)


def test_no_links_change_nothing(blobs):
    model = CoHiRF(n_clusters=3, random_state=0)
    labels = model.fit(blobs[0]).labels_
    for links in (np.empty((0, 3), dtype=int), ([], None), []):
        np.testing.assert_array_equal(model.fit(blobs[0], links=links).labels_, labels)


def test_true_links_help(blobs, linked):
    X, truth = blobs
    free = CoHiRF(n_clusters=3, random_state=0).fit_predict(X)
    assert adjusted_rand_score(truth, linked.labels_) > adjusted_rand_score(truth, free) + 0.1


def test_pieces_are_points_with_a_weight():
    # a piece of two rows acts as a row of weight 2 at their mean
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + 4 * rng.integers(0, 3, size=(200, 1))
    pairs = np.column_stack([np.arange(0, 40, 2), np.arange(1, 40, 2)])
    contracted = np.concatenate([X[:40].reshape(20, 2, 2).mean(axis=1), X[40:]])
    weights = np.concatenate([np.full(20, 2.0), np.ones(160)])
    model = CoHiRF(n_clusters=3, merge="compact", random_state=0)
    expected = model.fit(contracted, sample_weight=weights).labels_
    found = model.fit(X, links=(pairs, None)).labels_
    spread = np.concatenate([np.repeat(expected[:20], 2), expected[20:]])
    assert adjusted_rand_score(found, spread) > 0.95


def test_groups_that_are_to_be_apart_merge_with_others():
    # without links, the two near parts are one cluster, and the wide one is divided
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [60, 60, 120])
    X = rng.normal(size=(240, 2)) * np.array([1, 1, 7])[truth, None]
    X[:, 0] += np.array([0, 5, 40])[truth]
    apart = np.column_stack([rng.integers(0, 60, 30), rng.integers(60, 120, 30)])
    model = CoHiRF(n_clusters=3, merge="compact", random_state=0)
    assert adjusted_rand_score(truth, model.fit_predict(X)) < 0.6
    assert adjusted_rand_score(truth, model.fit(X, links=(None, apart)).labels_) > 0.9
    for n_clusters in (3, 4, 8):  # no merge up to the clusters has a pair that is to be apart
        cut = model.hierarchy_.cut(n_clusters=n_clusters)
        assert (cut[apart[:, 0]] != cut[apart[:, 1]]).all()


def test_the_number_of_clusters_may_be_chosen(blobs, links):
    model = CoHiRF(n_clusters="auto", random_state=0).fit(blobs[0], links=links)
    assert count_broken(model.labels_, links) == 0


def test_a_cut_at_the_number_of_clusters_is_the_fit(linked, links):
    np.testing.assert_array_equal(linked.hierarchy_.cut(n_clusters=3), linked.labels_)
    for n_clusters in (1, 2, 5, 20):
        cut = linked.hierarchy_.cut(n_clusters=n_clusters)
        together = links[links[:, 2] == 1]
        assert count_broken(cut, together) == 0
    assert count_broken(linked.hierarchy_.cut(n_clusters=20), links[links[:, 2] == -1]) == 0


def test_a_saved_model_has_the_same_clusters(linked, blobs, tmp_path):
    linked.save(tmp_path / "model.cohirf")
    loaded = cohirf.load(tmp_path / "model.cohirf")
    np.testing.assert_array_equal(loaded.labels_, linked.labels_)
    np.testing.assert_array_equal(loaded.predict(blobs[0] + 0.1), linked.predict(blobs[0] + 0.1))
    with pytest.raises(ValueError, match="A model with links cannot be updated"):
        loaded.forget([0])


def test_new_rows_get_a_cluster_without_links(linked, blobs):
    X, _ = blobs
    new = linked.predict(X + 0.01)
    assert adjusted_rand_score(new, linked.labels_) > 0.5


def test_rows_that_are_equal_can_be_apart():
    X = np.zeros((6, 2))
    with pytest.warns(UserWarning, match="identical rows are not split"):
        model = CoHiRF(n_clusters=3, random_state=0).fit(
            X, links=[(0, 1, -1), (1, 2, -1), (0, 2, -1)]
        )
    assert len(set(model.labels_[:3])) == 3
    assert model.n_clusters_ == 3


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([(0, 1, 1), (1, 2, 1), (2, 0, -1)], "together by the links 2 - 1 - 0"),
        ([(4, 4, -1)], "row 4 is to be apart from itself"),
        ([(0, 400, 1)], "the data has 400 rows"),
        ([(0, -1, 1)], "the data has 400 rows"),
        ([(0, 1, 0)], "has 0 as the sign of pair 0"),
        ([(0, 1, 0.5)], "are no row numbers"),
        ([(0, 1)], r"has the shape \(1, 2\)"),
        ([(0, 1, 1), (2, 3)], "has the shape"),
        ("pairs.csv", "give an array of triples"),
        (([(0, 1, 1)], None), "the part 'together' of links"),
        ((None, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)]), "need at least 4 clusters"),
        # a wheel with five spokes: no four of its rows are all apart, and three clusters do not do
        (
            (None, [(0, i) for i in range(1, 6)] + [(i, i % 5 + 1) for i in range(1, 6)]),
            "no way to divide the rows 0, 1, 2, 3, 4, 5",
        ),
    ],
)
def test_links_that_cannot_be_kept_are_refused(blobs, links, message):
    with pytest.raises(ValueError, match=message):
        CoHiRF(n_clusters=3).fit(blobs[0], links=links)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": DBSCAN()}, "links need a number of clusters .* around DBSCAN the"),
        (
            {"estimator": HDBSCAN(), "n_clusters": 3},
            "links need a number of clusters .* around HDBSCAN the",
        ),
        (
            {"estimator": KMeans(3), "n_clusters": "levels"},
            "links need a number of clusters .* around KMeans the",
        ),
        ({"size_limits": "balanced", "n_clusters": 3}, "links do not work with size_limits"),
        ({"min_cluster_size": 3, "n_clusters": 3}, "links do not work with min_cluster_size=3"),
    ],
)
def test_what_links_cannot_do_is_refused_before_the_fit(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        CoHiRF(**parameters).fit(blobs[0], links=[(0, 1, 1)])


def test_rows_of_weight_0_have_no_links(blobs):
    weights = np.ones(400)
    weights[7] = 0
    with pytest.raises(ValueError, match="links has the row 7, whose weight is 0"):
        CoHiRF(n_clusters=3).fit(blobs[0], sample_weight=weights, links=[(7, 1, 1)])
    links = [(8, 1, -1), (1, 2, 1)]
    labels = (
        CoHiRF(n_clusters=3, random_state=0)
        .fit(blobs[0], sample_weight=weights, links=links)
        .labels_
    )
    assert count_broken(labels, np.array(links)) == 0


def test_rows_with_missing_cells_and_directions_are_linked(blobs, links):
    X = blobs[0].copy()
    model = CoHiRF(n_clusters=3, metric="cosine", random_state=0).fit(X, links=links)
    assert count_broken(model.labels_, links) == 0
    mixture = CoHiRF(GaussianMixture(3), batch_size=100, random_state=0).fit(X, links=links)
    assert count_broken(mixture.labels_, links) == 0


def test_rows_on_dask_and_graphs_are_refused(blobs):
    with pytest.raises(ValueError, match="links does not work with metric='precomputed'"):
        CoHiRF(n_clusters=3, metric="precomputed").fit(np.eye(5), links=[(0, 1, 1)])
    dask_array = pytest.importorskip("dask.array")
    X = dask_array.from_array(blobs[0], chunks=(200, 2))
    with pytest.raises(TypeError, match="links need rows in memory"):
        CoHiRF(n_clusters=3, batch_size=200).fit(X, links=[(0, 1, 1)])
