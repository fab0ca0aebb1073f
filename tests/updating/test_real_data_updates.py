"""On real data, updates find about the clusters of a fit to all rows, in any number of parts and in any order."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, merge

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


def model():
    return CoHiRF(KMeans(10, n_init=1), batch_size=200, random_state=0)


def in_parts(X, n_parts):
    updated = model()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*is at least the number of rows")  # of the first parts
        for part in np.array_split(X, n_parts):
            updated.partial_fit(part)
    return updated


@pytest.fixture(scope="module")
def whole(digits):
    X, y = digits
    return adjusted_rand_score(y, model().fit(X).labels_)


@pytest.mark.parametrize("n_parts", [10, 100])
def test_parts_in_random_order(digits, whole, n_parts):
    X, y = digits
    assert adjusted_rand_score(y, in_parts(X, n_parts).labels_) > whole - 0.1


@pytest.mark.parametrize("n_parts", [10, 100])
def test_classes_one_after_the_other(digits, whole, n_parts):
    X, y = digits
    by_class = np.argsort(y, kind="stable")
    assert adjusted_rand_score(y[by_class], in_parts(X[by_class], n_parts).labels_) > whole - 0.1


def test_a_merge_of_ten_models(digits, whole):
    X, y = digits
    merged = merge([model().partial_fit(part) for part in np.array_split(X, 10)])
    assert adjusted_rand_score(y, merged.labels_) > whole - 0.1
