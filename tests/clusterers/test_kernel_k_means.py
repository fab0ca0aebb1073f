"""KernelKMeans: what it separates, what it keeps, what does not change its result, and the distinct
rows it fits.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from cohirf import CoHiRF
from cohirf.algorithm.base_method import find_distinct_rows
from cohirf.clusterers import KernelKMeans


@pytest.fixture(scope="module")
def rings():
    return make_circles(400, factor=0.2, noise=0.05, random_state=0)


@pytest.mark.parametrize("seed", range(5))
def test_rings_that_k_means_cannot_split_are_split(rings, seed):
    X, y = rings
    assert adjusted_rand_score(y, KMeans(2, random_state=seed).fit_predict(X)) < 0.2
    assert adjusted_rand_score(y, KernelKMeans(2, gamma=3.0, random_state=seed).fit_predict(X)) == 1


def test_inner_products_of_features_approximate_the_kernel(rings):
    X, _ = rings
    model = KernelKMeans(2, gamma=2.0, n_components=5000, random_state=0).fit(X)
    features = model.feature_map_.transform(X)
    np.testing.assert_allclose(features @ features.T, rbf_kernel(X, gamma=2.0), atol=0.1)


def test_predict_and_transform_agree_with_the_labels(blobs):
    X, _ = blobs
    model = KernelKMeans(4, gamma=0.01, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    np.testing.assert_allclose((model.transform(X).min(axis=1) ** 2).sum(), model.inertia_)
    assert list(model.get_feature_names_out()) == [f"kernelkmeans{i}" for i in range(4)]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_float32_stays_float32(blobs, container):
    X = container(blobs[0].astype(np.float32))
    model = KernelKMeans(4, gamma=0.01, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == model.transform(X).dtype == np.float32


def test_sparse_and_dense_data_give_the_same_clusters(blobs):
    X = blobs[0]
    X = np.where(np.abs(X) < 3, 0, X)
    settings = {"n_clusters": 4, "gamma": 0.01, "n_init": 5, "random_state": 0}
    labels = [KernelKMeans(**settings).fit_predict(part) for part in (X, sparse.csr_array(X))]
    assert adjusted_rand_score(*labels) == 1


def test_sparse_input_with_stored_zeros_and_repeated_entries_is_left_as_it_is():
    parts = (np.array([1.0, 1.0, 0.0, 2.0, 5.0]), np.array([0, 0, 1, 0, 1]), np.array([0, 3, 4, 5]))
    X = sparse.csr_array(parts, shape=(3, 2))
    labels = KernelKMeans(2, random_state=0).fit_predict(X)
    assert X.nnz == 5
    assert labels[0] == labels[1] != labels[2]  # the first row adds up to the second


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_order_of_rows_changes_nothing(container):
    X, _ = make_blobs(200, 5, centers=3, cluster_std=5.0, random_state=0)
    order = np.random.default_rng(0).permutation(200)
    ordered, shuffled = (
        KernelKMeans(8, gamma=0.02, random_state=0).fit(container(part)) for part in (X, X[order])
    )
    np.testing.assert_array_equal(shuffled.cluster_centers_, ordered.cluster_centers_)
    np.testing.assert_array_equal(shuffled.labels_, ordered.labels_[order])


def test_weights_are_repetitions_and_weight_zero_is_absence():
    X, _ = make_blobs(100, 5, centers=3, cluster_std=5.0, random_state=0)
    weights = np.random.default_rng(0).integers(0, 4, 100)
    settings = {"n_clusters": 6, "gamma": 0.02, "random_state": 0}
    weighted = KernelKMeans(**settings).fit(X, sample_weight=weights)
    repeated = KernelKMeans(**settings).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    np.testing.assert_array_equal(weighted.predict(X), weighted.labels_)
    assert weighted.inertia_ == repeated.inertia_


def test_too_few_rows_are_an_error_that_says_so():
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=8"):
        KernelKMeans().fit(np.eye(3))


def test_weights_that_are_all_zero_are_an_error():
    with pytest.raises(ValueError, match="All sample weights are zero"):
        KernelKMeans(2).fit(np.eye(3), sample_weight=np.zeros(3))


def test_fewer_distinct_rows_than_clusters_give_k_means_warning_and_equal_labels_to_equal_rows():
    X = np.array([[0.0, 0.0], [3.0, 3.0], [0.0, 0.0], [3.0, 3.0], [0.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = KernelKMeans(4, random_state=0).fit(X)
    assert model.cluster_centers_.shape == (4, 500)
    assert np.isfinite(model.cluster_centers_).all()
    assert adjusted_rand_score([0, 1, 0, 1, 0], model.labels_) == 1


@pytest.mark.parametrize("consensus", ["strict", "relaxed"])
@pytest.mark.parametrize("medoid_weights", [False, True])
def test_it_is_a_base_method_of_cohirf(rings, consensus, medoid_weights):
    X, y = rings
    base = KernelKMeans(2, gamma=3.0)
    model = CoHiRF.as_published(
        base, consensus=consensus, medoid_weights=medoid_weights, random_state=0
    ).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1


def test_sample_weight_reaches_it_through_cohirf(blobs):
    X, y = blobs
    weights = np.arange(len(X)) % 3
    model = CoHiRF.as_published(
        KernelKMeans(4, gamma=0.01, n_init=5), medoid_weights=True, random_state=0
    )
    assert adjusted_rand_score(y, model.fit(X, sample_weight=weights).labels_) == 1


FEW_VALUES = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.sampled_from([0.0, 1.0, -2.5]),
)


@given(FEW_VALUES, st.randoms(use_true_random=False))
def test_sparse_rows_are_grouped_as_dense_ones_in_an_order_of_their_own(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    (first, group), (shuffled_first, shuffled_group) = (
        find_distinct_rows(sparse.csr_array(part)) for part in (X, X[order])
    )
    np.testing.assert_array_equal(X[first][group], X)
    assert len(first) == len(np.unique(X, axis=0))
    np.testing.assert_array_equal(X[order][shuffled_first], X[first])
    np.testing.assert_array_equal(shuffled_group, group[order])
