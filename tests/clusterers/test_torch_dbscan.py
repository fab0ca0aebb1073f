"""TorchDBSCAN finds what scikit-learn's DBSCAN finds, on any kind of array."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from cohirf import CoHiRF
from cohirf.clusterers import GridDBSCAN, TorchDBSCAN
from cohirf.datasets import make_spheres
from stand_in_cupy import make_cupy

torch = pytest.importorskip("torch")

from cohirf.clusterers import torch_cells  # noqa: E402  # imports torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@parametrize_with_checks([TorchDBSCAN()])
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)


def assert_same_clusters(X, eps, min_samples, weights=None, device="cpu"):
    # the tree, which scikit-learn takes from a dozen rows on: for fewer it expands the square, which rounds
    expected = DBSCAN(eps=eps, min_samples=min_samples, algorithm="kd_tree").fit(X, sample_weight=weights)
    found = TorchDBSCAN(eps, min_samples=min_samples).fit(torch.tensor(X, device=device), sample_weight=weights)
    labels, core = found.labels_.cpu().numpy(), expected.core_sample_indices_
    assert found.algorithm_ == "torch"
    assert found.core_sample_indices_.tolist() == core.tolist()
    assert labels[core].tolist() == expected.labels_[core].tolist()
    assert (labels < 0).tolist() == (expected.labels_ < 0).tolist()
    distances = np.linalg.norm(X.astype(float)[:, None] - X.astype(float)[core][None], axis=2)
    touched = (distances <= eps * (1 + 1e-12)) & (labels[:, None] == expected.labels_[core][None])
    assert (touched.any(axis=1) | (labels < 0)).all()  # a border row is in a cluster that it touches


@pytest.mark.parametrize("device", DEVICES)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 150),
    n_features=st.integers(1, 3),
    dtype=st.sampled_from([np.float32, np.float64]),
    on_a_lattice=st.booleans(),  # many distances are exactly eps, many rows are the same
    eps=st.sampled_from([0.2, 0.5, 1.0, 1.5, 2.0]),
    min_samples=st.integers(1, 8),
    weighted=st.booleans(),
)
def test_core_rows_clusters_and_noise_are_those_of_scikit_learn(
    device, seed, n, n_features, dtype, on_a_lattice, eps, min_samples, weighted
):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n, n_features)) if on_a_lattice else rng.normal(size=(n, n_features))
    weights = rng.integers(0, 4, n) + (np.arange(n) == 0.0) if weighted else None
    assert_same_clusters(X.astype(dtype), eps, min_samples, weights, device)


@given(
    seed=st.integers(0, 2**32),
    n_groups=st.integers(1, 12),
    n_features=st.integers(1, 3),
    width=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    eps=st.sampled_from([0.3, 1.0]),
)
def test_dense_cells_are_joined_as_by_scikit_learn(seed, n_groups, n_features, width, eps):
    """Tens of rows in one cell: few points, the nearest one, or all decide what is joined."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0, 3, (n_groups, n_features))
    X = np.repeat(centers, 60, axis=0) + rng.uniform(-width, width, (60 * n_groups, n_features))
    assert_same_clusters(X, eps, 5)


@given(seed=st.integers(0, 2**32), apart=st.sampled_from([10**3, 10**5]), n_features=st.integers(1, 3))
def test_scattered_groups_are_clustered_as_by_scikit_learn(seed, apart, n_features):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, (100, n_features)) + apart * rng.integers(0, 3, (100, n_features))
    assert_same_clusters(X.astype(float), 3.0, 3)


@pytest.mark.parametrize("closer", [False, True])
def test_all_points_are_compared_where_the_nearest_do_not_decide(closer):
    """Two cells: the point of the first that is nearest to the box of the second is not the one that joins them."""
    first = [[0.0, 0.0], [0.60, 0.0], [0.55, 0.69]]
    second = [[1.53 if closer else 1.56, 0.69], [2.1, 0.0]]
    X = np.repeat(first + second, 5, axis=0)
    assert_same_clusters(X, 1.0, 5)
    assert TorchDBSCAN(1.0).fit(X).labels_.max() == (0 if closer else 1)


def test_pairs_are_compared_in_blocks_of_any_size(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 2))
    X = np.concatenate([X, np.zeros((50, 2))])
    whole = TorchDBSCAN(0.2).fit(X)
    for size in (1, 7, 100):
        monkeypatch.setitem(torch_cells.BLOCK_PAIRS, "cpu", size)
        in_blocks = TorchDBSCAN(0.2).fit(X)
        assert in_blocks.labels_.tolist() == whole.labels_.tolist()
        assert in_blocks.core_sample_indices_.tolist() == whole.core_sample_indices_.tolist()


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_border_row_between_two_clusters_joins_the_first_wherever_they_lie(axis, flip):
    """The last row has one neighbour in either cluster, exactly as far away as the other."""
    X = np.zeros((9, 3))
    X[:4, axis] = flip * np.array([1, 1.5, 1.5, 1.5])
    X[4:8] = -X[:4]
    assert TorchDBSCAN(1.0, min_samples=4).fit(X).labels_.tolist() == [0] * 4 + [1] * 4 + [0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("eps", [0.2, 0.4])
def test_spheres_are_told_apart(eps, device):
    X, y = make_spheres(5000, random_state=0)
    labels = TorchDBSCAN(eps, min_samples=3).fit_predict(torch.tensor(X, device=device))
    assert labels.device.type == device
    assert adjusted_rand_score(labels.cpu().numpy(), y) == 1


def test_results_have_the_kind_of_the_data(monkeypatch):
    cupy = make_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = TorchDBSCAN(0.5).fit(cupy.asarray(X))
    assert isinstance(model.labels_, cupy.ndarray)
    assert isinstance(model.core_sample_indices_, cupy.ndarray)
    assert model.labels_.get().tolist() == TorchDBSCAN(0.5).fit(X).labels_.tolist()


@pytest.mark.parametrize(("n_features", "scale"), [(5, 1), (3, 1e30)])
def test_what_does_not_fit_on_the_grid_is_clustered_by_grid_dbscan(n_features, scale):
    X = np.random.default_rng(0).normal(size=(100, n_features))
    X[0] = scale
    expected = GridDBSCAN(1.0).fit(X)
    found = TorchDBSCAN(1.0).fit(torch.tensor(X))
    assert found.algorithm_ == expected.algorithm_
    assert found.labels_.tolist() == expected.labels_.tolist()
    assert isinstance(found.labels_, torch.Tensor)


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        TorchDBSCAN().fit(np.eye(3), sample_weight=[1, -1, 1])


def test_components_have_the_number_of_their_lowest_node():
    rng = np.random.default_rng(0)
    for n_edges in (0, 30, 60, 200):
        first, second = torch.from_numpy(rng.integers(0, 100, (2, n_edges)))
        found = torch_cells.join_components(torch.arange(100), first, second)
        lowest = np.arange(100)
        for _ in range(100):
            for a, b in zip(first, second, strict=True):
                lowest[a] = lowest[b] = min(lowest[a], lowest[b])
        assert found.tolist() == lowest.tolist()


def test_it_is_a_base_method_of_cohirf():
    X, y = make_spheres(2000, random_state=0)
    model = CoHiRF.as_published(TorchDBSCAN(0.4), n_views=1, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == 1
