"""The clusters of all cuts: each is described once."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cohirf import CoHiRF
from cohirf.report import clusters
from cohirf.report import sample as sampling
from cohirf.report.clusters import MAX_LISTED, list_clusters, most_central
from cohirf.report.columns import Columns
from cohirf.report.cuts import colour_clusters, find_cuts
from cohirf.report.pictures import Pictures
from cohirf.report.sample import draw_sample
from cohirf.report.study import check_study


def test_the_most_central_row_is_nearest_to_the_mean():
    X = np.random.default_rng(0).uniform(size=(40, 5))
    X[X < 0.5] = 0
    distances = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    assert most_central(X) == most_central(sparse.csr_array(X)) == distances.argmin()


def list_all(model, X, image_shape=None, **about):
    study, cuts = check_study(model, X, None, None, **about), find_cuts(model)
    sample = draw_sample(study, 100)
    pictures = None if image_shape is None else Pictures(study, sample, image_shape)
    return cuts, list_clusters(study, sample, Columns(sample), cuts, colour_clusters(cuts), pictures)


def test_clusters_are_in_the_order_of_their_sizes(iris):
    X, _, model = iris
    cuts, listing = list_all(model, X)
    for cut, places in zip(cuts, listing.places, strict=True):
        sizes = [listing.clusters[place]["size"] for place in places]
        assert sizes == sorted(cut.size.tolist(), reverse=True)[:MAX_LISTED]


def test_of_very_many_clusters_the_largest_have_images(iris, monkeypatch):
    monkeypatch.setattr(clusters, "MAX_IMAGES", 10)
    cuts, listing = list_all(iris[2], iris[0], (2, 2))
    pictured = {place for places in listing.places for place in places[:12]}
    assert cuts[-1].n_clusters > 12
    assert [cluster["image"] is not None for cluster in listing.clusters] == [
        place in pictured for place in range(len(listing.clusters))
    ]


@pytest.mark.filterwarnings("ignore:1 of 3 clusters has at most 3 rows")
def test_small_clusters_are_sampled_too(monkeypatch):
    X, _ = make_blobs([1000, 1000, 3], 4, cluster_std=0.2, random_state=0)
    monkeypatch.setattr(sampling, "MAX_ROWS", 40)
    _, listing = list_all(CoHiRF(AgglomerativeClustering(3)).fit(X), X)
    smallest = next(cluster for cluster in listing.clusters if cluster["size"] == 3)
    assert smallest["n_sampled"] == 3
    assert smallest["traits"]
    assert sum(smallest["traits"][0]["counts"]) == 3


def test_names_are_unique_in_every_cut(iris):
    cuts, listing = list_all(iris[2], iris[0])
    for cut, names in zip(cuts, listing.names, strict=True):
        assert len(set(names)) == len(names) == cut.n_clusters
    assert listing.names[0] == ["all rows"]


def test_traits_and_exemplars_are_in_original_units():
    frame = pd.DataFrame({"age": [20, 22, 21, 60, 62, 64], "plan": ["basic"] * 3 + ["gold"] * 3})
    pipeline = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["plan"])).fit(frame)
    model = CoHiRF(KMeans(2), n_clusters=2, random_state=0).fit(pipeline.transform(frame))
    study = check_study(model, frame, None, None, pipeline=pipeline, ids=list("abcdef"))
    sample, cuts = draw_sample(study, 100), find_cuts(model)
    columns = Columns(sample)
    listing = list_clusters(study, sample, columns, cuts, colour_clusters(cuts))
    old = next(cluster for cluster in listing.clusters if cluster["size"] == 3 and cluster["exemplar"] == 4)
    assert old["called"] == "e"
    named = {columns.used[place].name: value for place, value in old["values"]}
    assert named == {"age": 62, "plan": "gold"}
    told = {columns.used[trait["column"]].name: (trait["inside"], trait["outside"]) for trait in old["traits"]}
    assert told == {"age": (62.0, 21.0), "plan": (1.0, 0.0)}


def test_sparse_data_has_the_clusters_of_dense_data(blobs):
    X = np.where(blobs[0] > 0, blobs[0], 0)
    model = CoHiRF(KMeans(5), random_state=0).fit(X)
    (_, dense), (_, thin) = list_all(model, X), list_all(model, sparse.csr_array(X))
    for ours, other in zip(thin.clusters, dense.clusters, strict=True):
        assert ours["size"] == other["size"] > 0
        assert ours["exemplar"] == other["exemplar"] or ours["size"] == 2  # both rows are equally central
