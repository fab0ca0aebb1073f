"""Fits with different seeds give nearly the same clusters: a consensus agrees with itself."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF

SETS = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
MOST_ROWS = 600


def read(name):
    data = SETS[name]()
    X = StandardScaler().fit_transform(data.data)[:MOST_ROWS]
    return X, len(np.unique(data.target))


def measure_agreement(make_model, X):
    """Return the mean adjusted Rand index of fits with three seeds."""
    labels = [make_model(random_state=seed).fit_predict(X) for seed in range(3)]
    return np.mean([adjusted_rand_score(one, two) for one, two in combinations(labels, 2)])


@pytest.mark.parametrize("name", SETS)
def test_defaults_agree_at_least_as_k_means_with_ten_starts(name):
    X, n_classes = read(name)
    of_k_means = measure_agreement(partial(KMeans, n_classes, n_init=10), X)
    assert measure_agreement(CoHiRF, X) >= of_k_means


def test_with_a_given_number_the_mean_agreement_is_at_least_that_of_k_means_with_ten_starts():
    ours, of_k_means = [], []
    for name in SETS:
        X, n_classes = read(name)
        ours.append(measure_agreement(partial(CoHiRF, n_clusters=n_classes), X))
        of_k_means.append(measure_agreement(partial(KMeans, n_classes, n_init=10), X))
    assert np.mean(ours) >= np.mean(of_k_means)
    assert min(ours) > 0.9
