"""Feature screening: what it keeps, what it drops, and its F statistic against scipy's."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris, load_wine

from cohirf import screening
from cohirf.screening import (
    POLICY,
    SoftenedSample,
    cluster_on_features,
    count_clusters,
    find_blocks,
    measure_dependence,
    screen_features,
    two_means_share,
)


def hypercube(n_noise, seed=0):
    rng = np.random.default_rng(seed)
    bits = (rng.choice(8, 5, replace=False)[:, None] >> np.arange(3)) & 1
    X = rng.standard_normal((500, 3 + n_noise))
    X[:, :3] += 10 * bits[rng.integers(0, 5, 500)]
    return X


def standardise(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def with_noise(X, n_noise, seed=0):
    return standardise(np.c_[X, np.random.default_rng(seed).standard_normal((len(X), n_noise))])


def correlated_blocks(n_rows, n_blocks, size, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n_rows, n_blocks))
    return 0.95 * np.repeat(factors, size, axis=1) + 0.3 * rng.standard_normal(
        (n_rows, n_blocks * size)
    )


@pytest.mark.parametrize("scale", [standardise, np.asarray], ids=["standardised", "raw"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_corners_of_a_cube_are_found_among_noise(scale, seed):
    assert screen_features(scale(hypercube(250, seed)), (seed,))[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_real_features_are_told_from_noise(load):
    X = load().data
    relevant = screen_features(with_noise(X, 300), (0,))[0]
    assert relevant.max() < X.shape[1]
    assert len(relevant) >= X.shape[1] - 2


NULLS = {
    "normal": lambda rng: rng.standard_normal((200, 300)),
    "few rows": lambda rng: rng.standard_normal((40, 300)),
    "heavy tails": lambda rng: rng.standard_t(1, (300, 200)),
    "skewed": lambda rng: rng.exponential(size=(100, 300)) ** 3,
    "outliers": lambda rng: (
        rng.standard_normal((300, 200)) + 1e6 * (rng.random((300, 200)) < 0.002)
    ),
    "rare": lambda rng: (rng.random((500, 300)) < 0.01).astype(float),
    "binary": lambda rng: rng.integers(0, 2, (200, 300)).astype(float),
}


@pytest.mark.parametrize(
    "seeds", [range(1), pytest.param(range(1, 3), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("draw", NULLS.values(), ids=NULLS)
def test_independent_features_pass_hardly_ever_and_then_all_stay(draw, seeds):
    passed = 0
    for seed in seeds:
        X = draw(np.random.default_rng(seed))
        kept, statistics = screen_features(X, (seed,))
        passed += (statistics > 1).sum()
        assert (statistics > 1).sum() > 1 or kept.tolist() == list(range(X.shape[1]))
    assert passed <= 1


def test_blocks_of_correlated_noise_are_dropped_as_a_whole():
    X = np.c_[with_noise(load_iris().data, 50), correlated_blocks(150, 10, 10)]
    kept, statistics = screen_features(standardise(X), (0,))
    assert (statistics[54:] > 1).all()
    assert kept.tolist() == [0, 1, 2, 3]


def test_a_block_that_falls_into_two_groups_stays():
    rng = np.random.default_rng(0)
    two_clusters = rng.standard_normal((200, 6)) + 6 * rng.integers(0, 2, (200, 1))
    X = np.c_[two_clusters, correlated_blocks(200, 5, 8)]
    assert screen_features(standardise(X), (0,))[0].tolist() == [0, 1, 2, 3, 4, 5]


def test_the_scale_of_features_does_not_matter():
    X = hypercube(20)
    relevant = screen_features(X, (0,))[0].tolist()
    for factor in (1e-200, 1e8):
        scales = np.random.default_rng(0).uniform(1, 9, X.shape[1]) * factor
        assert screen_features(X * scales, (0,))[0].tolist() == relevant


@pytest.mark.parametrize(
    "X", [np.ones((50, 4)), np.zeros((1, 3)), np.eye(3), np.arange(60.0)[:, None]]
)
def test_data_that_cannot_be_tested_keeps_all_features(X):
    kept, statistics = screen_features(X, (0,))
    assert kept.tolist() == list(range(X.shape[1]))
    assert (statistics == 0).all()


def test_the_same_entropy_gives_the_same_statistics():
    X = hypercube(8)
    first, again, other = (screen_features(X, entropy)[1] for entropy in [(1,), (1,), (2,)])
    assert (first == again).all()
    assert (first != other).any()


def test_the_statistic_is_the_f_statistic_of_the_softened_values_over_its_critical_value():
    rng = np.random.default_rng(0)
    sample = SoftenedSample.of(rng.standard_normal((90, 5)) * (rng.random((90, 5)) < 0.7))
    labels = np.repeat([0, 1, 2], 30)
    dense = sample.values
    groups = [dense[labels == label].astype(np.float64) for label in range(3)]
    expected = stats.f_oneway(*groups).statistic / stats.f.isf(1e-4, 2, 87)
    assert screening._f_ratio(sample, labels, 1e-4) == pytest.approx(expected, rel=1e-4)


def test_two_means_explain_what_the_best_split_explains():
    rng = np.random.default_rng(0)
    X = np.c_[
        rng.standard_normal(80), rng.integers(0, 2, 80) * 5.0 + rng.standard_normal(80), np.ones(80)
    ]
    sample = SoftenedSample.of(X)
    dense = np.asarray(sample.values, dtype=np.float64)
    share = two_means_share(sample)
    for feature in range(2):
        values = np.sort(dense[:, feature])
        within = [values[:i].var() * i + values[i:].var() * (80 - i) for i in range(1, 80)]
        assert share[feature] == pytest.approx(1 - min(within) / (values.var() * 80), abs=0.01)
    assert share[1] > share[0]
    assert share[2] == 0


def test_blocks_are_features_that_correlate_with_their_representative():
    X = np.c_[correlated_blocks(100, 3, 4), np.random.default_rng(1).standard_normal((100, 2))]
    X[:, 1] *= -1
    representatives, block = find_blocks(SoftenedSample.of(X))
    assert sorted(np.bincount(block).tolist()) == [1, 1, 4, 4, 4]
    assert (block[representatives] == np.arange(5)).all()
    assert block[:12].reshape(3, 4).std(axis=1).tolist() == [0, 0, 0]


def test_clusters_of_a_view_are_large_enough_for_a_test():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((400, 3)), 50 + rng.standard_normal((3, 3))]
    labels = cluster_on_features(SoftenedSample.of(X), np.arange(3), rng)
    sizes = np.bincount(labels)
    assert len(sizes) > 1
    assert sizes.min() >= 403 / (4 * POLICY.clusters)


def test_clusters_that_are_too_small_join_the_smallest_large_one(monkeypatch):
    labels = np.repeat(np.arange(5), [200, 150, 13, 12, 28])[
        np.random.default_rng(0).permutation(403)
    ]
    monkeypatch.setattr(screening.KMeans, "fit_predict", lambda self, X: labels)
    found = cluster_on_features(
        SoftenedSample.of(np.ones((403, 3))), np.arange(3), np.random.default_rng(0)
    )
    expected = np.where(labels == 3, 2, labels)
    assert ((found[:, None] == found) == (expected[:, None] == expected)).all()
    assert sorted(np.unique(found)) == [0, 1, 2, 3]


# -- the parts of a screening


@pytest.mark.parametrize(
    ("n_rows", "n_clusters"), [(1, 2), (29, 2), (30, 3), (79, 7), (80, 8), (10_000, 8)]
)
def test_views_have_a_cluster_for_each_ten_rows_and_at_most_eight(n_rows, n_clusters):
    assert count_clusters(n_rows) == n_clusters


def test_odds_are_one_over_the_rank_of_the_share():
    assert screening._odds(np.array([0.1, 0.9, 0.5, 0.5])) == pytest.approx(
        np.array([1 / 4, 1, 1 / 2, 1 / 3]) * 12 / 25
    )


def skewed_columns():
    """Ordinary columns, a constant one, and columns of ever fewer ones among zeros."""
    rng = np.random.default_rng(0)
    rare = [np.arange(200) < n_ones for n_ones in (1, 2, 5, 20, 40, 100)]
    return np.c_[
        rng.standard_normal((200, 3)),
        rng.exponential(size=200),
        np.full(200, 7.0),
        np.transpose(rare),
    ]


@pytest.mark.parametrize("block_cells", [50, 2**17])
def test_values_are_softened_by_twice_their_mean_absolute_deviation(block_cells, monkeypatch):
    monkeypatch.setitem(vars(screening.POLICY), "block_cells", block_cells)
    X = skewed_columns()
    centred = X - X.mean(axis=0)
    deviation = np.abs(centred).mean(axis=0)
    expected = centred / (np.abs(centred) + 2 * np.where(deviation > 0, deviation, 1))
    assert SoftenedSample.of(X).values == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("block_cells", [50, 2**17])
def test_a_sample_knows_the_moments_of_its_features_and_which_vary_in_enough_rows(
    block_cells, monkeypatch
):
    monkeypatch.setitem(vars(screening.POLICY), "block_cells", block_cells)
    sample = SoftenedSample.of(skewed_columns())
    values = sample.values
    deviations = values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)
    assert sample.means == pytest.approx(values.mean(axis=0, dtype=np.float64), abs=1e-9)
    assert sample.squares == pytest.approx((deviations**2).sum(axis=0), abs=1e-6)
    fourths = (deviations**4).mean(axis=0)
    rows_that_vary = (
        200 * (deviations**2).mean(axis=0) ** 2 / np.where(fourths > 1e-9, fourths, np.inf)
    )
    assert sample.is_testable.tolist() == (rows_that_vary >= 4 * 8).tolist()
    assert 3 < sample.is_testable.sum() < 9
    assert (sample.n_rows, sample.n_features) == (200, 11)
    some = sample.take(np.array([8, 0]))
    assert (some.means == sample.means[[8, 0]]).all()
    assert (some.squares == sample.squares[[8, 0]]).all()
    assert (some.is_testable == sample.is_testable[[8, 0]]).all()


def test_blocks_are_found_as_their_definition_says():
    X = np.c_[correlated_blocks(100, 4, 3), np.random.default_rng(1).standard_normal((100, 3))]
    X = np.where(np.abs(X) > 0.1, X, 0) @ (np.eye(15) + 0.5 * np.eye(15, k=3))
    sample = SoftenedSample.of(X)
    values = sample.values
    correlation = np.abs(np.corrcoef(values.T))
    correlation[correlation < 0.5] = 0
    left = list(range(15))
    expected = []
    while left:
        first = max(left, key=lambda feature: correlation[feature, left].sum())
        expected.append((first, [feature for feature in left if correlation[first, feature] > 0]))
        left = [feature for feature in left if feature not in expected[-1][1]]
    representatives, block = find_blocks(sample)
    assert [
        (first, np.flatnonzero(block == k).tolist()) for k, first in enumerate(representatives)
    ] == expected
    assert 3 < len(expected) < 15


def test_the_share_of_two_means_does_not_depend_on_the_size_of_temporary_arrays(monkeypatch):
    sample = SoftenedSample.of(skewed_columns() - 0.5)
    whole = two_means_share(sample)
    monkeypatch.setitem(vars(screening.POLICY), "block_cells", 50)
    assert two_means_share(sample) == pytest.approx(whole)


@pytest.fixture
def drawn(monkeypatch):
    """The features of each view, and the level of significance of each test, in the order of the
    screening.
    """
    views = []
    levels = []

    def label_and_note(sample, features, rng, label=screening.cluster_on_features):
        views.append(features)
        return label(sample, features, rng)

    def test_and_note(sample, labels, level, test=screening._f_ratio):
        levels.append(level)
        return test(sample, labels, level)

    monkeypatch.setattr(screening, "cluster_on_features", label_and_note)
    monkeypatch.setattr(screening, "_f_ratio", test_and_note)
    return views, levels


def test_without_a_relevant_feature_there_is_one_round_of_views(drawn):
    views, levels = drawn
    noise = SoftenedSample.of(np.random.default_rng(0).standard_normal((50, 40)))
    statistics = measure_dependence(noise, (0,), stage=0, odds=None)
    assert [len(features) for features in views] == [
        3,
        10,
        27,
        27,
    ] * 5  # two thirds of the features at most
    assert all((np.diff(features) > 0).all() for features in views)
    assert len({tuple(features) for features in views}) == 20
    assert levels == pytest.approx([0.01 / (40 * 20 * 3)] * 20)
    assert 0 < statistics.max() < 1


def test_later_rounds_draw_views_from_the_relevant_features(drawn):
    views, _ = drawn
    statistics = measure_dependence(SoftenedSample.of(hypercube(500)), (0,), stage=0, odds=None)
    assert len(views) in (40, 60)
    assert set(np.concatenate(views[20:])) <= set(np.flatnonzero(statistics > 1))
    assert max(map(len, views[20:])) == 2


def test_half_of_the_views_of_the_first_round_draw_features_with_given_odds(drawn):
    views, _ = drawn
    odds = np.r_[[1.0] * 3, [1e-12] * 97]
    measure_dependence(
        SoftenedSample.of(np.random.default_rng(0).standard_normal((50, 100))),
        (0,),
        stage=0,
        odds=odds / odds.sum(),
    )
    small = [features.tolist() == [0, 1, 2] for features in views[::4]]
    assert small == [True, False, True, False, True]


def test_a_view_does_not_test_its_own_features(monkeypatch):
    monkeypatch.setitem(vars(screening.POLICY), "view_sizes", (2,))
    monkeypatch.setitem(vars(screening.POLICY), "views", 1)
    groups = np.repeat([0.0, 10.0], 50)[:, None]
    two = SoftenedSample.of(np.random.default_rng(0).standard_normal((100, 2)) + groups)
    monkeypatch.setitem(vars(screening.POLICY), "largest_view", 1.0)
    assert measure_dependence(two, (0,), stage=0, odds=None).tolist() == [0, 0]


def test_stages_draw_different_views():
    sample = SoftenedSample.of(np.random.default_rng(0).standard_normal((50, 40)))
    first, second = (measure_dependence(sample, (0,), stage=stage, odds=None) for stage in (0, 1))
    assert (first != second).any()


def test_few_rows_are_not_tested(drawn):
    groups = np.repeat([0.0, 10.0], 10)[:, None]
    X = np.random.default_rng(0).standard_normal((20, 30)) + groups
    assert (measure_dependence(SoftenedSample.of(X[1:]), (0,), stage=0, odds=None) == 0).all()
    assert drawn[0] == []
    assert (measure_dependence(SoftenedSample.of(X), (0,), stage=0, odds=None) > 1).all()


def test_many_relevant_features_are_not_grouped_into_blocks(monkeypatch):
    X = standardise(np.c_[with_noise(load_iris().data, 10), correlated_blocks(150, 4, 10)])
    monkeypatch.setitem(vars(screening.POLICY), "features_in_blocks", 10)
    kept, statistics = screen_features(X, (0,))
    assert kept.tolist() == np.flatnonzero(statistics > 1).tolist()
    assert len(kept) > 40
