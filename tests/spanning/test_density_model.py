"""Labels, probabilities, outlier scores and predictions are those of scikit-learn and of the
package hdbscan.
"""

import hdbscan
import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import HDBSCAN

from cohirf.spanning.batch_edges import Edges
from cohirf.spanning.density_model import DensityModel
from cohirf.spanning.settings import settings_of

RANDOM = np.random.default_rng(0)


def draw(n_rows, random):
    """Four clusters of different densities, two of them close together, and noise."""
    centres = np.array([[0, 0, 0], [2.2, 0, 0], [8, 8, 0], [-7, 5, 3]])
    y = random.integers(4, size=n_rows)
    X = centres[y] + random.normal(size=(n_rows, 3)) * np.array([0.6, 0.4, 0.9, 0.2])[y, None]
    X[: n_rows // 10] = random.uniform(-10, 12, size=(n_rows // 10, 3))
    return X


X = draw(800, RANDOM)
NEW = draw(300, RANDOM)
OPTIONS = {
    "default": {},
    "large clusters": {"min_cluster_size": 30},
    "few samples": {"min_samples": 2},
    "leaf": {"cluster_selection_method": "leaf"},
    "epsilon": {"cluster_selection_epsilon": 0.6},
    "epsilon of leaves": {"cluster_selection_method": "leaf", "cluster_selection_epsilon": 0.5},
    "largest size": {"max_cluster_size": 150},
    "single cluster": {"allow_single_cluster": True},
    "single cluster, epsilon": {"allow_single_cluster": True, "cluster_selection_epsilon": 3.0},
}


def of_sklearn(options):
    return HDBSCAN(**{"min_cluster_size": 10, "copy": True} | options).fit(X)


def of_package(options):
    exact = {"approx_min_span_tree": False, "gen_min_span_tree": True, "prediction_data": True}
    return hdbscan.HDBSCAN(**{"min_cluster_size": 10} | exact | options).fit(X)


def names(labels, expected):
    """The label in ``expected`` of each of ``labels``, which must be the same up to numbering."""
    pairs = np.unique(np.stack([labels, expected]), axis=1)
    assert len(pairs[0]) == len(set(pairs[0])) == len(set(pairs[1]))
    return dict(pairs.T.tolist())


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
def test_labels_and_probabilities_are_those_of_scikit_learn(options):
    base = of_sklearn(options)
    model = DensityModel.of(X, settings_of(base))
    names(model.labels, base.labels_)
    np.testing.assert_allclose(model.probabilities, base.probabilities_, atol=1e-9)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=list(OPTIONS))
def test_everything_is_that_of_hdbscan_for_the_same_spanning_tree(options):
    # of edges with the same weight, which are many, hdbscan chooses others
    base = of_package(options)
    one, two, weights = base.minimum_spanning_tree_.to_numpy().T
    model = DensityModel.of_tree(
        X, [Edges(one.astype(np.int32), two.astype(np.int32), weights)], settings_of(base)
    )
    number = {-1: -1} | names(model.labels, base.labels_)
    np.testing.assert_allclose(model.probabilities, base.probabilities_, atol=1e-9)
    np.testing.assert_allclose(model.outlier_scores, base.outlier_scores_, atol=1e-9)
    expected, strengths = hdbscan.approximate_predict(base, NEW)
    labels, probabilities = model.predict(NEW)
    np.testing.assert_array_equal([number[label] for label in labels.tolist()], expected)
    np.testing.assert_allclose(probabilities, strengths, atol=1e-9)
    assert (labels < 0).any() or options.get("allow_single_cluster")


# leaves are small, and change by it
@pytest.mark.parametrize("name", [name for name in OPTIONS if name != "leaf"])
def test_other_edges_of_equal_weight_change_few_rows(name):
    base = of_package(OPTIONS[name])
    model = DensityModel.of(X, settings_of(base))
    assert np.isclose(model.probabilities, base.probabilities_, atol=0.05).mean() > 0.95
    assert np.isclose(model.outlier_scores, base.outlier_scores_, atol=0.05).mean() > 0.95
    np.testing.assert_array_equal(model.predict(X)[0], model.labels)


def test_sparse_rows_have_the_labels_of_dense_ones():
    model = DensityModel.of(X, settings_of(HDBSCAN(min_cluster_size=10)))
    np.testing.assert_array_equal(model.label(sparse.csr_matrix(NEW)), model.label(NEW))
