"""On real data, updates find clusters as good as those of a fit to all rows, in any order of the
rows.
"""

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
        # of the first parts
        warnings.filterwarnings("ignore", message=".*is at least the number of rows")
        for part in np.array_split(X, n_parts):
            updated.partial_fit(part)
    return updated


@pytest.fixture(scope="module")
def whole(digits):
    X, y = digits
    return np.mean([adjusted_rand_score(y, model(seed).fit(X).labels_) for seed in SEEDS])


def test_ten_parts_and_clusters_that_are_found_anew(digits, whole):
    X, y = digits
    models = [update_in_parts(seed, X, 10) for seed in SEEDS]
    assert (
        np.mean([adjusted_rand_score(y, each.recluster().labels_) for each in models])
        > whole - 0.07
    )


def test_classes_one_after_the_other(digits, whole):
    X, y = digits
    order = np.argsort(y, kind="stable")
    models = [update_in_parts(seed, X[order], 10) for seed in SEEDS]
    assert (
        np.mean([adjusted_rand_score(y[order], each.recluster().labels_) for each in models])
        > whole - 0.07
    )


def test_a_merge_of_ten_models(digits, whole):
    X, y = digits
    merged = [
        merge([model(seed).partial_fit(part) for part in np.array_split(X, 10)]) for seed in SEEDS
    ]
    assert np.mean([adjusted_rand_score(y, each.labels_) for each in merged]) > whole - 0.05
