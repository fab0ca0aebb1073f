"""Feature screening: what it keeps, what it drops, and its F statistic against scipy's."""

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.datasets import load_iris, load_wine

from cohirf.algorithm import screening
from cohirf.algorithm.screening import (
    MAX_ROWS,
    N_CLUSTERS,
    Sample,
    find_blocks,
    label_view,
    sample_size,
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
    return 0.95 * np.repeat(factors, size, axis=1) + 0.3 * rng.standard_normal((n_rows, n_blocks * size))


@pytest.mark.parametrize("scale", [standardise, np.asarray], ids=["standardised", "raw"])
@pytest.mark.parametrize("seed", range(3))
def test_corners_of_a_cube_are_found_among_noise(scale, seed):
    assert screen_features(scale(hypercube(250, seed)), (seed,)).relevant.tolist() == [0, 1, 2]


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_real_features_are_told_from_noise(load):
    X = load().data
    relevant = screen_features(with_noise(X, 300), (0,)).relevant
    assert relevant.max() < X.shape[1]
    assert len(relevant) >= X.shape[1] - 2


NULLS = {
    "normal": lambda rng: rng.standard_normal((200, 300)),
    "few rows": lambda rng: rng.standard_normal((40, 300)),
    "heavy tails": lambda rng: rng.standard_t(1, (300, 200)),
    "skewed": lambda rng: rng.exponential(size=(100, 300)) ** 3,
    "outliers": lambda rng: rng.standard_normal((300, 200)) + 1e6 * (rng.random((300, 200)) < 0.002),
    "rare": lambda rng: (rng.random((500, 300)) < 0.01).astype(float),
    "binary": lambda rng: rng.integers(0, 2, (200, 300)).astype(float),
}


@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.slow)], ids=str)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("draw", NULLS.values(), ids=NULLS)
def test_independent_features_pass_hardly_ever_and_then_all_stay(draw, container, seeds):
    passed = 0
    for seed in seeds:
        X = draw(np.random.default_rng(seed))
        found = screen_features(container(X), (seed,))
        passed += (found.statistics > 1).sum()
        assert (found.statistics > 1).sum() > 1 or found.relevant.tolist() == list(range(X.shape[1]))
    assert passed <= 1


def test_blocks_of_correlated_noise_are_dropped_as_a_whole():
    X = np.c_[with_noise(load_iris().data, 50), correlated_blocks(150, 10, 10)]
    found = screen_features(standardise(X), (0,))
    assert (found.statistics[54:] > 1).all()
    assert found.relevant.tolist() == [0, 1, 2, 3]


def test_a_block_that_falls_into_two_groups_stays():
    rng = np.random.default_rng(0)
    two_clusters = rng.standard_normal((200, 6)) + 6 * rng.integers(0, 2, (200, 1))
    X = np.c_[two_clusters, correlated_blocks(200, 5, 8)]
    assert screen_features(standardise(X), (0,)).relevant.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e8])
def test_the_scale_of_features_does_not_matter(factor):
    X = hypercube(60)
    scales = np.random.default_rng(0).uniform(1, 9, X.shape[1]) * factor
    assert (screen_features(X * scales, (0,)).relevant == screen_features(X, (0,)).relevant).all()


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.slow)])
def test_csr_rows_are_screened_as_arrays_are(dtype):
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, 300)
    words = rng.poisson(0.3 + 2.0 * (np.arange(30) % 3 == topic[:, None]))
    X = np.c_[words, rng.poisson(0.5, (300, 200))].astype(dtype)
    for container in (np.asarray, sparse.csr_array, sparse.csr_matrix):
        assert screen_features(container(X), (0,)).relevant.tolist() == list(range(30))


@pytest.mark.parametrize("X", [np.ones((50, 4)), np.zeros((1, 3)), np.eye(3), np.arange(60.0)[:, None]])
def test_data_that_cannot_be_tested_keeps_all_features(X):
    for container in (np.asarray, sparse.csr_array):
        found = screen_features(container(X), (0,))
        assert found.relevant.tolist() == list(range(X.shape[1]))
        assert (found.statistics == 0).all()


def test_the_same_entropy_gives_the_same_statistics():
    X = hypercube(40)
    first, again, other = (screen_features(X, entropy).statistics for entropy in [(1,), (1,), (2,)])
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_statistic_is_the_f_statistic_of_the_softened_values_over_its_critical_value(container):
    rng = np.random.default_rng(0)
    sample = Sample.of(container(rng.standard_normal((90, 5)) * (rng.random((90, 5)) < 0.7)))
    labels = np.repeat([0, 1, 2], 30)
    dense = sample.values.toarray() if sparse.issparse(sample.values) else sample.values
    groups = [dense[labels == label].astype(np.float64) for label in range(3)]
    expected = stats.f_oneway(*groups).statistic / stats.f.isf(1e-4, 2, 87)
    assert screening._f_ratio(sample, labels, 1e-4) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_two_means_explain_what_the_best_split_explains(container):
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal(80), rng.integers(0, 2, 80) * 5.0 + rng.standard_normal(80), np.ones(80)]
    sample = Sample.of(container(X))
    dense = np.asarray(sample.values.toarray() if sparse.issparse(sample.values) else sample.values, dtype=np.float64)
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
    representatives, block = find_blocks(Sample.of(X))
    assert sorted(np.bincount(block).tolist()) == [1, 1, 4, 4, 4]
    assert (block[representatives] == np.arange(5)).all()
    assert block[:12].reshape(3, 4).std(axis=1).tolist() == [0, 0, 0]


def test_clusters_of_a_view_are_large_enough_for_a_test():
    rng = np.random.default_rng(0)
    X = np.r_[rng.standard_normal((400, 3)), 50 + rng.standard_normal((3, 3))]
    labels = label_view(Sample.of(X), np.arange(3), rng)
    sizes = np.bincount(labels)
    assert len(sizes) > 1
    assert sizes.min() >= 403 / (4 * N_CLUSTERS)


def test_screening_looks_at_a_bounded_number_of_rows_and_never_at_more_than_a_batch():
    assert sample_size(10 * MAX_ROWS, None) == MAX_ROWS
    assert sample_size(10 * MAX_ROWS, 300) == 300
    assert sample_size(50, 300) == 50
