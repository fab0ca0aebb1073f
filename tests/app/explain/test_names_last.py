"""Names of clusters last through updates, as long as what they say is true."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from cohirf import CoHiRF, load, merge
from cohirf.app.explain import describe_clusters
from cohirf.app.explain.cuts import find_cuts
from cohirf.app.explain.history import describe_history
from cohirf.app.explain.report import summarize
from cohirf.app.explain.study import check_study
from cohirf.app.explain.words import is_true

RNG = np.random.default_rng(0)


def make_rows(n_rows, seed=0):
    """Two clusters: one with low spend and any age, one with high spend and old."""
    rng = np.random.default_rng(seed)
    spend = np.repeat([0.0, 20.0], n_rows) + rng.normal(size=2 * n_rows)
    age = np.append(rng.uniform(0, 80, size=n_rows) / 10, 7 + rng.normal(size=n_rows) / 2)
    return pd.DataFrame({"spend": spend, "age": age})


@pytest.fixture
def named():
    model = CoHiRF(n_clusters=2, random_state=0).fit(make_rows(200))
    model.name_clusters()
    return model


def test_a_fit_has_no_names_until_they_are_asked_for():
    model = CoHiRF(n_clusters=2, random_state=0).fit(make_rows(50))
    assert model.names_ == {}
    assert model.name_clusters() == {0: "low spend, younger", 1: "high spend, older"}
    assert model.names_ == model.name_clusters()


def test_names_last_through_updates_and_changes_show_them(named, tmp_path):
    before = named.names_
    named.partial_fit(make_rows(30, seed=1)).name_clusters()
    assert named.names_ == before
    assert named.changes_.renamed == {}
    assert '  grown: 0 "low spend, younger" (30 rows); 1 "high spend, older" (30 rows)' in str(
        named.changes_
    )
    named.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.names_, loaded.changes_, loaded.history_) == (
        named.names_,
        named.changes_,
        named.history_,
    )


def test_a_name_that_is_true_stays_although_another_would_be_chosen_now(named):
    named.names_ = {0: "younger", 1: "high spend"}
    assert named.name_clusters() == {0: "younger", 1: "high spend"}
    assert named.summary()["name"].tolist() == ["younger", "high spend"]


def test_names_that_a_user_gives_are_saved_and_last_through_updates(named, tmp_path):
    before = copy(named)
    named.names_ = {np.int64(0): "regulars", 1: "big spenders"}
    assert before.names_ == {0: "low spend, younger", 1: "high spend, older"}
    named.save(tmp_path / "model")
    for model in (load(tmp_path / "model"), pickle.loads(pickle.dumps(named)), copy(named)):
        assert model.names_ == {0: "regulars", 1: "big spenders"}
        model.partial_fit(make_rows(30, seed=1))
        assert 'grown: 0 "regulars" (30 rows); 1 "big spenders"' in str(model.changes_)
        model.names_ = {1: "spenders"}
        assert 'grown: 0 (30 rows); 1 "spenders" (30 rows)' in str(model.changes_)
        assert model.forget([0]).names_ == {1: "spenders"}
    assert "names_" not in vars(named)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({2: "others"}, "has a name for 2, which is not the number of a cluster"),
        ({0: ""}, "has '' as the name of cluster 0: give a text"),
        ({0: None}, "has None as the name of cluster 0"),
        (["low", "high"], "give a dict of names"),
    ],
)
def test_names_that_a_user_gives_are_checked_and_the_old_ones_stay(named, names, message):
    before = dict(named.names_)
    with pytest.raises((TypeError, ValueError), match=message):
        named.names_ = names
    assert named.names_ == before


def test_a_single_name_cannot_be_changed_in_place(named):
    with pytest.raises(TypeError, match="does not support item assignment"):
        named.names_[0] = "regulars"
    named.name_clusters()[0] = "regulars"
    assert named.names_[0] == "low spend, younger"


def test_a_model_that_is_not_fitted_has_no_names():
    model = CoHiRF()
    assert not hasattr(model, "names_")
    with pytest.raises(NotFittedError):
        model.names_ = {0: "regulars"}


def test_a_name_that_is_no_longer_true_is_replaced_and_that_is_said(named):
    young = np.flatnonzero((named.labels_ == 0) & (make_rows(200)["age"] < 7.5))
    named.forget(young).name_clusters()
    assert named.names_ == {0: "low spend, older", 1: "high spend, younger"}
    assert named.changes_.renamed[0] == ("low spend, younger", "low spend, older")
    assert '0 "low spend, younger" -> "low spend, older"' in str(named.changes_).splitlines()[-1]
    assert 'renamed: 0 "low spend, younger"' in str(named.history_[-1])


def test_a_new_cluster_does_not_take_the_name_of_another(named):
    named.names_ = {0: "high spend, older"}  # as if it were a name of 1 now
    assert named.name_clusters()[0] != named.names_[1]
    named.names_ = {1: "low spend, younger"}
    assert len(set(named.name_clusters().values())) == 2


def test_the_history_page_shows_names_of_clusters_also_of_those_that_are_gone(named):
    odd = pd.DataFrame({"spend": 80 + RNG.normal(size=30), "age": 90 + RNG.normal(size=30)})
    named.partial_fit(odd).name_clusters()
    assert list(named.changes_.born) == [2]
    name = named.names_[2]
    named.forget(updates=1).name_clusters()
    named.recluster().name_clusters()
    page = describe_history(named)
    told = [step["events"] for step in page["steps"]]
    assert f'new: 2 "{name}"' in told[-1]
    assert f'rows forgotten; gone: 2 "{name}"' in told[1]
    assert told[0].startswith("clusters found anew")
    assert (
        page["totals"]
        == "1 update added 30 rows; 30 rows forgotten in 1 call; clusters found anew 1 time"
    )
    assert f'cluster 0 "{named.names_[0]}"' in [shape["name"] for shape in page["shapes"]]


def test_reports_describe_and_number_clusters_alike_after_rows_were_forgotten(named):
    named.partial_fit(make_rows(100, seed=3).iloc[::-1])
    named.forget(np.arange(300)).name_clusters()
    assert named.labels_[0] == 1  # the first rows of cluster 0 are gone
    rows = pd.concat([make_rows(200), make_rows(100, seed=3).iloc[::-1]]).iloc[300:]
    final = next(cut for cut in find_cuts(named) if cut.is_final)
    np.testing.assert_array_equal(final.labels, named.labels_)
    page = summarize(check_study(named, rows, None, None), "A title")
    cut = page["cuts"][page["final"]]
    assert {
        int(named.cluster_numbers_[label]): name
        for label, name in zip(cut["labels"], cut["names"], strict=True)
    } == named.names_
    assert [cluster.name for cluster in describe_clusters(named, rows).clusters] == list(
        named.names_.values()
    )


def test_merged_clusters_have_the_names_of_the_first_model(named):
    other = CoHiRF(n_clusters=2, random_state=0).fit(make_rows(150, seed=5))
    other.name_clusters()
    merged = merge([named, other])
    merged.name_clusters()
    assert {
        number: merged.names_[number] for number in merged.cluster_numbers_.tolist()
    } == named.names_


@pytest.mark.parametrize(
    ("name", "is_so"),
    [
        ("low spend", True),
        ("low spend, city: Washington, D.C.", True),
        ("city: Washington", False),
        ("feature 3", False),
        ("region: 66% north", True),
        ("region: 70% north", False),
        ("high age (mean 47)", True),
        ("high age (mean 60)", False),
        ("average", False),
    ],
)
def test_a_name_is_true_if_all_its_phrases_are(name, is_so):
    phrases = {
        "low spend",
        "city: Washington, D.C.",
        "feature 31",
        "region: 60% north",
        "high age (mean 45)",
    }
    assert is_true(name, phrases) == is_so
