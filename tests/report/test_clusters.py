"""The clusters of all cuts: each is described once."""

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans

from cohirf import CoHiRF
from cohirf.report import sample as sampling
from cohirf.report.clusters import list_clusters, most_central
from cohirf.report.cuts import colour_clusters, find_cuts
from cohirf.report.sample import draw_sample
from cohirf.report.study import check_study


def test_the_most_central_row_is_nearest_to_the_mean():
    X = np.random.default_rng(0).uniform(size=(40, 5))
    X[X < 0.5] = 0
    distances = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    assert most_central(X) == most_central(sparse.csr_array(X)) == distances.argmin()


def list_all(model, X, image_shape=None):
    study, cuts = check_study(model, X, None, None), find_cuts(model)
    return cuts, list_clusters(study, draw_sample(study, 100), cuts, colour_clusters(cuts), image_shape)


def test_clusters_are_in_the_order_of_their_sizes(iris):
    X, _, model = iris
    cuts, listing = list_all(model, X)
    for cut, places in zip(cuts, listing.places, strict=True):
        sizes = [listing.clusters[place]["size"] for place in places]
        assert sizes == sorted(cut.size.tolist(), reverse=True)[:50]


def test_clusters_with_a_card_have_an_image(iris):
    X, _, model = iris
    cuts, listing = list_all(model, X, (2, 2))
    with_card = {place for places in listing.places for place in places[:12]}
    assert len(with_card) < len(listing.clusters)
    for place, cluster in enumerate(listing.clusters):
        assert (cluster["image"] is not None) == (place in with_card)
    assert cuts[-1].n_clusters > 12


def test_a_cluster_without_sampled_rows_is_shown_by_its_medoid(blobs, monkeypatch):
    X, _ = blobs
    monkeypatch.setattr(sampling, "MAX_CELLS", 1)
    monkeypatch.setattr(sampling, "MIN_ROWS", 3)
    model = CoHiRF(KMeans(4), random_state=0).fit(X)
    cuts, listing = list_all(model, X)
    finest = [listing.clusters[place] for place in listing.places[-1]]
    medoids = set(cuts[-1].medoid.tolist())
    without = [cluster for cluster in finest if cluster["n_sampled"] == 0]
    assert without
    assert all(cluster["exemplar"] in medoids or len(cluster["final"]) == 1 for cluster in without)
    assert all(cluster["features"] == [] for cluster in without)


def test_sparse_data_has_the_clusters_of_dense_data(blobs):
    X = np.where(blobs[0] > 0, blobs[0], 0)
    model = CoHiRF(KMeans(5), random_state=0).fit(X)
    (_, dense), (_, thin) = list_all(model, X), list_all(model, sparse.csr_array(X))
    for ours, other in zip(thin.clusters, dense.clusters, strict=True):
        assert ours["size"] == other["size"] > 0
        assert ours["exemplar"] == other["exemplar"] or ours["size"] == 2  # both rows are equally central
