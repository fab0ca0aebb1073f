"""The heatmap: features that differ, in their own units."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans

from cohirf import CoHiRF
from cohirf.report.heatmap import MAX_FEATURES, UNKNOWN
from cohirf.report.study import check_study
from cohirf.report.summarize import Options, summarize


@pytest.fixture(scope="module")
def told():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 50)
    noise = {f"noise {i}": rng.normal(size=150) for i in range(20)}
    X = pd.DataFrame({"length": [10.0, 20.0, 60.0] @ np.eye(3)[group].T + rng.normal(size=150), **noise})
    model = CoHiRF(KMeans(3), n_clusters=3, random_state=0).fit(X)
    return X, model, summarize(check_study(model, X, None, None), Options("Heat"))


def test_means_of_clusters_follow_from_it(told, unpack):
    X, model, summary = told
    heat = summary["heatmap"]
    away = unpack(heat["values"]).reshape(len(summary["clusters"]), -1)
    final = summary["cuts"][summary["final"]]
    feature = heat["features"][0]
    assert feature["name"] == "length"
    for place, number in zip(final["clusters"], final["numbers"], strict=True):
        mean = feature["mean"] + away[place, 0] / 100 * feature["deviation"]
        assert mean == pytest.approx(X["length"][model.labels_ == number].mean(), abs=0.2)


def test_features_that_do_not_differ_are_left_out(told):
    features = told[2]["heatmap"]["features"]
    assert features[0]["name"] == "length"
    assert len(features) < MAX_FEATURES


def test_every_cluster_of_every_cut_has_its_means(told, unpack):
    assert (unpack(told[2]["heatmap"]["values"]) != UNKNOWN).all()


def test_one_cluster_is_not_compared_with_itself():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = CoHiRF(DBSCAN(eps=100), random_state=0).fit(X)
    assert summarize(check_study(model, X, None, None), Options("One"))["heatmap"] is None
