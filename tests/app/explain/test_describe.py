"""Descriptions of the clusters of a fit, their tree, and the headline."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial import cKDTree
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, open_source
from cohirf.app.explain import describe_clusters, make_headline, name_tree, write_tree
from cohirf.app.explain.describe import say_separation, say_strength
from cohirf.app.explain.effects import find_splits
from cohirf.app.explain.page import render
from cohirf.app.explain.policy import SAMPLE, Size
from cohirf.app.explain.report import summarize
from cohirf.app.explain.rows import BadlyFitting, find_badly_fitting
from cohirf.app.explain.study import check_study, draw_sample, make_study
from cohirf.app.explain.table import read_table
from cohirf.app.plotting import plot_heatmap, plot_map
from cohirf.app.preparation import prepare
from cohirf.beyond.policy import NUMBER
from cohirf.choice import Choice


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
    assert (
        names
        == model.summary()["name"].tolist()
        == model.summary(scaled.to_numpy())["name"].tolist()
    )


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
    assert (
        model.summary(open_source(tmp_path / "X.npy"))["name"].tolist()
        == model.summary(X)["name"].tolist()
    )
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
    monkeypatch.setitem(vars(SAMPLE), "described", Size(200, 1, 10**7))
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(5000, 1)), 100 + rng.normal(size=(40, 1))])
    model = CoHiRF(n_clusters=2, merge="compact", random_state=0).fit(X)
    rows = draw_sample(make_study(model, X)).rows
    assert len(rows) < 300
    assert (model.labels_[rows] == model.labels_[-1]).sum() >= 30
    description = describe_clusters(model, X)
    said = make_headline(description, None).groups[-1]
    assert said == f"Means and shares are those of {len(rows)} of the rows."
    large = description.clusters[model.labels_[0]]
    inside = model.labels_ == large.label
    assert large.traits[0].inside == pytest.approx(X[inside].mean(), abs=0.3)
    assert large.traits[0].effect == pytest.approx(
        (X[inside].mean() - X[~inside].mean()) / X.std(), rel=0.02
    )


def test_rows_between_clusters_and_far_from_all_are_found():
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.normal(size=(200, 2)), rng.normal([20, 0], 1, (200, 2)), [[10, 0], [0, 12]]]
    )
    model = CoHiRF(n_clusters=2, random_state=0).fit(X)
    found = find_badly_fitting(model)
    assert [row.row for row in found.border] == [400]
    assert {row.row for row in found.loose[:2]} == {400, 401}
    assert found.share_between == pytest.approx(1 / 402)
    assert {found.border[0].cluster, found.border[0].other} == {0, 1}


def test_a_cloud_that_is_cut_has_many_rows_between_clusters():
    X = np.random.default_rng(0).normal(size=(300, 10))
    assert find_badly_fitting(CoHiRF(n_clusters=4, random_state=0).fit(X)).share_between > 0.5


def test_only_the_largest_of_many_clusters_are_named(monkeypatch):
    monkeypatch.setitem(vars(SAMPLE), "described_clusters", 5)
    X = np.random.default_rng(0).normal(size=(300, 3))
    model = CoHiRF(n_clusters=20, random_state=0).fit(X)
    description = describe_clusters(model, X)
    assert len(description.clusters) == 5
    table = description.to_frame()
    assert len(table) == 20
    assert table["name"].str.startswith("cluster ").sum() == 15
    largest = table["size"].nlargest(5).min()
    assert (table.loc[~table["name"].str.startswith("cluster "), "size"] >= largest).all()


def test_as_many_clusters_as_rows_are_described(monkeypatch):
    monkeypatch.setitem(vars(SAMPLE), "described_clusters", 200)
    X = np.random.default_rng(0).normal(size=(300, 3))
    with pytest.warns(ConvergenceWarning, match="Nothing fused"):
        model = CoHiRF(DBSCAN(eps=1e-9, min_samples=1)).fit(X)
    description = describe_clusters(model, X)
    assert (len(description.sizes), len(description.clusters)) == (300, 200)
    assert description.badly_fitting.n_compared == 300
    assert len(write_tree(name_tree(model))) <= 2 * 30


def test_stored_rows_are_described_in_the_units_before_their_preparation(customers):
    frame, _, _ = customers
    table = frame.drop(columns="id").assign(
        active=np.where(frame["age"] > 50, "yes", "no"),
        signup=pd.Timestamp("2020-01-01")
        + pd.to_timedelta(np.where(frame["age"] > 50, 0, 400), unit="D"),
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
    assert table["name"].tolist() == [
        cluster.name for cluster in describe_clusters(model, prepared).clusters
    ]
    cluster = describe_clusters(model, prepared).clusters[0]
    assert frame["age"].min() <= cluster.exemplar_values["age"] <= frame["age"].max()
    assert plot_heatmap(model, prepared).get_xticklabels()
    assert plot_map(model, prepared).collections


@pytest.fixture(scope="module")
def passengers():
    """Four groups: two of the first class that differ by sex, and two of the third that differ by
    their high fare.
    """
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2, 3], 100)
    frame = pd.DataFrame(
        {
            "class": np.array(["first", "first", "third", "third"])[group],
            "sex": np.array(["male", "female", "male", "male"])[group],
            "fare": np.array([10.0, 10, 80, 95])[group] + rng.normal(size=400),
        }
    )
    prepared = prepare(frame)
    return prepared, CoHiRF(n_clusters=4, random_state=0).fit(prepared.array())


def test_names_of_siblings_begin_with_what_splits_them(passengers):
    prepared, model = passengers
    names = model.summary(prepared)["name"]
    of_group = [names[model.labels_[100 * number]] for number in range(4)]
    assert len(set(model.labels_[::100])) == 4
    assert [name.split(", ")[0] for name in of_group[:2]] == ["sex: male", "sex: female"]
    assert all("class: first" in name for name in of_group[:2])  # what they share comes later
    # both fares are high, so that the values tell them apart
    assert [name.split(", ")[0] for name in of_group[2:]] == [
        "high fare (mean 79.9)",
        "high fare (mean 95)",
    ]
    assert [name for name in names if "male" in name.split(", ")[0]] == of_group[:2]


def test_a_page_a_tree_and_a_summary_have_the_same_names(passengers):
    prepared, model = passengers
    names = set(model.summary(prepared)["name"])
    summary = summarize(check_study(model, prepared, None, None), "Same")
    assert set(summary["cuts"][summary["final"]]["names"]) == names
    for cluster, name in zip(
        summary["clusters"], summary["cuts"][summary["final"]]["names"], strict=False
    ):
        column = summary["columns"][cluster["traits"][0]["column"]]["name"]
        assert column in name.split(", ")[0]  # the card shows first what the name says first
    lines = "\n".join(write_tree(name_tree(model, preparation=prepared.preparation)))
    assert all(name in lines for name in names)


def test_names_on_a_page_begin_with_the_categories_that_clusters_repeat():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 60)
    age = np.array([70.0, 30, 45, 45])[group] + 5 * rng.normal(size=240)
    frame = pd.DataFrame(
        {
            "sex": np.where(group % 2, "male", "female"),
            "paid": np.where(group < 2, "a", "b"),
            "age": age,
        }
    )
    prepared = prepare(frame)
    model = CoHiRF(n_clusters=4, random_state=0).fit(prepared.array())
    description = describe_clusters(model, prepared)
    assert set(description.repeated) == {"sex", "paid"}
    summary = summarize(check_study(model, prepared, None, None), "Same")
    names = [cluster.name for cluster in description.clusters]
    assert set(summary["cuts"][summary["final"]]["names"]) == set(names)
    assert all(
        {trait.feature.name for trait in cluster.traits[:2]} == {"sex", "paid"}
        for cluster in description.clusters
    )


def headline_of(model, X):
    return make_headline(describe_clusters(model, X), model.diagnose())


def test_separate_clusters_are_good_news():
    X, _ = make_blobs(300, centers=3, random_state=1)
    headline = headline_of(CoHiRF(n_clusters=3, random_state=0).fit(X), X)
    assert str(headline) == (
        "3 clusters in 300 rows. 100 rows (33%): medium feature 1, low feature 0. 100 rows (33%): "
        "low feature 1, medium feature 0. 100 rows (33%): high feature 1, high feature 0. They "
        "are clearly apart: less than 1% of the rows are between two clusters. Divided into 3 on "
        "their own, all 2 random halves of the rows have the same clusters: use them as kinds of "
        "rows."
    )
    assert headline.tone == "good"


@pytest.mark.parametrize("X", [load_iris().data, make_blobs(500, centers=9, random_state=4)[0]])
def test_a_number_that_was_given_is_judged_as_one_that_was_chosen(X):
    chosen = CoHiRF(random_state=0).fit(X)
    given = CoHiRF(n_clusters=chosen.n_clusters_, random_state=0).fit(X)
    np.testing.assert_array_equal(given.labels_, chosen.labels_)
    assert "random halves of the rows ha" in headline_of(given, X).trust
    assert str(headline_of(given, X)) == str(headline_of(chosen, X))


def test_columns_that_clusters_repeat_are_left_out_by_the_name_of_the_table():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        rng.choice([0, 1, 3], 300, p=[0.7, 0.2, 0.1]), unit="D"
    )
    frame = pd.DataFrame(
        {"sold": days + pd.to_timedelta(7 * rng.integers(40, size=300), unit="D"), "x": 1.0}
    )
    frame["x"] = rng.normal(size=300)
    prepared = prepare(frame)
    model = CoHiRF(n_clusters=3, random_state=0).fit(prepared.array())
    description = replace(describe_clusters(model, prepared), repeated=("sold weekday",))
    headline = make_headline(description, model.diagnose(), prepared)
    kept = prepared.preparation.kept[0]
    assert headline.trust == "To find groups in the other column, x, leave sold out."
    assert kept.cycles == ("weekday",)


def test_all_noise_is_not_to_be_used():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match="noise"):
        model = CoHiRF(DBSCAN(eps=1e-6)).fit(X)
    headline = headline_of(model, X)
    said = (
        "No clusters: all 60 rows are noise. To find some, raise eps of DBSCAN, or lower "
        "min_samples of DBSCAN."
    )
    assert str(headline) == said
    assert headline.tone == "poor"


def test_noise_and_a_single_cluster_are_counted():
    X = np.concatenate([np.random.default_rng(0).normal(size=(99, 2)), [[50.0, 50.0]]])
    headline = headline_of(CoHiRF(DBSCAN(eps=1.5)).fit(X), X)
    assert headline.count == "1 cluster in 100 rows; 1% of the rows are noise, in no cluster."
    assert headline.sizes == headline.separation == ""


def test_a_cloud_that_is_cut_is_not_good_news():
    X = np.random.default_rng(0).normal(size=(300, 20))
    headline = headline_of(CoHiRF(n_clusters=4, random_state=0).fit(X), X)
    assert headline.count == "No clear groups in 300 rows: these 4 slices are one way to sort them."
    assert headline.tone != "good"


def between(share, **figures):
    return BadlyFitting([], [], share, 100, **figures)


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "clearly apart"), (0.1, "They touch"), (0.3, "They overlap"), (0.8, "not separate")],
)
def test_the_words_follow_the_share_of_rows_between_clusters(share, said):
    assert said in say_separation(between(share))


def test_shapes_of_the_base_method_and_clusters_of_other_widths_are_not_said_to_run_into_each_other():
    moons, _ = make_moons(600, noise=0.04, random_state=0)
    linked = CoHiRF(AgglomerativeClustering(2, linkage="single"), n_clusters=2, random_state=0).fit(
        moons
    )
    assert np.isnan(find_badly_fitting(linked).filled)
    assert find_badly_fitting(linked).is_apart
    rng = np.random.default_rng(0)
    wide = np.concatenate(
        [3 * rng.normal(size=(1000, 2)), 0.1 * rng.normal(size=(60, 2)) + [13, 0]]
    )
    assert not find_badly_fitting(CoHiRF(n_clusters=2, random_state=0).fit(wide)).filled > 0.1


def test_clusters_without_a_gap_are_no_kinds_of_rows():
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(600, 4))
    halves = CoHiRF(n_clusters=2, random_state=0).fit(cloud)
    apart = CoHiRF(n_clusters=2, random_state=0).fit(
        cloud + np.repeat([[0, 0, 0, 0], [8, 0, 0, 0]], 300, axis=0)
    )
    assert find_badly_fitting(halves).filled > 0.7
    assert find_badly_fitting(apart).filled < 0.1
    assert "with no gap between them" in say_separation(between(0.02, filled=0.9))
    assert say_separation(between(0.02, filled=0.5)).startswith("They touch")
    assert "not kinds of rows" in say_strength(choice_of(0.9, [1.0, 0.9]), has_gaps=False)[0]


def test_one_pair_of_several_clusters_that_run_into_each_other_is_some_of_them():
    said = say_separation(between(0.02, filled=0.9), 3)
    assert said.startswith("Some of them run into each other")


@pytest.mark.parametrize("columns", [1, 2])
def test_neighbouring_whole_numbers_are_between_two_clusters(columns):
    rng = np.random.default_rng(0)
    years = rng.integers(1980, 2014, size=(1500, columns)).astype(float)
    cut = CoHiRF.as_published(KMeans(2, n_init=1), random_state=0).fit(years)
    assert not find_badly_fitting(cut).is_apart
    halves = CoHiRF(n_clusters=2, random_state=0).fit(years)
    assert not find_badly_fitting(halves).is_apart
    apart = np.where(years[:, :1] < 1997, years, years + 40)  # with a gap
    assert find_badly_fitting(CoHiRF(n_clusters=2, random_state=0).fit(apart)).is_apart


def test_scores_of_few_values_have_steps_and_not_gaps():
    rng = np.random.default_rng(0)
    scores = np.clip(np.round(rng.normal(1, 1.2, size=(3000, 2))), 0, 4)
    assert not find_badly_fitting(CoHiRF(n_clusters=2, random_state=0).fit(scores)).is_apart
    ends = np.where(scores <= 1, 0.0, 4.0)  # no step between these two
    ends[:, 1] = ends[:, 0]
    assert find_badly_fitting(CoHiRF(n_clusters=2, random_state=0).fit(ends)).is_apart


def headline_of_table(frame, n_clusters):
    prepared = prepare(frame)
    model = CoHiRF(n_clusters=n_clusters, random_state=0).fit(prepared.array())
    description = describe_clusters(model, prepared)
    return description, make_headline(description, model.diagnose(), prepared)


def test_clusters_that_follow_a_column_and_are_apart_without_it_are_kinds_of_rows():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 60)
    frame = pd.DataFrame(rng.normal(size=(180, 2)), columns=list("ab"))
    frame["a"] += 20 * group
    frame["b"] += 20 * (group == 1)
    written = np.where(rng.random(180) < 0.12, rng.permutation(group), group)
    frame["batch"] = np.array(["B1", "B2", "B3"])[written]
    description, headline = headline_of_table(frame, 3)
    assert description.followed == ("batch",)
    assert f"batch alone tells the cluster of {np.mean(written == group):.0%}" in headline.sizes
    assert headline.separation.startswith("Without batch, they are clearly apart")
    assert "leave batch out" not in headline.trust
    assert "use them as kinds of rows" in headline.trust


def test_clusters_that_only_follow_a_column_are_no_kinds_of_rows():
    rng = np.random.default_rng(0)
    batch, kind = np.divmod(np.arange(252), 84)[0], np.arange(252) % 7
    frame = pd.DataFrame(
        {
            "batch": np.array(["B1", "B2", "B3"])[batch],
            "conc": np.where(kind == 4, 9.0, 0.4) + 0.1 * rng.normal(size=252),
        }
    )
    description, headline = headline_of_table(frame, 4)
    assert description.followed == ("batch",)
    share = (3 * 72 + 12) / 252
    assert f"{share:.0%} of the rows have the commonest batch of their" in headline.sizes
    assert "apart" not in headline.separation
    assert "use them as kinds of rows" not in headline.trust
    assert headline.trust.endswith("To find groups in the other column, conc, leave batch out.")


def test_a_column_of_many_levels_is_not_followed():
    frame = pd.DataFrame({"x": np.repeat(np.arange(40.0), 8) + np.tile(np.arange(8.0), 40) / 10})
    frame["name"] = [f"n{number:.0f}" for number in np.floor(frame["x"])]
    model = CoHiRF(n_clusters=2, random_state=0).fit(frame[["x"]])
    assert describe_clusters(model, frame).followed == ()


def test_groups_that_are_not_clear_are_never_called_clearly_apart():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = CoHiRF(random_state=0).fit(X)
    assert not model.choice_.is_clear
    headline = headline_of(model, X)
    said = f"these {model.n_clusters_} slices are one way to sort them."
    assert headline.count == f"No clear groups in 300 rows: {said}"
    assert "not as kinds of rows" in headline.trust
    assert "no clear groups" in model.choice_.describe()
    assert "apart" not in str(headline)
    for share in (0.0, 0.1, 0.3, 0.8):
        said = say_separation(between(share), is_clear=False)
        assert said.endswith("rows are between two of them.") if share > 0.05 else not said
    gapless = say_separation(between(0.0, filled=0.9), is_clear=False)
    assert gapless == "There is no gap between the two."


def choice_of(strength, agreements):
    figures = np.array([0.4, 0.3])
    return Choice(
        2,
        candidates=np.array([2, 3]),
        figures=figures,
        strength=strength,
        agreements=np.array(agreements),
    )


@pytest.mark.parametrize(
    ("strength", "agreements", "said", "tone"),
    [
        (
            0.9,
            [1, 0.9],
            "all 2 random halves of the rows have the same clusters: use them as",
            "good",
        ),
        (
            0.9,
            [1, 0.7, 0.9],
            "2 of 3 random halves of the rows have the same clusters, and",
            "fair",
        ),
        (0.4, [0.3, 0.2], "none of 2 random halves of the rows has the same clusters: use", "fair"),
        (0.4, [1, 1], "have the same clusters: use them to sort the rows, not as kinds", "fair"),
    ],
)
def test_what_to_do_follows_how_many_halves_have_the_same_clusters(
    strength, agreements, said, tone
):
    found = say_strength(choice_of(strength, agreements))
    assert said in found[0]
    assert found[1] == tone


@pytest.mark.parametrize(
    "seed", [pytest.param(0, marks=pytest.mark.slow), 1, pytest.param(2, marks=pytest.mark.slow)]
)
def test_as_many_halves_have_the_same_clusters_as_is_said_when_they_are_fitted_alone(seed):
    """Three sets of the plane: clear clusters, clusters that overlap, and a cloud."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0, 0], [1, 0], [0, 1]]) * [9.0, 2.5, 0.0][seed]
    X = centres[rng.integers(3, size=200)] + rng.normal(size=(200, 2))
    model = CoHiRF(random_state=0).fit(X)
    same = []
    for _ in range(20):
        half = rng.permutation(200)[:100]
        alone = CoHiRF(n_clusters=model.n_clusters_, random_state=0).fit_predict(X[half])
        same.append(adjusted_rand_score(model.labels_[half], alone) >= NUMBER.same)
    said = model.choice_.n_same / model.choice_.n_halves
    assert abs(said - np.mean(same)) <= 0.3


def test_clusters_are_named_in_the_headline_the_largest_first():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(6), [60, 50, 40, 30, 20, 10])
    X = pd.DataFrame({"spend": 10.0 * group + rng.normal(size=210), "age": rng.normal(size=210)})
    few = make_headline(
        describe_clusters(CoHiRF(n_clusters=2, random_state=0).fit(X), X), None
    ).sizes
    assert few.startswith(
        "110 rows (52%): low spend. 100 rows (48%): high spend. They differ most in spend: "
    )
    group = np.repeat(np.arange(7), [60, 50, 40, 20, 20, 10, 10])
    X = pd.DataFrame({"spend": 10.0 * group + rng.normal(size=210), "age": rng.normal(size=210)})
    many = make_headline(
        describe_clusters(CoHiRF(n_clusters=7, random_state=0).fit(X), X), None
    ).sizes
    assert many.startswith("The largest has 60 rows (29%): low spend")
    assert "One of the 2 smallest has 10 rows (5%): high spend" in many


def test_a_few_rows_that_are_noise_or_have_few_values_are_named():
    rng = np.random.default_rng(0)
    numbers = np.r_[rng.normal(size=(70, 3)), 9 + rng.normal(size=(30, 3)), [[1e4, 1e4, 1e4]]]
    numbers[7, :2] = np.nan
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"]).assign(
        city=[f"city {row}" for row in range(101)]
    )
    prepared = prepare(frame)
    model = CoHiRF(random_state=0).fit(prepared.array())
    found = describe_clusters(model, prepared)
    headline = make_headline(found, None, prepared)
    assert headline.count == "2 clusters in 101 rows."
    assert headline.exceptions == (
        "city 100 lies apart from all others, and is in no cluster. 1 row (city 7) has values in "
        "fewer than half of the columns that were used; the rest was filled."
    )
    assert make_headline(found, None).count.endswith("of the rows are noise, in no cluster.")
    summary = summarize(check_study(model, prepared, None, None), "Cities")
    assert summary["odd"]["filled"] == ["city 7"]
    assert "<bdi>city 7</bdi>" in render(summary)


def test_an_opening_says_which_columns_are_ids_by_name_alone():
    rng = np.random.default_rng(0)
    prepared = prepare(
        pd.DataFrame(
            {"pid": np.arange(100) % 7, "a": rng.normal(size=100), "b": rng.normal(size=100)}
        )
    )
    model = CoHiRF(n_clusters=2, random_state=0).fit(prepared.array())
    headline = make_headline(describe_clusters(model, prepared), None, prepared)
    assert headline.exceptions == "pid was left out: its name is that of an id."


def test_columns_whose_names_are_years_are_called_by_what_their_numbers_are():
    rng = np.random.default_rng(0)
    level = np.repeat([1.0, 9.0], 50)
    years = {str(year): level + rng.normal(size=100) for year in range(1960, 1970)}
    prepared = prepare(pd.DataFrame({"series": "Births per woman", **years}))
    model = CoHiRF(n_clusters=2, random_state=0).fit(prepared.array())
    names = {cluster.name for cluster in describe_clusters(model, prepared).clusters}
    assert names == {"low Births per woman 1960 to 1969", "high Births per woman 1960 to 1969"}
    without = prepare(pd.DataFrame(years))
    assert {one.name for one in describe_clusters(model, without).clusters} == {
        "low value 1960 to 1969",
        "high value 1960 to 1969",
    }


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 400)
    X = pd.DataFrame(
        {
            "age": np.array([20, 25, 70, 75])[group] + rng.normal(size=400),
            "spend": np.array([10, 40, 10, 40])[group] + rng.normal(size=400),
        }
    )
    return CoHiRF(n_clusters=4, random_state=0).fit(X)


def test_branches_and_clusters_are_named(model):
    lines = write_tree(name_tree(model))
    assert lines[0] == "400 rows"
    assert len(lines) == 7
    names = model.summary()["name"]
    for cluster, size in enumerate(np.bincount(model.labels_).tolist()):
        assert (
            sum(
                f"cluster {cluster}, {size} rows" in line and names[cluster] in line
                for line in lines
            )
            == 1
        )
    branches = [line for line in lines if "cluster" not in line][1:]
    assert ["younger" in line for line in branches].count(True) == 1
    assert ["older" in line for line in branches].count(True) == 1


def test_parts_of_clusters_are_called_so(model):
    lines = write_tree(name_tree(model, 8))
    assert sum("part of cluster" in line for line in lines) >= 4
    assert sum("part of" not in line and "cluster" in line for line in lines) == 4


@pytest.mark.parametrize("width", [40, 60])
def test_lines_fit_and_are_cut_between_words(model, width):
    tree = name_tree(model)
    words = set(" ".join(write_tree(tree, 1000)).replace("…", "").split())
    for line in write_tree(tree, width):
        assert len(line) <= width
        assert set(line.removesuffix("…").split()) <= words | {word.rstrip(",:") for word in words}


def test_trees_can_be_written_in_letters(model):
    assert "\n".join(write_tree(name_tree(model), drawn=False)).isascii()


def test_noise_is_the_last_line():
    X = np.concatenate([np.random.default_rng(0).normal(size=(99, 2)), [[50.0, 50.0]]])
    assert write_tree(name_tree(CoHiRF(DBSCAN(eps=1.5)).fit(X)))[1:] == [
        "├─ cluster 0, 99 rows (99%): low feature 1, low feature 0",
        "└─ noise, 1 row (1%)",
    ]


def test_notebooks_show_the_tree_of_a_fitted_model(model):
    page = model._repr_mimebundle_()["text/html"]
    assert "<pre>400 rows\n├─ " in page
    assert all(f"cluster {cluster}, " in page for cluster in range(4))
    assert "─ cluster" not in CoHiRF()._repr_mimebundle_()["text/html"]


def test_names_are_escaped_in_notebooks():
    X = pd.DataFrame({"<b>age</b>": [20.0, 21, 70, 71]})
    page = CoHiRF(n_clusters=2, random_state=0).fit(X)._repr_mimebundle_()["text/html"]
    assert "<b>age</b>" not in page.partition("<pre>4 rows")[2]


def test_clusters_that_are_the_levels_of_a_column_are_said_to_be():
    rng = np.random.default_rng(0)
    part = rng.integers(3, size=300)
    X = pd.DataFrame(
        {"life": 60 + 8 * part + rng.normal(size=300), "region": np.array(["A", "B", "C"])[part]}
    )
    model = CoHiRF(n_clusters=3, random_state=0).fit(X[["life"]])
    found = describe_clusters(model, X)
    assert found.repeated == ("region",)
    assert "They are the 3 levels of region." in make_headline(found, None).sizes
    shuffled = describe_clusters(model, X.assign(region=rng.permutation(X["region"])))
    assert shuffled.repeated == ()
    assert "levels of" not in make_headline(shuffled, None).sizes


def test_clusters_that_are_combinations_of_levels_are_said_to_be():
    rng = np.random.default_rng(0)
    sex, cabin, other = rng.integers(2, size=(3, 400))
    X = pd.DataFrame(
        {
            "fare": 9.0 * sex + 20 * cabin + rng.normal(size=400),
            "sex": sex,
            "cabin": cabin,
            "other": other,
        }
    )
    model = CoHiRF(n_clusters=4, random_state=0).fit(X[["fare"]])
    found = describe_clusters(model, X)
    assert sorted(found.repeated) == ["cabin", "sex"]
    said = make_headline(found, None).sizes
    assert "They are the 4 combinations of cabin and sex." in said


def test_of_many_clusters_those_that_they_merge_into_are_named():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(9), 40)
    X = pd.DataFrame(
        {
            "spend": 100.0 * (group // 3) + 10 * (group % 3) + rng.normal(size=360),
            "age": rng.normal(size=360),
        }
    )
    model = CoHiRF(random_state=0).fit(X)
    assert model.n_clusters_ == 9
    found = describe_clusters(model, X)
    said = make_headline(found, None).sizes
    assert said.startswith("They merge into 3: 120 rows (33%) in 3 clusters: ")
    for part in found.parts:
        rows = np.isin(model.labels_, part.labels)
        assert part.size == rows.sum()
        assert len(np.unique(group[rows] // 3)) == 1
        assert part.name in {"low spend", "medium spend", "high spend"}
    given = describe_clusters(CoHiRF(n_clusters=9, random_state=0).fit(X), X)
    assert given.parts == ()


def test_clusters_that_are_the_cells_of_a_design_are_said_to_be():
    rng = np.random.default_rng(0)
    dose, week, _ = np.meshgrid([1.0, 2, 8], [0.0, 4], np.arange(20.0))
    X = pd.DataFrame({"dose": dose.ravel(), "week": week.ravel(), "y": rng.normal(size=120)})
    found = describe_clusters(CoHiRF(n_clusters=6, random_state=0).fit(X[["dose", "week"]]), X)
    assert "They are the 6 combinations of dose and week." in make_headline(found, None).sizes
    fact = found.facts[-1]
    assert (fact.value, fact.other, fact.columns) == (1.0, 6.0, ("dose", "week"))
    shuffled = X.assign(dose=rng.permutation(X["dose"]), week=rng.permutation(X["week"]))
    model = CoHiRF(n_clusters=6, random_state=0).fit(X[["dose", "week"]])
    assert describe_clusters(model, shuffled).repeated == ()


def test_a_level_that_nearly_all_rows_have_is_said_instead_of_one_that_they_lack():
    cabin = np.repeat(["second", "third", "second", "first"], [40, 100, 200, 200])
    labels = np.repeat([0, 1, 2], [40, 100, 400])
    table = read_table(pd.DataFrame({"cabin": cabin, "x": np.arange(540) % 7.0}), np.arange(540))
    splits = find_splits(table, labels, [[0], [1]], [[1], [0]])
    # the latter not "not second"
    assert [split.phrase for split in splits] == [
        "cabin: second",
        "cabin: third",
    ]


def test_means_are_those_of_the_cells_that_are_in_the_data():
    rng = np.random.default_rng(0)
    size = np.repeat([0.0, 9.0], 100)
    frame = pd.DataFrame({"a": 2 * size + rng.normal(size=200), "b": size + rng.normal(size=200)})
    frame["a"] = frame["a"].mask(np.arange(200) % 3 == 0)
    data = prepare(frame)
    model = CoHiRF(n_clusters=2, random_state=0).fit(data)
    description = describe_clusters(model, data)
    means = frame.groupby(model.labels_).mean()
    for cluster in description.clusters:
        for trait in cluster.traits:
            assert trait.inside == pytest.approx(means.loc[cluster.label, trait.feature.name])
    empty = frame.loc[description.clusters[0].exemplar].isna()
    values = description.clusters[0].exemplar_values
    assert [np.isnan(values[name]) for name in frame] == empty.tolist()


def test_columns_are_left_out_only_if_others_are_left():
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "c"], 50)
    frame = pd.DataFrame({"kind": group, "x": rng.normal(size=150)})
    for columns, said in ((["kind", "x"], True), (["kind"], False)):
        prepared = prepare(frame[columns])
        model = CoHiRF(n_clusters=3, random_state=0).fit(prepared.array())
        description = describe_clusters(model, prepared)
        assert description.repeated == ("kind",)
        headline = make_headline(description, model.diagnose(), prepared)
        assert ("leave kind out" in headline.trust) == said


def test_columns_that_say_the_same_are_left_out_together():
    rng = np.random.default_rng(0)
    start, end = rng.integers(2, size=(2, 300))
    frame = pd.DataFrame({"x": rng.normal(size=300), "y": rng.normal(size=300)})
    frame["from"] = np.array(["ill", "well"])[start]
    frame["trans"] = [f"{one} to {other}" for one, other in zip(start, end, strict=True)]
    frame["to"] = np.array(["dead", "alive"])[end]
    frame["code"] = 10 * start + end
    description, headline = headline_of_table(frame, 4)
    assert {*description.repeated, *description.same} == {"trans", "from", "to", "code"}
    left = headline.trust.removeprefix("To find groups in the other columns, leave ")
    assert all(name in left for name in ("trans", "from", "to", "code"))
    assert "x" not in left.replace("code", "")


@pytest.mark.filterwarnings("ignore:The table. column .parent. has 40 cells")
def test_cells_that_could_not_be_read_are_not_said_to_be_missing():
    rng = np.random.default_rng(0)
    numbers = np.r_[rng.normal(0, 1, (60, 3)), rng.normal(9, 1, (60, 3))]
    frame = pd.DataFrame(numbers, columns=["a", "b", "c"])
    parent = pd.Series(rng.normal(3, 1, 120).astype(str))
    parent[:60] = ["A", "", "B"] * 20
    gone = pd.Series(rng.normal(3, 1, 120))
    gone[:60] = np.nan
    kinds = {"parent": "number"}

    def headline(**columns):
        prepared = prepare(frame.assign(**columns), kinds=kinds if "parent" in columns else None)
        model = CoHiRF(n_clusters=2, random_state=0).fit(prepared.array())
        return " ".join(make_headline(describe_clusters(model, prepared), None, prepared).groups)

    assert "parent is missing or could not be read, and filled." in headline(parent=parent)
    assert "gone is missing, and filled." in headline(gone=gone)


def test_rows_along_one_line_are_pieces_and_no_clusters():
    at = np.r_[0, np.cumsum(np.random.default_rng(0).uniform(1, 2, size=29))]
    X = np.column_stack([at, 2 * at + 0.01])
    model = CoHiRF(n_clusters=2, random_state=0).fit(X)
    found = find_badly_fitting(model)
    assert found.is_line
    headline = headline_of(model, X)
    said = "they lie along one line, cut here into 2 pieces."
    assert headline.count == f"No clear groups in 30 rows: {said}"
    apart = CoHiRF(n_clusters=2, random_state=0).fit(np.where(X.mean(axis=0) < X, X + 90, X))
    assert not find_badly_fitting(apart).is_line_cut


def test_few_different_rows_are_counted_and_not_said_to_be_between_clusters():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(3, size=300), "y": rng.integers(3, size=300)})
    headline = headline_of_table(frame, 4)[1]
    assert headline.separation == ""
    assert "All rows are one of 9 combinations of x and y." in headline.sizes


def test_counts_of_combinations_are_told():
    frame = pd.DataFrame(
        [(a, b, c) for a in "pqrs" for b in "uvwxyz" for c in ("no", "yes")], columns=list("abc")
    )
    frame["Freq"] = np.random.default_rng(0).integers(200, size=len(frame))
    assert (
        "Each row is another combination of a, b and c: Freq was taken as a number, and not as how "
        "many cases the row stands for." in headline_of_table(frame, 2)[1].sizes
    )


def test_neighbours_are_sought_among_all_rows_of_the_data():
    X = np.random.default_rng(0).normal(size=(1500, 5)).round(1)
    model = CoHiRF(n_clusters=2, random_state=0).fit(X)
    stored = np.arange(0, 1500, 3)  # a larger fit stores some of its rows
    keys = "labels_", "cluster_numbers_", "n_clusters_", "n_features_in_", "choice_", "cluster_map_"
    parts = {key: getattr(model, key, None) for key in keys}
    part = SimpleNamespace(**parts, landmark_indices_=stored, landmarks_=X[stored])
    few = find_badly_fitting(part)
    found = find_badly_fitting(part, study=make_study(model, X))
    assert (few.n_compared, few.n_among, found.n_among) == (500, 500, 1500)
    sides = [cKDTree(np.unique(X[model.labels_ == one], axis=0)) for one in (0, 1)]
    near = np.stack([side.query(X[stored], 6)[0] for side in sides], axis=1)
    far = np.where(near[..., 0] == 0, near[..., 1:].mean(-1), near[..., :5].mean(-1))
    at, own = np.arange(500), model.labels_[stored]
    share = np.mean(far[at, own] >= 0.8 * far[at, 1 - own])
    assert found.share_between == pytest.approx(share, abs=0.02)
    assert few.share_between > share
    assert "about " in say_separation(found)
    assert "compared with 500 rows alone, about " in say_separation(few).lower()


def opening_of(frame, n_clusters):
    """Return the headline without a diagnosis."""
    prepared = prepare(frame)
    model = CoHiRF(n_clusters=n_clusters, random_state=0).fit(prepared.array())
    return make_headline(describe_clusters(model, prepared), None, prepared)


def test_categories_and_booleans_that_are_formulas_of_each_other_are_said_to_be():
    rng = np.random.default_rng(0)
    race = rng.integers(2, size=200)
    frame = pd.DataFrame({"race": np.array(["black", "white"])[race], "wht": race == 1})
    frame["x"] = rng.normal(size=200)
    frame["sex"] = np.array(["f", "m"])[rng.integers(2, size=200)]
    sizes = opening_of(frame, 3).sizes
    assert "race and wht say the same: each value of one has one value of the others." in sizes
    assert "sex say" not in sizes


def test_columns_are_left_out_only_if_others_do_not_tell_the_clusters():
    rng = np.random.default_rng(0)
    group = np.arange(150) % 3
    frame = pd.DataFrame({"kind": np.array(["a", "b", "c"])[group], "x": rng.normal(size=150)})
    frame["y"] = rng.normal(size=150)
    headline = opening_of(frame, 3)
    assert headline.trust == "To find groups in the other columns, leave kind out."
    frame["y"] += 20 * group  # says what kind says
    assert "leave kind out" not in opening_of(frame, 3).trust


def test_nothing_is_said_to_differ_most_beside_a_column_with_gaps_that_may():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 50)
    frame = pd.DataFrame({"x": 4 * group + rng.normal(size=100), "y": rng.normal(size=100)})
    assert "They differ most in x" in opening_of(frame, 2).sizes
    frame["ticket"] = np.where(rng.random(100) < 0.7, 50 * group + rng.normal(size=100), np.nan)
    assert "differ most" not in opening_of(frame, 2).sizes


def test_a_table_of_distances_is_said_to_be_one():
    at = np.sort(np.random.default_rng(0).normal(size=40))
    frame = pd.DataFrame(np.abs(at[:, None] - at), columns=[f"n{row}" for row in range(40)])
    said = "The table is the same on both sides of its diagonal, as distances between its rows are"
    assert said in opening_of(frame, 2).sizes
    frame.iloc[0, 1] += 1
    assert said not in opening_of(frame, 2).sizes


def test_clusters_that_follow_each_other_in_a_counter_are_said_to():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"Year": np.arange(1970, 2010), "x": np.repeat([0, 9], 20)})
    frame["x"] += rng.normal(size=40)
    said = "Year was left out; each cluster is one stretch of rows that follow each other."
    assert said in opening_of(frame, 2).exceptions
    frame["x"] = rng.permutation(frame["x"])
    assert "stretch" not in opening_of(frame, 2).exceptions
    assert "only" not in opening_of(frame, 2).exceptions
    said = "Of 3 columns, only x was used."
    assert said in opening_of(frame.assign(same="a"), 2).exceptions


def test_a_row_of_noise_inside_a_stretch_of_rows_is_not_hidden():
    frame = pd.DataFrame({"Year": np.arange(1970, 2010), "x": np.repeat([0, 9], 20)})
    frame["x"] += np.random.default_rng(0).normal(size=40)
    frame.loc[5, "x"] = 60
    said = opening_of(frame, "auto").exceptions
    assert (
        "one stretch of rows that follow each other, but for rows in no cluster. Year 1975" in said
    )
