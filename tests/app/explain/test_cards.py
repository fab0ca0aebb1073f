"""The cards of a page: clusters of all cuts, distributions, the heat map, rows to check."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from cohirf import CoHiRF
from cohirf.app.explain.cards import list_clusters
from cohirf.app.explain.columns import (
    Columns,
    Pictures,
    find_distribution,
    find_edges,
    group_features,
    round_number,
)
from cohirf.app.explain.cuts import colour_clusters, find_cuts
from cohirf.app.explain.heatmap import NOT_SAMPLED
from cohirf.app.explain.policy import PAGE, SAMPLE, Size
from cohirf.app.explain.report import summarize
from cohirf.app.explain.study import check_study, draw_sample
from cohirf.app.explain.table import most_central, read_table


def test_the_most_central_row_is_nearest_to_the_mean():
    X = np.random.default_rng(0).uniform(size=(40, 5))
    X[X < 0.5] = 0
    distances = ((X - X.mean(axis=0)) ** 2).sum(axis=1)
    assert most_central(X) == most_central(sparse.csr_array(X)) == distances.argmin()


def list_all(model, X, image_shape=None, **about):
    study = check_study(model, X, None, None, **about)
    cuts = find_cuts(model)
    sample = draw_sample(study, 100)
    pictures = None if image_shape is None else Pictures(sample, image_shape)
    return cuts, list_clusters(sample, Columns(sample.table), cuts, colour_clusters(cuts), pictures)


def test_clusters_are_in_the_order_of_their_sizes(iris):
    X, _, model = iris
    cuts, listing = list_all(model, X)
    for cut, places in zip(cuts, listing.places, strict=True):
        sizes = [listing.clusters[place]["size"] for place in places]
        assert sizes == sorted(cut.size.tolist(), reverse=True)[: PAGE.clusters]


def test_of_very_many_clusters_the_largest_have_images(iris, monkeypatch):
    monkeypatch.setitem(vars(PAGE), "images", 10)
    cuts, listing = list_all(iris[2], iris[0], (2, 2))
    pictured = {place for places in listing.places for place in places[:12]}
    assert cuts[-1].n_clusters > 12
    assert [cluster["image"] is not None for cluster in listing.clusters] == [
        place in pictured for place in range(len(listing.clusters))
    ]


@pytest.mark.filterwarnings("ignore:1 of 3 clusters has at most 3 rows")
def test_small_clusters_are_sampled_too(monkeypatch):
    X, _ = make_blobs([1000, 1000, 3], 4, cluster_std=0.2, random_state=0)
    monkeypatch.setitem(vars(SAMPLE), "described", Size(40, 1, 10**6))
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
    pipeline = make_column_transformer(
        (StandardScaler(), ["age"]), (OneHotEncoder(), ["plan"])
    ).fit(frame)
    model = CoHiRF(KMeans(2), n_clusters=2, random_state=0).fit(pipeline.transform(frame))
    study = check_study(model, frame, None, None, pipeline=pipeline, ids=list("abcdef"))
    sample = draw_sample(study, 100)
    cuts = find_cuts(model)
    columns = Columns(sample.table)
    listing = list_clusters(sample, columns, cuts, colour_clusters(cuts))
    old = next(
        cluster for cluster in listing.clusters if cluster["size"] == 3 and cluster["exemplar"] == 4
    )
    assert old["called"] == "e"
    named = {columns.used[place].name: value for place, value in old["values"]}
    assert named == {"age": 62, "plan": "gold"}
    told = {
        columns.used[trait["column"]].name: (trait["inside"], trait["outside"])
        for trait in old["traits"]
    }
    assert told == {"age": (62.0, 21.0), "plan": (1.0, 0.0)}


def test_sparse_data_has_the_clusters_of_dense_data(blobs):
    X = np.where(blobs[0] > 0, blobs[0], 0)[:60]
    model = CoHiRF(KMeans(5), random_state=0).fit(X)
    (_, dense), (_, thin) = list_all(model, X), list_all(model, sparse.csr_array(X))
    for ours, other in zip(thin.clusters, dense.clusters, strict=True):
        assert ours["size"] == other["size"] > 0
        # both rows are equally central
        assert ours["exemplar"] == other["exemplar"] or ours["size"] == 2


def distributions(frame, weights=None):
    table = replace(read_table(frame, np.arange(len(frame))), weights=weights)
    groups = group_features(table.features)
    return {name: find_distribution(table, name, features) for name, features in groups.items()}


@pytest.mark.parametrize("step", [1.0, 0.5, 0.1])
def test_bins_have_as_many_steps_of_the_grid_of_the_numbers(step):
    numbers = step * np.arange(100)
    counts = np.histogram(numbers, find_edges(numbers))[0]
    assert len(counts) <= PAGE.bins
    # no bin has a step more than the others: that would look like a peak
    assert len(set(counts[:-1].tolist())) == 1


def test_numbers_without_a_grid_have_bins_of_equal_width():
    edges = find_edges(np.random.default_rng(0).normal(size=500))
    assert len(edges) == PAGE.bins + 1
    assert np.diff(edges) == pytest.approx(np.diff(edges)[0])


def test_extreme_numbers_are_in_the_outermost_bins():
    frame = pd.DataFrame({"x": [*np.linspace(0, 1, 999), 1e9]})
    counts = distributions(frame)["x"].count()
    assert sum(counts) == 1000
    assert min(counts) > 30  # one bin for 1e9 alone would leave the others empty


def test_equal_numbers_have_one_bin():
    found = distributions(pd.DataFrame({"x": [3.0, 3.0], "y": [1.0, 2.0]}))
    assert found["x"].count() == [2]


def test_rows_count_as_many_as_they_stand_for():
    found = distributions(pd.DataFrame({"x": [1.0, 2.0, 2.0]}), weights=np.array([10.0, 1.0, 2.0]))
    assert found["x"].count() == [10, 3]
    assert found["x"].count(np.array([1])) == [0, 1]


def test_categories_are_counted_by_level():
    found = distributions(
        pd.DataFrame({"colour": ["red", "blue", "red", "red"], "x": [1.0, 2.0, 3.0, 4.0]})
    )
    assert found["colour"].levels == ["blue", "red"]
    assert found["colour"].count() == [1, 3]
    assert found["colour"].describe()["kind"] == "category"


def test_numbers_are_rounded_for_people():
    assert [round_number(x) for x in (36.9999999999999, 0.1234567, 1234567.0, -0.0)] == [
        37,
        0.123457,
        1234567,
        0,
    ]


@pytest.fixture(scope="module")
def told():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 50)
    noise = {f"noise {i}": rng.normal(size=150) for i in range(20)}
    X = pd.DataFrame(
        {"length": [10.0, 20.0, 60.0] @ np.eye(3)[group].T + rng.normal(size=150), **noise}
    )
    model = CoHiRF(KMeans(3), n_clusters=3, random_state=0).fit(X)
    return X, model, summarize(check_study(model, X, None, None), "Heat")


def test_means_of_clusters_follow_from_it(told, unpack):
    X, model, summary = told
    heat = summary["compare"]
    away = unpack(heat["values"]).reshape(len(summary["clusters"]), -1)
    final = summary["cuts"][summary["final"]]
    feature = heat["features"][0]
    assert feature["name"] == "length"
    for place, number in zip(final["clusters"], final["labels"], strict=True):
        mean = feature["mean"] + away[place, 0] / 10_000 * feature["deviation"]
        assert mean == pytest.approx(X["length"][model.labels_ == number].mean(), abs=0.02)


def test_features_that_do_not_differ_are_left_out(told):
    features = told[2]["compare"]["features"]
    assert features[0]["name"] == "length"
    assert len(features) < PAGE.heatmap_features


def test_every_cluster_of_every_cut_has_its_means(told, unpack):
    assert (unpack(told[2]["compare"]["values"]) != NOT_SAMPLED).all()


def test_one_cluster_is_not_compared_with_itself():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = CoHiRF(DBSCAN(eps=100), random_state=0).fit(X)
    assert summarize(check_study(model, X, None, None), "One")["compare"] is None


@pytest.fixture(scope="module")
def odd():
    """Two clusters, a row with a strange spend (row 80), and one half way between the clusters (row
    81).
    """
    rng = np.random.default_rng(0)
    age = np.r_[rng.normal(20, 1, 40), rng.normal(60, 1, 40), 20, 40]
    spend = np.r_[rng.normal(5, 1, 80), 60, 5]
    plan = np.r_[np.repeat(["basic", "gold"], 40), ["basic", "gold"]]
    frame = pd.DataFrame({"age": age, "spend": spend, "plan": plan})
    pipeline = make_column_transformer((StandardScaler(), ["age", "spend"])).fit(frame)
    model = CoHiRF(KMeans(2), n_clusters=2, random_state=0).fit(pipeline.transform(frame))
    names = [f"person {i}" for i in range(82)]
    summary = summarize(check_study(model, frame, None, None, pipeline=pipeline, ids=names), "Odd")
    return summary["odd"], [column["name"] for column in summary["columns"]]


def test_a_loose_row_tells_what_is_unusual_in_its_own_units(odd):
    found, columns = odd
    row = next(row for row in found["loose"] if row["called"] == "person 80")
    place, value, usual = row["values"][0]
    assert (columns[place], value) == ("spend", 60)
    assert usual == pytest.approx(6.3, abs=0.5)
    assert row["distance"] > 2


def test_a_row_between_two_clusters_tells_where_these_differ(odd):
    found, columns = odd
    row = next(row for row in found["border"] if row["called"] == "person 81")
    told = {columns[place]: (value, sorted(typical)) for place, value, *typical in row["values"]}
    value, (young, old) = told["age"]
    assert value == pytest.approx(40)
    assert (young, old) == (pytest.approx(20, abs=1), pytest.approx(60, abs=1))
    assert told["plan"][0] == "gold"


def test_a_level_that_is_common_in_the_cluster_is_not_unusual(odd):
    found, columns = odd
    row = next(row for row in found["loose"] if row["called"] == "person 80")
    assert "plan" not in [columns[place] for place, *_ in row["values"]]
