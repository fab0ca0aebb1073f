"""The number of clusters, and the words for what was chosen."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine, make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_score
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF, open_source
from cohirf.app.explain.rows import find_badly_fitting
from cohirf.beyond import neighbour_graph
from cohirf.beyond.choose_merge import MERGES, ComparedSample, weighted_ari
from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.beyond.policy import NUMBER, GraphPolicy
from cohirf.choice import Halves, choose_number, split_in_halves
from cohirf.rows.policy import BLOCK
from cohirf.rows.silhouette import mean_silhouette


def sample_of(X):
    return ComparedSample(X - X.mean(axis=0), np.ones(len(X)))


def choose(X, seed=0, **options):
    return choose_number(sample_of(X), np.random.default_rng(seed), **options)


def test_figures_are_silhouette_and_half_of_modularity_less_cut():
    X, y = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    choice = choose(X)
    sample = sample_of(X)
    found = sample.measure([y])
    silhouette = max(silhouette_score(X, y), found.connection[0])
    at = choice.candidates.tolist().index(3)
    assert choice.n_clusters == 3
    assert choice.silhouettes[at] == pytest.approx(silhouette)
    assert choice.figures[at] == pytest.approx(
        silhouette + (found.modularity[0] - found.cut[0]) / 2
    )
    assert choice.figures.argmax() == at


def test_the_strength_is_the_agreement_of_halves_less_half_the_cut():
    X = np.random.default_rng(0).normal(size=(300, 2))
    choice = choose(X)
    number = int(choice.candidates[choice.figures.argmax()])
    sample = sample_of(X)
    min_share = choice.min_share
    divisions = [sample.divide(merge, [number], min_share)[0] for merge in MERGES]
    [compared] = sample.compare_each([divisions])
    cut = compared.figures.cut[MERGES.index(compared.best)]
    rng = np.random.default_rng(0)
    of_all = sample.divide_best(number, min_share)
    pairs = [split_in_halves(sample, rng) for _ in range(choice.n_halves // 2)]
    found = [pair.compare(number, min_share, of_all) for pair in pairs]
    agreed = np.mean([each.with_other for each in found])
    assert choice.strength == pytest.approx(max(agreed - cut / 2, 0))


def test_halves_are_compared_by_the_merge_that_fits_each():
    """The connected clusters of all rows are not those of a half that is too thin for them."""
    X, _ = make_moons(60, noise=0.12, random_state=0)
    choice = choose(X)
    assert 0 < choice.n_same < choice.n_halves


def test_clusters_are_strong_if_all_halves_have_them():
    X, _ = make_blobs(200, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    choice = choose(X)
    assert choice.n_same == choice.n_halves == 2 * NUMBER.splits
    assert choice.is_strong
    assert not choose(make_moons(60, noise=0.12, random_state=0)[0]).is_strong


def test_halves_that_cannot_agree_as_much_as_is_needed_are_not_all_divided():
    X = np.random.default_rng(0).normal(size=(300, 2))
    halves = Halves(sample_of(X), 0.0, np.random.default_rng(0))
    found = halves.compare(7)
    assert len(found.with_other) == 2 * NUMBER.splits
    assert len(halves.compare(7, 0.99).with_other) == 2
    least = float(found.with_other.mean())
    np.testing.assert_array_equal(halves.compare(7, least - 0.01).with_other, found.with_other)


def test_without_clear_groups_the_rows_are_divided_in_two():
    X = np.random.default_rng(0).normal(size=(400, 4))
    choice = choose(X)
    assert (choice.n_clusters, choice.is_clear, choice.is_strong) == (2, False, False)
    best = int(choice.candidates[choice.figures.argmax()])
    assert choice.describe().startswith(
        f"There are no clear groups: the best number, {best}, has a silhouette "
    )


def test_halves_of_many_rows_are_halves_of_a_part_that_is_spread_over_them():
    X = np.arange(3 * MAX_LINKED, dtype=float)[:, None]
    pair = split_in_halves(sample_of(X), np.random.default_rng(0))
    both = np.sort(np.concatenate([pair.one.points, pair.other.points]).ravel())
    assert len(both) == MAX_LINKED
    assert np.diff(both).max() <= 4


def test_the_search_goes_on_where_the_best_number_is_large():
    X, _ = make_blobs(
        900, centers=np.array([[i, j] for i in range(6) for j in range(5)]) * 9.0, random_state=0
    )
    choice = choose(X)
    assert choice.n_clusters == 30
    assert choice.candidates.max() == 80


@pytest.mark.parametrize("n_clusters", [2, 6])
def test_clear_clusters_are_counted(n_clusters):
    centres = 10 * np.stack([np.cos(np.arange(n_clusters)), np.sin(np.arange(n_clusters))], axis=1)
    X, _ = make_blobs(150, centers=centres, random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert model.n_clusters_ == n_clusters
    assert model.choice_.is_clear


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_clear_clusters_near_each_other_are_counted_however_far_others_are(seed):
    centres = np.array([[0, 0, 0], [6, 0, 0], [0, 6, 0], [40, 0, 0], [0, 40, 0], [0, 0, 46]])
    X, _ = make_blobs(800, centers=centres, random_state=seed)
    choice = CoHiRF(random_state=0).fit(X).choice_
    assert choice.n_clusters == 6
    assert choice.candidates[choice.figures.argmax()] < 6
    assert choice.describe().startswith("6 is the largest number of clusters on which halves")


@pytest.mark.parametrize("n_rows", [300, 3000])
def test_one_graph_serves_the_choice_of_number_and_merge(n_rows, monkeypatch):
    X, _ = make_blobs(n_rows, 6, centers=3, center_box=(-20, 20), random_state=0)
    n_compared = min(n_rows, MAX_LINKED)
    made = []
    find = neighbour_graph._find_neighbours
    monkeypatch.setattr(
        neighbour_graph, "_find_neighbours", lambda points: made.append(len(points)) or find(points)
    )
    CoHiRF(random_state=0).fit(X)
    assert made.count(n_compared) == 1
    assert set(made) <= {n_compared, n_compared // 2}  # and those of halves


@pytest.mark.parametrize("of_blobs", [2, 1, 12])
def test_halves_that_cut_a_cluster_alike_by_chance_do_not_make_it_two(of_blobs):
    X, _ = make_blobs(300, n_features=4, centers=5, cluster_std=0.5, random_state=of_blobs)
    assert choose(X).n_clusters == 5


def test_rings_are_counted_too():
    X, _ = make_circles(250, factor=0.4, noise=0.03, random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert (model.n_clusters_, model.choice_.merge) == (2, "connected")
    assert model.choice_.is_strong


@pytest.mark.parametrize("far", [[[500.0, 500.0]], [[500.0, 500.0], [-900.0, 0.0], [0.0, 3000.0]]])
def test_a_few_far_rows_decide_nothing(far):
    blobs, y = make_blobs(150, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    X = np.r_[blobs, far]
    model = CoHiRF(random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_[:150]) == 1
    assert (model.labels_[150:] == -1).all()
    assert (model.predict(X) == model.labels_).all()
    rows = "1 row is" if len(far) == 1 else "3 rows are"
    assert (
        f"{rows} apart from all clusters, too few to be one, and noise." in model.choice_.describe()
    )
    # rows to check
    assert {row.row for row in find_badly_fitting(model).loose} >= set(range(150, len(X)))


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


def test_the_end_of_the_range_is_said():
    X, _ = make_blobs(24, centers=[[0, 0], [90, 0], [0, 90]], random_state=0)
    with pytest.warns(
        ConvergenceWarning,
        match="3 clusters were chosen, the largest number that was tried, so there may be more",
    ):
        CoHiRF(random_state=0).fit(X)


@pytest.mark.parametrize(
    ("n_clusters", "dtype"), [(2, np.float64), (7, np.float32), (150, np.float64)]
)
def test_the_silhouette_is_that_of_scikit_learn(n_clusters, dtype):
    rng = np.random.default_rng(n_clusters)
    X = rng.normal(size=(3 * BLOCK.silhouette_columns + 5, 4))
    labels = rng.integers(n_clusters, size=len(X)) - 1  # with gaps, clusters of one row, and -1
    assert mean_silhouette(pairwise_distances(X).astype(dtype), labels) == pytest.approx(
        silhouette_score(X, labels)
    )


def test_rows_that_are_all_equal_have_a_silhouette_of_zero():
    labels = np.arange(10) % 2
    assert mean_silhouette(np.zeros((10, 10)), labels) == 0
    assert silhouette_score(np.zeros((10, 2)), labels) == 0


def test_rows_that_were_read_once_may_be_fewer_than_clusters(tmp_path):
    X, _ = make_blobs(4000, n_features=5, centers=6, random_state=3)
    np.save(tmp_path / "x.npy", X)
    model = CoHiRF(n_clusters=700, batch_size=700, views=2, random_state=0).fit(
        open_source(tmp_path / "x.npy")
    )
    assert model.n_clusters_ == 700


def test_few_distinct_rows_are_no_reason_to_warn():
    X = np.repeat(np.arange(5.0)[:, None], 80, axis=0)
    assert CoHiRF(n_clusters=3, random_state=0).fit(X).n_clusters_ == 3


# -- weights


@pytest.mark.parametrize("n_clusters", [2, None])
def test_rows_of_next_to_no_weight_do_not_choose(n_clusters):
    moons, y = make_moons(300, noise=0.05, random_state=0)
    X = np.r_[moons, np.random.default_rng(0).uniform([-1.5, -1], [2.5, 1.5], (600, 2))]
    weights = np.r_[np.full(300, 7.0), np.full(600, 1e-9)]
    model = CoHiRF(n_clusters=n_clusters, random_state=0).fit(X, sample_weight=weights)
    assert model.choice_.merge == "connected"
    assert adjusted_rand_score(y, model.labels_[:300]) == 1


def test_equal_weights_choose_as_none(monkeypatch):
    few = GraphPolicy(rows_of_few_features=100)
    monkeypatch.setattr(neighbour_graph, "GRAPH", few)
    X, _ = make_blobs(200, centers=5, random_state=0)
    plain, weighted = (
        CoHiRF(random_state=0).fit(X, sample_weight=each) for each in (None, np.full(200, 0.3))
    )
    for figure in ("n_clusters", "cuts", "scores", "figures", "silhouettes", "agreements"):
        np.testing.assert_array_equal(
            getattr(plain.choice_, figure), getattr(weighted.choice_, figure)
        )
    assert (plain.labels_ == weighted.labels_).all()


def test_figures_of_weighted_rows_are_those_of_repeated_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    labels = rng.integers(3, size=40)
    carried = rng.integers(3, size=40)
    mass = np.ones(40)
    mass[7:20] = 3
    times = mass.astype(int)
    of_pairs = weighted_ari(labels, carried, mass)
    repeated = [np.repeat(each, times, axis=0) for each in (X, labels, carried)]
    # a row is no pair with its own copies
    assert of_pairs == pytest.approx(weighted_ari(*repeated[1:]), abs=0.05)
    assert mean_silhouette(pairwise_distances(X), labels, np.full(40, 2.5)) == pytest.approx(
        silhouette_score(X, labels)
    )
    weighted = mean_silhouette(pairwise_distances(X), labels, mass)
    assert weighted == pytest.approx(silhouette_score(*repeated[:2]), abs=0.05)


# -- words and bad input


@pytest.mark.parametrize(
    ("merge", "words"),
    [
        ("compact", "The clusters are compact, as asked for."),
        (
            "connected",
            "The clusters are connected, as asked for: 0.0% of near neighbours are in another "
            "cluster (comp",
        ),
        (
            "graph",
            "The clusters are merged along the neighbour graph, as asked for: 0.0% of near "
            "neighbours are in",
        ),
    ],
)
def test_a_merge_that_was_asked_for_is_said_to_be(merge, words):
    X, _ = make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)
    assert (
        CoHiRF(n_clusters=2, merge=merge, random_state=0)
        .fit(X)
        .choice_.describe()
        .startswith(words)
    )


def test_a_merge_without_effect_is_not_said_to_be_asked_for():
    choice = CoHiRF(n_clusters=1, merge="graph", random_state=0).fit(np.eye(40)[:, :3]).choice_
    assert not choice.is_merge_given
    assert "as asked for" not in choice.describe()


@pytest.mark.parametrize("merge", ["connected", "graph"])
def test_there_can_be_more_clusters_than_rows_that_differ_beyond_a_column_of_two_values(merge):
    one, two, flag = np.meshgrid(np.arange(4.0), np.arange(3.0), [0.0, 1.0])
    X = np.repeat(np.column_stack([one.ravel(), two.ravel(), flag.ravel()]), 3, axis=0)
    labels = CoHiRF(n_clusters=20, merge=merge, random_state=0).fit_predict(X)
    assert len(np.unique(labels)) == 20
    assert all(len(set(labels[i : i + 3])) == 1 for i in range(0, len(X), 3))  # identical rows


@pytest.mark.parametrize("n_clusters", [2, None])
def test_differences_whose_squares_vanish_are_said(n_clusters):
    X, y = make_blobs(100, centers=[[0, 0], [9, 0]], random_state=0)
    with pytest.warns(
        ConvergenceWarning,
        match=r"The values of X differ by 7.\de-200 or less.*: multiply X by 1e\+199",
    ):
        CoHiRF(n_clusters=n_clusters, random_state=0).fit(X * 1e-200)
    assert (
        adjusted_rand_score(
            y, CoHiRF(n_clusters=n_clusters, random_state=0).fit(X * 1e-155).labels_
        )
        == 1
    )


def test_a_small_cluster_beside_the_chosen_ones_is_said():
    centres = np.array([[0, 0], [9, 0], [0, 60]]) @ np.eye(2, 5)
    X, _ = make_blobs([3000, 3000, 10], centers=centres, random_state=0)
    model = CoHiRF(random_state=0).fit(X)
    assert (model.n_clusters_, model.choice_.n_clusters, model.choice_.n_small) == (3, 2, 1)
    assert (
        "1 more cluster is small and apart, with less than 0.2% of the rows."
        in model.choice_.describe()
    )


def test_one_row_that_weighs_more_than_all_others_is_no_error():
    X, _ = make_blobs(400, centers=3, random_state=0)
    weights = np.full(400, 1e-3)
    weights[0] = 1e3
    assert CoHiRF(random_state=0).fit(X, sample_weight=weights).n_clusters_ >= 1


def test_a_number_is_chosen_for_sparse_rows_as_for_the_same_dense_ones():
    X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=1)
    X[X < 0] = 0
    dense = CoHiRF(random_state=0).fit(X)
    stored = CoHiRF(random_state=0).fit(sparse.csr_matrix(X))
    assert dense.n_clusters_ > 1
    np.testing.assert_array_equal(stored.labels_, dense.labels_)


def test_a_random_graph_has_no_clear_groups():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.random((300, 300)) * (rng.random((300, 300)) < 0.1), 1)
    model = CoHiRF(metric="affinity", random_state=0).fit(sparse.csr_matrix(weights + weights.T))
    assert not model.choice_.is_clear
    assert "no clear groups" in model.choice_.describe()


def test_a_given_number_is_not_rated_without_the_weights_of_the_rows():
    X, _ = make_blobs(300, centers=3, random_state=1)
    plain = CoHiRF(n_clusters=3, random_state=0).fit(X)
    weighted = CoHiRF(n_clusters=3, random_state=0).fit(X, sample_weight=np.arange(1, 301.0))
    assert plain.diagnose().facts.choice.n_halves > 0
    assert weighted.diagnose().facts.choice.n_halves == 0
