"""Descriptions of the clusters of a fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF, open_source
from cohirf.description import describe_clusters, draw_described_rows, find_badly_fitting, name_tree, write_tree
from cohirf.plotting import plot_heatmap, plot_map
from cohirf.preparation import prepare


@pytest.fixture(scope="module")
def customers():
    """Return a table as a user has it, and a model of its numbers, scaled."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 600)
    frame = pd.DataFrame(
        {
            "id": [f"c{i}" for i in range(600)],
            "age": np.array([65, 30, 31])[group] + rng.normal(size=600),
            "spend": np.array([50, 300, 60])[group] + 5 * rng.normal(size=600),
            "region": np.array(["south", "south", "north"])[group],
        }
    )
    numbers = frame[["age", "spend"]].assign(north=frame.region == "north").astype(float)
    scaled = (numbers - numbers.mean()) / numbers.std()
    return frame, scaled, CoHiRF(n_clusters=3, random_state=0).fit(scaled)


def test_summary_is_in_the_units_of_the_table_that_is_given(customers):
    frame, _, model = customers
    table = model.summary(frame)
    old = table[table["name"].str.startswith("older")]
    assert len(old) == 1
    assert "age 64.9 (others 30.6)" in old["features"].iloc[0]
    assert table["size"].sum() == 600
    assert table["share"].sum() == pytest.approx(1)
    np.testing.assert_array_equal(table["exemplar"], model.exemplar_indices_)
    expected = [np.nanmean(model.stability_[model.labels_ == cluster]) for cluster in range(3)]
    np.testing.assert_allclose(table["stability"], expected, rtol=1e-5)


def test_summary_takes_the_fitted_data_and_needs_none(customers):
    _, scaled, model = customers
    names = model.summary(scaled)["name"].tolist()
    assert names == model.summary()["name"].tolist() == model.summary(scaled.to_numpy())["name"].tolist()


def test_exemplars_have_their_original_values(customers):
    frame, _, model = customers
    cluster = describe_clusters(model, frame).clusters[1]
    assert cluster.exemplar_values == frame.iloc[cluster.exemplar].to_dict()


def test_data_with_another_number_of_rows_is_refused(customers):
    frame, _, model = customers
    with pytest.raises(ValueError, match="X has 599 rows, but the model was fitted on 600"):
        model.summary(frame.iloc[1:])


def test_sparse_data_and_sources_are_described(tmp_path):
    X, _ = make_blobs(300, centers=3, n_features=5, random_state=0)
    np.save(tmp_path / "X.npy", X)
    model = CoHiRF(n_clusters=3, random_state=0).fit(X)
    assert model.summary(open_source(tmp_path / "X.npy"))["name"].tolist() == model.summary(X)["name"].tolist()
    assert model.summary(sparse.csr_array(X))["name"].is_unique


def test_noise_has_a_row_of_its_own():
    X = np.concatenate([np.random.default_rng(0).normal(size=(100, 2)), [[50.0, 50.0]]])
    table = CoHiRF(DBSCAN(eps=1.5)).fit(X).summary(X)
    assert table.loc[-1, "name"] == "noise"
    assert table.loc[-1, "size"] == 1
    assert table["exemplar"].isna().tolist() == [False, True]


def test_all_noise_and_a_single_cluster_are_described():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match="noise"):
        noise = CoHiRF(DBSCAN(eps=1e-6)).fit(X)
    assert noise.summary(X)["name"].tolist() == ["noise"]
    assert find_badly_fitting(noise).n_compared == 0
    one = CoHiRF(n_clusters=1, random_state=0).fit(X)
    assert one.summary(X)["name"].tolist() == ["all rows"]
    assert find_badly_fitting(one).border == []


def test_small_clusters_are_in_the_sample_and_count_as_much_as_they_have_rows(monkeypatch):
    monkeypatch.setattr("cohirf.description.sampling.MAX_ROWS", 200)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(5000, 1)), 100 + rng.normal(size=(40, 1))])
    model = CoHiRF(n_clusters=2, merge="compact", random_state=0).fit(X)
    rows = draw_described_rows(model, 1)
    assert len(rows) < 300
    assert (model.labels_[rows] == model.labels_[-1]).sum() >= 30
    large = describe_clusters(model, X).clusters[model.labels_[0]]
    inside = model.labels_ == large.label
    assert large.traits[0].inside == pytest.approx(X[inside].mean(), abs=0.3)
    assert large.traits[0].effect == pytest.approx((X[inside].mean() - X[~inside].mean()) / X.std(), rel=0.02)


def test_rows_between_clusters_and_far_from_all_are_found():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 2)), rng.normal([20, 0], 1, (200, 2)), [[10, 0], [0, 12]]])
    model = CoHiRF(n_clusters=2, random_state=0).fit(X)
    found = find_badly_fitting(model)
    assert [row.row for row in found.border] == [400]
    assert {row.row for row in found.loose[:2]} == {400, 401}
    assert found.share_between == pytest.approx(1 / 402)
    assert {found.border[0].cluster, found.border[0].other} == {0, 1}


def test_a_cloud_that_is_cut_has_many_rows_between_clusters():
    X = np.random.default_rng(0).normal(size=(1000, 10))
    assert find_badly_fitting(CoHiRF(n_clusters=4, random_state=0).fit(X)).share_between > 0.5


def test_only_the_largest_of_many_clusters_are_named(monkeypatch):
    monkeypatch.setattr("cohirf.description.described.MAX_DESCRIBED", 5)
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = CoHiRF(n_clusters=20, random_state=0).fit(X)
    description = describe_clusters(model, X)
    assert len(description.clusters) == 5
    table = description.to_frame()
    assert len(table) == 20
    assert table["name"].str.startswith("cluster ").sum() == 15
    largest = table["size"].nlargest(5).min()
    assert (table.loc[~table["name"].str.startswith("cluster "), "size"] >= largest).all()


def test_as_many_clusters_as_rows_are_described():
    X = np.random.default_rng(0).normal(size=(1500, 3))
    with pytest.warns(ConvergenceWarning, match="Nothing fused"):
        model = CoHiRF(DBSCAN(eps=1e-9, min_samples=1)).fit(X)
    description = describe_clusters(model, X)
    assert (len(description.sizes), len(description.clusters)) == (1500, 1000)
    assert description.badly_fitting.n_compared == 1500
    assert len(write_tree(name_tree(model))) <= 2 * 30


def test_stored_rows_are_described_in_the_units_before_their_preparation(customers):
    frame, _, _ = customers
    table = frame.drop(columns="id").assign(
        active=np.where(frame["age"] > 50, "yes", "no"),
        signup=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.where(frame["age"] > 50, 0, 400), unit="D"),
    )
    prepared = prepare(table, scaling="standard")
    model = CoHiRF(n_clusters=3, random_state=0).fit(prepared.array())
    description = describe_clusters(model, preparation=prepared.preparation)
    old = max(description.clusters, key=lambda cluster: cluster.exemplar_values["age"])
    phrases = {trait.phrase for trait in old.traits}
    assert {"older", "active: yes", "early signup"} <= phrases
    values = {trait.feature.name: trait.values for trait in old.traits}
    assert values["age"] == "age 64.9 (others 30.6)"
    assert values["active"] == "active=yes 100% (others 0%)"
    assert values["signup"].startswith("signup 2020-01-01 (others 2021-02-0")
    lines = write_tree(name_tree(model, preparation=prepared.preparation))
    assert any("active: yes" in line for line in lines)


def test_what_prepare_returned_is_described_in_its_original_units(customers):
    frame, _, _ = customers
    prepared = prepare(frame.drop(columns="id"), scaling="standard")
    model = CoHiRF(n_clusters=3, random_state=0).fit(prepared.array())
    table = model.summary(prepared)
    assert table["name"].tolist() == [cluster.name for cluster in describe_clusters(model, prepared).clusters]
    cluster = describe_clusters(model, prepared).clusters[0]
    assert frame["age"].min() <= cluster.exemplar_values["age"] <= frame["age"].max()
    assert plot_heatmap(model, prepared).get_xticklabels()
    assert plot_map(model, prepared).collections
