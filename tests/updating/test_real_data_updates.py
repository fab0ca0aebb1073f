"""On real data, updates find clusters as good as those of a fit to all rows, in any order of the rows."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, merge

pytestmark = pytest.mark.slow

SEEDS = range(1, 4)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def model(seed):
    return CoHiRF(KMeans(10, n_init=1), batch_size=200, random_state=seed)


def update_in_parts(seed, X, n_parts):
    updated = model(seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is at least the number of rows")  # of the first parts
        for part in np.array_split(X, n_parts):
            updated.partial_fit(part)
    return updated


def in_parts(seed, X, n_parts):
    return update_in_parts(seed, X, n_parts).labels_


@pytest.fixture(scope="module")
def whole(digits):
    X, y = digits
    return np.mean([adjusted_rand_score(y, model(seed).fit(X).labels_) for seed in SEEDS])


@pytest.mark.parametrize("by_class", [False, True], ids=["random order", "classes one after the other"])
def test_ten_parts(digits, whole, by_class):
    X, y = digits
    order = np.argsort(y, kind="stable") if by_class else np.arange(len(y))
    found = [adjusted_rand_score(y[order], in_parts(seed, X[order], 10)) for seed in SEEDS]
    assert np.mean(found) > whole - 0.07


@pytest.mark.filterwarnings("ignore:.*is at least the number of rows")
def test_a_hundred_parts_have_the_groups_of_ten_parts(digits):
    X, _ = digits
    hundred, ten = (update_in_parts(1, X, n_parts)._summary.leaves for n_parts in (100, 10))
    np.testing.assert_array_equal(hundred.rows, ten.rows)
    np.testing.assert_array_equal(hundred.means, ten.means)


def test_a_merge_of_ten_models(digits, whole):
    X, y = digits
    merged = [merge([model(seed).partial_fit(part) for part in np.array_split(X, 10)]) for seed in SEEDS]
    assert np.mean([adjusted_rand_score(y, each.labels_) for each in merged]) > whole - 0.05
