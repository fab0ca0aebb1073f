"""The number of clusters by prediction strength, and the words for what was chosen."""

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_score
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF, open_source
from cohirf.choice import (
    CLEAR,
    COLUMNS,
    Choice,
    Half,
    choose_number,
    mean_silhouette,
    measure_strengths,
    predict_strength,
)
from cohirf.explain.rows import find_badly_fitting


@pytest.mark.parametrize("n_rows", [4, 200])
def test_the_strength_is_the_adjusted_rand_index(n_rows):
    rng = np.random.default_rng(n_rows)
    labels, carried = rng.integers(3, size=(2, n_rows))
    carried[: n_rows // 2] = labels[: n_rows // 2]
    assert predict_strength(labels, carried) == pytest.approx(adjusted_rand_score(labels, carried))
    assert predict_strength(np.append(labels, -1), np.append(carried, 0)) == predict_strength(labels, carried)
    assert predict_strength(labels, labels + 5) == 1


def test_rows_in_no_cluster_have_no_strength():
    assert predict_strength(np.array([-1, -1]), np.array([0, 1])) == 0
    assert predict_strength(np.array([0]), np.array([0])) == 0


NUMBERS = np.arange(2, 6)


def test_of_compact_clusters_the_largest_number_that_is_nearly_the_best_is_chosen():
    strengths, silhouettes = np.array([1.0, 0.9, 0.95, 0.9]), np.array([0.3, 0.3, 0.4, 0.3])
    choice = Choice.of_number(NUMBERS, strengths, silhouettes)
    assert (choice.n_clusters, choice.is_by_strength) == (4, False)
    assert choice.figures.tolist() == pytest.approx([2.5 / 3, 2.4 / 3, 2.95 / 3, 2.4 / 3])
    assert choice.describe() == (
        "4 clusters have a prediction strength of 0.95 and a silhouette of 0.40; the highest of all numbers are 1.00 "
        "and 0.40."
    )
    flatter = Choice.of_number(NUMBERS, strengths, np.array([0.3, 0.3, 0.4, 0.4]))
    assert flatter.n_clusters == 5
    assert Choice.of_number(np.arange(0), np.empty(0), np.empty(0)).n_clusters == 1


def test_if_the_strongest_clusters_are_connected_strengths_alone_are_compared():
    strengths, silhouettes = np.array([0.9, 0.89, 0.8, 0.7]), np.array([0.1, 0.2, 0.4, 0.4])
    choice = Choice.of_number(NUMBERS, strengths, silhouettes, np.array([True, False, False, False]))
    assert (choice.n_clusters, choice.is_by_strength) == (3, True)
    assert choice.describe() == "3 clusters have a prediction strength of 0.89, nearly as high as 2 (0.90)."
    assert Choice.of_number(NUMBERS, strengths, silhouettes, np.array([False, True, True, True])).n_clusters == 4
    weak = Choice.of_number(NUMBERS, strengths / 2, silhouettes, np.array([True, False, False, False]))
    assert (weak.n_clusters, weak.is_by_strength) == (4, False)


def test_numbers_that_are_not_strong_are_passed_over_and_equally_good_ones_are_small():
    near = Choice.of_number(np.array([2, 3, 4]), np.array([0.5, 0.52, 0.49]), np.array([0.4, 0.4, 0.4]))
    assert (near.n_clusters, near.is_clear) == (3, True)
    weak = Choice.of_number(np.array([2, 3, 4]), np.array([0.4, 0.41, 0.3]), np.array([0.4, 0.4, 0.1]))
    assert (weak.n_clusters, weak.is_clear) == (2, False)
    assert Choice.of_number(np.array([2, 3]), np.array([0.4, 0.45]), np.array([0.4, 0.4])).n_clusters == 3


def test_neighbours_in_different_clusters_count_against_a_number():
    X = np.random.default_rng(0).normal(size=(300, 2))
    points = X - X.mean(axis=0)
    candidates, strengths = measure_strengths(points, np.ones(300), 4.0, np.random.default_rng(0))
    whole = Half.of(points, np.ones(300), 4.0, candidates)
    expected = np.maximum(strengths - 0.5 * whole.sample.cut_shares(*whole.divisions), 0)
    np.testing.assert_allclose(choose_number(X, np.random.default_rng(0)).strengths, expected)


def test_without_a_silhouette_above_zero_strengths_are_compared():
    assert Choice.of_number(NUMBERS, np.array([0.9, 0.8, 0.7, 0.6]), np.array([-0.1, -0.1, 0.0, -0.2])).n_clusters == 2


@pytest.mark.parametrize("n_clusters", [2, 6])
def test_clear_clusters_are_counted(n_clusters):
    centres = 10 * np.stack([np.cos(np.arange(n_clusters)), np.sin(np.arange(n_clusters))], axis=1)
    X, _ = make_blobs(150, centers=centres, random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert model.n_clusters_ == n_clusters
    assert model.choice_.is_clear


@pytest.mark.parametrize(("of_blobs", "of_splits"), [(2, 0), (1, 0), (12, 1)])
def test_halves_that_cut_a_cluster_alike_by_chance_do_not_make_it_two(monkeypatch, of_blobs, of_splits):
    monkeypatch.setattr("cohirf.choice.MAX_CHOICE", 6)
    X, _ = make_blobs(300, n_features=4, centers=5, cluster_std=0.5, random_state=of_blobs)
    assert measure_strengths(X, np.ones(300), 0.0, np.random.default_rng(of_splits))[1][-1] > CLEAR  # of six clusters
    assert choose_number(X, np.random.default_rng(of_splits)).n_clusters == 5


def test_rings_are_counted_too():
    X, _ = make_circles(250, factor=0.4, noise=0.03, random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert (model.n_clusters_, model.choice_.merge) == (2, "connected")


@pytest.mark.parametrize("far", [[[500.0, 500.0]], [[500.0, 500.0], [-900.0, 0.0], [0.0, 3000.0]]])
def test_a_few_far_rows_decide_nothing(far):
    blobs, y = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    X = np.r_[blobs, far]
    model = CoHiRF(random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_[:150]) == 1
    assert (model.labels_[150:] == -1).all()
    assert (model.predict(X) == model.labels_).all()
    rows = "1 row is" if len(far) == 1 else "3 rows are"
    assert f"{rows} apart from all clusters, too few to be one, and noise." in model.choice_.describe()
    assert {row.row for row in find_badly_fitting(model).loose} >= set(range(150, len(X)))  # rows to check


def test_clusters_of_a_number_that_was_chosen_are_those_of_the_number():
    X = StandardScaler().fit_transform(load_wine().data)
    chosen = CoHiRF(random_state=0).fit(X)
    asked = CoHiRF(n_clusters=chosen.n_clusters_, random_state=0).fit(X)
    assert (chosen.labels_ == asked.labels_).all()
    assert chosen.hierarchy_ == asked.hierarchy_


def test_the_smallest_size_of_a_cluster_counts_in_the_choice():
    X, _ = make_blobs([60, 60, 8], centers=[[0, 0], [9, 0], [0, 30]], random_state=0)
    assert CoHiRF(random_state=0).fit(X).n_clusters_ == 3
    model = CoHiRF(min_cluster_size=20, random_state=0).fit(X)
    assert model.choice_.n_clusters == 2
    assert np.bincount(model.labels_ + 1).tolist() == [8, 60, 60]


def test_the_end_of_the_range_is_said(monkeypatch):
    monkeypatch.setattr("cohirf.choice.MAX_CHOICE", 3)
    X, _ = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    with pytest.warns(ConvergenceWarning, match="3 is the largest number that is tried, so there may be more"):
        CoHiRF(random_state=0).fit(X)


def test_where_no_number_is_strong_the_best_is_chosen():
    choice = Choice.of_number(NUMBERS, np.array([0.45, 0.4, 0.3, 0.4]), np.array([0.4, 0.2, 0.4, 0.41]))
    assert (choice.n_clusters, choice.is_clear) == (2, False)  # five clusters are nearly as good, and not strong either
    assert choice.describe() == (
        "There are no clear groups: these 2 have a prediction strength of 0.45 and a silhouette of 0.40; the highest "
        "of all numbers are 0.45 and 0.41."
    )


def test_a_cloud_is_said_to_be_one():
    choice = choose_number(np.random.default_rng(0).normal(size=(200, 5)), np.random.default_rng(0))
    assert not choice.is_clear
    assert choice.describe().startswith(
        f"There are no clear groups: these {choice.n_clusters} have a prediction strength of {choice.strength:.2f} and "
    )


@pytest.mark.parametrize(("n_clusters", "dtype"), [(2, np.float64), (7, np.float32), (150, np.float64)])
def test_the_silhouette_is_that_of_scikit_learn(n_clusters, dtype):
    rng = np.random.default_rng(n_clusters)
    X = rng.normal(size=(3 * COLUMNS + 5, 4))
    labels = rng.integers(n_clusters, size=len(X)) - 1  # with gaps, clusters of one row, and -1
    assert mean_silhouette(pairwise_distances(X).astype(dtype), labels) == pytest.approx(silhouette_score(X, labels))


def test_rows_that_are_all_equal_have_a_silhouette_of_zero():
    labels = np.arange(10) % 2
    assert mean_silhouette(np.zeros((10, 10)), labels) == 0
    assert silhouette_score(np.zeros((10, 2)), labels) == 0


def test_rows_that_were_read_once_may_be_fewer_than_clusters(tmp_path):
    X, _ = make_blobs(4000, n_features=5, centers=6, random_state=3)
    np.save(tmp_path / "x.npy", X)
    model = CoHiRF(n_clusters=700, batch_size=700, views=2, random_state=0).fit(open_source(tmp_path / "x.npy"))
    assert model.n_clusters_ == 700


def test_few_distinct_rows_are_no_reason_to_warn():
    X = np.repeat(np.arange(5.0)[:, None], 80, axis=0)
    assert CoHiRF(n_clusters=3, random_state=0).fit(X).n_clusters_ == 3


# -- weights -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_clusters", [2, None])
def test_rows_of_next_to_no_weight_do_not_choose(n_clusters):
    moons, y = make_moons(300, noise=0.05, random_state=0)
    X = np.r_[moons, np.random.default_rng(0).uniform([-1.5, -1], [2.5, 1.5], (600, 2))]
    weights = np.r_[np.full(300, 7.0), np.full(600, 1e-9)]
    model = CoHiRF(n_clusters=n_clusters, random_state=0).fit(X, sample_weight=weights)
    assert model.choice_.merge == "connected"
    assert adjusted_rand_score(y, model.labels_[:300]) == 1


def test_equal_weights_choose_as_none(monkeypatch):
    monkeypatch.setattr("cohirf.fitting.merging.CHOICE_ROWS", 100)
    X, _ = make_blobs(200, centers=5, random_state=0)
    plain, weighted = (CoHiRF(random_state=0).fit(X, sample_weight=each) for each in (None, np.full(200, 0.3)))
    for figure in ("n_clusters", "compact_cut", "connected_cut", "strengths", "silhouettes"):
        np.testing.assert_array_equal(getattr(plain.choice_, figure), getattr(weighted.choice_, figure))
    assert (plain.labels_ == weighted.labels_).all()


def test_figures_of_weighted_rows_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    X, labels, carried, mass = rng.normal(size=(40, 3)), rng.integers(3, size=40), rng.integers(3, size=40), np.ones(40)
    mass[7:20] = 3
    times = mass.astype(int)
    of_pairs = predict_strength(labels, carried, mass)
    repeated = [np.repeat(each, times, axis=0) for each in (X, labels, carried)]
    # a row is no pair with its own copies
    assert of_pairs == pytest.approx(predict_strength(*repeated[1:]), abs=0.05)
    assert mean_silhouette(pairwise_distances(X), labels, np.full(40, 2.5)) == pytest.approx(
        silhouette_score(X, labels)
    )
    weighted = mean_silhouette(pairwise_distances(X), labels, mass)
    assert weighted == pytest.approx(silhouette_score(*repeated[:2]), abs=0.05)


# -- words and bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("merge", "words"),
    [
        ("compact", "Compact clusters were asked for."),
        ("connected", "Connected clusters were asked for: 0.0% of near neighbours are in another cluster"),
    ],
)
def test_a_merge_that_was_asked_for_is_said_to_be(merge, words):
    X, _ = make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)
    assert CoHiRF(n_clusters=2, merge=merge, random_state=0).fit(X).choice_.describe().startswith(words)


@pytest.mark.parametrize("n_clusters", [2, None])
def test_differences_whose_squares_vanish_are_said(n_clusters):
    X, y = make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)
    with pytest.warns(
        ConvergenceWarning, match=r"The values of X differ by 7.\de-200 or less.*: multiply X by 1e\+199"
    ):
        CoHiRF(n_clusters=n_clusters, random_state=0).fit(X * 1e-200)
    assert adjusted_rand_score(y, CoHiRF(n_clusters=n_clusters, random_state=0).fit(X * 1e-155).labels_) == 1


def test_a_small_cluster_beside_the_chosen_ones_is_said():
    X, _ = make_blobs([3000, 3000, 10], centers=[[0, 0], [9, 0], [0, 60]], random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert (model.n_clusters_, model.choice_.n_clusters, model.choice_.n_small) == (3, 2, 1)
    assert "1 more cluster is small and apart, with less than 0.4% of the rows." in model.choice_.describe()


def test_one_row_that_weighs_more_than_all_others_is_no_error():
    X, _ = make_blobs(400, centers=3, random_state=0)
    weights = np.full(400, 1e-3)
    weights[0] = 1e3
    assert CoHiRF(random_state=0).fit(X, sample_weight=weights).n_clusters_ >= 1
