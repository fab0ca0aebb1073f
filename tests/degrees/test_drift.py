"""Drift: no alarm on a fresh sample, and findings in words on rows that differ."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import ks_2samp
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, merge, open_source
from cohirf.app.explain.drift import say_drift, say_some, show_drift
from cohirf.degrees.drift import (
    FeatureBaseline,
    _starts_of_periods,
    compare_features,
    count_rows,
    find_periods,
)

CENTRES = np.array([[0.0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 0, 9]])


def sample(n_rows, seed, shares=(0.25, 0.25, 0.25, 0.25)):
    rng = np.random.default_rng(seed)
    return CENTRES[rng.choice(4, n_rows, p=shares)] + rng.normal(size=(n_rows, 3))


@pytest.fixture(scope="module")
def model():
    return CoHiRF(n_clusters=4, random_state=0).fit(sample(3000, 0))


@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("n_rows", [3, 50, 5000])
def test_a_fresh_sample_raises_no_alarm(model, seed, n_rows):
    drift = model.drift(sample(n_rows, seed))
    assert not drift.has_drifted, drift
    assert say_drift(drift) == "the new rows look like those of the recent past"


@pytest.mark.slow
def test_a_fresh_sample_of_touching_clusters_of_many_rows_raises_no_alarm():
    X, _ = make_blobs(24_000, centers=5, n_features=6, cluster_std=3.5, random_state=0)
    model = CoHiRF(n_clusters=5, batch_size=3000, views=2, random_state=0).fit(X[:12_000])
    drift = model.drift(X[12_000:])
    assert not drift.has_drifted, drift


def test_a_small_model_raises_no_alarm_on_the_other_half():
    X = sample(300, 7)
    assert not CoHiRF(n_clusters=4, random_state=0).fit(X[:150]).drift(X[150:]).has_drifted


def test_a_cluster_that_shrank_is_named(model):
    drift = model.drift(sample(2000, 1, (0.32, 0.32, 0.32, 0.04)))
    number = int(model.predict(CENTRES[3:])[0])
    assert drift.has_drifted
    shrunk = drift.clusters[model.cluster_numbers_.tolist().index(number)]
    assert shrunk.has_changed
    assert shrunk.before == pytest.approx(0.25, abs=0.03)
    assert shrunk.now == pytest.approx(0.04, abs=0.02)
    assert f"cluster {number} shrank from 2" in say_drift(drift)
    assert say_drift(drift).endswith(": update the model")


def test_rows_far_from_everything_are_told(model):
    drift = model.drift(
        np.vstack([sample(930, 1), np.random.default_rng(0).normal(size=(70, 3)) * 0.5 - 9])
    )
    assert drift.is_outside
    assert drift.share_outside == pytest.approx(0.08, abs=0.015)
    assert "8% of the new rows are far from everything" in say_drift(drift)


def test_a_feature_that_moved_is_named(model):
    X = pd.DataFrame(sample(3000, 0), columns=["a", "b", "c"])
    named = CoHiRF(n_clusters=4, random_state=0).fit(X)
    new = pd.DataFrame(sample(1000, 1), columns=["a", "b", "c"])
    new["b"] += 2
    drift = named.drift(new)
    assert drift.features[0].name == "b"
    assert drift.features[0].has_changed
    assert drift.features[0].shift == pytest.approx(2 / X["b"].std(), abs=0.1)
    assert "b moved up by 0.5 standard deviations" in say_drift(drift)
    assert "b moved down by 0.5 standard deviations" in say_drift(named.drift(new - [0, 4, 0]))
    assert not any(feature.has_changed for feature in drift.features[1:])


def test_a_feature_that_only_spreads_has_another_distribution(model):
    new = sample(2000, 1)
    # about the same mean
    new[:, 0] = np.where(np.random.default_rng(0).random(2000) < 0.5, 5.5, -1)
    assert "feature 0 has another distribution" in say_drift(model.drift(new))


def test_the_statistic_is_that_of_kolmogorov_and_smirnov():
    rng = np.random.default_rng(0)
    old = rng.normal(size=(5000, 1))
    new = rng.normal(0.5, 2, size=(3000, 1))
    baseline = FeatureBaseline.of(old, np.ones(5000))
    for part in np.array_split(new, 3):
        count_rows([baseline], part)
    found = compare_features([baseline], ["x"])[0]
    assert found.statistic == pytest.approx(ks_2samp(old[:, 0], new[:, 0]).statistic, abs=0.02)
    assert found.shift == pytest.approx(new.mean() - old.mean(), abs=0.02)


def test_landmarks_count_as_the_rows_that_they_stand_for():
    old = np.repeat([[0.0], [1.0]], 100, axis=0)
    baseline = FeatureBaseline.of(old, np.repeat([9.0, 1.0], 100))
    count_rows([baseline], np.repeat([[0.0], [1.0]], [90, 10], axis=0))
    assert compare_features([baseline], ["x"])[0].statistic == pytest.approx(0)


def test_more_noise_is_told():
    rng = np.random.default_rng(0)
    X = sample(1000, 0)
    model = CoHiRF(DBSCAN(eps=1), random_state=0).fit(
        np.vstack([X, rng.uniform(-30, 30, size=(50, 3))])
    )
    drift = model.drift(np.vstack([sample(500, 1), rng.uniform(-30, 30, size=(250, 3))]))
    assert drift.clusters[-1].number == -1
    assert "noise grew from" in say_drift(drift)


def test_lines_show_figures(model):
    lines = show_drift(model.drift(sample(1000, 1))).splitlines()
    assert lines[0] == "Drift of 1,000 new rows: the new rows look like those of the recent past"
    assert lines[1].startswith("  outside: ")
    assert sum(line.startswith("  cluster ") for line in lines) == 4
    assert sum("KS" in line for line in lines) == 3


def test_sources_and_sparse_rows_drift_alike(model):
    new = sample(500, 1, (0.4, 0.3, 0.3, 0.0))
    expected = model.drift(new)
    assert repr(model.drift(open_source(new))) == repr(expected)
    of_sparse = CoHiRF(n_clusters=4, random_state=0).fit(sparse.csr_array(sample(500, 0)))
    assert of_sparse.drift(sparse.csr_array(new)).has_drifted == expected.has_drifted


def test_rows_on_dask_are_refused(model):
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"pass X\.compute\(\)"):
        model.drift(da.from_array(sample(50, 1), chunks=(25, 3)))


def test_a_constant_feature_that_changes_is_told():
    X = np.column_stack([sample(500, 0), np.ones(500)])
    model = CoHiRF(n_clusters=4, random_state=0).fit(X)
    assert not model.drift(np.column_stack([sample(500, 1), np.ones(500)])).has_drifted
    drift = model.drift(np.column_stack([sample(500, 1), np.zeros(500)]))
    assert drift.features[0].name == "feature 3"
    assert drift.features[0].has_changed


def test_a_verdict_counts_one_more_cluster_in_the_singular():
    assert list(say_some(["changed"] * 4, "cluster"))[-1] == "1 more cluster changed"
    assert list(say_some(["changed"] * 8, "cluster"))[-1] == "5 more clusters changed"


FAR = np.array([30.0, 30, 30])


def odd_day(n_odd, seed):
    return np.vstack([sample(200, seed), FAR + np.random.default_rng(seed).normal(size=(n_odd, 3))])


@pytest.fixture(scope="module")
def after_an_odd_day():
    model = CoHiRF(n_clusters=4, random_state=0).fit(sample(1000, 0))
    for day in (1, 2):
        model.partial_fit(sample(300, day))
    return model.partial_fit(odd_day(100, 3))


def test_the_days_after_an_odd_day_raise_no_alarm(after_an_odd_day):
    assert after_an_odd_day.n_clusters_ == 5
    drift = after_an_odd_day.drift(sample(300, 4))
    assert not drift.has_drifted, drift
    assert drift.clusters[4].before == 0


def test_a_day_like_a_recent_odd_one_raises_no_alarm(after_an_odd_day):
    assert not after_an_odd_day.drift(odd_day(100, 5)).has_drifted


def test_after_a_week_an_odd_day_is_odd_again(after_an_odd_day):
    model = deepcopy(after_an_odd_day)
    for day in range(10, 17):
        model.partial_fit(sample(300, day))
        assert not model.drift(sample(300, 50 + day)).has_drifted
    drift = model.drift(odd_day(100, 5))
    assert "cluster 4 grew from 0% to 33%" in say_drift(drift)
    assert not drift.has_new_kind


def test_features_that_have_moved_for_good_are_an_alarm_once(after_an_odd_day):
    moved = [sample(300, seed) + np.array([0, 0, 2.5]) for seed in (6, 7)]
    assert "feature 2 moved up" in say_drift(after_an_odd_day.drift(moved[0]))
    assert not deepcopy(after_an_odd_day).partial_fit(moved[0]).drift(moved[1]).has_drifted


def test_a_kind_that_an_update_would_make_a_cluster_of_is_told(model):
    new = np.vstack([sample(988, 1), FAR + np.random.default_rng(0).normal(size=(12, 3))])
    drift = model.drift(new)
    assert not drift.is_outside
    assert drift.new_kinds == [12]
    assert drift.has_drifted
    assert say_drift(drift) == "12 of the new rows are of a new kind: update the model"
    assert list(deepcopy(model).partial_fit(new).changes_.born.values()) == [12]


def test_small_updates_count_together():
    assert _starts_of_periods([10, 1, 1, 1, 1], 2) == [12, 10, 0]
    assert _starts_of_periods([10, 1, 1, 1, 1], 20) == [0]
    assert _starts_of_periods([5] * 20, 5) == [95, 90, 85, 80, 75, 70, 65]


def test_the_rows_of_a_merged_model_are_one_period():
    north, south = (CoHiRF(n_clusters=4, random_state=0).fit(sample(400, seed)) for seed in (0, 1))
    for day in range(3):
        south.partial_fit(sample(100, 10 + day, (0.7, 0.1, 0.1, 0.1)))
    merged = merge([north, south])
    starts = [period.start for period in find_periods(merged._state, 50)]
    assert starts == [400, 0]
