"""TorchKernelKMeans finds what KernelKMeans finds, on any kind of array."""

import numpy as np
import pytest
from sklearn.datasets import make_circles
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from cohirf import CoHiRF
from cohirf.clusterers import KernelKMeans, TorchKernelKMeans, TorchKMeans

torch = pytest.importorskip("torch")

from cohirf.clusterers import torch_rows  # noqa: E402  # imports torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "as for scikit-learn's KMeans: other rows draw other first centres"
}


# Data in some checks has fewer distinct rows than clusters.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([TorchKernelKMeans(n_components=50)], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rings():
    return make_circles(400, factor=0.2, noise=0.05, random_state=0)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("seed", range(5))
def test_rings_that_k_means_cannot_split_are_split(rings, seed, device):
    X, y = torch.tensor(rings[0], device=device), rings[1]
    assert adjusted_rand_score(y, TorchKMeans(2, random_state=seed).fit_predict(X).cpu()) < 0.2
    model = TorchKernelKMeans(2, gamma=3.0, random_state=seed).fit(X)
    assert model.labels_.device == X.device
    assert adjusted_rand_score(y, model.labels_.cpu()) == 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_the_features_are_those_of_scikit_learn(rings, dtype):
    X = torch.tensor(rings[0]).to(getattr(torch, dtype))
    model = TorchKernelKMeans(2, gamma=3.0, n_components=20, random_state=0).fit(X)
    values = X.double().numpy()
    features = RBFSampler(gamma=3.0, n_components=20, random_state=0).fit_transform(values)
    expected = np.linalg.norm(features[:, None] - model.cluster_centers_.double().numpy(), axis=2)
    np.testing.assert_allclose(model.transform(X), expected, atol=1e-5)
    assert model.inertia_ == pytest.approx((expected.min(axis=1) ** 2).sum(), rel=1e-5)


def test_the_inertia_is_that_of_kernel_k_means(blobs):
    X = blobs[0]
    settings = {"n_clusters": 4, "gamma": 0.01, "n_init": 5, "random_state": 0}
    ours, theirs = TorchKernelKMeans(**settings).fit(X), KernelKMeans(**settings).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    X, _ = make_circles(3000, factor=0.2, noise=0.05, random_state=0)
    whole = TorchKernelKMeans(3, gamma=3.0, n_components=30, random_state=0).fit(X)
    monkeypatch.setitem(torch_rows.BLOCK_BYTES, "cpu", 1)
    in_blocks = TorchKernelKMeans(3, gamma=3.0, n_components=30, random_state=0).fit(X)
    np.testing.assert_array_equal(whole.labels_, in_blocks.labels_)


@pytest.mark.parametrize("device", DEVICES)
def test_distances_in_bfloat16_split_the_rings(rings, device):
    X, y = torch.tensor(rings[0], dtype=torch.float32, device=device), rings[1]
    model = TorchKernelKMeans(2, gamma=3.0, distance_dtype="bfloat16", random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_.cpu()) == 1


def test_it_is_a_base_method_of_cohirf(rings):
    X, y = rings
    model = CoHiRF.as_published(TorchKernelKMeans(2, gamma=3.0), random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
